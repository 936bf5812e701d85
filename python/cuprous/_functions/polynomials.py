"""Polynomials as 1-d arrays of coefficients, the highest power first: `numpy.poly*`."""

from __future__ import annotations

import warnings
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, array, ndarray
from cuprous._common.casting import astype, common_dtype
from cuprous._common.masks import flatnonzero
from cuprous._common.operands import on_array_device
from cuprous._functions.calculus import convolve
from cuprous._functions.complex_parts import real
from cuprous._functions.joining import concatenate
from cuprous._functions.logic import isclose
from cuprous._functions.manipulation import atleast_1d
from cuprous._functions.matrices import eye, vander
from cuprous._functions.rearrangement import trim_zeros
from cuprous._functions.reductions import all as all_
from cuprous._functions.reductions import sum as sum_
from cuprous.linalg._decompositions import eigvals, real_if_all_are
from cuprous.linalg._solving import inv, lstsq


class Coefficients:
    """The base class of `poly1d`, by which functions recognize it: they return one where they are given one."""


def _like(operands: tuple[Any, ...], result: ndarray) -> Any:
    """Returns the result as a `poly1d` if an operand is one."""
    kinds = [type(x) for x in operands if isinstance(x, Coefficients)]
    return kinds[0](result) if kinds else result  # type: ignore[call-arg]


def _powers(n: int) -> ndarray:
    """Returns n, n - 1, …, 1."""
    return _core.iota((n,), (-1,), n)


def _padded(a: ndarray, n: int) -> ndarray:
    """Returns the coefficients with zeros in front, n in total."""
    return concatenate((_core.full((n - a.shape[0],), 0, a.dtype_name), a)) if a.shape[0] < n else a


def _combined(row: str, a1: ArrayLike, a2: ArrayLike) -> Any:
    first, second = atleast_1d(a1), atleast_1d(a2)
    n = max(first.shape[0], second.shape[0])
    return _like((a1, a2), _core.map(row, _padded(first, n), _padded(second, n)))


def polyadd(a1: ArrayLike, a2: ArrayLike) -> Any:
    """Returns the sum of two polynomials.

    Parameters
    ----------
    a1 : array_like
        The coefficients, 1-d, from the highest power down.
    a2 : array_like
        The coefficients, 1-d, from the highest power down.

    Returns
    -------
    ndarray
        A 1-d array of coefficients, or a `poly1d` if an argument is one.

    See Also
    --------
    poly1d, poly, polyder, polydiv, polyfit, polyint

    Examples
    --------
    >>> cp.polyadd([1, 2], [3, 4, 5])
    array([3, 5, 7])
    """
    return _combined("add", a1, a2)


def polysub(a1: ArrayLike, a2: ArrayLike) -> Any:
    """Returns the difference of two polynomials.

    Parameters
    ----------
    a1 : array_like
        The coefficients, 1-d, from the highest power down.
    a2 : array_like
        The coefficients, 1-d, from the highest power down.

    Returns
    -------
    ndarray
        A 1-d array of coefficients, or a `poly1d` if an argument is one.

    See Also
    --------
    polyval, polydiv, polymul, polyadd

    Examples
    --------
    >>> cp.polysub([1, 2, 3], [1, 1])
    array([1, 1, 2])
    """
    return _combined("subtract", a1, a2)


def trimmed(a: ArrayLike) -> ndarray:
    """Returns the coefficients without leading zeros, or a single zero if all are zero."""
    a = atleast_1d(a)
    if a.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    kept = trim_zeros(a, "f")
    return kept if kept.size else _core.full((1,), 0, a.dtype_name)


def polymul(a1: ArrayLike, a2: ArrayLike) -> Any:
    """Returns the product of two polynomials without leading zeros, whose number is copied to the host.

    Parameters
    ----------
    a1 : array_like
        The coefficients, 1-d, from the highest power down.
    a2 : array_like
        The coefficients, 1-d, from the highest power down.

    Returns
    -------
    ndarray
        A 1-d array of coefficients, or a `poly1d` if an argument is one.

    Raises
    ------
    ValueError
        For more than one axis.

    See Also
    --------
    poly1d, poly, polyadd, polyder, polydiv, polyfit

    Examples
    --------
    >>> cp.polymul([1, 1], [1, -1])
    array([ 1,  0, -1])
    """
    return _like((a1, a2), convolve(trimmed(a1), trimmed(a2)))


@on_array_device
def polydiv(u: ArrayLike, v: ArrayLike) -> tuple[Any, Any]:
    """Returns the quotient and remainder of two polynomials, in floating point. The number of leading zeros of the
    remainder is copied to the host.

    Parameters
    ----------
    u : array_like
        The coefficients of the dividend, 1-d, from the highest power down.
    v : array_like
        The coefficients of the divisor, 1-d, from the highest power down.

    Returns
    -------
    tuple
        A tuple of the coefficients of quotient and remainder.

    Raises
    ------
    IndexError
        If the divisor has no coefficients.

    See Also
    --------
    poly, polyadd, polyder, polyfit, polyint, polymul

    Examples
    --------
    >>> cp.polydiv([1.0, -3.0, 2.0], [1.0, -1.0])
    (array([ 1., -2.]), array([0.]))
    """
    operands = u, v
    u, v = (_core.map("add", atleast_1d(x), 0.0) for x in operands)
    name = common_dtype((u, v))
    n = v.shape[0]
    steps = u.shape[0] - n + 1
    scale = _core.map("divide", 1.0, v[0])
    if not u.shape[0]:
        raise IndexError("index 0 is out of bounds for axis 0 with size 0")
    quotient = _core.full((max(steps, 1),), 0, name)
    rest = u.copy() if u.dtype_name == name else _core.cast(u, name)
    for k in range(steps):
        digit = scale * rest[k]
        quotient[k] = digit
        stretch = rest[k : k + n]
        _core.update(stretch, stretch - digit * v)
    left = flatnonzero(~isclose(rest, 0, rtol=1e-14))
    first = int(left[0]) if left.size else rest.shape[0] - 1
    return _like(operands, quotient), _like(operands, rest[first:])


@on_array_device
def polyder(p: ArrayLike, m: int = 1) -> Any:
    """Returns the derivative of order m.

    Parameters
    ----------
    p : array_like
        The coefficients, 1-d, from the highest power down.
    m : int, default 1
        The order of the derivative.

    Returns
    -------
    ndarray
        A 1-d array of coefficients, or a `poly1d` if an argument is one.

    Raises
    ------
    ValueError
        For a negative order.

    See Also
    --------
    polyint, poly1d

    Examples
    --------
    >>> cp.polyder([1, 2, 3])
    array([2, 2])
    """
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    result = array(p)
    for _ in range(int(m)):
        result = result[:-1] * _powers(max(len(result) - 1, 0))
    return _like((p,), result)


@on_array_device
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike = None) -> Any:
    """Returns the antiderivative of order m.

    Parameters
    ----------
    p : array_like
        The coefficients, 1-d, from the highest power down.
    m : int, default 1
        The order of the antiderivative.
    k : array_like, optional
        The integration constants in the order of integration; by default zeros.

    Returns
    -------
    ndarray
        A 1-d array of coefficients, or a `poly1d` if an argument is one.

    Raises
    ------
    ValueError
        For a negative order, or fewer than m constants.

    See Also
    --------
    polyder, poly1d.integ

    Examples
    --------
    >>> cp.polyint([2, 2])
    array([1., 2., 0.])
    """
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = _core.full((m,), 0, "float64") if k is None else atleast_1d(k)
    if constants.shape[0] == 1 and m > 1:
        constants = constants * _core.full((m,), 1, "float64")
    if constants.shape[0] < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    result = array(p)
    for i in range(m):
        result = concatenate((result / _powers(len(result)), constants[i : i + 1]))
    return _like((p,), result)


@on_array_device
def poly(seq_of_zeros: ArrayLike) -> ndarray:
    """Returns the polynomial with these roots (or the eigenvalues of a square matrix) and leading coefficient one. The
    result is real if complex roots come in conjugate pairs. This condition is copied to the host.

    Parameters
    ----------
    seq_of_zeros : array_like
        The roots, 1-d, or a square matrix.

    Returns
    -------
    ndarray
        A 1-d array of coefficients, from the highest power down.

    Raises
    ------
    ValueError
        Unless the input is 1-d or a square matrix.

    See Also
    --------
    polyval, roots, polyfit, poly1d

    Examples
    --------
    >>> cp.poly([1, 2])
    array([ 1., -3.,  2.])
    """
    roots = atleast_1d(seq_of_zeros)
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] != 0:
        real_matrix = dtypes.kind(roots.dtype_name) != "c"
        roots = real_if_all_are(eigvals(roots)) if real_matrix else eigvals(roots)
    if roots.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    name = roots.dtype_name if roots.dtype_name in ("float32", "complex64", "complex128") else "float64"
    roots = astype(roots, name)
    n = roots.shape[0]
    if n == 0:
        return _core.full((), 1.0, "float64")
    result = _core.full((n + 1,), 0, name)
    result[0] = 1
    for i in range(n):  # multiplies by (x - root) in place: subtracts root times the previous coefficient from each
        lower = result[1 : i + 2]
        _core.update(lower, lower - roots[i] * result[: i + 1])
    if dtypes.kind(name) == "c" and _conjugate_pairs(roots):
        return real(result).copy()
    return result


def _conjugate_pairs(roots: ndarray) -> bool:
    wide = astype(roots, "complex128")
    return bool(all_(_core.sort(wide) == _core.sort(_core.map("conjugate", wide))))


@on_array_device
def polyval(p: ArrayLike, x: ArrayLike) -> Any:
    """Evaluates a polynomial at points, by Horner's scheme.

    Parameters
    ----------
    p : array_like
        The coefficients, 1-d, from the highest power down.
    x : array_like
        Where to evaluate, a scalar or an array-like of any shape.

    Returns
    -------
    ndarray
        An array of the shape of `x`.

    See Also
    --------
    poly1d

    Examples
    --------
    >>> cp.polyval([1, 0, -1], [2, 3])
    array([3, 8])
    """
    p = array(p)
    x = x if isinstance(x, Coefficients) else array(x)
    result: Any = _like((x,), _core.full((1,), 0, p.dtype_name)) if isinstance(x, Coefficients) else None
    if result is None:
        result = _core.full(x.shape, 0, x.dtype_name)
    for i in range(len(p)):
        result = result * x + p[i]
    return result


def roots(p: ArrayLike) -> ndarray:
    """Returns the roots of a polynomial, as the eigenvalues of its companion matrix. The positions of the nonzero
    coefficients are copied to the host.

    Parameters
    ----------
    p : array_like
        The coefficients, 1-d, from the highest power down.

    Returns
    -------
    ndarray
        A 1-d array, complex if a root is.

    Raises
    ------
    ValueError
        For more than one axis.

    See Also
    --------
    poly, polyval

    Examples
    --------
    >>> cp.sort(cp.roots([1, -3, 2])).round(6)
    array([1., 2.])
    """
    p = atleast_1d(p)
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    found = flatnonzero(p)
    if not found.size:
        return _core.full((0,), 0, "float64")
    first, last = int(found[0]), int(found[-1])
    zeros = p.shape[0] - last - 1
    p = astype(p, dtypes.inexact(p.dtype_name))[first : last + 1]
    n = p.shape[0] - 1
    if n == 0:
        return _core.full((zeros,), 0, "float64")
    companion = _core.cast(eye(n, k=-1), p.dtype_name)
    companion[0] = -p[1:] / p[0]
    result = eigvals(companion)
    result = result if dtypes.kind(p.dtype_name) == "c" else real_if_all_are(result)
    return concatenate((result, _core.full((zeros,), 0, result.dtype_name))) if zeros else result


def polyfit(x: ArrayLike, y: ArrayLike, deg: int, rcond: float | None = None, full: bool = False, w: ArrayLike = None,
            cov: Any = False) -> Any:  # fmt: skip
    """Returns the polynomial of degree `deg` that is the least-squares fit to points.

    Parameters
    ----------
    x : array_like
        The points, 1-d.
    y : array_like
        The values at the points, 1-d, or 2-d with a column for each of several polynomials.
    deg : int
        The degree.
    rcond : float, optional
        As for `linalg.lstsq`; by default the number of points times the dtype's epsilon.
    full : bool, default False
        Also returns the residuals, rank, singular values and `rcond`.
    w : array_like, optional
        Weights of the residuals.
    cov : bool, default False
        Also returns the covariance of the coefficients, not scaled by the residuals if "unscaled".

    Returns
    -------
    ndarray
        A 1-d array of coefficients, from the highest power down; 2-d if `y` is. With `full` or `cov` a tuple that
        begins with it.

    Raises
    ------
    TypeError
        If the shapes do not fit.
    ValueError
        For a negative degree, or too few points for the covariance.

    See Also
    --------
    polyval, linalg.lstsq

    Examples
    --------
    >>> cp.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).round(6)
    array([2., 1.])
    """
    order = int(deg) + 1
    x = _core.map("add", array(x), 0.0)
    y = _core.map("add", array(y), 0.0)
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    n = x.shape[0]
    if n != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    if rcond is None:
        rcond = n * (2.0**-23 if dtypes.component(x.dtype_name) == "float32" else 2.0**-52)
    left, right = vander(x, order), y
    if w is not None:
        w = _core.map("add", array(w), 0.0)
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if w.shape[0] != n:
            raise TypeError("expected w and y to have the same length")
        left = left * w[:, None]
        right = right * (w[:, None] if y.ndim == 2 else w)
    scale = _core.map("sqrt", sum_(left * left, 0))
    left = left / scale
    c, residuals, rank, s = lstsq(left, right, rcond)
    c = (c.T / scale).T
    if rank != order and not full:
        from numpy.exceptions import RankWarning

        warnings.warn("Polyfit may be poorly conditioned", RankWarning, stacklevel=2)
    if full:
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    covariance = inv(left.T @ left) / (scale[:, None] * scale)
    if cov != "unscaled":
        if n <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (n - order)
        return c, covariance * factor if y.ndim == 1 else covariance[:, :, None] * factor
    return c, covariance if y.ndim == 1 else covariance[:, :, None] * 1


__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots"]
