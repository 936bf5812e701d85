"""Medians of wall-clock times that include a final synchronization, and checks of results before timing."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Work = Callable[[], Any]
#: Seconds for which a short work is repeated. Fewer calls are slower than later ones, and differ more.
SHORT = 0.1


def median_seconds(work: Work, sync: Callable[[Any], Any], warm: int = 4, runs: int = 9, budget: float = 1.5) -> float:
    """Returns the median of at least `runs` calls, of as many as take 0.1 s if the work is short, and of only three or
    more if it is so long that they would exceed the budget (seconds). Warm-up stops early then.

    What the work returns is held while `sync` waits for it: a lazy library does not compute what was dropped.
    Begins with a pause: threads of the library that ran before may still spin (OpenBLAS': 2^26 cycles).
    """
    time.sleep(0.1)
    start = time.perf_counter()
    for n in range(warm):
        result = work()
        if result is None:
            raise TypeError("the work must return its results: what is dropped need not be computed")
        sync(result)
        del result
        if n and time.perf_counter() - start > budget:
            break
    times: list[float] = []
    start = time.perf_counter()
    while True:
        passed = time.perf_counter() - start
        if (len(times) >= runs and passed >= SHORT) or (len(times) >= 3 and passed >= budget):
            return statistics.median(times)
        begin = time.perf_counter()
        sync(work())
        times.append(time.perf_counter() - begin)


def assert_close(actual: Any, expected: Any, rtol: float, what: str = "result") -> None:
    """Asserts ||actual - expected|| <= rtol * ||expected||, no NaN, and equal shapes."""
    got, want = np.asarray(actual, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if got.shape != want.shape:
        raise ArithmeticError(f"{what} has shape {got.shape}, expected {want.shape}")
    norm = float(np.linalg.norm(want.ravel())) or 1.0
    error = float(np.linalg.norm((got - want).ravel())) / norm
    if not error <= rtol:
        raise ArithmeticError(f"{what} is off by {error:.3g} of its norm, allowed {rtol:g}")
