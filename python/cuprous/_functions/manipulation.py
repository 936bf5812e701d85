"""Shape manipulation: views that reshape, permute, insert, remove and broadcast axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._common.arguments import (
    ArrayLike,
    Axes,
    Shape,
    as_shape,
    axis_error,
    ndarray,
    normalize_axes,
    normalize_axis,
)
from cuprous._common.arguments import array as as_array
from cuprous._common.arguments import broadcast_shapes as _broadcast_shapes
from cuprous._common.layout import axis_order, order_letter


def reshape(a: ArrayLike, /, shape: Shape, order: str = "C", *, copy: bool | None = None) -> ndarray:
    """Returns the elements in another shape, as a view if the strides allow it.

    Parameters
    ----------
    a : array_like
        An array or array-like of any dtype.
    shape : int or tuple of ints
        The new shape. One extent may be -1 and is inferred.
    order : str, default "C"
        The order in which elements are read and written: "C", "F", or "A" ("F" if the array is in Fortran order).
    copy : bool, optional
        True always copies, None copies if needed, False never copies.

    Returns
    -------
    ndarray
        An array with the same elements.

    Raises
    ------
    ValueError
        If the sizes differ, or `copy` is False and no view is possible.

    See Also
    --------
    ndarray.reshape

    Examples
    --------
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

    Parameters
    ----------
    a : array_like
        An array or array-like of any dtype.
    order : str, default "C"
        The order in which elements are read: "C", "F", "A" or "K" (as in memory).

    Returns
    -------
    ndarray
        A 1-d array.

    See Also
    --------
    ndarray.flat, ndarray.flatten, ndarray.reshape

    Examples
    --------
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

    Parameters
    ----------
    a : array_like
        An array or array-like of any dtype.
    axes : sequence of ints, optional
        A permutation of the axes; by default they are reversed.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        If `axes` is not a permutation of the axes.

    See Also
    --------
    swapaxes, moveaxis

    Examples
    --------
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

    Parameters
    ----------
    a : array_like
        An array or array-like of any dtype.
    axis1 : int
        The first axis.
    axis2 : int
        The second axis.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    AxisError
        For an axis out of bounds.

    See Also
    --------
    transpose, moveaxis

    Examples
    --------
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

    Parameters
    ----------
    a : array_like
        An array or array-like of any dtype.
    source : int or sequence of ints
        The axis or axes to move.
    destination : int or sequence of ints
        The new position of each.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        If `source` and `destination` differ in length.
    AxisError
        For an axis out of bounds.

    See Also
    --------
    transpose, swapaxes

    Examples
    --------
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

    Parameters
    ----------
    a : array_like
        An array or array-like of any dtype.
    axis : int
        The axis to move.
    start : int, default 0
        The position before which the axis is put.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    AxisError
        For an axis or a position out of bounds.

    See Also
    --------
    moveaxis, roll

    Examples
    --------
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

    Parameters
    ----------
    x : array_like
        An array of shape (..., M, N).

    Returns
    -------
    ndarray
        A view of shape (..., N, M).

    Raises
    ------
    ValueError
        For fewer than two axes.

    See Also
    --------
    transpose

    Examples
    --------
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

    Parameters
    ----------
    a : array_like
        An array or array-like of any dtype.
    axis : int or tuple of ints
        The position or positions of the new axes in the result.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    TypeError
        If an axis is not an integer.
    AxisError
        If an axis is out of bounds or repeated.

    See Also
    --------
    squeeze, reshape, atleast_1d, atleast_2d, atleast_3d

    Examples
    --------
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

    Parameters
    ----------
    a : array_like
        An array or array-like of any dtype.
    axis : int or tuple of ints, optional
        The axis or axes to remove; None (the default) removes all of length one.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        If an axis in `axis` is longer.

    See Also
    --------
    expand_dims, reshape

    Examples
    --------
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

    Parameters
    ----------
    array : array_like
        An array or array-like.
    shape : int or tuple of ints
        The shape of the result.
    subok : bool, default False
        Has no effect, because arrays have no subclasses.

    Returns
    -------
    ndarray
        A view. Several of its elements may share memory.

    Raises
    ------
    ValueError
        If the array does not broadcast to the shape.

    See Also
    --------
    broadcast, broadcast_arrays, broadcast_shapes

    Examples
    --------
    >>> cp.broadcast_to([1, 2, 3], (2, 3))
    array([[1, 2, 3],
           [1, 2, 3]])
    """
    return _core.broadcast_to(as_array(array), as_shape(shape))


def broadcast_arrays(*args: ArrayLike, subok: bool = False) -> tuple[ndarray, ...]:
    """Returns views of arrays broadcast to their common shape.

    Parameters
    ----------
    *args : array_like
        Arrays or array-likes.
    subok : bool, default False
        Has no effect, because arrays have no subclasses.

    Returns
    -------
    tuple of ndarrays
        A tuple of views.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    See Also
    --------
    broadcast, broadcast_to, broadcast_shapes

    Examples
    --------
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

    Parameters
    ----------
    *args : int or tuple of ints
        Shapes, each an integer or a tuple of integers.

    Returns
    -------
    tuple of ints

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    See Also
    --------
    broadcast, broadcast_arrays, broadcast_to

    Examples
    --------
    >>> cp.broadcast_shapes((2, 1), (3,), (4, 1, 1))
    (4, 2, 3)
    """
    return _broadcast_shapes(*(as_shape(s) for s in args))


def _at_least(arys: tuple[Any, ...], shape_of: Any) -> Any:
    results = tuple(a.reshape(shape_of(a.shape)) for a in map(as_array, arys))
    return results[0] if len(results) == 1 else results


def atleast_1d(*arys: ArrayLike) -> Any:
    """Returns arrays with at least one axis.

    Parameters
    ----------
    *arys : array_like
        Arrays or array-likes.

    Returns
    -------
    ndarray
        An array, or a tuple of arrays for several arguments.

    See Also
    --------
    atleast_2d, atleast_3d

    Examples
    --------
    >>> cp.atleast_1d(5)
    array([5])
    """
    return _at_least(arys, lambda s: s or (1,))


def atleast_2d(*arys: ArrayLike) -> Any:
    """Returns arrays with at least two axes. New axes are in front.

    Parameters
    ----------
    *arys : array_like
        Arrays or array-likes.

    Returns
    -------
    ndarray
        An array, or a tuple of arrays for several arguments.

    See Also
    --------
    atleast_1d, atleast_3d

    Examples
    --------
    >>> cp.atleast_2d([1, 2])
    array([[1, 2]])
    """
    return _at_least(arys, lambda s: (1,) * (2 - len(s)) + s)


def atleast_3d(*arys: ArrayLike) -> Any:
    """Returns arrays with at least three axes: (N,) becomes (1, N, 1) and (M, N) becomes (M, N, 1).

    Parameters
    ----------
    *arys : array_like
        Arrays or array-likes.

    Returns
    -------
    ndarray
        An array, or a tuple of arrays for several arguments.

    See Also
    --------
    atleast_1d, atleast_2d

    Examples
    --------
    >>> cp.atleast_3d([1, 2]).shape
    (1, 2, 1)
    """
    return _at_least(arys, lambda s: {0: (1, 1, 1), 1: (1, *s, 1), 2: (*s, 1)}.get(len(s), s))


def shape(a: Any) -> tuple[int, ...]:
    """Returns the shape of an array, or of an object that NumPy converts to one. Copies nothing to a device.

    Parameters
    ----------
    a : array_like
        An array or array-like.

    Returns
    -------
    tuple of ints

    See Also
    --------
    ndarray.shape

    Examples
    --------
    >>> cp.shape([[1, 2, 3], [4, 5, 6]])
    (2, 3)
    """
    if isinstance(a, ndarray):
        return a.shape
    import numpy

    return numpy.shape(a)


def ndim(a: Any) -> int:
    """Returns the number of axes.

    Parameters
    ----------
    a : array_like
        An array, or an object that NumPy converts to one.

    Returns
    -------
    int

    See Also
    --------
    ndarray.ndim, shape, ndarray.shape

    Examples
    --------
    >>> cp.ndim([[1, 2], [3, 4]])
    2
    """
    return len(shape(a))


def size(a: Any, axis: Axes = None) -> int:
    """Returns the number of elements, in total or along axes.

    Parameters
    ----------
    a : array_like
        An array, or an object that NumPy converts to one.
    axis : int or tuple of ints, optional
        The axis or axes to count along; None (the default) counts all elements.

    Returns
    -------
    int

    See Also
    --------
    shape, ndarray.shape, ndarray.size

    Examples
    --------
    >>> cp.size([[1, 2, 3], [4, 5, 6]])
    6
    >>> cp.size([[1, 2, 3], [4, 5, 6]], 1)
    3
    """
    extents = shape(a)
    return math.prod(extents[i] for i in normalize_axes(axis, len(extents)))


__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "expand_dims",
    "matrix_transpose", "moveaxis", "ndim", "permute_dims", "ravel", "reshape", "rollaxis", "shape", "size",
    "squeeze", "swapaxes", "transpose",
]  # fmt: skip
