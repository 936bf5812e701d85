"""Decompositions, systems of equations and functions of matrices."""

from __future__ import annotations

import math
import warnings
from typing import Any

from cuprous._common.arguments import ArrayLike, array, ndarray
from cuprous._common.casting import astype
from cuprous._common.operands import on_array_device
from cuprous._functions.creation import zeros
from cuprous._functions.elementwise import where
from cuprous._functions.manipulation import swapaxes
from cuprous._functions.matrices import eye, tril, triu
from cuprous._functions.ranges import arange
from cuprous._functions.rearrangement import flip
from cuprous._functions.reductions import all as all_
from cuprous._functions.reductions import any as any_
from cuprous._functions.reductions import max as max_
from cuprous._functions.reductions import min as min_
from cuprous._functions.reductions import sum as sum_
from cuprous._ufuncs.one_output import absolute, conj, isfinite
from cuprous.linalg import _lu
from cuprous.linalg._decompositions import inexact
from cuprous.linalg._solving import solve


class LinAlgWarning(RuntimeWarning):
    """The warning for a matrix that is singular, or nearly so.

    See Also
    --------
    linalg.LinAlgError, linalg.solve

    Examples
    --------
    >>> issubclass(cp.scipy.linalg.LinAlgWarning, RuntimeWarning)
    True
    """


def _matrix(a: ArrayLike, check_finite: bool, square: bool = False) -> ndarray:
    (found,) = inexact(array(a))
    if found.ndim < 2:
        raise ValueError(f"The input array must be at least two-dimensional, got {found.ndim} axes")
    if square and found.shape[-1] != found.shape[-2]:
        raise ValueError(f"expected square matrix, got shape {found.shape}")
    if check_finite and not bool(all_(isfinite(found))):
        raise ValueError("array must not contain infs or NaNs")
    return found


def _swapped(a: ndarray) -> ndarray:
    return swapaxes(a, -1, -2)


def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> tuple[ndarray, ndarray]:
    """Returns the LU decomposition with partial pivoting, L and U in one matrix, for `lu_solve`.

    Parameters
    ----------
    a : array_like
        Matrices in the last two axes.
    overwrite_a : bool, default False
        For SciPy's signature; `a` is never changed.
    check_finite : bool, default True
        Whether to read `a` for infinities and NaN.

    Returns
    -------
    pair of ndarrays
        The tuple of L (below the diagonal) and U, and for each row the one that it was swapped with (int32).

    Raises
    ------
    ValueError
        For fewer than two axes, infinities or NaN.

    See Also
    --------
    lu, lu_solve

    Examples
    --------
    >>> cp.scipy.linalg.lu_factor([[1.0, 2.0], [2.0, 2.0]])[0]
    array([[2. , 2. ],
           [0.5, 1. ]])
    """
    found, pivots, _, info = _lu.lu_factor(_matrix(a, check_finite))
    if check_finite and bool(any_(info != 0)):
        warnings.warn("Diagonal number %d is exactly zero. Singular matrix." % int(max_(info)), LinAlgWarning,  # noqa: UP031
                      stacklevel=2)  # fmt: skip
    return found, pivots


@on_array_device
def lu_solve(lu_and_piv: tuple[ArrayLike, ArrayLike], b: ArrayLike, trans: int = 0, overwrite_b: bool = False,
             check_finite: bool = True) -> ndarray:  # fmt: skip
    """Returns X with A X = b for the square matrix A whose decomposition `lu_factor` returned.

    Parameters
    ----------
    lu_and_piv : pair of array_like
        What `lu_factor` returned.
    b : array_like
        A vector or a matrix.
    trans : int, default 0
        0 for A, 1 for its transpose, 2 for its adjoint.
    overwrite_b : bool, default False
        For SciPy's signature; `b` is never changed.
    check_finite : bool, default True
        Whether to read `b` for infinities and NaN.

    Returns
    -------
    ndarray
        An array of the shape of `b`.

    Raises
    ------
    ValueError
        For shapes that do not fit, infinities or NaN.

    See Also
    --------
    lu_factor

    Examples
    --------
    >>> cp.scipy.linalg.lu_solve(cp.scipy.linalg.lu_factor([[0.0, 2.0], [1.0, 0.0]]), [4.0, 3.0])
    array([3., 2.])
    """
    lu_, right = inexact(array(lu_and_piv[0]), array(b))
    if check_finite and not bool(all_(isfinite(right))):
        raise ValueError("array must not contain infs or NaNs")
    if lu_.shape[-1] != right.shape[-2 if right.ndim > 1 else -1]:
        raise ValueError(f"Shapes of lu {lu_.shape} and b {right.shape} are incompatible")
    if trans not in (0, 1, 2):
        raise ValueError(f"trans must be 0, 1 or 2, got {trans!r}")
    n = lu_.shape[-1]
    columns = right[:, None] if right.ndim == 1 else right
    lower, upper = tril(lu_, -1) + eye(n, dtype=lu_.dtype), triu(lu_)
    order = _lu.order_of(array(lu_and_piv[1]), n)
    permutation = (order[..., :, None] == arange(n)) + zeros((), lu_.dtype)
    if trans == 0:
        found = solve(upper, solve(lower, permutation @ columns))
    else:
        first, second = (_swapped(m) if trans == 1 else conj(_swapped(m)) for m in (upper, lower))
        found = _swapped(permutation) @ solve(second, solve(first, columns))
    return found[..., 0] if right.ndim == 1 else found


def lu(a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True,
       p_indices: bool = False) -> tuple[ndarray, ...]:  # fmt: skip
    """Returns the LU decomposition a = P L U with partial pivoting.

    Parameters
    ----------
    a : array_like
        Matrices in the last two axes.
    permute_l : bool, default False
        Whether to return P L in place of P and L.
    overwrite_a : bool, default False
        For SciPy's signature; `a` is never changed.
    check_finite : bool, default True
        Whether to read `a` for infinities and NaN.
    p_indices : bool, default False
        Whether to return P as the indices with `L[p] @ U == a`.

    Returns
    -------
    tuple of ndarrays
        The tuple (P, L, U), or (P L, U).

    Raises
    ------
    ValueError
        For fewer than two axes, infinities or NaN.

    See Also
    --------
    scipy.linalg.bandwidth, scipy.linalg.lu_factor, scipy.linalg.lu_solve, scipy.linalg.solve_triangular

    Examples
    --------
    >>> p, l, u = cp.scipy.linalg.lu([[1.0, 2.0], [2.0, 2.0]])
    >>> p @ l @ u
    array([[1., 2.],
           [2., 2.]])
    """
    matrix = _matrix(a, check_finite)
    found, _, order, _ = _lu.lu_factor(matrix)
    m, n = matrix.shape[-2:]
    k = min(m, n)
    lower, upper = tril(found[..., :k], -1) + eye(m, k, dtype=found.dtype), triu(found[..., :k, :])
    row = arange(m)
    permutation = (row[:, None] == order[..., None, :]) + zeros((), absolute(found[..., :0, :0]).dtype)
    if permute_l:
        return permutation @ lower, upper
    if p_indices:
        return astype(sum_((permutation != 0) * row, -1), "int32"), lower, upper
    return permutation, lower, upper


def solve_triangular(a: ArrayLike, b: ArrayLike, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False,
                     overwrite_b: bool = False, check_finite: bool = True) -> ndarray:  # fmt: skip
    """Returns X with A X = b for triangular A, of which only the triangle is read.

    Parameters
    ----------
    a : array_like
        Square matrices in the last two axes.
    b : array_like
        A vector, or matrices in the last two axes that broadcast with `a`.
    trans : int or str, default 0
        0 or "N" for A, 1 or "T" for its transpose, 2 or "C" for its adjoint.
    lower : bool, default False
        Whether A is lower triangular.
    unit_diagonal : bool, default False
        Whether the diagonal of A counts as 1.
    overwrite_b : bool, default False
        For SciPy's signature; `b` is never changed.
    check_finite : bool, default True
        Whether to read the operands for infinities and NaN.

    Returns
    -------
    ndarray
        An array of the shape of `b`.

    Raises
    ------
    ValueError
        For shapes that do not fit, infinities or NaN.
    LinAlgError
        For a singular matrix.

    See Also
    --------
    scipy.linalg.lu, scipy.linalg.lu_factor, scipy.linalg.lu_solve

    Examples
    --------
    >>> cp.scipy.linalg.solve_triangular([[2.0, 0.0], [1.0, 1.0]], [2.0, 3.0], lower=True)
    array([1., 2.])
    """
    matrix, right = inexact(_matrix(a, check_finite, square=True), array(b))
    if not right.ndim or right.shape[max(right.ndim - 2, 0)] != matrix.shape[-1]:
        raise ValueError(f"shapes of a {matrix.shape} and b {right.shape} are incompatible")
    if check_finite and not bool(all_(isfinite(right))):
        raise ValueError("array must not contain infs or NaNs")
    shift = int(unit_diagonal)
    triangle = tril(matrix, -shift) if lower else triu(matrix, shift)
    if unit_diagonal:
        triangle = triangle + eye(matrix.shape[-1], dtype=matrix.dtype)
    kind = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    if kind:
        triangle = _swapped(triangle) if kind == 1 else conj(_swapped(triangle))
    if lower == bool(kind):
        return solve(triangle, right)
    # Reversed, a lower triangle is an upper one, whose rows are never exchanged: the solution is that of substitution.
    rows = -1 if right.ndim == 1 else -2
    return flip(solve(triangle[..., ::-1, ::-1], flip(right, rows)), rows)


def expm(A: ArrayLike) -> ndarray:
    """Returns the exponential of matrices, by scaling, a Taylor polynomial and squaring. It reads the norm.

    Parameters
    ----------
    A : array_like
        Square matrices in the last two axes.

    Returns
    -------
    ndarray
        An array of the shape of `A`.

    Raises
    ------
    ValueError
        For other shapes.

    See Also
    --------
    scipy.linalg.coshm, scipy.linalg.sinhm, scipy.linalg.tanhm

    Examples
    --------
    >>> cp.scipy.linalg.expm([[0.0, 0.0], [0.0, 0.0]])
    array([[1., 0.],
           [0., 1.]])
    """
    x = _matrix(A, False, square=True)
    one = eye(x.shape[-1], dtype=x.dtype)
    if not x.size:
        return x
    size = float(max_(sum_(absolute(x), -2)))
    if not math.isfinite(size):
        return x * math.nan
    halved = max(0, math.ceil(math.log2(size)) + 1) if size else 0
    x = x * 0.5**halved
    found = one + x * 0
    for k in range(18, 0, -1):
        found = one + x @ found / k
    for _ in range(halved):
        found = found @ found
    return found


def sinhm(A: ArrayLike) -> ndarray:
    """Returns the hyperbolic sine of a matrix.

    Parameters
    ----------
    A : array_like
        A square matrix.

    Returns
    -------
    ndarray
        An array of the shape of `A`.

    See Also
    --------
    scipy.linalg.tanhm, scipy.linalg.expm, scipy.linalg.coshm

    Examples
    --------
    >>> cp.scipy.linalg.sinhm([[0.0]])
    array([[0.]])
    """
    return 0.5 * (expm(A) - expm(-array(A)))


def coshm(A: ArrayLike) -> ndarray:
    """Returns the hyperbolic cosine of a matrix.

    Parameters
    ----------
    A : array_like
        A square matrix.

    Returns
    -------
    ndarray
        An array of the shape of `A`.

    See Also
    --------
    scipy.linalg.sinhm, scipy.linalg.tanhm, scipy.linalg.expm

    Examples
    --------
    >>> cp.scipy.linalg.coshm([[0.0]])
    array([[1.]])
    """
    return 0.5 * (expm(A) + expm(-array(A)))


def tanhm(A: ArrayLike) -> ndarray:
    """Returns the hyperbolic tangent of a matrix.

    Parameters
    ----------
    A : array_like
        A square matrix.

    Returns
    -------
    ndarray
        An array of the shape of `A`.

    See Also
    --------
    scipy.linalg.expm, scipy.linalg.coshm, scipy.linalg.sinhm

    Examples
    --------
    >>> cp.scipy.linalg.tanhm([[0.0]])
    array([[0.]])
    """
    return solve(coshm(A), sinhm(A))


def bandwidth(a: ArrayLike) -> tuple[int, int]:
    """Returns the numbers of diagonals below and above the main one that are not 0. It reads them.

    Parameters
    ----------
    a : array_like
        A matrix.

    Returns
    -------
    pair of ints
        The tuple of both numbers.

    Raises
    ------
    TypeError
        Unless there are two axes.

    See Also
    --------
    scipy.linalg.lu

    Examples
    --------
    >>> cp.scipy.linalg.bandwidth([[1, 0], [2, 3]])
    (1, 0)
    """
    matrix = array(a)
    if matrix.ndim != 2:
        raise TypeError("Input array must be a 2D NumPy array")
    if not matrix.size:
        return 0, 0
    away = arange(matrix.shape[1]) - arange(matrix.shape[0])[:, None]
    stored = where(matrix != 0, away, 0)
    return max(0, -int(min_(stored))), max(0, int(max_(stored)))
