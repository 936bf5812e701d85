"""Runs Python code in a separate process, which may crash, fork, be interrupted or have another environment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEVICE = os.environ.get("CUPROUS_TEST_DEVICE", "cpu")
#: Start of a program that handles Ctrl-C, because a background job inherits that it is ignored.
HEARS = f"""
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import cuprous as cp
cp._core.set_device({DEVICE!r})
"""


def environment(**changes: str | None) -> dict[str, str]:
    """Returns this process's environment with changes; None removes a variable."""
    result = dict(os.environ)
    for name, value in changes.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = value
    return result


def run(code: str, *, timeout: float = 300, **env: str | None) -> subprocess.CompletedProcess[str]:
    """Runs the code and accepts any exit code."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment(**env))


def output(code: str, **env: str | None) -> str:
    """Returns the output of the code, which must exit with 0."""
    done = run(code, **env)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


def command(*arguments: str, timeout: float = 600, **env: str | None) -> subprocess.CompletedProcess[str]:
    """Runs the `cuprous` command line."""
    line = [sys.executable, "-m", "cuprous", *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=timeout, env=environment(**env))


def started(*arguments: str, **env: str | None) -> subprocess.Popen[str]:
    """Starts the `cuprous` command line, with pipes for what it prints."""
    line = [sys.executable, "-m", "cuprous", *arguments]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**env))


def interrupted(setup: str, work: str, after: str = "", *, wait: float = 1.0) -> tuple[float, list[str]]:
    """Runs `setup` and `work` in a process and interrupts the work after `wait` seconds, as Ctrl-C does.

    Fails if the work ends by itself, or if the session cannot compute when `after` has run.

    Returns
    -------
    tuple (float, list of str)
        The seconds until `work` raised KeyboardInterrupt, and the lines that `after` printed.
    """
    parts = {name: textwrap.dedent(part) for name, part in (("setup", setup), ("work", work), ("after", after))}
    program = f"""{HEARS}
{parts["setup"]}
print("ready", flush=True)
try:
{textwrap.indent(parts["work"], "    ")}
    print("not interrupted", flush=True)
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
{parts["after"]}
print("after", float((cp.arange(5.0) * 2).sum()), flush=True)
"""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "program.py")  # kernels are compiled from their source
        file.write_text(program, encoding="utf-8")
        # Without the CUDA compile check, which takes long for this program and ignores Ctrl-C.
        process = subprocess.Popen(
            [sys.executable, str(file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(CUPROUS_CHECK_CUDA=None),
        )
        try:
            assert process.stdout is not None
            first = process.stdout.readline().strip()
            assert first == "ready", process.communicate(timeout=60)[1]
            time.sleep(wait)
            sent = time.time()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
            process.wait()
    lines = out.splitlines()
    assert lines and lines[0].startswith("interrupted"), (lines, err)
    assert lines[-1] == "after 20.0", (lines, err)
    return float(lines[0].split()[1]) - sent, lines[1:-1]
