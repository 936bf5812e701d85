"""Failures of ranks at random moments: `python -m tests.distributed.faults --faults 200`.

Ranks run random collectives until one of them dies, stops, fails, disagrees, leaves or comes late. Every rank must end
within a bound, with a text that names the rank and what happened to it, and nothing of the job may be left.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cuprous import _core, torch
from cuprous.torch import distributed as dist
from tests.distributed import jobs

#: Seconds after which ranks give up a wait, and within which the ranks must have met. A busy machine needs more.
TIMEOUT = float(os.environ.get("TEST_FAULT_TIMEOUT", "4"))
#: Seconds within which a rank knows of a failure.
SOON = 2.0
#: Seconds for the end of a Python process, and for a busy machine.
SLACK = float(os.environ.get("TEST_SLACK", "4"))
#: The collective in which something happens comes within so many steps.
STEPS = 40


@dataclass(frozen=True)
class Fault:
    """Something that happens to one rank, and how the ranks end."""

    #: What the ranks' outputs contain; `{rank}` is the one to which it happens. Empty if they succeed.
    others: str
    #: The same for that rank.
    own: str = ""
    #: Seconds from the event to the end of the others.
    bound: float = SOON
    #: How that rank ends: a code, or None for a failure like the others'.
    code: int | None = None
    #: What that rank does in its program.
    act: Callable[[Any], object] | None = None
    #: What happens to its process from outside, after a random time.
    signal: int | None = None
    #: That time, in seconds after the ranks have met, or after the start.
    moment: tuple[float, float] = (0.0, 0.5)
    before_meeting: bool = False
    #: What is different at its start.
    start: Callable[[Job], None] | None = None


#: A tensor that an operation writes, and its last element then.
Unread = tuple[Any, float]


def _raise(_: Any) -> None:
    raise KeyError("no such column")


def _leave(_: Any) -> None:
    sys.exit(0)


def _limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))


def _late(seconds: tuple[float, float]) -> Callable[[Job], None]:
    def start(job: Job) -> None:
        job.delays[job.rank] = float(job.rng.uniform(*seconds))

    return start


def _full(job: Job) -> None:
    # The first rank creates the memory.
    job.rank = 0
    job.preexec = _limit_files


def _take_port(job: Job) -> None:
    taken = job.stack.enter_context(socket.socket())
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    job.rank = 0
    job.environment = {"MASTER_PORT": str(taken.getsockname()[1]), "TORCHELASTIC_USE_AGENT_STORE": ""}


_DIED = r"rank {rank} \(host [^)]*, process \d+\) died: "
_DISAGREE = r"the ranks disagree at #\d+: .*rank {rank} calls "
# Whichever rank's time is over first, and whomever it waits for: the rank that stopped is named.
_STUCK = rf"has waited {TIMEOUT:.0f} s[^\n]*; rank {{rank}} does not answer"
_ABSENT = r"rank {rank} of \d+ to join|{rank}.* to join"

FAULTS = {
    "kill": Fault(_DIED + r"killed by signal 9 \(SIGKILL\)", code=-9, signal=signal.SIGKILL),
    "kill at the start": Fault(_DIED + rf"killed by signal 9|{_ABSENT}", code=-9, signal=signal.SIGKILL, bound=TIMEOUT,
                               moment=(0.2, 1.5), before_meeting=True),
    "terminate": Fault(_DIED + r"killed by signal 15 \(SIGTERM\)", code=-15, signal=signal.SIGTERM),
    "interrupt": Fault(r"rank {rank} (\(.*KeyboardInterrupt|was interrupted by its user)", "KeyboardInterrupt",
                       code=-2, signal=signal.SIGINT),
    "stop": Fault(_STUCK, "DistBackendError", bound=TIMEOUT, signal=signal.SIGSTOP),
    "crash": Fault(_DIED + r"killed by signal 11 \(SIGSEGV\)", code=-11, act=lambda _: os.kill(os.getpid(), 11)),
    "exit status": Fault(_DIED + "exit code 3", code=3, act=lambda _: os._exit(3)),
    "exception": Fault(r"rank {rank} \(host .*raised KeyError: 'no such column'", "KeyError: 'no such column'",
                       act=_raise),
    "early exit": Fault(r"rank {rank} left the job .*join\(\)", code=0, act=_leave),
    "size": Fault(_DISAGREE + r"all_reduce float32\[999\]", _DISAGREE, act=lambda _: dist.all_reduce(torch.ones(999))),
    "dtype": Fault(_DISAGREE + r"all_reduce float64\[1000\]", _DISAGREE,
                   act=lambda x: dist.all_reduce(x.double())),
    "reduction": Fault(_DISAGREE + r"all_reduce float32\[1000\] max", _DISAGREE,
                       act=lambda x: dist.all_reduce(x, dist.ReduceOp.MAX)),
    "order": Fault(_DISAGREE + r"broadcast float32\[1000\] root=0", _DISAGREE, act=lambda x: dist.broadcast(x, 0)),
    "one rank more": Fault(_DISAGREE + "barrier", _DISAGREE, act=lambda _: dist.barrier()),
    "slow joiner": Fault("", start=_late((0.5, 2.0))),
    "absent": Fault(_ABSENT, r"Error", bound=TIMEOUT, start=_late((TIMEOUT + 3, TIMEOUT + 4))),
    "full memory": Fault("", r"use sockets, because shared memory in /dev/shm failed", start=_full),
    "port taken": Fault(r"DistNetworkError|DistStoreError", r"127\.0\.0\.1:\d+.*--standalone or port 0", bound=TIMEOUT,
                        start=_take_port),
}  # fmt: skip


@dataclass
class Job:
    """Processes to one of which a fault happens."""

    seed: int
    fault: Fault
    n: int
    rank: int
    rng: np.random.Generator
    stack: ExitStack
    environment: dict[str, str] = field(default_factory=dict)
    delays: dict[int, float] = field(default_factory=dict)
    preexec: Callable[[], None] | None = None
    #: When the fault happened, by the monotonic clock.
    at: float = 0.0
    ended: dict[int, float] = field(default_factory=dict)
    outs: dict[int, str] = field(default_factory=dict)
    codes: dict[int, int] = field(default_factory=dict)
    #: What the ranks run.
    path: Path = Path()

    def run(self) -> None:
        """Starts the ranks, waits until all have ended, and notes when and how."""
        store = _core.DistStore.tcp("127.0.0.1", 0, True, 30.0)
        name = next(name for name, fault in FAULTS.items() if fault is self.fault)
        succeeds = not self.fault.others
        program = f"from tests.distributed.faults import take_part\ntake_part({self.seed}, {name!r}, {self.rank})\n"
        path = self.path = jobs.write(program)
        own = {"TEST_TIMEOUT": str(TIMEOUT), "TEST_STOP": str(STEPS if succeeds else 1 << 30), **self.environment}
        own["TEST_BEGIN"] = "1"
        own["CUPROUS_DISTRIBUTED_TRANSPORT"] = "" if self.preexec else str(self.rng.choice(["", "shm", "socket"]))
        threads, processes = [], {}
        self.at = time.monotonic()
        for rank in sorted(range(self.n), key=lambda rank: self.delays.get(rank, 0.0)):
            time.sleep(max(0.0, self.at + self.delays.get(rank, 0.0) - time.monotonic()))
            processes[rank] = subprocess.Popen(
                [sys.executable, str(path)], env=jobs.environment(rank, self.n, store) | own, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=self.preexec if rank == self.rank else _listen)  # fmt: skip
            threads.append(threading.Thread(target=self._follow, args=(rank, processes[rank])))
            threads[-1].start()
        try:
            if self.fault.signal is not None:
                self._send(processes)
            for thread in threads:
                thread.join(jobs.LIMIT)
        finally:
            for rank, process in processes.items():
                if rank not in self.ended:
                    os.kill(process.pid, signal.SIGKILL)
                    self.outs[rank] = f"{self.outs.get(rank, '')}\nwas still running"
            for thread in threads:
                thread.join()
            self.codes = {rank: process.wait() for rank, process in processes.items()}
        self._note_moment()

    def _send(self, processes: dict[int, subprocess.Popen[str]]) -> None:
        """Sends the signal at a random moment."""
        limit = time.monotonic() + (0 if self.fault.before_meeting else jobs.LIMIT / 2)
        while not all("READY" in self.outs.get(rank, "") for rank in processes) and time.monotonic() < limit:
            time.sleep(0.01)
        time.sleep(float(self.rng.uniform(*self.fault.moment)))
        self.at = time.monotonic()
        os.kill(processes[self.rank].pid, int(self.fault.signal or 0))
        if self.fault.signal != signal.SIGSTOP:
            return
        while len(self.ended) < self.n - 1 and time.monotonic() < self.at + jobs.LIMIT / 2:
            time.sleep(0.01)
        self.ended.setdefault(self.rank, time.monotonic())
        os.kill(processes[self.rank].pid, signal.SIGCONT)

    def _follow(self, rank: int, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.outs[rank] = self.outs.get(rank, "") + line
        # Until this process asks for its status, the others can see it.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        self.ended.setdefault(rank, time.monotonic())

    def _note_moment(self) -> None:
        found = re.search(r"^NOW (\S+)", self.outs.get(self.rank, ""), re.MULTILINE)
        begin = [re.search(r"^BEGIN (\S+)", out, re.MULTILINE) for out in self.outs.values()]
        if found:
            self.at = float(found[1])
        elif self.fault.start is not None:
            # What is wrong from the start is met once the processes run and have imported everything.
            self.at = max([self.at, *(float(each[1]) for each in begin if each)])

    def problems(self) -> Iterator[str]:
        """Returns what is wrong with how the ranks ended."""
        fault = self.fault
        for rank in range(self.n):
            is_own = rank == self.rank
            text = (fault.own if is_own else fault.others).format(rank=self.rank)
            out, code = self.outs.get(rank, ""), self.codes.get(rank)
            succeeds = not fault.others
            expected = 0 if succeeds else 1 if not is_own or fault.code is None else fault.code
            if code != expected:
                yield f"rank {rank} ended with {code}, not {expected}"
            if "WRONG" in out:
                yield f"rank {rank} read a wrong value"
            if text and not re.search(text, out, re.DOTALL):
                yield f"rank {rank} does not say {text!r}"
            late = self.ended.get(rank, np.inf) - self.at - (fault.bound + SLACK)
            if not succeeds and rank not in self.delays and late > 0:
                yield f"rank {rank} ended {late:.1f} s too late"


def _listen() -> None:
    # A job in the background ignores Ctrl-C, and its children do too.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _begin(kind: int, size: int, ranks: list[int], group: Any, is_async: bool) -> list[Unread]:
    """Begins an operation. Returns what it writes."""
    x, rank = torch.full((size,), float(dist.get_rank())), dist.get_rank()
    if kind == 0:
        dist.broadcast(x, ranks[0], group, async_op=is_async)
        return [(x, ranks[0])]
    if kind == 1:
        out = torch.zeros(len(ranks) * size)
        dist.all_gather_into_tensor(out, x, group, async_op=is_async)
        return [(out, ranks[-1])]
    if kind == 2 and len(ranks) > 1:
        # Two rows of one array, one of which is sent while the other arrives.
        at, rows = ranks.index(rank), torch.full((2, size), float(rank))
        right, left = ranks[(at + 1) % len(ranks)], ranks[at - 1]
        sent, got = rows[0], rows[1]
        if is_async:
            dist.batch_isend_irecv(
                [dist.P2POp(dist.irecv, got, left, group), dist.P2POp(dist.isend, sent, right, group)]
            )
        else:
            dist.isend(sent, right, group)
            dist.irecv(got, left, group)
        return [(got, left), (sent, rank)]
    dist.all_reduce(x, group=group, async_op=is_async)
    return [(x, sum(ranks))]


def _check_unread(unread: list[Unread]) -> None:
    """Reads what operations wrote for which nobody has waited when a rank failed: the right values or an error."""
    while unread:
        out, expected = unread.pop()
        try:
            found = out[-1].item()
        except (dist.DistBackendError, KeyboardInterrupt):
            continue
        if found != expected:
            print(f"WRONG {found}, not {expected}", flush=True)


def take_part(seed: int, name: str, which: int) -> None:
    """Runs random collectives as one rank of a job that has begun, until the fault happens to rank `which`."""
    # Shells start jobs in the background with interrupts ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng([seed, 1])
    rank, n = dist.get_rank(), dist.get_world_size()
    groups: list[tuple[list[int], Any]] = [(list(range(n)), None)]
    if rng.random() < 0.5:
        ranks = sorted(rng.choice(n, int(rng.integers(1, n + 1)), replace=False).tolist())
        groups.append((ranks, dist.new_group(ranks)))
    happens = int(rng.integers(STEPS))
    print("READY", flush=True)
    unread: list[Unread] = []
    try:
        for step in range(int(os.environ["TEST_STOP"])):
            ranks, group = groups[int(rng.integers(len(groups)))]
            size, kind, pause = int(10 ** rng.uniform(0, 6.3)), int(rng.integers(5)), float(rng.exponential(0.005))
            slow, is_async, keeps = int(rng.integers(n)), bool(rng.integers(2)), int(rng.integers(6))
            act = FAULTS[name].act
            if step == happens and act is not None:
                x = torch.ones(1000)
                if rank == which:
                    print(f"NOW {time.monotonic()}", flush=True)
                    act(x)
                dist.all_reduce(x)
            if rank == slow:
                time.sleep(pause)
            if rank in ranks:
                unread += _begin(kind, size, ranks, group, is_async)
            while len(unread) > keeps:
                out, expected = unread.pop(0)
                assert out[-1].item() == expected
    except BaseException:
        _check_unread(unread)
        raise
    dist.destroy_process_group()


def _shared_memory(pages: bool) -> Iterator[str]:
    """Returns the memory of groups, and with `pages` what processes that have ended published."""
    for path in Path("/dev/shm").glob("cuprous-*"):
        if path.is_file():
            yield str(path)
    for page in Path("/dev/shm").glob("cuprous-*/*-*") if pages else ():
        if not Path("/proc", page.name.partition("-")[2]).exists():
            yield str(page)


@contextmanager
def _nothing_left(pages: bool) -> Iterator[list[str]]:
    """Adds to the list the shared memory that a job leaves behind."""
    shared = set(_shared_memory(pages))
    left: list[str] = []
    yield left
    # Other jobs of this machine may have begun meanwhile; theirs goes away.
    more, end = set(_shared_memory(pages)) - shared, time.monotonic() + jobs.LIMIT
    while more and time.monotonic() < end:
        time.sleep(0.1)
        more &= set(_shared_memory(pages))
    left += [f"{path} is left" for path in more]


def _processes(program: Path) -> Iterator[str]:
    """Returns the processes that run a program."""
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = file.read_bytes()
        except OSError:
            continue
        if str(program).encode() in command:
            yield f"process {file.parent.name} is left: {command!r}"


def inject(seed: int, names: list[str] | None = None) -> list[str]:
    """Runs a job in which the fault that the seed chooses happens. Returns what went wrong."""
    rng = np.random.default_rng([seed, 0])
    name = str((names or list(FAULTS))[seed % len(names or FAULTS)])
    n = int(rng.integers(2, 5))
    # The ranks of a job remove the pages of those that were killed; before they have met, the next job does.
    fault = FAULTS[name]
    with ExitStack() as stack, _nothing_left(pages=not fault.before_meeting) as left:
        job = Job(seed, fault, n, int(rng.integers(n)), rng, stack)
        if job.fault.start is not None:
            job.fault.start(job)
        job.run()
    problems = [*job.problems(), *left, *_processes(job.path)]
    if not problems:
        return []
    outs = [f"--- rank {rank}, code {job.codes.get(rank)}, {job.ended.get(rank, np.inf) - job.at:.1f} s:\n{out}"
            for rank, out in sorted(job.outs.items())]  # fmt: skip
    return [f"seed {seed}: {name} on rank {job.rank} of {n}", *problems, *outs]


def main() -> int:
    """Injects faults, each kind in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=len(FAULTS))
    parser.add_argument("--seed", type=int, default=0, help="of the first fault")
    parser.add_argument("--kinds", nargs="+", choices=FAULTS)
    options = parser.parse_args()
    failed, start = 0, time.monotonic()
    for seed in range(options.seed, options.seed + options.faults):
        problems = inject(seed, options.kinds)
        failed += bool(problems)
        if problems:
            print("\n".join(problems), flush=True)
    print(f"{options.faults} faults, {failed} failed, {time.monotonic() - start:.0f} s")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
