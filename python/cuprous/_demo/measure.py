"""Times a row with NumPy and with Cuprous on each device, and checks the results before a time counts."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cuprous._demo.rows import Row, check_same_normals


@dataclass
class Result:
    """Milliseconds; None where it was not measured, and why in `note`."""

    name: str
    title: str
    numpy: float | None = None
    cpu: float | None = None
    gpu: float | None = None  # inputs and results stay on the GPU
    gpu_copies: float | None = None  # inputs come from NumPy and the result goes back
    note: str = ""

    @property
    def best(self) -> float | None:
        times = [t for t in (self.cpu, self.gpu) if t is not None]
        return min(times) if times else None

    @property
    def ratio(self) -> float | None:
        """How many times faster than NumPy the fastest device is."""
        return self.numpy / self.best if self.numpy and self.best else None

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}


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


def measure(row: Row, cp: Any, gpu: bool, quick: bool, tell: Callable[[str], None]) -> Result:
    """The row's times. A wrong result has no time: the note says what differed."""
    result = Result(row.name, row.title)
    budget = 0.3 if quick else 2.5
    host = row.make(quick)
    if row.needs_scipy:
        try:
            import scipy.ndimage  # noqa: F401
        except ImportError:
            result.note = "needs SciPy for the comparison: pip install scipy"
            return result
    tell("NumPy")
    expected = row.run(np, *host)
    result.numpy = clock(lambda: [row.run(np, *host) for _ in range(row.repeat)], budget) / row.repeat * 1e3
    for device in ("cpu", "cuda") if gpu else ("cpu",):
        tell("Cuprous, " + ("CPU" if device == "cpu" else "GPU"))
        try:
            seconds, with_copies = on_device(row, host, expected, cp, device, budget)
        except ArithmeticError as error:
            result.note = f"wrong result on {device}, no time shown: {error}"
            continue
        if device == "cpu":
            result.cpu = seconds * 1e3
        else:
            result.gpu = seconds * 1e3
            result.gpu_copies = with_copies * 1e3 if with_copies is not None else None
    return result


def on_device(
    row: Row, host: tuple[Any, ...], expected: Any, cp: Any, device: str, budget: float
) -> tuple[float, float | None]:
    """Seconds per run on a device, without and with copies; raises ArithmeticError where the result is wrong."""
    before = cp._core.get_device()
    cp._core.set_device(device)
    try:
        inputs = [cp.asarray(a) if isinstance(a, np.ndarray) else a for a in host]
        actual = row.run(cp, *inputs)
        row.check(expected, fetch(cp, actual))
        if row.name == "paths":
            check_same_normals(cp)

        def resident() -> None:
            last = None
            for _ in range(row.repeat):
                last = row.run(cp, *inputs)
            cp._core.synchronize()
            del last

        def copying() -> None:
            for _ in range(row.repeat):
                moved = [cp.asarray(a) if isinstance(a, np.ndarray) else a for a in host]
                fetch(cp, row.run(cp, *moved))

        warm = time.perf_counter()
        for _ in range(3):  # so that kernels are compiled and the step is recognised
            resident()
            if time.perf_counter() - warm > 1:
                break
        seconds = clock(resident, budget) / row.repeat
        if device == "cpu" or not row.transfers:
            return seconds, None
        copying()
        return seconds, clock(copying, budget) / row.repeat
    finally:
        cp._core.set_device(before)


def fetch(cp: Any, value: Any) -> Any:
    """A result as NumPy's arrays."""
    return tuple(cp.asnumpy(v) for v in value) if isinstance(value, tuple) else cp.asnumpy(value)
