"""Appending, inserting and deleting elements."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.arguments import ArrayLike, Axis, along, array, ndarray, with_axis
from cuprous._common.casting import astype
from cuprous._common.convert import asnumpy, convert
from cuprous._common.indexing import checked_index, mask_of
from cuprous._common.layout import axis_order, empty_in_order, fortran_or_c, with_order
from cuprous._common.operands import is_scalar, on_array_device
from cuprous._functions.joining import concatenate
from cuprous._functions.manipulation import moveaxis


def append(arr: ArrayLike, values: ArrayLike, axis: Axis = None) -> ndarray:
    """Returns an array with values appended along an axis, or to the flattened array.

    Parameters
    ----------
    arr : array_like
        An array or array-like.
    values : array_like
        An array-like; with an `axis` of the same shape as `arr` but along the axis.
    axis : int, optional
        The axis; None (the default) flattens both.

    Returns
    -------
    ndarray
        A new array.

    Raises
    ------
    ValueError
        For shapes that do not fit.

    See Also
    --------
    insert, delete

    Examples
    --------
    >>> cp.append([1, 2], [3, 4])
    array([1, 2, 3, 4])
    >>> cp.append([[1, 2]], [[3, 4]], axis=0)
    array([[1, 2],
           [3, 4]])
    """
    arr, values = array(arr), array(values)
    if axis is None:
        return concatenate((arr.reshape(-1), values.reshape(-1)))
    return concatenate((arr, values), axis)


def _positions(obj: Any, n: int) -> list[int]:
    """Converts the index `obj` to integers on the host, without checking bounds."""
    import numpy as np

    if isinstance(obj, slice):
        return list(range(*obj.indices(n)))
    host = np.asarray(asnumpy(obj) if isinstance(obj, ndarray) else obj)
    if host.dtype.kind == "b" and host.ndim:
        host = host.nonzero()[0]
    empty_list = not host.size and not hasattr(obj, "dtype")
    if host.dtype.kind not in "iub" and not empty_list:
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return [int(i) for i in host.reshape(-1)]


def delete(arr: ArrayLike, obj: Any, axis: Axis = None) -> ndarray:
    """Returns an array without the slices at some positions along an axis, or without elements of the flattened array.

    Parameters
    ----------
    arr : array_like
        An array or array-like.
    obj : int, slice or array_like
        The positions: an integer, a slice, a list of integers or a bool mask.
    axis : int, optional
        The axis; None (the default) flattens the array.

    Returns
    -------
    ndarray
        A new array.

    Raises
    ------
    ValueError
        If a mask does not have the length of the axis.
    IndexError
        If a position is out of bounds.

    See Also
    --------
    insert, append

    Examples
    --------
    >>> cp.delete([10, 20, 30, 40], [0, 2])
    array([20, 40])
    >>> cp.delete([[1, 2], [3, 4]], 0, axis=1)
    array([[2],
           [4]])
    """
    import numpy as np

    arr, axis = with_axis(arr, axis, scalars=False)
    n = arr.shape[axis]
    front = (slice(None),) * axis
    mask = mask_of(obj)
    if mask is not None:
        if mask.shape != (n,):
            raise ValueError(
                f"boolean array argument obj to delete must be one dimensional and match the axis length of {n}"
            )
        return arr[(*front, _core.map("logical_not", mask))]
    positions = [checked_index(i, n, axis) for i in _positions(obj, n)]
    result = arr[(*front, np.delete(np.arange(n), positions))]
    # NumPy uses indexing for several positions, and otherwise copies into a new array.
    return with_order(result, fortran_or_c(arr)) if len(positions) == 1 or isinstance(obj, slice) else result


@on_array_device
def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: Axis = None) -> ndarray:
    """Returns an array with values inserted before some positions along an axis, or of the flattened array.

    Parameters
    ----------
    arr : array_like
        An array or array-like.
    obj : int, slice or array_like
        The positions in `arr`: an integer, a slice, a list of integers or a bool mask.
    values : array_like
        The values, which broadcast to the slices.
    axis : int, optional
        The axis; None (the default) flattens the array.

    Returns
    -------
    ndarray
        A new array of the dtype of `arr`.

    Raises
    ------
    IndexError
        If a position is out of bounds.

    See Also
    --------
    append, concatenate, delete

    Examples
    --------
    >>> cp.insert([1, 2, 3], 1, 9)
    array([1, 9, 2, 3])
    >>> cp.insert([[1, 2], [3, 4]], 2, [8, 9], axis=1)
    array([[1, 2, 8],
           [3, 4, 9]])
    """
    arr, axis = with_axis(arr, axis, scalars=False)
    n = arr.shape[axis]
    scalar = not isinstance(obj, slice) and not hasattr(obj, "__len__")
    positions = [checked_index(i, n, axis, inclusive=True) for i in _positions(obj, n)]

    source = convert(values, arr.dtype_name) if is_scalar(values) else astype(array(values), arr.dtype_name)
    if len(positions) == 1:
        position = positions[0]
        if scalar and source.ndim:
            source = source.reshape((1,) * (arr.ndim - source.ndim) + source.shape)
            source = moveaxis(source, 0, axis)
        count = source.shape[axis - arr.ndim] if source.ndim >= arr.ndim - axis else 1
        result = empty_in_order(
            (*arr.shape[:axis], n + count, *arr.shape[axis + 1 :]), arr.dtype_name, axis_order(arr, "A")
        )
        _core.update(result[along(axis, None, position)], arr[along(axis, None, position)])
        _core.update(result[along(axis, position, position + count)], source)
        _core.update(result[along(axis, position + count)], arr[along(axis, position)])
        return result
    total = n + len(positions)
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    new = [0] * len(positions)
    for rank, i in enumerate(order):
        new[i] = positions[i] + rank
    old = sorted(set(range(total)).difference(new))
    result = empty_in_order((*arr.shape[:axis], total, *arr.shape[axis + 1 :]), arr.dtype_name, axis_order(arr, "A"))
    front = (slice(None),) * axis
    result[(*front, old)] = arr
    if new:
        result[(*front, new)] = source
    return result


__all__ = ["append", "delete", "insert"]
