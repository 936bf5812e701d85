"""Order statistics: ranks, trimmed means, the interquartile range, the most frequent value."""

from __future__ import annotations

from typing import Any, NamedTuple

import cuprous as cp
from cuprous import _core
from cuprous._common.arguments import array
from cuprous._common.operands import on_array_device
from cuprous.scipy.stats._moments import _kept, ndarray, sample

_map = _core.map


def iqr(
    x: Any, axis: Any = None, rng: Any = (25, 75), scale: Any = 1.0, nan_policy: str = "propagate",
    interpolation: str = "linear", keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """Returns the distance between two percentiles, divided by `scale` ("normal" estimates the standard deviation of a
    normal distribution).

    Empty samples give NaN.

    Parameters
    ----------
    x : array_like
        The samples.
    axis : int, optional
        The axis of the samples; None flattens them.
    rng : pair of floats, default (25, 75)
        The pair of percentiles.
    scale : float or str, default 1.0
        A number, or "normal".
    nan_policy : str, default "propagate"
        Must be "propagate".
    interpolation : str, default "linear"
        How to interpolate between elements, as `method` of `cuprous.percentile`.
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    ndarray
        An array without the axis.

    Raises
    ------
    TypeError
        If `rng` is not a pair.
    ValueError
        For an unknown scale.

    See Also
    --------
    cuprous.std, cuprous.var

    Examples
    --------
    >>> cp.scipy.stats.iqr([1.0, 2.0, 3.0, 4.0, 5.0])
    array(2.)
    """
    if len(rng) != 2:
        raise TypeError("quantile range must be two element sequence")
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} not a valid scale for `iqr`")
        scale = 1.3489795003921634
    values, along = sample(x, axis, "iqr", nan_policy)
    if values.shape[along] == 0:
        return _kept(cp.mean(values, axis=along), x, axis, keepdims)  # NaN
    low, high = (cp.percentile(values, float(q), axis=along, method=interpolation) for q in sorted(rng))
    return _kept((high - low) / float(scale), x, axis, keepdims)


def trim_mean(
    a: Any, proportiontocut: float, axis: int | None = 0, *, nan_policy: str = "propagate", keepdims: bool = False
) -> ndarray:
    """Returns the mean of a sample without the fraction `proportiontocut` of its elements at each end.

    Parameters
    ----------
    a : array_like
        The samples.
    proportiontocut : float
        The fraction, below 0.5.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    ndarray
        An array without the axis.

    Raises
    ------
    ValueError
        If no elements are left.

    See Also
    --------
    scipy.stats.rankdata, scipy.stats.mode

    Examples
    --------
    >>> cp.scipy.stats.trim_mean([1.0, 2.0, 3.0, 100.0], 0.25)
    array(2.5)
    """
    x, along = sample(a, axis, "trim_mean", nan_policy)
    n = x.shape[along]
    cut = int(proportiontocut * n)
    if 2 * cut > n:
        raise ValueError("Proportion too big.")
    ordered = cp.moveaxis(cp.sort(x, axis=along), along, 0)
    value = cp.mean(ordered[cut : n - cut], axis=0)
    spoiled = cp.any(cp.isnan(x), axis=along)
    return _kept(_map("where", spoiled, float("nan"), value), a, axis, keepdims)


class ModeResult(NamedTuple):
    """The result of `mode`."""

    mode: Any
    count: Any


def _runs(ordered: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Returns, along the last axis of sorted values, the first and last index of each element's run of equal values,
    and whether the element is the first of its run."""
    n = ordered.shape[-1]
    index = _core.broadcast_to(cp.arange(n), ordered.shape)
    edge = cp.ones((*ordered.shape[:-1], 1), bool)
    differs = ordered[..., 1:] != ordered[..., :-1]
    new, ends = cp.concatenate([edge, differs], axis=-1), cp.concatenate([differs, edge], axis=-1)
    axis = ordered.ndim - 1
    first = _core.scan("max", _map("where", new, index, 0), axis)
    last = cp.flip(_core.scan("min", cp.flip(_map("where", ends, index, n), -1).copy(), axis), -1)
    return first, last, new


@on_array_device
def rankdata(a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> ndarray:
    """Returns the ranks of the elements, starting at 1. Equal elements share their "average", "min" or "max" rank,
    share their rank among distinct values ("dense"), or get ranks of their own ("ordinal"). NaN makes all ranks of its
    sample NaN.

    Parameters
    ----------
    a : array_like
        The samples.
    method : {"average", "min", "max", "dense", "ordinal"}, default "average"
        "average", "min", "max", "dense" or "ordinal".
    axis : int, optional
        The axis; None (the default) flattens the array.
    nan_policy : str, default "propagate"
        Must be "propagate".

    Returns
    -------
    ndarray
        An array of the shape of `a`, 1-d if `axis` is None.

    Raises
    ------
    ValueError
        For an unknown method.
    AxisError
        If the axis does not exist.

    See Also
    --------
    scipy.stats.mode, scipy.stats.trim_mean

    Examples
    --------
    >>> cp.scipy.stats.rankdata([10.0, 30.0, 20.0, 20.0])
    array([1. , 4. , 2.5, 2.5])
    """
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f'unknown method "{method}"')
    data = array(a)
    x, along = sample(data, axis, "rankdata", nan_policy)
    raw = cp.moveaxis(data.reshape([x.size]) if axis is None else data, along, -1)
    if x.size == 0:
        return _core.empty(x.shape, "float64")
    order = cp.argsort(raw, axis=-1, stable=True)
    if method == "ordinal":
        ranks = cp.arange(1, raw.shape[-1] + 1)
    else:
        first, last, new = _runs(cp.take_along_axis(raw, order, axis=-1))
        if method == "average":
            ranks = (first + last) / 2.0 + 1.0
        elif method == "dense":
            ranks = cp.cumsum(new, axis=-1)
        else:
            ranks = (first if method == "min" else last) + 1
    inverse = cp.argsort(order, axis=-1, stable=True)
    ranks = cp.take_along_axis(_core.broadcast_to(cp.astype(ranks, "float64"), raw.shape), inverse, axis=-1)
    spoiled = cp.any(cp.isnan(cp.moveaxis(x, along, -1)), axis=-1, keepdims=True)
    return cp.moveaxis(_map("where", spoiled, float("nan"), ranks), -1, along)


@on_array_device
def mode(a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """Returns the most frequent value along an axis (the least of several), and its count. NaN makes the value NaN and
    the count 0.

    Parameters
    ----------
    a : array_like
        The samples.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    ModeResult
        A result with `mode` and `count`.

    Raises
    ------
    TypeError
        For complex numbers and booleans.

    See Also
    --------
    scipy.stats.trim_mean, scipy.stats.rankdata

    Examples
    --------
    >>> cp.scipy.stats.mode([1, 2, 2, 3]).mode
    array(2)
    """
    data = cp.atleast_1d(array(a))
    if data.dtype_name == "bool":
        raise TypeError("[mode] bool is not numeric")
    x, along = sample(data, axis, "mode", nan_policy)
    raw = cp.moveaxis(data.reshape([x.size]) if axis is None else data, along, -1)
    shape = raw.shape[:-1]
    if raw.shape[-1] == 0:
        value, count = cp.full(shape, float("nan")), cp.zeros(shape, "int64")
    else:
        ordered = cp.sort(raw, axis=-1)
        first, last, _ = _runs(ordered)
        counts = last - first + 1
        best = cp.expand_dims(cp.argmax(counts, axis=-1), -1)
        value, count = (cp.squeeze(cp.take_along_axis(v, best, axis=-1), -1) for v in (ordered, counts))
        if raw.dtype_name == x.dtype_name:
            spoiled = cp.any(cp.isnan(raw), axis=-1)
            value, count = _map("where", spoiled, float("nan"), value), _map("where", spoiled, 0, count)
    return ModeResult(_kept(value, a, axis, keepdims), _kept(count, a, axis, keepdims))


def median_abs_deviation(
    x: Any, axis: int | None = 0, center: Any = None, scale: Any = 1.0, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """Returns the median absolute deviation from the median (or from the result of `center(array, axis)`), divided by
    `scale` ("normal": by that of the standard normal distribution).

    Parameters
    ----------
    x : array_like
        The samples.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    center : callable, optional
        A function `center(array, axis)`; by default the median.
    scale : float or str, default 1.0
        A number, or "normal".
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    ndarray
        An array without the axis.

    Raises
    ------
    TypeError
        For a center that is not callable.
    ValueError
        For an unknown scale.

    See Also
    --------
    cuprous.std, cuprous.var, cuprous.median, cuprous.scipy.stats.iqr

    Examples
    --------
    >>> cp.scipy.stats.median_abs_deviation([1.0, 2.0, 9.0])
    array(1.)
    """
    if center is not None and not callable(center):
        raise TypeError(f"The argument 'center' must be callable. The given value {center!r} is not callable.")
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} is not a valid scale value.")
        scale = 0.6744897501960817
    values, along = sample(x, axis, "median_abs_deviation", nan_policy)
    middle = cp.expand_dims((cp.median if center is None else center)(values, axis=along), along)
    return _kept(cp.median(_map("absolute", values - middle), axis=along) / float(scale), x, axis, keepdims)
