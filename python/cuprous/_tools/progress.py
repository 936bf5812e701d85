"""Progress of work that takes longer than a second."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


class Progress:
    """A line on the terminal that each call overwrites, cut off at its width. Without a terminal nothing is written.

    Parameters
    ----------
    total : int
        The number of parts.
    shown : bool, optional
        Whether it is shown; by default if standard error is a terminal that can erase a line.
    """

    def __init__(self, total: int, shown: bool | None = None) -> None:
        self.total = total
        self.shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" if shown is None else shown

    def of(self, number: int, title: str) -> Callable[[str], None]:
        """Returns a function that is called with what is being done in part `number`, from 1 on."""
        return lambda what: self.line(f"[{number}/{self.total}] {title}: {what}")

    def line(self, text: str) -> None:
        """Shows a text in place of the last one."""
        if self.shown:
            # A longer line would wrap, and only its end would be erased.
            print(f"\r\x1b[2K{text[: _width() - 1]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Removes the line."""
        self.line("")


def _width() -> int:
    """Returns the columns of the terminal of standard error: 80 if they are not known."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
