"""Results whose shape depends on the data: nonzero, compress and the like. The count is read, the rest stays put."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.arguments import (
    ArrayLike,
    Axes,
    Axis,
    array,
    astype,
    check_casting,
    is_numpy_array,
    ndarray,
    normalize_axis,
    write_exactly,
)
from cuprous._functions.reductions import sum as sum_


def _packed(mask: ndarray) -> tuple[ndarray, int]:
    """A mask (bool, 1-d, not empty) as `_core.compact` reads it, and how many of its elements hold."""
    packed = _core.pack_mask(mask)
    return packed, int(packed[(mask.size + 4095) // 4096 - 1])


def select_flat(mask: ndarray, values: ndarray) -> ndarray:
    """The values (1-d) at which the mask (bool, 1-d) holds, in order."""
    if mask.size == 0:
        return _core.empty((0,), values.dtype_name)
    packed, count = _packed(mask)
    return _core.compact(packed, mask.size, count, values)


def flatnonzero(a: ArrayLike) -> ndarray:
    """Indices (int64) of the nonzero elements of the flattened array."""
    mask = astype(array(a), "bool").reshape(-1)
    if mask.size == 0:
        return _core.empty((0,), "int64")
    packed, count = _packed(mask)
    return _core.compact(packed, mask.size, count, None)


def split_index(flat: ndarray, shape: tuple[int, ...]) -> tuple[ndarray, ...]:
    """Indices into a flattened array, as one index array per axis of `shape`."""
    parts = []
    for n in reversed(shape[1:]):
        parts.append(flat % n)
        flat = flat // n
    return (flat, *reversed(parts))


def nonzero(a: ArrayLike) -> tuple[ndarray, ...]:
    """Indices of the nonzero elements, one array (int64) per axis.

    Raises:
        ValueError: for 0-d arrays.
    """
    a = array(a)
    if a.ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead. "
            "If the context of this error is of the form `arr[nonzero(cond)]`, just use `arr[cond]`."
        )
    if 0 in a.shape:
        return tuple(_core.empty((0,), "int64") for _ in a.shape)
    return split_index(flatnonzero(a), a.shape)


def argwhere(a: ArrayLike) -> ndarray:
    """Indices of the nonzero elements, one row per element."""
    a = array(a)
    if a.ndim == 0:
        return _core.empty((int(bool(a)), 0), "int64")
    parts = nonzero(a)
    rows = _core.empty((a.ndim, parts[0].size), "int64")
    for i, part in enumerate(parts):
        rows[i] = part
    return rows.T


def count_nonzero(a: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> ndarray:
    """Number of nonzero elements over axes."""
    return sum_(astype(array(a), "bool"), axis, keepdims=keepdims)


def compress(condition: ArrayLike, a: ArrayLike, axis: Axis = None, out: ndarray | None = None) -> ndarray:
    """Slices of an array along an axis (or elements of the flattened one) where a 1-d condition holds.

    Raises:
        ValueError: unless the condition is 1-d.
        IndexError: if it holds beyond the axis.
    """
    from cuprous._common.indexing import take

    mask, a = array(condition), array(a)
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if axis is None:
        a, axis = a.reshape(-1), 0
    a = a if a.ndim else a.reshape(1)
    axis = normalize_axis(axis, a.ndim)
    n = a.shape[axis]
    if mask.size > n:
        beyond = flatnonzero(mask[n:])
        if beyond.size:
            raise IndexError(f"index {n + int(beyond[0])} is out of bounds for axis {axis} with size {n}")
        mask = mask[:n]
    return write_exactly(out, take(a, flatnonzero(mask), axis), "compress")


def extract(condition: ArrayLike, arr: ArrayLike) -> ndarray:
    """Elements of the flattened array where the flattened condition holds."""
    return compress(array(condition).reshape(-1), array(arr).reshape(-1))


def _values(values: ArrayLike, dtype: str) -> ndarray:
    """Values for an array of a dtype: arrays must cast to it safely, numbers and lists become it."""
    from cuprous._common.convert import convert

    if not isinstance(values, ndarray) and not is_numpy_array(values):
        return convert(values, dtype)
    values = array(values)
    check_casting(values.dtype_name, dtype, "safe", "array data")
    return values


def place(arr: ndarray, mask: ArrayLike, vals: ArrayLike) -> None:
    """Writes values, in turn and repeated as needed, where the mask holds.

    Raises:
        ValueError: if there are places to fill but no values.
    """
    from cuprous._common.indexing import gather_flat

    where = astype(array(mask), "bool").reshape(-1)
    values = _values(vals, arr.dtype_name).reshape(-1)
    if where.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    if not where.size:
        return
    running = _core.scan("sum", _core.cast(where, "int64"), 0)
    if values.size == 0:
        if int(running[-1]):
            raise ValueError("Cannot insert from an empty array!")
        return
    chosen = gather_flat(values, _core.map("remainder", _core.map("maximum", running - 1, 0), values.size))
    _core.update(
        arr, _core.map("where", where.reshape(arr.shape), astype(chosen, arr.dtype_name).reshape(arr.shape), arr)
    )


def putmask(a: ndarray, /, mask: ArrayLike, values: ArrayLike) -> None:
    """Writes `values[i mod n]` at each flat index i where the mask holds.

    Raises:
        ValueError: for a mask of another size.
    """
    from cuprous._common.indexing import gather_flat

    where, source = astype(array(mask), "bool"), _values(values, a.dtype_name)
    if where.size != a.size:
        raise ValueError("putmask: mask and data must be the same size")
    if source.size == 0 or a.size == 0:
        return
    flat = source.reshape(-1)
    if flat.size != 1 and source.shape != a.shape:
        flat = gather_flat(flat, _core.map("remainder", _core.iota((a.size,), (1,), 0), flat.size))
    chosen: Any = flat.reshape(a.shape) if flat.size == a.size else flat.reshape(())
    _core.update(a, _core.map("where", where.reshape(a.shape), astype(chosen, a.dtype_name), a))


__all__ = ["argwhere", "compress", "count_nonzero", "extract", "flatnonzero", "nonzero", "place", "putmask"]
