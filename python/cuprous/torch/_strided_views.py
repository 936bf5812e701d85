"""Views by strides."""

from __future__ import annotations

from collections.abc import Sequence

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import wrap_dim

_strided = _core.t_strided


def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """Returns a view of the memory with the given strides.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    size : sequence of ints
        The extents.
    stride : sequence of ints
        The strides in elements.
    storage_offset : int, optional
        The index of the first element, by default that of the tensor.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    Raises
    ------
    RuntimeError
        If the view would not be within the memory.

    See Also
    --------
    torch.Tensor.view, torch.Tensor.unfold, torch.as_strided_scatter

    Examples
    --------
    >>> torch.as_strided(torch.arange(4), (2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """
    start = 0 if storage_offset is None else storage_offset - input.storage_offset()
    return _strided(input, list(size), list(stride), start)


def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Returns a view of all windows along a dimension. The elements of a window are the last dimension.

    Parameters
    ----------
    dimension : int
        The dimension.
    size : int
        The extent of a window.
    step : int
        The distance of two windows.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    Raises
    ------
    RuntimeError
        For a window larger than the extent, or a step that is not positive.

    Examples
    --------
    >>> torch.arange(4).unfold(0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    if not self.ndim:
        return unfold(self.reshape(1), dimension, size, step).reshape([size])
    dim = wrap_dim(dimension, self.ndim)
    n = self.dims[dim]
    if size < 0 or step <= 0:
        raise RuntimeError(f"size is {size} but must be >= 0" if size < 0 else f"step is {step} but must be > 0")
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {n} but size is {size}")
    shape, strides = list(self.dims), list(self.stride_tuple())
    own = strides[dim]
    shape[dim], strides[dim] = (n - size) // step + 1, own * step
    return _strided(self, [*shape, size], [*strides, own])
