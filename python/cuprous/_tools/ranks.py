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
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from cuprous import _core

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_STREAMS = ((1, "stdout"), (2, "stderr"))


#: Where what a process writes goes: by stream, whether to a file, and whether to the console.
Outputs = dict[str, tuple[bool, bool]]


def by_rank(text: str) -> dict[int, int]:
    """Returns the streams of each rank of a host from torchrun's text: "3" is both of all, which are at -1, "0:1,2:3"
    are those of the ranks 0 and 2."""
    pairs = [part.rpartition(":")[::2] for part in text.split(",")]
    found = {int(rank) if rank else -1: int(streams) for rank, streams in pairs}
    if not all(0 <= streams <= 3 for streams in found.values()):
        raise ValueError(text)
    return found


def words(text: str) -> list[str]:
    """Returns the parts of a list with commas, of which two stand for one in a part."""
    parts = text.replace(",,", "\0").split(",")
    return [part.replace("\0", ",") for part in parts if part]


def outputs_of(local: int, options: argparse.Namespace) -> Outputs:
    """Returns where a rank of this host writes, as the launcher's options `tee`, `redirects` and `local_ranks_filter`
    say."""
    tee, redirects = (each.get(local, each.get(-1, 0)) for each in (options.tee, options.redirects))
    is_shown = options.local_ranks_filter is None or local in options.local_ranks_filter
    return {
        name: (bool((tee | redirects) & bit), is_shown and bool(tee & bit or not redirects & bit))
        for bit, name in _STREAMS
    }


class Rank:
    """A process in a session of its own, which ends with its launcher.

    Parameters
    ----------
    number : int
        Its rank.
    command : list of str
        Its command line.
    environment : dict of str to str
        Its environment.
    folder : str
        For its log and error files.
    outputs : Outputs
        Where what it writes goes.
    filters : mapping of str to list of str
        By stream, lines with one of these texts are also written to one file of all ranks, of those that go to files
        and to the console.
    prefix : str
        What stands before its lines on the console.
    cores : set of ints, optional
        The cores that it may use, if not all.
    """

    def __init__(self, number: int, command: list[str], environment: dict[str, str], folder: str, outputs: Outputs,
                 filters: Mapping[str, list[str]], prefix: str, cores: set[int] | None = None) -> None:  # fmt: skip
        self.number, self.folder = number, folder
        self._filters, self._prefix = filters, prefix.encode()
        self._is_reported = False
        self._pumps: list[threading.Thread] = []
        launcher = os.getpid()
        system = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

        def die_with_launcher() -> None:
            if system is not None:
                system.prctl(_DEATH_SIGNAL, signal.SIGKILL)
            if cores is not None:
                os.sched_setaffinity(0, cores)
            if os.getppid() != launcher:
                os._exit(1)  # it ended before the line above

        streams: dict[str, Any] = {}
        with contextlib.ExitStack() as files:
            for name, (to_file, to_console) in outputs.items():
                if to_file and to_console:
                    streams[name] = subprocess.PIPE
                elif to_file:
                    streams[name] = files.enter_context(Path(folder, f"{name}.log").open("wb"))
                elif not to_console:
                    streams[name] = subprocess.DEVNULL
            self.process = subprocess.Popen(command, env=environment, start_new_session=True,
                                            preexec_fn=die_with_launcher, **streams)  # fmt: skip
        for _, name in _STREAMS:
            source = getattr(self.process, name)
            if source is not None:
                self._pump(name, source, getattr(sys, name).buffer)

    def _pump(self, name: str, source: IO[bytes], console: IO[bytes]) -> None:
        texts = [text.encode() for text in self._filters[name]]
        chosen = Path(self.folder).parent / f"filtered_{name}.log"

        def copy() -> None:
            with contextlib.ExitStack() as files:
                file = files.enter_context(Path(self.folder, f"{name}.log").open("wb"))
                # Each line is one write at the end, because other ranks write there too.
                filtered = files.enter_context(chosen.open("ab", buffering=0)) if texts else None
                for line in source:
                    file.write(line)
                    file.flush()
                    console.write(self._prefix + line)
                    console.flush()
                    if filtered is not None and any(text in line for text in texts):
                        filtered.write(self._prefix + line)

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
