"""Copies of a tensor in which a view has other values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _diagonals, _shape, _strided_views
from cuprous.torch._args import by_name


def _written(input: Tensor, src: Tensor, view: Callable[[Any], Any]) -> Tensor:
    result: Any = input.clone()
    view(result).copy_(src)
    return result


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """Returns a copy with other values at an index of a dimension.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    src : Tensor
        The values, of the shape of the selected part.
    dim : int
        The dimension; a negative one counts from the end.
    index : int
        The index.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.select, torch.slice_scatter, torch.diagonal_scatter

    Examples
    --------
    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    return _written(input, src, lambda x: _shape.select(x, dim, index))


def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
                  step: int = 1) -> Tensor:  # fmt: skip
    """Returns a copy with other values in a slice of a dimension.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    src : Tensor
        The values, of the shape of the slice.
    dim : int, default 0
        The dimension; a negative one counts from the end.
    start : int, optional
        The first index.
    end : int, optional
        The bound, which is not included.
    step : int, default 1
        The distance of two indices.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.select_scatter, torch.diagonal_scatter, torch.as_strided_scatter

    Examples
    --------
    >>> torch.slice_scatter(torch.zeros(4), torch.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
    where: list[Any] = [slice(None)] * input.ndim
    where[dim] = slice(start, end, step)
    return _written(input, src, lambda x: x[tuple(where)])


def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Returns a copy with other values on a diagonal.

    Parameters
    ----------
    input : Tensor
        A tensor of at least two dimensions.
    src : Tensor
        The values, of the shape of the diagonal.
    offset : int, default 0
        The diagonal; 0 is the main one, positive ones are above it.
    dim1 : int, default 0
        The dimension of the rows.
    dim2 : int, default 1
        The dimension of the columns.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.diagonal, torch.select_scatter, torch.slice_scatter

    Examples
    --------
    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _written(input, src, lambda x: _diagonals.diagonal(x, offset, dim1, dim2))


def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int],
                       storage_offset: int | None = None) -> Tensor:  # fmt: skip
    """Returns a copy with other values at strides.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    src : Tensor
        The values, of the given extents.
    size : sequence of ints
        The extents.
    stride : sequence of ints
        The strides in elements.
    storage_offset : int, optional
        The index of the first element.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.as_strided, torch.slice_scatter, torch.select_scatter

    Examples
    --------
    >>> torch.as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """
    return _written(input, src, lambda x: _strided_views.as_strided(x, size, stride, storage_offset))


FUNCTIONS = METHODS = by_name(select_scatter, slice_scatter, diagonal_scatter, as_strided_scatter)
