"""Piecewise polynomials."""

from __future__ import annotations

import math
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray, normalize_axis


def real_or_complex(a: ndarray) -> ndarray:
    """Converts to float64 or complex128, in which SciPy's polynomials compute."""
    name = "complex128" if _dtypes.kind(a.dtype_name) == "c" else "float64"
    return a if a.dtype_name == name else _core.cast(a, name)


def breakpoints(x: Any) -> ndarray:
    """Returns strictly increasing float64 coordinates. Waits for the device to check them.

    Raises:
        ValueError: for anything else.
    """
    a = array(x)
    if _dtypes.kind(a.dtype_name) == "c":
        raise ValueError("`x` must contain real values.")
    a = a if a.dtype_name == "float64" else _core.cast(a, "float64")
    if a.ndim != 1:
        raise ValueError("`x` must be 1-dimensional.")
    if a.shape[0] < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    if not bool(cp.all(cp.isfinite(a))):
        raise ValueError("`x` must contain only finite values.")
    if not bool(cp.all(a[1:] > a[:-1])):
        raise ValueError("`x` must be strictly increasing sequence.")
    return a


def moved_back(values: ndarray, sites: tuple[int, ...], tail: tuple[int, ...], axis: int) -> ndarray:
    """Reshapes values of shape (all sites, …) so that the shape of the sites takes the position of the axis."""
    n = len(sites)
    values = values.reshape([*sites, *tail])
    return cp.moveaxis(values, list(range(n)), list(range(axis, axis + n))) if n and axis else values


class PPoly:
    """A piecewise polynomial; calling it evaluates it.

    Args:
        c: coefficients of shape (k, m, …), the highest power first, in powers of the distance from the left breakpoint.
        x: m + 1 breakpoints, increasing or decreasing.
        extrapolate: whether the outermost polynomials continue beyond the ends (otherwise NaN); "periodic" repeats
            them.
        axis: the position of the pieces' axis in results.

    Raises:
        ValueError: for inconsistent shapes and breakpoints that neither increase nor decrease.

    Examples:
        >>> square = cp.scipy.interpolate.PPoly(cp.asarray([[1.0], [0.0], [0.0]]), [0.0, 2.0])
        >>> square(1.5)
        array(2.25)
    """

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        c, x = real_or_complex(array(c)), _core.cast(array(x), "float64")
        if extrapolate is None:
            extrapolate = True
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)
        if c.ndim < 2:
            raise ValueError("Coefficients array must be at least 2-dimensional.")
        if not 0 <= axis < c.ndim - 1:
            raise ValueError(f"axis={axis} must be between 0 and {c.ndim - 1}")
        if axis:
            c = cp.moveaxis(cp.moveaxis(c, axis + 1, 0), axis + 1, 0)
        if x.ndim != 1:
            raise ValueError("x must be 1-dimensional")
        if x.size < 2:
            raise ValueError("at least 2 breakpoints are needed")
        if c.shape[0] == 0:
            raise ValueError("polynomial must be at least of order 0")
        if c.shape[1] != x.size - 1:
            raise ValueError("number of coefficients != len(x)-1")
        if not bool(cp.all(x[1:] >= x[:-1])) and not bool(cp.all(x[1:] <= x[:-1])):
            raise ValueError("`x` must be strictly increasing or decreasing.")
        self._set(c, x, axis)

    def _set(self, c: ndarray, x: ndarray, axis: int) -> None:
        self.c, self.x, self.axis = c, x, axis

    def _like(self, c: ndarray) -> PPoly:
        instance = object.__new__(PPoly)
        instance._set(c, self.x, self.axis)
        instance.extrapolate = self.extrapolate
        return instance

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> ndarray:
        """Evaluates the function, or its derivative of order `nu`, at `x`, whose shape replaces the axis in the
        result."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        c = (self if nu == 0 else self.derivative(nu)).c
        sites = array(x)
        flat = _core.cast(sites, "float64").reshape([sites.size])
        first, last = self.x[0], self.x[-1]
        if extrapolate == "periodic":
            flat = first + cp.remainder(flat - first, last - first)
        pieces = self.x.size - 1
        falls = bool(self.x[-1] < self.x[0]) if pieces else False
        nodes, order = (-self.x, -flat) if falls else (self.x, flat)
        index = cp.clip(cp.searchsorted(nodes, order, side="right") - 1, 0, pieces - 1)
        tail = c.shape[2:]
        column = [flat.size] + [1] * len(tail)
        t = (flat - cp.take(self.x, index)).reshape(column)
        value = cp.take(c[0], index, axis=0)
        for power in range(1, c.shape[0]):
            value = value * t + cp.take(c[power], index, axis=0)
        spoiled = cp.isnan(flat)
        if not extrapolate:
            outside = _core.map("logical_or", order < nodes[0], order > nodes[-1])
            spoiled = _core.map("logical_or", spoiled, outside)
        value = _core.map("where", spoiled.reshape(column), math.nan, value)
        return moved_back(value, sites.shape, tail, self.axis)

    def derivative(self, nu: int = 1) -> PPoly:
        """Returns the derivative of order `nu`; for negative orders an antiderivative.

        Args:
            nu: the order.

        Returns:
            A `PPoly`.

        Examples:
            >>> square = cp.scipy.interpolate.PPoly(cp.asarray([[1.0], [0.0], [0.0]]), [0.0, 2.0])
            >>> square.derivative()(1.5)
            array(3.)
        """
        if nu < 0:
            return self.antiderivative(-nu)
        k = self.c.shape[0]
        if nu >= k:
            return self._like(cp.zeros((1, *self.c.shape[1:]), self.c.dtype_name))
        powers = range(k - 1, nu - 1, -1)
        factors = cp.asarray([float(math.perm(p, nu)) for p in powers])
        return self._like(self.c[: k - nu] * factors.reshape([k - nu] + [1] * (self.c.ndim - 1)))

    def antiderivative(self, nu: int = 1) -> PPoly:
        """Returns the continuous antiderivative of order `nu` that is 0 at the first breakpoint.

        Args:
            nu: the order.

        Returns:
            A `PPoly`.

        Examples:
            >>> square = cp.scipy.interpolate.PPoly(cp.asarray([[3.0], [0.0], [0.0]]), [0.0, 2.0])
            >>> square.antiderivative()(2.0)
            array(8.)
        """
        if nu <= 0:
            return self.derivative(-nu)
        result = self
        for _ in range(nu):
            result = result._like(_integrated(result.c, result.x))
        if result.extrapolate == "periodic":
            result.extrapolate = False
        return result

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> ndarray:
        """Returns the integral from `a` to `b`.

        Args:
            a: the lower end.
            b: the upper end.
            extrapolate: as for `PPoly`; by default as for the polynomial.

        Returns:
            An array with the other axes of the coefficients.

        Raises:
            NotImplementedError: for "periodic" extrapolation.

        Examples:
            >>> square = cp.scipy.interpolate.PPoly(cp.asarray([[3.0], [0.0], [0.0]]), [0.0, 2.0])
            >>> square.integrate(0.0, 2.0)
            array(8.)
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise NotImplementedError("[PPoly.integrate] extrapolate='periodic' is not supported")
        whole = self.antiderivative()
        return whole(b, extrapolate=extrapolate) - whole(a, extrapolate=extrapolate)


def _integrated(c: ndarray, x: ndarray) -> ndarray:
    k = c.shape[0]
    divisors = cp.asarray([float(p) for p in range(k, 0, -1)]).reshape([k] + [1] * (c.ndim - 1))
    raised = c / divisors
    width = (x[1:] - x[:-1]).reshape([c.shape[1]] + [1] * (c.ndim - 2))
    total = raised[0] * width
    for power in range(1, k):
        total = (total + raised[power]) * width
    before = cp.cumsum(total, axis=0)[:-1]
    start = cp.concatenate([cp.zeros((1, *c.shape[2:]), c.dtype_name), before], axis=0)
    return cp.concatenate([raised, start[None]], axis=0)


def prepared(x: Any, y: Any, axis: int, dydx: Any = None) -> tuple[ndarray, ndarray, ndarray, int, Any]:
    """Returns breakpoints, their distances (as a column), values and slopes with the axis in front, and the axis.

    Raises:
        ValueError: for inconsistent shapes, and breakpoints that do not increase.
        AxisError: if the axis does not exist.
    """
    sites, values = breakpoints(x), real_or_complex(array(y))
    axis = normalize_axis(axis, values.ndim)
    slopes = None if dydx is None else real_or_complex(array(dydx))
    if slopes is not None:
        if slopes.shape != values.shape:
            raise ValueError("The shapes of `y` and `dydx` must be identical.")
        slopes = cp.moveaxis(slopes, axis, 0)
    if values.shape[axis] != sites.size:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    rows = cp.moveaxis(values, axis, 0)
    width = (sites[1:] - sites[:-1]).reshape([sites.size - 1] + [1] * (values.ndim - 1))
    return sites, width, rows, axis, slopes
