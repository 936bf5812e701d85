"""Matrix products with sparse matrices."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.casting import astype
from cuprous._functions.joining import concatenate
from cuprous.scipy.sparse import _pattern

ndarray = _core.ndarray

#: Dtypes that products have a routine for; those of others are gathered, multiplied and added up.
_ROUTINE = ("float32", "float64", "complex64", "complex128")


def compressed(values: ndarray, pattern: _pattern.Pattern, dense: ndarray, rows: int, transposed: bool) -> ndarray:
    """Compressed rows (columns, if `transposed`) times a matrix of the same dtype; the result has so many rows."""
    if values.dtype_name in _ROUTINE:
        return _core.sparse_dot(values, pattern.packed, dense, rows, transposed)
    majors = _pattern.expand(pattern.starts, values.size)
    read, written = (majors, pattern.indices) if transposed else (pattern.indices, majors)
    return coordinates(values, written, read, dense, rows)


def coordinates(values: ndarray, row: ndarray, col: ndarray, dense: ndarray, rows: int) -> ndarray:
    """Values at places times a matrix of the same dtype, by writing down and adding up all terms."""
    width = dense.shape[1]
    result = _core.full((rows, width), 0, values.dtype_name)
    if not values.size or not width:
        return result
    columns = _pattern.arange(width)
    flat = dense if dense.is_c_contiguous else dense.copy()
    picked = _core.gather(flat, astype(col, "int64").reshape(-1, 1) * width + columns)
    at = astype(row, "int64").reshape(-1, 1) * width + columns
    terms = _core.map("multiply", values.reshape(-1, 1), picked)
    _core.scatter(result, at, terms, _pattern.combine(values.dtype_name))
    return result


def dense(a: Any, b: ndarray) -> ndarray:
    """The product of a sparse matrix with a vector or matrix.

    Raises:
        ValueError: for shapes that do not fit.
    """
    if b.ndim > 2:
        raise NotImplementedError(f"[matmul] sparse with an array of {b.ndim} axes is not supported; use two")
    if b.shape[0] != a._shape[1]:
        signature = "(n,k),(k,)->(n,)" if b.ndim == 1 else f"(n,k={a._shape[1]}),(k={b.shape[0]},m)->(n,m)"
        raise ValueError(f"matmul: dimension mismatch with signature {signature}")
    name = _core.promote_types(a._dtype, b.dtype_name)
    a = a.astype(name, copy=False)
    columns = astype(b, name)
    product = a._dot(columns.reshape(-1, 1) if b.ndim == 1 else columns)
    return product.reshape((*a.shape[:-1], *b.shape[1:]))


def sparse(a: Any, b: Any) -> Any:
    """The product of two sparse matrices: all terms are written down, sorted by place and added up.

    Needs memory for all terms: for each value of `a` as many as there are in that row of `b`.

    Raises:
        ValueError: for shapes that do not fit.
    """
    if a.ndim == 1 or b.ndim == 1:
        raise NotImplementedError("[matmul] sparse arrays of one axis are not supported here; use toarray() of one")
    (m, k), (high, n) = a._shape, b._shape
    if k != high:
        raise ValueError(f"matmul: dimension mismatch with signature (n,k={k}),(k={high},m)->(n,m)")
    if a.format == "csc":  # columns of the result: rows of the transposed product
        return sparse(b.T.tocsr(), a.T).T
    name = _core.promote_types(a._dtype, b._dtype)
    first, second = a.tocsr(), b.tocsr()
    starts, where = _pattern.pick_majors(second._pattern.starts, astype(first._pattern.indices, "int64"))
    make = a._class("csr")
    if where.size == 0:
        return make((m, n), dtype=name)
    owner = _pattern.expand(starts, where.size)
    values = _core.map(
        "multiply", astype(_pattern.take(first.data, owner), name), astype(_pattern.take(second.data, where), name)
    )
    rows = _pattern.take(_pattern.expand(first._pattern.starts, first.nnz), owner)
    columns = _pattern.take(second._pattern.indices, where)
    height = (1 << 31) // n
    if m <= height or not height or -(-m // height) > where.size // _TERMS:
        return make._from_keys(*_pattern.merge_equal(_pattern.keys(rows, columns, (m, n)), values), (m, n))
    return make._from_keys(*_merged_by_rows(rows, columns, values, (first, starts), height, (m, n)), (m, n))


#: So many terms, and more, are worth a sort of their own.
_TERMS = 1 << 16


def _merged_by_rows(
    rows: ndarray, columns: ndarray, values: ndarray, terms: tuple[Any, ndarray], height: int, shape: tuple[int, int]
) -> tuple[ndarray, ndarray]:
    """Terms, which come in the order of their rows, merged block by block of rows: places in a block fit into 32 bits,
    which sort in half the time. `terms`: the left matrix, and where the terms of each of its values start."""
    first, starts = terms
    m, n = shape
    bounds = [*range(0, m, height), m]
    edges = _core.map("minimum", _core.iota((len(bounds),), (height,), 0), m)
    cuts = _core.to_numpy(_pattern.take(starts, _pattern.take(first._pattern.starts, edges))).tolist()
    positions, sums = [], []
    for row, low, high in zip(bounds, cuts, cuts[1:], strict=False):
        if low == high:
            continue
        local = astype((rows[low:high] - row) * n + columns[low:high], "int32")
        position, total = _pattern.merge_equal(local, values[low:high])
        positions.append(astype(position, "int64") + row * n)
        sums.append(total)
    return concatenate(positions), concatenate(sums)
