"""`python -m bench.placement`: five workloads from 10² to 10⁸ elements, on "auto", "cpu" and "cuda".

The goal is that "auto" is never slower than the better of the two by more than 10 %. Times are of undisturbed runs
after things have settled; what comes first (moves, compiling) is not in it, and is what `explain()` tells of.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cuprous as cp
from cuprous._tools.timing import settled_seconds

Work = Callable[[], Any]


def chain(n: int) -> Work:
    a, b = cp.full(n, 0.5, dtype="float32"), cp.full(n, 0.25, dtype="float32")
    return lambda: cp.sqrt(cp.abs((a * 2.0 + b) * (a - b) * 0.5 + a * b - 1.0))


def total(n: int) -> Work:
    a = cp.full(n, 0.5, dtype="float32")
    return lambda: float(cp.sum(cp.exp(a)))


def product(n: int) -> Work:
    side = max(int(n**0.5), 2)
    a = cp.full((side, side), 0.5, dtype="float32")
    return lambda: a @ a


def ordered(n: int) -> Work:
    a = cp.random.default_rng(1).random(n).astype("float32")
    return lambda: cp.sort(a)


def training(n: int) -> Work:
    """Fits a line by gradient descent: 20 steps, each of two products and a few small operations."""
    rows = max(n // 32, 2)
    x = cp.random.default_rng(1).random((rows, 32)).astype("float32")
    y = cp.full((rows, 1), 0.5, dtype="float32")

    def run() -> Any:
        w = cp.zeros((32, 1), dtype="float32")
        for _ in range(20):
            w = w - (0.01 / rows) * (x.T @ (x @ w - y))
        return w

    return run


WORKLOADS: dict[str, Callable[[int], Work]] = {
    "chain of 10": chain, "exp, sum, float()": total, "matmul": product, "sort": ordered, "20 steps": training
}  # fmt: skip


#: Rounds over all devices in which small work is timed, so that a busy second does not affect only one device.
TURNS = 5


def timed(devices: Sequence[str], make: Callable[[int], Work], n: int, budget: float) -> dict[str, float]:
    """Returns the seconds on each device in the steady state, the best of the rounds."""
    works, times = {}, {}
    for device in devices:
        cp.set_device(device)
        works[device] = make(n)
        # "auto" moves data once staying has cost as much as the move, and compiles in the meantime.
        settle = budget * (6 if device == "auto" else 1)
        times[device] = settled_seconds(works[device], settle=settle, budget=budget, most=2000)
    for _ in range(TURNS - 1 if max(times.values()) < 1e-2 else 0):
        for device in devices:
            cp.set_device(device)
            again = settled_seconds(works[device], budget=budget / 2, most=2000)
            times[device] = min(times[device], again)
    return times


#: Colors of the CPU, the GPU and "auto".
LOOK = {"cpu": ("#8a8a8a", "-"), "cuda": ("#1f6fd6", "-"), "auto": ("#d9480f", "--")}


def plot(rows: list[dict[str, Any]], path: str) -> None:
    """Plots a panel per workload: time over size, on logarithmic axes; the file name selects PNG, SVG or PDF."""
    from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]

    names = list(dict.fromkeys(row["work"] for row in rows))
    figure = Figure(figsize=(3.4 * len(names), 3.6), layout="constrained")
    for panel, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for device, (color, line) in LOOK.items():
            points = [(row["n"], row[device] * 1e3) for row in rows if row["work"] == name and device in row]
            if points:
                panel.plot(*zip(*points, strict=True), line, color=color, marker=".", label=device)
        missed = [(row["n"], row["auto"] * 1e3) for row in rows if row["work"] == name and row["ratio"] > 1.1]
        if missed:
            panel.plot(
                *zip(*missed, strict=True), "o", color=LOOK["auto"][0], fillstyle="none", label="over 10 % slower"
            )
        panel.set(title=name, xscale="log", yscale="log", xlabel="elements", ylabel="ms" if name == names[0] else "")
        panel.grid(alpha=0.3)
    figure.axes[0].legend()
    figure.savefig(path, dpi=150)


def main() -> int:
    """Prints the table; returns 0 if the goal is met."""
    parser = argparse.ArgumentParser(prog="python -m bench.placement", description=__doc__)
    parser.add_argument("--largest", type=int, default=8, help="power of ten")
    parser.add_argument("--only", default="", help="workloads whose name has this")
    parser.add_argument("--why", action="store_true", help="what explain() says of the last decisions")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plot", metavar="FILE", help="draws the table, as PNG or SVG by the file's name (matplotlib)")
    parser.add_argument(
        "--read", metavar="FILE", help="draws the rows of an earlier run with --json, and measures nothing"
    )
    options = parser.parse_args()
    if options.plot and not importlib.util.find_spec("matplotlib"):
        parser.error("--plot needs matplotlib: pip install matplotlib")
    if options.read:
        if not options.plot:
            parser.error("--read is for --plot")
        plot(json.loads(Path(options.read).read_text()), options.plot)
        return 0
    fixed = ["cpu", *(["cuda"] if cp.cuda.is_available() else [])]
    start, rows = time.perf_counter(), []
    for name, make in WORKLOADS.items():
        if options.only not in name:
            continue
        skip: set[str] = set()
        for power in range(2, options.largest + 1):
            n = 10**power
            # If a size takes the CPU seconds, the next one would take minutes.
            measured = timed([device for device in (*fixed, "auto") if device not in skip], make, n, 0.1)
            row: dict[str, Any] = {"work": name, "n": n, **measured}
            if row.get("cpu", 0) > 1:
                skip.add("cpu")
            better = min(row[d] for d in fixed if d in row)
            row["ratio"] = row["auto"] / better
            rows.append(row)
            if not options.json:
                times = "".join(f"{d} {row[d] * 1e3:10.4f} ms  " if d in row else f"{d}    (skipped)  "
                                for d in (*fixed, "auto"))  # fmt: skip
                print(f"{name:<18} 1e{power}  {times} {row['ratio']:.2f}{'  SLOWER' if row['ratio'] > 1.1 else ''}")
            if options.why:
                print(
                    "    " + "\n    ".join(line for line in cp.explain().splitlines()[-3:] if line.startswith("auto"))
                )
            cp.get_default_memory_pool().free_all_blocks()
    if options.json:
        print(json.dumps(rows, indent=1))
    if options.plot:
        plot(rows, options.plot)
    good = sum(row["ratio"] <= 1.1 for row in rows)
    print(f"\n{good} of {len(rows)} within 10 % of the better; {time.perf_counter() - start:.0f} s.", file=sys.stderr)
    return 0 if good == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
