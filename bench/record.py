"""Measures the cost of recording one operation, minus an empty native call: `python -m bench.record`.

Blocks of K operations on small arrays are timed while they are recorded; what is recorded then runs outside the timed
part, so the figure holds recording alone. The same loop with an empty native call is subtracted.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

K = 64
BLOCKS = 300
CLOCK = time.perf_counter_ns


def loops(cp: Any) -> dict[str, Callable[[Any], tuple[int, int]]]:
    """Returns loops over K operations, which return the nanoseconds of recording and of the flush after it."""
    flush = cp._core.flush

    def scalar_chain(x: Any) -> tuple[int, int]:
        y = x
        begin = CLOCK()
        for _ in range(K // 2):
            y = y * 1.0001
            y = y + 0.5
        end = CLOCK()
        flush()
        return end - begin, CLOCK() - end

    def array_chain(x: Any) -> tuple[int, int]:
        y = x
        begin = CLOCK()
        for _ in range(K // 2):
            y = y * x
            y = y + x
        end = CLOCK()
        flush()
        return end - begin, CLOCK() - end

    def in_place(x: Any) -> tuple[int, int]:
        y = x + 0
        begin = CLOCK()
        for _ in range(K // 2):
            y *= 0.5
            y += x
        end = CLOCK()
        flush()
        return end - begin, CLOCK() - end

    def functions(x: Any) -> tuple[int, int]:
        sin, cos, y = cp.sin, cp.cos, x
        begin = CLOCK()
        for _ in range(K // 2):
            y = sin(y)
            y = cos(y)
        end = CLOCK()
        flush()
        return end - begin, CLOCK() - end

    def views(x: Any) -> tuple[int, int]:
        begin = CLOCK()
        for _ in range(K // 2):
            x[1:]
            x[:-1]
        return CLOCK() - begin, 0

    return {"y * c; y + c": scalar_chain, "y * x; y + x": array_chain, "y *= c; y += x": in_place,
            "sin(y); cos(y)": functions, "x[1:]; x[:-1]": views}  # fmt: skip


def empty_call(cp: Any) -> Callable[[Any], tuple[int, int]]:
    """Returns the same kind of loop over an empty native function."""
    nothing = cp._core.no_op

    def loop(x: Any) -> tuple[int, int]:
        begin = CLOCK()
        for _ in range(K // 2):
            y = nothing(x)
            y = nothing(x)
        end = CLOCK()
        del y
        return end - begin, 0

    return loop


def nanoseconds(loop: Callable[[Any], tuple[int, int]], x: Any) -> tuple[float, float]:
    """Returns the median nanoseconds per operation of recording and of flushing."""
    for _ in range(30):
        loop(x)
    gc.collect()
    times = [loop(x) for _ in range(BLOCKS)]
    return statistics.median(t[0] for t in times) / K, statistics.median(t[1] for t in times) / K


def above_an_empty_call(cp: Any) -> float:
    """Returns the figure of the table, the scalar chain."""
    x = cp.ones(16)
    return nanoseconds(loops(cp)["y * c; y + c"], x)[0] - nanoseconds(empty_call(cp), x)[0]


def main() -> None:
    import argparse

    import cuprous as cp

    parser = argparse.ArgumentParser(prog="python -m bench.record", description=__doc__)
    parser.add_argument("--device", default="cpu")
    cp._core.set_device(parser.parse_args().device)
    x = cp.ones(16)
    empty = nanoseconds(empty_call(cp), x)[0]
    print(f"an empty native call takes {empty:.0f} ns; per operation above that:\n")
    print("| loop | recording, ns | running it afterwards, ns |\n|---|---|---|")
    for name, loop in loops(cp).items():
        record, flush = nanoseconds(loop, x)
        print(f"| `{name}` | {record - empty:.0f} | {flush:.0f} |")


if __name__ == "__main__":
    main()
