"""Starts programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import cuprous

#: Where the package under test is imported from.
PACKAGE = str(Path(str(cuprous.__file__)).parents[1])


def write(folder: Path, files: Mapping[str, str] | None = None, **modules: str) -> None:
    """Writes modules: `name="text"`, or `{"package/name": "text"}`."""
    for name, text in {**(files or {}), **modules}.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")


def start(
    folder: Path, *arguments: str, code: int = 0, path: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs Python in a folder and checks the exit code. `path` is added to PYTHONPATH."""
    inherited = {name: value for name, value in os.environ.items() if name != "CUPROUS_BIND"}
    paths = os.pathsep.join(filter(None, [path, PACKAGE]))
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=inherited | {"PYTHONPATH": paths} | variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def run(
    folder: Path, *arguments: str, code: int = 0, path: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs `cuprous run` in a folder and checks the exit code."""
    return start(folder, "-m", "cuprous", "run", *arguments, code=code, path=path, **variables)
