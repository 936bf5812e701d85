"""Repeating arrays and their elements."""

from __future__ import annotations

import operator
from typing import Any

from cuprous import _core
from cuprous._common.arguments import ArrayLike, Axis, array, ndarray, with_axis
from cuprous._common.casting import astype, check_casting
from cuprous._common.convert import convert
from cuprous._common.operands import on_array_device
from cuprous._functions.selection import take


def tile(A: ArrayLike, reps: Any) -> ndarray:
    """Returns an array repeated `reps` times along each axis.

    Parameters
    ----------
    A : array_like
        An array or array-like.
    reps : int or sequence of ints
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
    repeats : int or sequence of ints
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


__all__ = ["repeat", "tile"]
