"""Progress of work that takes longer than a second."""

from __future__ import annotations

import sys
from collections.abc import Callable


class Progress:
    """A line on the terminal that each call overwrites. Without a terminal nothing is written.

    Args:
        total: the number of parts.
        shown: whether it is shown; by default if standard error is a terminal.
    """

    def __init__(self, total: int, shown: bool | None = None) -> None:
        self.total = total
        self.shown = sys.stderr.isatty() if shown is None else shown

    def of(self, number: int, title: str) -> Callable[[str], None]:
        """Returns a function that is called with what is being done in part `number`, from 1 on."""
        return lambda what: self.line(f"[{number}/{self.total}] {title}: {what}")

    def line(self, text: str) -> None:
        """Shows a text in place of the last one."""
        if self.shown:
            print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Removes the line."""
        self.line("")
