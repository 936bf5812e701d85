"""Estimators of the bin width of a histogram, by the names that `histogram` accepts. Each copies one number to the
host.

The formulas are NumPy's: Scott (1979), Freedman and Diaconis (1981), Doane (1976), Stone (1984), Sturges (1926).
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any, TypeAlias

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ndarray
from cuprous._functions.joining import stack
from cuprous._functions.moments import mean, std
from cuprous._functions.quantiles import percentile
from cuprous._functions.reductions import max as max_
from cuprous._functions.reductions import min as min_
from cuprous._functions.reductions import ptp
from cuprous._functions.reductions import sum as sum_

#: The range of the histogram; None for the range of the data.
Range: TypeAlias = "tuple[float, float] | None"


def _extent(x: ndarray) -> float:
    """Returns the greatest minus the least value. For integers the difference may exceed the range of their dtype."""
    if dtypes.kind(x.dtype_name) in "iu":
        return int(max_(x)) - int(min_(x))
    return float(ptp(x))


def _sqrt(x: ndarray) -> float:
    return _extent(x) / math.sqrt(x.size)


def _sturges(x: ndarray) -> float:
    return _extent(x) / (math.log2(x.size) + 1.0)


def _rice(x: ndarray) -> float:
    return _extent(x) / (2.0 * x.size ** (1.0 / 3))


def _scott(x: ndarray) -> float:
    return (24.0 * math.pi**0.5 / x.size) ** (1.0 / 3.0) * float(std(x))


def _doane(x: ndarray) -> float:
    n = x.size
    if n <= 2:
        return 0.0
    sigma = std(x)
    if not float(sigma) > 0.0:
        return 0.0
    z = (x - mean(x)) / sigma
    skewness = float(mean(z * z * z))
    error = math.sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)))
    return _extent(x) / (1.0 + math.log2(n) + math.log2(1.0 + abs(skewness) / error))


def _freedman_diaconis(x: ndarray) -> float:
    quartiles = percentile(x, [75, 25])
    return 2.0 * float(quartiles[0] - quartiles[1]) * x.size ** (-1.0 / 3.0)


def _stone(x: ndarray, range: Range, histogram: Callable[..., Any]) -> float:
    """Returns the bin width with the least estimated squared error over all numbers of bins up to max(100, sqrt(n))."""
    n = x.size
    extent = _extent(x)
    if n <= 1 or extent == 0:
        return 0.0
    most = max(100, int(math.sqrt(n)))
    errors = []
    for bins in builtins.range(1, most + 1):
        p = histogram(x, bins, range)[0] / n
        errors.append((2 - (n + 1) * sum_(p * p)) / (extent / bins))
    return extent / (1 + int(_core.reduce("argmin", stack(errors), None)))


def _auto(x: ndarray) -> float:
    spread = max(_freedman_diaconis(x), _sqrt(x) / 2)
    return min(spread, _sturges(x))


#: The estimators except Stone's, which also needs the range and computes histograms.
ESTIMATORS: dict[str, Callable[[ndarray], float]] = {
    "auto": _auto, "doane": _doane, "fd": _freedman_diaconis, "rice": _rice, "scott": _scott, "sqrt": _sqrt,
    "sturges": _sturges,
}  # fmt: skip


def count(a: ndarray, name: str, range: Range, weights: Any, histogram: Callable[..., Any]) -> int:
    """Returns the number of bins that the estimator `name` gives for the data within the range.

    Raises
    ------
    TypeError
        If weights are given, which no estimator supports.
    ValueError
        If no estimator has this name.
    """
    if name not in (*ESTIMATORS, "stone"):
        raise ValueError(f"{name!r} is not a valid estimator for `bins`")
    if weights is not None:
        raise TypeError("Automated estimation of the number of bins is not supported for weighted data")
    a = a.reshape(-1)
    if range is not None:
        a = a[(a >= range[0]) & (a <= range[1])]
    if a.size == 0:
        return 1
    width = _stone(a, range, histogram) if name == "stone" else ESTIMATORS[name](a)
    if not width:
        return 1
    if dtypes.kind(a.dtype_name) in "iu":
        width = max(width, 1)
    return math.ceil((_extent(a) if range is None else range[1] - range[0]) / width)


__all__ = ["ESTIMATORS", "count"]
