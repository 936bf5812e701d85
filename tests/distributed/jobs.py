"""Runs a program in several processes, as a launcher does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

from cuprous import _core

#: Seconds after which a hang ends, with the stacks of all threads. On a simulated GPU, g++ compiles the kernels first.
LIMIT = int(os.environ.get("TEST_LIMIT", 175 if "CUPROUS_SIM" in os.environ else 55))

_ROOT = Path(__file__).resolve().parents[2]

_BEGIN = """
import faulthandler, os, signal, sys, time
faulthandler.dump_traceback_later(%(stacks)s, exit=True)
import numpy as np
import cuprous.torch as torch
import cuprous.torch.distributed as dist
from cuprous.torch.nn.parallel import DistributedDataParallel as DDP
torch.set_default_device(os.environ.get("TEST_DEVICE", "cpu"))
from datetime import timedelta
if "TEST_BEGIN" in os.environ:
    print(f"BEGIN {time.monotonic()}", flush=True)
dist.init_process_group(os.environ.get("TEST_BACKEND"),
                        timeout=timedelta(seconds=float(os.environ.get("TEST_TIMEOUT", "%(timeout)s"))))
rank, n = dist.get_rank(), dist.get_world_size()
"""


@dataclass
class Ended:
    """How a rank ended."""

    code: int
    out: str
    #: Seconds since the job was started.
    after: float


def environment(rank: int, n: int, store: _core.DistStore, **more: str) -> dict[str, str]:
    """Returns the environment of a rank whose store this process hosts, so that no port is taken twice."""
    assert store.port is not None
    own = {"RANK": str(rank), "WORLD_SIZE": str(n), "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1",
           "MASTER_PORT": str(store.port), "TORCHELASTIC_USE_AGENT_STORE": "True",
           "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))}  # fmt: skip
    return os.environ | own | more


def write(program: str, limit: int = LIMIT) -> Path:
    """Writes a program with `dist`, `torch`, `np`, `DDP`, `rank` and `n` to a file. It ends within `limit` seconds."""
    path = Path(tempfile.mkdtemp(prefix="cuprous-test-"), "program.py")
    path.write_text(_BEGIN % {"stacks": limit - 5, "timeout": limit - 15} + textwrap.dedent(program))
    return path


def begin(program: str, n: int = 2, **more: str) -> tuple[list[subprocess.Popen[str]], _core.DistStore, float]:
    """Starts a program in `n` processes. See `write`."""
    store = _core.DistStore.tcp("127.0.0.1", 0, True, 30.0)
    path = write(program)
    started = time.monotonic()
    processes = [
        # A job in the background ignores Ctrl-C, and its children do too.
        subprocess.Popen([sys.executable, str(path)], env=environment(rank, n, store, **more), text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        for rank in range(n)
    ]  # fmt: skip
    return processes, store, started


def finish(processes: list[subprocess.Popen[str]], started: float) -> list[Ended]:
    """Waits for all processes. None is left, whatever happens."""
    ended: dict[int, Ended] = {}
    try:
        for k, process in enumerate(processes):
            out, _ = process.communicate(timeout=max(LIMIT - (time.monotonic() - started), 1))
            ended[k] = Ended(process.returncode, out, time.monotonic() - started)
    finally:
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.communicate()
    return [ended[k] for k in range(len(processes))]


def run(program: str, n: int = 2, **more: str) -> list[Ended]:
    """Runs a program in `n` processes, which all succeed."""
    processes, _store, started = begin(program, n, **more)
    ended = finish(processes, started)
    for rank, each in enumerate(ended):
        assert each.code == 0, f"rank {rank} ended with {each.code}:\n{each.out}"
    return ended
