"""Joining arrays: along an axis, along a new one, and from nested blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, Axis, along, array, as_operands, ndarray, normalize_axis, write_out
from cuprous._common.casting import check_casting, check_rule, common_dtype
from cuprous._common.layout import empty_in_order, joint_order
from cuprous._common.operands import on_array_device
from cuprous._common.overrides import dispatched
from cuprous._functions.manipulation import atleast_1d, atleast_2d, atleast_3d

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
    axis : int or None, default 0
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

    def named(index: tuple[int | None, ...]) -> str:
        return "arrays" + "".join(f"[{i}]" for i in index if i is not None)

    def deepest(x: Any, index: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """Returns the index of the first innermost element, or with None at its end that of an empty list."""
        if not isinstance(x, list):
            return index
        first: tuple[int | None, ...] = (*index, None)
        for i, y in enumerate(x):
            found = deepest(y, (*index, i))
            if i and len(found) != len(first):
                raise ValueError(f"List depths are mismatched. First element was at depth {len(first)}, but there is "
                                 f"an element at depth {len(found)} ({named(found)})")  # fmt: skip
            first = found if i == 0 or found[-1] is None else first
        return first

    bottom = deepest(arrays, ())
    if bottom and bottom[-1] is None:
        raise ValueError(f"List at {named(bottom)} cannot be empty")
    levels = len(bottom)

    def leaves(x: Any) -> Any:
        return [leaves(y) for y in x] if isinstance(x, list) else array(x)

    def most(x: Any) -> int:
        return max(map(most, x), default=0) if isinstance(x, list) else x.ndim

    tree = leaves(arrays)
    ndim = max(levels, most(tree))

    def join(x: Any, level: int) -> ndarray:
        if not isinstance(x, list):
            return x.reshape((1,) * (ndim - x.ndim) + x.shape)
        return concatenate([join(y, level + 1) for y in x], ndim - levels + level)

    return join(tree, 0).copy() if levels == 0 else join(tree, 0)


__all__ = ["block", "column_stack", "concat", "concatenate", "dstack", "hstack", "row_stack", "stack", "vstack"]
