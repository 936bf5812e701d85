"""Diagonals, and index arrays of diagonals and triangles."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.arguments import ArrayLike, array, ndarray, operand, target
from cuprous._common.casting import astype
from cuprous._common.indexing import flat_offsets
from cuprous._common.operands import on_array_device
from cuprous._functions import creation, matrices
from cuprous._functions.counting import nonzero


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """Returns a view of the diagonals along a new last axis. It is writable, unlike NumPy's.

    Parameters
    ----------
    a : array_like
        An array with at least two axes.
    offset : int, default 0
        The diagonal: 0 is the main one, positive ones are above it.
    axis1 : int, default 0
        The axis of the rows.
    axis2 : int, default 1
        The axis of the columns.

    Returns
    -------
    ndarray
        A view without the two axes, and with the diagonals along the last.

    Raises
    ------
    ValueError
        For fewer than two axes, or the same axis twice.

    See Also
    --------
    diag, diagflat, trace

    Examples
    --------
    >>> cp.diagonal([[1, 2], [3, 4]])
    array([1, 4])
    >>> cp.diagonal([[1, 2], [3, 4]], offset=1)
    array([2])
    """
    a = array(a)
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    return matrices.diagonal_view(a, offset, axis1, axis2)


@on_array_device
def fill_diagonal(a: ndarray, val: ArrayLike, wrap: bool = False) -> None:
    """Writes values on the main diagonal of an array, in place; values repeat as needed.

    Parameters
    ----------
    a : ndarray
        The array, which is changed.
    val : array_like
        A scalar, or an array-like whose flattened elements are written.
    wrap : bool, default False
        Whether the diagonal of a tall matrix begins anew after each block of as many rows as columns and one more.

    Raises
    ------
    TypeError
        Unless `a` is an array.
    ValueError
        Unless it has two axes, or more axes of the same length.

    See Also
    --------
    diag, diagonal

    Examples
    --------
    >>> a = cp.zeros((3, 3), int)
    >>> cp.fill_diagonal(a, 5)
    >>> a
    array([[5, 0, 0],
           [0, 5, 0],
           [0, 0, 5]])
    """
    if target(a, "fill_diagonal").ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    rows, columns = a.shape[:2]
    step = columns + 1 if a.ndim == 2 else sum(columns**i for i in range(a.ndim))
    end = a.size if wrap or a.ndim > 2 or rows <= columns else columns * columns
    count = -(-end // step)
    value = operand(val)
    index = _core.iota((count,), (step,), 0)
    if isinstance(value, ndarray) and value.size != 1:
        flat = astype(value, a.dtype_name).reshape(-1)
        value = _core.gather(flat, index // step % flat.size)
    elif isinstance(value, ndarray):
        value = astype(value.reshape(()), a.dtype_name)
    _core.scatter(a, flat_offsets(a, index), value, "set")


def diag_indices(n: int, ndim: int = 2) -> tuple[ndarray, ...]:
    """Returns the indices of the main diagonal of an array with `ndim` axes of length `n`.

    Parameters
    ----------
    n : int
        The length of the axes.
    ndim : int, default 2
        The number of axes.

    Returns
    -------
    tuple of ndarrays
        A tuple of `ndim` arrays (int64) of shape (n,).

    See Also
    --------
    diag_indices_from

    Examples
    --------
    >>> a = cp.zeros((3, 3), int)
    >>> a[cp.diag_indices(3)] = 1
    >>> a
    array([[1, 0, 0],
           [0, 1, 0],
           [0, 0, 1]])
    """
    index = _core.iota((max(n, 0),), (1,), 0)
    return (index,) * max(ndim, 0)


def diag_indices_from(arr: ArrayLike) -> tuple[ndarray, ...]:
    """Returns the indices of the main diagonal of an array.

    Parameters
    ----------
    arr : array_like
        An array.

    Returns
    -------
    tuple of ndarrays
        A tuple of arrays (int64), one for each axis.

    Raises
    ------
    ValueError
        Unless the array has two or more axes, all of the same length.

    See Also
    --------
    diag_indices

    Examples
    --------
    >>> cp.diag_indices_from(cp.ones((2, 2)))
    (array([0, 1]), array([0, 1]))
    """
    arr = array(arr)
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    """Returns the indices of the lower triangle of an n x m matrix.

    Parameters
    ----------
    n : int
        The number of rows.
    k : int, default 0
        The last diagonal of the triangle: 0 is the main one, positive ones are above it.
    m : int, optional
        The number of columns, n by default.

    Returns
    -------
    tuple of ndarrays
        A tuple of two arrays (int64), of rows and of columns.

    See Also
    --------
    triu_indices, tril

    Examples
    --------
    >>> cp.tril_indices(2)
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    return nonzero(matrices.tri(n, m, k, bool))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    """Returns the indices of the upper triangle of an n x m matrix.

    Parameters
    ----------
    n : int
        The number of rows.
    k : int, default 0
        The first diagonal of the triangle: 0 is the main one, positive ones are above it.
    m : int, optional
        The number of columns, n by default.

    Returns
    -------
    tuple of ndarrays
        A tuple of two arrays (int64), of rows and of columns.

    See Also
    --------
    tril_indices, triu

    Examples
    --------
    >>> cp.triu_indices(3, 1)
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    return nonzero(_core.map("logical_not", matrices.tri(n, m, k - 1, bool)))


def _matrix_shape(arr: ArrayLike) -> tuple[int, int]:
    arr = array(arr)
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return arr.shape[0], arr.shape[1]


@on_array_device
def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[ndarray, ...]:
    """Returns the indices of the lower triangle of a matrix.

    Parameters
    ----------
    arr : array_like
        A matrix.
    k : int, default 0
        The last diagonal of the triangle: 0 is the main one, positive ones are above it.

    Returns
    -------
    tuple of ndarrays
        A tuple of two arrays (int64), of rows and of columns.

    Raises
    ------
    ValueError
        Unless the array has two axes.

    See Also
    --------
    tril_indices, tril, triu_indices_from

    Examples
    --------
    >>> a = cp.asarray([[1, 2], [3, 4]])
    >>> a[cp.tril_indices_from(a)]
    array([1, 3, 4])
    """
    rows, columns = _matrix_shape(arr)
    return tril_indices(rows, k, columns)


@on_array_device
def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[ndarray, ...]:
    """Returns the indices of the upper triangle of a matrix.

    Parameters
    ----------
    arr : array_like
        A matrix.
    k : int, default 0
        The first diagonal of the triangle: 0 is the main one, positive ones are above it.

    Returns
    -------
    tuple of ndarrays
        A tuple of two arrays (int64), of rows and of columns.

    Raises
    ------
    ValueError
        Unless the array has two axes.

    See Also
    --------
    triu_indices, triu, tril_indices_from

    Examples
    --------
    >>> a = cp.asarray([[1, 2], [3, 4]])
    >>> a[cp.triu_indices_from(a)]
    array([1, 2, 4])
    """
    rows, columns = _matrix_shape(arr)
    return triu_indices(rows, k, columns)


def mask_indices(n: int, mask_func: Any, k: Any = 0) -> tuple[ndarray, ...]:
    """Returns the indices of the elements that a function such as `triu` does not set to zero in an n x n matrix.

    Parameters
    ----------
    n : int
        The number of rows and columns.
    mask_func : callable
        A function `mask_func(a, k)`.
    k : int, default 0
        The second argument of the function.

    Returns
    -------
    tuple of ndarrays
        A tuple of two arrays (int64), of rows and of columns.

    See Also
    --------
    triu, tril, triu_indices, tril_indices

    Examples
    --------
    >>> cp.mask_indices(2, cp.triu)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return nonzero(mask_func(creation.ones((n, n), int), k))


__all__ = [
    "diag_indices", "diag_indices_from", "diagonal", "fill_diagonal", "mask_indices", "tril_indices",
    "tril_indices_from", "triu_indices", "triu_indices_from",
]  # fmt: skip
