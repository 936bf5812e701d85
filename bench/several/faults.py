"""Failures on purpose: what one rank does, and whether all others know within the bound.

`loop` runs on each rank; `FAULTS` says what happens and what the error of the others must name.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from bench.several.channel import note
from bench.several.launch import START, Answer, Ranks, Setting

#: The rank that fails.
VICTIM = 1


@dataclass(frozen=True)
class Fault:
    """What happens on one rank, and what the others must report.

    Parameters
    ----------
    bound : float
        Seconds from the event to the error of every other rank.
    texts : tuple of str
        Patterns of the error of every other rank.
    signal : int, optional
        What is sent to the rank from outside; none if it fails by itself.
    timeout : float, default 60.0
        Seconds of the process group.
    log : tuple of str, optional
        Patterns of what the other ranks print.
    """

    bound: float
    texts: tuple[str, ...]
    signal: int | None = None
    timeout: float = 60.0
    log: tuple[str, ...] = field(default=())


_CALL = r"all_reduce float32\[1000\] sum at .*:\d+"
FAULTS = {
    "killed": Fault(2.0, (r"rank 1 \(host .*died: killed by signal 9 \(SIGKILL\)", "its last call was #", _CALL),
                    signal.SIGKILL),
    "exception": Fault(2.0, (r"rank 1 \(host .*raised KeyError: 'no such column' \(at .*:\d+\)",)),
    "shape": Fault(2.0, ("the ranks disagree at #", r"rank 1 calls all_reduce float32\[999\] sum at", _CALL)),
    "dtype": Fault(2.0, ("the ranks disagree at #", r"rank 1 calls all_reduce float64\[1000\] sum at", _CALL)),
    "order": Fault(2.0, ("the ranks disagree at #", r"rank 1 calls broadcast float32\[1000\] root=0 at", _CALL)),
    "left": Fault(2.0, ("rank 1 left the job", r"join\(\)")),
    "stuck": Fault(14.0, ("has waited 12 s", "the timeout is 12 s"), signal.SIGSTOP, timeout=12.0,
                   log=(r"has waited 10 s in #\d+ " + _CALL + ".*for rank 1", "rank 1: its last call was #")),
}  # fmt: skip


def loop(fault: str) -> None:
    """Reduces and reads until something fails, after 20 steps on one rank."""
    from bench.several.library import DEVICE, RANK, dist, torch

    x = torch.ones(1000, device=DEVICE)
    events = {
        "exception": lambda: _raise(KeyError("no such column")),
        "shape": lambda: dist.all_reduce(torch.ones(999, device=DEVICE)),
        "dtype": lambda: dist.all_reduce(torch.ones(1000, dtype=torch.float64, device=DEVICE)),
        "order": lambda: dist.broadcast(x, src=0),
        "left": lambda: sys.exit(0),
    }
    for step in range(100_000_000):
        dist.all_reduce(x)
        x.fill_(1.0)
        if step % 4 == 3:
            assert x[0].item() == 1
        if step == 20:
            note(event=fault)
            if RANK == VICTIM and fault in events:
                events[fault]()


def _raise(error: Exception) -> None:
    raise error


@dataclass
class Found:
    """Seconds from the event to the last error and to the end of the last process, and what was wrong."""

    error: float
    end: float
    problems: list[str]


def cause(name: str, n: int, setting: Setting) -> Found:
    """Starts ranks, lets one fail, and compares what the others report with `FAULTS`."""
    fault = FAULTS[name]
    with Ranks("cuprous", n, setting, timeout=fault.timeout) as ranks:
        ranks.send("fault.loop", fault=name)
        begun = ranks.collect(time.monotonic() + START, lambda a: bool({"note", "error", "ended"} & a.value.keys()),
                              range(n))  # fmt: skip
        events = [a.value["at"] for a in begun if "note" in a.value and a.rank == VICTIM]
        if not events:
            return Found(0, 0, [f"the ranks did not begin: {[a.value for a in begun]}", *ranks.tails[VICTIM]])
        event = events[0]
        if fault.signal is not None:
            time.sleep(0.5)
            event = time.time()
            os.kill(ranks.processes[VICTIM].pid, fault.signal)
        others = set(range(n)) - {VICTIM}
        limit = time.monotonic() + fault.bound + 15.0
        after = [*begun, *ranks.collect(limit, lambda a: "ended" in a.value, others)]
        if others - {a.rank for a in after if "ended" in a.value}:
            ranks.dump_stacks()
        found = _judge(fault, others, after, event)
        time.sleep(0.2)  # what the processes printed last
        for rank in others:
            log = "\n".join(ranks.tails[rank])
            found.problems += [f"rank {rank} did not print {p!r}" for p in fault.log if not re.search(p, log)]
        if found.problems:
            found.problems += [f"    [{rank}] {line}" for rank in others for line in list(ranks.tails[rank])[-15:]]
        ranks.close(0.0)
    return found


def _judge(fault: Fault, others: set[int], after: list[Answer], event: float) -> Found:
    """Compares the answers of the other ranks with what must be there."""
    problems: list[str] = []
    errors: dict[int, Any] = {a.rank: a.value for a in after if "error" in a.value}
    ends: dict[int, Any] = {a.rank: a.value for a in after if "ended" in a.value}
    for rank in sorted(others):
        if rank not in errors:
            problems.append(f"rank {rank} has no error: {ends.get(rank, 'it has not ended')}")
            continue
        text, late = errors[rank]["error"], errors[rank]["at"] - event
        if not text.startswith("DistBackendError"):
            problems.append(f"rank {rank} has another class of error")
        if late > fault.bound:
            problems.append(f"rank {rank} knew after {late:.1f} s, the bound is {fault.bound:g}")
        problems += [f"rank {rank}: {p!r} is not in: {text}" for p in fault.texts if not re.search(p, text)]
        if rank not in ends:
            problems.append(f"rank {rank} has not ended")
        elif ends[rank]["ended"] != 1:
            problems.append(f"rank {rank} ended with {ends[rank]['ended']}, not 1")
    return Found(
        max((errors[rank]["at"] - event for rank in others & errors.keys()), default=0.0),
        max((ends[rank]["at"] - event for rank in others & ends.keys()), default=0.0),
        problems,
    )
