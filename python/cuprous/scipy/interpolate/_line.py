"""Interpolation of functions of one variable."""

from __future__ import annotations

import math
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, broadcast_shapes, ndarray, normalize_axis
from cuprous.scipy.interpolate._bsplines import make_interp_spline
from cuprous.scipy.interpolate._pieces import real_or_complex

_KINDS = ("linear", "nearest", "nearest-up", "previous", "next", "zero")
_DEGREES = {"slinear": 1, "quadratic": 2, "cubic": 3}


class interp1d:
    """An interpolating function of one variable; calling it evaluates it.

    Parameters
    ----------
    x : array_like
        The coordinates of the points.
    y : array_like
        The values along `axis`.
    kind : str, default "linear"
        "linear", "nearest" (ties go down), "nearest-up", "previous" (or "zero"), "next", or a spline: "slinear",
        "quadratic", "cubic" or its degree.
    axis : int, default -1
        The axis of `y`.
    copy : bool, default True
        Whether to copy `y`, so that later writes to it have no effect; `x` is always copied.
    bounds_error : bool, optional
        Whether to raise outside the range of the points, which waits for the device; None raises unless `fill_value` is
        given.
    fill_value : number, pair or str, optional
        The value outside the range, a pair (below, above), or "extrapolate".
    assume_sorted : bool, default False
        Whether `x` is known to increase; otherwise the points are sorted.

    Raises
    ------
    NotImplementedError
        For unknown kinds and negative degrees.
    ValueError
        For inconsistent or too few points, and evaluation outside their range with `bounds_error`.

    See Also
    --------
    scipy.interpolate.CubicSpline, scipy.interpolate.PchipInterpolator, scipy.interpolate.make_interp_spline, interp

    Examples
    --------
    >>> f = cp.scipy.interpolate.interp1d([0.0, 1.0, 2.0], [0.0, 10.0, 40.0])
    >>> f([0.5, 1.5])
    array([ 5., 25.])
    """

    def __init__(
        self, x: Any, y: Any, kind: Any = "linear", axis: int = -1, copy: bool = True, bounds_error: bool | None = None,
        fill_value: Any = math.nan, assume_sorted: bool = False,
    ) -> None:  # fmt: skip
        degree = kind if isinstance(kind, int) else _DEGREES.get(kind)
        if kind not in _KINDS if degree is None else degree < 0:
            known = ", ".join((*_KINDS, *_DEGREES))
            raise NotImplementedError(f"[interp1d] kind={kind!r} is not supported; use one of {known}")
        kind = "zero" if degree == 0 else kind
        x, y = array(x), array(y)
        if copy:
            y = y.copy()
        if x.ndim != 1:
            raise ValueError("the x array must have exactly one dimension.")
        if y.ndim == 0:
            raise ValueError("the y array must have at least one dimension.")
        self.axis = normalize_axis(axis, y.ndim)
        if y.shape[self.axis] != x.size:
            raise ValueError("x and y arrays must be equal in length along interpolation axis.")
        if x.size == 0:
            raise ValueError("x and y arrays must have at least 1 entry")
        if degree and x.size <= degree:
            raise ValueError(f"x and y arrays must have at least {degree + 1} entries")
        rows = cp.moveaxis(y, self.axis, 0)
        if not assume_sorted:
            order = cp.argsort(x, stable=True)
            x, rows = cp.take(x, order), cp.take(rows, order, axis=0)
        self.x, self._x_dtype = _core.cast(x, "float64"), x.dtype
        rows = real_or_complex(rows) if kind == "zero" else rows  # which SciPy implements as a spline
        self._rows = rows if _dtypes.kind(rows.dtype_name) in "fc" else _core.cast(rows, "float64")
        self._kind = kind
        self._spline, self._finite = None, None
        if degree == 1:
            self._spline = make_interp_spline(self.x, self._rows, 1, check_finite=False)
        elif degree:  # a non-finite value makes a smooth spline NaN everywhere, as in SciPy
            self._finite = cp.all(cp.isfinite(self._rows))
            rows = _core.map("where", self._finite, self._rows, 0.0)
            self._spline = make_interp_spline(self.x, rows, degree, check_finite=False)
        extrapolates = isinstance(fill_value, str) and fill_value == "extrapolate"
        if extrapolates and bounds_error:
            raise ValueError("Cannot extrapolate and raise at the same time.")
        has_fill = not (isinstance(fill_value, float) and math.isnan(fill_value))
        self._raises = (not has_fill) if bounds_error is None else bounds_error
        self._fill: tuple[Any, Any]
        if extrapolates:  # "previous" has no value before the first point, nor "next" after the last
            kind = self._kind
            self._fill = (math.nan if kind == "previous" else None, math.nan if kind == "next" else None)
        else:
            pair = isinstance(fill_value, tuple) and len(fill_value) == 2
            below, above = fill_value if pair else (fill_value, fill_value)
            self._fill = (_filling(below, self._rows.shape[1:]), _filling(above, self._rows.shape[1:]))
        plain = all(dtype in ("float64", "int64") for dtype in (x.dtype_name, y.dtype_name))
        # Like SciPy, `interp` is exact at points next to a NaN and accepts a single point.
        self._by_interp = kind == "linear" and plain and y.ndim == 1 and not extrapolates

    def __call__(self, x: Any) -> ndarray:
        """Evaluates the function at `x`, whose shape replaces the axis in the result. NaN gives NaN, for every kind."""
        new_x = array(x)
        points = _core.cast(new_x, "float64")
        flat = points.reshape([points.size])
        below, above = flat < self.x[0], flat > self.x[-1]
        if self._raises and flat.size:
            if bool(cp.any(below)):
                raise ValueError("A value in x_new is below the interpolation range.")
            if bool(cp.any(above)):
                raise ValueError("A value in x_new is above the interpolation range.")
        values = self._evaluated(flat)
        if self._kind == "linear":
            values = cp.astype(values, cp.result_type(self._x_dtype, self._rows.dtype, new_x.dtype))
        column = [flat.size] + [1] * (self._rows.ndim - 1)
        for outside, fill in zip((below, above), self._fill, strict=True):
            if fill is not None:
                values = _core.map("where", outside.reshape(column), fill, values)
        values = _core.map("where", cp.isnan(flat).reshape(column), math.nan, values)
        n = points.ndim
        values = values.reshape([*points.shape, *self._rows.shape[1:]])
        return cp.moveaxis(values, list(range(n)), list(range(self.axis, self.axis + n))) if n else values

    def _evaluated(self, flat: ndarray) -> ndarray:
        x, last = self.x, self.x.size - 1
        if self._by_interp:
            return cp.interp(flat, x, self._rows)
        if self._spline is not None:
            values = self._spline(flat)
            return values if self._finite is None else _core.map("where", self._finite, values, math.nan)
        if self._kind in ("nearest", "nearest-up"):
            middles = x[1:] * 0.5 + x[:-1] * 0.5
            side = "left" if self._kind == "nearest" else "right"
            index = cp.searchsorted(middles, flat, side=side) if last else cp.zeros(flat.shape, int)
            return cp.take(self._rows, cp.clip(index, 0, last), axis=0)
        if self._kind in ("previous", "zero"):
            return cp.take(self._rows, cp.clip(cp.searchsorted(x, flat, side="right") - 1, 0, last), axis=0)
        if self._kind == "next":
            return cp.take(self._rows, cp.clip(cp.searchsorted(x, flat, side="left"), 0, last), axis=0)
        high = cp.clip(cp.searchsorted(x, flat), min(1, last), last)
        low = cp.maximum(high - 1, 0)
        column = [flat.size] + [1] * (self._rows.ndim - 1)
        x0, x1 = (cp.take(x, i).reshape(column) for i in (low, high))
        y0, y1 = (cp.take(self._rows, i, axis=0) for i in (low, high))
        return (y1 - y0) / (x1 - x0) * (flat.reshape(column) - x0) + y0


def _filling(value: Any, shape: tuple[int, ...]) -> Any:
    """Returns a fill value that broadcasts to the shape of the values at one point."""
    if isinstance(value, (int, float, complex)):
        return value
    filling = array(value)
    if filling.ndim > len(shape) or broadcast_shapes(filling.shape, shape) != shape:
        raise ValueError(f"fill_value argument to interp1d must be able to broadcast up to shape {shape} but "
                         f"had shape {tuple(filling.shape)}")  # fmt: skip
    return filling
