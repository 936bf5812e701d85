"""Ranges: evenly and geometrically spaced numbers."""

from __future__ import annotations

import math
import operator
from typing import Any, Literal, overload

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import array as as_array
from cuprous._common.arguments import ndarray, normalize_axis, result_name
from cuprous._common.convert import check_range, convert
from cuprous._common.operands import is_scalar
from cuprous._functions.creation import on_device
from cuprous._functions.manipulation import moveaxis


def arange(
    start_or_stop: Any = None, /, stop: Any = None, step: Any = None, dtype: Any = None, *, start: Any = None,
    device: Any = None,
) -> ndarray:  # fmt: skip
    """Returns evenly spaced values from `start` up to but not including `stop`. A single argument is the stop.

    Parameters
    ----------
    start_or_stop : scalar, optional
        The first value if `stop` is passed too; otherwise the end, with 0 as the first value.
    stop : array_like, optional
        The end, which is not included.
    step : scalar, optional
        The difference of neighbors, 1 by default. It may be negative.
    dtype : dtype, optional
        The dtype of the result; by default it follows from the other arguments.
    start : scalar, optional
        The first value, by name.
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns
    -------
    ndarray
        A 1-d array of `ceil((stop - start) / step)` elements.

    Raises
    ------
    ZeroDivisionError
        For a step of zero.
    TypeError
        If the stop is missing, or an argument is not a real number.
    ValueError
        For arrays of several elements.

    See Also
    --------
    linspace

    Examples
    --------
    >>> cp.arange(5)
    array([0, 1, 2, 3, 4])
    >>> cp.arange(1, 2, 0.25)
    array([1.  , 1.25, 1.5 , 1.75])
    >>> cp.arange(5, 0, -2)
    array([5, 3, 1])
    """
    if start is not None:
        if start_or_stop is not None:
            raise TypeError("argument for arange() given by name ('start') and position (position 0)")
    elif stop is None:
        start, stop = 0, start_or_stop
    else:
        start = 0 if start_or_stop is None else start_or_stop
    if stop is None:
        raise TypeError("arange() requires stop to be specified.")
    step = 1 if step is None else step
    if dtype is device is None and type(start) is type(stop) is type(step) is int and step:
        return _core.iota((max(0, -((start - stop) // step)),), (step,), start)
    if not all(map(is_scalar, (start, stop, step))):
        start, stop, step = map(_number, (start, stop, step))
    if step == 0:
        raise ZeroDivisionError("[arange] step must not be zero")
    length = _length(start, stop, step)
    if dtype is None:
        name = "int64" if all(isinstance(x, int) for x in (start, stop, step)) else _range_dtype(start, stop, step)
    else:
        name = dtypes.name_of(dtype)
    letter = dtypes.kind(name)
    if letter == "b" and length > 2:
        raise TypeError("arange() is only supported for booleans when the result has at most length 2.")
    if letter == "b":  # the first two elements are converted separately
        return on_device(convert([bool(start), bool(start + step)][:length], "bool"), device)
    if letter in "iu" and all(isinstance(x, int) for x in (start, step)):
        for x in (start, start + step)[:length]:
            check_range(x, name)
        result = _core.iota((length,), (step,), start)
        return on_device(result if name == "int64" else _core.cast(result, name), device)
    if letter in "iu":
        # As NumPy: the first two elements are cast, and the others follow from their difference.
        first = int(start)
        return on_device(_core.cast(_core.iota((length,), (int(start + step) - first,), first), name), device)
    return on_device(_ramp(length, start, (start + step) - start, name), device)


def _number(x: Any) -> Any:
    """Returns a bound or step of a range as a number.

    Raises
    ------
    ValueError
        For arrays of several elements, and lists that do not convert to an array.
    TypeError
        For other lists, and text.
    """
    if isinstance(x, str):
        raise TypeError("arange() not supported for text")
    if isinstance(x, (list, tuple)):
        as_array(x)  # raises its own errors first
        raise TypeError(f"arange() takes numbers, not {type(x).__name__}")
    return x.item() if isinstance(x, ndarray) else x


def _length(start: Any, stop: Any, step: Any) -> int:
    count = (stop - start) / step
    if count != count:
        raise ValueError("arange: cannot compute length")
    if abs(count) >= 2**63:
        raise ValueError("Maximum allowed size exceeded")
    return max(0, math.ceil(count))


def _range_dtype(*values: Any) -> str:
    """Returns the dtype of a range from its arguments. The default integer dtype takes part in the promotion, as in
    NumPy."""
    import numpy as np

    return dtypes.name_of(
        np.result_type(int, *(type(v) if type(v) in (bool, int, float, complex) else v for v in values))
    )


def _ramp(length: int, start: Any, delta: Any, name: str) -> ndarray:
    """Returns start + i * delta for each index i, computed in double precision."""
    wide = "complex128" if dtypes.kind(name) == "c" else "float64"
    index = _core.cast(_core.iota((length,), (1,), 0), wide)
    scalar = complex if wide == "complex128" else float
    values = _core.map("add", _core.map("multiply", index, scalar(delta)), scalar(start))
    return values if name == wide else _core.cast(values, name)


@overload
def linspace(
    start: Any, stop: Any, num: int = ..., endpoint: bool = ..., retstep: Literal[False] = ..., dtype: Any = ...,
    axis: int = ..., *, device: Any = ...,
) -> ndarray: ...  # fmt: skip
@overload
def linspace(
    start: Any, stop: Any, num: int = ..., endpoint: bool = ..., *, retstep: Literal[True], dtype: Any = ...,
    axis: int = ..., device: Any = ...,
) -> tuple[ndarray, Any]: ...  # fmt: skip
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """Returns `num` evenly spaced values from `start` to `stop`, with or without the end point.

    Parameters
    ----------
    start : array_like
        The first value, a scalar or an array-like.
    stop : array_like
        The last value, or the end that is left out; a scalar or an array-like.
    num : int, default 50
        The number of values.
    endpoint : bool, default True
        Whether `stop` is the last value.
    retstep : bool, default False
        Whether to return also the spacing.
    dtype : dtype, optional
        The dtype of the result; floating by default.
    axis : int, default 0
        Where the new axis goes if `start` or `stop` is an array.
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns
    -------
    ndarray
        An array of shape (num,), with the axes of `start` and `stop` if these are arrays. With `retstep` a tuple of it
        and the spacing.

    Raises
    ------
    ValueError
        If `num` is negative.
    TypeError
        If `num` is not an integer.

    See Also
    --------
    arange, geomspace, logspace

    Examples
    --------
    >>> cp.linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    >>> cp.linspace(0, 1, 4, endpoint=False)
    array([0.  , 0.25, 0.5 , 0.75])
    """
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    parts = num - 1 if endpoint else num
    first, last = (convert(x) for x in (start, stop))
    wide = dtypes.inexact(result_name(*(x if is_scalar(x) else y for x, y in ((start, first), (stop, last)))))
    name = wide if dtype is None else dtypes.name_of(dtype)
    low, high = _core.cast(first, wide), _core.cast(last, wide)
    delta = _core.map("subtract", high, low)
    index = _core.cast(_core.iota((num,), (1,), 0), "float64").reshape((num,) + (1,) * delta.ndim)
    if dtypes.itemsize(dtypes.component(delta.dtype_name)) < 8:
        index = _core.cast(index, dtypes.component(delta.dtype_name))
    step = _core.map("divide", delta, parts) if parts > 0 else None
    if step is None:
        result = _core.map("multiply", index, delta)
    else:  # where the step underflows to zero, NumPy scales the index by the number of steps first
        direct = _core.map("multiply", index, step)
        scaled = _core.map("multiply", _core.map("divide", index, parts), delta)
        result = _core.map("where", _core.map("equal", step, 0), scaled, direct)
    result = _core.map("add", result, low)
    if endpoint and num > 1:
        result[-1] = high
    if axis != 0:
        result = moveaxis(result, 0, axis)
    if dtypes.kind(name) in "iu":
        result = _core.map("floor", result)
    if result.dtype_name != name:
        result = _core.cast(result, name)
    result = on_device(result, device)
    if not retstep:
        return result
    return result, (_core.full((), math.nan, "float64") if step is None else step)


def _with_axis(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Returns the shape with an additional axis of length one."""
    axis = normalize_axis(axis, len(shape) + 1)
    return (*shape[:axis], 1, *shape[axis:])


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> ndarray:
    """Returns `num` values evenly spaced on a logarithmic scale, from base**start to base**stop. `base` may be an array
    that broadcasts with them.

    Parameters
    ----------
    start : array_like
        The exponent of the first value, a scalar or an array-like.
    stop : array_like
        The exponent of the last value, a scalar or an array-like.
    num : int, default 50
        The number of values.
    endpoint : bool, default True
        Whether `base**stop` is the last value.
    base : float, default 10.0
        The base of the scale.
    dtype : dtype, optional
        The dtype of the result; floating by default.
    axis : int, default 0
        Where the new axis goes if `start` or `stop` is an array.

    Returns
    -------
    ndarray
        An array of shape (num,), with the axes of `start` and `stop` if these are arrays.

    Raises
    ------
    ValueError
        If `num` is negative.

    See Also
    --------
    arange, linspace, geomspace

    Examples
    --------
    >>> cp.logspace(0, 3, 4)
    array([   1.,   10.,  100., 1000.])
    """
    if not is_scalar(base):
        base, start, stop = convert(base), convert(start), convert(stop)
        ndim = max(base.ndim, start.ndim, stop.ndim)
        base, start, stop = (x.reshape((1,) * (ndim - x.ndim) + x.shape) for x in (base, start, stop))
        base = base.reshape(_with_axis(base.shape, axis))
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    result = _core.map("power", base, exponents)
    return result if dtype is None else _core.cast(result, dtypes.name_of(dtype))


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> ndarray:
    """Returns `num` values in geometric progression from `start` to `stop`, which must be nonzero and have the same
    sign.

    Parameters
    ----------
    start : array_like
        The first value, a scalar or an array-like.
    stop : array_like
        The last value, or the end that is left out; a scalar or an array-like.
    num : int, default 50
        The number of values.
    endpoint : bool, default True
        Whether `stop` is the last value.
    dtype : dtype, optional
        The dtype of the result; floating by default.
    axis : int, default 0
        Where the new axis goes if `start` or `stop` is an array.

    Returns
    -------
    ndarray
        An array of shape (num,), with the axes of `start` and `stop` if these are arrays.

    Raises
    ------
    ValueError
        If `start` or `stop` is zero, or `num` is negative.

    See Also
    --------
    logspace, linspace, arange

    Examples
    --------
    >>> cp.geomspace(1, 16, 5)
    array([ 1.,  2.,  4.,  8., 16.])
    """
    first, last = convert(start), convert(stop)
    if any(bool((x == 0).any()) for x in (first, last)):
        raise ValueError("Geometric sequence cannot include zero")
    name = dtypes.inexact(dtypes.name_of(dtype))
    for x in (first, last):
        name = _core.promote_types(name, x.dtype_name)
    first, last = _core.cast(first, name), _core.cast(last, name)
    sign = _core.map("sign", first)
    exponents = linspace(
        _core.map("log10", _core.map("divide", first, sign)), _core.map("log10", _core.map("divide", last, sign)),
        num, endpoint,
    )  # fmt: skip
    result = _core.map("multiply", _core.map("power", 10.0, exponents), sign)
    if num > 0:
        _core.update(result[:1], first)
        if num > 1 and endpoint:
            _core.update(result[-1:], last)
    if axis != 0:
        result = moveaxis(result, 0, axis)
    return result if dtype is None else _core.cast(result, dtypes.name_of(dtype))


# --- matrices


__all__ = [
    "arange", "geomspace", "linspace", "logspace",
]  # fmt: skip
