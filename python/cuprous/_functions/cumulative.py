"""Cumulative sums and products along an axis."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.arguments import ArrayLike, Axis, along, array, ndarray, normalize_axis
from cuprous._common.casting import astype, sum_dtype
from cuprous._common.layout import axis_order, empty_in_order
from cuprous._common.operands import on_array_device
from cuprous._functions.reductions import _finish


def _scan(op: str, a: ArrayLike, axis: Axis, dtype: Any, out: Any, name: str) -> ndarray:
    a = array(a)
    if axis is None or (a.ndim == 0 and axis in (0, -1)):
        a, axis = a.reshape(-1), 0
    i = normalize_axis(axis, a.ndim)
    if op in ("sum", "prod") or dtype is not None:
        a = astype(a, sum_dtype(a.dtype_name, dtype, out))
    if a.dtype_name == "bool":
        op = {"sum": "max", "prod": "min"}.get(op, op)
    return _finish(_core.scan(op, a, i), name, None, out)


def cumsum(a: ArrayLike, axis: Axis = None, dtype: Any = None, out: ndarray | None = None) -> ndarray:
    """Returns the cumulative sum along an axis, or of the flattened array.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int, optional
        The axis; None (the default) takes the flattened array.
    dtype : dtype, optional
        The dtype of the result; by default it follows from the operands.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.

    Returns
    -------
    ndarray
        An array of the shape of `a`, 1-d if `axis` is None.

    See Also
    --------
    cumulative_sum, sum, trapezoid, diff

    Examples
    --------
    >>> cp.cumsum([1, 2, 3, 4])
    array([ 1,  3,  6, 10])
    >>> cp.cumsum([[1, 2], [3, 4]], axis=1)
    array([[1, 3],
           [3, 7]])
    """
    return _scan("sum", a, axis, dtype, out, "cumsum")


def cumprod(a: ArrayLike, axis: Axis = None, dtype: Any = None, out: ndarray | None = None) -> ndarray:
    """Returns the cumulative product along an axis, or of the flattened array.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int, optional
        The axis; None (the default) takes the flattened array.
    dtype : dtype, optional
        The dtype of the result; by default it follows from the operands.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.

    Returns
    -------
    ndarray
        An array of the shape of `a`, 1-d if `axis` is None.

    See Also
    --------
    cumulative_prod

    Examples
    --------
    >>> cp.cumprod([1, 2, 3, 4])
    array([ 1,  2,  6, 24])
    """
    return _scan("prod", a, axis, dtype, out, "cumprod")


@on_array_device
def _cumulative(op: str, x: ArrayLike, axis: Axis, dtype: Any, out: Any, include_initial: bool, first: int) -> ndarray:
    x = array(x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    x = x if x.ndim else x.reshape((1,))
    if not include_initial:
        return _scan(op, x, axis, dtype, out, op)
    result = _scan(op, x, axis, sum_dtype(x.dtype_name, dtype, out), None, op)
    i = normalize_axis(axis, x.ndim)
    shape = (*x.shape[:i], x.shape[i] + 1, *x.shape[i + 1 :])
    extended = empty_in_order(shape, result.dtype_name, axis_order(result, "K"))
    _core.update(extended[along(i, 0, 1)], first)
    _core.update(extended[along(i, 1)], result)
    return _finish(extended, op, None, out)


def cumulative_sum(x: ArrayLike, /, *, axis: Axis = None, dtype: Any = None, out: ndarray | None = None,
                   include_initial: bool = False) -> ndarray:  # fmt: skip
    """Returns the cumulative sum along an axis, optionally after a leading zero.

    Parameters
    ----------
    x : array_like
        An array or array-like.
    axis : int, optional
        The axis. May be left out for a 1-d array.
    dtype : dtype, optional
        The dtype of the result; by default it follows from the operands.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    include_initial : bool, default False
        Whether the result begins with a zero, so that it is longer by one element.

    Returns
    -------
    ndarray
        An array of the shape of `x`, or longer by one along the axis.

    Raises
    ------
    ValueError
        If there is no `axis` for an array of several axes.

    See Also
    --------
    sum, trapezoid, diff

    Examples
    --------
    >>> cp.cumulative_sum(cp.asarray([2, 3, 4]), include_initial=True)
    array([0, 2, 5, 9])
    """
    return _cumulative("sum", x, axis, dtype, out, include_initial, 0)


def cumulative_prod(x: ArrayLike, /, *, axis: Axis = None, dtype: Any = None, out: ndarray | None = None,
                    include_initial: bool = False) -> ndarray:  # fmt: skip
    """Returns the cumulative product along an axis, optionally after a one.

    Parameters
    ----------
    x : array_like
        An array or array-like.
    axis : int, optional
        The axis. May be left out for a 1-d array.
    dtype : dtype, optional
        The dtype of the result; by default it follows from the operands.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    include_initial : bool, default False
        Whether the result begins with a one, so that it is longer by one element.

    Returns
    -------
    ndarray
        An array of the shape of `x`, or longer by one along the axis.

    Raises
    ------
    ValueError
        If there is no `axis` for an array of several axes.

    See Also
    --------
    cumulative_sum, cumprod, prod

    Examples
    --------
    >>> cp.cumulative_prod(cp.asarray([2, 3, 4]), include_initial=True)
    array([ 1,  2,  6, 24])
    """
    return _cumulative("prod", x, axis, dtype, out, include_initial, 1)


__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum"]
