"""One process of a job, as its launcher sees it."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

from cuprous import _core

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_STREAMS = ((1, "stdout"), (2, "stderr"))


class Rank:
    """A process in a session of its own, which ends with its launcher.

    Args:
        number: its rank.
        command: its command line.
        environment: its environment.
        folder: for its log and error files.
        options: the launcher's, of which `redirects` and `tee` are used.
    """

    def __init__(self, number: int, command: list[str], environment: dict[str, str], folder: str,
                 options: argparse.Namespace) -> None:  # fmt: skip
        self.number, self.folder = number, folder
        self._is_reported = False
        self._pumps: list[threading.Thread] = []
        launcher = os.getpid()
        system = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

        def die_with_launcher() -> None:
            if system is not None:
                system.prctl(_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != launcher:
                os._exit(1)  # it ended before the line above

        streams: dict[str, Any] = {}
        with contextlib.ExitStack() as files:
            for bit, name in _STREAMS:
                if options.tee & bit:
                    streams[name] = subprocess.PIPE
                elif options.redirects & bit:
                    streams[name] = files.enter_context(Path(folder, f"{name}.log").open("wb"))
            self.process = subprocess.Popen(command, env=environment, start_new_session=True,
                                            preexec_fn=die_with_launcher, **streams)  # fmt: skip
        for _, name in _STREAMS:
            source = getattr(self.process, name)
            if source is not None:
                self._pump(source, getattr(sys, name).buffer, os.path.join(folder, f"{name}.log"))

    def _pump(self, source: IO[bytes], console: IO[bytes], path: str) -> None:
        def copy() -> None:
            with open(path, "wb") as file:
                for line in source:
                    file.write(line)
                    file.flush()
                    console.write(f"[rank{self.number}]:".encode() + line)
                    console.flush()

        thread = threading.Thread(target=copy, daemon=True)
        thread.start()
        self._pumps.append(thread)

    def is_running(self) -> bool:
        """Returns True until the process has ended."""
        return self.process.poll() is None

    def has_just_ended(self) -> bool:
        """Returns True once, after the process has ended."""
        if self._is_reported or self.is_running():
            return False
        for thread in self._pumps:
            thread.join(1.0)
        self._is_reported = True
        return True

    def failed(self) -> bool:
        """Returns True if the process has ended and not with exit code 0."""
        return self.process.poll() not in (None, 0)

    def status_text(self) -> str:
        """Returns how the process ended, in words."""
        code = self.process.returncode
        return _core.dist_status_text(-code if code < 0 else code << 8)

    def error(self) -> dict[str, Any] | None:
        """Returns what the process wrote about its exception: message, callstack and time."""
        try:
            with open(os.path.join(self.folder, "error.json")) as file:
                message = json.load(file)["message"]
        except (OSError, ValueError, KeyError):
            return None
        return message if isinstance(message, dict) else {"message": str(message)}

    def send(self, number: int) -> None:
        """Sends a signal to the process and those that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)


def summary(program: str, ranks: list[Rank], note: str) -> str:
    """Returns what went wrong, the cause first."""
    failed = [rank for rank in ranks if rank.failed()]

    def order(rank: Rank) -> tuple[bool, bool]:
        text = str((rank.error() or {}).get("message", ""))
        # A rank that only reports the end of another, or that the launcher ended, is not the cause.
        return text.startswith("DistBackendError"), rank.process.returncode == -signal.SIGTERM

    lines = [f"[cuprous.run] {program} failed{note}"]
    for rank in sorted(failed, key=order):
        lines.append(f"  rank {rank.number} (process {rank.process.pid}): {rank.status_text()}")
        error = rank.error()
        if error is not None:
            message = str(error.get("message")).splitlines() or [""]
            lines += [f"    {line}" for line in message[:5]]
            lines.append(f"    traceback: {os.path.join(rank.folder, 'error.json')}")
    return "\n".join(lines)
