"""Matrix products with sparse matrices."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.casting import astype
from cuprous._functions.joining import concatenate
from cuprous.scipy.sparse import _pattern

ndarray = _core.ndarray

#: Dtypes that the sparse product kernels support; for others the terms are gathered, multiplied and summed.
_ROUTINE = ("float32", "float64", "complex64", "complex128")


def compressed(values: ndarray, pattern: _pattern.Pattern, dense: ndarray, rows: int, transposed: bool) -> ndarray:
    """Multiplies a CSR matrix (CSC, if `transposed`) by a dense matrix of the same dtype; the result has `rows`
    rows."""
    if values.dtype_name in _ROUTINE:
        return _core.sparse_dot(values, pattern.packed, dense, rows, transposed)
    majors = _pattern.expand(pattern.starts, values.size)
    read, written = (majors, pattern.indices) if transposed else (pattern.indices, majors)
    return coordinates(values, written, read, dense, rows)


def coordinates(values: ndarray, row: ndarray, col: ndarray, dense: ndarray, rows: int) -> ndarray:
    """Multiplies COO values by a dense matrix of the same dtype, by scattering all terms."""
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
    """Multiplies a sparse matrix by a dense vector or matrix.

    Raises
    ------
    ValueError
        If the shapes do not match.
    NotImplementedError
        For a sparse array and more than two axes.
    """
    if b.ndim > 2:
        if a._is_array:  # SciPy's have such products
            raise NotImplementedError(f"[matmul] sparse with a {b.ndim}-d array is not supported; use two")
        raise ValueError(f"[matmul] sparse matrices have no product with {b.ndim}-d arrays; reshape them to two axes")
    if b.shape[0] != a._shape[1]:
        signature = "(n,k),(k,)->(n,)" if b.ndim == 1 else f"(n,k={a._shape[1]}),(k={b.shape[0]},m)->(n,m)"
        raise ValueError(f"matmul: dimension mismatch with signature {signature}")
    name = _core.promote_types(a._dtype, b.dtype_name)
    a = a.astype(name, copy=False)
    columns = astype(b, name)
    product = a._dot(columns.reshape(-1, 1) if b.ndim == 1 else columns)
    return product.reshape((*a.shape[:-1], *b.shape[1:]))


def sparse(a: Any, b: Any) -> Any:
    """Multiplies two sparse matrices: expands all terms, sorts them by position and sums duplicates.

    Needs memory for all terms: each value of `a` contributes as many as the matching row of `b` has values.

    Raises
    ------
    ValueError
        If the shapes do not match.
    """
    if a.ndim == 1 or b.ndim == 1:
        raise NotImplementedError("[matmul] sparse arrays with one axis are not supported; convert one with toarray()")
    (m, k), (high, n) = a._shape, b._shape
    if k != high:
        raise ValueError(f"matmul: dimension mismatch with signature (n,k={k}),(k={high},m)->(n,m)")
    if a.format == "csc":  # computed as the transposed product of CSR matrices
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


#: Blocks with at least this many terms are sorted separately.
_TERMS = 1 << 16


def _merged_by_rows(
    rows: ndarray, columns: ndarray, values: ndarray, terms: tuple[Any, ndarray], height: int, shape: tuple[int, int]
) -> tuple[ndarray, ndarray]:
    """Sums duplicate terms block by block of rows, for terms in row order. Positions within a block fit into 32 bits,
    which halves the sorting time. `terms`: the left matrix, and the offset of the terms of each of its values."""
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
