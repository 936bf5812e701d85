"""The machine on which commands measure: its cores, and whether other work disturbs."""

from __future__ import annotations

import os


def cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load() -> float | None:
    """Returns the mean number of processes that ran in the last minute, where it is known."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def disturbance(load: float | None) -> str:
    """Returns a remark if the load before a measurement disturbs it, or an empty text."""
    count = cores()
    if load is None or load <= count / 2:
        return ""
    return (
        f"disturbed: other work was running (load {load:.1f} on {count} core{'s' * (count != 1)}), "
        "so times are too long and their ratios uncertain"
    )
