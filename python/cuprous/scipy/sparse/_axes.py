"""Axes of sparse matrices and arrays, and the dtypes of their indices."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray
from cuprous.scipy.sparse._base import Sparse

_LIMIT = 2**31 - 1


def matrix_transpose(A: Any) -> Any:
    """Returns the transpose of a sparse matrix.

    Parameters
    ----------
    A : sparse matrix
        A sparse matrix or array.

    Returns
    -------
    sparray or spmatrix
        A matrix of the same class or, for CSR and CSC, of the other one; it shares the values.

    Raises
    ------
    TypeError
        For anything else.

    See Also
    --------
    permute_dims, swapaxes

    Examples
    --------
    >>> A = cp.scipy.sparse.coo_array(cp.asarray([[1.0, 2.0]]))
    >>> cp.scipy.sparse.matrix_transpose(A).shape
    (2, 1)
    """
    if not isinstance(A, Sparse):
        raise TypeError("matrix_transpose expected a sparse object")
    return A.transpose()


def permute_dims(A: Any, axes: Sequence[int] | None = None, copy: bool = False) -> Any:
    """Returns a sparse matrix with its axes in another order.

    Parameters
    ----------
    A : sparse matrix
        A sparse matrix or array.
    axes : sequence of ints, optional
        The order; by default reversed.
    copy : bool, default False
        Whether the result has its own values.

    Returns
    -------
    sparray or spmatrix
        The same object for the same order without `copy`, otherwise a matrix in the format COO.

    Raises
    ------
    ValueError
        For axes that do not exist, are named twice or are not all.
    TypeError
        For axes that are not integers.

    See Also
    --------
    swapaxes, matrix_transpose

    Examples
    --------
    >>> A = cp.scipy.sparse.coo_array(cp.asarray([[1.0, 2.0]]))
    >>> cp.scipy.sparse.permute_dims(A, (1, 0)).toarray()
    array([[1.],
           [2.]])
    """
    ndim = A.ndim
    if axes is None:
        axes = range(ndim)[::-1]
    elif len(axes) != ndim:
        raise ValueError(f"Incorrect number of axes: {ndim} instead of {A.ndim}")
    order = []
    for axis in axes:
        if not hasattr(axis, "__index__"):
            raise TypeError(f"axis must be an integer. (given {axis})")
        axis = operator.index(axis)
        if not -ndim <= axis < ndim:
            raise ValueError("axis out of range for ndim")
        order.append(axis % ndim)
    if len(set(order)) != ndim:
        raise ValueError("duplicate value in axis")
    if order == list(range(ndim)):
        return A.copy() if copy else A
    return A.tocoo(copy=copy).transpose()


def swapaxes(A: Any, axis1: int, axis2: int) -> Any:
    """Returns a copy of a sparse matrix with two axes exchanged.

    Parameters
    ----------
    A : sparse matrix
        A sparse matrix or array.
    axis1 : int
        The first axis.
    axis2 : int
        The second axis.

    Returns
    -------
    sparray or spmatrix
        A matrix in the format COO; a copy in its own format if the axes are the same.

    Raises
    ------
    ValueError
        For axes that do not exist.

    See Also
    --------
    permute_dims, matrix_transpose

    Examples
    --------
    >>> A = cp.scipy.sparse.coo_array(cp.asarray([[1.0, 2.0]]))
    >>> cp.scipy.sparse.swapaxes(A, 0, 1).shape
    (2, 1)
    """
    ndim = A.ndim
    for axis in (axis1, axis2):
        if not -ndim <= axis < ndim:
            raise ValueError(f"Invalid axis: {axis} is out of bounds for ndim={ndim}")
    order = list(range(ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return permute_dims(A, order, copy=True)


def get_index_dtype(arrays: Any = (), maxval: float | None = None, check_contents: bool = False) -> type:
    """Returns the dtype of indices that holds those of some arrays, and a number: int32 or int64.

    Parameters
    ----------
    arrays : array_like or tuple of array_like, optional
        The arrays.
    maxval : float, optional
        The number.
    check_contents : bool, default False
        Whether values count rather than dtypes, which waits for the device.

    Returns
    -------
    type
        `numpy.int32` or `numpy.int64`.

    See Also
    --------
    safely_cast_index_arrays

    Examples
    --------
    >>> cp.scipy.sparse.get_index_dtype(cp.asarray([1, 2]), maxval=10).__name__
    'int64'
    >>> cp.scipy.sparse.get_index_dtype(cp.asarray([1, 2]), check_contents=True).__name__
    'int32'
    """
    import numpy as np

    if maxval is not None and int(maxval) > _LIMIT:
        return np.int64
    for given in (arrays,) if isinstance(arrays, (ndarray, np.ndarray)) else arrays:
        a = array(given)
        if np.can_cast(np.dtype(a.dtype_name), np.int32):
            continue
        if check_contents:
            if a.size == 0:
                continue
            if _dtypes.kind(a.dtype_name) in "iu" and int(a.max()) <= _LIMIT and int(a.min()) >= -_LIMIT - 1:
                continue
        return np.int64
    return np.int32


def safely_cast_index_arrays(A: Any, idx_dtype: Any = "int32", msg: str = "") -> Any:
    """Returns the index arrays of a sparse matrix in another dtype, if it holds their values.

    Parameters
    ----------
    A : sparse matrix
        A sparse matrix or array.
    idx_dtype : dtype, default "int32"
        The dtype.
    msg : str, default ""
        The end of the error's text, in place of the name of the dtype.

    Returns
    -------
    tuple of ndarrays or ndarray
        `(indices, indptr)` for CSR and CSC, the coordinates for COO, `offsets` for DIA.

    Raises
    ------
    ValueError
        If a value is too large for the dtype.
    TypeError
        For other formats.

    See Also
    --------
    get_index_dtype

    Examples
    --------
    >>> A = cp.scipy.sparse.csr_array(cp.asarray([[1.0, 2.0]]))
    >>> indices, indptr = cp.scipy.sparse.safely_cast_index_arrays(A, "int64")
    >>> indptr.dtype
    dtype('int64')
    """
    import numpy as np

    name = _dtypes.name_of(idx_dtype)
    limit, ending = np.iinfo(np.dtype(name)).max, msg or f"dtype {idx_dtype}"
    wide = max(A.shape) > limit

    def fitted(kind: str, parts: Sequence[ndarray]) -> tuple[ndarray, ...]:
        if wide and any(part.size and int(part.max()) > limit for part in parts):
            raise ValueError(f"{kind} values too large for {ending}")
        return tuple(part if part.dtype_name == name else _core.cast(part, name) for part in parts)

    if A.format in ("csr", "csc"):
        if A.nnz > limit:
            raise ValueError(f"indptr values too large for {ending}")
        return (*fitted("indices", [A.indices]), *fitted("indptr", [A.indptr]))
    if A.format == "coo":
        return fitted("coords", A.coords)
    if A.format == "dia":
        return fitted("offsets", [A.offsets])[0]
    raise TypeError(
        f"Format {A.format} is not associated with index arrays. DOK and LIL have dict and list, not array."
    )


__all__ = ["get_index_dtype", "matrix_transpose", "permute_dims", "safely_cast_index_arrays", "swapaxes"]
