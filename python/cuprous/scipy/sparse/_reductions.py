"""Reductions of sparse matrices: sums, means, extremes and their indices."""

from __future__ import annotations

import operator
from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import ndarray, write_exactly
from cuprous._common.casting import astype
from cuprous.scipy.sparse import _pattern
from cuprous.scipy.sparse._checks import checked_dtype
from cuprous.scipy.sparse._product import _ROUTINE


def reduction_axis(axis: Any) -> int:
    """Returns an axis as 0 or 1.

    Raises
    ------
    TypeError
        For axes that are not integers.
    ValueError
        For axes out of range.
    """
    if isinstance(axis, tuple):
        raise TypeError("Tuples are not accepted for the 'axis' parameter. Please pass in one of the following: "
                        "{-2, -1, 0, 1, None}.")  # fmt: skip
    try:
        number = operator.index(axis)
    except TypeError:
        raise TypeError(f"axis must be an integer, not {type(axis)}") from None
    if not -2 <= number <= 1:
        raise ValueError("axis out of range")
    return number % 2


def _along(a: Any, axis: Any) -> int | None:
    """Returns the axis of a reduction, or None to reduce all elements, as for the only axis of a one-dimensional
    array."""
    if getattr(a, "_flat", False):
        if axis not in (None, 0, -1):
            raise ValueError("axis out of range")
        return None
    if axis is None or (isinstance(axis, tuple) and sorted(n % 2 for n in axis) == [0, 1]):
        return None
    return reduction_axis(axis)


def _shaped(a: Any, vector: ndarray, axis: int) -> ndarray:
    """Gives the result of a reduction its shape: matrices keep two axes."""
    if a._is_array:
        return vector
    return vector.reshape(1, -1) if axis == 0 else vector.reshape(-1, 1)


def remaining_index(a: Any, axis: int) -> tuple[ndarray, int]:
    """Returns the index of each value along the axis that remains, and that axis' extent."""
    b = a.tocoo(copy=False)
    return (b._col, a._shape[1]) if axis == 0 else (b._row, a._shape[0])


def sum_(a: Any, axis: Any, dtype: Any, out: ndarray | None) -> ndarray:
    """Implements `Sparse.sum`."""
    which = _along(a, axis)
    name = _dtypes.accumulator(a._dtype) if dtype is None else checked_dtype(dtype)
    if a._dtype == "bool" and not a.has_canonical_format:  # duplicates of True count once
        a = a.copy()
        a.sum_duplicates()
    if which is None:
        return write_exactly(out, _core.reduce("sum", astype(a.data, name), None), "sum")
    b = a.astype(name, copy=False)
    if name in _ROUTINE and b.format != "coo":
        by_rows = b if which == 1 else b.transpose()
        vector = by_rows._dot(_core.full((by_rows._shape[1], 1), 1, name)).reshape(-1)
    else:
        index, extent = remaining_index(b, which)
        vector = _pattern.add_up(index, b.data, extent)
    return write_exactly(out, _shaped(a, vector, which), "sum")


def mean(a: Any, axis: Any, dtype: Any, out: ndarray | None) -> ndarray:
    """Implements `Sparse.mean`."""
    which = _along(a, axis)
    inner = a._dtype if _dtypes.kind(a._dtype) in "fc" else "float64"
    wanted = inner if dtype is None else checked_dtype(dtype)
    count = a._shape[0] * a._shape[1] if which is None else a._shape[which]
    total = sum_(a, axis if which is None else which, inner, None)
    return write_exactly(out, astype(total * (1.0 / count), wanted), "mean")


def _identity(dtype: str, op: str) -> Any:
    return _dtypes.lowest(dtype) if op == "max" else _dtypes.highest(dtype)


def _canonical(a: Any, out: Any) -> None:
    if out is not None:
        raise ValueError("Sparse arrays do not support an 'out' parameter.")
    if _dtypes.kind(a._dtype) == "c":
        raise NotImplementedError("[max] complex numbers are not supported; take real or absolute values first")
    a.sum_duplicates()


def extreme(a: Any, op: str, axis: Any, out: Any, explicit: bool, skip_nan: bool) -> Any:
    """Implements `Sparse.max`, `min`, `nanmax` and `nanmin`."""
    _canonical(a, out)
    which = _along(a, axis)
    data, name = a.data, a._dtype
    identity, better = _identity(name, op), "maximum" if op == "max" else "minimum"
    if skip_nan and _dtypes.kind(name) == "f":
        data = _core.map("where", _core.map("isnan", data), identity, data)
    m, n = a._shape
    if which is None:
        if m * n == 0:
            raise ValueError("zero-size array to reduction operation")
        if a.nnz == 0:
            return _core.full((), 0, name)
        found = _core.reduce(op, data, None)
        return found if explicit or a.nnz == m * n else _core.map(better, found, _core.full((), 0, name))
    if a._shape[which] == 0:
        raise ValueError("zero-size array to reduction operation")
    index, extent = remaining_index(a, which)
    found = _core.full((extent,), identity, name)
    if a.nnz:
        _core.scatter(found, astype(index, "int64"), data, better)
    stored = _pattern.add_up(index, _core.full((a.nnz,), 1, "int64"), extent)
    zero = _core.full((), 0, name)
    if not explicit:
        found = _core.map("where", stored < a._shape[which], _core.map(better, found, zero), found)
    found = _core.map("where", stored == 0, zero, found)
    return a._class("coo")(_shaped(a, found, which))


def arg_extreme(a: Any, op: str, axis: Any, out: Any, explicit: bool) -> Any:
    """Implements `Sparse.argmax` and `Sparse.argmin`."""
    _canonical(a, out)
    which = _along(a, axis)
    m, n = a._shape
    if which is None:
        if m * n == 0:
            raise ValueError("Cannot apply the operation to an empty matrix.")
        if explicit and a.nnz == 0:
            raise ValueError("Cannot apply the operation to zero matrix when explicit=True.")
        b = a.tocoo(copy=False)
        line = a._class("coo")._new(b._data, b._row * 0, _pattern.keys(b._row, b._col, (m, n)), (1, m * n), None)
        return _first(line.tocsr(), op, explicit)[0]
    if a._shape[which] == 0:
        raise ValueError("Cannot apply the operation along a zero-sized dimension.")
    rows = a.tocsr() if which == 1 else a.transpose().tocsr()
    return _shaped(a, _first(rows, op, explicit), which)


def _first(a: Any, op: str, explicit: bool) -> ndarray:
    """Returns the column of the first extreme of each row; `a` is in canonical CSR format."""
    (m, n), name = a._shape, a._dtype
    if a.nnz == 0:
        return _core.full((m,), 0, "int64")
    starts, columns = a._pattern.starts, astype(a._pattern.indices, "int64")
    rows = _pattern.expand(starts, a.nnz)
    best = _core.full((m,), _identity(name, op), name)
    _core.scatter(best, rows, a.data, "maximum" if op == "max" else "minimum")
    of_row = _pattern.take(best, rows)
    hit = a.data == of_row
    if _dtypes.kind(name) == "f":
        hit = hit | _core.map("isnan", a.data)
    first = _core.full((m,), n, "int64")
    _core.scatter(first, rows, _core.map("where", hit, columns, n), "minimum")
    if explicit:
        return _core.map("where", first == n, 0, first)
    # The first column without a stored value is the first offset within its row at which the column differs from the
    # offset.
    begins = astype(starts, "int64")
    stored = begins[1:] - begins[:-1]
    offset = _pattern.arange(a.nnz) - _pattern.take(begins, rows)
    gap = stored.copy()
    _core.scatter(gap, rows, _core.map("where", columns != offset, offset, n), "minimum")
    zero = _core.full((), 0, name)
    beaten = best < zero if op == "max" else best > zero
    at_zero = _core.map("where", best == zero, _core.map("minimum", first, gap), first)
    chosen = _core.map("where", beaten | (stored == 0), gap, at_zero)
    return _core.map("where", stored < n, chosen, first)
