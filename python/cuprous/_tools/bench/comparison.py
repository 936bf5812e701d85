"""Measures workloads with the installed libraries, and compares each result with NumPy's."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuprous._tools import charts
from cuprous._tools.bench.peers import Peer, installed
from cuprous._tools.bench.workloads import Workload, workloads
from cuprous._tools.demo.main import devices
from cuprous._tools.demo.measure import seconds_each
from cuprous._tools.machine import cores, disturbance
from cuprous._tools.progress import Progress


@dataclass
class Time:
    """One library's time for one workload."""

    workload: str
    library: str
    version: str
    milliseconds: float | None
    note: str = ""


def measure(workload: Workload, peers: Sequence[Peer], budget: float, progress: Progress, number: int) -> list[Time]:
    """Measures a workload with each library, the results compared with NumPy's."""
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
    for want, got in zip(expected, result, strict=True):
        if want.shape != got.shape:
            return f"shape {got.shape}, not {want.shape}"
        worst, scale = float(np.abs(got - want).max()), float(np.abs(want).max())
        if not worst <= rtol * scale:
            return f"differs by {worst:.3g} where the largest value is {scale:.3g}"
    return ""


def group(workload: Workload, times: Sequence[Time], peers: Sequence[Peer]) -> charts.Group:
    """Returns the bars of a workload, with the fastest other library named."""
    by_library = {t.library: t.milliseconds for t in times if t.milliseconds is not None}
    ours = [ms for label, ms in by_library.items() if label.startswith("Cuprous")]
    theirs = {label: ms for label, ms in by_library.items() if not label.startswith("Cuprous")}
    remark = ""
    if ours and theirs:
        best = min(theirs, key=theirs.__getitem__)
        remark = f"{charts.times(theirs[best] / min(ours))} as fast as {best}"
        remark += ", the fastest other" if len(theirs) > 1 else ""
    gpus = {peer.label: peer.gpu for peer in peers}
    bars = [charts.Bar(label, ms, gpus[label], label == "NumPy") for label, ms in by_library.items()]
    notes = "; ".join(f"{t.library}: {t.note}" for t in times if t.note)
    return charts.Group(workload.title, remark, bars, note=notes)


def machine(peers: Sequence[Peer], absent: Sequence[str], load: float | None) -> list[str]:
    """Returns lines about the machine, the libraries, and what disturbed the measurement."""
    count = cores()
    libraries = dict.fromkeys(f"{peer.label.partition(',')[0]} {peer.version}" for peer in peers)
    gpu = devices()[1]
    lines = [f"{count} CPU core{'s' * (count != 1)}; {gpu}; {', '.join(libraries)}"]
    if absent:
        lines.append("; ".join(absent))
    if remark := disturbance(load):
        lines.append(remark)
    return lines


__all__ = ["Time", "group", "installed", "machine", "measure", "workloads"]
