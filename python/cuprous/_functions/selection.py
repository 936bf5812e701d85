"""Reading and writing elements by index (`take`, `put` and similar) and by mask (`compress`, `place`, `putmask`)."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import (
    ArrayLike,
    Axis,
    array,
    broadcast_shapes,
    ndarray,
    normalize_axis,
    operand,
    target,
    with_axis,
    write_exactly,
)
from cuprous._common.casting import astype, check_casting
from cuprous._common.convert import convert
from cuprous._common.indexing import assigned_value, bounded, flat_offsets, gather_flat, scatter_into, wrapped
from cuprous._common.masks import flatnonzero
from cuprous._common.operands import is_numpy_array, on_array_device


@on_array_device
def compress(condition: ArrayLike, a: ArrayLike, axis: Axis = None, out: ndarray | None = None) -> ndarray:
    """Returns the slices of an array along an axis (or elements of the flattened array) where a 1-d condition is true.

    Parameters
    ----------
    condition : array_like
        A 1-d array-like of truth values.
    a : array_like
        An array or array-like.
    axis : int, optional
        The axis; None (the default) takes the flattened array.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.

    Returns
    -------
    ndarray
        A new array.

    Raises
    ------
    ValueError
        Unless the condition is 1-d.
    IndexError
        If it is true beyond the end of the axis.

    See Also
    --------
    take, choose, diag, diagonal, select, ndarray.compress

    Examples
    --------
    >>> cp.compress([True, False, True], [10, 20, 30])
    array([10, 30])
    >>> cp.compress([False, True], [[1, 2], [3, 4]], axis=0)
    array([[3, 4]])
    """
    mask = array(condition)
    if mask.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    a, axis = with_axis(a, axis)
    n = a.shape[axis]
    if mask.size > n and all(a.shape[:axis]):  # with nothing before the axis no index is looked at, as in NumPy
        beyond = flatnonzero(mask[n:])
        if beyond.size:
            raise IndexError(f"index {n + int(beyond[0])} is out of bounds for axis {axis} with size {n}")
        mask = mask[:n]
    return write_exactly(out, take(a, flatnonzero(mask), axis), "compress")


@on_array_device
def extract(condition: ArrayLike, arr: ArrayLike) -> ndarray:
    """Returns the elements of the flattened array where the flattened condition is true.

    Parameters
    ----------
    condition : array_like
        An array-like of truth values.
    arr : array_like
        An array of the same size.

    Returns
    -------
    ndarray
        A 1-d array of the dtype of `arr`.

    See Also
    --------
    take, put, copyto, compress, place

    Examples
    --------
    >>> a = cp.arange(6)
    >>> cp.extract(a % 3 == 0, a)
    array([0, 3])
    """
    return compress(array(condition).reshape(-1), array(arr).reshape(-1))


def _values(values: ArrayLike, dtype: str) -> ndarray:
    """Converts values to a dtype. Arrays must cast to it safely."""
    if not isinstance(values, ndarray) and not is_numpy_array(values):
        return convert(values, dtype)
    values = array(values)
    check_casting(values.dtype_name, dtype, "safe", "array data")
    return values


@on_array_device
def place(arr: ndarray, mask: ArrayLike, vals: ArrayLike) -> None:
    """Writes values one after another, repeated as needed, where the mask is true.

    Parameters
    ----------
    arr : ndarray
        The array to write to.
    mask : array_like
        An array-like of truth values, of the size of `arr`.
    vals : array_like
        The values, a 1-d array-like.

    Raises
    ------
    TypeError
        If `arr` is not an array.
    ValueError
        If there are no values but the mask has true elements.

    See Also
    --------
    copyto, put, take, extract

    Examples
    --------
    >>> a = cp.arange(5)
    >>> cp.place(a, a > 2, [7, 8])
    >>> a
    array([0, 1, 2, 7, 8])
    """
    if not isinstance(arr, ndarray):
        raise TypeError(f"place() argument 1 must be cuprous.ndarray, not {type(arr).__name__}")
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


@on_array_device
def putmask(a: ndarray, /, mask: ArrayLike, values: ArrayLike) -> None:
    """Writes `values[i mod n]` at each flat index i where the mask is true.

    Parameters
    ----------
    a : ndarray
        The array to write to.
    mask : array_like
        An array-like of truth values, of the size of `a`.
    values : array_like
        The values, an array-like of n elements.

    Raises
    ------
    ValueError
        For a mask of another size.

    See Also
    --------
    place, put, take, copyto

    Examples
    --------
    >>> a = cp.arange(4)
    >>> cp.putmask(a, a > 1, [10, 20, 30, 40])
    >>> a
    array([ 0,  1, 30, 40])
    """
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


@on_array_device
def take(a: ArrayLike, indices: Any, axis: Axis = None, out: ndarray | None = None, mode: str = "raise") -> ndarray:
    """Returns the elements of the flattened array, or the slices along an axis, at indices.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    indices : array_like
        An integer or an array-like of integers.
    axis : int, optional
        The axis; None (the default) takes the flattened array.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    mode : str, default "raise"
        For indices out of bounds: "raise", "wrap" or "clip".

    Returns
    -------
    ndarray
        An array in which the axes of the indices take the place of the axis.

    Raises
    ------
    IndexError
        If an index is out of bounds (mode "raise"; indices on a GPU wrap instead).

    See Also
    --------
    compress, take_along_axis

    Examples
    --------
    >>> cp.take([10, 20, 30], [2, 0])
    array([30, 10])
    >>> cp.take([[1, 2], [3, 4]], [1], axis=1)
    array([[2],
           [4]])
    """
    a, axis = with_axis(a, axis)
    n = a.shape[axis]
    # NumPy checks the indices in a loop over the axes before this one, and so never if one of them is empty.
    is_checked = mode != "raise" or 0 not in a.shape[:axis]
    index = bounded(indices, n, axis, mode if is_checked else "clip")
    if n == 0 and index.size and 0 not in (*a.shape[:axis], *a.shape[axis + 1 :]):
        raise IndexError("cannot do a non-empty take from an empty axes.")
    strides = a.element_strides
    before, after = axis, a.ndim - axis - 1
    scaled = index if strides[axis] == 1 else index * strides[axis]
    if before or after:
        shape = (*a.shape[:axis], *index.shape, *a.shape[axis + 1 :])
        grid = _core.iota(shape, (*strides[:axis], *(0,) * index.ndim, *strides[axis + 1 :]), 0)
        scaled = grid + scaled.reshape(index.shape + (1,) * after)
    return write_exactly(out, _core.gather(a, scaled), "take")


@on_array_device
def put(a: ndarray, ind: Any, v: ArrayLike, mode: str = "raise") -> None:
    """Writes values at indices into the flattened array; values repeat as needed.

    Parameters
    ----------
    a : ndarray
        The array to write to.
    ind : array_like
        The indices, an array-like of integers.
    v : array_like
        The values.
    mode : str, default "raise"
        For indices out of bounds: "raise", "wrap" or "clip".

    Raises
    ------
    TypeError
        If `a` is not an array, or the indices are not integers.
    IndexError
        If an index is out of bounds (mode "raise"; indices on a GPU wrap instead), or the array is empty.

    See Also
    --------
    putmask, place, put_along_axis

    Examples
    --------
    >>> a = cp.zeros(4, int)
    >>> cp.put(a, [0, 2], [5, 6])
    >>> a
    array([5, 0, 6, 0])
    """
    target(a, "put")
    index = bounded(ind, a.size, 0, mode).reshape(-1)
    if not index.size:
        return
    if not a.size:
        raise IndexError("cannot replace elements of an empty array")
    values: Any = operand(v) if not is_numpy_array(v) else assigned_value(a, v)
    if isinstance(values, ndarray):
        flat = astype(values, a.dtype_name).reshape(-1)
        if flat.size == 0:
            return
        values = flat if flat.size == index.size else gather_flat(
            flat, _core.map("remainder", _core.iota((index.size,), (1,), 0), flat.size)
        )  # fmt: skip
    _core.scatter(a, flat_offsets(a, index), values, "set")


@on_array_device
def _along_axis(a: ndarray, indices: Any, axis: int) -> ndarray:
    """Returns the offsets for take_along_axis and put_along_axis."""
    index = array(indices) if not is_numpy_array(indices) else assigned_value(a, indices)
    if dtypes.kind(index.dtype_name) not in "iu":
        raise IndexError("`indices` must be an integer array")
    if index.ndim != a.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    index = wrapped(index, a.shape[axis], axis)
    strides = list(a.element_strides)
    others = tuple(1 if i == axis else n for i, n in enumerate(a.shape))
    try:
        shape = list(broadcast_shapes(others, index.shape))
    except ValueError:
        raise IndexError(
            f"shape mismatch: indices of shape {index.shape} could not be broadcast to the slices {others} of the array"
        ) from None
    own = strides[axis]
    strides[axis] = 0
    for i, n in enumerate(a.shape):
        if i != axis and n == 1:
            strides[i] = 0
    return _core.iota(shape, strides, 0) + index * own


def _check_flat(indices: Any) -> None:
    if getattr(indices, "ndim", 1) != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")


def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: Axis = -1) -> ndarray:
    """Returns for each 1-d slice along an axis its elements at the indices of that slice.

    Parameters
    ----------
    arr : array_like
        An array or array-like.
    indices : array_like
        An array of integers with as many axes as `arr`, which broadcasts to its other axes.
    axis : int, default -1
        The axis, by default the last; None takes the flattened array.

    Returns
    -------
    ndarray
        An array of the shape of the indices, broadcast.

    Raises
    ------
    IndexError
        Unless the indices are integers, within bounds (on a GPU they wrap instead), and broadcast to the other axes.
    ValueError
        Unless they have as many axes as the array.

    See Also
    --------
    take, put_along_axis

    Examples
    --------
    >>> a = cp.asarray([[3, 1, 2], [4, 6, 5]])
    >>> cp.take_along_axis(a, cp.argsort(a, axis=1), axis=1)
    array([[1, 2, 3],
           [4, 5, 6]])
    """
    a = array(arr)
    if axis is None:
        _check_flat(indices)
        a, axis = a.reshape(-1), 0
    return _core.gather(a, _along_axis(a, indices, normalize_axis(axis, a.ndim)))


def put_along_axis(arr: ndarray, indices: ArrayLike, values: ArrayLike, axis: Axis) -> None:
    """Writes values at the indices of each 1-d slice along an axis.

    Parameters
    ----------
    arr : ndarray
        The array to write to.
    indices : array_like
        An array of integers with as many axes as `arr`, which broadcasts to its other axes.
    values : array_like
        The values, which broadcast to the indices.
    axis : int
        The axis; None takes the flattened array.

    Raises
    ------
    IndexError
        Unless the indices are integers, within bounds (on a GPU they wrap instead), and broadcast to the other axes.
    ValueError
        Unless they have as many axes as the array.

    See Also
    --------
    take_along_axis

    Examples
    --------
    >>> a = cp.asarray([[1, 2], [3, 4]])
    >>> cp.put_along_axis(a, cp.asarray([[1], [0]]), 9, axis=1)
    >>> a
    array([[1, 9],
           [9, 4]])
    """
    target(arr, "put_along_axis")
    if axis is None:
        _check_flat(indices)
        put(arr, indices, values)
        return
    offsets = _along_axis(arr, indices, normalize_axis(axis, arr.ndim))
    values = assigned_value(arr, values)
    if isinstance(values, ndarray):
        values = _core.broadcast_to(astype(values, arr.dtype_name), offsets.shape)
    _core.scatter(arr, offsets, values, "set")


def scatter_add(a: ndarray, slices: Any, value: ArrayLike) -> None:
    """Adds values at an index. Repeated indices add repeatedly.

    Parameters
    ----------
    a : ndarray
        An array or array-like.
    slices : index
        An index, as in `a[slices]`.
    value : array_like
        The values, which broadcast to the indexed elements.

    See Also
    --------
    cupyx.scatter_max, cupyx.scatter_min

    Examples
    --------
    >>> a = cp.zeros(3, int)
    >>> a.scatter_add([0, 0, 2], 1)
    >>> a
    array([2, 0, 1])
    """
    scatter_into(a, slices, operand(value), "add")


def scatter_max(a: ndarray, slices: Any, value: ArrayLike) -> None:
    """Writes the maximum of element and value at an index.

    Parameters
    ----------
    a : ndarray
        An array or array-like.
    slices : index
        An index, as in `a[slices]`.
    value : array_like
        The values, which broadcast to the indexed elements.

    See Also
    --------
    cupyx.scatter_min, cupyx.scatter_add

    Examples
    --------
    >>> a = cp.asarray([1, 5])
    >>> a.scatter_max([0, 1], 3)
    >>> a
    array([3, 5])
    """
    scatter_into(a, slices, operand(value), "maximum")


def scatter_min(a: ndarray, slices: Any, value: ArrayLike) -> None:
    """Writes the minimum of element and value at an index.

    Parameters
    ----------
    a : ndarray
        An array or array-like.
    slices : index
        An index, as in `a[slices]`.
    value : array_like
        The values, which broadcast to the indexed elements.

    See Also
    --------
    cupyx.scatter_max, cupyx.scatter_add

    Examples
    --------
    >>> a = cp.asarray([1, 5])
    >>> a.scatter_min([0, 1], 3)
    >>> a
    array([1, 3])
    """
    scatter_into(a, slices, operand(value), "minimum")


__all__ = ["compress", "extract", "place", "put", "put_along_axis", "putmask", "take", "take_along_axis"]
