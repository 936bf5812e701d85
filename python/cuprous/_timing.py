"""How long a call takes once things have settled."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from cuprous import _core


def settled_seconds(call: Callable[[], Any], *, settle: float = 0.0, budget: float = 1.0, most: int = 25) -> float:
    """Seconds of one call, each waited for, in the quarter of runs that was least disturbed.

    Args:
        call: what is timed; what it returns is held until the device is done.
        settle: seconds for which it is run at least before anything is timed; four runs are, but for long ones.
        budget: seconds for which it is timed, at least three times.
        most: runs that are timed at most.
    """

    def once() -> float:
        begin = time.perf_counter()
        kept = call()
        _core.synchronize()
        taken = time.perf_counter() - begin
        del kept
        return taken

    _core.synchronize()
    start, runs = time.perf_counter(), 0
    while runs < 4 or time.perf_counter() - start < settle:
        once()
        runs += 1
        if time.perf_counter() - start > 2 + settle:
            break
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < most and (len(times) < 3 or time.perf_counter() - start < budget):
        times.append(once())
    return sorted(times)[len(times) // 4]


__all__ = ["settled_seconds"]
