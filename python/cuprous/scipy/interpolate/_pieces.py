"""What piecewise polynomials share, and the preparation of points to interpolate."""

from __future__ import annotations

import math
from typing import Any, ClassVar, TypeVar

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

    Raises
    ------
    ValueError
        For anything else.
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


_Self = TypeVar("_Self", bound="Pieces")


class Pieces:
    """The base class of piecewise polynomials: coefficients of shape (k, m, …) for m pieces."""

    #: The class of derivatives, which for a spline is that of its pieces.
    _kind: ClassVar[type[Pieces]]

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        c, x = real_or_complex(array(c)), _core.cast(array(x), "float64")
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
        if not _sorted(x):
            raise ValueError("`x` must be strictly increasing or decreasing.")
        self._set(c, x, axis)
        self.extrapolate = _extrapolation(extrapolate)

    def _set(self, c: ndarray, x: ndarray, axis: int) -> None:
        self.c, self.x, self.axis = c, x, axis

    @classmethod
    def construct_fast(cls: type[_Self], c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> _Self:
        """Returns a piecewise polynomial without checks of the arguments, which are those of the class.

        Parameters
        ----------
        c : array_like
            The coefficients, with the axes of powers and pieces in front.
        x : array_like
            The breakpoints.
        extrapolate : bool, optional
            Whether the outermost polynomials continue beyond the ends; "periodic" repeats them.
        axis : int, default 0
            The position of the pieces' axis in results.

        Returns
        -------
        object
            An instance of the class.

        Examples
        --------
        >>> line = cp.scipy.interpolate.PPoly.construct_fast([[2.0], [1.0]], [0.0, 1.0])
        >>> line(0.5)
        array(2.)
        """
        instance = object.__new__(cls)
        instance._set(real_or_complex(array(c)), _core.cast(array(x), "float64"), axis)
        instance.extrapolate = _extrapolation(extrapolate)
        return instance

    def _like(self: _Self, c: ndarray) -> _Self:
        return self._kind.construct_fast(c, self.x, self.extrapolate, self.axis)  # type: ignore[return-value]

    def _at(self, c: ndarray, index: ndarray, offset: ndarray, column: list[int]) -> Any:
        """Returns the values of the pieces `index` at distances `offset` from their left ends."""
        raise NotImplementedError

    def _differentiated(self, nu: int) -> ndarray:
        """Returns the coefficients of the derivative of order `nu`, which is not negative."""
        raise NotImplementedError

    def _integrated(self, c: ndarray) -> ndarray:
        """Returns the coefficients of the continuous antiderivative that is 0 at the first breakpoint."""
        raise NotImplementedError

    def derivative(self: _Self, nu: int = 1) -> _Self:
        """Returns the derivative of order `nu`; for negative orders an antiderivative.

        Parameters
        ----------
        nu : int, default 1
            The order.

        Returns
        -------
        BPoly
            A `BPoly` for a `BPoly`, otherwise a `PPoly`.

        Examples
        --------
        >>> square = cp.scipy.interpolate.PPoly(cp.asarray([[1.0], [0.0], [0.0]]), [0.0, 2.0])
        >>> square.derivative()(1.5)
        array(3.)
        """
        return self.antiderivative(-nu) if nu < 0 else self._like(self._differentiated(nu))

    def antiderivative(self: _Self, nu: int = 1) -> _Self:
        """Returns the continuous antiderivative of order `nu` that is 0 at the first breakpoint.

        Parameters
        ----------
        nu : int, default 1
            The order.

        Returns
        -------
        BPoly
            A `BPoly` for a `BPoly`, otherwise a `PPoly`.

        Examples
        --------
        >>> square = cp.scipy.interpolate.PPoly(cp.asarray([[3.0], [0.0], [0.0]]), [0.0, 2.0])
        >>> square.antiderivative()(2.0)
        array(8.)
        """
        if nu <= 0:
            return self.derivative(-nu)
        c = self.c
        for _ in range(nu):
            c = self._integrated(c)
        result = self._like(c)
        if result.extrapolate == "periodic":
            result.extrapolate = False
        return result

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
        value = self._at(c, index, flat - cp.take(self.x, index), column)
        spoiled = cp.isnan(flat)
        if not extrapolate:
            outside = _core.map("logical_or", order < nodes[0], order > nodes[-1])
            spoiled = _core.map("logical_or", spoiled, outside)
        value = _core.map("where", spoiled.reshape(column), math.nan, value)
        return moved_back(value, sites.shape, tail, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> ndarray:
        """Returns the integral from `a` to `b`.

        Parameters
        ----------
        a : float
            The lower end.
        b : float
            The upper end.
        extrapolate : bool or str, optional
            As for the class; by default as for the polynomial.

        Returns
        -------
        ndarray
            An array with the other axes of the coefficients.

        Examples
        --------
        >>> square = cp.scipy.interpolate.PPoly(cp.asarray([[3.0], [0.0], [0.0]]), [0.0, 2.0])
        >>> square.integrate(0.0, 2.0)
        array(8.)
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole = self.antiderivative()
        if extrapolate == "periodic":
            return periodic_integral(whole, self.x[0], self.x[-1], a, b)
        return whole(b, extrapolate=extrapolate) - whole(a, extrapolate=extrapolate)

    def extend(self, c: Any, x: Any) -> None:
        """Adds pieces behind the last breakpoint or in front of the first one, in place.

        Parameters
        ----------
        c : array_like
            The coefficients, of shape (any order, m, …).
        x : array_like
            The m new breakpoints.

        Raises
        ------
        ValueError
            For inconsistent shapes, and breakpoints that are not sorted, in another order, or between those that are
            there.

        Examples
        --------
        >>> p = cp.scipy.interpolate.PPoly([[1.0]], [0.0, 1.0])
        >>> p.extend([[5.0]], [2.0])
        >>> p([0.5, 1.5])
        array([1., 5.])
        """
        own, more, sites = self.c, real_or_complex(array(c)), _core.cast(array(x), "float64")
        if more.ndim < 2:
            raise ValueError("invalid dimensions for c")
        if sites.ndim != 1:
            raise ValueError("invalid dimensions for x")
        if sites.shape[0] != more.shape[1]:
            raise ValueError(f"Shapes of x {sites.shape} and c {more.shape} are incompatible")
        if more.shape[2:] != own.shape[2:] or more.ndim != own.ndim:
            raise ValueError(f"Shapes of c {more.shape} and self.c {own.shape} are incompatible")
        if not more.size:
            return
        if not _sorted(sites):
            raise ValueError("`x` is not sorted.")
        low, high, start, end = _core.to_numpy(cp.stack([self.x[0], self.x[-1], sites[0], sites[-1]])).tolist()
        sign = 1 if high >= low else -1
        if sign * (end - start) < 0:
            raise ValueError("`x` is in the different order than `self.x`.")
        behind = sign * (start - high) >= 0
        if not behind and sign * (end - low) > 0:
            raise ValueError("`x` is neither on the left or on the right from `self.x`.")
        order = max(own.shape[0], more.shape[0])
        parts = [(self._raised(own, order), self.x), (self._raised(more, order), sites)]
        parts = parts if behind else parts[::-1]
        self.c, self.x = (cp.concatenate([part[k] for part in parts], axis=1 - k) for k in (0, 1))

    def _raised(self, c: ndarray, order: int) -> ndarray:
        """Returns the coefficients in an order at least as high."""
        return cp.concatenate([cp.zeros((order - c.shape[0], *c.shape[1:]), c.dtype_name), c])


def _extrapolation(extrapolate: Any) -> Any:
    return extrapolate if extrapolate == "periodic" else extrapolate is None or bool(extrapolate)


def _sorted(x: ndarray) -> bool:
    return bool(cp.all(x[1:] >= x[:-1])) or bool(cp.all(x[1:] <= x[:-1]))


def periodic_integral(whole: Any, first: ndarray, last: ndarray, a: Any, b: Any) -> ndarray:
    """Returns the integral from `a` to `b` of the periodic continuation of a function.

    Parameters
    ----------
    whole : scalar
        Its antiderivative between `first` and `last`.
    first : ndarray
        Where a period begins.
    last : ndarray
        Where it ends.
    a : float
        The lower end.
    b : float
        The upper end.
    """
    a, b = (_core.cast(array(v), "float64") for v in (a, b))
    start, period = whole(first, extrapolate=True), last - first
    once = whole(last, extrapolate=True) - start

    def up_to(v: ndarray) -> ndarray:
        past = cp.floor((v - first) / period)
        return past * once + whole(v - past * period, extrapolate=True) - start

    return up_to(b) - up_to(a)


def prepared(x: Any, y: Any, axis: int, dydx: Any = None) -> tuple[ndarray, ndarray, ndarray, int, Any]:
    """Returns breakpoints, their distances (as a column), values and slopes with the axis in front, and the axis.

    Raises
    ------
    ValueError
        For inconsistent shapes, and breakpoints that do not increase.
    AxisError
        If the axis does not exist.
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
