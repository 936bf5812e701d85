"""Measures copies to the GPU that overlap with computation: `python -m bench.overlap`, on a machine with a GPU.

A step multiplies matrices; each has a batch of its own, copied from pageable or page-locked memory. Shown are a step's
time without copies, the copies' without steps, both one after the other (what there is without overlapping), and both
as a training loop has them, with what part of the shorter one was hidden; then a timeline of a few steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import cuprous.torch as torch
from cuprous import _core

STEPS = 30


def timed(step: Callable[[], Any]) -> float:
    """Returns the milliseconds per step of a run of several steps, the best of three runs.

    Results are held until the wait, but for the one before the last: the pool then reuses two blocks, as in a training
    loop. What was dropped before it was submitted would not be computed, so each step submits its work.
    """
    best = float("inf")
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        kept: list[Any] = []
        for _ in range(STEPS):
            kept = [*kept[-1:], step()]
            _core.flush()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - start) / STEPS * 1e3)
    return best


def work(x: Any, weight: Any, depth: int) -> Any:
    """Computes a sequence of dependent products."""
    for _ in range(depth):
        x = x @ weight
    return x.sum()


def row(megabytes: int, depth: int, pinned: bool) -> None:
    """Prints one line of the table."""
    rows = megabytes * 2**20 // (4 * 2048)
    host = torch.randn(rows, 2048)
    host = host.pin_memory() if pinned else host
    weight = (torch.randn(2048, 2048) / 2048**0.5).to("cuda")
    x = host.to("cuda")

    def both() -> Any:
        return work(host.to("cuda", non_blocking=True), weight, depth)

    compute, copy = timed(lambda: work(x, weight, depth)), timed(lambda: host.to("cuda", non_blocking=True))
    together = timed(both)
    hidden = (compute + copy - together) / min(compute, copy)
    kind = "page-locked" if pinned else "pageable"
    figures = " | ".join(f"{ms:.2f}" for ms in (compute, copy, compute + copy, together))
    print(f"| {megabytes} MiB, {kind} | {figures} | {hidden:.0%} |")


def timeline() -> None:
    """Prints when the device copied and computed, by PyTorch's profiler; prints nothing if PyTorch is not installed."""
    try:
        import torch as pytorch
        from torch.profiler import ProfilerActivity, profile
    except ImportError:
        return
    host = torch.randn(8192, 2048).pin_memory()
    weight = (torch.randn(2048, 2048) / 2048**0.5).to("cuda")

    def step() -> Any:
        return work(host.to("cuda", non_blocking=True), weight, 2)

    for _ in range(8):
        step()
    torch.cuda.synchronize()
    pytorch.cuda.init()
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        kept = [step() for _ in range(5)]
        torch.cuda.synchronize()
        pytorch.cuda.synchronize()
        del kept
    spans = [(e.time_range.start, e.time_range.end, e.name) for e in recorded.events() if "Memcpy HtoD" in e.name
             or "gemm" in e.name.lower() or "cutlass" in e.name]  # fmt: skip
    first, last = min(s for s, _, _ in spans), max(e for _, e, _ in spans)
    width = 100
    print(f"timeline of five steps, {(last - first) / 1e3:.2f} ms:")
    for word, name in (("Memcpy", "copy"), ("", "compute")):
        line = [" "] * width
        for start, end, kernel in spans:
            if ("Memcpy" in kernel) == (word == "Memcpy"):
                at = [int((t - first) / (last - first) * (width - 1)) for t in (start, end)]
                line[at[0] : at[1] + 1] = "#" * (at[1] - at[0] + 1)
        print(f"{name:>8} |{''.join(line)}|")


def main() -> None:
    """Prints the table and the timeline."""
    print("| batch | compute, ms | copy, ms | one after the other | as a loop | hidden |\n|---|---|---|---|---|---|")
    for pinned in (False, True):
        for megabytes, depth in ((16, 4), (64, 2), (256, 2)):
            row(megabytes, depth, pinned)
    timeline()


if __name__ == "__main__":
    main()
