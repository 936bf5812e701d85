"""Runs test files in a separate process, which is restarted after a crash or hang, so that only one test is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.peers.suites import Suite

#: Seconds without a finished test after which the running test counts as hanging.
PATIENCE = 300
CHILDREN = Path(__file__).parent / "children"
PYTEST = """-m pytest -p tests.peers.plugin -p no:cacheprovider -p no:xdist --import-mode=importlib
    -o addopts= -o xfail_strict=true -W ignore --tb=native --assert=plain -q -q --continue-on-collection-errors"""


@dataclass(frozen=True)
class Result:
    """The outcome of one test; `why` is the error of a failure."""

    test: str
    outcome: str
    why: str = ""
    line: int = 0


def run(suite: Suite, root: Path, files: list[Path], store: Path, resume: bool = False) -> None:
    """Runs test files and appends a row for each test to `store`; with `resume`, skips tests that have a row."""
    store.parent.mkdir(parents=True, exist_ok=True)
    if not resume:
        store.unlink(missing_ok=True)
    environment = {**os.environ, "PEERS_SUITE": suite.name, "PEERS_RESULTS": str(store)}
    if (CHILDREN / suite.name).exists():  # processes started by tests import the peer from there
        paths = str(CHILDREN), os.getcwd(), os.environ.get("PYTHONPATH", "")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    command = [sys.executable, *PYTEST.split(), *suite.options, "--rootdir", str(root), "-c", os.devnull]
    while True:
        before = len(_rows(store))
        with store.with_suffix(".log").open("a") as log:
            process = subprocess.Popen([*command, *map(str, files)], env=environment, stdout=log, stderr=log)
            hung = _wait(process, store)
        rows = _rows(store)[before:]
        if any("finished" in row for row in rows):
            return
        running = rows[-1] if rows and "start" in rows[-1] else None
        if running is None:
            raise RuntimeError(f"pytest ended with status {process.returncode}; see {store.with_suffix('.log')}")
        how = "hangs" if hung else f"ends the process with exit status {process.returncode}"
        row = {"file": running["file"], "id": running["start"], "outcome": "failed", "why": how}
        with store.open("a") as out:
            out.write(json.dumps(row) + "\n")


def stored(store: Path) -> dict[str, list[Result]]:
    """Returns the results in a store by file."""
    results: dict[str, list[Result]] = {}
    for row in _rows(store):
        if "id" in row:
            result = Result(row["id"], row["outcome"], row.get("why", ""), row.get("line", 0))
            results.setdefault(row["file"], []).append(result)
    return results


def _rows(store: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []


def _wait(process: subprocess.Popen[bytes], store: Path) -> bool:
    """Waits for the process. Returns true if it was killed because it made no progress."""
    seen, since = -1, time.monotonic()
    while process.poll() is None:
        time.sleep(0.05)
        size = store.stat().st_size if store.exists() else 0
        if size != seen:
            seen, since = size, time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            process.kill()
            process.wait()
            return True
    return False
