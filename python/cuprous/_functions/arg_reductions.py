"""Indices of the greatest and the least elements: argmax and argmin."""

from __future__ import annotations

from typing import Any

from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, Axis, array, ndarray, normalize_axis
from cuprous._common.casting import astype
from cuprous._functions.reductions import _finish, _reduce, _reduced_count


def _arg(op: str, a: ArrayLike, axis: Axis, out: Any, keepdims: bool, dtype: Any) -> ndarray:
    a = array(a)
    axes = None if axis is None or (a.ndim == 0 and axis in (0, -1)) else (normalize_axis(axis, a.ndim),)
    if _reduced_count(a.shape, axes) == 0:
        raise ValueError(f"attempt to get {op} of an empty sequence")
    result = _reduce(op, a, axes, keepdims)
    return _finish(result if dtype is None else astype(result, dtypes.name_of(dtype)), op, None, out)


def argmax(
    a: ArrayLike, axis: Axis = None, out: ndarray | None = None, *, keepdims: bool = False, dtype: Any = None
) -> ndarray:
    """Returns the index (int64, or `dtype`) of the first greatest element, along an axis or in the flattened array.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int, optional
        The axis; None (the default) takes the flattened array.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    dtype : dtype, optional
        The dtype of the indices, int64 by default.

    Returns
    -------
    ndarray
        An array of indices without the axis.

    Raises
    ------
    ValueError
        For an empty axis.

    See Also
    --------
    argmin, amax, unravel_index, take_along_axis

    Examples
    --------
    >>> cp.argmax([3, 7, 7])
    array(1)
    >>> cp.argmax([[1, 5], [8, 2]], axis=0)
    array([1, 0])
    """
    return _arg("argmax", a, axis, out, keepdims, dtype)


def argmin(
    a: ArrayLike, axis: Axis = None, out: ndarray | None = None, *, keepdims: bool = False, dtype: Any = None
) -> ndarray:
    """Returns the index (int64, or `dtype`) of the first least element, along an axis or in the flattened array.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int, optional
        The axis; None (the default) takes the flattened array.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    dtype : dtype, optional
        The dtype of the indices, int64 by default.

    Returns
    -------
    ndarray
        An array of indices without the axis.

    Raises
    ------
    ValueError
        For an empty axis.

    See Also
    --------
    argmax, amin, unravel_index, take_along_axis

    Examples
    --------
    >>> cp.argmin([3, 1, 1])
    array(1)
    >>> cp.argmin([[1, 5], [8, 2]], axis=1)
    array([0, 1])
    """
    return _arg("argmin", a, axis, out, keepdims, dtype)


__all__ = ["argmax", "argmin"]
