"""Times a row with NumPy and with Cuprous on each device, and checks results and times before they count.

NumPy and Cuprous are timed by the same loop: it computes one result after the other, waits for each, and holds it
until the next one is there. A result that is dropped before anybody waits for it is never computed by a lazy library,
so its time would mean nothing. As a second check no time may be below what the row's bytes take at the memory bandwidth
that is measured beside it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from cuprous._tools.demo import bandwidth
from cuprous._tools.demo.rows import Row, check_same_normals


@dataclass
class Result:
    """Milliseconds; None where it was not measured, and why in `note`."""

    name: str
    title: str
    peer: str = "NumPy"  # what Cuprous is compared with
    reference: float | None = None  # the peer's time
    cpu: float | None = None
    gpu: float | None = None  # inputs and results stay on the GPU
    gpu_copies: float | None = None  # inputs come from NumPy and the result goes back
    nbytes: int = 0  # inputs and results
    cpu_bound: float | None = None  # what reading and writing them once takes
    gpu_bound: float | None = None
    note: str = ""
    failed: bool = False  # a wrong result or an impossible time

    @property
    def best(self) -> float | None:
        times = [t for t in (self.cpu, self.gpu) if t is not None]
        return min(times) if times else None

    @property
    def ratio(self) -> float | None:
        """How many times faster than the peer the fastest device is."""
        return self.reference / self.best if self.reference and self.best else None

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}

    def fail(self, why: str) -> None:
        self.note, self.failed = why, True


def clock(work: Callable[[], Any], budget: float) -> float:
    """Median seconds of a call: as many calls as the budget allows, at least two, at most nine."""
    times: list[float] = []
    spent = 0.0
    while len(times) < 9 and (len(times) < 2 or spent < budget):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
        spent += times[-1]
    return statistics.median(times)


def done(result: Any) -> None:
    """Waits for a NumPy result: it is computed when the call returns."""


def seconds_each(run: Callable[[], Any], wait: Callable[[Any], Any], repeat: int, budget: float) -> float:
    """Median seconds of one run, the wait for its result included. The only loop that times rows, whatever computes."""

    def rounds() -> None:
        result = None
        for _ in range(repeat):
            result = run()
            wait(result)
        del result

    warm = time.perf_counter()
    for _ in range(3):  # so that kernels are compiled and the step is recognized
        rounds()
        if time.perf_counter() - warm > 1:
            break
    return clock(rounds, budget) / repeat


def bytes_of(values: Any) -> int:
    """Bytes of an array, or of those in a tuple."""
    return sum(np.asarray(v).nbytes for v in values) if isinstance(values, tuple) else np.asarray(values).nbytes


def measure(row: Row, cp: Any, gpu: bool, quick: bool, tell: Callable[[str], None]) -> Result:
    """Measures a row. A wrong result and an impossible time are not shown: the note says what is wrong."""
    result = Result(row.name, row.title, row.peer)
    budget = 0.3 if quick else 2.5
    host = row.make(quick)
    if row.needs and find_spec(row.needs) is None:
        result.note = f"needs another package for the comparison: pip install {row.needs}"
        return result
    tell(row.peer)
    expected = row.run(np, *host)
    result.nbytes = bytes_of(expected) + sum(a.nbytes for a in host if isinstance(a, np.ndarray))
    result.reference = seconds_each(lambda: row.run(np, *host), done, row.repeat, budget) * 1e3
    for device in ("cpu", "cuda") if gpu else ("cpu",):
        tell("Cuprous, " + ("CPU" if device == "cpu" else "GPU"))
        try:
            seconds, with_copies, bound = on_device(row, host, expected, result, cp, device, budget)
        except bandwidth.ImpossibleTimeError as error:
            result.fail(f"impossible time on {device}, not shown: {error}")
            continue
        except ArithmeticError as error:
            result.fail(f"wrong result on {device}, no time shown: {error}")
            continue
        if device == "cpu":
            result.cpu, result.cpu_bound = seconds * 1e3, bound.seconds * 1e3
        else:
            result.gpu, result.gpu_bound = seconds * 1e3, bound.seconds * 1e3
            result.gpu_copies = with_copies * 1e3 if with_copies is not None else None
    return result


def on_device(
    row: Row, host: tuple[Any, ...], expected: Any, result: Result, cp: Any, device: str, budget: float
) -> tuple[float, float | None, bandwidth.Bound]:
    """Returns the seconds of a run on a device, without and with copies, and the bound of the first.

    Raises ArithmeticError for a wrong result, ImpossibleTimeError for a time below the bound.
    """
    before = cp.get_device()
    cp.set_device(device)
    try:
        inputs = [cp.asarray(a) if isinstance(a, np.ndarray) else a for a in host]
        actual = row.run(cp, *inputs)
        row.check(expected, fetch(cp, actual))
        if row.name == "paths":
            check_same_normals(cp)
        del actual
        seconds = seconds_each(lambda: row.run(cp, *inputs), lambda _: cp.synchronize(), row.repeat, budget)
        rate = bandwidth.of_cpu if device == "cpu" else lambda n: bandwidth.of_gpu(cp, n)
        bound = bandwidth.Bound(result.nbytes if row.transfers else 0, rate)
        bound.check(seconds)
        if device == "cpu" and result.reference is not None:
            bound.check(result.reference / 1e3)
        if device == "cpu" or not row.transfers:
            return seconds, None, bound

        def copying() -> Any:
            return fetch(cp, row.run(cp, *(cp.asarray(a) if isinstance(a, np.ndarray) else a for a in host)))

        return seconds, seconds_each(copying, done, row.repeat, budget), bound
    finally:
        cp.set_device(before)


def fetch(cp: Any, value: Any) -> Any:
    """A result as NumPy's arrays."""
    return tuple(cp.asnumpy(v) for v in value) if isinstance(value, tuple) else cp.asnumpy(value)
