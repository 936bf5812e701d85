"""Indexing and assignment for sparse matrices.

Indexing the compressed axis copies the values of whole rows (columns). Along the other axis a slice with a positive
step becomes a mask; any other index converts to the other compressed format first.
"""

from __future__ import annotations

import operator
from typing import Any

from cuprous import _core
from cuprous._common.arguments import array, broadcast_shapes, ndarray
from cuprous._common.casting import astype
from cuprous._common.convert import convert
from cuprous._common.indexing import _host_index, wrapped
from cuprous._common.masks import flatnonzero
from cuprous._common.operands import is_numpy_array
from cuprous.scipy.sparse import _pattern
from cuprous.scipy.sparse._base import Sparse
from cuprous.scipy.sparse._checks import SparseEfficiencyWarning, is_number
from cuprous.scipy.sparse._pattern import Pattern

#: The index along one axis: an integer, a range, or an array of indices.
Axis = int | range | ndarray


def _one(item: Any, n: int, axis: int) -> Axis:
    """Interprets one item of a key for axis number `axis` of extent `n`."""
    if isinstance(item, slice):
        return range(n)[item]
    if item is None:
        raise NotImplementedError("[getitem] newaxis (None) is not supported on sparse matrices")
    if hasattr(item, "__index__") and not isinstance(item, (bool, ndarray)) and not getattr(item, "shape", ()):
        i = operator.index(item)
        if not -n <= i < n:
            raise IndexError(f"index ({i}) out of range")
        return i % n
    if isinstance(item, Sparse):
        raise IndexError("Indexing with sparse matrices is only supported for boolean masks of the matrix's shape")
    host = is_numpy_array(item) or isinstance(item, (list, tuple))
    if not host and not isinstance(item, ndarray):
        raise IndexError(
            f"only integers, slices, ellipsis and index arrays are valid indices, not {type(item).__name__}"
        )
    index = convert(item) if host else array(item)
    if index.dtype_name == "bool":
        if index.shape != (n,):
            raise IndexError(f"boolean index did not match; its shape is {index.shape} and the axis has {n}")
        return flatnonzero(index)
    if index.ndim > 2:
        raise IndexError("Index dimension must be 1 or 2")
    if index.ndim == 0:
        return _one(int(index), n, axis)
    if index.size == 0:
        return astype(index, "int64")
    return _host_index(item, n, axis) if host else wrapped(index, n, axis)


def _axes(key: Any, shape: tuple[int, int]) -> tuple[Axis, Axis] | None:
    """Interprets a key: one index for each axis, or None for a boolean mask of the matrix's shape."""
    if isinstance(key, (ndarray, Sparse)) and key.dtype.kind == "b" and key.ndim == 2:
        if key.shape != shape:
            raise IndexError(f"boolean index did not match; its shape is {key.shape} and the matrix's {shape}")
        return None
    parts = list(key) if isinstance(key, tuple) else [key]
    if sum(part is Ellipsis for part in parts) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if any(part is Ellipsis for part in parts):
        at = next(k for k, part in enumerate(parts) if part is Ellipsis)
        parts[at : at + 1] = [slice(None)] * (3 - len(parts))
    if len(parts) > 2:
        raise IndexError(f"Too many indices: matrix is 2-dimensional, but {len(parts)} were indexed")
    parts += [slice(None)] * (2 - len(parts))
    return _one(parts[0], shape[0], 0), _one(parts[1], shape[1], 1)


def _numbers(item: Axis) -> ndarray:
    """Returns the indices as an array."""
    if isinstance(item, int):
        return _core.full((1,), item, "int64")
    if isinstance(item, range):
        return _core.iota((len(item),), (item.step,), item.start)
    return item


def _pick_major(a: Any, item: Axis) -> Any:
    extents = list(a._shape)
    if isinstance(item, range) and item == range(extents[a._major]):
        return a
    majors = _numbers(item)
    extents[a._major] = majors.size
    starts, where = _pattern.pick_majors(a._pattern.starts, majors)
    indices = _pattern.take(a._pattern.indices, where)
    pattern = Pattern.of(starts, indices, a._pattern.packed.dtype_name)
    return a._new(_pattern.take(a.data, where), pattern, tuple(extents), a._canonical)


def _pick_minor(a: Any, item: Axis) -> Any:
    extents = list(a._shape)
    if isinstance(item, range) and item == range(extents[1 - a._major]):
        return a
    if not isinstance(item, range) or item.step < 0:
        return _pick_major(a._other_format(), item).asformat(a.format)
    extents[1 - a._major] = len(item)
    minors = astype(a._pattern.indices, "int64") - item.start
    inside = (minors >= 0) & (minors < len(item) * item.step)
    if item.step != 1:
        inside = inside & (minors % item.step == 0)
    majors = _pattern.expand(a._pattern.starts, a.nnz)
    majors, minors, data = _pattern.keep(inside, majors, minors, a.data)
    starts = _pattern.compress(majors, a._pattern.majors)
    pattern = Pattern.of(starts, minors // item.step, a._pattern.packed.dtype_name)
    return a._new(data, pattern, tuple(extents), a._canonical)


def _common(rows: ndarray, columns: ndarray) -> tuple[int, ...]:
    """Returns the shape that two index arrays broadcast to.

    Raises
    ------
    IndexError
        If they do not broadcast.
    """
    try:
        return broadcast_shapes(rows.shape, columns.shape)
    except ValueError as error:
        raise IndexError("shape mismatch: indexing arrays could not be broadcast together with shapes "
                         f"{rows.shape} {columns.shape}") from error  # fmt: skip


def _cells(a: Any, rows: ndarray, columns: ndarray) -> ndarray:
    """Returns the elements at pairs of rows and columns (index arrays that broadcast), as a dense array."""
    b = a.tocsr()
    b.sum_duplicates()
    shape = _common(rows, columns)
    rows, columns = _core.broadcast_to(rows, shape), _core.broadcast_to(columns, shape)
    return _pattern.find(b._keys(), b.data, _pattern.keys(rows, columns, a._shape))


def read(a: Any, key: Any) -> Any:
    """Implements `a[key]` for a compressed matrix."""
    axes = _axes(key, a._shape)
    if axes is None:
        mask = key if isinstance(key, Sparse) else a._class("csr")(key)
        rows, columns = mask.nonzero()
        cells = _cells(a, astype(rows, "int64"), astype(columns, "int64"))
        return cells if a._is_array else cells.reshape(1, -1)
    row, column = axes
    if isinstance(row, int) and isinstance(column, int):
        return _cells(a, _numbers(row), _numbers(column)).reshape(())
    arrays = isinstance(row, ndarray), isinstance(column, ndarray)
    if all(arrays):
        cells = _cells(a, row, column)  # type: ignore[arg-type]
        if cells.ndim == 2:
            return a._class(a.format)(cells)
        return cells if a._is_array else cells.reshape(1, -1)
    if any(isinstance(item, ndarray) and item.ndim == 2 for item in axes):
        raise IndexError("index arrays of two axes must come in pairs")
    picks = [range(item, item + 1) if isinstance(item, int) else item for item in axes]
    block = _pick_minor(_pick_major(a, picks[a._major]), picks[1 - a._major])
    if a._is_array and (isinstance(row, int) or isinstance(column, int)):
        return block.reshape((-1,))
    return a.copy() if block is a else block


def read_flat(a: Any, key: Any) -> Any:
    """Implements `a[key]` for an array with one axis."""
    item = _one(key, a._shape[1], 0) if not isinstance(key, tuple) else _one(*key, a._shape[1], 0)  # type: ignore[call-arg]
    line = a._rows()
    if isinstance(item, int):
        return _cells(line, _numbers(0), _numbers(item)).reshape(())
    if isinstance(item, ndarray) and item.ndim == 2:
        raise IndexError("index arrays of two axes are for matrices")
    return _pick_minor(line, item).tocoo(copy=False)._flattened()


def write(a: Any, rows: ndarray, columns: ndarray, values: Any) -> None:
    """Writes elements at pairs of rows and columns (1-d index arrays); the last of duplicate pairs wins."""
    a.sum_duplicates()
    if rows.size == 0:
        return
    new_values = _core.full((rows.size,), values, a._dtype) if not isinstance(values, ndarray) else values
    new_values = astype(_core.broadcast_to(new_values, (rows.size,)), a._dtype)
    positions = _positions(a, rows, columns)
    a._assign_from(a._from_keys(*_pattern.replace(a._keys(), a.data, positions, new_values), a._shape))


def _positions(a: Any, rows: ndarray, columns: ndarray) -> ndarray:
    """Returns the keys of pairs of rows and columns, in the order of `a`'s."""
    by_columns = getattr(a, "_major", 0) == 1
    return _pattern.keys(columns, rows, a._shape[::-1]) if by_columns else _pattern.keys(rows, columns, a._shape)


def _clear(a: Any, rows: ndarray, columns: ndarray) -> None:
    """Writes zeros to the stored ones of the elements."""
    a.sum_duplicates()
    is_stored = _pattern.find(a._keys(), _core.full((a.nnz,), 1, "int8"), _positions(a, rows, columns)) != 0
    rows, columns = _pattern.keep(is_stored, rows, columns)
    write(a, rows, columns, 0)


def _flat(values: ndarray, shape: tuple[int, ...]) -> ndarray:
    """Returns the values for an indexed shape as a flat array."""
    squeezed = [tuple(n for n in s if n != 1) for s in (values.shape, shape)]
    if squeezed[0] == squeezed[1]:
        values = values.reshape(shape)
    elif broadcast_shapes(values.shape, shape) != shape:
        raise ValueError(f"shape mismatch in assignment: values {values.shape} for the indexed shape {shape}")
    return _core.broadcast_to(values, shape).reshape(-1)


def assign(a: Any, key: Any, value: Any) -> None:
    """Implements `a[key] = value` for a compressed matrix.

    Raises
    ------
    ValueError
        For values that do not broadcast to the indexed shape.
    IndexError
        For index arrays that do not broadcast.
    """
    axes = _axes(key, a._shape)
    if axes is None:
        mask = key if isinstance(key, Sparse) else a._class("csr")(key)
        rows, columns = (astype(i, "int64") for i in mask.nonzero())
    else:
        rows, columns = (_numbers(item) for item in axes)
        if not all(isinstance(item, ndarray) for item in axes):
            rows, columns = rows.reshape(-1, 1), columns.reshape(1, -1)
    shape = _common(rows, columns)
    rows, columns = (_core.broadcast_to(i, shape).reshape(-1) for i in (rows, columns))
    before = a.nnz
    if isinstance(value, Sparse):
        # As in SciPy, elements that `value` does not store become zero, but are not inserted.
        stored = value.tocoo(copy=True)
        stored.data = _core.full((stored.nnz,), 1, "int8")
        value, is_stored = _flat(value.toarray(), shape), _flat(stored.toarray() != 0, shape)
        _clear(a, rows, columns)
        rows, columns, value = _pattern.keep(is_stored, rows, columns, value)
    elif not is_number(value):
        value = _flat(convert(value) if isinstance(value, (list, tuple)) else array(value), shape)
    write(a, rows, columns, value)
    if a.nnz > before and a.format != "coo":
        import warnings

        text = f"Changing the sparsity structure of a {type(a).__name__} is expensive."
        warnings.warn(f"{text} Cells of one call are inserted together.", SparseEfficiencyWarning, stacklevel=3)
