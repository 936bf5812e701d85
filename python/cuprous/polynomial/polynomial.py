"""NumPy's `polynomial.polynomial`, as far as CuPy has it."""

from __future__ import annotations

import operator
from typing import Any

from cuprous import _core
from cuprous._common.arguments import ArrayLike, array, ndarray
from cuprous._functions.manipulation import moveaxis
from cuprous.polynomial.polyutils import as_series


def polyvander(x: ArrayLike, deg: int) -> ndarray:
    """Returns the powers 0 to `deg` of the points, along a last axis of their own.

    Parameters
    ----------
    x : array_like
        The points, of any shape.
    deg : int
        The highest power.

    Returns
    -------
    ndarray
        An array of the shape of `x` with one more axis.

    Raises
    ------
    TypeError
        If `deg` is not an integer.
    ValueError
        If `deg` is negative.

    Examples
    --------
    >>> cp.polynomial.polynomial.polyvander([2, 3], 2)
    array([[1., 2., 4.],
           [1., 3., 9.]])
    """
    try:
        degree = operator.index(deg)
    except TypeError:
        raise TypeError(f"deg must be an integer, received {deg}") from None
    if degree < 0:
        raise ValueError("deg must be non-negative")
    points = array(x)
    points = _core.map("add", points.reshape(1) if points.ndim == 0 else points, 0.0)
    factors = _core.full((degree + 1, *points.shape), 1, points.dtype_name)
    if degree:
        _core.update(factors[1:], points)
    return moveaxis(_core.scan("prod", factors, 0), 0, -1)


def polycompanion(c: ArrayLike) -> ndarray:
    """Returns the companion matrix of a polynomial, whose eigenvalues are the roots.

    Parameters
    ----------
    c : array_like
        The coefficients from the lowest power up; zeros at the end are removed, which copies their number to the host.

    Returns
    -------
    ndarray
        A square matrix with as many rows as the degree.

    Raises
    ------
    ValueError
        For a polynomial of degree 0, more than one axis, and bool.

    Examples
    --------
    >>> cp.polynomial.polynomial.polycompanion([6.0, -5.0, 1.0])
    array([[ 0., -6.],
           [ 1.,  5.]])
    """
    series: Any
    (series,) = as_series([c])
    n = series.shape[0] - 1
    if n < 1:
        raise ValueError("Series must have maximum degree of at least 1.")
    matrix = _core.full((n, n), 0, series.dtype_name)
    _core.update(matrix.reshape(-1)[n :: n + 1], _core.full((n - 1,), 1, series.dtype_name))
    last = matrix[:, n - 1]
    _core.update(last, last - series[:-1] / series[-1])
    return matrix


__all__ = ["polycompanion", "polyvander"]
