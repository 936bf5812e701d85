"""Resampling on the CPU as a product with a sparse matrix, whose rows have the weights of the points around a position.

The matrix depends on extents alone, so it is made once on the host. Its product reads the input once, and the gradient
is the product with the transposed matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any, NamedTuple, TypeAlias

from cuprous import _core
from cuprous._core import Tensor, ndarray
from cuprous.torch.autograd import Function

#: The most weights of a matrix: 8 MiB with their indices.
_MAX_WEIGHTS = 1 << 20
#: The least images times channels, which the product processes side by side.
_MIN_CHANNELS = 16

#: The points that each position of an axis reads (int64), and their weights (float64): host arrays (positions, points).
Points: TypeAlias = "tuple[Any, Any]"


def cubic_near(d: Any, a: float = -0.75) -> Any:
    """Returns the weight of a point at a distance of at most 1 (Keys, 1981)."""
    return ((a + 2) * d - (a + 3)) * d * d + 1


def cubic_far(d: Any, a: float = -0.75) -> Any:
    """Returns the weight of a point at a distance between 1 and 2."""
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a


class Axis(NamedTuple):
    """How an axis is resampled: extents, the distance of two positions, and whether corners are aligned."""

    old: int
    new: int
    step: float
    cubic: bool
    align: bool

    def points(self) -> Points:
        import numpy as np

        at = np.arange(self.new, dtype=np.float64)
        if self.old == self.new and (self.align or self.step == 1):
            return at.astype(np.int64)[:, None], np.ones((self.new, 1))
        if self.align:
            at *= (self.old - 1) / (self.new - 1) if self.new > 1 else 0.0
        else:
            at = (at + 0.5) * self.step - 0.5
            at = at if self.cubic else np.maximum(at, 0)
        low = np.floor(at)
        t = at - low
        weights = [cubic_far(t + 1), cubic_near(t), cubic_near(1 - t), cubic_far(2 - t)] if self.cubic else [1 - t, t]
        shifts = np.arange(len(weights)) - self.cubic
        return np.clip(low[:, None].astype(np.int64) + shifts, 0, self.old - 1), np.stack(weights, 1)


class _Matrix:
    """A matrix by rows, and its transpose."""

    def __init__(self, rows: int, columns: int, indices: Any, weights: Any, dtype: str) -> None:
        import numpy as np

        self.shape = rows, columns
        places = np.repeat(np.arange(rows), indices.shape[1])
        self.parts = [self._compressed(rows, places, indices.reshape(-1), weights.reshape(-1), dtype)]
        order = np.argsort(indices.reshape(-1), kind="stable")
        turned = (indices.reshape(-1)[order], places[order], weights.reshape(-1)[order])
        self.parts.append(self._compressed(columns, *turned, dtype))

    @staticmethod
    def _compressed(rows: int, places: Any, indices: Any, weights: Any, dtype: str) -> tuple[ndarray, ndarray]:
        import numpy as np

        starts = np.searchsorted(places, np.arange(rows + 1))
        space = (rows + 1 + 31) // 32 * 32  # the indices begin at a multiple of 32
        packed = np.zeros(space + indices.size, np.int32)
        packed[: rows + 1], packed[space:] = starts, indices
        return _core.from_numpy(weights.astype(dtype)), _core.from_numpy(packed)

    def times(self, dense: ndarray, turned: bool) -> ndarray:
        values, packed = self.parts[turned]
        return _core.sparse_dot(values, packed, dense, self.shape[turned], False)


@lru_cache(maxsize=32)
def _matrix(axes: tuple[Axis, ...], dtype: str) -> _Matrix:
    import numpy as np

    def outer(a: Points, axis: Axis) -> Points:
        (i, v), (j, w) = a, axis.points()
        shape = len(i) * len(j), i.shape[1] * j.shape[1]
        at = i[:, None, :, None] * axis.old + j[None, :, None, :]
        return at.reshape(shape), (v[:, None, :, None] * w[None, :, None, :]).reshape(shape)

    at, weights = reduce(outer, axes, (np.zeros((1, 1), np.int64), np.ones((1, 1))))
    return _Matrix(math.prod(axis.new for axis in axes), math.prod(axis.old for axis in axes), at, weights, dtype)


class _Resampled(Function):
    """The product of a matrix with the last axes of a tensor, merged."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, matrix: _Matrix, turned: bool, extents: tuple[int, ...]) -> Tensor:
        ctx.rest = matrix, turned, x.dims[2:]
        lead = x.dims[:2]
        flat = x.reshape([math.prod(lead), matrix.shape[not turned]])
        product = matrix.times(flat.t().contiguous().as_array(), turned)
        return _core.t_wrap(product).t().contiguous().reshape([*lead, *extents])

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        matrix, turned, extents = ctx.rest
        return _Resampled.apply(g, matrix, not turned, tuple(extents)), None, None, None


def resampled(x: Tensor, axes: Sequence[Axis]) -> Tensor | None:
    """Returns a tensor (N, C, ...) resampled over its spatial dimensions, or None where a matrix is not faster."""
    weights = math.prod(axis.new * (4 if axis.cubic else 2) for axis in axes)
    known = x.device_name == "cpu" and x.dtype_name in ("float32", "float64")
    if not known or weights > _MAX_WEIGHTS or math.prod(x.dims[:2]) < _MIN_CHANNELS:
        return None
    return _Resampled.apply(x, _matrix(tuple(axes), x.dtype_name), False, tuple(axis.new for axis in axes))
