"""Cells of a notebook, which profiles name as its prompts do, `In[3]`, and not by the name of a file."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable

from cuprous._tools.profile_rows import ProfileRow


def file_name(path: str) -> str:
    """Returns the name of a file without its folder, or of a cell."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cell = shell.compile.format_code_name(path) if shell is not None else None
    return os.path.basename(path) if cell is None else str(cell[1])


def named(text: str, rows: Iterable[ProfileRow]) -> str:
    """Returns a table or a sentence about rows with the names of their cells. Columns keep their places."""
    for path in {row.file for row in rows if row.line}:
        name, file = file_name(path), os.path.basename(path)
        if name != file:
            pad = " " * (len(file) - len(name))
            text = re.sub(rf"^{re.escape(file)}(:\d+ .*?)(?=  )", rf"{name}\1{pad}", text, flags=re.MULTILINE)
            text = text.replace(f"{file}:", f"{name}:")
    return text
