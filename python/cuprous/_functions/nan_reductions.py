"""Reductions that ignore NaN."""

from __future__ import annotations

from functools import partial
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, Axes, Axis, array, ndarray, truth_mask, write_exactly
from cuprous._common.casting import IDENTITY
from cuprous._functions import arg_reductions, cumulative, moments, reductions
from cuprous._functions.reductions import all as all_
from cuprous._functions.reductions import any as any_


def _replace_nan(a: ArrayLike, filler: Any) -> tuple[ndarray, ndarray | None]:
    """Returns `a` with NaN replaced, and the mask of elements that are not NaN (None for dtypes without NaN)."""
    a = array(a)
    if dtypes.kind(a.dtype_name) not in "fc":
        return a, None
    nan = _core.map("isnan", a)
    return _core.map("where", nan, _core.full((), filler, a.dtype_name, like=a), a), _core.map("logical_not", nan)


def _combined_mask(valid: ndarray | None, where: Any) -> Any:
    if valid is None:
        return where
    return valid if where is True else _core.map("logical_and", valid, truth_mask(where))


def _check_inexact(a: ndarray, dtype: Any, out: Any) -> None:
    """Raises TypeError if a mean or variance of floats would be computed in or written to integers."""
    if dtypes.kind(a.dtype_name) not in "fc":
        return
    if dtype is not None and dtypes.kind(dtypes.name_of(dtype)) not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")
    if isinstance(out, ndarray) and dtypes.kind(out.dtype_name) not in "fc":
        raise TypeError("If a is inexact, then out must be inexact")


def nansum(a: ArrayLike, axis: Axes = None, dtype: Any = None, out: ndarray | None = None, keepdims: bool = False,
           initial: Any = IDENTITY, where: Any = True) -> ndarray:  # fmt: skip
    """Returns the sum over axes with NaN as zero.

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
    sum, isnan, isfinite

    Examples
    --------
    >>> cp.nansum([[1, cp.nan], [3, 4]], axis=0)
    array([4., 4.])
    """
    return reductions.sum(_replace_nan(a, 0)[0], axis, dtype, out, keepdims, initial, where)


def nanprod(a: ArrayLike, axis: Axes = None, dtype: Any = None, out: ndarray | None = None, keepdims: bool = False,
            initial: Any = IDENTITY, where: Any = True) -> ndarray:  # fmt: skip
    """Returns the product over axes with NaN as one.

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
    prod, isnan

    Examples
    --------
    >>> cp.nanprod([[2, cp.nan], [3, 4]], axis=0)
    array([6., 4.])
    """
    return reductions.prod(_replace_nan(a, 1)[0], axis, dtype, out, keepdims, initial, where)


def _extreme(name: str, a: ArrayLike, axis: Axes, out: Any, keepdims: bool, initial: Any, where: Any) -> ndarray:
    reduction = getattr(reductions, name)
    a = array(a)
    filled, valid = _replace_nan(a, float("-inf") if name == "max" else float("inf"))
    result = reduction(filled, axis, None, keepdims, initial, where)
    if valid is not None and initial is None:
        all_nan = _core.map("logical_not", any_(valid, axis, keepdims=keepdims, where=where))
        result = _core.map("where", all_nan, _core.full((), float("nan"), result.dtype_name, like=result), result)
    return write_exactly(out, result, f"nan{name}", "unsafe")


def nanmax(a: ArrayLike, axis: Axes = None, out: ndarray | None = None, keepdims: bool = False, initial: Any = None,
           where: Any = True) -> ndarray:  # fmt: skip
    """Returns the greatest element that is not NaN, or NaN (without NumPy's warning) if all elements are NaN.

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
    nanmin, amax, fmax, maximum, isnan, amin

    Examples
    --------
    >>> cp.nanmax([[1, cp.nan], [3, 4]], axis=0)
    array([3., 4.])
    """
    return _extreme("max", a, axis, out, keepdims, initial, where)


def nanmin(a: ArrayLike, axis: Axes = None, out: ndarray | None = None, keepdims: bool = False, initial: Any = None,
           where: Any = True) -> ndarray:  # fmt: skip
    """Returns the least element that is not NaN, or NaN (without NumPy's warning) if all elements are NaN.

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
    nanmax, amin, fmin, minimum, isnan, amax

    Examples
    --------
    >>> cp.nanmin([[1, cp.nan], [3, 4]], axis=0)
    array([1., 4.])
    """
    return _extreme("min", a, axis, out, keepdims, initial, where)


def _arg(name: str, a: ArrayLike, axis: Axis, out: Any, keepdims: bool) -> ndarray:
    filled, valid = _replace_nan(a, float("-inf") if name == "argmax" else float("inf"))
    if not (filled.shape[axis] if isinstance(axis, int) and -filled.ndim <= axis < filled.ndim else filled.size):
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if valid is not None and not bool(all_(any_(valid, axis))):
        raise ValueError("All-NaN slice encountered")
    return getattr(arg_reductions, name)(filled, axis, out, keepdims=keepdims)


def nanargmax(a: ArrayLike, axis: Axis = None, out: ndarray | None = None, *, keepdims: bool = False) -> ndarray:
    """Returns the index of the first greatest element that is not NaN.

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

    Returns
    -------
    ndarray
        An array of indices (int64) without the axis.

    Raises
    ------
    ValueError
        If a slice is all NaN.

    See Also
    --------
    argmax, nanargmin

    Examples
    --------
    >>> cp.nanargmax([1, cp.nan, 7])
    array(2)
    """
    return _arg("argmax", a, axis, out, keepdims)


def nanargmin(a: ArrayLike, axis: Axis = None, out: ndarray | None = None, *, keepdims: bool = False) -> ndarray:
    """Returns the index of the first least element that is not NaN.

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

    Returns
    -------
    ndarray
        An array of indices (int64) without the axis.

    Raises
    ------
    ValueError
        If a slice is all NaN.

    See Also
    --------
    argmin, nanargmax

    Examples
    --------
    >>> cp.nanargmin([4, cp.nan, 2])
    array(2)
    """
    return _arg("argmin", a, axis, out, keepdims)


def nanmean(a: ArrayLike, axis: Axes = None, dtype: Any = None, out: ndarray | None = None, keepdims: bool = False, *,
            where: Any = True) -> ndarray:  # fmt: skip
    """Returns the mean over axes of the elements that are not NaN.

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
        An array without the reduced axes; NaN where all elements are NaN.

    See Also
    --------
    average, mean, var, nanvar

    Examples
    --------
    >>> cp.nanmean([[1, cp.nan], [3, 4]], axis=0)
    array([2., 4.])
    """
    a, valid = _replace_nan(a, 0)
    _check_inexact(a, dtype, out)
    return moments.mean(a, axis, dtype, out, keepdims, where=_combined_mask(valid, where))


def nanvar(
    a: ArrayLike, axis: Axes = None, dtype: Any = None, out: ndarray | None = None, ddof: float = 0,
    keepdims: bool = False, *, where: Any = True, mean: Any = None, correction: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the variance over axes of the elements that are not NaN.

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
        An array without the reduced axes; NaN where all elements are NaN.

    See Also
    --------
    std, mean, var, nanstd, nanmean

    Examples
    --------
    >>> cp.nanvar([1, cp.nan, 5])
    array(4.)
    """
    return _variance("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def nanstd(
    a: ArrayLike, axis: Axes = None, dtype: Any = None, out: ndarray | None = None, ddof: float = 0,
    keepdims: bool = False, *, where: Any = True, mean: Any = None, correction: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the standard deviation over axes of the elements that are not NaN.

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
        An array without the reduced axes; NaN where all elements are NaN.

    See Also
    --------
    var, mean, std, nanvar, nanmean

    Examples
    --------
    >>> cp.nanstd([1, cp.nan, 5])
    array(2.)
    """
    return _variance("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


def _variance(name: str, a: ArrayLike, axis: Axes, dtype: Any, out: Any, ddof: float, keepdims: bool, where: Any,
            mean: Any, correction: Any) -> ndarray:  # fmt: skip
    filled, valid = _replace_nan(a, 0)
    _check_inexact(filled, dtype, out)
    mask = _combined_mask(valid, where)
    freedom = ddof if correction is None else correction
    reduction = partial(getattr(moments, name), filled, axis, dtype, ddof=ddof, keepdims=keepdims, where=mask,
                        mean=mean, correction=correction)  # fmt: skip
    if mask is True or freedom == 0:
        return reduction(out=out)
    result = reduction()
    count = reductions.sum(mask, axis, keepdims=keepdims)
    # as NumPy, NaN if there are too few values for the degrees of freedom
    nan = _core.full((), float("nan"), result.dtype_name, like=result)
    return write_exactly(out, _core.map("where", count <= freedom, nan, result), f"nan{name}", "unsafe")


def nancumsum(a: ArrayLike, axis: Axis = None, dtype: Any = None, out: ndarray | None = None) -> ndarray:
    """Returns the cumulative sum with NaN as zero.

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
    cumsum, isnan

    Examples
    --------
    >>> cp.nancumsum([2, cp.nan, 3])
    array([2., 2., 5.])
    """
    return cumulative.cumsum(_replace_nan(a, 0)[0], axis, dtype, out)


def nancumprod(a: ArrayLike, axis: Axis = None, dtype: Any = None, out: ndarray | None = None) -> ndarray:
    """Returns the cumulative product with NaN as one.

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
    cumprod, isnan

    Examples
    --------
    >>> cp.nancumprod([2, cp.nan, 3])
    array([2., 2., 6.])
    """
    return cumulative.cumprod(_replace_nan(a, 1)[0], axis, dtype, out)


__all__ = [
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd",
    "nansum", "nanvar",
]  # fmt: skip
