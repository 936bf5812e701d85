"""Parts of sparse matrices: triangles, and the values with their positions."""

from __future__ import annotations

from typing import Any

from cuprous._common.arguments import ndarray
from cuprous._common.casting import astype
from cuprous.scipy.sparse import _pattern
from cuprous.scipy.sparse._base import Sparse, on_data_device
from cuprous.scipy.sparse._construct import _as_format, _is_array, _sparse


def _triangle(A: Any, k: int, format: str | None, lower: bool) -> Any:
    a = _sparse(A, _is_array(A) or not isinstance(A, Sparse))
    above = astype(a._col, "int64") - astype(a._row, "int64")
    row, col, data = _pattern.keep(above <= k if lower else above >= k, a._row, a._col, a._data)
    return _as_format(a._new(data, row, col, a._shape, a._canonical), format)


@on_data_device
def tril(A: Any, k: int = 0, format: str | None = None) -> Any:
    """Returns the elements on and below diagonal `k`.

    Parameters
    ----------
    A : sparse matrix or array_like
        A matrix, sparse or dense.
    k : int, default 0
        The last diagonal that is kept: 0 is the main one, positive ones are above it.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    See Also
    --------
    triu

    Examples
    --------
    >>> cp.scipy.sparse.tril([[1, 2], [3, 4]]).toarray()
    array([[1, 0],
           [3, 4]])
    """
    return _triangle(A, k, format, True)


@on_data_device
def triu(A: Any, k: int = 0, format: str | None = None) -> Any:
    """Returns the elements on and above diagonal `k`.

    Parameters
    ----------
    A : sparse matrix or array_like
        A matrix, sparse or dense.
    k : int, default 0
        The first diagonal that is kept: 0 is the main one, positive ones are above it.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    See Also
    --------
    tril

    Examples
    --------
    >>> cp.scipy.sparse.triu([[1, 2], [3, 4]]).toarray()
    array([[1, 2],
           [0, 4]])
    """
    return _triangle(A, k, format, False)


@on_data_device
def find(A: Any) -> tuple[ndarray, ndarray, ndarray]:
    """Returns the rows, columns and values of the nonzero elements, with duplicates summed.

    Parameters
    ----------
    A : sparse matrix or array_like
        A matrix, sparse or dense.

    Returns
    -------
    tuple of ndarrays
        A tuple of three arrays.

    See Also
    --------
    scipy.sparse.coo_array, scipy.sparse.coo_matrix

    Examples
    --------
    >>> cp.scipy.sparse.find(cp.scipy.sparse.eye(2))
    (array([0, 1], dtype=int32), array([0, 1], dtype=int32), array([1., 1.]))
    """
    a = _sparse(A, True).copy()
    a.sum_duplicates()
    row, col, data = _pattern.keep(a._data != 0, a._row, a._col, a._data)
    return row, col, data
