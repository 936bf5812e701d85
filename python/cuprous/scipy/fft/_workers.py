"""SciPy's words for how a transform is to be run, and its sizes that are fast."""

from __future__ import annotations

import contextlib
import operator
import os
import threading
from collections.abc import Iterator
from typing import Any

_default = threading.local()
_CPUS = os.cpu_count() or 1


def _count(workers: int | None) -> int:
    if workers is None:
        return get_workers()
    if workers < -_CPUS:
        raise ValueError(f"workers value out of range; got {workers}, must not be less than {-_CPUS}")
    if workers == 0:
        raise ValueError("workers must not be zero")
    return workers + 1 + _CPUS if workers < 0 else workers


def check(workers: int | None, plan: Any) -> None:
    """Checks what cannot change a result: the engine shares work among threads as it sees fit.

    Raises:
        ValueError: for `workers` that SciPy refuses.
        NotImplementedError: for a plan.
    """
    _count(workers)
    if plan is not None:
        raise NotImplementedError("[fft] plans are made and kept by the engine; leave out plan=")


def get_workers() -> int:
    """The default of `workers`."""
    return getattr(_default, "workers", 1)


@contextlib.contextmanager
def set_workers(workers: int) -> Iterator[None]:
    """Context in which that is the default of `workers`; it is checked and has no effect on results or speed.

    Raises:
        ValueError: for 0 or less than minus the number of processors.
    """
    before = get_workers()
    _default.workers = _count(operator.index(workers))
    try:
        yield
    finally:
        _default.workers = before


def _sizes(real: bool, most: int) -> list[int]:
    """Products of the primes that transforms are fast for (SciPy's choice), up to `most`."""
    sizes = [1]
    for prime in (2, 3, 5) if real else (2, 3, 5, 7, 11):
        for size in sizes:
            if size * prime <= most:
                sizes.append(size * prime)  # and is multiplied in its turn, until all powers are there
    return sizes


def _target(target: int) -> int:
    target = operator.index(target)
    if target < 0:
        raise ValueError("Target length must be positive")
    return target


def next_fast_len(target: int, real: bool = False) -> int:
    """The least size from `target` on whose transform is fast; `real` for real points.

    Raises:
        ValueError: for a negative size.
    """
    target = _target(target)
    # A power of two is below twice the target.
    return min((n for n in _sizes(real, 2 * target) if n >= target), default=target) if target else 0


def prev_fast_len(target: int, real: bool = False) -> int:
    """The greatest size up to `target` whose transform is fast; `real` for real points.

    Raises:
        ValueError: for a negative size.
    """
    target = _target(target)
    return max(_sizes(real, target)) if target else 0


__all__ = ["get_workers", "next_fast_len", "prev_fast_len", "set_workers"]
