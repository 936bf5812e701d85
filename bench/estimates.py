"""`python -m bench.estimates`: compares the estimates of twenty workloads, after calibration, with measurements.

The goal is a factor of 1.5 either way for 18 of the 20. Run `cuprous calibrate` first.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import cuprous as cp
from bench import formulas as f

Work = tuple[Callable[..., Any], tuple[Any, ...]]


def workloads(big: bool) -> dict[str, Callable[[], Work]]:
    """Returns functions with their arguments, larger ones for a GPU."""
    k = 10 if big else 1
    rng = cp.random.default_rng(1)

    def floats(*shape: int, dtype: str = "float32") -> Any:
        return rng.random(shape).astype(dtype)

    def black_scholes(n: int, dtype: str) -> Work:
        hosts = [floats(n, dtype=dtype) * (hi - lo) + lo for lo, hi in ((5, 30), (1, 100), (0.25, 10))]
        return (lambda *a: f.black_scholes(cp, cp.scipy.special.erf, *a)), tuple(hosts)

    def logistic(n: int) -> Work:
        hosts = [floats(n, dtype="float64") * (hi - lo) + lo for lo, hi in ((5, 30), (1, 100), (0.25, 10))]
        return (lambda *a: f.logistic_price(cp, *a)), tuple(hosts)

    def softmax(x: Any) -> Any:
        e = cp.exp(x - x.max(axis=1, keepdims=True))
        return e / cp.sum(e, axis=1, keepdims=True)

    def gathered() -> Work:
        return (lambda a, i: a[i]), (floats(k * 10**6), rng.integers(0, k * 10**6, k * 10**6))

    def normals() -> Any:
        return cp.random.default_rng(3).standard_normal(k * 10**6, dtype=cp.float32)

    def solve() -> Work:
        return cp.linalg.solve, (floats(side // 2, side // 2, dtype="float64"), floats(side // 2, dtype="float64"))

    def steps(s: Any) -> Any:
        generator = cp.random.default_rng(2)
        for _ in range(20):
            s = s * cp.exp(0.0001 + 0.01 * generator.standard_normal(s.shape, dtype=cp.float32))
        return s

    side = 4096 if big else 1024
    return {
        "chain of 10, float64": lambda: ((lambda a, b: f.chain10(cp, a, b)), (floats(k * 10**6, dtype="float64"),) * 2),
        "chain of 20, float32": lambda: (f.chain20, (floats(k * 10**7),)),
        "chain of 20, 1,000 elements": lambda: (f.chain20, (floats(1000),)),
        "Black-Scholes, float64": lambda: black_scholes(k * 10**6, "float64"),
        "Black-Scholes, float32": lambda: black_scholes(k * 10**6, "float32"),
        "logistic prices, float64": lambda: logistic(k * 10**6),
        "sum of float32": lambda: ((lambda a: a.sum()), (floats(k * 10**7),)),
        "variance over axis 0": lambda: ((lambda a: a.var(axis=0)), (floats(side, side),)),
        "softmax of rows": lambda: (softmax, (floats(side, side),)),
        "cumsum of float32": lambda: ((lambda a: a.cumsum()), (floats(k * 10**6),)),
        "sort of float32": lambda: ((lambda a: cp.sort(a)), (floats(k * 10**6),)),
        "gather by random index": gathered,
        "normals, float32": lambda: (normals, ()),
        "Monte Carlo, 20 steps": lambda: (steps, (cp.ones(k * 10**5, dtype=cp.float32),)),
        "matmul of float32": lambda: ((lambda a, b: a @ b), (floats(side, side),) * 2),
        "matmul of float64": lambda: ((lambda a, b: a @ b), (floats(side // 2, side // 2, dtype="float64"),) * 2),
        "fft of complex128": lambda: (cp.fft.fft, (floats(1 << (22 if big else 18), dtype="complex128"),)),
        "solve, float64": solve,
        "a + b.T": lambda: ((lambda a, b: a + b.T), tuple(floats(2 * side, 2 * side) for _ in "ab")),
        "histogram of float32": lambda: ((lambda a: cp.histogram(a, 64, (0, 1))[0]), (floats(k * 10**5),)),
    }  # fmt: skip


def run(device: str, only: str = "") -> list[dict[str, Any]]:
    """Returns a row for each workload."""
    cp.set_device(device)
    rows: list[dict[str, Any]] = []
    for name, make in workloads(device != "cpu").items():
        if only not in name:
            continue
        work, args = make()
        cp.synchronize()
        got = cp.estimate(work, *args, device=device, measure=True)
        on = got.gpu if device != "cpu" else got.cpu
        assert on is not None and got.measured is not None
        rows.append({"work": name, "estimated": on.seconds, "measured": got.measured, "bound": on.bound,
                     "rates": on.measured, "steps": [s for p in got.programs for s in p.steps]})  # fmt: skip
    return rows


def main() -> int:
    """Prints the table; returns 0 if the goal is met."""
    parser = argparse.ArgumentParser(prog="python -m bench.estimates", description=__doc__)
    parser.add_argument("--device", default=cp.get_device().split(":")[0], choices=("cpu", "cuda"))
    parser.add_argument("--only", default="", help="workloads whose name has this")
    parser.add_argument("--steps", action="store_true", help="each kernel and routine")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    start = time.perf_counter()
    rows = run(options.device, options.only)
    good = sum(1 / 1.5 <= row["estimated"] / row["measured"] <= 1.5 for row in rows)
    if options.json:
        print(json.dumps([{k: v for k, v in row.items() if k != "steps"} for row in rows], indent=1))
        return 0
    if not all(row["rates"] for row in rows):
        print("This machine has not been measured: run `cuprous calibrate` first.\n")
    print("| work | estimated | measured | ratio | bound by | |\n|---|---|---|---|---|---|")
    for row in rows:
        ratio = row["estimated"] / row["measured"]
        mark = "" if 1 / 1.5 <= ratio <= 1.5 else "off"
        print(f"| {row['work']} | {row['estimated'] * 1e3:.4g} ms | {row['measured'] * 1e3:.4g} ms | {ratio:.2f} "
              f"| {row['bound']} | {mark} |")  # fmt: skip
        if options.steps:
            for step in row["steps"]:
                print(f"    {step.seconds * 1e3:10.4f} ms  {step.flops:10.3g} flop {step.bytes_read:10.3g} B read "
                      f"{step.bytes_written:10.3g} B written  {step.name}")  # fmt: skip
    print(f"\n{good} of {len(rows)} within a factor of 1.5; {time.perf_counter() - start:.0f} s.")
    return 0 if good >= min(18, len(rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
