"""The `workers` and `plan` arguments of `scipy.fft`, and fast transform lengths."""

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
    """Validates arguments that have no effect here, as the engine schedules threads itself.

    Raises
    ------
    ValueError
        For `workers` values that SciPy rejects.
    NotImplementedError
        If `plan` is given.
    """
    _count(workers)
    if plan is not None:
        raise NotImplementedError("[hfft] plans are not yet supported for this transform; leave out plan=")


def get_workers() -> int:
    """Returns the default of `workers`.

    Returns
    -------
    int

    See Also
    --------
    scipy.fft.set_workers

    Examples
    --------
    >>> cp.scipy.fft.get_workers()
    1
    """
    return getattr(_default, "workers", 1)


@contextlib.contextmanager
def set_workers(workers: int) -> Iterator[None]:
    """Returns a context manager that sets the default of `workers`. It has no effect on results or speed.

    Parameters
    ----------
    workers : int
        The number of workers.

    Returns
    -------
    context manager

    Raises
    ------
    ValueError
        For 0 or values below minus the number of processors.

    See Also
    --------
    scipy.fft.get_workers

    Examples
    --------
    >>> with cp.scipy.fft.set_workers(2):
    ...     cp.scipy.fft.get_workers()
    2
    """
    before = get_workers()
    _default.workers = _count(operator.index(workers))
    try:
        yield
    finally:
        _default.workers = before


def _sizes(real: bool, most: int) -> list[int]:
    """Returns the products of the primes that transforms are fast for (SciPy's choice), up to `most`."""
    sizes = [1]
    for prime in (2, 3, 5) if real else (2, 3, 5, 7, 11):
        for size in sizes:
            if size * prime <= most:
                sizes.append(size * prime)  # the loop also visits appended sizes, so all powers appear
    return sizes


def _target(target: int) -> int:
    target = operator.index(target)
    if target < 0:
        raise ValueError("Target length must be positive")
    return target


def next_fast_len(target: int, real: bool = False) -> int:
    """Returns the smallest length of at least `target` whose transform is fast; `real` selects real input.

    Parameters
    ----------
    target : int
        The least length.
    real : bool, default False
        Whether the input is real.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        For a negative length.

    See Also
    --------
    scipy.fft.prev_fast_len

    Examples
    --------
    >>> cp.scipy.fft.next_fast_len(97)
    98
    """
    target = _target(target)
    # Twice the target bounds the search: a power of two lies below it, and all of these are fast.
    return min((n for n in _sizes(real, 2 * target) if n >= target), default=target) if target else 0


def prev_fast_len(target: int, real: bool = False) -> int:
    """Returns the greatest length of at most `target` whose transform is fast; `real` selects real input.

    Parameters
    ----------
    target : int
        The greatest length.
    real : bool, default False
        Whether the input is real.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        For a negative length.

    See Also
    --------
    scipy.fft.next_fast_len

    Examples
    --------
    >>> cp.scipy.fft.prev_fast_len(97)
    96
    """
    target = _target(target)
    return max(_sizes(real, target)) if target else 0


__all__ = ["get_workers", "next_fast_len", "prev_fast_len", "set_workers"]
