"""Positions of stored values: keys, sorting, compressed offsets. All is recorded, except counts of distinct ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _joining, _ordering, _reductions


def keys(positions: Tensor, dims: Sequence[int]) -> Tensor:
    """Returns each position as one number, in row-major order."""
    found = positions[0] * 0
    for row, n in enumerate(dims[: positions.dims[0]]):
        found = found * n + positions[row]
    return found


def unpacked(found: Tensor, dims: Sequence[int]) -> Tensor:
    """Returns the positions that have given keys."""
    rows = []
    for n in reversed(dims):
        rows.append(found % max(n, 1))
        found = found // max(n, 1)
    if not rows:
        return _core.t_full([0, found.dims[0]], 0, "int64", found.device_name)
    return _joining.stack(rows[::-1])


def merged(positions: Tensor, values: Tensor, dims: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Returns sorted and unique positions, with the sum of the values at each."""
    count = positions.dims[0]
    if count == 0:
        return positions[:, :1], _reductions.sum(values, 0, True)
    unique, inverse = _ordering.unique(keys(positions, dims), return_inverse=True)
    zeros = _core.t_full([unique.dims[0], *values.dims[1:]], 0, values.dtype_name, values.device_name)
    return unpacked(unique, dims[:count]), zeros.index_add(0, inverse, values)


def scattered(positions: Tensor, values: Tensor, dims: Sequence[int]) -> Tensor:
    """Returns the dense tensor; values at one position add up."""
    count = positions.dims[0]
    zeros = _core.t_full([math.prod(dims[:count]), *dims[count:]], 0, values.dtype_name, values.device_name)
    return zeros.index_add(0, keys(positions, dims) if count else positions.new_zeros(values.dims[0]), values).reshape(
        list(dims)
    )


def starts(majors: Tensor, count: int) -> Tensor:
    """Returns the offset of the first value of each of `count` sorted majors, and the number of values."""
    positions = _core.t_iota([count + 1], [1], 0, majors.device_name)
    return _ordering.searchsorted(majors, positions)


def expanded(offsets: Tensor, count: int) -> Tensor:
    """Returns the major of each of `count` values from the offsets of the majors."""
    position = _core.t_iota([count], [1], 0, offsets.device_name)
    return _ordering.searchsorted(offsets.contiguous(), position.to(offsets.dtype), right=True) - 1


def sizes_of(positions: Any, values: Tensor) -> tuple[int, ...]:
    """Returns the smallest shape that has given positions."""
    if positions.dims[1] == 0:
        raise RuntimeError("cannot infer the size of a sparse tensor without values; pass size=")
    largest = positions.amax(1).tolist()
    return (*(int(n) + 1 for n in largest), *values.dims[1:])
