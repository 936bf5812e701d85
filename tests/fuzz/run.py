"""Runs a range of seeds in one or several processes and reports failures."""

from __future__ import annotations

import math
import multiprocessing as mp
import os
import tempfile
import time
from dataclasses import dataclass, field
from multiprocessing.sharedctypes import Synchronized
from types import ModuleType
from typing import Any

from tests.simulated import select

from .compare import Mismatch, check
from .generate import generate
from .shrink import as_python, shrink

MODES = ("single", "fused", "auto", "sizes")
# Arguments of `run_seeds`: modes, at_most, end.
Limits = tuple[tuple[str, ...], int, float]


@dataclass
class Report:
    """The number of programs run and, for each failing seed, the failure, shrunk if possible."""

    programs: int = 0
    seconds: float = 0.0
    failures: dict[int, str] = field(default_factory=dict)


def run_seeds(
    seeds: range,
    cp: ModuleType,
    modes: tuple[str, ...] = MODES,
    at_most: int = 10,
    end: float = math.inf,
    current: Any = None,
) -> Report:
    """Checks each seed; stops after `at_most` failures or when `time.monotonic()` reaches `end`.

    `current` holds the seed, so that the parent process knows it after a crash.
    """
    report, start = Report(), time.perf_counter()
    for seed in seeds:
        if time.monotonic() > end:
            break
        if current is not None:
            current.value = seed
        program = generate(seed)
        report.programs += 1
        try:
            check(program, cp, modes)
        except Mismatch as error:
            report.failures[seed] = describe(program, error, cp, modes)
            if len(report.failures) >= at_most:
                break
    report.seconds = time.perf_counter() - start
    return report


def describe(program: Any, error: Mismatch, cp: ModuleType, modes: tuple[str, ...]) -> str:
    """Returns the shrunk program, or the whole one if it does not fail again."""
    try:
        return as_python(*shrink(program, cp, modes))
    except ValueError:
        return (
            as_python(program, error, modes) + "# It failed once and not again: state from earlier programs matters.\n"
        )


def open_device(device: str) -> ModuleType:
    """Returns Cuprous with `device` as the default device."""
    import cuprous as cp

    cp._core.set_device(select(device))
    return cp


def _work(seeds: range, device: str, cache: str, limits: Limits, current: Synchronized, queue: Any) -> None:
    # The processes share the cores, so each uses one thread.
    os.environ.setdefault("RAYON_NUM_THREADS", "2")
    # Kernels of random programs must not fill the user's cache.
    os.environ.setdefault("CUPROUS_CACHE_DIR", cache)
    queue.put(run_seeds(seeds, open_device(device), *limits, current))


def run_parallel(first: int, programs: int, device: str, processes: int, limits: Limits) -> Report:
    """Splits the seeds over processes. If a process dies, its current seed fails and a new process continues.

    One process per core is best on a GPU too, because nearly all time is spent in the compiler.
    """
    with tempfile.TemporaryDirectory() as cache:
        return _run_parallel(first, programs, device, processes, cache, limits)


def _run_parallel(first: int, programs: int, device: str, processes: int, cache: str, limits: Limits) -> Report:
    context = mp.get_context("spawn")
    total, start = Report(), time.perf_counter()
    share = -(-programs // processes)
    waiting = [range(low, min(low + share, first + programs)) for low in range(first, first + programs, share)]
    running: list[tuple[Any, Any, Any, range]] = []
    while waiting or running:
        while waiting and len(running) < processes:
            seeds = waiting.pop()
            current, queue = context.Value("q", seeds.start), context.SimpleQueue()
            worker = context.Process(target=_work, args=(seeds, device, cache, limits, current, queue))
            worker.start()
            running.append((worker, current, queue, seeds))
        for entry in list(running):
            worker, current, queue, seeds = entry
            if worker.is_alive() and queue.empty():
                continue
            running.remove(entry)
            if not queue.empty():
                report = queue.get()
                total.programs += report.programs
                total.failures |= report.failures
            else:
                died = current.value
                total.programs += died - seeds.start + 1
                lines = "\n".join(generate(died).lines)
                total.failures[died] = f"# seed {died}: the process died with exit code {worker.exitcode}\n{lines}\n"
                if len(total.failures) < limits[1]:
                    waiting.append(range(died + 1, seeds.stop))
            worker.join()
        time.sleep(0.05)
    total.seconds = time.perf_counter() - start
    return total
