"""Embedding layers."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _creation
from cuprous.torch._args import unsupported
from cuprous.torch.nn import functional as F
from cuprous.torch.nn import init
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parameter import Parameter


def _settings(layer: Any) -> str:
    """Returns the settings that differ from their defaults."""
    usual = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
    return "".join(f", {name}={getattr(layer, name)}" for name, v in usual.items() if getattr(layer, name) != v)


def _padding(layer: Any) -> str:
    return "" if layer.padding_idx is None else f", padding_idx={layer.padding_idx}"


class _Table(Module):
    """Base class of layers with a table of rows, of which one may be padding."""

    def _add_table(self, padding_idx: int | None, weight: Tensor | None, device: Any, dtype: Any) -> None:
        rows, width = self.num_embeddings, self.embedding_dim
        if padding_idx is not None and not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        self.padding_idx = None if padding_idx is None else padding_idx % rows
        empty = _creation.empty(rows, width, device=device, dtype=dtype) if weight is None else weight
        self.weight = Parameter(empty)
        if weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initializes the table at random."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.data[self.padding_idx])


class Embedding(_Table):
    """A table of rows that are looked up by index, initialized with normal random numbers.

    Parameters
    ----------
    num_embeddings : int
        The number of rows.
    embedding_dim : int
        The width of a row.
    padding_idx : int, optional
        An index whose row is zero at first and gets no gradient.
    max_norm : float, optional
        Rows that are looked up and have a larger norm are scaled to it; None for no bound.
    norm_type : float, default 2.0
        The p of that norm.
    scale_grad_by_freq : bool, default False
        Whether to divide each row's gradient by how often the row was looked up.
    sparse : bool, default False
        For PyTorch's signature; only False.
    device : device or str, optional
        The device of the table, by default the default device.
    dtype : dtype, optional
        The dtype of the table, by default the default dtype.

    Shapes
    ------
    input
        int64 or int32 indices of any shape.
    result
        (*input.shape, embedding_dim).

    Raises
    ------
    IndexError
        When called, for indices outside of the table.

    See Also
    --------
    torch.nn.EmbeddingBag

    Examples
    --------
    >>> nn.Embedding(10, 3)(torch.tensor([[1, 2]])).shape
    torch.Size([1, 2, 3])
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                 sparse: bool = False, _weight: Tensor | None = None, _freeze: bool = False, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        unsupported("Embedding", sparse=(sparse, False))
        if _weight is not None and _weight.dims != (num_embeddings, embedding_dim):
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self._add_table(padding_idx, _weight, device, dtype)
        self.weight.requires_grad = not _freeze

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None,
                        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                        sparse: bool = False) -> Embedding:  # fmt: skip
        """Creates a layer from a given table, frozen by default.

        Parameters
        ----------
        embeddings : Tensor
            The table, of shape (num_embeddings, embedding_dim).
        freeze : bool, default True
            Whether the table gets no gradient.
        padding_idx : int, optional
            An index whose row gets no gradient.
        max_norm : float, optional
            Rows that are looked up and have a larger norm are scaled to it; None for no bound.
        norm_type : float, default 2.0
            The p of that norm.
        scale_grad_by_freq : bool, default False
            Whether to divide each row's gradient by how often the row was looked up.
        sparse : bool, default False
            For PyTorch's signature; only False.

        Returns
        -------
        Embedding

        Examples
        --------
        >>> layer = nn.Embedding.from_pretrained(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> layer(torch.tensor([1]))
        tensor([[3., 4.]])
        """
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, width = embeddings.dims
        return cls(rows, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)

    def forward(self, input: Tensor) -> Tensor:
        """Returns the rows at the indices."""
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
                           self.scale_grad_by_freq)  # fmt: skip

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}{_padding(self)}{_settings(self)}"


class EmbeddingBag(_Table):
    """A layer that returns sums, means or maxima of bags of rows.

    Parameters
    ----------
    num_embeddings : int
        The number of rows.
    embedding_dim : int
        The width of a row.
    max_norm : float, optional
        Rows that are looked up and have a larger norm are scaled to it; None for no bound.
    norm_type : float, default 2.0
        The p of that norm.
    scale_grad_by_freq : bool, default False
        Whether to divide each row's gradient by how often the row was looked up.
    mode : {"sum", "mean", "max"}, default "mean"
        "sum", "mean" or "max".
    sparse : bool, default False
        For PyTorch's signature; only False.
    include_last_offset : bool, default False
        Whether `offsets` ends with the number of indices.
    padding_idx : int, optional
        An index that is ignored.
    device : device or str, optional
        The device of the table, by default the default device.
    dtype : dtype, optional
        The dtype of the table, by default the default dtype.

    Shapes
    ------
    input
        int64 or int32 indices: (bags, n), or a vector.
    offsets
        Where bags begin in a vector of indices.
    per_sample_weights
        The weight of each index, with mode "sum".
    result
        (bags, embedding_dim).

    See Also
    --------
    torch.nn.Embedding

    Examples
    --------
    >>> nn.EmbeddingBag(10, 3)(torch.tensor([1, 2, 4]), torch.tensor([0, 2])).shape
    torch.Size([2, 3])
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                 _weight: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        unsupported("EmbeddingBag", sparse=(sparse, False))
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.sparse, self.include_last_offset = sparse, include_last_offset
        self._add_table(padding_idx, _weight, device, dtype)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None,
                        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
                        sparse: bool = False, include_last_offset: bool = False,
                        padding_idx: int | None = None) -> EmbeddingBag:  # fmt: skip
        """Creates a layer from a given table, frozen by default.

        Parameters
        ----------
        embeddings : Tensor
            The table, of shape (num_embeddings, embedding_dim).
        freeze : bool, default True
            Whether the table gets no gradient.
        max_norm : float, optional
            Rows that are looked up and have a larger norm are scaled to it; None for no bound.
        norm_type : float, default 2.0
            The p of that norm.
        scale_grad_by_freq : bool, default False
            Whether to divide each row's gradient by how often the row was looked up.
        mode : {"sum", "mean", "max"}, default "mean"
            "sum", "mean" or "max".
        sparse : bool, default False
            For PyTorch's signature; only False.
        include_last_offset : bool, default False
            Whether `offsets` ends with the number of indices.
        padding_idx : int, optional
            An index that is ignored.

        Returns
        -------
        EmbeddingBag

        Examples
        --------
        >>> layer = nn.EmbeddingBag.from_pretrained(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), mode="sum")
        >>> layer(torch.tensor([[0, 1]]))
        tensor([[4., 6.]])
        """
        rows, width = embeddings.dims
        bag = cls(rows, width, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings,
                  include_last_offset, padding_idx)  # fmt: skip
        bag.weight.requires_grad = not freeze
        return bag

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """Returns one row for each bag."""
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                               self.mode, self.sparse, per_sample_weights, self.include_last_offset,
                               self.padding_idx)  # fmt: skip

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}{_settings(self)}, mode={self.mode!r}{_padding(self)}"


__all__ = ["Embedding", "EmbeddingBag"]
