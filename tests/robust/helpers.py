"""Runs Python code in a process of its own, so that it may crash, fork, be interrupted or see another environment."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def environment(**changes: str | None) -> dict[str, str]:
    """This process's environment with changes; None removes a name."""
    result = dict(os.environ)
    for name, value in changes.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = value
    return result


def run(code: str, *, timeout: float = 300, **env: str | None) -> subprocess.CompletedProcess[str]:
    """Runs the code; whatever its exit code."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment(**env))


def output(code: str, **env: str | None) -> str:
    """What the code prints; it must exit with 0."""
    done = run(code, **env)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


def command(*arguments: str, timeout: float = 600, **env: str | None) -> subprocess.CompletedProcess[str]:
    """Runs the `cuprous` command line."""
    line = [sys.executable, "-m", "cuprous", *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=timeout, env=environment(**env))
