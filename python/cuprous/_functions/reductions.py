"""Reductions over axes (sums, extremes, moments, logical) and scans. Reductions over all axes return 0-d arrays."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import (
    ArrayLike,
    Axes,
    Axis,
    along,
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
from cuprous._common.layout import axis_order, empty_in_order
from cuprous._common.operands import on_array_device
from cuprous._functions.complex_parts import imag, real

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


# --- moments


def _working(name: str, dtype: Any) -> tuple[str, str]:
    """Returns the dtype that a mean is computed in, and the dtype that it returns."""
    result = dtypes.inexact(name) if dtype is None else dtypes.name_of(dtype)
    return ("float32" if dtypes.itemsize(result) == 2 and dtype is None else result), result


def _count(a: ndarray, axes: tuple[int, ...] | None, keepdims: bool, where: Any) -> Any:
    """Returns the number of elements per reduction: an int, or an array if there is a mask."""
    if where is True:
        return _reduced_count(a.shape, axes)
    mask = _core.broadcast_to(truth_mask(where), a.shape)
    return _reduce("sum", _core.cast(mask, "int64"), axes, keepdims)


def mean(
    a: ArrayLike, axis: Axes = None, dtype: Any = None, out: ndarray | None = None, keepdims: bool = False, *,
    where: Any = True,
) -> ndarray:  # fmt: skip
    """Returns the arithmetic mean over axes; float64 for integers. Half precision is averaged in single precision.

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
    where : array_like of bools, default True
        A bool mask that broadcasts to the array; only elements where it is true take part.

    Returns
    -------
    ndarray
        An array without the reduced axes.

    See Also
    --------
    average, std, var, nanmean, nanstd, nanvar

    Examples
    --------
    >>> cp.mean([[1, 2], [3, 5]])
    array(2.75)
    >>> cp.mean([[1, 2], [3, 5]], axis=0)
    array([2. , 3.5])
    """
    if not isinstance(a, ndarray):
        a = array(a)
    name = a.dtype_name
    wide, returned = _working(name, dtype)
    if wide != name:
        a = _core.cast(a, wide)
    a = _masked(a, where, 0)
    axes = _axes(axis, a.ndim, where is not True)
    total = _reduce("sum", a, axes, keepdims) if axes != () else a
    result = total / _count(a, axes, keepdims, where)
    if result.dtype_name != returned:
        result = _core.cast(result, returned)
    return result if out is None else write_exactly(out, result, "mean", "unsafe")


def _variance(
    name: str, a: ArrayLike, axis: Any, dtype: Any, out: Any, ddof: float, keepdims: bool, where: Any, known_mean: Any,
    correction: Any, root: bool,
) -> ndarray:  # fmt: skip
    if correction is not None:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    given = a = array(a)
    wide, returned = _working(a.dtype_name, dtype)
    returned = dtypes.component(returned)
    if wide != a.dtype_name:
        a = _core.cast(a, wide)
    axes = _axes(axis, a.ndim, where is not True)
    count = _count(a, axes, keepdims, where)
    plain = where is True and known_mean is None and axes != () and dtypes.kind(wide) == "f" and count
    if plain:
        squares = _reduce("m2", a, axes, keepdims)
    else:
        center = mean(given, axis, dtype, keepdims=True, where=where) if known_mean is None else array(known_mean)
        deviations = (a if dtypes.kind(wide) in "fc" else given) - center  # as NumPy, an integer dtype is for sums only
        if dtypes.kind(wide) == "c":
            squares = real(deviations) * real(deviations) + imag(deviations) * imag(deviations)
        else:
            squares = deviations * deviations
        squares = astype(_masked(squares, where, 0), dtypes.component(wide))
        squares = _reduce("sum", squares, axes, keepdims) if axes != () else squares
    freedom = _core.map("maximum", count - ddof, 0) if isinstance(count, ndarray) else count - ddof
    if not isinstance(freedom, ndarray) and freedom < 0:
        freedom = 0
    result = squares / freedom
    if root:
        if dtypes.kind(returned) not in "fc":  # as NumPy, the variance is cast to an integer first
            result = _core.cast(result, returned)
            if result.ndim:
                check_casting("float64", returned, "same_kind", "ufunc 'sqrt' output")
        result = _core.map("sqrt", result)
    if result.dtype_name != returned:
        result = _core.cast(result, returned)
    return result if out is None else write_exactly(out, result, name, "same_kind" if root else "unsafe")


def var(
    a: ArrayLike, axis: Axes = None, dtype: Any = None, out: ndarray | None = None, ddof: float = 0,
    keepdims: bool = False, *, where: Any = True, mean: Any = None, correction: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the variance over axes, with `n - ddof` degrees of freedom. It is always real.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    dtype : dtype, optional
        The dtype to compute in.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    ddof : float, default 0
        The number that is subtracted from the number of elements in the divisor.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    where : array_like of bools, default True
        A bool mask that broadcasts to the array; only elements where it is true take part.
    mean : array_like, optional
        The mean over the same axes with `keepdims=True`, if it is known already.
    correction : float, optional
        Another name of `ddof`, that of the array API standard.

    Returns
    -------
    ndarray
        An array without the reduced axes.

    Raises
    ------
    ValueError
        If both `ddof` and `correction` are given.

    See Also
    --------
    std, mean, nanmean, nanstd, nanvar

    Examples
    --------
    >>> cp.var([1, 3, 5, 7])
    array(5.)
    >>> cp.var([[1, 3], [5, 9]], axis=1, ddof=1)
    array([2., 8.])
    """
    return _variance("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction, False)


def std(
    a: ArrayLike, axis: Axes = None, dtype: Any = None, out: ndarray | None = None, ddof: float = 0,
    keepdims: bool = False, *, where: Any = True, mean: Any = None, correction: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the standard deviation over axes, with `n - ddof` degrees of freedom. It is always real.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    dtype : dtype, optional
        The dtype to compute in.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    ddof : float, default 0
        The number that is subtracted from the number of elements in the divisor.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    where : array_like of bools, default True
        A bool mask that broadcasts to the array; only elements where it is true take part.
    mean : array_like, optional
        The mean over the same axes with `keepdims=True`, if it is known already.
    correction : float, optional
        Another name of `ddof`, that of the array API standard.

    Returns
    -------
    ndarray
        An array without the reduced axes.

    Raises
    ------
    ValueError
        If both `ddof` and `correction` are given.

    See Also
    --------
    var, mean, nanmean, nanstd, nanvar

    Examples
    --------
    >>> cp.std([1, 3, 5, 7])
    array(2.23606798)
    >>> cp.std([[1, 3], [5, 9]], axis=1, ddof=1)
    array([1.41421356, 2.82842712])
    """
    return _variance("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction, True)


def aligned_weights(w: ndarray, a: ndarray, axis: Axes) -> ndarray:
    """Returns weights of the elements of an array, or of the slices along axes, in a shape that broadcasts to its.

    Raises
    ------
    TypeError
        If the shapes differ and `axis` is None.
    ValueError
        If the weights have another shape than the array along the axes.
    """
    if w.shape == a.shape:
        return w
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = normalize_axes(axis, a.ndim)
    if w.shape != tuple(a.shape[i] for i in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return w.transpose(order).reshape(tuple(n if i in axes else 1 for i, n in enumerate(a.shape)))


@overload
def average(
    a: ArrayLike, axis: Axes = ..., weights: ArrayLike = ..., returned: Literal[False] = ..., *, keepdims: bool = ...
) -> ndarray: ...
@overload
def average(
    a: ArrayLike, axis: Axes = ..., weights: ArrayLike = ..., *, returned: Literal[True], keepdims: bool = ...
) -> tuple[ndarray, ndarray]: ...
def average(
    a: ArrayLike, axis: Axes = None, weights: ArrayLike = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """Returns the weighted mean over axes, and with `returned` also the sum of the weights.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    weights : array_like, optional
        The weights, of the shape of `a` or of the axes that are reduced; by default all are one.
    returned : bool, default False
        Whether to return also the sum of the weights.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.

    Returns
    -------
    ndarray
        An array without the reduced axes, floating or complex; with `returned` a tuple of it and the sum of the
        weights.

    Raises
    ------
    ZeroDivisionError
        If weights sum to zero.
    ValueError
        If the weights' shape does not fit the axes.

    See Also
    --------
    mean, result_type

    Examples
    --------
    >>> cp.average([1, 2, 4], weights=[2, 1, 1])
    array(2.)
    """
    a = array(a)
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        total = _core.full(result.shape, a.size / result.size if result.size else 0, result.dtype_name, like=result)
        return (result, total) if returned else result
    w = aligned_weights(array(weights), a, axis)
    name = _core.promote_types(a.dtype_name, w.dtype_name)
    if dtypes.kind(a.dtype_name) in "biu":
        name = _core.promote_types(name, "float64")
    a, w = astype(a, name), astype(w, name)
    total = sum(w, axis, keepdims=keepdims)
    if bool(any(total == 0)):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    result = sum(a * w, axis, keepdims=keepdims) / total
    return (result, _core.broadcast_to(total, result.shape).copy()) if returned else result


# --- scans


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

    Examples
    --------
    >>> cp.cumulative_prod(cp.asarray([2, 3, 4]), include_initial=True)
    array([ 1,  2,  6, 24])
    """
    return _cumulative("prod", x, axis, dtype, out, include_initial, 1)


__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "average", "cumprod", "cumsum", "cumulative_prod",
    "cumulative_sum", "max", "mean", "min", "prod", "ptp", "std", "sum", "var",
]  # fmt: skip
