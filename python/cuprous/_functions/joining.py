"""Joining, splitting and repeating arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import (
    ArrayLike,
    Axis,
    along,
    array,
    as_operands,
    ndarray,
    normalize_axis,
    with_axis,
    write_out,
)
from cuprous._common.casting import astype, check_casting, check_rule, common_dtype
from cuprous._common.convert import asnumpy, convert
from cuprous._common.indexing import checked_index, mask_of
from cuprous._common.layout import axis_order, empty_in_order, fortran_or_c, joint_order, with_order
from cuprous._common.operands import is_scalar, on_array_device
from cuprous._common.overrides import dispatched
from cuprous._functions.manipulation import atleast_1d, atleast_2d, atleast_3d, moveaxis
from cuprous._functions.selection import take

#: The largest number of arrays that NumPy joins.
_MAX_ARRAYS = 2**31 - 1


def _arrays(sequence: Any) -> list[ndarray]:
    return [array(x) for x in as_operands(sequence)]


@dispatched
@on_array_device
def concatenate(
    arrays: Sequence[ArrayLike], /, axis: Axis = 0, out: ndarray | None = None, *, dtype: Any = None,
    casting: str = "same_kind",
) -> ndarray:  # fmt: skip
    """Joins arrays along an existing axis (None: flattens them first).

    Parameters
    ----------
    arrays : sequence of array_like
        A sequence of arrays of the same shape, except along the axis.
    axis : int, default 0
        The axis along which arrays are joined; None flattens them first.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    dtype : dtype, optional
        The dtype of the result; by default it follows from the operands.
    casting : str, default "same_kind"
        The rule for casts: "no", "equiv", "safe", "same_kind" or "unsafe".

    Returns
    -------
    ndarray
        A new array of the dtype that the arrays promote to.

    Raises
    ------
    ValueError
        If there are no arrays, their other extents differ, or `out` has another shape.
    TypeError
        If both `out` and `dtype` are given, or `casting` forbids a cast.

    See Also
    --------
    stack, hstack, vstack, split

    Examples
    --------
    >>> cp.concatenate(([1, 2], [3]))
    array([1, 2, 3])
    >>> cp.concatenate(([[1, 2]], [[3, 4]]), axis=1)
    array([[1, 2, 3, 4]])
    """
    check_rule(casting)
    if hasattr(arrays, "__len__") and len(arrays) > _MAX_ARRAYS:
        raise ValueError(f"concatenate() only supports up to {_MAX_ARRAYS} arrays but got {len(arrays)}.")
    if out is not None and dtype is not None:
        raise TypeError("concatenate() only takes `out` or `dtype` as an argument, but both were provided.")
    parts = _arrays(arrays)
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        parts, axis = [p.reshape(-1) for p in parts], 0
    ndim = parts[0].ndim
    if ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis(axis, ndim)
    first = parts[0].shape
    length = 0
    for i, part in enumerate(parts):
        shape = part.shape
        if len(shape) != ndim:
            raise ValueError(
                "all the input arrays must have same number of dimensions, but the array at index 0 has "
                f"{ndim} dimension(s) and the array at index {i} has {len(shape)} dimension(s)"
            )
        for j in range(ndim):
            if j != axis and shape[j] != first[j]:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match exactly, but along "
                    f"dimension {j}, the array at index 0 has size {first[j]} "
                    f"and the array at index {i} has size {shape[j]}"
                )
        length += shape[axis]
    name = common_dtype(parts) if dtype is None else dtypes.name_of(dtype)
    if dtype is not None or casting != "same_kind":
        for part in parts:
            check_casting(part.dtype_name, name, casting, "array data")
    shape = (*first[:axis], length, *first[axis + 1 :])
    if isinstance(out, ndarray) and out.shape != shape:
        wrong = "has wrong dimensionality" if out.ndim != ndim else "is the wrong shape"
        raise ValueError(f"Output array {wrong}: {out.shape} instead of {shape}")
    result = empty_in_order(shape, name, joint_order(parts))
    start = 0
    for part in parts:
        stop = start + part.shape[axis]
        if stop > start:
            _core.update(result[along(axis, start, stop)], part)
        start = stop
    return write_out(out, result, "concatenate", casting)


concat = concatenate


@dispatched
def stack(
    arrays: Sequence[ArrayLike], axis: int = 0, out: ndarray | None = None, *, dtype: Any = None,
    casting: str = "same_kind",
) -> ndarray:  # fmt: skip
    """Joins arrays of one shape along a new axis.

    Parameters
    ----------
    arrays : sequence of array_like
        A sequence of arrays of one shape.
    axis : int, default 0
        The position of the new axis in the result.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    dtype : dtype, optional
        The dtype of the result; by default it follows from the operands.
    casting : str, default "same_kind"
        The rule for casts: "no", "equiv", "safe", "same_kind" or "unsafe".

    Returns
    -------
    ndarray
        A new array with one axis more.

    Raises
    ------
    ValueError
        If there are no arrays, or their shapes differ.
    TypeError
        If both `out` and `dtype` are given, or `casting` forbids a cast.

    See Also
    --------
    concatenate, block, split, unstack

    Examples
    --------
    >>> cp.stack(([1, 2], [3, 4]))
    array([[1, 2],
           [3, 4]])
    >>> cp.stack(([1, 2], [3, 4]), axis=1)
    array([[1, 3],
           [2, 4]])
    """
    parts = _arrays(arrays)
    if not parts:
        raise ValueError("need at least one array to stack")
    shape = parts[0].shape
    if any(p.shape != shape for p in parts):
        raise ValueError("all input arrays must have the same shape")
    axis = normalize_axis(axis, len(shape) + 1)
    new = (*shape[:axis], 1, *shape[axis:])
    return concatenate([p.reshape(new) for p in parts], axis, out, dtype=dtype, casting=casting)


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[ndarray, ...]:
    """Returns views of the slices along an axis.

    Parameters
    ----------
    x : array_like
        An array with at least one axis.
    axis : int, default 0
        The axis, by default the first.

    Returns
    -------
    tuple of ndarrays
        A tuple of views without the axis.

    Raises
    ------
    ValueError
        For a 0-d array.

    See Also
    --------
    stack, concatenate, block, split

    Examples
    --------
    >>> cp.unstack(cp.asarray([[1, 2], [3, 4]]), axis=1)
    (array([1, 3]), array([2, 4]))
    """
    x = array(x)
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    front = (slice(None),) * normalize_axis(axis, x.ndim)
    return tuple(x[(*front, i)] for i in range(x.shape[axis]))


@dispatched
def vstack(tup: Sequence[ArrayLike], *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Joins arrays along the first axis. Vectors become rows.

    Parameters
    ----------
    tup : sequence of array_like
        A sequence of arrays or array-likes.
    dtype : dtype, optional
        The dtype of the result; by default it follows from the operands.
    casting : str, default "same_kind"
        The rule for casts: "no", "equiv", "safe", "same_kind" or "unsafe".

    Returns
    -------
    ndarray
        A new array with at least two axes.

    Raises
    ------
    ValueError
        For shapes that do not fit.

    See Also
    --------
    hstack, stack, concatenate

    Examples
    --------
    >>> cp.vstack(([1, 2], [3, 4]))
    array([[1, 2],
           [3, 4]])
    """
    return concatenate([atleast_2d(a) for a in _arrays(tup)], 0, dtype=dtype, casting=casting)


row_stack = vstack


@dispatched
def hstack(tup: Sequence[ArrayLike], *, dtype: Any = None, casting: str = "same_kind") -> ndarray:
    """Joins arrays along the second axis, and vectors along their only axis.

    Parameters
    ----------
    tup : sequence of array_like
        A sequence of arrays or array-likes.
    dtype : dtype, optional
        The dtype of the result; by default it follows from the operands.
    casting : str, default "same_kind"
        The rule for casts: "no", "equiv", "safe", "same_kind" or "unsafe".

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
    concatenate, stack, block, vstack, dstack, column_stack

    Examples
    --------
    >>> cp.hstack(([1, 2], [3]))
    array([1, 2, 3])
    >>> cp.hstack(([[1], [2]], [[3], [4]]))
    array([[1, 3],
           [2, 4]])
    """
    parts = [atleast_1d(a) for a in _arrays(tup)]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@dispatched
def dstack(tup: Sequence[ArrayLike]) -> ndarray:
    """Joins arrays along the third axis. Axes of length one are added to arrays that have fewer.

    Parameters
    ----------
    tup : sequence of array_like
        A sequence of arrays or array-likes.

    Returns
    -------
    ndarray
        A new array with at least three axes.

    Raises
    ------
    ValueError
        For shapes that do not fit.

    See Also
    --------
    concatenate, stack, block, vstack, hstack, column_stack

    Examples
    --------
    >>> cp.dstack(([1, 2], [3, 4]))
    array([[[1, 3],
            [2, 4]]])
    """
    return concatenate([atleast_3d(a) for a in _arrays(tup)], 2)


@dispatched
def column_stack(tup: Sequence[ArrayLike]) -> ndarray:
    """Joins vectors, as columns, and matrices along the second axis.

    Parameters
    ----------
    tup : sequence of array_like
        A sequence of arrays or array-likes.

    Returns
    -------
    ndarray
        A 2-d array.

    Raises
    ------
    ValueError
        For vectors and matrices with different numbers of rows.

    See Also
    --------
    stack, hstack, vstack, concatenate

    Examples
    --------
    >>> cp.column_stack(([1, 2], [3, 4]))
    array([[1, 3],
           [2, 4]])
    """
    parts = _arrays(tup)
    return concatenate([p.reshape((-1, 1)) if p.ndim < 2 else p for p in parts], 1)


def block(arrays: Any) -> ndarray:
    """Returns an array from nested lists of blocks. The innermost lists are joined along the last axis, the next level
    along the axis before it, and so on.

    Parameters
    ----------
    arrays : array_like
        Nested lists of arrays or scalars.

    Returns
    -------
    ndarray
        A new array.

    Raises
    ------
    ValueError
        For empty lists, different depths, and shapes that do not fit.

    See Also
    --------
    concatenate, stack, vstack, hstack, dstack, column_stack

    Examples
    --------
    >>> cp.block([[cp.eye(2), cp.zeros((2, 1))], [cp.ones((1, 3))]])
    array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 1., 1.]])
    """

    def depth(x: Any) -> int:
        return 1 + max((depth(y) for y in x), default=0) if isinstance(x, list) else 0

    levels = depth(arrays)

    def leaves(x: Any) -> Any:
        return [leaves(y) for y in x] if isinstance(x, list) else array(x)

    def most(x: Any) -> int:
        return max(map(most, x), default=0) if isinstance(x, list) else x.ndim

    tree = leaves(arrays)
    ndim = max(levels, most(tree))

    def join(x: Any, level: int) -> ndarray:
        if not isinstance(x, list):
            if level != levels:
                raise ValueError(f"List depths are mismatched: depth {level} where {levels} was expected")
            return x.reshape((1,) * (ndim - x.ndim) + x.shape)
        if not x:
            if level + 1 != levels:
                raise ValueError(f"List depths are mismatched: depth {level + 1} where {levels} was expected")
            raise ValueError("List at arrays cannot be empty")
        return concatenate([join(y, level + 1) for y in x], ndim - levels + level)

    return join(tree, 0).copy() if levels == 0 else join(tree, 0)


# --- splitting


def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Returns views of consecutive parts along an axis: a number of parts of nearly equal length, or split positions.

    Parameters
    ----------
    ary : array_like
        An array or array-like.
    indices_or_sections : int or array_like
        A number of parts, or the positions at which to split.
    axis : int, default 0
        The axis to split.

    Returns
    -------
    list of ndarrays
        A list of views.

    Raises
    ------
    ValueError
        For fewer than one part.

    See Also
    --------
    split

    Examples
    --------
    >>> cp.array_split(cp.arange(5), 2)
    [array([0, 1, 2]), array([3, 4])]
    """
    ary = array(ary)
    if ary.ndim == 0:
        raise IndexError("tuple index out of range")
    axis = normalize_axis(axis, ary.ndim)
    n = ary.shape[axis]
    if hasattr(indices_or_sections, "__index__") and not getattr(indices_or_sections, "ndim", 0):
        sections = operator.index(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(n, sections)
        cuts = [each * i + min(i, extra) for i in range(1, sections)]
    else:
        given = indices_or_sections
        cuts = [operator.index(i) for i in (asnumpy(given) if isinstance(given, ndarray) else given)]
    return [ary[along(axis, start, stop)] for start, stop in zip([0, *cuts], [*cuts, n], strict=True)]


def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Returns views of consecutive parts along an axis. A number of parts must divide the length of the axis.

    Parameters
    ----------
    ary : array_like
        An array or array-like.
    indices_or_sections : int or array_like
        A number of parts, or the positions at which to split.
    axis : int, default 0
        The axis to split.

    Returns
    -------
    list of ndarrays
        A list of views.

    Raises
    ------
    ValueError
        If the number of parts does not divide the length.
    ZeroDivisionError
        If the number of parts is zero.

    See Also
    --------
    array_split, hsplit, vsplit, dsplit, concatenate, stack

    Examples
    --------
    >>> cp.split(cp.arange(4), 2)
    [array([0, 1]), array([2, 3])]
    >>> cp.split(cp.arange(5), [1, 3])
    [array([0]), array([1, 2]), array([3, 4])]
    """
    ary = array(ary)
    sections = indices_or_sections if isinstance(indices_or_sections, int) else 1
    if sections == 0 and ary.ndim:
        raise ZeroDivisionError("integer modulo by zero")
    if ary.ndim and ary.shape[normalize_axis(axis, ary.ndim)] % sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[ndarray]:
    """Splits an array with at least two axes along the first.

    Parameters
    ----------
    ary : array_like
        An array with at least two axes.
    indices_or_sections : int or array_like
        A number of parts, or the positions at which to split.

    Returns
    -------
    list of ndarrays
        A list of views.

    Raises
    ------
    ValueError
        For fewer than two axes.

    See Also
    --------
    split

    Examples
    --------
    >>> cp.vsplit(cp.asarray([[1, 2], [3, 4]]), 2)
    [array([[1, 2]]), array([[3, 4]])]
    """
    ary = array(ary)
    if ary.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[ndarray]:
    """Splits along the second axis, or a vector along its only axis.

    Parameters
    ----------
    ary : array_like
        An array with at least one axis.
    indices_or_sections : int or array_like
        A number of parts, or the positions at which to split.

    Returns
    -------
    list of ndarrays
        A list of views.

    Raises
    ------
    ValueError
        For a 0-d array.

    See Also
    --------
    split

    Examples
    --------
    >>> cp.hsplit(cp.asarray([[1, 2], [3, 4]]), 2)
    [array([[1],
           [3]]), array([[2],
           [4]])]
    """
    ary = array(ary)
    if ary.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[ndarray]:
    """Splits along the third axis.

    Parameters
    ----------
    ary : array_like
        An array with at least three axes.
    indices_or_sections : int or array_like
        A number of parts, or the positions at which to split.

    Returns
    -------
    list of ndarrays
        A list of views.

    Raises
    ------
    ValueError
        For fewer than three axes.

    See Also
    --------
    split

    Examples
    --------
    >>> [part.shape for part in cp.dsplit(cp.ones((2, 2, 4)), 2)]
    [(2, 2, 2), (2, 2, 2)]
    """
    ary = array(ary)
    if ary.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


# --- repeating


def tile(A: ArrayLike, reps: Any) -> ndarray:
    """Returns an array repeated `reps` times along each axis.

    Parameters
    ----------
    A : array_like
        An array or array-like.
    reps : int
        The number of copies, or a number for each axis, of which the last one is for the last axis.

    Returns
    -------
    ndarray
        A new array.

    See Also
    --------
    repeat, broadcast_to

    Examples
    --------
    >>> cp.tile([1, 2], 2)
    array([1, 2, 1, 2])
    >>> cp.tile([1, 2], (2, 1))
    array([[1, 2],
           [1, 2]])
    """
    A = array(A)
    times = tuple(operator.index(r) for r in reps) if isinstance(reps, (tuple, list)) else (operator.index(reps),)
    ndim = max(A.ndim, len(times))
    times = (1,) * (ndim - len(times)) + times
    shape = (1,) * (ndim - A.ndim) + A.shape
    if times == (1,) * ndim:
        return A.copy("K").reshape(shape)
    paired = [k for r, n in zip(times, shape, strict=True) for k in (r, n)]
    source = A.reshape(tuple(k for n in shape for k in (1, n)))
    return _core.broadcast_to(source, paired).copy().reshape(tuple(r * n for r, n in zip(times, shape, strict=True)))


@on_array_device
def repeat(a: ArrayLike, repeats: Any, axis: Axis = None) -> ndarray:
    """Repeats each element (or slice along an axis), by one count for all or a count for each.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    repeats : int
        The count, or a count for each element.
    axis : int, optional
        The axis; None (the default) flattens the array.

    Returns
    -------
    ndarray
        A new array.

    Raises
    ------
    TypeError
        If the counts are not integers.
    ValueError
        If a count is negative, or the number of counts is not the length of the axis.

    See Also
    --------
    tile, unique

    Examples
    --------
    >>> cp.repeat([1, 2], 2)
    array([1, 1, 2, 2])
    >>> cp.repeat([[1, 2], [3, 4]], [1, 2], axis=0)
    array([[1, 2],
           [3, 4],
           [3, 4]])
    """
    a, axis = with_axis(a, axis)
    n = a.shape[axis]
    if isinstance(repeats, (list, tuple)) and len(repeats) == 1:
        repeats = repeats[0]
    if isinstance(repeats, int) or not getattr(repeats, "ndim", 1):
        count = operator.index(repeats)
        if count < 0:
            raise ValueError("repeats may not contain negative values.")
        before, after = a.shape[: axis + 1], a.shape[axis + 1 :]
        wide = _core.broadcast_to(a.reshape((*before, 1, *after)), (*before, count, *after))
        return wide.copy().reshape((*a.shape[:axis], n * count, *after))
    given = convert(repeats)
    if given.size:  # an empty list has no dtype of its own
        check_casting(given.dtype_name, "int64", "safe", "array data")
    counts = astype(given, "int64")
    if counts.shape == (1,):
        return repeat(a, int(counts[0]), axis)
    if counts.shape != (n,):
        raise ValueError(f"operands could not be broadcast together with shape {(n,)} {counts.shape}")
    if n == 0:
        return a.copy()
    if int(_core.reduce("min", counts, None)) < 0:
        raise ValueError("repeats may not contain negative values.")
    ends = _core.scan("sum", counts, 0)
    total = int(ends[-1])
    return take(a, _core.searchsorted(ends, _core.iota((total,), (1,), 0), True), axis)


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
    obj : index
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
    obj : array_like
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


__all__ = [
    "append", "array_split", "block", "column_stack", "concat", "concatenate", "delete", "dsplit", "dstack",
    "hsplit", "hstack", "insert", "repeat", "row_stack", "split", "stack", "tile", "unstack", "vsplit",
    "vstack",
]  # fmt: skip
