"""Copies of a tensor in which a view has other values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _shape
from cuprous.torch._args import by_name


def _written(input: Tensor, src: Tensor, view: Callable[[Any], Any]) -> Tensor:
    result: Any = input.clone()
    view(result).copy_(src)
    return result


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """Returns a copy with other values at an index of a dimension."""
    return _written(input, src, lambda x: _shape.select(x, dim, index))


def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
                  step: int = 1) -> Tensor:  # fmt: skip
    """Returns a copy with other values in a slice of a dimension."""
    where: list[Any] = [slice(None)] * input.ndim
    where[dim] = slice(start, end, step)
    return _written(input, src, lambda x: x[tuple(where)])


def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Returns a copy with other values on a diagonal."""
    return _written(input, src, lambda x: _shape.diagonal(x, offset, dim1, dim2))


def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int],
                       storage_offset: int | None = None) -> Tensor:  # fmt: skip
    """Returns a copy with other values at strides."""
    return _written(input, src, lambda x: _shape.as_strided(x, size, stride, storage_offset))


FUNCTIONS = METHODS = by_name(select_scatter, slice_scatter, diagonal_scatter, as_strided_scatter)
