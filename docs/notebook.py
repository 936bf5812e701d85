"""Writes pages as notebooks beside them: `python -m docs.notebook` from the root of the repository."""

from __future__ import annotations

import json
import re
from pathlib import Path

FOLDER = Path(__file__).parent
PAGES = ("tutorial.md", "gallery.md", "guides/first-kernel.md")
#: What a page has and its notebook has not: the link to the notebook, and pictures, which the notebook draws.
LEFT_OUT = re.compile(r"^(?:This page is also \[a notebook\]|!\[).*\n\n", re.MULTILINE)


def written(page: str) -> str:
    """Returns the notebook of a page: text and blocks of Python become cells."""
    text = LEFT_OUT.sub("", (FOLDER / page).read_text(encoding="utf-8"))
    cells: list[dict[str, object]] = []
    for number, part in enumerate(re.split(r"^```python\n(.*?)^```\n", text, flags=re.DOTALL | re.MULTILINE)):
        source = part.strip("\n").splitlines(keepends=True)
        kind = "code" if number % 2 else "markdown"
        empty: dict[str, object] = {"execution_count": None, "outputs": []} if kind == "code" else {}
        if source:
            cells.append({"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": source, **empty})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in PAGES:
        (FOLDER / name).with_suffix(".ipynb").write_text(written(name), encoding="utf-8")
