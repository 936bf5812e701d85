"""Means, weighted averages, variances and standard deviations over axes."""

from __future__ import annotations

from typing import Any, Literal, overload

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, Axes, array, ndarray, normalize_axes, truth_mask, write_exactly
from cuprous._common.casting import astype, check_casting
from cuprous._functions.complex_parts import imag, real
from cuprous._functions.reductions import _axes, _masked, _reduce, _reduced_count, any, sum


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


__all__ = ["average", "mean", "std", "var"]
