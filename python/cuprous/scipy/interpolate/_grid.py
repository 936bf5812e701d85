"""Interpolation of functions of several variables on a grid."""

from __future__ import annotations

import itertools
import math
import operator
from functools import reduce
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, broadcast_shapes, ndarray
from cuprous.scipy.interpolate._bsplines import basis, make_interp_spline


class RegularGridInterpolator:
    """An interpolating function on a rectilinear grid; calling it evaluates it.

    Parameters
    ----------
    points : array_like
        Increasing (or decreasing) coordinates, one vector for each axis.
    values : array_like
        An array whose first axes are the grid's.
    method : {"linear", "slinear", "nearest", "cubic"}, default "linear"
        "linear" (or "slinear"), "nearest" (ties go down) or "cubic" (exact not-a-knot splines; SciPy solves them to a
        tolerance).
    bounds_error : bool, default True
        Whether to raise for points outside the grid, which waits for the device.
    fill_value : number, optional
        The value outside the grid otherwise; None extrapolates.
    solver : str, optional
        Not supported.
    solver_args : dict, optional
        Not supported.

    Raises
    ------
    NotImplementedError
        For the methods "quintic" and "pchip", `solver` and `solver_args`.
    ValueError
        For points that do not match the values, a complex fill value for real ones, and evaluation outside the grid
        with `bounds_error`.

    See Also
    --------
    NearestNDInterpolator, interpn, cuprous.scipy.ndimage.map_coordinates

    Examples
    --------
    >>> f = cp.scipy.interpolate.RegularGridInterpolator(([0.0, 1.0], [0.0, 2.0]), [[0.0, 2.0], [1.0, 3.0]])
    >>> f([[0.5, 1.0]])
    array([1.5])
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
        """Evaluates the function at the rows of `xi` (shape (…, number of axes), or a tuple of arrays, one for each
        axis)."""
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
        if method == "cubic":
            result = self._spline_at(columns)
        elif method == "nearest":
            result = self.values[tuple(cp.where(t <= 0.5, low, high) for low, high, t in parts)]
        else:
            result = _weighted(self.values, [[(low, 1.0 - t), (high, t)] for low, high, t in parts])
        return self._filled(result, columns, outside, shape)

    def _spline_at(self, columns: list[ndarray]) -> ndarray:
        """Evaluates the tensor product of the axes' splines."""
        if self._coefficients is None:
            c, knots = self.values, []
            for axis, p in enumerate(self.grid):
                spline = make_interp_spline(p, c, 3, axis=axis)
                c = cp.moveaxis(spline.c, 0, axis)
                knots.append(spline.t)
            self._coefficients = (c, knots)
        c, knots = self._coefficients
        bases = (basis(t, 3, x) for t, x in zip(knots, columns, strict=True))
        return _weighted(c, [[(low + i, w) for i, w in enumerate(weights)] for low, weights in bases])

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


def _weighted(values: ndarray, sides: list[list[tuple[ndarray, ndarray]]]) -> ndarray:
    """Returns the sum of the values at all combinations of one index per axis, times the weights of these indices."""

    def term(corner: tuple[tuple[ndarray, ndarray], ...]) -> ndarray:
        weight = reduce(operator.mul, (w for _, w in corner))
        value = values[tuple(i for i, _ in corner)]
        return value * weight.reshape([weight.size] + [1] * (values.ndim - len(sides)))

    return reduce(operator.add, map(term, itertools.product(*sides)))


def _known(method: str) -> str:
    if method in ("linear", "slinear", "nearest", "cubic"):
        return method
    if method in ("quintic", "pchip"):
        raise NotImplementedError(f"[RegularGridInterpolator] method={method!r} is not supported")
    raise ValueError(f"Method '{method}' is not defined")


def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = math.nan
) -> ndarray:
    """Computes `RegularGridInterpolator(points, values, …)(xi)`.

    Parameters
    ----------
    points : array_like
        Increasing (or decreasing) coordinates, one vector for each axis.
    values : array_like
        An array whose first axes are the grid's.
    xi : array_like
        The points to evaluate at, with the coordinates along the last axis.
    method : str, default "linear"
        As for `RegularGridInterpolator`.
    bounds_error : bool, default True
        Whether to raise for points outside the grid, which waits for the device.
    fill_value : number, optional
        The value outside the grid otherwise; None extrapolates.

    Returns
    -------
    ndarray
        An array of the values at the points.

    Raises
    ------
    ValueError
        For points that do not match the values, and points outside the grid with `bounds_error`.

    See Also
    --------
    NearestNDInterpolator, RegularGridInterpolator, cuprous.scipy.ndimage.map_coordinates

    Examples
    --------
    >>> cp.scipy.interpolate.interpn(([0.0, 1.0], [0.0, 2.0]), cp.asarray([[0.0, 2.0], [1.0, 3.0]]), [[0.5, 1.0]])
    array([1.5])
    """
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
