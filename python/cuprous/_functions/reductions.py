"""Reductions over axes: sums, products, extremes, logical ones. Reductions over all axes return 0-d arrays."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import (
    ArrayLike,
    Axes,
    array,
    ndarray,
    normalize_axes,
    normalize_axis,
    reduction_mask,
    truth_mask,
    write_exactly,
)
from cuprous._common.casting import (
    IDENTITY,
    astype,
    check_casting,
    check_without_initial,
    starting_value,
    sum_dtype,
    warn_of_lost_parts,
)

_reduce = _core.reduce


def _axes(axis: Any, ndim: int, allow_scalar: bool = True) -> tuple[int, ...] | None:
    """Returns `axis` in the form that `_core.reduce` accepts."""
    if axis is None:
        return None
    if ndim == 0 and allow_scalar and axis in (0, -1):  # NumPy lets a 0-d array have an axis here, except for moments
        return ()
    if type(axis) is int:
        return (axis,) if 0 <= axis < ndim else (normalize_axis(axis, ndim),)
    return normalize_axes(axis, ndim)


def _masked(a: ndarray, where: Any, filler: Any) -> ndarray:
    """Returns `a` where the mask is true and `filler` elsewhere."""
    if where is True:
        return a
    return _core.map("where", reduction_mask(where, a.shape), a, _core.full((), filler, a.dtype_name, like=a))


def _finish(result: ndarray, ufunc: str, initial: ndarray | None, out: Any, casting: str = "unsafe") -> ndarray:
    if initial is not None:
        result = _core.map(ufunc, result, initial)
    return result if out is None else write_exactly(out, result, ufunc, casting)


def _sum_or_product(
    op: str, a: Any, axis: Any, dtype: Any, out: Any, keepdims: bool, initial: Any, where: Any, ufunc: str, empty: int
) -> ndarray:
    """Returns a sum or product. Small integers are widened."""
    if not isinstance(a, ndarray):
        a = array(a)
    name = a.dtype_name
    wide = dtypes.accumulator(name) if dtype is out is None else sum_dtype(name, dtype, out)
    if wide != name:
        warn_of_lost_parts(name, wide)
        a = _core.cast(a, wide)
    if where is not True:
        a = _masked(a, where, empty)
    axes = _axes(axis, a.ndim)
    if initial is None:
        check_without_initial(ufunc, where, _reduced_count(a.shape, axes))
    if wide == "bool":  # a logical reduction
        result = _extreme(a, axis, None, keepdims, bool(empty), True, op == "sum")
    else:
        result = _reduce(op, a, axes, keepdims) if axes != () else a.copy("K")
    if initial is None or initial is IDENTITY:
        return result if out is None else _finish(result, ufunc, None, out)
    start = starting_value(initial, wide, a)
    if op == "sum" and dtypes.kind(wide) == "f":
        # The engine's sums start from 0, which loses the sign of -0. Only a sum of elements that are all -0 has it.
        plain = ~_core.map("signbit", a) | (a != 0)
        if where is not True:
            plain = plain & truth_mask(where)
        if axes != ():
            plain = _extreme(plain, axis, None, keepdims, False, True, True)
        result = _core.map("where", plain, result, -0.0)
    return _finish(result, ufunc, start, out)


def sum(
    a: ArrayLike, axis: Axes = None, dtype: Any = None, out: ndarray | None = None, keepdims: bool = False,
    initial: Any = IDENTITY, where: Any = True,
) -> ndarray:  # fmt: skip
    """Returns the sum over axes. Integers narrower than 64 bits are summed in 64 bits.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    dtype : dtype, optional
        The dtype to compute in and of the result.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    initial : scalar, optional
        The value that the reduction starts with; by default its identity.
    where : array_like of bools, default True
        A bool mask that broadcasts to the array; only elements where it is true take part.

    Returns
    -------
    ndarray
        An array without the reduced axes.

    See Also
    --------
    add, cumsum, trapezoid, mean, average

    Examples
    --------
    >>> cp.sum([[1, 2], [3, 4]])
    array(10)
    >>> cp.sum([[1, 2], [3, 4]], axis=0, keepdims=True)
    array([[4, 6]])
    """
    return _sum_or_product("sum", a, axis, dtype, out, keepdims, initial, where, "add", 0)


def prod(
    a: ArrayLike, axis: Axes = None, dtype: Any = None, out: ndarray | None = None, keepdims: bool = False,
    initial: Any = IDENTITY, where: Any = True,
) -> ndarray:  # fmt: skip
    """Returns the product over axes. Integers narrower than 64 bits are multiplied in 64 bits.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    dtype : dtype, optional
        The dtype to compute in and of the result.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    initial : scalar, optional
        The value that the reduction starts with; by default its identity.
    where : array_like of bools, default True
        A bool mask that broadcasts to the array; only elements where it is true take part.

    Returns
    -------
    ndarray
        An array without the reduced axes.

    See Also
    --------
    sum, cumprod, nanprod

    Examples
    --------
    >>> cp.prod([[1, 2], [3, 4]])
    array(24)
    >>> cp.prod([[1, 2], [3, 4]], axis=0)
    array([3, 8])
    """
    return _sum_or_product("prod", a, axis, dtype, out, keepdims, initial, where, "multiply", 1)


def reduced_by(
    ufunc: str, a: ndarray, axis: Any, dtype: Any, out: Any, keepdims: bool, initial: Any, where: Any
) -> ndarray:
    """Implements `reduce` of a ufunc for which the engine has a reduction: add, multiply, maximum or minimum."""
    if ufunc == "add":
        return _sum_or_product("sum", a, axis, dtype, out, keepdims, initial, where, ufunc, 0)
    if ufunc == "multiply":
        return _sum_or_product("prod", a, axis, dtype, out, keepdims, initial, where, ufunc, 1)
    a = a if dtype is None else astype(a, dtypes.name_of(dtype))
    return _extreme(a, axis, out, keepdims, None if initial is IDENTITY else initial, where, ufunc == "maximum")


def _extreme(a: Any, axis: Any, out: Any, keepdims: bool, initial: Any, where: Any, greatest: bool) -> ndarray:
    if not isinstance(a, ndarray):
        a = array(a)
    if isinstance(out, ndarray):  # the dtype of `out` takes part in the promotion
        a = astype(a, _core.promote_types(a.dtype_name, out.dtype_name))
    initial = None if initial is None else starting_value(initial, a.dtype_name, a)
    ufunc = "maximum" if greatest else "minimum"
    axes = _axes(axis, a.ndim)
    if where is not True:
        where = reduction_mask(where, a.shape)
        if initial is None:
            check_without_initial(ufunc, where, 1)
        a = _core.map("where", where, a, initial)
    if axes == ():
        result = a.copy("K")
    elif a.size == 0 and _reduced_count(a.shape, axes) == 0:
        if initial is None:
            check_without_initial(ufunc, True, 0)
        result = _core.empty(reduced_shape(a.shape, axes, keepdims), a.dtype_name, a)
        _core.update(result, initial)
    else:
        result = _reduce("max" if greatest else "min", a, axes, keepdims)
    return result if initial is None and out is None else _finish(result, ufunc, initial, out)


def _reduced_count(shape: tuple[int, ...], axes: tuple[int, ...] | None) -> int:
    """Returns the number of elements that are reduced to one."""
    return math.prod(shape if axes is None else (shape[i] for i in axes))


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...] | None, keepdims: bool) -> tuple[int, ...]:
    """Returns the shape of a result without the reduced axes, or with length one along them."""
    reduced = range(len(shape)) if axes is None else axes
    if keepdims:
        return tuple(1 if i in reduced else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in reduced)


def max(
    a: ArrayLike, axis: Axes = None, out: ndarray | None = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> ndarray:  # fmt: skip
    """Returns the greatest element over axes, or NaN if there is one.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    initial : scalar, optional
        A value that is compared, too; needed with `where` and where no element is reduced.
    where : array_like of bools, default True
        A bool mask that broadcasts to the array; only elements where it is true take part.

    Returns
    -------
    ndarray
        An array without the reduced axes, of the dtype of `a`.

    Raises
    ------
    ValueError
        If no element is reduced and there is no `initial`.

    See Also
    --------
    min, maximum, nanmax, argmax

    Examples
    --------
    >>> cp.max([[1, 5], [8, 2]])
    array(8)
    >>> cp.max([[1, 5], [8, 2]], axis=0)
    array([8, 5])
    """
    return _extreme(a, axis, out, keepdims, initial, where, True)


def min(
    a: ArrayLike, axis: Axes = None, out: ndarray | None = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> ndarray:  # fmt: skip
    """Returns the least element over axes, or NaN if there is one.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    initial : scalar, optional
        A value that is compared, too; needed with `where` and where no element is reduced.
    where : array_like of bools, default True
        A bool mask that broadcasts to the array; only elements where it is true take part.

    Returns
    -------
    ndarray
        An array without the reduced axes, of the dtype of `a`.

    Raises
    ------
    ValueError
        If no element is reduced and there is no `initial`.

    See Also
    --------
    max, minimum, nanmin, argmin

    Examples
    --------
    >>> cp.min([[1, 5], [8, 2]])
    array(1)
    >>> cp.min([[1, 5], [8, 2]], axis=1)
    array([1, 2])
    """
    return _extreme(a, axis, out, keepdims, initial, where, False)


amax = max
amin = min


def ptp(a: ArrayLike, axis: Axes = None, out: ndarray | None = None, keepdims: bool = False) -> ndarray:
    """Returns the greatest minus the least element over axes.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.

    Returns
    -------
    ndarray
        An array without the reduced axes, of the dtype of `a`.

    Raises
    ------
    ValueError
        If no element is reduced.

    See Also
    --------
    max, min

    Examples
    --------
    >>> cp.ptp([[1, 5], [8, 2]], axis=1)
    array([4, 6])
    """
    a = array(a)
    high = max(a, axis, keepdims=keepdims)
    if isinstance(out, ndarray):  # as in NumPy, the greatest element is cast to its dtype first
        check_casting(high.dtype_name, out.dtype_name, "same_kind", "ufunc 'maximum' output")
        high = astype(high, out.dtype_name)
    return _finish(high - min(a, axis, keepdims=keepdims), "subtract", None, out, "same_kind")


def _logical_reduction(a: ArrayLike, axis: Any, out: Any, keepdims: bool, where: Any, every: bool) -> ndarray:
    a = astype(array(a), "bool")
    a = _masked(a, where, every)
    axes = _axes(axis, a.ndim)
    if axes == ():
        result = a.copy("K")
    elif a.size == 0 and _reduced_count(a.shape, axes) == 0:
        result = _core.full(reduced_shape(a.shape, axes, keepdims), every, "bool", like=a)
    else:
        result = _reduce("min" if every else "max", a, axes, keepdims)
    return _finish(result, "all" if every else "any", None, out)


def all(a: ArrayLike, axis: Axes = None, out: ndarray | None = None, keepdims: bool = False, *,
        where: Any = True) -> ndarray:  # fmt: skip
    """Returns true if all elements over axes are true.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    where : array_like of bools, default True
        A bool mask that broadcasts to the array; only elements where it is true take part.

    Returns
    -------
    ndarray
        A bool array without the reduced axes.

    See Also
    --------
    any

    Examples
    --------
    >>> cp.all([[True, False], [True, True]])
    array(False)
    >>> cp.all([[True, False], [True, True]], axis=1)
    array([False,  True])
    """
    return _logical_reduction(a, axis, out, keepdims, where, True)


def any(a: ArrayLike, axis: Axes = None, out: ndarray | None = None, keepdims: bool = False, *,
        where: Any = True) -> ndarray:  # fmt: skip
    """Returns true if any element over axes is true.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    where : array_like of bools, default True
        A bool mask that broadcasts to the array; only elements where it is true take part.

    Returns
    -------
    ndarray
        A bool array without the reduced axes.

    See Also
    --------
    all

    Examples
    --------
    >>> cp.any([[True, False], [False, False]], axis=1)
    array([ True, False])
    """
    return _logical_reduction(a, axis, out, keepdims, where, False)


__all__ = ["all", "amax", "amin", "any", "max", "min", "prod", "ptp", "sum"]
