"""NumPy's reductions and `round` to digits, written in the kernel language."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def round_to(x: Any, ndigits: Any) -> Any:
    if math.isinf(x) or math.isnan(x):
        return x
    # A power of ten beyond 1e22 is not exact in one float and is split into two factors.
    small, large = 1.0, 1.0
    if ndigits > 22:
        small, large = 10.0 ** (ndigits - 22), 1e22
    elif ndigits >= 0:
        small = 10.0**ndigits
    else:
        large = 10.0**-ndigits
    if ndigits >= 0:
        scaled = (x * small) * large
        if math.isinf(scaled):
            return x
        return (round(scaled) / large) / small if math.fabs(scaled) < 4503599627370496.0 else x
    scaled = x / large
    return round(scaled) * large if math.fabs(scaled) < 4503599627370496.0 else x


def np_sum(a: Any) -> Any:
    total = a.dtype.type(0)
    for part in a:
        total += part if a.ndim == 1 else np_sum(part)
    return total


def np_prod(a: Any) -> Any:
    total = a.dtype.type(1)
    for part in a:
        total *= part if a.ndim == 1 else np_prod(part)
    return total


def first(a: Any) -> Any:
    if a.size == 0:
        raise ValueError("zero-size array to reduction operation which has no identity")
    return a[0] if a.ndim == 1 else first(a[0])


# A NaN is the least and the greatest, as in NumPy.
def np_max(a: Any) -> Any:
    best = first(a)
    for part in a:
        x = part if a.ndim == 1 else np_max(part)
        if x > best or x != x:
            best = x
    return best


def np_min(a: Any) -> Any:
    best = first(a)
    for part in a:
        x = part if a.ndim == 1 else np_min(part)
        if x < best or x != x:
            best = x
    return best


def np_nanmax(a: Any) -> Any:
    best = first(a)
    for part in a:
        x = part if a.ndim == 1 else np_nanmax(part)
        if x > best or best != best:
            best = x
    return best


def np_nanmin(a: Any) -> Any:
    best = first(a)
    for part in a:
        x = part if a.ndim == 1 else np_nanmin(part)
        if x < best or best != best:
            best = x
    return best


def np_all(a: Any) -> Any:
    for part in a:  # noqa: SIM110 (kernels have no generators)
        if not (part if a.ndim == 1 else np_all(part)):
            return False
    return True


def np_any(a: Any) -> Any:
    for part in a:  # noqa: SIM110
        if part if a.ndim == 1 else np_any(part):
            return True
    return False


def np_count_nonzero(a: Any) -> Any:
    total = 0
    if a.ndim == 0:
        total += 1 if a[()] else 0
    else:
        for part in a:
            if a.ndim > 1:
                total += np_count_nonzero(part)
            elif part:
                total += 1
    return total


def np_nansum(a: Any) -> Any:
    total = a.dtype.type(0)
    for part in a:
        x = part if a.ndim == 1 else np_nansum(part)
        if x == x:
            total += x
    return total


def np_nanprod(a: Any) -> Any:
    total = a.dtype.type(1)
    for part in a:
        x = part if a.ndim == 1 else np_nanprod(part)
        if x == x:
            total *= x
    return total


def numbers(a: Any) -> Any:
    total = 0
    for part in a:
        if a.ndim > 1:
            total += numbers(part)
        elif part == part:
            total += 1
    return total


def np_mean(a: Any) -> Any:
    return np_sum(a) / a.size


def np_nanmean(a: Any) -> Any:
    count = numbers(a)
    return np_nansum(a) / count if count > 0 else math.nan


def squares(a: Any, mean: Any) -> Any:
    total = 0.0
    for part in a:
        if a.ndim > 1:
            total += squares(part, mean)
        else:
            total += (part - mean) * (part - mean)
    return total


def nansquares(a: Any, mean: Any) -> Any:
    total = 0.0
    for part in a:
        if a.ndim > 1:
            total += nansquares(part, mean)
        elif part == part:
            total += (part - mean) * (part - mean)
    return total


def np_var(a: Any) -> Any:
    return squares(a, np_mean(a)) / a.size


def np_std(a: Any) -> Any:
    return math.sqrt(np_var(a))


def np_nanvar(a: Any) -> Any:
    count = numbers(a)
    return nansquares(a, np_nanmean(a)) / count if count > 0 else math.nan


def np_nanstd(a: Any) -> Any:
    return math.sqrt(np_nanvar(a))


#: Called function -> (number of arguments, replacement). The replacement with two arguments is for floats.
FUNCTIONS: dict[Any, tuple[int, Callable[..., Any]]] = {
    round: (2, round_to),
    **{getattr(np, f.__name__[3:]): (1, f) for f in (
        np_sum, np_prod, np_max, np_min, np_all, np_any, np_count_nonzero, np_mean, np_var, np_std, np_nanmax,
        np_nanmin, np_nansum, np_nanprod, np_nanmean, np_nanvar, np_nanstd,
    )},
    np.amax: (1, np_max), np.amin: (1, np_min),
}  # fmt: skip
