"""Piecewise polynomials of several variables, on the cells of a grid."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common.arguments import array, ndarray
from cuprous._common.operands import on_array_device
from cuprous.scipy.interpolate._pieces import real_or_complex
from cuprous.scipy.interpolate._ppoly import PPoly

_map = _core.map


def _points(x: Any) -> ndarray:
    """Returns points, whose last axis are the coordinates. A tuple has an array for each coordinate."""
    if isinstance(x, tuple) and len(x) > 1:
        return cp.stack([_core.cast(part, "float64") for part in cp.broadcast_arrays(*map(array, x))], axis=-1)
    points = _core.cast(array(x[0] if isinstance(x, tuple) else x), "float64")
    return points.reshape(-1, 1) if points.ndim == 1 else points


class NdPPoly:
    """A piecewise polynomial of several variables, a polynomial on each cell of a grid. Calling it evaluates it.

    Parameters
    ----------
    c : array_like
        Coefficients of shape (k0, …, kn, m0, …, mn, …), the highest powers first, in powers of the distances from the
        corner of a cell with the least coordinates.
    x : sequence of array_like
        The increasing breakpoints of each dimension, mj + 1 of dimension j.
    extrapolate : bool, optional
        Whether the outermost polynomials continue beyond the grid (True, the default); otherwise values are NaN there.

    Raises
    ------
    ValueError
        For inconsistent shapes, and breakpoints that decrease.

    See Also
    --------
    PPoly, NdBSpline

    Examples
    --------
    >>> c = cp.asarray([[1.0, 0.0], [0.0, 0.0]]).reshape(2, 2, 1, 1)
    >>> product = cp.scipy.interpolate.NdPPoly(c, ([0.0, 1.0], [0.0, 1.0]))
    >>> product([[0.5, 0.5], [0.5, 1.0]])
    array([0.25, 0.5 ])
    """

    def __init__(self, c: Any, x: Sequence[Any], extrapolate: bool | None = None) -> None:
        self.x: tuple[ndarray, ...] = tuple(_core.cast(array(v), "float64") for v in x)
        self.c: ndarray = real_or_complex(array(c))
        self.extrapolate = extrapolate is None or bool(extrapolate)
        ndim = len(self.x)
        if any(v.ndim != 1 for v in self.x):
            raise ValueError("x arrays must all be 1-dimensional")
        if any(v.size < 2 for v in self.x):
            raise ValueError("x arrays must all contain at least 2 points")
        if self.c.ndim < 2 * ndim:
            raise ValueError("c must have at least 2*len(x) dimensions")
        if any(bool((v[1:] < v[:-1]).any()) for v in self.x):
            raise ValueError("x-coordinates are not in increasing order")
        if any(m != v.size - 1 for m, v in zip(self.c.shape[ndim : 2 * ndim], self.x, strict=True)):
            raise ValueError("x and c do not agree on the number of intervals")

    @classmethod
    def construct_fast(cls, c: Any, x: Sequence[Any], extrapolate: bool | None = None) -> NdPPoly:
        """Returns a piecewise polynomial without checks of the arguments.

        Parameters
        ----------
        c : array_like
            The coefficients, as for the class.
        x : sequence of array_like
            The breakpoints of each dimension.
        extrapolate : bool, optional
            Whether the outermost polynomials continue beyond the grid; by default True.

        Returns
        -------
        NdPPoly

        Examples
        --------
        >>> constant = cp.scipy.interpolate.NdPPoly.construct_fast([[[[3.0]]]], ([0.0, 1.0], [0.0, 1.0]))
        >>> constant([[0.5, 0.5]])
        array([3.])
        """
        instance = object.__new__(cls)
        instance.c = real_or_complex(array(c))
        instance.x = tuple(_core.cast(array(v), "float64") for v in x)
        instance.extrapolate = extrapolate is None or bool(extrapolate)
        return instance

    def __call__(self, x: Any, nu: Sequence[int] | None = None, extrapolate: bool | None = None) -> ndarray:
        """Evaluates the polynomial, or a derivative of it.

        Parameters
        ----------
        x : array_like
            The points, whose last axis are the coordinates, or a tuple of arrays of coordinates that broadcast.
        nu : sequence of ints, optional
            The order of the derivative in each dimension.
        extrapolate : bool, optional
            As for the class.

        Returns
        -------
        ndarray
            An array with the other axes of `x`, then those of the values.

        Raises
        ------
        ValueError
            For points of another number of dimensions, and other numbers of orders or negative ones.
        """
        ndim, points = len(self.x), _points(x)
        orders = [0] * ndim if nu is None else [operator.index(n) for n in nu]
        if len(orders) != ndim:
            raise ValueError("invalid number of derivative orders nu")
        if min(orders) < 0:
            raise ValueError("Order of derivative cannot be negative")
        if points.ndim == 0 or points.shape[-1] != ndim:
            raise ValueError("invalid number of dimensions in xp")
        c = (self.derivative(orders) if any(orders) else self).c
        tail = c.shape[2 * ndim :]
        keep = self.extrapolate if extrapolate is None else bool(extrapolate)
        cells = c.reshape(*c.shape[:ndim], math.prod(c.shape[ndim : 2 * ndim]), math.prod(tail))
        return _evaluated(cells, self.x, points.reshape(-1, ndim), keep).reshape(*points.shape[:-1], *tail)

    def _along(self, axis: int) -> tuple[PPoly, list[int]]:
        """Returns the polynomial of one variable for all others, and where its axes were."""
        ndim = len(self.x)
        order = [axis, ndim + axis, *(d for d in range(self.c.ndim) if d not in (axis, ndim + axis))]
        return PPoly.construct_fast(cp.transpose(self.c, order), self.x[axis], self.extrapolate), order

    def derivative(self, nu: Sequence[int]) -> NdPPoly:
        """Returns the partial derivative.

        Parameters
        ----------
        nu : sequence of ints
            The order in each dimension; negative for antiderivatives.

        Returns
        -------
        NdPPoly

        Examples
        --------
        >>> c = cp.asarray([[1.0, 0.0], [0.0, 0.0]]).reshape(2, 2, 1, 1)
        >>> product = cp.scipy.interpolate.NdPPoly(c, ([0.0, 1.0], [0.0, 1.0]))
        >>> product.derivative((1, 0))([[0.5, 0.75]])
        array([0.75])
        """
        found = self
        for axis, order in enumerate(nu):
            if order:
                one, axes = found._along(axis)
                back = sorted(range(len(axes)), key=axes.__getitem__)
                found = self.construct_fast(cp.transpose(one.derivative(order).c, back), self.x, self.extrapolate)
        return found

    def antiderivative(self, nu: Sequence[int]) -> NdPPoly:
        """Returns the continuous antiderivative that is 0 at the first breakpoint of each dimension.

        Parameters
        ----------
        nu : sequence of ints
            The order in each dimension; negative for derivatives.

        Returns
        -------
        NdPPoly

        Examples
        --------
        >>> c = cp.asarray([[1.0, 0.0], [0.0, 0.0]]).reshape(2, 2, 1, 1)
        >>> product = cp.scipy.interpolate.NdPPoly(c, ([0.0, 1.0], [0.0, 1.0]))
        >>> product.antiderivative((1, 0))([[1.0, 0.5]])
        array([0.25])
        """
        return self.derivative([-order for order in nu])

    def integrate_1d(self, a: float, b: float, axis: int, extrapolate: bool | None = None) -> Any:
        """Returns the integral over one variable.

        Parameters
        ----------
        a : float
            The lower end.
        b : float
            The upper end.
        axis : int
            The dimension.
        extrapolate : bool, optional
            As for the class.

        Returns
        -------
        NdPPoly or ndarray
            A polynomial of the other variables; an array if there are none.

        Examples
        --------
        >>> c = cp.asarray([[1.0, 0.0], [0.0, 0.0]]).reshape(2, 2, 1, 1)
        >>> product = cp.scipy.interpolate.NdPPoly(c, ([0.0, 1.0], [0.0, 1.0]))
        >>> product.integrate_1d(0.0, 1.0, 0)([0.5])
        array([0.25])
        """
        keep = self.extrapolate if extrapolate is None else bool(extrapolate)
        axis = operator.index(axis) % len(self.x)
        c = self._along(axis)[0].integrate(a, b, keep)
        rest = self.x[:axis] + self.x[axis + 1 :]
        return self.construct_fast(c, rest, keep) if rest else c

    def integrate(self, ranges: Sequence[tuple[float, float]], extrapolate: bool | None = None) -> ndarray:
        """Returns the integral over a box.

        Parameters
        ----------
        ranges : sequence of tuples of floats
            The lower and the upper end in each dimension.
        extrapolate : bool, optional
            As for the class.

        Returns
        -------
        ndarray
            An array with the axes of the values.

        Raises
        ------
        ValueError
            For another number of ranges.

        Examples
        --------
        >>> c = cp.asarray([[1.0, 0.0], [0.0, 0.0]]).reshape(2, 2, 1, 1)
        >>> product = cp.scipy.interpolate.NdPPoly(c, ([0.0, 1.0], [0.0, 1.0]))
        >>> product.integrate([(0.0, 1.0), (0.0, 1.0)])
        array(0.25)
        """
        if not hasattr(ranges, "__len__") or len(ranges) != len(self.x):
            raise ValueError("Range not a sequence of correct length")
        found: Any = self
        for a, b in ranges:
            found = found.integrate_1d(a, b, 0, extrapolate)
        result: ndarray = found
        return result


@on_array_device
def _evaluated(cells: ndarray, x: Sequence[ndarray], points: ndarray, extrapolate: bool) -> ndarray:
    """Returns the values at points, one a row. The cells are one axis of the coefficients, and the values another."""
    flat: Any = 0
    offsets = []
    spoiled = cp.isnan(points).any(axis=1)
    for d, own in enumerate(x):
        coordinates = points[:, d]
        index = cp.clip(cp.searchsorted(own, coordinates, side="right") - 1, 0, own.size - 2)
        offsets.append((coordinates - cp.take(own, index)).reshape(-1, 1))
        flat = flat * (own.size - 1) + index
        if not extrapolate:
            beyond = _map("logical_or", coordinates < own[0], coordinates > own[-1])
            spoiled = _map("logical_or", spoiled, beyond)
    value = cp.take(cells, flat, axis=len(x))
    for offset in offsets:
        total = value[0]
        for power in range(1, value.shape[0]):
            total = total * offset + value[power]
        value = total
    return _map("where", spoiled.reshape(-1, 1), math.nan, value)


__all__ = ["NdPPoly"]
