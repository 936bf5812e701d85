"""Starts one process for each GPU and calls functions in all of them."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Multicast of NVLink stays off: a program that uses it can put the GPUs of a shared host out of service.
WITHOUT_MULTICAST = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}

#: Seconds that a process takes at most to import its library and to find the others.
START = 90.0

#: Seconds for the other ranks to answer when one has failed.
GRACE = 6.0


class LostError(Exception):
    """Ranks failed, ended or did not answer in time."""


@dataclass(frozen=True)
class Setting:
    """What all processes of a run have in common."""

    device: str  # "cuda" or "cpu"
    log: Path  # standard error of all processes
    python: dict[str, str] = field(default_factory=dict)  # by library; this process's by default

    @property
    def backend(self) -> str:
        return "nccl" if self.device == "cuda" else "gloo"


@dataclass
class Answer:
    """A line of a process: its rank, its object, and the time when it was written."""

    rank: int
    value: dict[str, Any]


class Ranks:
    """The processes of one library, each with a GPU of its own. They start with the first call.

    A process that failed ends all of them; the next call starts new ones.

    Parameters
    ----------
    library : {"cuprous", "torch"}
        "cuprous" or "torch".
    n : int
        The number of processes. A single one has no process group and sees all GPUs.
    setting : Setting
        Device, log and interpreters.
    timeout : float, default 120.0
        Seconds of the process group.
    """

    def __init__(self, library: str, n: int, setting: Setting, timeout: float = 120.0) -> None:
        self.library, self.n, self.setting, self.timeout = library, n, setting, timeout
        self.processes: list[subprocess.Popen[str]] = []
        self.tails: list[deque[str]] = []
        self.answers: queue.Queue[Answer] = queue.Queue()
        self.is_ready = False  # true once they have answered a call

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Starts the processes if they are not running."""
        if self.processes:
            return
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        own = WITHOUT_MULTICAST | {
            "BENCH_LEARNING": self.library, "BENCH_DEVICE": self.setting.device, "WORLD_SIZE": str(self.n),
            "BENCH_BACKEND": self.setting.backend, "BENCH_TIMEOUT": str(self.timeout), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port), "PYTHONUNBUFFERED": "1",
        }  # fmt: skip
        python = self.setting.python.get(self.library, sys.executable)
        self.answers = queue.Queue()
        self.is_ready = False
        self.tails = [deque(maxlen=200) for _ in range(self.n)]
        for rank in range(self.n):
            process = subprocess.Popen(
                [python, "-m", "bench.several.worker"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env=os.environ | own | {"RANK": str(rank), "LOCAL_RANK": str(rank)}, stderr=subprocess.PIPE,
            )  # fmt: skip
            self.processes.append(process)
            for read in (self._read_answers, self._read_log):
                threading.Thread(target=read, args=(rank, process, self.answers), daemon=True).start()

    def _read_answers(self, rank: int, process: subprocess.Popen[str], answers: queue.Queue[Answer]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            answers.put(Answer(rank, json.loads(line)))
        # The process is not reaped here: others find its exit status as long as its parent has not read it.
        with contextlib.suppress(ChildProcessError):
            ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            assert ended is not None
            code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
            answers.put(Answer(rank, {"ended": code, "at": time.time()}))

    def _read_log(self, rank: int, process: subprocess.Popen[str], _: object) -> None:
        assert process.stderr is not None
        tail = self.tails[rank]
        with self.setting.log.open("a", encoding="utf-8") as log:
            for line in process.stderr:
                tail.append(line.rstrip())
                log.write(f"[{self.library} {rank}] {line}")
                log.flush()

    def send(self, function: str, **arguments: Any) -> None:
        """Sends a call to all processes."""
        self.start()
        for process in self.processes:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):  # the end of the process is an answer of its own
                process.stdin.write(json.dumps([function, arguments]) + "\n")
                process.stdin.flush()

    def collect(self, until: float, is_last: Callable[[Answer], bool], ranks: Iterable[int]) -> list[Answer]:
        """Returns what the processes write until each of `ranks` had a line that is the last one, or until a time."""
        found: list[Answer] = []
        missing = set(ranks)
        while missing and (left := until - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                answer = self.answers.get(timeout=left)
                found.append(answer)
                if is_last(answer):
                    missing.discard(answer.rank)
        return found

    def call(self, function: str, limit: float, **arguments: Any) -> list[Any]:
        """Calls a function in all processes. Returns their results by rank.

        Raises
        ------
        LostError
            One of them failed, ended, or did not answer within `limit` seconds. All are ended then.
        """
        self.send(function, **arguments)
        end = time.monotonic() + limit + START * (not self.is_ready)
        results: dict[int, Any] = {}
        errors: dict[int, str] = {}
        while len(results) + len(errors) < self.n and (left := end - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                answer = self.answers.get(timeout=left)
                if "result" in answer.value:
                    results[answer.rank] = answer.value["result"]
                elif "note" not in answer.value:
                    text = answer.value.get("error", f"ended with code {answer.value.get('ended')}")
                    errors.setdefault(answer.rank, text)
                    end = min(end, time.monotonic() + GRACE)
        if len(results) == self.n:
            self.is_ready = True
            return [results[rank] for rank in range(self.n)]
        raise LostError(self._loss(function, limit, results, errors))

    def _loss(self, function: str, limit: float, results: dict[int, Any], errors: dict[int, str]) -> str:
        """Ends all processes. Returns what happened, the cause first."""
        silent = sorted(set(range(self.n)) - results.keys() - errors.keys())
        if silent and not errors:
            self.dump_stacks()
        self.close(0.0)
        parts = [f"rank {rank}: {text}" for rank, text in sorted(errors.items())]
        if silent:
            parts.append(f"no answer of ranks {silent} within {limit:.0f} s")
        first = min(errors or silent, default=0)
        tail = "\n".join(f"    {line}" for line in list(self.tails[first])[-40:])
        return f"{self.library} {function}: {'; '.join(parts)}\n{tail}"

    def dump_stacks(self) -> None:
        """Lets all processes write the stacks of their threads to the log."""
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGUSR1)
        time.sleep(1.0)

    def close(self, patience: float = 20.0) -> None:
        """Ends the processes: those that wait for a call end by themselves, the others are killed."""
        for process in self.processes:
            with contextlib.suppress(BrokenPipeError):
                assert process.stdin is not None
                process.stdin.close()
        end = time.monotonic() + patience
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(end - time.monotonic(), 0.01))
            if process.poll() is None:
                process.kill()
                process.wait()
        self.processes = []


def gpu_memory() -> list[int] | None:
    """Returns the MiB that are in use on each GPU, by nvidia-smi; None without it."""
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        return [int(line) for line in done.stdout.split()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
