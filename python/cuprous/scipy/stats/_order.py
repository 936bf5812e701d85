"""What depends on the order of the elements: ranks, trimmed means, the interquartile range."""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._args import array
from cuprous.scipy.stats._moments import _kept, ndarray, sample

_map = _core.map


def iqr(
    x: Any, axis: Any = None, rng: Any = (25, 75), scale: Any = 1.0, nan_policy: str = "propagate",
    interpolation: str = "linear", keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """The distance between two percentiles, divided by `scale` ("normal" makes it the standard deviation of a normal
    distribution).

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


def rankdata(a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate") -> ndarray:
    """The ranks of the elements, from 1; equal ones share their "average", "min" or "max" rank, or its number among
    different ones ("dense"), or get ranks of their own ("ordinal"). NaN makes all ranks NaN.

    Raises:
        ValueError: for an unknown method.
        NotImplementedError: for an axis of an array with more than one.
    """
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f'unknown method "{method}"')
    given = array(a)
    if axis is not None and given.ndim > 1:
        raise NotImplementedError("[rankdata] axis= is not supported for arrays of several axes")
    x, _ = sample(given, None, "rankdata", nan_policy)
    raw = given.reshape([x.size])
    order = cp.argsort(raw, stable=True)
    if method == "ordinal":
        ranks = cp.argsort(order, stable=True) + 1
    else:
        ordered = _core.gather(raw.copy(), order)
        left = cp.searchsorted(ordered, raw, side="left")
        right = cp.searchsorted(ordered, raw, side="right")
        if method == "average":
            ranks = (left + right + 1) / 2.0
        elif method == "dense":
            new = cp.concatenate([cp.ones(min(1, x.size), bool), ordered[1:] != ordered[:-1]])
            ranks = _core.gather(cp.cumsum(new), left) if x.size else left
        else:
            ranks = left + 1 if method == "min" else right
    ranks = cp.astype(ranks, "float64")
    return _map("where", cp.any(cp.isnan(x)), float("nan"), ranks)
