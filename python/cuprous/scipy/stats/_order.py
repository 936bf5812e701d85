"""What depends on the order of the elements: ranks, trimmed means, the interquartile range, the most frequent value."""

from __future__ import annotations

from typing import Any, NamedTuple

import cuprous as cp
from cuprous import _core
from cuprous._common.arguments import array
from cuprous.scipy.stats._moments import _kept, ndarray, sample

_map = _core.map


def iqr(
    x: Any, axis: Any = None, rng: Any = (25, 75), scale: Any = 1.0, nan_policy: str = "propagate",
    interpolation: str = "linear", keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """The distance between two percentiles, divided by `scale` ("normal" makes it the standard deviation of a normal
    distribution).

    NaN of nothing.

    Raises:
        TypeError: if `rng` is not a pair.
        ValueError: for a scale that is not known.
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
    """The mean of a sample without that proportion of its elements at either end.

    Raises:
        ValueError: if nothing is left.
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
    """What `mode` finds."""

    mode: Any
    count: Any


def _runs(ordered: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Along the last axis of sorted values: the first and last place of the equal ones around each, and whether each is
    the first of them."""
    n = ordered.shape[-1]
    index = _core.broadcast_to(cp.arange(n), ordered.shape)
    edge = cp.ones((*ordered.shape[:-1], 1), bool)
    differs = ordered[..., 1:] != ordered[..., :-1]
    new, ends = cp.concatenate([edge, differs], axis=-1), cp.concatenate([differs, edge], axis=-1)
    axis = ordered.ndim - 1
    first = _core.scan("max", _map("where", new, index, 0), axis)
    last = cp.flip(_core.scan("min", cp.flip(_map("where", ends, index, n), -1).copy(), axis), -1)
    return first, last, new


def rankdata(a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> ndarray:
    """The ranks of the elements, from 1; equal ones share their "average", "min" or "max" rank, or its number among
    different ones ("dense"), or get ranks of their own ("ordinal"). NaN makes all ranks of its sample NaN.

    Raises:
        ValueError: for an unknown method.
        AxisError: if there is no such axis.
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


def mode(a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False) -> ModeResult:
    """The most frequent value along an axis (the least of several), and how often it occurs. NaN makes the value NaN
    and the count 0.

    Raises:
        TypeError: for complex numbers and bool.
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
    """The median distance from the median (or what the function `center` of array and axis gives), divided by `scale`
    ("normal": of a normal distribution of standard deviation 1).

    Raises:
        TypeError: for a centre that cannot be called.
        ValueError: for a scale that is not known.
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
