"""B-splines, and interpolation by them."""

from __future__ import annotations

import math
import operator
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common.arguments import array, normalize_axis
from cuprous._common.operands import on_array_device
from cuprous.scipy.interpolate._cubic import CubicSpline
from cuprous.scipy.interpolate._pieces import (
    breakpoints,
    moved_back,
    ndarray,
    periodic_integral,
    real_or_complex,
)
from cuprous.scipy.interpolate._ppoly import PPoly
from cuprous.scipy.interpolate._tridiagonal import solve
from cuprous.scipy.sparse import csr_array

_map = _core.map


class BSpline:
    """A spline as a linear combination of B-splines; calling it evaluates it.

    Parameters
    ----------
    t : array_like
        The knots, non-decreasing: at least 2 k + 2.
    c : array_like
        The coefficients along `axis`: at least as many as there are knots minus k + 1.
    k : int
        The degree.
    extrapolate : bool, default True
        Whether the outermost polynomials continue beyond the first and last k + 1 knots (otherwise NaN); "periodic"
        repeats the spline.
    axis : int, default 0
        The axis of `c`.

    Raises
    ------
    ValueError
        For inconsistent shapes, and decreasing knots.

    See Also
    --------
    scipy.interpolate.make_interp_spline, scipy.interpolate.make_lsq_spline, scipy.interpolate.NdBSpline,
    scipy.interpolate.PPoly

    Examples
    --------
    >>> line = cp.scipy.interpolate.BSpline([0.0, 0.0, 1.0, 1.0], [2.0, 4.0], 1)
    >>> line(0.5)
    array(3.)
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self.k = int(k)
        self.t = _core.cast(array(t), "float64")
        values = real_or_complex(array(c))
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)
        if self.k < 0:
            raise ValueError("Spline order cannot be negative.")
        if self.t.ndim != 1:
            raise ValueError("Knot vector must be one-dimensional.")
        n = self.t.size - self.k - 1
        self.axis = normalize_axis(axis, values.ndim)
        self.c = cp.moveaxis(values, self.axis, 0)
        if n < self.k + 1:
            raise ValueError(f"Need at least {2 * self.k + 2} knots for degree {self.k}")
        facts = cp.stack([cp.all(self.t[1:] >= self.t[:-1]), self.t[self.k] == self.t[n]])
        rises, empty = _core.to_numpy(facts)
        if not rises:
            raise ValueError("Knots must be in a non-decreasing order.")
        if empty:
            raise ValueError("Need at least two internal knots.")
        if self.c.shape[0] < n:
            raise ValueError("Knots, coefficients and degree are inconsistent.")

    @classmethod
    def construct_fast(cls, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> BSpline:
        """Returns a spline without checks of the arguments, which are those of the class.

        Parameters
        ----------
        t : array_like
            The knots.
        c : array_like
            The coefficients, with their axis in front.
        k : int
            The degree.
        extrapolate : bool, default True
            Whether the outermost polynomials continue; "periodic" repeats the spline.
        axis : int, default 0
            The position of that axis in results.

        Returns
        -------
        BSpline

        Examples
        --------
        >>> cp.scipy.interpolate.BSpline.construct_fast([0.0, 0.0, 1.0, 1.0], [2.0, 4.0], 1)(0.5)
        array(3.)
        """
        spline = object.__new__(cls)
        spline.t, spline.c, spline.k = _core.cast(array(t), "float64"), real_or_complex(array(c)), int(k)
        spline.extrapolate, spline.axis = extrapolate, axis
        return spline

    @classmethod
    def basis_element(cls, t: Any, extrapolate: Any = True) -> BSpline:
        """Returns the B-spline with these knots, whose degree is their number minus 2.

        Parameters
        ----------
        t : array_like
            The knots, non-decreasing.
        extrapolate : bool, default True
            Whether the outermost polynomials continue; "periodic" repeats the spline.

        Returns
        -------
        BSpline

        Examples
        --------
        >>> cp.scipy.interpolate.BSpline.basis_element([0.0, 1.0, 2.0])(0.5)
        array(0.5)
        """
        knots = _core.cast(array(t), "float64")
        k = knots.size - 2
        before, after = (_core.broadcast_to(v, (k,)) for v in (knots[:1] - 1.0, knots[-1:] + 1.0))
        knots = cp.concatenate([before, knots, after])
        c = cp.zeros(knots.size)
        c[k] = 1.0
        return cls.construct_fast(knots, c, k, extrapolate)

    @staticmethod
    def design_matrix(x: Any, t: Any, k: int, extrapolate: Any = False) -> csr_array:
        """Returns the values of all B-splines at points, as a sparse matrix with a row for each point.

        Parameters
        ----------
        x : array_like
            The points, 1-d.
        t : array_like
            The knots, non-decreasing.
        k : int
            The degree.
        extrapolate : bool, default False
            Whether the outermost polynomials continue; "periodic" repeats the spline.

        Returns
        -------
        csr_array

        Raises
        ------
        ValueError
            For knots that decrease or are too few, negative degrees, and points outside of the knots unless
            `extrapolate`.

        Examples
        --------
        >>> cp.scipy.interpolate.BSpline.design_matrix([0.25], [0.0, 0.0, 1.0, 1.0], 1).toarray()
        array([[0.75, 0.25]])
        """
        sites, knots = (_core.cast(array(a), "float64") for a in (x, t))
        if knots.ndim != 1 or bool(cp.any(knots[1:] < knots[:-1])):
            raise ValueError(f"Expect t to be a 1-D sorted array_like, but got t={t}.")
        if k < 0:
            raise ValueError("Spline order cannot be negative.")
        if knots.size < 2 * k + 2:
            raise ValueError(f"Length t is not enough for k={k}.")
        n = knots.size - k - 1
        first, end = knots[k], knots[n]
        if extrapolate == "periodic":
            sites = first + cp.remainder(sites - first, end - first)
        elif not extrapolate and bool(cp.any(_map("logical_or", sites < first, sites > end))):
            raise ValueError(f"Out of bounds w/ x = {x}.")
        low, weights = basis(knots, k, sites)
        columns = low.reshape([sites.size, 1]) + cp.arange(k + 1)
        starts = cp.arange(sites.size + 1) * (k + 1)
        values = cp.stack([_core.broadcast_to(w, sites.shape) for w in weights], axis=1)
        return csr_array((values.reshape(-1), columns.reshape(-1), starts), shape=(sites.size, n))

    @property
    def tck(self) -> tuple[ndarray, ndarray, int]:
        """The knots, coefficients and degree."""
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> ndarray:
        """Evaluates the spline, or its derivative of order `nu`, at `x`, whose shape replaces the axis in the
        result."""
        if nu:
            return self.derivative(nu)(x, 0, self.extrapolate if extrapolate is None else extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        k, t = self.k, self.t
        last = t.size - k - 1
        sites = array(x)
        flat = _core.cast(sites, "float64").reshape([sites.size])
        first, end = t[k], t[last]
        if extrapolate == "periodic":
            flat = first + cp.remainder(flat - first, end - first)
        low, weights = basis(t, k, flat)
        tail = self.c.shape[1:]
        column = [flat.size] + [1] * len(tail)
        value: Any = None
        for i, weight in enumerate(weights):
            term = weight.reshape(column) * cp.take(self.c, low + i, axis=0)
            value = term if value is None else value + term
        spoiled = cp.isnan(flat)
        if not extrapolate:
            spoiled = _map("logical_or", spoiled, _map("logical_or", flat < first, flat > end))
        value = _map("where", spoiled.reshape(column), math.nan, value)
        return moved_back(value, sites.shape, tail, self.axis)

    def derivative(self, nu: int = 1) -> BSpline:
        """Returns the derivative of order `nu`; for negative orders an antiderivative.

        Parameters
        ----------
        nu : int, default 1
            The order.

        Returns
        -------
        BSpline

        Examples
        --------
        >>> line = cp.scipy.interpolate.BSpline([0.0, 0.0, 1.0, 1.0], [2.0, 4.0], 1)
        >>> line.derivative()(0.5)
        array(2.)
        """
        if nu < 0:
            return self.antiderivative(-nu)
        t, c, k = self.t, self.c[: self.t.size - self.k - 1], self.k
        for _ in range(nu):
            if k == 0:
                c = cp.zeros_like(c)
                break
            width = (t[k + 1 : -1] - t[1 : -k - 1]).reshape([c.shape[0] - 1] + [1] * (c.ndim - 1))
            empty = width == 0.0
            c = _map("where", empty, 0.0, k * (c[1:] - c[:-1]) / _map("where", empty, 1.0, width))
            t, k = t[1:-1], k - 1
        # Padded to as many coefficients as knots, like in SciPy.
        c = cp.concatenate([c, cp.zeros((t.size - c.shape[0], *c.shape[1:]), dtype=c.dtype)])
        return BSpline.construct_fast(t, c, k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """Returns the antiderivative of order `nu` that is 0 at the first knot.

        Parameters
        ----------
        nu : int, default 1
            The order.

        Returns
        -------
        BSpline

        Examples
        --------
        >>> line = cp.scipy.interpolate.BSpline([0.0, 0.0, 1.0, 1.0], [2.0, 4.0], 1)
        >>> line.antiderivative()(1.0)
        array(3.)
        """
        if nu < 0:
            return self.derivative(-nu)
        t, c, k = self.t, self.c[: self.t.size - self.k - 1], self.k
        for _ in range(nu):
            width = (t[k + 1 :] - t[: -k - 1]).reshape([c.shape[0]] + [1] * (c.ndim - 1))
            sums = cp.cumsum(c * width, axis=0) / (k + 1)
            c = cp.concatenate([cp.zeros((1, *c.shape[1:]), c.dtype_name), sums])
            t, k = cp.concatenate([t[:1], t, t[-1:]]), k + 1
        ends = _core.broadcast_to(c[-1:], (t.size - c.shape[0], *c.shape[1:])) if nu else c[:0]
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return BSpline.construct_fast(t, cp.concatenate([c, ends]), k, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> ndarray:
        """Returns the integral from `a` to `b`.

        Parameters
        ----------
        a : float
            The lower end.
        b : float
            The upper end.
        extrapolate : bool or str, optional
            As for the class; False integrates over the part between the first and last knot.

        Returns
        -------
        ndarray
            An array with the other axes of the coefficients.

        Examples
        --------
        >>> line = cp.scipy.interpolate.BSpline([0.0, 0.0, 1.0, 1.0], [2.0, 4.0], 1)
        >>> line.integrate(0.0, 1.0)
        array(3.)
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        first, end = self.t[self.k], self.t[self.t.size - self.k - 1]
        whole = self.antiderivative()
        if extrapolate == "periodic":
            return periodic_integral(whole, first, end, a, b)
        low, high = (_core.cast(array(v), "float64") for v in (a, b))
        if not extrapolate:
            low, high = (cp.clip(v, first, end) for v in (low, high))
        return whole(high, extrapolate=True) - whole(low, extrapolate=True)


PPoly.spline_class = BSpline


def basis(t: ndarray, k: int, x: ndarray) -> tuple[ndarray, list[ndarray]]:
    """Returns the index of the first of the k + 1 B-splines that are nonzero at each `x`, and their values. Beyond the
    knots, the outermost pieces continue (C. de Boor, "A Practical Guide to Splines", 1978)."""
    last = t.size - k - 1
    span = cp.clip(cp.searchsorted(t[: last + 1], x, side="right") - 1, k, last - 1)
    weights = [cp.ones_like(x)]
    for degree in range(1, k + 1):
        raised: list[Any] = [0.0] * (degree + 1)
        for j in range(degree):
            left, right = cp.take(t, span + (1 - degree + j)), cp.take(t, span + (1 + j))
            width = right - left
            # A B-spline over a single knot is zero.
            part = _map("where", width == 0.0, 0.0, weights[j] / _map("where", width == 0.0, 1.0, width))
            raised[j] = raised[j] + (right - x) * part
            raised[j + 1] = (x - left) * part
        weights = raised
    return span - k, weights


def _repeated(first: ndarray, inner: ndarray, last: ndarray, k: int) -> ndarray:
    """Returns knots of which the first and last occur k + 1 times."""
    ends = [_core.broadcast_to(v.reshape([1]), (k + 1,)) for v in (first, last)]
    return cp.concatenate([ends[0], inner, ends[1]])


@on_array_device
def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> BSpline:
    """Returns the spline through points. Degrees above 3 and user-defined knots solve a dense system with one equation
    per point.

    Parameters
    ----------
    x : array_like
        Increasing coordinates.
    y : array_like
        The values along `axis`.
    k : int, default 3
        The degree.
    t : array_like, optional
        The knots, non-decreasing: k + 1 more than points. By default those of "not-a-knot" for odd degrees, and for
        even degrees the midpoints between points, with the first and last coordinates repeated k + 1 times at the ends.
    bc_type : str or pair, optional
        For degree 3, as for `CubicSpline`, except "periodic"; None is "not-a-knot". Each end may be a list of one
        condition.
    axis : int, default 0
        The axis of `y`.
    check_finite : bool, default True
        Whether to raise for values that are not finite; coordinates are always checked.

    Returns
    -------
    BSpline

    Raises
    ------
    NotImplementedError
        For periodic splines, conditions for degrees other than 3 or together with knots, and several conditions at one
        end.
    ValueError
        For inconsistent shapes, negative degrees, too few points or knots, coordinates that do not increase, knots that
        decrease or leave points out, unknown conditions, and a condition at only one end.
    LinAlgError
        If no spline with these knots passes through the points.

    See Also
    --------
    BSpline, CubicSpline

    Examples
    --------
    >>> curve = cp.scipy.interpolate.make_interp_spline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 8.0, 27.0])
    >>> curve(1.5).round(6)
    array(3.375)
    """
    k = operator.index(k)
    if k < 0:
        raise ValueError("Expect non-negative k.")
    if bc_type is not None and (k != 3 or t is not None) and bc_type not in ("not-a-knot", (None, None)):
        beside = f"for k={k}" if t is None else "beside t="
        raise NotImplementedError(f"[make_interp_spline] bc_type={bc_type!r} is not supported {beside}")
    if isinstance(bc_type, str) and bc_type == "periodic":
        raise NotImplementedError("[make_interp_spline] bc_type='periodic' is not supported; use CubicSpline")
    sites, values = breakpoints(x), real_or_complex(array(y))
    axis = normalize_axis(axis, values.ndim)
    if values.shape[axis] != sites.size:
        raise ValueError(f"Shapes of x {sites.shape} and y {values.shape} are incompatible")
    rows = cp.moveaxis(values, axis, 0)
    if check_finite and rows.size and not bool(cp.all(cp.isfinite(rows))):
        raise ValueError("array must not contain infs or NaNs")
    if t is not None or k > 3:
        knots = _own_knots(sites, k) if t is None else _checked_knots(t, sites, k)
        c = _collocated(sites, knots, k, rows)
    elif k == 0:
        knots, c = cp.concatenate([sites, sites[-1:]]), rows
    elif k == 1:
        knots, c = cp.concatenate([sites[:1], sites, sites[-1:]]), rows
    elif sites.size <= k and bc_type is None:
        raise ValueError(f"Need at least {k + 1} points for degree {k}")
    elif k == 2:
        knots = _repeated(sites[0], ((sites[1:] + sites[:-1]) * 0.5)[1:-1], sites[-1], 2)
        c = _parabolas(sites, knots, rows)
    else:
        knots, c = _cubics(sites, rows, bc_type)
    return BSpline(knots, cp.moveaxis(c, 0, axis), k, True, axis)


def _own_knots(x: ndarray, k: int) -> ndarray:
    """Returns the default knots: the end points k + 1 times, and between them points (odd k) or midpoints (even k)."""
    if x.size <= k:
        raise ValueError(f"Need at least {k + 1} points for degree {k}")
    inner, cut = (x, (k + 1) // 2) if k % 2 else ((x[1:] + x[:-1]) * 0.5, k // 2)
    return _repeated(x[0], inner[cut : inner.size - cut], x[-1], k)


def _checked_knots(t: Any, x: ndarray, k: int) -> ndarray:
    knots = _core.cast(array(t), "float64")
    if knots.ndim != 1 or bool(cp.any(knots[1:] < knots[:-1])):
        raise ValueError("Expect t to be a 1-D sorted array_like.")
    n = x.size
    if knots.size < n + k + 1:
        raise ValueError(f"Got {knots.size} knots, need at least {n + k + 1}.")
    if knots.size > n + k + 1:
        raise ValueError(
            f"The number of derivatives at boundaries does not match: expected {knots.size - n - k - 1}, got 0+0"
        )
    if bool(x[0] < knots[k]) or bool(x[-1] > knots[n]):
        raise ValueError(f"Out of bounds w/ x = {x}.")
    return knots


def _collocated(x: ndarray, t: ndarray, k: int, rows: ndarray) -> ndarray:
    """Solves for the coefficients by collocation: each row of the matrix holds the k + 1 B-splines' values at a
    point."""
    n = x.size
    low, weights = basis(t, k, x)
    column = cp.arange(n)
    matrix: Any = cp.zeros((n, n))
    for i, weight in enumerate(weights):
        matrix = matrix + _map("where", (low + i).reshape([n, 1]) == column, weight.reshape([n, 1]), 0.0)
    return cp.linalg.solve(matrix, rows.reshape([n, rows.size // n])).reshape(rows.shape)


def _parabolas(x: ndarray, t: ndarray, rows: ndarray) -> ndarray:
    """Returns the coefficients for degree 2, where each point lies in the middle of three B-splines: a tridiagonal
    system."""
    n = x.size
    low, weights = basis(t, 2, x)
    index = cp.arange(n)
    below, middle, above = (
        sum((_map("where", low + i == index + shift, w, 0.0) for i, w in enumerate(weights)), cp.zeros(n)).reshape(
            [n, 1]
        )
        for shift in (-1, 0, 1)
    )
    return solve(below, middle, above, rows.reshape([n, rows.size // n])).reshape(rows.shape)


def _cubics(x: ndarray, rows: ndarray, bc_type: Any) -> tuple[ndarray, ndarray]:
    """Returns knots and coefficients for degree 3: the blossoms of `CubicSpline`'s pieces at three successive knots (L.
    Ramshaw, 1987)."""
    if isinstance(bc_type, (tuple, list)):
        if any(isinstance(b, list) and len(b) != 1 for b in bc_type):
            raise NotImplementedError(f"[make_interp_spline] bc_type={bc_type!r}: several conditions at one end")
        if len(bc_type) == 2 and (bc_type[0] is None) != (bc_type[1] is None):
            raise ValueError("The number of derivatives at boundaries does not match: expected 2, got 1")
        bc_type = tuple("not-a-knot" if b is None else b[0] if isinstance(b, list) else b for b in bc_type)
    elif not (bc_type is None or isinstance(bc_type, str)):
        raise ValueError(f"Unknown boundary condition: {bc_type}")
    kinds = (bc_type,) * 2 if bc_type is None or isinstance(bc_type, str) else bc_type
    cut = [kind in (None, "not-a-knot") if kind is None or isinstance(kind, str) else False for kind in kinds]
    pieces = CubicSpline(x, rows, 0, "not-a-knot" if bc_type is None else bc_type)
    n = x.size
    t = _repeated(x[0], x[1 + cut[0] : n - 1 - cut[1]], x[-1], 3)
    count = t.size - 4
    one, two, three = t[1 : count + 1], t[2 : count + 2], t[3 : count + 3]
    piece = cp.clip(cp.searchsorted(x, two, side="right") - 1, 0, n - 2)
    start = cp.take(x, piece)
    u, v, w = ((knot - start).reshape([count] + [1] * (rows.ndim - 1)) for knot in (one, two, three))
    c3, c2, c1, c0 = (cp.take(pieces.c[i], piece, axis=0) for i in range(4))
    return t, c3 * u * v * w + c2 * (u * v + v * w + w * u) / 3.0 + c1 * (u + v + w) / 3.0 + c0
