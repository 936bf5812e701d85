"""Tensor products of B-splines."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from itertools import product
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common.arguments import array, ndarray
from cuprous._common.operands import on_array_device
from cuprous.scipy.interpolate._bsplines import BSpline, basis
from cuprous.scipy.interpolate._pieces import real_or_complex
from cuprous.scipy.sparse import csr_array

_map = _core.map


def _knots(t: Any, k: Any) -> tuple[tuple[ndarray, ...], tuple[int, ...]]:
    """Returns the knots and degrees of each dimension, checked as SciPy does."""
    if not isinstance(t, tuple):
        raise ValueError(f"Expect `t` to be a tuple of array-likes. Got {t} instead.")
    try:
        degrees = (operator.index(k),) * len(t)
    except TypeError:
        degrees = tuple(operator.index(d) for d in k)
    if len(degrees) != len(t):
        raise ValueError(f"len(t) = {len(t)} != len(k) = {len(degrees)}.")
    knots = tuple(_core.cast(array(one), "float64") for one in t)
    for d, (own, degree) in enumerate(zip(knots, degrees, strict=True)):
        if degree < 0:
            raise ValueError(f"Spline degree in dimension {d} cannot be negative.")
        if own.ndim != 1:
            raise ValueError(f"Knot vector in dimension {d} must be one-dimensional.")
        n = own.size - degree - 1
        if n < degree + 1:
            raise ValueError(f"Need at least {2 * degree + 2} knots for degree {degree} in dimension {d}.")
        rises, empty, finite = _core.to_numpy(
            cp.stack([cp.all(own[1:] >= own[:-1]), own[degree] == own[n], cp.all(cp.isfinite(own))])
        )
        if not rises:
            raise ValueError(f"Knots in dimension {d} must be in a non-decreasing order.")
        if empty:
            raise ValueError(f"Need at least two internal knots in dimension {d}.")
        if not finite:
            raise ValueError(f"Knots in dimension {d} should not have nans or infs.")
    return knots, degrees


class NdBSpline:
    """A spline of several variables: a linear combination of products of B-splines. Calling it evaluates it.

    Parameters
    ----------
    t : tuple of array_like
        The knots of each dimension.
    c : array_like
        The coefficients: its first axes are the dimensions, others are those of the values.
    k : int or tuple of ints
        The degree, or the degree in each dimension.
    extrapolate : bool, optional
        Whether the outermost polynomials continue beyond the knots (True, the default); otherwise values are NaN there.

    Raises
    ------
    ValueError
        For inconsistent shapes, and decreasing knots.

    See Also
    --------
    BSpline

    Examples
    --------
    >>> t = cp.asarray([0.0, 0.0, 1.0, 1.0])
    >>> plane = cp.scipy.interpolate.NdBSpline((t, t), [[0.0, 1.0], [2.0, 3.0]], 1)
    >>> plane([0.5, 0.5])
    array(1.5)
    """

    def __init__(self, t: Any, c: Any, k: Any, *, extrapolate: bool | None = None) -> None:
        self.t, self.k = _knots(t, k)
        self.c = real_or_complex(array(c))
        self.extrapolate = True if extrapolate is None else bool(extrapolate)
        ndim = len(self.t)
        if self.c.ndim < ndim:
            raise ValueError(f"Coefficients must be at least {ndim}-dimensional.")
        for d, (own, degree) in enumerate(zip(self.t, self.k, strict=True)):
            n = own.size - degree - 1
            if self.c.shape[d] != n:
                raise ValueError(
                    f"Knots, coefficients and degree in dimension {d} are inconsistent: got {self.c.shape[d]} "
                    f"coefficients for {own.size} knots, need at least {n} for k={k}."
                )

    def __call__(self, xi: Any, *, nu: Sequence[int] | None = None, extrapolate: bool | None = None) -> ndarray:
        """Evaluates the spline, or a derivative of it.

        Parameters
        ----------
        xi : array_like
            The points, whose last axis are the coordinates.
        nu : sequence of ints, optional
            The order of the derivative in each dimension.
        extrapolate : bool, optional
            As for the class.

        Returns
        -------
        ndarray
            An array with the other axes of `xi`, then those of the values.

        Raises
        ------
        ValueError
            For points of another number of dimensions, and negative orders.
        """
        ndim = len(self.t)
        orders = (0,) * ndim if nu is None else tuple(operator.index(n) for n in nu)
        if len(orders) != ndim:
            raise ValueError(f"invalid number of derivative orders nu = {nu} for ndim = {ndim}.")
        if any(n < 0 for n in orders):
            raise ValueError(f"derivatives must be positive, got nu = {nu}")
        points = _core.cast(array(xi), "float64")
        if points.ndim == 0 or points.shape[-1] != ndim:
            raise ValueError(f"Shapes: xi.shape={points.shape} and ndim={ndim}")
        flat = points.reshape(-1, ndim)
        knots, degrees, values = list(self.t), list(self.k), self.c
        for d, order in enumerate(orders):
            if order:
                own = BSpline.construct_fast(knots[d], cp.moveaxis(values, d, 0), degrees[d]).derivative(order)
                knots[d], degrees[d] = own.t, own.k
                values = cp.moveaxis(own.c[: own.t.size - own.k - 1], 0, d)
        keep = self.extrapolate if extrapolate is None else bool(extrapolate)
        return _evaluated(knots, degrees, values, flat, keep).reshape(*points.shape[:-1], *self.c.shape[ndim:])

    @staticmethod
    def design_matrix(xvals: Any, t: Any, k: Any, extrapolate: bool = True) -> csr_array:
        """Returns the values of all products of B-splines at some points.

        Parameters
        ----------
        xvals : array_like
            The points, one a row.
        t : tuple of array_like
            The knots of each dimension.
        k : int or tuple of ints
            The degree, or the degree in each dimension.
        extrapolate : bool, default True
            Whether the outermost polynomials continue beyond the knots.

        Returns
        -------
        csr_array
            A matrix with a row for each point and a column for each coefficient, in C order.

        Raises
        ------
        ValueError
            For points of another number of dimensions, or outside of the knots where `extrapolate` is False.

        Examples
        --------
        >>> t = cp.asarray([0.0, 0.0, 1.0, 1.0])
        >>> cp.scipy.interpolate.NdBSpline.design_matrix([[0.5, 0.5]], (t, t), 1).toarray()
        array([[0.25, 0.25, 0.25, 0.25]])
        """
        points = _core.cast(array(xvals), "float64")
        if points.ndim != 2 or len(t) != points.shape[-1]:
            raise ValueError(f"Data and knots are inconsistent: len(t) = {len(t)} for  ndim = {points.shape[-1]}.")
        knots, degrees = _knots(t, k)
        if not extrapolate and bool(_outside(knots, degrees, points).any()):
            raise ValueError("Out of bounds: a point lies outside of the knots")
        extents = [own.size - degree - 1 for own, degree in zip(knots, degrees, strict=True)]
        columns, weights = zip(*_terms(knots, degrees, points, extents), strict=True)
        count, rows = len(columns), points.shape[0]
        return csr_array(
            (
                cp.stack(weights, axis=1).reshape(-1),
                cp.stack(columns, axis=1).reshape(-1),
                cp.arange(0, rows * count + 1, count),
            ),
            (rows, math.prod(extents)),
        )


def _outside(knots: Sequence[ndarray], degrees: Sequence[int], points: ndarray) -> ndarray:
    """Returns whether points lie outside of the knots in any dimension."""
    outside: Any = cp.zeros(points.shape[0], bool)
    for d, (own, degree) in enumerate(zip(knots, degrees, strict=True)):
        x = points[:, d]
        beyond = _map("logical_or", x < own[degree], x > own[own.size - degree - 1])
        outside = _map("logical_or", outside, beyond)
    return outside


def _terms(
    knots: Sequence[ndarray], degrees: Sequence[int], points: ndarray, extents: Sequence[int]
) -> list[tuple[ndarray, ndarray]]:
    """Returns the flat index of a coefficient and its weight at each point, for each product that is not zero."""
    found = [basis(own, degree, points[:, d]) for d, (own, degree) in enumerate(zip(knots, degrees, strict=True))]
    terms = []
    for offsets in product(*(range(degree + 1) for degree in degrees)):
        index: Any = 0
        weight: Any = None
        for (low, weights), offset, n in zip(found, offsets, extents, strict=True):
            index = index * n + low + offset
            weight = weights[offset] if weight is None else weight * weights[offset]
        terms.append((index, weight))
    return terms


@on_array_device
def _evaluated(
    knots: Sequence[ndarray], degrees: Sequence[int], values: ndarray, points: ndarray, extrapolate: bool
) -> ndarray:
    """Returns the values of a spline at points, one a row, with the axes of the values made one."""
    ndim = len(knots)
    table = values.reshape(math.prod(values.shape[:ndim]), -1)
    total: Any = cp.zeros((points.shape[0], table.shape[1]), dtype=table.dtype)
    for index, weight in _terms(knots, degrees, points, values.shape[:ndim]):
        total = total + weight[:, None] * cp.take(table, index, axis=0)
    spoiled = cp.isnan(points).any(axis=1)
    if not extrapolate:
        spoiled = _map("logical_or", spoiled, _outside(knots, degrees, points))
    return _map("where", spoiled[:, None], math.nan, total)


__all__ = ["NdBSpline"]
