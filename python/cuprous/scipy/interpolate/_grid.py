"""Functions of several variables through the points of a grid."""

from __future__ import annotations

import itertools
import math
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, broadcast_shapes
from cuprous.scipy.interpolate._bsplines import basis, make_interp_spline

ndarray = _core.ndarray


class RegularGridInterpolator:
    """A function through the points of a grid, whose steps may differ, as an object to call.

    Args:
        points: rising (or falling) coordinates, one vector an axis.
        values: array whose first axes are the grid's.
        method: "linear" (or "slinear"), "nearest" (ties down) or "cubic" (not-a-knot splines, exactly; SciPy's are
            solved to a tolerance).
        bounds_error: whether to raise outside of the grid, which waits for the device.
        fill_value: the value there otherwise; None extrapolates.

    Raises:
        NotImplementedError: for other methods ("quintic", "pchip"), `solver` and `solver_args`.
        ValueError: for points that do not fit the values, a complex fill value for real ones, and when called outside
            of the grid with `bounds_error`.
    """

    def __init__(
        self, points: Any, values: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = math.nan,
        *, solver: Any = None, solver_args: Any = None,
    ) -> None:  # fmt: skip
        for name, value in (("solver", solver), ("solver_args", solver_args)):
            if value is not None:
                raise NotImplementedError(f"[RegularGridInterpolator] {name}= is not supported")
        self.method = _known(method)
        self.bounds_error, self.fill_value = bounds_error, fill_value
        values = array(values)
        grid = [_core.cast(array(p), "float64") for p in points]
        if not grid:
            raise ValueError("[RegularGridInterpolator] there must be an axis")
        if len(grid) > values.ndim:
            raise ValueError(f"There are {len(grid)} point arrays, but values has {values.ndim} dimensions")
        for i, p in enumerate(grid):
            if p.ndim != 1:
                raise ValueError(f"The points in dimension {i} must be 1-dimensional")
            if p.size != values.shape[i]:
                raise ValueError(f"There are {p.size} points and {values.shape[i]} values in dimension {i}")
            step = p[1:] - p[:-1]
            if p.size > 1 and not bool(cp.all(step > 0)):
                if not bool(cp.all(step < 0)):
                    raise ValueError(f"The points in dimension {i} must be strictly ascending or descending")
                grid[i], values = p[::-1].copy(), cp.flip(values, i)
        if self.method == "cubic" and any(p.size < 4 for p in grid):
            i = next(i for i, p in enumerate(grid) if p.size < 4)
            raise ValueError(f"There are {grid[i].size} points in dimension {i}, but method cubic requires at least 4 "
                             "points per dimension.")  # fmt: skip
        self.grid = tuple(grid)
        self._coefficients: Any = None
        self.values = values if _dtypes.kind(values.dtype_name) in "fc" else _core.cast(values, "float64")
        if fill_value is not None and not cp.can_cast(array(fill_value).dtype, self.values.dtype, "same_kind"):
            raise ValueError("fill_value must be either 'None' or of a type compatible with values")

    def __call__(self, xi: Any, method: str | None = None) -> ndarray:
        """The function at the rows of `xi` (shape (…, number of axes), or a tuple of arrays, one an axis)."""
        method = self.method if method is None else _known(method)
        columns, shape = self._columns(xi)
        outside: Any = None
        parts = []
        for p, c in zip(self.grid, columns, strict=True):
            away = _core.map("logical_or", c < p[0], c > p[-1])
            outside = away if outside is None else _core.map("logical_or", outside, away)
            last = p.size - 1
            high = cp.clip(cp.searchsorted(p, c), min(1, last), last)
            low = cp.maximum(high - 1, 0)
            x0, x1 = cp.take(p, low), cp.take(p, high)
            t = (c - x0) / (x1 - x0) if last else c * 0.0
            parts.append((low, high, t))
        if self.bounds_error and outside.size and bool(cp.any(outside)):
            raise ValueError("One of the requested xi is out of bounds")
        result: Any = None
        if method == "cubic":
            result = self._spline_at(columns)
            return self._filled(result, columns, outside, shape)
        count = len(columns)
        tail = self.values.shape[count:]
        column = [columns[0].size] + [1] * len(tail)
        if method == "nearest":
            result = self.values[tuple(cp.where(t <= 0.5, low, high) for low, high, t in parts)]
        else:
            for corner in itertools.product((0, 1), repeat=count):
                weight: Any = None
                for side, (_, _, t) in zip(corner, parts, strict=True):
                    w = t if side else 1.0 - t
                    weight = w if weight is None else weight * w
                value = self.values[tuple(part[side] for side, part in zip(corner, parts, strict=True))]
                value = value * weight.reshape(column)
                result = value if result is None else result + value
        return self._filled(result, columns, outside, shape)

    def _spline_at(self, columns: list[ndarray]) -> ndarray:
        """The tensor product of the axes' splines."""
        if self._coefficients is None:
            c, knots = self.values, []
            for axis, p in enumerate(self.grid):
                spline = make_interp_spline(p, c, 3, axis=axis)
                c = cp.moveaxis(spline.c, 0, axis)
                knots.append(spline.t)
            self._coefficients = (c, knots)
        c, knots = self._coefficients
        column = [columns[0].size] + [1] * (c.ndim - len(knots))
        sides = [basis(t, 3, x) for t, x in zip(knots, columns, strict=True)]
        result: Any = None
        for corner in itertools.product(range(4), repeat=len(knots)):
            weight: Any = None
            for i, (_, weights) in zip(corner, sides, strict=True):
                weight = weights[i] if weight is None else weight * weights[i]
            value = c[tuple(low + i for i, (low, _) in zip(corner, sides, strict=True))] * weight.reshape(column)
            result = value if result is None else result + value
        return result

    def _filled(self, result: ndarray, columns: list[ndarray], outside: ndarray, shape: tuple[int, ...]) -> ndarray:
        tail = self.values.shape[len(self.grid) :]
        column = [columns[0].size] + [1] * len(tail)
        if not self.bounds_error and self.fill_value is not None:
            result = _core.map("where", outside.reshape(column), self.fill_value, result)
        missing = cp.isnan(sum(columns[1:], columns[0]))
        return _core.map("where", missing.reshape(column), math.nan, result).reshape([*shape, *tail])

    def _columns(self, xi: Any) -> tuple[list[ndarray], tuple[int, ...]]:
        count = len(self.grid)
        if isinstance(xi, tuple):
            coordinates = [_core.cast(array(x), "float64") for x in xi]
            shape = broadcast_shapes(*(x.shape for x in coordinates))
            found = [_core.broadcast_to(x, shape) for x in coordinates]
        else:
            rows = _core.cast(array(xi), "float64")
            rows = rows.reshape([rows.size, 1]) if rows.ndim == 1 and count == 1 else rows
            shape = rows.shape[:-1] if rows.ndim > 1 else (1,)
            found = [rows[..., i] for i in range(rows.shape[-1])]
        if len(found) != count:
            raise ValueError(f"The requested sample points xi have dimension {len(found)}, but this "
                             f"RegularGridInterpolator has dimension {count}")  # fmt: skip
        return [c.reshape([math.prod(shape)]) for c in found], shape


def _known(method: str) -> str:
    if method in ("linear", "slinear", "nearest", "cubic"):
        return method
    if method in ("quintic", "pchip"):
        raise NotImplementedError(f"[RegularGridInterpolator] method={method!r} is not supported")
    raise ValueError(f"Method '{method}' is not defined")


def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = math.nan
) -> ndarray:
    """`RegularGridInterpolator(points, values, …)(xi)`."""
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
