"""Elementwise functions that are not ufuncs: rounding, clipping, selecting, and special functions."""

from __future__ import annotations

import math
from typing import Any, overload

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import (
    ArrayLike,
    array,
    broadcast_shapes,
    ndarray,
    operand,
    result_name,
    write_exactly,
    write_out,
)
from cuprous._common.casting import astype, check_casting
from cuprous._common.operands import on_array_device
from cuprous._functions.complex_parts import imag, real
from cuprous._functions.counting import nonzero
from cuprous._functions.reductions import all as all_


@overload
def where(condition: ArrayLike) -> tuple[ndarray, ...]: ...
@overload
def where(condition: ArrayLike, x: Any, y: Any) -> ndarray: ...
def where(condition: ArrayLike, x: Any = None, y: Any = None) -> Any:
    """Returns elements of `x` where the condition is true and of `y` elsewhere. With only a condition, returns the
    indices of its nonzero elements.

    Parameters
    ----------
    condition : array_like
        An array-like of truth values.
    x : array_like, optional
        A scalar or an array-like.
    y : array_like, optional
        A scalar or an array-like.

    Returns
    -------
    ndarray
        An array of the common shape, of the dtype that `x` and `y` promote to.

    Raises
    ------
    ValueError
        If only one of `x` and `y` is given, and for operands that do not broadcast.

    See Also
    --------
    choose, nonzero

    Examples
    --------
    >>> cp.where([True, False, True], [1, 2, 3], 0)
    array([1, 0, 3])
    >>> a = cp.arange(5)
    >>> cp.where(a > 2)
    (array([3, 4]),)
    """
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    result = _core.map("where", operand(condition), operand(x), operand(y))
    # NumPy returns a 0-d array here, where a ufunc returns a scalar.
    return result if result.ndim else _core.cast(result, result.dtype_name).reshape(())


def clip(
    a: ArrayLike, min: Any = None, max: Any = None, out: ndarray | None = None, *, a_min: Any = None,
    a_max: Any = None, casting: str = "same_kind",
) -> ndarray:  # fmt: skip
    """Returns the elements limited to an interval. Either bound may be None.

    Parameters
    ----------
    a : array_like
        An array or array-like of real numbers.
    min : array_like, optional
        The lower bound, a scalar or an array-like.
    max : array_like, optional
        The upper bound, a scalar or an array-like.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    a_min : array_like, optional
        An older name of `min`.
    a_max : array_like, optional
        An older name of `max`.
    casting : str, default "same_kind"
        The rule for the cast to the dtype of `out`.

    Returns
    -------
    ndarray
        An array of the common shape.

    Raises
    ------
    ValueError
        If both pairs of names are used, and for operands that do not broadcast.

    See Also
    --------
    maximum, minimum

    Examples
    --------
    >>> cp.clip([1, 5, 9], 2, 6)
    array([2, 5, 6])
    >>> cp.clip([1, 5, 9], min=[3, 6, 6])
    array([3, 6, 9])
    """
    if a_min is not None or a_max is not None:
        if min is not None or max is not None:
            raise ValueError(
                "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden."
            )
        min, max = a_min, a_max
    result = a = array(a)
    if dtypes.kind(a.dtype_name) in "iu":  # Python integers outside the range of the dtype have no effect
        min = None if type(min) is int and min <= dtypes.lowest(a.dtype_name) else min
        max = None if type(max) is int and max >= dtypes.highest(a.dtype_name) else max
    bounds = [(name, operand(x)) for name, x in (("maximum", min), ("minimum", max)) if x is not None]
    if not bounds:
        return write_out(out, _core.map("positive", a), "clip", casting)
    common = result_name(a, *(bound for _, bound in bounds))  # so that the first step already has the final dtype
    for name, bound in bounds:
        result = _core.map(name, result, bound, dtype=common)
    return write_out(out, result, "clip", casting)


def round(a: ArrayLike, decimals: int = 0, out: ndarray | None = None) -> ndarray:
    """Returns the elements rounded to a number of decimals, with ties to even.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    decimals : int, default 0
        The number of decimals; negative ones round to tens, hundreds and so on.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.

    Returns
    -------
    ndarray
        An array of the shape of `a`.

    See Also
    --------
    rint, floor, ceil

    Examples
    --------
    >>> cp.round([0.5, 1.5, 2.75])
    array([0., 2., 3.])
    >>> cp.round([3.14159, 2.71828], 2)
    array([3.14, 2.72])
    """
    a = array(a)
    name = a.dtype_name
    letter = dtypes.kind(name)
    if letter == "c":
        parts = (round(part, decimals) for part in (real(a), imag(a)))
        result = _core.map("make_complex", *parts)
    elif letter == "b":
        if decimals != 0:
            check_casting("float64", name, "same_kind", "ufunc 'multiply' output")
        result = _core.cast(a, "float16")
    elif letter in "iu":
        if decimals >= 0:
            result = a.copy("K")
        else:
            unit = 10.0**-decimals
            result = _core.cast(_core.map("rint", _core.cast(a, "float64") / unit) * unit, name)
    elif decimals == 0:
        result = _core.map("rint", a)
    elif decimals > 0:
        result = _core.map("rint", a * 10.0**decimals) / 10.0**decimals
    else:
        result = _core.map("rint", a / 10.0**-decimals) * 10.0**-decimals
    return write_exactly(out, result, "round")


around = round


def fix(x: ArrayLike, out: ndarray | None = None) -> ndarray:
    """Returns the elements rounded towards zero.

    Parameters
    ----------
    x : array_like
        An array or array-like.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.

    Returns
    -------
    ndarray
        An array of the shape of `x`.

    See Also
    --------
    rint, trunc, floor, ceil, around

    Examples
    --------
    >>> cp.fix([1.7, -1.7])
    array([ 1., -1.])
    """
    return write_out(out, _core.map("trunc", array(x)), "fix")


def _signed_infinity(x: ArrayLike, out: ndarray | None, name: str, negative: bool) -> ndarray:
    x = array(x)
    if dtypes.kind(x.dtype_name) == "c":
        raise TypeError(f"This operation is not supported for {x.dtype_name} values because it would be ambiguous.")
    if dtypes.kind(x.dtype_name) != "f":
        return write_out(out, _core.full(x.shape, False, "bool", like=x), name)
    return write_out(out, x == (-math.inf if negative else math.inf), name)


def isposinf(x: ArrayLike, out: ndarray | None = None) -> ndarray:
    """Returns true for each element that is plus infinity.

    Parameters
    ----------
    x : array_like
        An array or array-like of real numbers.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.

    Returns
    -------
    ndarray
        A bool array of the shape of `x`.

    Raises
    ------
    TypeError
        For complex numbers.

    See Also
    --------
    isinf, isneginf, isfinite, isnan

    Examples
    --------
    >>> cp.isposinf([-cp.inf, 1.0, cp.inf])
    array([False, False,  True])
    """
    return _signed_infinity(x, out, "isposinf", False)


def isneginf(x: ArrayLike, out: ndarray | None = None) -> ndarray:
    """Returns true for each element that is minus infinity.

    Parameters
    ----------
    x : array_like
        An array or array-like of real numbers.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.

    Returns
    -------
    ndarray
        A bool array of the shape of `x`.

    Raises
    ------
    TypeError
        For complex numbers.

    See Also
    --------
    isinf, isposinf, isnan, isfinite

    Examples
    --------
    >>> cp.isneginf([-cp.inf, 1.0, cp.inf])
    array([ True, False, False])
    """
    return _signed_infinity(x, out, "isneginf", True)


@on_array_device
def nan_to_num(x: ArrayLike, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> ndarray:
    """Returns the elements with NaN and infinities replaced by numbers.

    Parameters
    ----------
    x : array_like
        An array or array-like.
    copy : bool, default True
        False writes to `x` itself.
    nan : number, default 0.0
        The number for NaN.
    posinf : number, optional
        The number for infinity; by default the greatest of the dtype.
    neginf : number, optional
        The number for minus infinity; by default the least of the dtype.

    Returns
    -------
    ndarray
        An array of the shape and dtype of `x`.

    Raises
    ------
    ValueError
        For replacements that do not broadcast to the array.
    TypeError
        For complex replacements in a real array.

    See Also
    --------
    isinf, isneginf, isposinf, isnan, isfinite

    Examples
    --------
    >>> cp.nan_to_num([1.0, cp.nan, cp.inf], posinf=99.0)
    array([ 1.,  0., 99.])
    """
    x = array(x)
    letter = dtypes.kind(x.dtype_name)
    if letter == "c":
        result = x.copy("K") if copy else x
        for part in (real(result), imag(result)):
            nan_to_num(part, False, nan, posinf, neginf)
        return result
    if letter != "f":
        return x.copy("K") if copy else x
    greatest = _finite_max(x.dtype_name)
    numbers = nan, greatest if posinf is None else posinf, -greatest if neginf is None else neginf
    result = x
    for where, given in zip((_core.map("isnan", x), x == math.inf, x == -math.inf), numbers, strict=True):
        number = array(given)
        check_casting(number.dtype_name, x.dtype_name, "same_kind", "scalar" if number.ndim == 0 else "array data")
        if broadcast_shapes(number.shape, x.shape) != x.shape:
            shapes = " into shape ".join(str(s).replace(" ", "") for s in (number.shape, x.shape))
            raise ValueError(f"could not broadcast input array from shape {shapes}")
        result = _core.map("where", where, astype(number, x.dtype_name), result)
    if copy or x.is_value:
        return result
    _core.update(x, result)
    return x


def _finite_max(name: str) -> float:
    return {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}.get(
        name, 1.7976931348623157e308
    )


def real_if_close(a: ArrayLike, tol: float = 100) -> ndarray:
    """Returns the real part if all imaginary parts are within `tol` machine epsilons of zero, otherwise the array.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    tol : float, default 100
        The tolerance in machine epsilons, or an absolute one if it is not over 1.

    Returns
    -------
    ndarray
        A real or complex array of the shape of `a`. The test waits for the values.

    See Also
    --------
    real, imag, angle

    Examples
    --------
    >>> cp.real_if_close([1 + 1e-16j, 2 + 0j])
    array([1., 2.])
    """
    a = array(a)
    if dtypes.kind(a.dtype_name) != "c":
        return a
    if tol > 1:
        tol = tol * (2.0**-23 if a.dtype_name == "complex64" else 2.0**-52)
    return real(a).copy() if bool(all_(_core.map("absolute", imag(a)) < tol)) else a


# --- special functions


def sinc(x: ArrayLike) -> ndarray:
    """Returns sin(pi x) / (pi x).

    Parameters
    ----------
    x : array_like
        An array or array-like.

    Returns
    -------
    ndarray
        An array of the shape of `x`, of a floating dtype; one at zero.

    See Also
    --------
    sin

    Examples
    --------
    >>> cp.sinc([0.0, 0.5])
    array([1.        , 0.63661977])
    """
    x = array(x)
    if dtypes.kind(x.dtype_name) == "c":
        angle = x * math.pi
        one = _core.full((), 1, x.dtype_name, like=x)
        return _core.map("where", x == 0, one, _core.map("sin", angle) / _core.map("where", x == 0, one, angle))
    return _core.map("sinc", x if dtypes.kind(x.dtype_name) == "f" else _core.cast(x, "float64"))


def i0(x: ArrayLike) -> ndarray:
    """Returns the modified Bessel function of the first kind, order 0.

    Parameters
    ----------
    x : array_like
        An array or array-like of real numbers.

    Returns
    -------
    ndarray
        An array of the shape of `x`, of a floating dtype.

    Raises
    ------
    TypeError
        For complex numbers.

    See Also
    --------
    special.i0, special.iv, special.ive

    Examples
    --------
    >>> cp.i0([0.0, 1.0])
    array([1.        , 1.26606588])
    """
    x = array(x)
    if dtypes.kind(x.dtype_name) == "c":
        raise TypeError("i0 not supported for complex values")
    return _core.map("i0", x if dtypes.kind(x.dtype_name) == "f" else _core.cast(x, "float64"))


__all__ = [
    "around", "clip", "fix", "i0", "isneginf", "isposinf", "nan_to_num", "real_if_close", "round", "sinc", "where",
]  # fmt: skip
