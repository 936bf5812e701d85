"""The texts of source lines, written to the file of a profile, so that a viewer shows them beside the times."""

from __future__ import annotations

import json
import linecache
import os
from collections.abc import Iterable

from cuprous._tools.profile_rows import ProfileRow

#: Characters of a line that are kept.
MOST = 160


def texts(rows: Iterable[ProfileRow]) -> dict[str, str]:
    """Returns the text of each line by `file:line`, as the trace names it. Cells of notebooks have texts too."""
    found: dict[str, str] = {}
    for row in rows:
        text = linecache.getline(row.file, row.line).strip() if row.line else ""
        if text:
            found.setdefault(f"{os.path.basename(row.file)}:{row.line}", text[:MOST])
    return found


def add(path: str, rows: Iterable[ProfileRow]) -> None:
    """Adds the texts to a trace as the member "sources". Only the end of the file, which may be large, is rewritten."""
    with open(path, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        begin = file.seek(max(size - 64, 0))
        end = file.read().rindex(b"}")
        file.seek(begin + end)
        file.write(b',"sources":' + json.dumps(texts(rows)).encode() + b"}\n")
        file.truncate()
