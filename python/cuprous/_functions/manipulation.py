"""Shape manipulation: views that reshape, permute, insert, remove, flip and broadcast axes; `roll` and similar."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import (
    ArrayLike,
    Axes,
    Shape,
    along,
    as_shape,
    axis_error,
    ndarray,
    normalize_axes,
    normalize_axis,
    operand,
    truth_mask,
)
from cuprous._common.arguments import array as as_array
from cuprous._common.arguments import broadcast_shapes as _broadcast_shapes
from cuprous._common.casting import astype, check_casting, check_rule
from cuprous._common.convert import convert
from cuprous._common.indexing import gather_flat
from cuprous._common.layout import axis_order, empty_in_order, order_letter
from cuprous._common.operands import is_numpy_array
from cuprous._functions.counting import argwhere


def reshape(a: ArrayLike, /, shape: Shape, order: str = "C", *, copy: bool | None = None) -> ndarray:
    """Returns the elements in another shape, as a view if the strides allow it.

    Args:
        a: an array or array-like of any dtype.
        shape: the new shape. One extent may be -1 and is inferred.
        order: the order in which elements are read and written: "C", "F", or "A" ("F" if the array is in Fortran
            order).
        copy: True always copies, None copies if needed, False never copies.

    Returns:
        An array with the same elements.

    Raises:
        ValueError: if the sizes differ, or `copy` is False and no view is possible.

    Examples:
        >>> cp.reshape(cp.arange(6), (2, -1))
        array([[0, 1, 2],
               [3, 4, 5]])
        >>> cp.reshape([[1, 2], [3, 4]], 4, order="F")
        array([1, 3, 2, 4])
    """
    return as_array(a).reshape(shape, order=order_letter(order, "CFA", "C"), copy=copy)


def _memory_order(a: ndarray) -> tuple[int, ...] | None:
    """Returns the axes in the order in which NumPy's iterator visits memory. Axes with stride zero keep their
    positions."""
    if a.is_c_contiguous:
        return None
    strides = [0 if n == 1 else abs(s) for n, s in zip(a.shape, a.element_strides, strict=True)]
    order: list[int] = []
    for axis in range(a.ndim - 1, -1, -1):  # from the axis that varies fastest
        position = len(order)
        for i in range(len(order) - 1, -1, -1):
            if strides[axis] and strides[order[i]]:
                if strides[order[i]] <= strides[axis]:
                    break
                position = i
        order.insert(position, axis)
    return tuple(reversed(order))


def ravel(a: ArrayLike, order: str = "C") -> ndarray:
    """Returns the elements in one dimension: a view if memory has them in this order, otherwise a copy.

    Args:
        a: an array or array-like of any dtype.
        order: the order in which elements are read: "C", "F", "A" or "K" (as in memory).

    Returns:
        A 1-d array.

    Examples:
        >>> cp.ravel([[1, 2], [3, 4]])
        array([1, 2, 3, 4])
        >>> cp.ravel([[1, 2], [3, 4]], order="F")
        array([1, 3, 2, 4])
    """
    a = as_array(a)
    order = order_letter(order)
    axes = _memory_order(a) if order == "K" else axis_order(a, order)
    permuted = a if axes is None else a.transpose(axes)
    return permuted.reshape(-1) if permuted.is_c_contiguous else _core.without_base(permuted.copy().reshape(-1))


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> ndarray:
    """Returns a view with the axes permuted, reversed by default.

    Args:
        a: an array or array-like of any dtype.
        axes: a permutation of the axes; by default they are reversed.

    Returns:
        A view.

    Raises:
        ValueError: if `axes` is not a permutation of the axes.

    Examples:
        >>> cp.transpose([[1, 2, 3], [4, 5, 6]])
        array([[1, 4],
               [2, 5],
               [3, 6]])
        >>> cp.transpose(cp.ones((2, 3, 4)), (1, 0, 2)).shape
        (3, 2, 4)
    """
    a = as_array(a)
    return a.T if axes is None else a.transpose(tuple(axes))


permute_dims = transpose


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> ndarray:
    """Returns a view with two axes exchanged.

    Args:
        a: an array or array-like of any dtype.
        axis1: the first axis.
        axis2: the second axis.

    Returns:
        A view.

    Raises:
        AxisError: for an axis out of bounds.

    Examples:
        >>> cp.swapaxes(cp.ones((2, 3, 4)), 0, 2).shape
        (4, 3, 2)
    """
    a = as_array(a)
    i, j = normalize_axis(axis1, a.ndim), normalize_axis(axis2, a.ndim)
    order = list(range(a.ndim))
    order[i], order[j] = j, i
    return a.transpose(tuple(order)) if order else a


def moveaxis(a: ArrayLike, source: Axes, destination: Axes) -> ndarray:
    """Returns a view with axes moved to other positions. The other axes keep their order.

    Args:
        a: an array or array-like of any dtype.
        source: the axis or axes to move.
        destination: the new position of each.

    Returns:
        A view.

    Raises:
        ValueError: if `source` and `destination` differ in length.
        AxisError: for an axis out of bounds.

    Examples:
        >>> cp.moveaxis(cp.ones((2, 3, 4)), 0, -1).shape
        (3, 4, 2)
    """
    a = as_array(a)
    if source is None or destination is None:
        raise TypeError("'NoneType' object is not iterable")
    sources = normalize_axes(source, a.ndim, "source")
    targets = normalize_axes(destination, a.ndim, "destination")
    if len(sources) != len(targets):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [i for i in range(a.ndim) if i not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return a.transpose(tuple(order)) if order else a


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> ndarray:
    """Returns a view with one axis moved before position `start`.

    Args:
        a: an array or array-like of any dtype.
        axis: the axis to move.
        start: the position before which the axis is put.

    Returns:
        A view.

    Raises:
        AxisError: for an axis or a position out of bounds.

    Examples:
        >>> cp.rollaxis(cp.ones((2, 3, 4)), 2).shape
        (4, 2, 3)
    """
    a = as_array(a)
    i = normalize_axis(axis, a.ndim)
    stop = start + a.ndim if start < 0 else start
    if not 0 <= stop <= a.ndim:
        raise axis_error(start, a.ndim + 1, "start")
    return moveaxis(a, i, stop - 1 if i < stop else stop)


def matrix_transpose(x: ArrayLike, /) -> ndarray:
    """Returns a view with the last two axes exchanged.

    Args:
        x: an array of shape (..., M, N).

    Returns:
        A view of shape (..., N, M).

    Raises:
        ValueError: for fewer than two axes.

    Examples:
        >>> cp.matrix_transpose([[1, 2], [3, 4]])
        array([[1, 3],
               [2, 4]])
    """
    x = as_array(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return swapaxes(x, -1, -2)


def expand_dims(a: ArrayLike, axis: Axes) -> ndarray:
    """Returns a view with axes of length one inserted.

    Args:
        a: an array or array-like of any dtype.
        axis: the position or positions of the new axes in the result.

    Returns:
        A view.

    Raises:
        TypeError: if an axis is not an integer.
        AxisError: if an axis is out of bounds or repeated.

    Examples:
        >>> cp.expand_dims([1, 2], 0)
        array([[1, 2]])
        >>> cp.expand_dims([1, 2], (0, 2)).shape
        (1, 2, 1)
    """
    a = as_array(a)
    if axis is None:
        raise TypeError("'NoneType' object cannot be interpreted as an integer")
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    inserted = normalize_axes(axis, a.ndim + count)
    rest = iter(a.shape)
    return a.reshape(tuple(1 if i in inserted else next(rest) for i in range(a.ndim + count)))


def squeeze(a: ArrayLike, axis: Axes = None) -> ndarray:
    """Returns a view without axes of length one.

    Args:
        a: an array or array-like of any dtype.
        axis: the axis or axes to remove; None (the default) removes all of length one.

    Returns:
        A view.

    Raises:
        ValueError: if an axis in `axis` is longer.

    Examples:
        >>> cp.squeeze([[[1], [2]]])
        array([1, 2])
    """
    a = as_array(a)
    if axis is None:
        dropped = tuple(i for i, n in enumerate(a.shape) if n == 1)
    else:
        dropped = () if not a.ndim and axis in (0, -1) else normalize_axes(axis, a.ndim)
        if any(a.shape[i] != 1 for i in dropped):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    kept = [i for i in range(a.ndim) if i not in dropped]
    strides = a.element_strides
    return _core.as_strided(a, [a.shape[i] for i in kept], [strides[i] for i in kept], 0)


def broadcast_to(array: ArrayLike, shape: Shape, subok: bool = False) -> ndarray:
    """Returns a view of an array broadcast to a shape, with zero strides.

    Args:
        array: an array or array-like.
        shape: the shape of the result.
        subok: has no effect, because arrays have no subclasses.

    Returns:
        A view. Several of its elements may share memory.

    Raises:
        ValueError: if the array does not broadcast to the shape.

    Examples:
        >>> cp.broadcast_to([1, 2, 3], (2, 3))
        array([[1, 2, 3],
               [1, 2, 3]])
    """
    return _core.broadcast_to(as_array(array), as_shape(shape))


def broadcast_arrays(*args: ArrayLike, subok: bool = False) -> tuple[ndarray, ...]:
    """Returns views of arrays broadcast to their common shape.

    Args:
        *args: arrays or array-likes.
        subok: has no effect, because arrays have no subclasses.

    Returns:
        A tuple of views.

    Raises:
        ValueError: if the shapes do not broadcast.

    Examples:
        >>> a, b = cp.broadcast_arrays([[1], [2]], [10, 20])
        >>> a
        array([[1, 1],
               [2, 2]])
    """
    arrays = [as_array(a) for a in args]
    shape = _broadcast_shapes(*(a.shape for a in arrays))
    return tuple(a if a.shape == shape else _core.broadcast_to(a, shape) for a in arrays)


def broadcast_shapes(*args: Shape) -> tuple[int, ...]:
    """Returns the shape that these shapes broadcast to.

    Args:
        *args: shapes, each an integer or a tuple of integers.

    Returns:
        A tuple of integers.

    Raises:
        ValueError: if the shapes do not broadcast.

    Examples:
        >>> cp.broadcast_shapes((2, 1), (3,), (4, 1, 1))
        (4, 2, 3)
    """
    return _broadcast_shapes(*(as_shape(s) for s in args))


def _at_least(arys: tuple[Any, ...], shape_of: Any) -> Any:
    results = tuple(a.reshape(shape_of(a.shape)) for a in map(as_array, arys))
    return results[0] if len(results) == 1 else results


def atleast_1d(*arys: ArrayLike) -> Any:
    """Returns arrays with at least one axis.

    Args:
        *arys: arrays or array-likes.

    Returns:
        An array, or a tuple of arrays for several arguments.

    Examples:
        >>> cp.atleast_1d(5)
        array([5])
    """
    return _at_least(arys, lambda s: s or (1,))


def atleast_2d(*arys: ArrayLike) -> Any:
    """Returns arrays with at least two axes. New axes are in front.

    Args:
        *arys: arrays or array-likes.

    Returns:
        An array, or a tuple of arrays for several arguments.

    Examples:
        >>> cp.atleast_2d([1, 2])
        array([[1, 2]])
    """
    return _at_least(arys, lambda s: (1,) * (2 - len(s)) + s)


def atleast_3d(*arys: ArrayLike) -> Any:
    """Returns arrays with at least three axes: (N,) becomes (1, N, 1) and (M, N) becomes (M, N, 1).

    Args:
        *arys: arrays or array-likes.

    Returns:
        An array, or a tuple of arrays for several arguments.

    Examples:
        >>> cp.atleast_3d([1, 2]).shape
        (1, 2, 1)
    """
    return _at_least(arys, lambda s: {0: (1, 1, 1), 1: (1, *s, 1), 2: (*s, 1)}.get(len(s), s))


def flip(m: ArrayLike, axis: Axes = None) -> ndarray:
    """Returns a view with the order of elements along axes reversed.

    Args:
        m: an array or array-like.
        axis: the axis or axes; None (the default) reverses all.

    Returns:
        A view.

    Raises:
        AxisError: for an axis out of bounds.

    Examples:
        >>> cp.flip([[1, 2], [3, 4]])
        array([[4, 3],
               [2, 1]])
        >>> cp.flip([[1, 2], [3, 4]], axis=1)
        array([[2, 1],
               [4, 3]])
    """
    m = as_array(m)
    axes = normalize_axes(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(m.ndim))]


def flipud(m: ArrayLike) -> ndarray:
    """Returns a view with the first axis reversed.

    Args:
        m: an array with at least one axis.

    Returns:
        A view.

    Raises:
        ValueError: for a 0-d array.

    Examples:
        >>> cp.flipud([[1, 2], [3, 4]])
        array([[3, 4],
               [1, 2]])
    """
    m = as_array(m)
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return flip(m, 0)


def fliplr(m: ArrayLike) -> ndarray:
    """Returns a view with the second axis reversed.

    Args:
        m: an array with at least two axes.

    Returns:
        A view.

    Raises:
        ValueError: for fewer than two axes.

    Examples:
        >>> cp.fliplr([[1, 2], [3, 4]])
        array([[2, 1],
               [4, 3]])
    """
    m = as_array(m)
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> ndarray:
    """Returns a view rotated by k quarter turns in the plane of two axes, from the first towards the second.

    Args:
        m: an array with at least two axes.
        k: the number of quarter turns, which may be negative.
        axes: the plane, two different axes.

    Returns:
        A view.

    Raises:
        ValueError: unless `axes` are two different axes of the array.

    Examples:
        >>> cp.rot90([[1, 2], [3, 4]])
        array([[2, 4],
               [1, 3]])
    """
    m = as_array(m)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    i, j = axes
    if i == j or abs(i - j) == m.ndim:
        raise ValueError("Axes must be different.")
    if not (-m.ndim <= i < m.ndim and -m.ndim <= j < m.ndim):
        raise ValueError(f"Axes={axes} out of range for array of ndim={m.ndim}.")
    quarter_turns = k % 4
    if quarter_turns == 0:
        return m[...]
    if quarter_turns == 2:
        return flip(m, (i, j))
    return swapaxes(flip(m, j), i, j) if quarter_turns == 1 else flip(swapaxes(m, i, j), j)


def roll(a: ArrayLike, shift: int | Sequence[int], axis: Axes = None) -> ndarray:
    """Returns the elements rolled along axes. Elements beyond one end reappear at the other.

    Args:
        a: an array or array-like of any dtype.
        shift: the number of positions, or a number for each axis.
        axis: the axis or axes; None (the default) rolls the flattened array.

    Returns:
        An array of the same shape.

    Raises:
        ValueError: for shifts and axes that do not broadcast to one dimension.
        AxisError: for an axis out of bounds.

    Examples:
        >>> cp.roll([1, 2, 3, 4, 5], 2)
        array([4, 5, 1, 2, 3])
        >>> cp.roll([[1, 2], [3, 4]], 1, axis=0)
        array([[3, 4],
               [1, 2]])
    """
    a = as_array(a)
    if axis is None:
        return roll(a.reshape(-1), sum(_shifts(shift)), 0).reshape(a.shape)
    axes = (axis,) if not isinstance(axis, Sequence) else tuple(axis)
    if not axes:
        return a.copy("K")
    shifts = _shifts(shift)
    if len(shifts) != len(axes):
        if 1 not in (len(shifts), len(axes)):
            raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
        shifts, axes = shifts * max(1, len(axes) // len(shifts)), axes * max(1, len(shifts) // len(axes))
    total: dict[int, int] = {}
    for s, i in zip(shifts, axes, strict=True):
        i = normalize_axis(i, a.ndim)
        total[i] = total.get(i, 0) + s
    result = a
    for i, s in total.items():
        n = a.shape[i]
        if n and s % n:
            s %= n
            rolled = empty_in_order(a.shape, a.dtype_name, axis_order(a, "K"))
            _core.update(rolled[along(i, s)], result[along(i, 0, n - s)])
            _core.update(rolled[along(i, 0, s)], result[along(i, n - s)])
            result = rolled
    return a.copy("K") if result is a else result


def _shifts(shift: Any) -> tuple[int, ...]:
    values = shift.tolist() if hasattr(shift, "tolist") else shift
    single = isinstance(values, str) or not isinstance(values, Sequence)
    return tuple(map(int, (values,) if single else values))


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Axes = None) -> Any:
    """Returns a view without the zeros at the ends of axes. The positions are copied to the host.

    Args:
        filt: an array, list or tuple.
        trim: the ends to trim: "f" for the front, "b" for the back, "fb" for both.
        axis: the axis or axes; None (the default) trims all.

    Returns:
        A view, or a part of the list or tuple that was passed.

    Raises:
        ValueError: for other letters in `trim`.

    Examples:
        >>> cp.trim_zeros(cp.asarray([0, 0, 1, 2, 0]))
        array([1, 2])
        >>> cp.trim_zeros(cp.asarray([0, 0, 1, 2, 0]), "f")
        array([1, 2, 0])
    """
    given, filt = filt, as_array(filt)
    trim = trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = normalize_axes(axis, filt.ndim, "axis")
    if not axes:
        return filt
    nonzero_indices = argwhere(filt)
    if nonzero_indices.shape[0] == 0:
        parts = [slice(0, 0) if i in axes else slice(None) for i in range(filt.ndim)]
    else:
        bounds = [_core.reduce(op, nonzero_indices, (0,)).get().tolist() for op in ("min", "max")]  # type: ignore[attr-defined]
        parts = [
            slice(first if "f" in trim else None, last + 1 if "b" in trim else None) if i in axes else slice(None)
            for i, (first, last) in enumerate(zip(*bounds, strict=True))
        ]
    return given[parts[0]] if len(parts) == 1 and isinstance(given, (list, tuple)) else filt[tuple(parts)]


def resize(a: ArrayLike, new_shape: Shape) -> ndarray:
    """Returns a new array of any shape, filled with repeated copies of the elements.

    Args:
        a: an array or array-like of any dtype.
        new_shape: the shape of the result.

    Returns:
        An array of the new shape; zeros if `a` has no elements.

    Examples:
        >>> cp.resize([1, 2, 3], (2, 4))
        array([[1, 2, 3, 1],
               [2, 3, 1, 2]])
    """
    shape = as_shape(new_shape)
    flat = as_array(a).reshape(-1)
    size = math.prod(shape)
    if flat.size == 0 or size == 0:
        return _core.full(shape, 0, flat.dtype_name)
    return gather_flat(flat, _core.map("remainder", _core.iota((size,), (1,), 0), flat.size)).reshape(shape)


def shape(a: Any) -> tuple[int, ...]:
    """Returns the shape of an array, or of an object that NumPy converts to one. Copies nothing to a device.

    Args:
        a: an array or array-like.

    Returns:
        A tuple of integers.

    Examples:
        >>> cp.shape([[1, 2, 3], [4, 5, 6]])
        (2, 3)
    """
    if isinstance(a, ndarray):
        return a.shape
    import numpy

    return numpy.shape(a)


def ndim(a: Any) -> int:
    """Returns the number of axes.

    Args:
        a: an array, or an object that NumPy converts to one.

    Returns:
        An integer.

    Examples:
        >>> cp.ndim([[1, 2], [3, 4]])
        2
    """
    return len(shape(a))


def size(a: Any, axis: Axes = None) -> int:
    """Returns the number of elements, in total or along axes.

    Args:
        a: an array, or an object that NumPy converts to one.
        axis: the axis or axes to count along; None (the default) counts all elements.

    Returns:
        An integer.

    Examples:
        >>> cp.size([[1, 2, 3], [4, 5, 6]])
        6
        >>> cp.size([[1, 2, 3], [4, 5, 6]], 1)
        3
    """
    extents = shape(a)
    return math.prod(extents[i] for i in normalize_axes(axis, len(extents)))


def may_share_memory(a: Any, b: Any, max_work: int | None = None) -> bool:
    """Returns true if the byte ranges of two arrays overlap in one storage.

    One of them may be a NumPy array: `np.asarray(a)` shares the memory of an array on the CPU. For an array on another
    device it returns a read-only copy. Any read-only NumPy array is therefore reported as overlapping, so that code
    that checks before it writes makes its own copy.

    Args:
        a: an array.
        b: an array.
        max_work: with a number, compares the elements' addresses if that many candidates suffice.

    Returns:
        A bool.

    Examples:
        >>> a = cp.arange(6)
        >>> cp.may_share_memory(a[:4], a[2:])
        True
    """
    if is_numpy_array(a) or is_numpy_array(b):
        return _shared_with_host("may_share_memory", a, b, max_work)
    if max_work is None or not _bounds_overlap(a, b):
        return _bounds_overlap(a, b)
    from numpy.exceptions import TooHardError

    try:
        return shares_memory(a, b, max_work)
    except TooHardError:
        return True


def _shared_with_host(function_name: str, a: Any, b: Any, max_work: int | None) -> bool:
    """Returns the result of NumPy's `function_name` for a NumPy array and a Cuprous array."""
    import numpy as np

    for array_, other in ((a, b), (b, a)):
        if isinstance(array_, ndarray) and array_.device_name != "cpu":
            return function_name == "may_share_memory" and not other.flags.writeable
    a, b = (np.asarray(x) if isinstance(x, ndarray) else x for x in (a, b))
    return bool(getattr(np, function_name)(a, b, max_work))


def _bounds_overlap(a: Any, b: Any) -> bool:
    if not (isinstance(a, ndarray) and isinstance(b, ndarray)) or not a.shares_storage(b) or not (a.size and b.size):
        return False
    (low, high), (first, last) = a.span(), b.span()
    return low < last and first < high


def shares_memory(a: Any, b: Any, max_work: int | None = None) -> bool:
    """Returns true if two arrays have elements that share memory. One of them may be a NumPy array.

    Args:
        a: an array.
        b: an array.
        max_work: the number of candidates to try; None (the default) sets no limit.

    Returns:
        A bool.

    Raises:
        numpy.exceptions.TooHardError: if `max_work` candidates do not suffice to decide.
        ValueError: if `max_work` is not an integer.

    Examples:
        >>> a = cp.arange(6)
        >>> cp.shares_memory(a[::2], a[1::2])
        False
    """
    if is_numpy_array(a) or is_numpy_array(b):
        return _shared_with_host("shares_memory", a, b, max_work)
    if max_work is not None and not hasattr(max_work, "__index__"):
        raise ValueError("max_work must be an integer")
    if not _bounds_overlap(a, b):
        return False
    if a.is_c_contiguous and b.is_c_contiguous:
        return True
    import numpy as np

    # NumPy's solver only compares addresses, so views with the same strides of a dummy storage suffice.
    low = min(a.span()[0], b.span()[0])
    high = max(a.span()[1], b.span()[1])
    storage = np.lib.stride_tricks.as_strided(np.empty(1, np.uint8), (high - low,), (1,))
    views = [np.ndarray(x.shape, np.dtype(f"V{x.itemsize}"), storage, _first(x) - low, x.strides) for x in (a, b)]
    work: Any = max_work  # NumPy's type stubs allow only two values
    return bool(np.shares_memory(views[0], views[1], work))


def _first(a: ndarray) -> int:
    """Returns the byte offset of the first element in the storage."""
    return a.span()[0] - sum((n - 1) * s for n, s in zip(a.shape, a.strides, strict=True) if s < 0)


def copyto(dst: ndarray, src: ArrayLike, casting: str = "same_kind", where: Any = True) -> None:
    """Copies an array into another where the mask is true.

    Args:
        dst: the array to write to.
        src: an array-like that broadcasts to the shape of `dst`.
        casting: the rule for casts: "no", "equiv", "safe", "same_kind" or "unsafe".
        where: a bool mask that broadcasts to `dst`; True writes all elements.

    Raises:
        TypeError: if `dst` is not an array, or `casting` forbids the cast.
        ValueError: if the shapes do not broadcast.

    Examples:
        >>> a = cp.zeros(3, int)
        >>> cp.copyto(a, [1, 2, 3], where=[True, False, True])
        >>> a
        array([1, 0, 3])
    """
    check_rule(casting)
    if not isinstance(where, ndarray) and not is_numpy_array(where):
        where = where is True or astype(as_array(where), "bool")
    where = truth_mask(where)
    if not isinstance(dst, ndarray):
        raise TypeError(f"copyto() argument 1 must be a cuprous.ndarray, not {type(dst).__name__}")
    source = operand(src) if isinstance(src, ndarray) or not hasattr(src, "__array_interface__") else convert(src)
    if isinstance(source, ndarray):
        check_casting(source.dtype_name, dst.dtype_name, casting, "array data")
        while source.ndim > dst.ndim and source.shape[0] == 1:
            source = source[0]
        if _broadcast_shapes(dst.shape, source.shape) != dst.shape:
            raise ValueError(f"could not broadcast input array from shape {source.shape} into shape {dst.shape}")
    else:
        name = dtypes.OF_SCALARS.get(type(source))
        if name == "int64" and dtypes.kind(dst.dtype_name) != "b":
            name = dst.dtype_name
        check_casting(name or source.dtype.name, dst.dtype_name, casting, "scalar")
        source = _core.full((), source, dst.dtype_name, casting != "unsafe" or type(source) is int)
    if where is not True:
        source = _core.map("where", where, _core.cast(source, dst.dtype_name), dst)
    _core.update(dst, source)


__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "copyto",
    "expand_dims", "flip", "fliplr", "flipud", "matrix_transpose", "may_share_memory", "moveaxis", "ndim",
    "permute_dims", "ravel", "reshape", "resize", "roll", "rollaxis", "rot90", "shape", "shares_memory", "size",
    "squeeze", "swapaxes", "transpose", "trim_zeros",
]  # fmt: skip
