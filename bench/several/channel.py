"""What a process of `Ranks` writes to the one that started it: JSON lines on what was its standard output."""

from __future__ import annotations

import json
import os
import time
from typing import Any, TextIO

_lines: TextIO | None = None


def open_lines() -> None:
    """Takes standard output for lines of JSON; what the program prints goes to standard error from then on."""
    global _lines
    _lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)


def write(value: dict[str, Any]) -> None:
    """Writes one line."""
    assert _lines is not None
    _lines.write(json.dumps(value) + "\n")
    _lines.flush()


def note(**values: Any) -> None:
    """Reports something before the result, with its time."""
    write({"note": values, "at": time.time()})
