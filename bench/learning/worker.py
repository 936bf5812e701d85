"""Measures rows with one library in this process and prints one JSON line each. BENCH_LEARNING names the library."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.learning.library import torch
from bench.learning.works import WORKS, stepper

SEED = Path(__file__).parents[2] / "examples" / "seeds" / "001_training.py"
#: Warm-up steps, which are timed separately and whose losses are compared.
WARM = 5


def wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()


def rounds(once: Callable[[], None], budget: float) -> float:
    """Returns the median seconds of three to nine calls, after one uncounted call; stops when the budget is spent."""
    once()
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < 3 or (len(times) < 9 and time.perf_counter() - begin < budget):
        start = time.perf_counter()
        once()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak(device: str) -> float:
    """Returns the peak memory in MiB: of arrays on the GPU, or of the process."""
    if device == "cpu":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return float(torch.cuda.max_memory_allocated()) / 2**20


def work(name: str, device: str, how: str, budget: float) -> dict[str, Any]:
    """Returns milliseconds per step, seconds of the first five steps, their losses, and the peak memory."""
    row = WORKS[name]
    step = stepper(row, device, how)
    count = max(row.steps // 20, 5) if device == "cpu" and row.steps < 1000 else row.steps
    wait(device)
    start = time.perf_counter()
    # A graph returns one tensor, which the next replay overwrites, so it is read each time.
    losses = [float(step()) if how in ("compile", "graph") else step().detach() for _ in range(WARM)]
    wait(device)
    warm = time.perf_counter() - start
    values = [float(loss) for loss in losses]

    def once() -> None:
        # Losses are held until the work is done, because a lazy library does not compute a dropped loss.
        kept = [step().detach() for _ in range(count)]
        wait(device)
        del kept

    seconds = rounds(once, budget)
    return {"ms": seconds / count * 1e3, "warm_s": warm, "peak_mib": peak(device), "losses": values}


def seed(device: str, budget: float) -> dict[str, Any]:
    """Runs the unmodified PyTorch program, except for its import. Its own start time is compared after a wait."""
    text = SEED.read_text(encoding="utf-8")
    if torch.__name__ == "torch":
        text = text.replace("cuprous.torch", "torch")
    if device == "cpu":
        text = text.replace("torch.cuda.is_available()", "False")
    code = compile(text, str(SEED), "exec")
    times: list[float] = []

    def once() -> None:
        names: dict[str, Any] = {"__name__": "__main__"}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, names)
        wait(device)
        times.append(time.time() - names["start_time"])

    rounds(once, budget)
    return {"ms": statistics.median(times[1:]) / 1000 * 1e3, "warm_s": times[0], "peak_mib": peak(device), "losses": []}


def main() -> None:
    """Arguments: device, how, seconds for each row, rows."""
    device, how, budget = sys.argv[1], sys.argv[2], float(sys.argv[3])
    for name in sys.argv[4:]:
        if device != "cpu":
            gc.collect()
            torch.cuda.empty_cache()
            if torch.__name__ == "torch":  # each Cuprous row has its own process
                torch.cuda.reset_peak_memory_stats()
        try:
            found = seed(device, budget) if name == "seed" else work(name, device, how, budget)
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps({"row": name, **found}), flush=True)


if __name__ == "__main__":
    main()
