"""Memory formats: orders of a tensor's dimensions in memory. Layers give the same results for all of them."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._types import Immutable


class memory_format(Immutable):
    """An order of dimensions in memory.

    Parameters
    ----------
    name : str
        The name, such as "channels_last".

    See Also
    --------
    torch.layout, torch.Tensor.contiguous

    Examples
    --------
    >>> x = torch.ones(1, 2, 3, 3).to(memory_format=torch.channels_last)
    >>> x.is_contiguous(memory_format=torch.channels_last)
    True
    """

    __slots__ = ("name",)

    name: str

    def __init__(self, name: str) -> None:
        self._fix(name=name)

    @property
    def is_plain(self) -> bool:
        """True if tensors need not be changed for it."""
        return self.name in ("contiguous_format", "preserve_format")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return _named, (memory_format, self.name)


class layout(Immutable):
    """The way in which elements are stored. All tensors are strided: each dimension has a stride.

    Parameters
    ----------
    name : str
        The name.

    See Also
    --------
    torch.memory_format, torch.sparse_coo_tensor, torch.device

    Examples
    --------
    >>> torch.ones(2).layout
    torch.strided
    """

    __slots__ = ("name",)

    name: str

    def __init__(self, name: str) -> None:
        self._fix(name=name)

    @property
    def is_plain(self) -> bool:
        """True for strided tensors."""
        return self.name == "strided"

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> Any:
        return _named, (layout, self.name)


FORMATS = {
    name: memory_format(name) for name in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
}
LAYOUTS = {
    name: layout(name)
    for name in ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged", "_mkldnn")
}


def _named(kind: type, name: str) -> Any:
    """Returns the one object of a kind and a name, when it is unpickled."""
    return (LAYOUTS if kind is layout else FORMATS)[name]


_RANKS = {"channels_last": 4, "channels_last_3d": 5}


def _order(x: Tensor, given: Any) -> list[int]:
    """Returns the dimensions of a tensor from the outermost to the innermost one in memory.

    Raises
    ------
    RuntimeError
        For a format of tensors with another number of dimensions.
    """
    rank = _RANKS.get(given.name)
    if rank is None:
        return list(range(x.ndim))
    if x.ndim != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {given.name} format")
    return [0, *range(2, rank), 1]


def has_format(x: Tensor, given: Any = None) -> bool:
    """Returns True if a tensor lies in memory without gaps, in the order of a format (by default, that of its
    dimensions)."""
    if given is None or given.name not in _RANKS:
        return _is_contiguous(x)
    return x.ndim == _RANKS[given.name] and _is_contiguous(x.permute(_order(x, given)))


def in_format(x: Tensor, given: Any) -> Tensor:
    """Returns a tensor with the same elements, in memory in the order of a format; the tensor itself if it is so.

    Raises
    ------
    TypeError
        For anything but a format.
    """
    if given is None:
        return x
    if not isinstance(given, memory_format):
        raise TypeError(f"memory_format must be torch.memory_format, not {type(given).__name__}")
    if given.name == "preserve_format" or has_format(x, given):
        return x
    order = _order(x, given)
    back = [order.index(d) for d in range(x.ndim)]
    moved: Any = x.permute(order)
    if not _is_contiguous(moved):
        moved = _core.t_cast(moved, moved.dtype_name)
    result: Tensor = moved.permute(back)
    return result


_is_contiguous = Tensor.is_contiguous
