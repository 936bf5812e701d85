"""Matrices of special structure, in closed form from the indices of rows and columns."""

from __future__ import annotations

import math
from typing import Any

from cuprous._common.arguments import ArrayLike, array, ndarray
from cuprous._functions.creation import ones, zeros
from cuprous._functions.elementwise import where
from cuprous._functions.joining import concatenate
from cuprous._functions.matrices import eye
from cuprous._functions.products import kron as _kron
from cuprous._functions.ranges import arange
from cuprous._ufuncs.one_output import absolute, conj, exp, sqrt


def _vector(a: ArrayLike) -> ndarray:
    return array(a).reshape(-1)


def _taken(values: ndarray, rows: int, columns: int, index: ndarray) -> ndarray:
    return values[index.reshape(-1)].reshape(rows, columns)


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> ndarray:
    """Returns a matrix with equal elements along each diagonal.

    Parameters
    ----------
    c : array_like
        The first column.
    r : array_like, optional
        The first row, of which the first element is not used; by default the conjugate of `c`.

    Returns
    -------
    ndarray
        An array of shape (len(c), len(r)).

    See Also
    --------
    circulant, hankel

    Examples
    --------
    >>> cp.scipy.linalg.toeplitz([1, 2], [1, 5])
    array([[1, 5],
           [2, 1]])
    """
    column = _vector(c)
    row = conj(column) if r is None else _vector(r)
    values = concatenate([column[::-1], row[1:]])
    m, n = column.size, row.size
    return _taken(values, m, n, m - 1 - arange(m)[:, None] + arange(n))


def hankel(c: ArrayLike, r: ArrayLike | None = None) -> ndarray:
    """Returns a matrix with equal elements along each diagonal from the lower left to the upper right.

    Parameters
    ----------
    c : array_like
        The first column.
    r : array_like, optional
        The last row, of which the first element is not used; by default zeros.

    Returns
    -------
    ndarray
        An array of shape (len(c), len(r)).

    See Also
    --------
    toeplitz, circulant

    Examples
    --------
    >>> cp.scipy.linalg.hankel([1, 2])
    array([[1, 2],
           [2, 0]])
    """
    column = _vector(c)
    row = column * 0 if r is None else _vector(r)
    values = concatenate([column, row[1:]])
    return _taken(values, column.size, row.size, arange(column.size)[:, None] + arange(row.size))


def circulant(c: ArrayLike) -> ndarray:
    """Returns a matrix whose columns are rotations of the first.

    Parameters
    ----------
    c : array_like
        The first column.

    Returns
    -------
    ndarray
        A square array.

    See Also
    --------
    toeplitz, hankel

    Examples
    --------
    >>> cp.scipy.linalg.circulant([1, 2, 3])
    array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]])
    """
    column = _vector(c)
    n = column.size
    return _taken(column, n, n, (arange(n)[:, None] - arange(n)) % max(n, 1))


def hadamard(n: int, dtype: Any = int) -> ndarray:
    """Returns Sylvester's matrix of 1 and -1, whose rows are orthogonal.

    Parameters
    ----------
    n : int
        The number of rows, a power of 2.
    dtype : dtype, optional
        The dtype.

    Returns
    -------
    ndarray
        A square array.

    Raises
    ------
    ValueError
        For other numbers.

    See Also
    --------
    scipy.linalg.helmert, scipy.linalg.hilbert, scipy.linalg.leslie, scipy.linalg.dft

    Examples
    --------
    >>> cp.scipy.linalg.hadamard(2)
    array([[ 1,  1],
           [ 1, -1]])
    """
    if n < 1 or n & (n - 1):
        raise ValueError("n must be an positive integer, and n must be a power of 2")
    found = ones((1, 1), dtype)
    while found.shape[0] < n:
        found = concatenate([concatenate([found, found], 1), concatenate([found, -found], 1)])
    return found


def leslie(f: ArrayLike, s: ArrayLike) -> ndarray:
    """Returns the Leslie matrix of a population.

    Parameters
    ----------
    f : array_like
        The fecundities, n numbers.
    s : array_like
        The rates of survival, n - 1 numbers.

    Returns
    -------
    ndarray
        An array of shape (n, n).

    Raises
    ------
    ValueError
        For other lengths.

    See Also
    --------
    scipy.linalg.dft, scipy.linalg.hadamard, scipy.linalg.helmert, scipy.linalg.hilbert

    Examples
    --------
    >>> cp.scipy.linalg.leslie([1.0, 2.0], [0.5])
    array([[1. , 2. ],
           [0.5, 0. ]])
    """
    first, below = array(f), array(s)
    if first.ndim != 1 or below.ndim != 1:
        raise ValueError("Incorrect shape for f or s. Both must be one-dimensional")
    if first.size != below.size + 1:
        raise ValueError("Incorrect lengths for f and s. The length of s must be one less than the length of f.")
    if not below.size:
        raise ValueError("The length of s must be at least 1.")
    n = first.size
    diagonal = where(arange(n - 1)[:, None] == arange(n), concatenate([below, below[:1]]), 0)
    return concatenate([first[None], diagonal])


def companion(a: ArrayLike) -> ndarray:
    """Returns the companion matrix of a polynomial, whose eigenvalues are its roots.

    Parameters
    ----------
    a : array_like
        The coefficients, the highest first.

    Returns
    -------
    ndarray
        A square array with a row less than there are coefficients.

    Raises
    ------
    ValueError
        For fewer than two coefficients, or a leading 0, for which the coefficient is read.

    See Also
    --------
    scipy.linalg.fiedler, scipy.linalg.toeplitz, scipy.linalg.hankel

    Examples
    --------
    >>> cp.scipy.linalg.companion([1.0, -3.0, 2.0])
    array([[ 3., -2.],
           [ 1.,  0.]])
    """
    values = array(a)
    if values.ndim != 1 or values.size < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    if bool(values[0] == 0):
        raise ValueError("The first coefficient(s) of `a` (i.e. elements of `a[..., 0]`) must not be zero.")
    first = -values[1:] / values[0]
    n = first.size
    return concatenate([first[None], eye(n, dtype=first.dtype)[: n - 1]])


def fiedler_companion(a: ArrayLike) -> ndarray:
    """Returns Fiedler's companion matrix of a polynomial: pentadiagonal, with the same eigenvalues as `companion`.

    Parameters
    ----------
    a : array_like
        The coefficients, the highest first.

    Returns
    -------
    ndarray
        A square array with a row less than there are coefficients.

    Raises
    ------
    ValueError
        For a leading 0, for which the coefficient is read, and arrays of several axes.

    See Also
    --------
    companion

    Examples
    --------
    >>> cp.scipy.linalg.fiedler_companion([1.0, -6.0, 11.0, -6.0])
    array([[  6., -11.,   1.],
           [  1.,   0.,   0.],
           [  0.,   6.,   0.]])
    """
    values = array(a)
    if values.ndim > 1:
        raise ValueError("Input 'a' must be a 1-D array.")
    if values.size < 2:
        return zeros((0,), dtype=values.dtype)
    if bool(values[0] == 0):
        raise ValueError("Leading coefficient is zero.")
    values = values / values[0]
    n = values.size - 1
    matrix = zeros((n, n), dtype=values.dtype)
    matrix[0, 0] = -values[1]
    if n > 1:
        matrix[1, 0] = 1
    rows = arange(n)
    matrix[rows[3:n:2], rows[1 : n - 2 : 2]] = 1
    matrix[rows[2:n:2], rows[1 : n - 1 : 2]] = -values[3::2]
    matrix[rows[0 : max(n - 2, 0) : 2], rows[2:n:2]] = 1
    matrix[rows[0 : n - 1 : 2], rows[1:n:2]] = -values[2::2]
    return matrix


def hilbert(n: int) -> ndarray:
    """Returns the matrix with the elements 1 / (i + j + 1).

    Parameters
    ----------
    n : int
        The number of rows.

    Returns
    -------
    ndarray
        A square float64 array.

    See Also
    --------
    scipy.linalg.leslie, scipy.linalg.dft, scipy.linalg.hadamard, scipy.linalg.helmert

    Examples
    --------
    >>> cp.scipy.linalg.hilbert(2)
    array([[1.        , 0.5       ],
           [0.5       , 0.33333333]])
    """
    return 1.0 / (1 + arange(n)[:, None] + arange(n))


def helmert(n: int, full: bool = False) -> ndarray:
    """Returns Helmert's matrix, whose rows are orthonormal.

    Parameters
    ----------
    n : int
        The number of columns.
    full : bool, default False
        Whether to return the first row too, which is constant.

    Returns
    -------
    ndarray
        An array of shape (n - 1, n), or (n, n).

    See Also
    --------
    scipy.linalg.hilbert, scipy.linalg.leslie, scipy.linalg.dft, scipy.linalg.hadamard

    Examples
    --------
    >>> cp.scipy.linalg.helmert(2)
    array([[ 0.70710678, -0.70710678]])
    """
    k, j = arange(n)[:, None], arange(n)
    scale = sqrt(where(k == 0, n, k * (k + 1)))
    found = where((k == 0) | (j < k), 1.0, where(j == k, -k, 0)) / scale
    return found if full else found[1:]


def dft(n: int, scale: str | None = None) -> ndarray:
    """Returns the matrix of the discrete Fourier transform.

    Parameters
    ----------
    n : int
        The number of points.
    scale : str, optional
        None, "sqrtn" to divide by the root of n, or "n".

    Returns
    -------
    ndarray
        A square complex array.

    Raises
    ------
    ValueError
        For another scale.

    See Also
    --------
    scipy.linalg.hadamard, scipy.linalg.helmert, scipy.linalg.hilbert, scipy.linalg.leslie

    Examples
    --------
    >>> cp.scipy.linalg.dft(2).real
    array([[ 1.,  1.],
           [ 1., -1.]])
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; {scale!r} is not valid.")
    turns = (arange(n)[:, None] * arange(n)) % max(n, 1)
    found = exp(turns * (-2j * math.pi / max(n, 1)))
    return found if scale is None else found / (n if scale == "n" else math.sqrt(n))


def fiedler(a: ArrayLike) -> ndarray:
    """Returns the absolute differences of all pairs of numbers.

    Parameters
    ----------
    a : array_like
        The numbers.

    Returns
    -------
    ndarray
        A square array.

    Raises
    ------
    ValueError
        For more than one axis.

    See Also
    --------
    circulant, toeplitz

    Examples
    --------
    >>> cp.scipy.linalg.fiedler([1, 4])
    array([[0, 3],
           [3, 0]])
    """
    values = array(a)
    if values.ndim != 1:
        raise ValueError("Input 'a' must be a 1D array.")
    return absolute(values[:, None] - values)


def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> ndarray:
    """Returns the matrix whose product with a vector of n numbers is their convolution.

    Parameters
    ----------
    a : array_like
        The other operand of the convolution.
    n : int
        The length of the vector.
    mode : str, default "full"
        "full", "same" or "valid", as of `convolve`.

    Returns
    -------
    ndarray
        An array with n columns.

    Raises
    ------
    ValueError
        For another mode, an empty operand, or n below 1.

    See Also
    --------
    toeplitz

    Examples
    --------
    >>> cp.scipy.linalg.convolution_matrix([1, 2], 2)
    array([[1, 0],
           [2, 1],
           [0, 2]])
    """
    values = array(a)
    if n <= 0:
        raise ValueError("n must be a positive integer.")
    if values.ndim != 1:
        raise ValueError("convolution_matrix expects a one-dimensional array as input")
    if not values.size:
        raise ValueError("len(a) must be at least 1.")
    if mode not in ("full", "valid", "same"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    column = concatenate([values, zeros(n - 1, values.dtype)])
    full = toeplitz(column, concatenate([values[:1], zeros(n - 1, values.dtype)]))
    m, least = values.size, min(n, values.size)
    if mode == "full":
        return full
    cut = least - 1 if mode == "valid" else (least - 1) // 2
    rows = max(n, m) - least + 1 if mode == "valid" else max(n, m)
    return full[cut : cut + rows]


def block_diag(*arrs: ArrayLike) -> ndarray:
    """Returns a matrix with matrices along its diagonal, and 0 elsewhere.

    Parameters
    ----------
    *arrs : array_like
        The matrices; vectors are rows.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        For more than two axes.

    See Also
    --------
    scipy.linalg.khatri_rao, scipy.linalg.kron

    Examples
    --------
    >>> cp.scipy.linalg.block_diag([1], [[2, 3]])
    array([[1, 0, 0],
           [0, 2, 3]])
    """
    blocks = [array(a) for a in arrs] or [zeros((1, 0))]
    if any(b.ndim > 2 for b in blocks):
        raise ValueError("arguments in the following positions have dimension greater than 2: "
                         f"{[k for k, b in enumerate(blocks) if b.ndim > 2]}")  # fmt: skip
    blocks = [b.reshape(1, -1) if b.ndim < 2 else b for b in blocks]
    dtype = concatenate([b.reshape(-1)[:0] for b in blocks]).dtype  # that which all promote to
    found = zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), dtype)
    row = column = 0
    for b in blocks:
        found[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return found


def khatri_rao(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Returns the Kronecker products of columns.

    Parameters
    ----------
    a : array_like
        An array of shape (m, n).
    b : array_like
        An array of shape (k, n).

    Returns
    -------
    ndarray
        An array of shape (m k, n).

    Raises
    ------
    ValueError
        For other shapes.

    See Also
    --------
    scipy.linalg.kron, scipy.linalg.block_diag

    Examples
    --------
    >>> cp.scipy.linalg.khatri_rao([[1, 2]], [[3, 4], [5, 6]])
    array([[ 3,  8],
           [ 5, 12]])
    """
    first, second = array(a), array(b)
    if first.ndim != 2 or second.ndim != 2:
        raise ValueError("The both arrays should be 2-dimensional.")
    if first.shape[1] != second.shape[1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    return (first[:, None, :] * second[None]).reshape(-1, first.shape[1])


def kron(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Returns the Kronecker product.

    Parameters
    ----------
    a : array_like
        An array.
    b : array_like
        An array.

    Returns
    -------
    ndarray

    See Also
    --------
    scipy.linalg.block_diag, scipy.linalg.khatri_rao

    Examples
    --------
    >>> cp.scipy.linalg.kron([[1, 2]], [[3], [4]])
    array([[3, 6],
           [4, 8]])
    """
    return _kron(a, b)
