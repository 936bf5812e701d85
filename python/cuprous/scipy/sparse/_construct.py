"""Construction of sparse matrices: identities, diagonals and Kronecker products."""

from __future__ import annotations

import operator
from typing import Any

from cuprous import _core
from cuprous._common.arguments import array, ndarray
from cuprous._common.casting import astype, common_dtype
from cuprous._common.convert import convert
from cuprous._common.operands import is_numpy_array, on_array_device
from cuprous._functions.joining import concatenate
from cuprous.scipy.sparse import _pattern
from cuprous.scipy.sparse._base import CLASSES, Sparse, on_data_device
from cuprous.scipy.sparse._checks import checked_dtype, is_number


def _as_format(a: Any, format: str | None, default: str = "coo") -> Any:
    return a.asformat(default if format is None else format)


def _is_array(*parts: Any) -> bool:
    return any(isinstance(p, Sparse) and p._is_array for p in parts)


def _coo(data: ndarray, row: ndarray, col: ndarray, shape: tuple[int, int], is_array: bool) -> Any:
    name = _pattern.index_dtype(*shape)
    return CLASSES["coo", is_array]._new(data, astype(row, name), astype(col, name), shape, None)


def _sparse(x: Any, is_array: bool) -> Any:
    """Returns a sparse or dense operand in COO format."""
    if isinstance(x, Sparse):
        return x.tocoo(copy=False)
    return CLASSES["coo", is_array](x)


def _eye(m: Any, n: Any, k: int, dtype: Any, format: str | None, is_array: bool) -> Any:
    m = operator.index(m)
    n = m if n is None else operator.index(n)
    if m < 0 or n < 0:
        raise ValueError("'shape' elements cannot be negative")
    length = max(0, min(m + min(k, 0), n - max(k, 0)))
    if format in (None, "dia"):
        return _dia(_core.full((1, max(0, min(m + k, n))), 1, checked_dtype(dtype)), [k], (m, n), is_array)
    along = _pattern.arange(length)
    ones = _core.full((length,), 1, checked_dtype(dtype))
    return _as_format(_coo(ones, along - min(k, 0), along + max(k, 0), (m, n), is_array), format)


def eye(m: int, n: int | None = None, k: int = 0, dtype: Any = float, format: str | None = None) -> Any:
    """Returns an m x n matrix with ones on a diagonal; in DIA format by default.

    Parameters
    ----------
    m : int
        The number of rows.
    n : int, optional
        The number of columns; `m` by default.
    k : int, default 0
        The diagonal: 0 is the main one, positive ones are above it.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    See Also
    --------
    eye_array

    Examples
    --------
    >>> cp.scipy.sparse.eye(2).toarray()
    array([[1., 0.],
           [0., 1.]])
    """
    return _eye(m, n, k, dtype, format, False)


def eye_array(m: int, n: int | None = None, *, k: int = 0, dtype: Any = float, format: str | None = None) -> Any:
    """Returns an m x n sparse array with ones on a diagonal.

    Parameters
    ----------
    m : int
        The number of rows.
    n : int, optional
        The number of columns; `m` by default.
    k : int, default 0
        The diagonal: 0 is the main one, positive ones are above it.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse array.

    See Also
    --------
    scipy.sparse.diags_array, scipy.sparse.random_array

    Examples
    --------
    >>> cp.scipy.sparse.eye_array(2, k=1).toarray()
    array([[0., 1.],
           [0., 0.]])
    """
    return _eye(m, n, k, dtype, format, True)


def identity(n: int, dtype: Any = "d", format: str | None = None) -> Any:
    """Returns the identity matrix; in DIA format by default.

    Parameters
    ----------
    n : int
        The number of rows and columns.
    dtype : dtype, default "d"
        The dtype of the values; by default it follows from the arguments.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    See Also
    --------
    eye_array, eye

    Examples
    --------
    >>> cp.scipy.sparse.identity(2).toarray()
    array([[1., 0.],
           [0., 1.]])
    """
    return _eye(n, n, 0, dtype, format, False)


def _diags(diagonals: Any, offsets: Any, shape: Any, format: str | None, dtype: Any, is_array: bool) -> Any:
    if is_number(offsets):
        if not (is_number(diagonals) or not len(diagonals) or is_number(diagonals[0])):
            raise ValueError("Different number of diagonals and offsets.")
        diagonals, offsets = [diagonals], [offsets]
    elif isinstance(offsets, ndarray) or is_numpy_array(offsets):
        offsets = offsets.tolist()
    offsets = [operator.index(k) for k in offsets]
    lines = [array(convert(d)).reshape(-1) for d in diagonals]
    if len(lines) != len(offsets):
        raise ValueError("Different number of diagonals and offsets.")
    if len(set(offsets)) != len(offsets):
        raise ValueError("repeated offset in diagonals")
    if shape is None:
        shape = (lines[0].size + abs(offsets[0]),) * 2
    m, n = (operator.index(extent) for extent in shape)
    if lines and dtype is None:
        dtype = common_dtype(lines)
    name = checked_dtype(dtype)
    ends = [min(m + k, n) for k in offsets]
    data = _core.full((len(offsets), max(ends, default=0)), 0, name)
    for row, (k, line, end) in enumerate(zip(offsets, lines, ends, strict=True)):
        length = end - max(k, 0)
        if length < 0:
            raise ValueError(f"Offset {k} (index {row}) out of bounds")
        if line.size != length and line.size != 1:
            raise ValueError(f"Diagonal length (index {row}: {line.size} at offset {k}) does not agree "
                             f"with array size ({m}, {n}).")  # fmt: skip
        data[row, max(k, 0) : end] = astype(line, name)
    return _as_format(_dia(data, offsets, (m, n), is_array), format, "dia")


def _dia(data: ndarray, offsets: list[int], shape: tuple[int, int], is_array: bool) -> Any:
    lines = astype(array(offsets).reshape(-1), _pattern.index_dtype(*shape))
    return CLASSES["dia", is_array]._new(data, lines, shape)


def _joined(parts: list[Any], shape: tuple[int, int], dtype: str, is_array: bool) -> Any:
    """Concatenates parts, each a tuple of values, rows and columns, into one COO matrix."""
    if not parts:
        return CLASSES["coo", is_array](shape, dtype=dtype)
    names = (dtype, "int64", "int64")
    data, row, col = (concatenate([astype(p[k], name) for p in parts]) for k, name in enumerate(names))
    return _coo(data, row, col, shape, is_array)


@on_array_device
def diags(diagonals: Any, offsets: Any = 0, shape: Any = None, format: str | None = None, dtype: Any = None) -> Any:
    """Returns a matrix with the given diagonals; in DIA format by default.

    Parameters
    ----------
    diagonals : array_like
        A sequence of diagonals, or one diagonal.
    offsets : int or sequence of ints, default 0
        The diagonal of each: 0 is the main one, positive ones are above it.
    shape : int or tuple of ints, optional
        The shape; by default the smallest square one.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    Raises
    ------
    ValueError
        If the diagonals do not match their offsets or the shape.

    See Also
    --------
    spdiags, diags_array

    Examples
    --------
    >>> cp.scipy.sparse.diags([[1.0, 2.0], [3.0]], [0, 1]).toarray()
    array([[1., 3.],
           [0., 2.]])
    """
    return _diags(diagonals, offsets, shape, format, dtype, False)


@on_array_device
def diags_array(diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, format: str | None = None,
                dtype: Any = None) -> Any:  # fmt: skip
    """Returns a sparse array with the given diagonals.

    Parameters
    ----------
    diagonals : array_like
        A sequence of diagonals, or one diagonal.
    offsets : int or sequence of ints, default 0
        The diagonal of each: 0 is the main one, positive ones are above it.
    shape : int or tuple of ints, optional
        The shape; by default the smallest square one.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.
    dtype : dtype, optional
        The dtype of the values; by default it follows from the arguments.

    Returns
    -------
    sparse matrix
        A sparse array.

    Raises
    ------
    ValueError
        If the diagonals do not match their offsets or the shape.

    See Also
    --------
    dia_array

    Examples
    --------
    >>> cp.scipy.sparse.diags_array([[1.0, 2.0]], offsets=[0]).toarray()
    array([[1., 0.],
           [0., 2.]])
    """
    return _diags(diagonals, offsets, shape, format, dtype, True)


def spdiags(data: Any, diags: Any, m: Any = None, n: Any = None, format: str | None = None) -> Any:
    """Returns an m x n matrix from the rows of `data`: column j of the row for diagonal k holds that diagonal's element
    in column j.

    Parameters
    ----------
    data : array_like
        The diagonals, as rows.
    diags : array_like
        The diagonal of each row: 0 is the main one, positive ones are above it.
    m : int or pair of ints, optional
        The number of rows, or the shape.
    n : int, optional
        The number of columns.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse matrix.

    Raises
    ------
    ValueError
        If the numbers of diagonals and offsets differ, or an offset occurs twice.

    See Also
    --------
    diags_array, diags, dia_matrix

    Examples
    --------
    >>> cp.scipy.sparse.spdiags([[1, 2], [3, 4]], [0, 1], 2, 2).toarray()
    array([[1, 4],
           [0, 2]])
    """
    values = array(convert(data))
    values = values.reshape(1, -1) if values.ndim < 2 else values
    offsets = [diags] if is_number(diags) else diags.tolist() if hasattr(diags, "tolist") else list(diags)
    if m is None and n is None:
        m = n = values.shape[1]
    elif n is None:
        m, n = m
    if len(offsets) != values.shape[0]:
        raise ValueError(f"number of diagonals ({values.shape[0]}) does not match the number of offsets "
                         f"({len(offsets)})")  # fmt: skip
    if len(set(offsets)) != len(offsets):
        raise ValueError("offset array contains duplicate values")
    return _as_format(CLASSES["dia", False]((values, offsets), shape=(m, n)), format, "dia")


@on_data_device
def kron(A: Any, B: Any, format: str | None = None) -> Any:
    """Returns the Kronecker product.

    Parameters
    ----------
    A : sparse matrix or array_like
        A matrix, sparse or dense.
    B : sparse matrix or array_like
        A matrix, sparse or dense.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse matrix; an array if an operand is a sparse array.

    See Also
    --------
    scipy.sparse.kronsum, scipy.sparse.block_diag

    Examples
    --------
    >>> cp.scipy.sparse.kron(cp.scipy.sparse.eye(2), [[1, 2]]).toarray()
    array([[1., 2., 0., 0.],
           [0., 0., 1., 2.]])
    """
    kind = _is_array(A, B)
    a, b = _sparse(A, kind), _sparse(B, kind)
    (m, n), (p, q) = a._shape, b._shape
    name = _core.promote_types(a._dtype, b._dtype)
    shape = (m * p, n * q)
    if not a.nnz or not b.nnz:
        return _as_format(CLASSES["coo", kind](shape, dtype="float64"), format)
    outer = lambda x, y, extent: (astype(x, "int64").reshape(-1, 1) * extent + y).reshape(-1)  # noqa: E731
    values = (astype(a._data, name).reshape(-1, 1) * astype(b._data, name)).reshape(-1)
    return _as_format(_coo(values, outer(a._row, b._row, p), outer(a._col, b._col, q), shape, kind), format)


@on_data_device
def kronsum(A: Any, B: Any, format: str | None = None) -> Any:
    """Returns the Kronecker sum of square matrices, kron(I, A) + kron(B, I).

    Parameters
    ----------
    A : sparse matrix or array_like
        A square matrix, sparse or dense.
    B : sparse matrix or array_like
        A square matrix, sparse or dense.
    format : str, optional
        The format, "csr", "csc", "coo" or "dia"; by default the one that suits.

    Returns
    -------
    sparse matrix
        A sparse matrix; an array if an operand is a sparse array.

    Raises
    ------
    ValueError
        For matrices that are not square.

    See Also
    --------
    scipy.sparse.block_diag, scipy.sparse.kron

    Examples
    --------
    >>> cp.scipy.sparse.kronsum([[1]], [[2, 0], [0, 3]]).toarray()
    array([[3, 0],
           [0, 4]])
    """
    kind = _is_array(A, B)
    a, b = _sparse(A, kind), _sparse(B, kind)
    for x, name in ((a, "A"), (b, "B")):
        if x._shape[0] != x._shape[1]:
            raise ValueError(f"{name} is not square")
    dtype = _core.promote_types(a._dtype, b._dtype)
    left = kron(_eye(b._shape[0], None, 0, dtype, "coo", kind), a)
    return _as_format(left + kron(b, _eye(a._shape[0], None, 0, dtype, "coo", kind)), format, "csr")
