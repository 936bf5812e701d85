"""Rearranging elements: flips, rotations and shifts; trimming and resizing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._common.arguments import (
    ArrayLike,
    Axes,
    Shape,
    along,
    as_shape,
    ndarray,
    normalize_axes,
    normalize_axis,
)
from cuprous._common.arguments import array as as_array
from cuprous._common.indexing import gather_flat
from cuprous._common.layout import axis_order, empty_in_order
from cuprous._common.operands import on_array_device
from cuprous._functions.counting import argwhere
from cuprous._functions.manipulation import swapaxes


def flip(m: ArrayLike, axis: Axes = None) -> ndarray:
    """Returns a view with the order of elements along axes reversed.

    Parameters
    ----------
    m : array_like
        An array or array-like.
    axis : int or tuple of ints, optional
        The axis or axes; None (the default) reverses all.

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
    flipud, fliplr

    Examples
    --------
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

    Parameters
    ----------
    m : array_like
        An array with at least one axis.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        For a 0-d array.

    See Also
    --------
    fliplr, flip, rot90

    Examples
    --------
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

    Parameters
    ----------
    m : array_like
        An array with at least two axes.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        For fewer than two axes.

    See Also
    --------
    flipud, flip, rot90

    Examples
    --------
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

    Parameters
    ----------
    m : array_like
        An array with at least two axes.
    k : int, default 1
        The number of quarter turns, which may be negative.
    axes : pair of ints, default (0, 1)
        The plane, two different axes.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        Unless `axes` are two different axes of the array.

    See Also
    --------
    flip, fliplr, flipud

    Examples
    --------
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


@on_array_device
def roll(a: ArrayLike, shift: int | Sequence[int], axis: Axes = None) -> ndarray:
    """Returns the elements rolled along axes. Elements beyond one end reappear at the other.

    Parameters
    ----------
    a : array_like
        An array or array-like of any dtype.
    shift : int or sequence of ints
        The number of positions, or a number for each axis.
    axis : int or sequence of ints, optional
        The axis or axes; None (the default) rolls the flattened array.

    Returns
    -------
    ndarray
        An array of the same shape.

    Raises
    ------
    ValueError
        For shifts and axes that do not broadcast to one dimension.
    AxisError
        For an axis out of bounds.

    See Also
    --------
    rollaxis

    Examples
    --------
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


@on_array_device
def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Axes = None) -> Any:
    """Returns a view without the zeros at the ends of axes. The positions are copied to the host.

    Parameters
    ----------
    filt : array_like
        An array, list or tuple.
    trim : str, default "fb"
        The ends to trim: "f" for the front, "b" for the back, "fb" for both.
    axis : int or tuple of ints, optional
        The axis or axes; None (the default) trims all.

    Returns
    -------
    ndarray
        A view, or a part of the list or tuple that was passed.

    Raises
    ------
    ValueError
        For other letters in `trim`.

    See Also
    --------
    nonzero

    Examples
    --------
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
        bounds = [_core.reduce(op, nonzero_indices, (0,)).get().tolist() for op in ("min", "max")]
        parts = [
            slice(first if "f" in trim else None, last + 1 if "b" in trim else None) if i in axes else slice(None)
            for i, (first, last) in enumerate(zip(*bounds, strict=True))
        ]
    return given[parts[0]] if len(parts) == 1 and isinstance(given, (list, tuple)) else filt[tuple(parts)]


@on_array_device
def resize(a: ArrayLike, new_shape: Shape) -> ndarray:
    """Returns a new array of any shape, filled with repeated copies of the elements.

    Parameters
    ----------
    a : array_like
        An array or array-like of any dtype.
    new_shape : int or tuple of ints
        The shape of the result.

    Returns
    -------
    ndarray
        An array of the new shape; zeros if `a` has no elements.

    See Also
    --------
    reshape, pad, repeat

    Examples
    --------
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


__all__ = ["flip", "fliplr", "flipud", "resize", "roll", "rot90", "trim_zeros"]
