"""Runs one file of a suite in processes of its own: a crash or a hang costs one test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.peers.suites import Suite

#: Seconds without a finished test after which the running one counts as hanging.
PATIENCE = 120
PYTEST = """-m pytest -p tests.peers.plugin -p no:cacheprovider -p no:xdist --import-mode=importlib
    -o addopts= -o xfail_strict=true -W ignore --tb=native --assert=plain -q -q --continue-on-collection-errors"""


@dataclass(frozen=True)
class Result:
    """How one test ended; `why` is the error of a failed one."""

    test: str
    outcome: str
    why: str = ""
    line: int = 0


def run_file(suite: Suite, root: Path, file: Path, build: Path, resume: bool = False) -> list[Result]:
    """Returns the results of all tests of a file; with `resume` those that an earlier run has finished are not run."""
    results = _store(root, file, build)
    results.parent.mkdir(parents=True, exist_ok=True)
    if not resume:
        results.unlink(missing_ok=True)
    elif any("finished" in row for row in _rows(results)):
        return stored(root, file, build)
    environment = {**os.environ, "PEERS_SUITE": suite.name, "PEERS_RESULTS": str(results)}
    command = [sys.executable, *PYTEST.split(), *suite.options, "--rootdir", str(root), "-c", os.devnull, str(file)]
    while True:
        with results.with_suffix(".log").open("a") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
            hung = _wait(process, results)
        rows = _rows(results)
        if any("finished" in row for row in rows):
            break
        running = rows[-1].get("start") if rows else None
        how = "hangs" if hung else f"ends the process with exit status {process.returncode}"
        with results.open("a") as out:
            out.write(json.dumps({"id": running or "(import)", "outcome": "failed", "why": how, "line": 0}) + "\n")
        if running is None:
            break
    return stored(root, file, build)


def stored(root: Path, file: Path, build: Path) -> list[Result]:
    """Returns the results of the last run of a file."""
    rows = [row for row in _rows(_store(root, file, build)) if "id" in row]
    return [Result(row["id"], row["outcome"], row.get("why", ""), int(row.get("line", 0))) for row in rows]


def _store(root: Path, file: Path, build: Path) -> Path:
    return build / f"{file.relative_to(root).with_suffix('')}.jsonl".replace(os.sep, ".")


def _rows(results: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []


def _wait(process: subprocess.Popen[bytes], results: Path) -> bool:
    """Waits for the end of the process. Returns true if it was ended because nothing happened any more."""
    seen, since = -1, time.monotonic()
    while process.poll() is None:
        time.sleep(0.05)
        size = results.stat().st_size if results.exists() else 0
        if size != seen:
            seen, since = size, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            process.kill()
            process.wait()
            return True
    return False
