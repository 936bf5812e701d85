"""Piecewise polynomials, in powers of the distance from a breakpoint or in Bernstein polynomials."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import cuprous as cp
from cuprous import _core
from cuprous._common.arguments import array, ndarray
from cuprous.scipy.interpolate._pieces import Pieces, real_or_complex


class PPoly(Pieces):
    """A piecewise polynomial; calling it evaluates it.

    Parameters
    ----------
    c : array_like
        Coefficients of shape (k, m, …), the highest power first, in powers of the distance from the left breakpoint.
    x : array_like
        m + 1 breakpoints, increasing or decreasing.
    extrapolate : bool, optional
        Whether the outermost polynomials continue beyond the ends (otherwise NaN); "periodic" repeats them.
    axis : int, default 0
        The position of the pieces' axis in results.

    Raises
    ------
    ValueError
        For inconsistent shapes and breakpoints that neither increase nor decrease.

    See Also
    --------
    BPoly

    Examples
    --------
    >>> square = cp.scipy.interpolate.PPoly(cp.asarray([[1.0], [0.0], [0.0]]), [0.0, 2.0])
    >>> square(1.5)
    array(2.25)
    """

    #: `BSpline`, whose module imports this one.
    spline_class: ClassVar[Any]

    def _at(self, c: ndarray, index: ndarray, offset: ndarray, column: list[int]) -> Any:
        t = offset.reshape(column)
        value = cp.take(c[0], index, axis=0)
        for power in range(1, c.shape[0]):
            value = value * t + cp.take(c[power], index, axis=0)
        return value

    @classmethod
    def from_spline(cls, tck: Any, extrapolate: Any = None) -> PPoly:
        """Returns the pieces of a spline.

        Parameters
        ----------
        tck : BSpline
            A `BSpline`, or a tuple of knots, coefficients and degree.
        extrapolate : bool, optional
            Whether the outermost polynomials continue beyond the ends; by default as for the spline.

        Returns
        -------
        PPoly

        Examples
        --------
        >>> line = cp.scipy.interpolate.BSpline([0.0, 0.0, 1.0, 1.0], [2.0, 4.0], 1)
        >>> cp.scipy.interpolate.PPoly.from_spline(line)(0.5)
        array(3.)
        """
        spline = cls.spline_class.construct_fast(*tck) if isinstance(tck, (tuple, list)) else tck
        if extrapolate is None and spline is tck:
            extrapolate = spline.extrapolate
        k, ends = spline.k, spline.t[:-1]
        rows = [spline(ends, m, True) * (1.0 / math.factorial(m)) for m in range(k, -1, -1)]
        return cls.construct_fast(cp.stack(rows), spline.t, extrapolate)

    @classmethod
    def from_bernstein_basis(cls, bp: Any, extrapolate: Any = None) -> PPoly:
        """Returns the same function in powers.

        Parameters
        ----------
        bp : BPoly
            A `BPoly`.
        extrapolate : bool, optional
            Whether the outermost polynomials continue beyond the ends; by default as for `bp`.

        Returns
        -------
        PPoly

        Raises
        ------
        TypeError
            For other objects.

        Examples
        --------
        >>> line = cp.scipy.interpolate.BPoly([[1.0], [3.0]], [0.0, 1.0])
        >>> cp.scipy.interpolate.PPoly.from_bernstein_basis(line).c.ravel()
        array([2., 1.])
        """
        if not isinstance(bp, BPoly):
            raise TypeError(f".from_bernstein_basis only accepts BPoly instances. Got {type(bp)} instead.")
        k = bp.c.shape[0] - 1
        matrix = [[(-1.0) ** (a + s) * math.comb(k, a) * math.comb(k - a, s - a) if s >= a else 0.0
                   for a in range(k + 1)] for s in range(k, -1, -1)]  # fmt: skip
        c = cp.tensordot(cp.asarray(matrix), bp.c, 1) / _powers_of_widths(bp)
        return cls.construct_fast(c, bp.x, bp.extrapolate if extrapolate is None else extrapolate, bp.axis)

    def _differentiated(self, nu: int) -> ndarray:
        c, k = self.c, self.c.shape[0]
        if nu >= k:
            return cp.zeros((1, *c.shape[1:]), c.dtype_name)
        factors = cp.asarray([float(math.perm(p, nu)) for p in range(k - 1, nu - 1, -1)])
        return c[: k - nu] * factors.reshape([k - nu] + [1] * (c.ndim - 1))

    def _integrated(self, c: ndarray) -> ndarray:
        k, width = c.shape[0], _widths(self.x, c.ndim)[0]
        divisors = cp.asarray([float(p) for p in range(k, 0, -1)]).reshape([k] + [1] * (c.ndim - 1))
        raised = c / divisors
        total = raised[0] * width
        for power in range(1, k):
            total = (total + raised[power]) * width
        before = cp.cumsum(total, axis=0)[:-1]
        start = cp.concatenate([cp.zeros((1, *c.shape[2:]), c.dtype_name), before], axis=0)
        return cp.concatenate([raised, start[None]], axis=0)


class BPoly(Pieces):
    """A piecewise polynomial in Bernstein polynomials; calling it evaluates it.

    Parameters
    ----------
    c : array_like
        Coefficients of shape (k + 1, m, …) of the Bernstein polynomials of degree k on each piece.
    x : array_like
        m + 1 breakpoints, increasing or decreasing.
    extrapolate : bool, optional
        Whether the outermost polynomials continue beyond the ends (otherwise NaN); "periodic" repeats them.
    axis : int, default 0
        The position of the pieces' axis in results.

    Raises
    ------
    ValueError
        For inconsistent shapes and breakpoints that neither increase nor decrease.

    See Also
    --------
    PPoly

    Examples
    --------
    >>> line = cp.scipy.interpolate.BPoly([[1.0], [3.0]], [0.0, 2.0])
    >>> line(0.5)
    array(1.5)
    """

    def _at(self, c: ndarray, index: ndarray, offset: ndarray, column: list[int]) -> Any:
        width = cp.take(self.x[1:] - self.x[:-1], index)
        s = (offset / width).reshape(column)
        rest, k = 1.0 - s, c.shape[0] - 1
        value: Any = None
        for a in range(k + 1):
            term = cp.take(c[a], index, axis=0) * (math.comb(k, a) * s**a * rest ** (k - a))
            value = term if value is None else value + term
        return value

    def _raised(self, c: ndarray, order: int) -> ndarray:
        k, d = c.shape[0] - 1, order - c.shape[0]
        matrix = [[math.comb(k, a) * math.comb(d, j - a) / math.comb(k + d, j) if 0 <= j - a <= d else 0.0
                   for a in range(k + 1)] for j in range(order)]  # fmt: skip
        return cp.tensordot(cp.asarray(matrix), c, 1) if d else c

    @classmethod
    def from_power_basis(cls, pp: Any, extrapolate: Any = None) -> BPoly:
        """Returns the same function in Bernstein polynomials.

        Parameters
        ----------
        pp : PPoly
            A `PPoly`.
        extrapolate : bool, optional
            Whether the outermost polynomials continue beyond the ends; by default as for `pp`.

        Returns
        -------
        BPoly

        Raises
        ------
        TypeError
            For other objects.

        Examples
        --------
        >>> line = cp.scipy.interpolate.PPoly([[2.0], [1.0]], [0.0, 1.0])
        >>> cp.scipy.interpolate.BPoly.from_power_basis(line).c.ravel()
        array([1., 3.])
        """
        if not isinstance(pp, PPoly):
            raise TypeError(f".from_power_basis only accepts PPoly instances. Got {type(pp)} instead.")
        k = pp.c.shape[0] - 1
        matrix = [[math.comb(j, k - a) / math.comb(k, k - a) for a in range(k + 1)] for j in range(k + 1)]
        c = cp.tensordot(cp.asarray(matrix), pp.c * _powers_of_widths(pp), 1)
        return cls.construct_fast(c, pp.x, pp.extrapolate if extrapolate is None else extrapolate, pp.axis)

    @classmethod
    def from_derivatives(cls, xi: Any, yi: Sequence[Any], orders: Any = None, extrapolate: Any = None) -> BPoly:
        """Returns a function with the given values and derivatives at the breakpoints.

        Parameters
        ----------
        xi : array_like
            Increasing coordinates.
        yi : sequence
            For each coordinate a sequence of the value, the first derivative, and so on.
        orders : int, optional
            The degree of the polynomials, or of each one; by default what the derivatives determine.
        extrapolate : bool, optional
            Whether the outermost polynomials continue beyond the ends.

        Returns
        -------
        BPoly

        Raises
        ------
        TypeError
            If `yi` has no sequences.
        ValueError
            For inconsistent lengths, coordinates that do not increase, and orders that the derivatives do not
            determine.

        Examples
        --------
        >>> curve = cp.scipy.interpolate.BPoly.from_derivatives([0.0, 1.0], [[0.0, 0.0], [1.0, 2.0]])
        >>> curve(0.5)
        array(0.25)
        """
        x = _core.cast(array(xi), "float64")
        if x.size != len(yi):
            raise ValueError("xi and yi need to have the same length")
        if bool(cp.any(x[1:] <= x[:-1])):
            raise ValueError("x coordinates are not in increasing order")
        m = x.size - 1
        if any(getattr(y, "shape", None) == () or not hasattr(y, "__len__") for y in yi):
            raise TypeError("Using a 1-D array for y? Please .reshape(-1, 1).")
        known = [real_or_complex(array(y)) for y in yi]
        k = max(len(one) + len(two) for one, two in itertools.pairwise(known))
        degrees = [orders] * m if orders is None or hasattr(orders, "__index__") else list(orders)
        if orders is not None:
            k = max(k, *degrees)
            if any(n <= 0 for n in degrees):
                raise ValueError("Orders must be positive.")
        pieces = []
        for i, degree in enumerate(degrees):
            n1, n2 = _used(i, len(known[i]), len(known[i + 1]), degree)
            c = _hermite(x[i + 1] - x[i], known[i][:n1], known[i + 1][:n2])
            pieces.append(cls._raised(cls.__new__(cls), c, k))
        return cls(cp.stack(pieces, axis=1), x, extrapolate)

    def _differentiated(self, nu: int) -> ndarray:
        c, width = self.c, _widths(self.x, self.c.ndim)
        for _ in range(nu):
            c = (c.shape[0] - 1) * (c[1:] - c[:-1]) / width if c.shape[0] > 1 else cp.zeros_like(c)
        return c

    def _integrated(self, c: ndarray) -> ndarray:
        zero = cp.zeros((1, *c.shape[1:]), c.dtype_name)
        c = cp.concatenate([zero, cp.cumsum(c, axis=0) / c.shape[0]]) * _widths(self.x, c.ndim)
        return c + cp.concatenate([zero[0, :1], cp.cumsum(c[-1], axis=0)[:-1]])


def _widths(x: ndarray, ndim: int) -> ndarray:
    """Returns the widths of the pieces, shaped for coefficients of `ndim` axes."""
    return (x[1:] - x[:-1]).reshape([1, x.size - 1] + [1] * (ndim - 2))


def _powers_of_widths(p: Pieces) -> ndarray:
    """Returns the widths of the pieces to the powers k, …, 1, 0, shaped for the coefficients."""
    k = p.c.shape[0]
    return _widths(p.x, p.c.ndim) ** cp.asarray(range(k - 1, -1, -1)).reshape([k] + [1] * (p.c.ndim - 1))


def _used(piece: int, first: int, second: int, degree: int | None) -> tuple[int, int]:
    """Returns how many of the derivatives at both ends of a piece determine a polynomial of this degree."""
    if degree is None:
        return first, second
    n1 = min((degree + 1) // 2, first)
    n2 = min(degree + 1 - n1, second)
    n1 = min(degree + 1 - n2, second)
    if n1 + n2 != degree + 1:
        raise ValueError(f"Point {piece} has {first} derivatives, point {piece + 1} has {second} derivatives, but "
                         f"order {degree} requested")  # fmt: skip
    if not (n1 <= first and n2 <= second):
        raise ValueError("`order` input incompatible with length y1 or y2.")
    return n1, n2


def _hermite(width: ndarray, first: ndarray, second: ndarray) -> ndarray:
    """Returns the coefficients of the Bernstein polynomials with these derivatives at both ends of a piece."""
    n, c = len(first) + len(second), {}
    for q, y in enumerate(first):
        c[q] = y * width**q / math.perm(n - 1, q)
        for j in range(q):
            c[q] = c[q] - (-1) ** (j + q) * math.comb(q, j) * c[j]
    for q, y in enumerate(second):
        c[n - q - 1] = y * (-1) ** q * width**q / math.perm(n - 1, q)
        for j in range(q):
            c[n - q - 1] = c[n - q - 1] - (-1) ** (j + 1) * math.comb(q, j + 1) * c[n - q + j]
    return cp.stack([c[a] for a in range(n)])


PPoly._kind, BPoly._kind = PPoly, BPoly
