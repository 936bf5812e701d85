"""Compares training by Cuprous with eager and compiled PyTorch, sequentially on this machine.

    python -m bench.learning [--device cuda] [--only seed,cnn64] [--without compile] [--torch-python /path/to/python]

Each Cuprous row runs in its own process, PyTorch in one process per mode. All start from the same weights and data;
losses of the first five steps are compared. A time is the median of rounds with a final synchronization; warm-up is
the time of the first five steps (of the unmodified program: of its first run).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

#: Row: title, target on an H200 (milliseconds per step), largest relative difference of losses.
ROWS: dict[str, tuple[str, float, float]] = {
    "seed": ("unmodified PyTorch loop: Linear(10, 2), Adam, 1,000 steps, per step", 0.015, 0.0),
    "simple": ("Linear(10, 2), Adam, 100 samples of 10 features", 0.015, 1e-4),
    "cnn64": ("CNN of two convolutions, 64 images of 3 x 28 x 28", 0.15, 1e-3),
    "cnn4096": ("CNN of two convolutions, 4096 images of 3 x 28 x 28", 1.8, 1e-3),
    "resnet50": ("ResNet-50, 64 images of 3 x 224 x 224, float32", 18.0, 2e-2),
    "resnet50b": ("ResNet-50, 64 images of 3 x 224 x 224, bfloat16", 14.0, 5e-2),
    "lstm": ("LSTM language model, 2 layers of 256, batch 32, length 64", 3.0, 1e-3),
    "gpt": ("GPT, 6 layers of 384, batch 64, length 256, float32", 25.0, 1e-3),
    "gpt2": ("GPT-2 124M, batch 12, length 1024, bfloat16", 25.0, 2e-2),
}
#: Target on a CPU: speed relative to PyTorch.
CPU = {"seed": 5.0, "simple": 5.0, "cnn64": 0.8, "lstm": 0.8}

Found = dict[str, dict[str, Any]]


def measure(library: str, how: str, rows: Iterable[str], options: argparse.Namespace, limit: float) -> Found:
    """Returns the worker's result for each row; rows that it did not reach are missing."""
    python = options.torch_python if library == "torch" and options.torch_python else sys.executable
    command = [python, "-m", "bench.learning.worker", options.device, how, str(options.seconds), *rows]
    environment = os.environ | {"BENCH_LEARNING": library}
    found: Found = {}
    start = time.perf_counter()
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit)
        out, problem = done.stdout, done.stderr.strip().splitlines()[-1:] if done.returncode else []
    except subprocess.TimeoutExpired as error:
        out = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
        problem = [f"cut after {limit:.0f} s"]
    for line in out.splitlines():
        if line.startswith('{"row"'):
            row = json.loads(line)
            found[row["row"]] = row
            print(f"# {library} {how} {line[:400]}", flush=True)
    if problem:
        print(f"# {library} {how}: {problem[0]}", flush=True)
    print(f"# {library} {how}: {time.perf_counter() - start:.0f} s", flush=True)
    return found


def version(library: str, options: argparse.Namespace) -> str:
    python = options.torch_python if library == "torch" and options.torch_python else sys.executable
    done = subprocess.run(
        [python, "-c", f"import importlib.metadata as m; print(m.version({library!r}))"], capture_output=True, text=True
    )
    return done.stdout.strip() if not done.returncode else ""


def shown(found: dict[str, Any] | None) -> str:
    """Returns milliseconds, or the error."""
    if found is None:
        return "-"
    if "error" in found:
        return "failed"
    ms = float(found["ms"])
    return f"{ms * 1e3:.3g} µs" if ms < 0.1 else f"{ms:.3g} ms"


def apart(ours: dict[str, Any], theirs: dict[str, Any] | None) -> float | None:
    """Returns the largest relative difference of losses."""
    if not theirs or not ours.get("losses") or not theirs.get("losses"):
        return None
    a, b = np.array(ours["losses"]), np.array(theirs["losses"])
    return float(np.max(np.abs(a - b) / np.abs(b)))


def judged(
    name: str, device: str, ours: dict[str, Any] | None, eager: dict[str, Any] | None
) -> tuple[str, bool | None]:
    """Returns the target as text, and whether it was reached."""
    mine, theirs = ((found or {}).get("ms") for found in (ours, eager))
    target = ROWS[name][1]
    if device == "cpu":
        share = CPU.get(name)
        return f"≥ {share:g} x torch" if share else "", theirs >= share * mine if share and mine and theirs else None
    return f"≤ {target:g} ms" if target >= 0.1 else f"≤ {target * 1e3:g} µs", mine <= target if mine else None


def table(names: list[str], ways: list[str], results: dict[str, Found], device: str) -> str:
    """Returns a Markdown table: times, warm-up, memory, and the difference of losses."""
    lines = [
        f"| a step of | {' | '.join(ways)} | target | | warm-up s | peak MiB | losses apart |",
        "|---" * (len(ways) + 6) + "|",
    ]
    for name in names:
        title, _, bound = ROWS[name]
        cells = [results[way].get(name) for way in ways]
        ours, eager = cells[0], results.get("torch eager", {}).get(name)
        text, met = judged(name, device, ours, eager)
        verdict = "FAILED" if ours and "error" in ours else {None: "", True: "MET", False: "MISSED"}[met]
        far = apart(ours, eager) if ours else None
        off = "-" if far is None else f"{far:.1e}" + (" (too far)" if not far <= bound else "")
        warm, peak = (
            " / ".join(f"{c[key]:.{digits}f}" if c and key in c else "-" for c in cells)
            for key, digits in (("warm_s", 2), ("peak_mib", 0))
        )
        lines.append(
            f"| {title} | {' | '.join(shown(c) for c in cells)} | {text} | {verdict} | {warm} | {peak} | {off} |"
        )
    return "\n".join(lines)


def record(names: list[str], results: dict[str, Found], device: str, torch: str) -> None:
    """Appends the rows to this machine's file."""
    from bench import history

    run = history.Run(device, {"torch": torch} if torch else {})
    libraries = {
        "Cuprous": "cuprous",
        "torch eager": "torch",
        "torch channels_last": "torch.channels_last",
        "torch graph": "torch.graph",
        "torch compile": "torch.compile",
    }
    found = []
    for name in names:
        of = {libraries[way]: rows[name] for way, rows in results.items() if name in rows}
        ms = {library: row["ms"] for library, row in of.items() if "ms" in row}
        errors = {library: row["error"] for library, row in of.items() if "error" in row}
        target, met = judged(name, device, of.get("cuprous"), of.get("torch"))
        found.append(run.entry(f"learning.{name}", ROWS[name][0], ms, target=target, met=met, errors=errors))
    history.append(run.machine.file, found)


def main() -> None:
    """Prints a line for each measurement and the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.learning", description=__doc__)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--only", help="rows, such as seed,cnn64 (default: all; on a CPU those that have a target)")
    parser.add_argument("--without", default="", help="of torch, eager, channels_last, compile, graph")
    parser.add_argument("--torch-python", help="the Python that has PyTorch, where this one has not")
    parser.add_argument("--seconds", type=float, default=1.0, help="for the rounds of a row, three of them at least")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds in all; what is over then is left out")
    parser.add_argument("--row-limit", type=float, default=120.0, help="seconds for each of Cuprous' rows")
    parser.add_argument("--record", action="store_true", help="add the rows to this machine's file in bench/results")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(CPU if options.device == "cpu" else ROWS)
    if unknown := [name for name in names if name not in ROWS]:
        raise SystemExit(f"there is no row {unknown[0]}; there are {', '.join(ROWS)}")
    skip = set(options.without.split(","))
    end = time.perf_counter() + options.limit
    peer = "" if "torch" in skip else version("torch", options)
    print(f"# cuprous {version('cuprous', options) or 'of this folder'}, torch {peer or '-'}, on {options.device}")
    results: dict[str, Found] = {"Cuprous": {}}
    for name in names:
        left = min(options.row_limit, end - time.perf_counter())
        if left > 0:
            results["Cuprous"] |= measure("cuprous", "eager", [name], options, left)
    plans = {"eager": names, "graph": [n for n in names if n == "simple" and options.device == "cuda"],
             "channels_last": [n for n in names if n.startswith("resnet")],
             "compile": [n for n in names if n != "seed"]}  # fmt: skip
    for how, rows in plans.items():
        left = end - time.perf_counter()
        if peer and rows and how not in skip and left > 5:
            results[f"torch {how}"] = measure("torch", how, rows, options, left)
    print("\n" + table(names, list(results), results, options.device))
    if options.record:
        record(names, results, options.device, peer)


if __name__ == "__main__":
    main()
