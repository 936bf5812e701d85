"""Measures the steady-state time of a call."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from cuprous import _core

#: Runs of the same work that differ by more were disturbed, such as by other programs.
DISTURBED = 1.5


def settled_seconds(call: Callable[[], Any], *, settle: float = 0.0, budget: float = 1.0, most: int = 25) -> float:
    """Returns the seconds of one call, waited for, in the quarter of runs that was least disturbed (`settled_runs`)."""
    times = settled_runs(call, settle=settle, budget=budget, most=most)
    return times[len(times) // 4]


def disturbance(times: Sequence[float]) -> str:
    """Returns how runs of the same work differ, or an empty text if they agree. The slowest quarter does not count."""
    ordered = sorted(times)
    spread = ordered[-1 - len(ordered) // 4] / max(ordered[0], 1e-9)
    return f"disturbed: runs differ by {spread:.1f}x, so other work may be running" if spread > DISTURBED else ""


def settled_runs(call: Callable[[], Any], *, settle: float = 0.0, budget: float = 1.0, most: int = 25) -> list[float]:
    """Returns the seconds of calls, each waited for, in ascending order.

    Parameters
    ----------
    call : callable
        What is timed; what it returns is held until the device is done.
    settle : float, default 0.0
        Seconds for which it is run at least before anything is timed; four runs are, but for long ones.
    budget : float, default 1.0
        Seconds for which it is timed, at least three times.
    most : int, default 25
        Runs that are timed at most.
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
    return sorted(times)


class Timing(NamedTuple):
    """Seconds of a call, computed and waited for: see `timeit`."""

    runs: tuple[float, ...]
    """Each run's seconds of one call."""
    number: int
    """Calls of one run."""

    @property
    def median(self) -> float:
        """The median of the runs, in seconds."""
        import statistics

        return statistics.median(self.runs)

    @property
    def best(self) -> float:
        """The shortest of the runs, in seconds."""
        return min(self.runs)

    @property
    def disturbed(self) -> str:
        """How the runs differ, or an empty text if they agree."""
        return disturbance(self.runs)

    def __repr__(self) -> str:
        calls = f"{len(self.runs)} runs of {self.number} call{'s' * (self.number != 1)}"
        median, best = (_core.quantity(seconds, "s") for seconds in (self.median, self.best))
        marked = f"; {self.disturbed}" if self.disturbed else ""
        return f"{median} a call, computed (median of {calls}; best {best}{marked})"


def timeit(fn: Callable[..., Any], *args: Any, repeat: int = 7, number: int | None = None,
           kwargs: Mapping[str, Any] | None = None) -> Timing:  # fmt: skip
    """Measures how long a call takes until its results are computed.

    Operations on arrays are recorded and computed later, or never if the result is dropped. A clock around a call, such
    as IPython's `%timeit`, therefore measures the recording alone. This function holds what each call returns until it
    is computed, and calls `fn` first until its programs are compiled. Only results that `fn` returns, in tuples, lists
    or dicts too, or leaves somewhere are computed.

    Parameters
    ----------
    fn : callable
        The function to measure.
    *args : any
        Its positional arguments.
    repeat : int, default 7
        The number of runs.
    number : int, optional
        The number of calls in a run; by default as many as take 50 milliseconds together.
    kwargs : mapping, optional
        Its keyword arguments, a mapping.

    Returns
    -------
    Timing
        A `Timing`: the seconds of one call in each run. Its representation shows the median and the best.

    Raises
    ------
    TypeError
        If `fn` is not callable.
    ValueError
        If `repeat` or `number` is below 1.

    See Also
    --------
    synchronize, paced

    Examples
    --------
    >>> a = cp.ones((500, 500))
    >>> cp.timeit(lambda x: x @ x, a, repeat=3, number=1).median > 0
    True
    """
    if not callable(fn):
        raise TypeError(f"[timeit] the first argument must be a function, not {type(fn).__name__}")
    if repeat < 1 or (number is not None and number < 1):
        raise ValueError(f"[timeit] repeat and number must be 1 or more, not {repeat} and {number}")
    options = dict(kwargs or {})

    def run(count: int) -> float:
        kept = None
        begin = time.perf_counter()
        for _ in range(count):
            kept = fn(*args, **options)
            _core.synchronize()
        taken = time.perf_counter() - begin
        del kept
        return taken / count

    _core.synchronize()
    start, once = time.perf_counter(), run(1)
    for _ in range(3):
        if time.perf_counter() - start < 2:
            once = run(1)
    if number is None:
        number = max(1, min(int(0.05 / max(once, 1e-9)), 10_000))
    return Timing(tuple(run(number) for _ in range(repeat)), number)


__all__ = ["timeit"]
