"""The command line of `cuprous bench`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cuprous._tools import charts
from cuprous._tools.bench import comparison
from cuprous._tools.machine import disturbance
from cuprous._tools.machine import load as current_load
from cuprous._tools.progress import Progress

#: Packages that are compared beside NumPy and Cuprous, if they are installed.
OTHERS = ("torch", "jax", "cupy")
FOOTER = """\
Times are of one result that was waited for, after the kernels were compiled; data stay on the device. Each result was
compared with NumPy's. JAX runs under jax.jit, PyTorch without torch.compile."""


def main(argv: Sequence[str]) -> int:
    """Compares the libraries. Returns 1 if a result of Cuprous is wrong."""
    try:
        options = _parser().parse_args(list(argv))
    except SystemExit as stop:
        return int(stop.code or 0)

    chosen = comparison.workloads(options.quick)
    names = [workload.name for workload in chosen]
    wanted = options.only.split(",") if options.only else names
    for known, given in ((names, wanted), (OTHERS, options.beside)):
        if unknown := [name for name in given if name not in known]:
            print(f"cuprous bench: {unknown[0]!r} does not exist; choose from {', '.join(known)}", file=sys.stderr)
            return 2
    if options.plot and (wrong := charts.unwritable(options.plot, ".svg")):
        print(f"cuprous bench: {wrong}", file=sys.stderr)
        return 2
    begin, load = time.time(), current_load()
    peers, absent = comparison.installed(("numpy", "cuprous", *options.beside))
    chosen = [workload for workload in chosen if workload.name in wanted]
    # Half of the time is for measuring; the rest is inputs, checks and compilation.
    budget = options.seconds / 2 / (len(chosen) * len(peers))
    progress = Progress(len(chosen))
    times: list[comparison.Time] = []
    groups = []
    for number, workload in enumerate(chosen, 1):
        found = comparison.measure(workload, peers, min(budget, 0.2) if options.quick else budget, progress, number)
        times += found
        groups.append(comparison.group(workload, found, peers))
    progress.clear()
    machine = comparison.machine(peers, absent, load)
    if options.json:
        print(json.dumps({"machine": machine, "seconds": round(time.time() - begin, 1), "load": load,
                          "times": [asdict(t) for t in times]}, indent=2))  # fmt: skip
    else:
        print("\n".join(machine) + "\n")
        width = shutil.get_terminal_size().columns
        print(charts.as_text(groups, charts.colored(), width, charts.plain()), end="")
        print(FOOTER)
    if options.plot:
        subtitle = "; ".join([machine[0], *filter(None, [disturbance(load)])])
        picture = charts.as_svg(groups, "Cuprous beside other libraries", subtitle)
        Path(options.plot).write_text(picture, encoding="utf-8")
        print(f"wrote {options.plot}", file=sys.stderr)
    return int(any(t.note.startswith("wrong") and t.library.startswith("Cuprous") for t in times))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="cuprous bench",
        description="Compares Cuprous on this machine with NumPy and with PyTorch, JAX and CuPy where they are "
                    "installed. Takes about three minutes and writes a picture.",
    )  # fmt: skip
    parser.add_argument("--seconds", type=float, default=180.0, metavar="N", help="time to take, about (default: 180)")
    parser.add_argument("--quick", action="store_true", help="small sizes: a check of seconds, not a comparison")
    parser.add_argument("--only", metavar="NAMES", help="workloads to run, such as matmul,fft (default: all)")
    parser.add_argument("--beside", metavar="NAMES", default=OTHERS,
                        type=lambda text: tuple(filter(None, text.split(","))),
                        help=f"libraries beside NumPy (default: {','.join(OTHERS)}, where installed)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--plot", metavar="FILE.svg", default="cuprous-bench.svg",
                        help="the picture (default: cuprous-bench.svg; empty for none)")  # fmt: skip
    return parser
