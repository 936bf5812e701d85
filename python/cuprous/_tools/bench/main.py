"""The command line of `cuprous bench`."""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuprous._tools import charts
from cuprous._tools.progress import Progress

if TYPE_CHECKING:
    from cuprous._tools.bench.peers import Peer
    from cuprous._tools.bench.workloads import Workload

#: Packages that are compared beside NumPy and Cuprous, if they are installed.
OTHERS = ("torch", "jax", "cupy")
FOOTER = """\
Times are of one result that was waited for, after the kernels were compiled; data stay on the device. Each result was
compared with NumPy's. JAX runs under jax.jit, PyTorch without torch.compile."""


@dataclass
class Time:
    """One library's time for one workload."""

    workload: str
    library: str
    version: str
    milliseconds: float | None
    note: str = ""


def main(argv: Sequence[str]) -> int:
    """Compares the libraries. Returns 1 if a result of Cuprous is wrong."""
    try:
        options = _parser().parse_args(list(argv))
    except SystemExit as stop:
        return int(stop.code or 0)
    # NumPy and the other libraries are imported after the arguments are read, so that `--help` is quick.
    from cuprous._tools.bench.peers import installed
    from cuprous._tools.bench.workloads import workloads

    chosen = workloads(options.quick)
    names = [workload.name for workload in chosen]
    wanted = options.only.split(",") if options.only else names
    for known, given in ((names, wanted), (OTHERS, options.beside)):
        if unknown := [name for name in given if name not in known]:
            print(f"cuprous bench: {unknown[0]!r} does not exist; choose from {', '.join(known)}", file=sys.stderr)
            return 2
    begin, load = time.time(), _load()
    peers, absent = installed(("numpy", "cuprous", *options.beside))
    chosen = [workload for workload in chosen if workload.name in wanted]
    # Half of the time is for measuring; the rest is inputs, checks and compilation.
    budget = options.seconds / 2 / (len(chosen) * len(peers))
    progress = Progress(len(chosen))
    times: list[Time] = []
    groups = []
    for number, workload in enumerate(chosen, 1):
        found = measure(workload, peers, min(budget, 0.2) if options.quick else budget, progress, number)
        times += found
        groups.append(_group(workload, found, peers))
    progress.clear()
    machine = _machine(peers, absent, load)
    if options.json:
        print(json.dumps({"machine": machine, "seconds": round(time.time() - begin, 1), "load": load,
                          "times": [asdict(t) for t in times]}, indent=2))  # fmt: skip
    else:
        print("\n".join(machine) + "\n")
        width = shutil.get_terminal_size().columns
        print(charts.as_text(groups, charts.colored(), width, charts.plain()), end="")
        print(FOOTER)
    if options.plot:
        picture = charts.as_svg(groups, "Cuprous beside other libraries", machine[0])
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


def measure(workload: Workload, peers: Sequence[Peer], budget: float, progress: Progress, number: int) -> list[Time]:
    """Measures a workload with each library, the results compared with NumPy's."""
    from cuprous._tools.demo.measure import seconds_each

    host = workload.make()
    expected = None
    times = []
    for peer in peers:
        progress.of(number, workload.title)(peer.label)
        time = Time(workload.name, peer.label, peer.version, None)
        times.append(time)
        try:
            inputs = [peer.array(a) for a in host]
            run = peer.compiled(functools.partial(workload.run, peer.xp))
            result = _fetched(peer, run(*inputs))
            if expected is None:
                expected = result
            if wrong := _difference(expected, result, workload.rtol):
                time.note = f"wrong result, no time shown: {wrong}"
                continue
            seconds = seconds_each(functools.partial(run, *inputs), peer.wait, workload.repeat, budget)
            time.milliseconds = seconds * 1e3
        except Exception as error:  # such as a function or the memory that a library lacks
            time.note = f"failed: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
    return times


def _fetched(peer: Peer, result: Any) -> list[Any]:
    return [peer.fetch(part) for part in (result if isinstance(result, (tuple, list)) else (result,))]


def _difference(expected: Sequence[Any], result: Sequence[Any], rtol: float) -> str:
    """Returns how two results differ, or an empty text."""
    import numpy as np

    for want, got in zip(expected, result, strict=True):
        if want.shape != got.shape:
            return f"shape {got.shape}, not {want.shape}"
        worst, scale = float(np.abs(got - want).max()), float(np.abs(want).max())
        if not worst <= rtol * scale:
            return f"differs by {worst:.3g} where the largest value is {scale:.3g}"
    return ""


def _group(workload: Workload, times: Sequence[Time], peers: Sequence[Peer]) -> charts.Group:
    by_library = {t.library: t.milliseconds for t in times if t.milliseconds is not None}
    ours = [ms for label, ms in by_library.items() if label.startswith("Cuprous")]
    theirs = {label: ms for label, ms in by_library.items() if not label.startswith("Cuprous")}
    remark = ""
    if ours and theirs:
        best = min(theirs, key=theirs.__getitem__)
        remark = f"{theirs[best] / min(ours):.3g} x {best}, the fastest other"
    gpus = {peer.label: peer.gpu for peer in peers}
    bars = [charts.Bar(label, ms, gpus[label], label == "NumPy") for label, ms in by_library.items()]
    notes = "; ".join(f"{t.library}: {t.note}" for t in times if t.note)
    return charts.Group(workload.title, remark, bars, note=notes)


def _load() -> float | None:
    """Returns the mean number of processes that ran in the last minute, where it is known."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def _machine(peers: Sequence[Peer], absent: Sequence[str], load: float | None) -> list[str]:
    """Returns lines about the machine, the libraries, and what disturbed the measurement."""
    from cuprous._tools.demo.main import devices

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    libraries = dict.fromkeys(f"{peer.label.partition(',')[0]} {peer.version}" for peer in peers)
    gpu = devices()[1]
    lines = [f"{cores} CPU core{'s' * (cores != 1)}; {gpu}; {', '.join(libraries)}"]
    if absent:
        lines.append("; ".join(absent))
    if load is not None and load > cores / 2:
        lines.append(f"disturbed: other work was running (load {load:.1f} on {cores} cores), so times are too long")
    return lines
