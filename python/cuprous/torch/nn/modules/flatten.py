"""Layers that merge or split dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from cuprous._core import Tensor
from cuprous.torch.nn.modules.module import Module


class Flatten(Module):
    """A layer that merges a range of dimensions into one.

    Parameters
    ----------
    start_dim : int, default 1
        The first dimension of the range.
    end_dim : int, default -1
        The last dimension of the range.

    Shapes
    ------
    input
        Any shape and dtype.
    result
        Of the same dtype.

    See Also
    --------
    torch.nn.Unflatten

    Examples
    --------
    >>> nn.Flatten()(torch.ones(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    _repr = "start_dim={self.start_dim}, end_dim={self.end_dim}"

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Returns the input with the dimensions merged."""
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """A layer that splits one dimension into several.

    Parameters
    ----------
    dim : int
        The dimension.
    unflattened_size : sequence of ints
        The extents of its parts, one of which may be -1.

    Shapes
    ------
    input
        Any shape and dtype.
    result
        Of the same dtype.

    See Also
    --------
    torch.nn.Flatten

    Examples
    --------
    >>> nn.Unflatten(1, (3, 4))(torch.ones(2, 12)).shape
    torch.Size([2, 3, 4])
    """

    _repr = "dim={self.dim}, unflattened_size={self.unflattened_size}"

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)) or not all(isinstance(n, int) for n in unflattened_size):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found {unflattened_size!r}")
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input: Tensor) -> Tensor:
        """Returns the input with the dimension split."""
        return input.unflatten(self.dim, self.unflattened_size)


__all__ = ["Flatten", "Unflatten"]
