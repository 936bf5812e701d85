"""Runs `cuprous serve` in a separate process."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .helpers import started


class Server:
    """The address and the process of a server."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "http://" in line, process.stderr.read() if process.stderr else line
        self.process = process
        self.address = line.split()[-1]
        self.port = int(self.address.split("/")[2].rsplit(":", 1)[1])

    def memory(self) -> int:
        """Returns the resident bytes of the process."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * 4096


@contextmanager
def serving(*options: str, **env: Any) -> Iterator[Server]:
    process = started("serve", "--listen", "127.0.0.1:0", *options, **env)
    try:
        yield Server(process)
    finally:
        process.kill()
        process.communicate(timeout=60)
