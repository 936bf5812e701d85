"""Sorting, ordering and searching. Every sort is stable and puts NaN last."""

from __future__ import annotations

import operator
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, Axis, array, ndarray, normalize_axis, with_axis, write_out
from cuprous._common.casting import astype, check_casting, common_dtype
from cuprous._common.layout import axis_order, inverse
from cuprous._common.operands import on_array_device
from cuprous._functions.manipulation import moveaxis
from cuprous._functions.rearrangement import flip
from cuprous._functions.reductions import any as any_
from cuprous._functions.selection import take, take_along_axis

#: The first letters of the kinds of sorts.
_KINDS = ("q", "h", "m", "s")


def _check(kind: str | None, order: Any, stable: bool | None) -> None:
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")
    if kind is not None:
        if not isinstance(kind, str):
            raise TypeError(f"sort kind must be str, not {type(kind).__name__}")
        if kind[:1].lower() not in _KINDS:  # NumPy compares the first letter only
            raise ValueError(f"sort kind must be one of 'quick', 'heap', or 'stable' (got '{kind}')")
    if stable is not None and kind is not None:
        raise ValueError("`kind` and keyword parameters can't be provided at the same time. Use only one of them.")


def _along(function: Any, a: ArrayLike, axis: Axis) -> ndarray:
    a, axis = with_axis(a, axis, scalars=function is _core.argsort)  # NumPy orders scalars, but does not sort them
    if a.size == 0 or a.ndim - 1 == axis:
        return function(a)
    return moveaxis(function(moveaxis(a, axis, -1)), -1, axis).copy()  # in C order


def _sorted(a: ArrayLike, axis: Axis, function: Any = _core.sort) -> ndarray:
    """Returns a copy that is sorted (or ordered by `function`) and has the memory layout of `a`."""
    a = array(a)
    axes = None if axis is None or not a.ndim else axis_order(a, "K")
    if axes is None:
        return _along(function, a, axis)
    return _along(function, a.transpose(axes), axes.index(normalize_axis(axis, a.ndim))).transpose(inverse(axes))


def sort(
    a: ArrayLike, axis: Axis = -1, kind: str | None = None, order: Any = None, *, stable: bool | None = None,
    descending: bool = False,
) -> ndarray:  # fmt: skip
    """Returns a copy sorted along an axis. NaN comes last, or first in descending order.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int, default -1
        The axis, by default the last; None takes the flattened array.
    kind : str, optional
        Has no effect on the result; all kinds are one stable sort.
    order : None, optional
        None, because arrays have no fields.
    stable : bool, optional
        Has no effect, because sorts are stable.
    descending : bool, default False
        Whether the greatest elements come first.

    Returns
    -------
    ndarray
        An array of the shape and dtype of `a`.

    Raises
    ------
    AxisError
        For an axis out of bounds.

    See Also
    --------
    ndarray.sort, argsort, lexsort, searchsorted, partition

    Examples
    --------
    >>> cp.sort([3, 1, 2])
    array([1, 2, 3])
    >>> cp.sort([[3, 1], [2, 4]], axis=0)
    array([[2, 1],
           [3, 4]])
    """
    _check(kind, order, stable)
    result = _sorted(a, axis)
    return _reversed(result, axis).copy() if descending else result


def argsort(
    a: ArrayLike, axis: Axis = -1, kind: str | None = None, order: Any = None, *, stable: bool | None = None,
    descending: bool = False,
) -> ndarray:  # fmt: skip
    """Returns the indices (int64) that sort along an axis (None: the flattened array). Equal elements keep their order,
    even in descending order, which puts NaN first.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int, default -1
        The axis, by default the last; None takes the flattened array.
    kind : str, optional
        Has no effect on the result; all kinds are one stable sort.
    order : None, optional
        None, because arrays have no fields.
    stable : bool, optional
        Has no effect, because sorts are stable.
    descending : bool, default False
        Whether the greatest elements come first.

    Returns
    -------
    ndarray
        An array of indices (int64) of the shape of `a`.

    Raises
    ------
    AxisError
        For an axis out of bounds.

    See Also
    --------
    sort, lexsort, ndarray.sort, argpartition, take_along_axis

    Examples
    --------
    >>> cp.argsort([30, 10, 20])
    array([1, 2, 0])
    >>> cp.argsort([30, 10, 20], descending=True)
    array([0, 2, 1])
    """
    _check(kind, order, stable)
    if not descending:
        return _along(_core.argsort, a, axis)
    a = array(a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    if a.ndim == 0:
        return _along(_core.argsort, a, axis)
    # Reversing before and after the sort keeps equal elements in their order.
    backwards = _along(_core.argsort, _reversed(a, axis), axis)
    return a.shape[axis] - 1 - _reversed(backwards, axis)


def _reversed(a: ndarray, axis: Axis) -> ndarray:
    return flip(a, 0 if axis is None else axis) if a.ndim else a


def _partition_positions(kth: Any, n: int) -> set[int]:
    """Returns the positions that a partition must put in order, counted from the front.

    Raises
    ------
    TypeError
        If a position is not an integer.
    ValueError
        For bools, positions out of bounds, and nested lists.
    """
    given = kth.tolist() if hasattr(kth, "tolist") else kth
    positions = set()
    for k in given if isinstance(given, (list, tuple, range)) else [given]:
        if isinstance(k, bool):
            raise ValueError("Booleans unacceptable as partition index")
        if isinstance(k, (list, tuple)):
            raise ValueError("kth must be an integer or a sequence of integers")
        if not hasattr(k, "__index__"):
            raise TypeError("Partition index must be integer")
        if not -n <= operator.index(k) < n and n:
            raise ValueError(f"kth(={k}) out of bounds ({n})")
        positions.add(operator.index(k) % max(n, 1))
    if not positions:
        raise TypeError("Partition index must be integer")
    return positions


def _partition(a: ndarray, kth: Any, axis: Axis, kind: str, order: Any, indices: bool) -> ndarray:
    _check(None if kind == "introselect" else kind, order, None)
    positions = _partition_positions(kth, a.size if axis is None else a.shape[normalize_axis(axis, a.ndim)])
    if len(positions) != 1 or not a.size:
        return _along(_core.argsort, a, axis) if indices else _sorted(a, axis)
    (position,) = positions
    if indices:
        return _along(lambda rows: _core.partition(rows, position, True), a, axis)
    return _sorted(a, axis, lambda rows: _core.partition(rows, position, False))


def partition(a: ArrayLike, kth: Any, axis: Axis = -1, kind: str = "introselect", order: Any = None) -> ndarray:
    """Returns a copy with the kth elements at their sorted positions, no greater elements before and no lesser ones
    after.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    kth : array_like
        The position or positions that will hold the same elements as in a sorted array.
    axis : int, default -1
        The axis, by default the last; None takes the flattened array.
    kind : str, default "introselect"
        "introselect", the only one.
    order : None, optional
        None, because arrays have no fields.

    Returns
    -------
    ndarray
        An array of the shape and dtype of `a`.

    Raises
    ------
    ValueError
        For a position out of bounds.

    See Also
    --------
    ndarray.partition, argpartition, sort

    Examples
    --------
    >>> cp.partition([7, 1, 5, 3], 1)[1]
    array(3)
    """
    return _partition(array(a), kth, axis, kind, order, False)


def argpartition(a: ArrayLike, kth: Any, axis: Axis = -1, kind: str = "introselect", order: Any = None) -> ndarray:
    """Returns the indices that `partition` would select.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    kth : array_like
        The position or positions that will hold the same elements as in a sorted array.
    axis : int, default -1
        The axis, by default the last; None takes the flattened array.
    kind : str, default "introselect"
        "introselect", the only one.
    order : None, optional
        None, because arrays have no fields.

    Returns
    -------
    ndarray
        An array of indices (int64) of the shape of `a`.

    Raises
    ------
    ValueError
        For a position out of bounds.

    See Also
    --------
    partition, ndarray.partition, argsort, take_along_axis

    Examples
    --------
    >>> a = cp.asarray([7, 1, 5, 3])
    >>> a[cp.argpartition(a, 1)[1]]
    array(3)
    """
    a = array(a)
    return _partition(a if a.ndim else a.reshape(1), kth, axis, kind, order, True)


def topk(a: ArrayLike, k: int, axis: int = -1, largest: bool = True) -> tuple[ndarray, ndarray]:
    """Returns the greatest or least k elements along an axis, sorted, and their indices.

    As PyTorch's `topk`; NumPy has no such function. Equal elements are in the order of their indices. NaN is greater
    than all numbers.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    k : int
        The number of elements.
    axis : int, default -1
        The axis, by default the last.
    largest : bool, default True
        True returns the greatest elements in descending order, False the least ones in ascending order.

    Returns
    -------
    pair of ndarrays
        A tuple of the elements and their indices (int64), with k elements along the axis.

    Raises
    ------
    ValueError
        For k not in 0..n.
    TypeError
        For complex numbers.

    See Also
    --------
    partition, argpartition, sort

    Examples
    --------
    >>> values, indices = cp.topk([4, 9, 7, 1], 2)
    >>> values, indices
    (array([9, 7]), array([1, 2]))
    """
    a, axis = with_axis(a, axis)
    rows, n = moveaxis(a, axis, -1), a.shape[axis]
    if not 0 <= operator.index(k) <= n:
        raise ValueError(f"[topk] k = {k} is not in 0..{n}")
    if dtypes.kind(a.dtype_name) == "c":
        raise TypeError("[topk] complex numbers have no order by size")
    if k == 0 or not a.size or 2 * k > n or n >= 1 << 31:
        order = argsort(rows, -1, descending=largest)[..., :k]
    else:
        order = _core.topk(rows, k, largest)
    strides = rows.element_strides
    offsets = order * strides[-1]
    if rows.ndim > 1:
        offsets = _core.iota(order.shape, (*strides[:-1], 0), 0) + offsets
    return moveaxis(_core.gather(rows, offsets), -1, axis), moveaxis(order, -1, axis)


def lexsort(keys: Any, axis: int = -1) -> ndarray:
    """Returns the indices that sort by several keys, of which the last is the primary key.

    Parameters
    ----------
    keys : array_like
        An array whose rows are keys, or a sequence of arrays of one shape.
    axis : int, default -1
        The axis, by default the last.

    Returns
    -------
    ndarray
        An array of indices (int64) of the shape of a key.

    Raises
    ------
    TypeError
        If there are no keys.
    ValueError
        For keys of different shapes.

    See Also
    --------
    argsort, ndarray.sort, sort

    Examples
    --------
    >>> cp.lexsort((cp.asarray([3, 1, 2]), cp.asarray([1, 1, 0])))
    array([2, 1, 0])
    """
    parts = [array(k) for k in keys]
    if not parts:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if any(p.shape != parts[0].shape for p in parts):
        raise ValueError("all keys need to be the same shape")
    if parts[0].ndim == 0:
        return _core.full((), 0, "int64")
    axis = normalize_axis(axis, parts[0].ndim)
    order = argsort(parts[0], axis)
    for key in parts[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return order


def sort_complex(a: ArrayLike) -> ndarray:
    """Returns the elements as complex numbers, sorted by real, then imaginary part.

    Parameters
    ----------
    a : array_like
        An array or array-like.

    Returns
    -------
    ndarray
        A complex array of the shape of `a`.

    See Also
    --------
    sort, real, imag

    Examples
    --------
    >>> cp.sort_complex([2 + 1j, 1 + 2j, 1 - 1j])
    array([1.-1.j, 1.+2.j, 2.+1.j])
    """
    a = array(a)
    if dtypes.kind(a.dtype_name) != "c":
        narrow = a.dtype_name in ("int8", "uint8", "int16", "uint16")
        a = _core.cast(a, "complex64" if narrow else "complex128")
    return sort(a)


def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike = None) -> ndarray:
    """Returns the indices (int64) where values would be inserted in a sorted 1-d array.

    Parameters
    ----------
    a : array_like
        The sorted 1-d array.
    v : array_like
        The values, a scalar or an array-like of any shape.
    side : str, default "left"
        "left" for the first such position among equal elements, "right" for the last one.
    sorter : array_like, optional
        Indices that sort `a`, if it is not sorted.

    Returns
    -------
    ndarray
        An array of indices of the shape of `v`.

    Raises
    ------
    ValueError
        For an array that is not 1-d, another `side`, or a sorter of another length.
    TypeError
        For a sorter that is not of integers.

    See Also
    --------
    sort, histogram

    Examples
    --------
    >>> cp.searchsorted([10, 20, 20, 30], [20, 25])
    array([1, 3])
    >>> cp.searchsorted([10, 20, 20, 30], 20, side="right")
    array(3)
    """
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got '{side}')")
    a = array(a)
    v = array(v)
    if a.ndim != 1:
        raise ValueError(
            "object too deep for desired array" if a.ndim else "object of too small depth for desired array"
        )
    if sorter is not None:
        order = array(sorter)
        if dtypes.kind(order.dtype_name) not in "iu":
            raise TypeError("sorter must only contain integers")
        if order.shape != a.shape:
            raise ValueError("sorter.size must equal len(a)")
        a = take(a, order)
    name = common_dtype((a, v))
    return _core.searchsorted(astype(a, name), astype(v, name), side == "right")


@on_array_device
def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> ndarray:
    """Returns the index of the bin of each value.

    Parameters
    ----------
    x : array_like
        The values, an array-like of any shape.
    bins : array_like
        The edges of the bins, 1-d, in ascending or descending order.
    right : bool, default False
        Whether a bin includes its right edge instead of its left edge.

    Returns
    -------
    ndarray
        An array of indices (int64) of the shape of `x`: i for `bins[i - 1] <= x < bins[i]`.

    Raises
    ------
    TypeError
        For complex values.
    ValueError
        For bins that are not 1-d or not monotonic.

    See Also
    --------
    bincount, histogram, unique, searchsorted

    Examples
    --------
    >>> cp.digitize([0.5, 1, 3.2, 9], [1, 2, 4])
    array([0, 1, 2, 3])
    """
    edges = array(bins)
    if edges.ndim != 1:
        raise ValueError("object too deep for desired array")
    x = array(x)
    if dtypes.kind(x.dtype_name) == "c":
        raise TypeError("x may not be complex")
    check_casting(edges.dtype_name, "float64", "same_kind", "array data")
    rising = True
    if edges.size > 1:
        up, down, differ = edges[1:] > edges[:-1], edges[1:] < edges[:-1], edges[1:] != edges[:-1]
        # The first two edges that differ decide the order; a NaN makes it decreasing, as in NumPy.
        first = _core.reduce("argmax", differ, None)
        rising = not bool(any_(differ)) or bool(_core.gather(up, first))
        if bool(any_(down if rising else up)):
            raise ValueError("bins must be monotonically increasing or decreasing")
    side = "left" if right else "right"
    if rising:
        return searchsorted(edges, x, side)
    return edges.size - searchsorted(edges[::-1], x, side)


def write_sorted(a: ndarray, axis: int = -1, kind: str | None = None, order: Any = None, *,
                 stable: bool | None = None) -> None:  # fmt: skip
    """Sorts in place along an axis (`ndarray.sort`).

    Parameters
    ----------
    a : ndarray
        An array or array-like.
    axis : int, default -1
        The axis, by default the last; None takes the flattened array.
    kind : str, optional
        Has no effect on the result; all kinds are one stable sort.
    order : None, optional
        None, because arrays have no fields.
    stable : bool, optional
        Has no effect, because sorts are stable.

    Raises
    ------
    AxisError
        For an axis out of bounds.

    Examples
    --------
    >>> a = cp.asarray([3, 1, 2])
    >>> a.sort()
    >>> a
    array([1, 2, 3])
    """
    write_out(a, sort(a, operator.index(axis), kind, order, stable=stable), "sort")


__all__ = [
    "argpartition", "argsort", "digitize", "lexsort", "partition", "searchsorted", "sort", "sort_complex", "topk",
]  # fmt: skip
