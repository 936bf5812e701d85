"""How fast memory is, and so the least time that a row can take."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from cuprous._tools.machine import cores

#: A time is impossible if it is this many times below the bound. Bandwidth on a shared machine varies from one second
#: to the next, and what was not computed is faster by far more.
TOLERANCE = 2.0


def best(copy: Callable[[], Any], nbytes: int, budget: float) -> float:
    """Bytes a second of the fastest of several copies, read plus written."""
    copy()
    least, runs, start = float("inf"), 0, time.perf_counter()
    while runs < 3 or time.perf_counter() - start < budget:
        begin = time.perf_counter()
        copy()
        least, runs = min(least, time.perf_counter() - begin), runs + 1
    return nbytes / least


def of_cpu(nbytes: int, budget: float = 0.1) -> float:
    """Measures the copy bandwidth of the CPU.

    Parameters
    ----------
    nbytes : int
        Size of source and target together. Both fit into whatever cache data of this size fits into.
    budget : float
        Seconds for one core, and for all of them.

    Returns
    -------
    float
        Bytes a second, read plus written, of one core or of all of them, whichever is faster.
    """
    half = max(nbytes // 2, 4096)
    source, target = np.ones(half, np.uint8), np.zeros(half, np.uint8)
    count = cores()
    times = max(1, (1 << 27) // half)  # copies are repeated, so that the clock and starting threads do not count

    def copies(part: tuple[np.ndarray, np.ndarray]) -> None:
        for _ in range(times):
            np.copyto(part[1], part[0])

    one = best(lambda: copies((source, target)), 2 * half * times, budget)
    if count == 1:
        return one
    parts = list(zip(np.array_split(source, count), np.array_split(target, count), strict=True))
    with ThreadPoolExecutor(count) as pool:
        return max(one, best(lambda: list(pool.map(copies, parts)), 2 * half * times, budget))


def of_gpu(cp: Any, nbytes: int, budget: float = 0.1) -> float:
    """Measures the copy bandwidth of the current GPU, as `of_cpu` does that of the CPU.

    Eight copies are held and waited for together, so that launches do not count. One of them is compared with the
    source: a copy that was never made would set no bound.
    """
    several = 8
    source = cp.arange(max(nbytes // 8, 1024), dtype=cp.int32)
    kept: list[Any] = []

    def copy() -> None:
        kept[:] = [source.copy() for _ in range(several)]
        cp.synchronize()

    rate = best(copy, several * 2 * source.nbytes, budget)
    if not np.array_equal(cp.asnumpy(kept[-1]), np.arange(source.size, dtype=np.int32)):
        raise ArithmeticError("a copy on the GPU differs from its source")
    return rate


class ImpossibleTimeError(ArithmeticError):
    """A time below what memory allows: not all of the work was done."""


class Bound:
    """The least time for work that moves so many bytes, by the bandwidth that was measured."""

    def __init__(self, nbytes: int, measure: Callable[[int], float]) -> None:
        self.nbytes, self.measure = nbytes, measure
        self.bandwidth = measure(nbytes) if nbytes else float("inf")

    @property
    def seconds(self) -> float:
        """The least time that reading and writing these bytes once takes."""
        return self.nbytes / self.bandwidth

    def check(self, seconds: float) -> None:
        """Raises ImpossibleTimeError for a time well below the bound. For any time below it, measures again before."""
        for _ in range(3):
            if seconds >= self.seconds:
                return
            self.bandwidth = max(self.bandwidth, self.measure(self.nbytes))
        if seconds * TOLERANCE >= self.seconds:
            return
        raise ImpossibleTimeError(
            f"{seconds * 1e3:.3g} ms for {self.nbytes / 1e6:.3g} MB, which take {self.seconds * 1e3:.3g} ms at the "
            f"{self.bandwidth / 1e9:.3g} GB/s measured here"
        )
