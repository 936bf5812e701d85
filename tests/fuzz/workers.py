"""Runs cases in separate processes, so that a crash or a hang is a failure with a case number."""

from __future__ import annotations

import faulthandler
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
#: Seconds that one case may take.
PATIENCE = int(os.environ.get("FUZZ_PATIENCE", "120"))


def is_internal(error: BaseException) -> bool:
    """Returns true if an error, whatever its class, reports a bug in Cuprous and not a bad argument."""
    return any(words in str(error) for words in ("please report it", "the planner made"))


def run_worker(cases: Iterable[int], case: Callable[[int], str | None], progress: str, memory: int) -> int:
    """Runs cases in this process with bounded memory, and prints what each returns (None for success)."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    failed = 0
    with open(progress, "r+b", buffering=0) as file:
        for number in cases:
            os.pwrite(file.fileno(), b"%-20d" % number, 0)
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            found = case(number)
            faulthandler.cancel_dump_traceback_later()
            if found is not None:
                failed += 1
                print(f"case {number}: {found}", flush=True)
        os.pwrite(file.fileno(), b"%-20s" % b"done", 0)
    return failed


def run_in_workers(module: str, first: int, count: int, chunk: int) -> tuple[list[str], list[str]]:
    """Runs the cases of a module that takes `--worker FIRST COUNT PROGRESS`.

    Prints and returns a line for each case that failed, and returns the other lines that workers printed."""
    failures: list[str] = []
    notes: list[str] = []
    end = first + count
    with tempfile.NamedTemporaryFile() as progress:
        while first < end:
            progress.truncate(0)
            line = [sys.executable, "-m", module, "--worker", str(first), str(min(chunk, end - first)), progress.name]
            env = os.environ | {"CUPROUS_CHECK_CUDA": ""}
            done = subprocess.run(line, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
            found = [text for text in done.stdout.splitlines() if text.startswith("case ")]
            notes += [text for text in done.stdout.splitlines() if not text.startswith("case ")]
            at = Path(progress.name).read_text().strip()
            if not at:
                raise RuntimeError(f"the worker did not start:\n{done.stdout}{done.stderr}")
            if at == "done":
                first += chunk
                if done.returncode:
                    found.append(
                        f"case before {first}: the process ended with {done.returncode}\n{done.stderr[-3000:]}"
                    )
            else:
                found.append(f"case {at}: the process ended with {done.returncode}\n{done.stderr[-3000:]}")
                first = int(at) + 1
            for text in found:
                print(text, file=sys.stderr, flush=True)
            failures += found
    return failures, notes
