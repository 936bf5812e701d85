"""Python functions applied along an axis and over axes."""

from __future__ import annotations

from typing import Any

from cuprous._common.arguments import ArrayLike, array, ndarray, normalize_axis
from cuprous._functions.index_tricks import ndindex
from cuprous._functions.joining import stack
from cuprous._functions.manipulation import expand_dims, moveaxis


def apply_along_axis(func1d: Any, axis: int, arr: ArrayLike, *args: Any, **kwargs: Any) -> ndarray:
    """Applies a function of a 1-d array to each slice along an axis. The calls are recorded one by one.

    Parameters
    ----------
    func1d : callable
        A function of a 1-d array that returns a scalar or an array.
    axis : int
        The axis along which slices are taken.
    arr : array_like
        An array or array-like.
    *args : any
        Further arguments of the function.
    **kwargs : any
        Keyword arguments of the function.

    Returns
    -------
    ndarray
        An array of the results; the axes that the function returns take the place of the axis.

    Raises
    ------
    ValueError
        If the other axes are empty.

    See Also
    --------
    apply_over_axes

    Examples
    --------
    >>> cp.apply_along_axis(lambda row: row[::-1], 1, [[1, 2], [3, 4]])
    array([[2, 1],
           [4, 3]])
    """
    arr = array(arr)
    axis = normalize_axis(axis, arr.ndim)
    moved = moveaxis(arr, axis, -1)
    outer = moved.shape[:-1]
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [array(func1d(moved[index], *args, **kwargs)) for index in ndindex(outer)]
    inner = results[0].shape
    joined = stack(results).reshape(outer + inner)
    axes = [len(outer) + i for i in range(len(inner))]
    return moveaxis(joined, axes, [axis + i for i in range(len(inner))]) if inner else joined


def apply_over_axes(func: Any, a: ArrayLike, axes: Any) -> ndarray:
    """Applies a reduction to one axis after another and keeps the axes with length one.

    Parameters
    ----------
    func : callable
        A function `func(a, axis)`, such as `cp.sum`.
    a : array_like
        An array or array-like.
    axes : int or tuple of ints
        The axis or axes.

    Returns
    -------
    ndarray
        An array with as many axes as `a`.

    Raises
    ------
    ValueError
        If the result of the function has neither as many axes as `a` nor one axis less.

    See Also
    --------
    apply_along_axis

    Examples
    --------
    >>> cp.apply_over_axes(cp.sum, cp.ones((2, 3, 4)), (0, 2)).shape
    (1, 3, 1)
    """
    result = array(a)
    for axis in [axes] if isinstance(axes, int) else axes:
        axis = normalize_axis(axis, result.ndim)
        reduced = func(result, axis)
        if result.ndim - reduced.ndim not in (0, 1):
            raise ValueError("function is not returning an array of the correct shape")
        result = reduced if reduced.ndim == result.ndim else expand_dims(reduced, axis)
    return result


__all__ = ["apply_along_axis", "apply_over_axes"]
