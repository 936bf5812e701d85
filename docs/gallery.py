"""Draws the pictures of gallery.md by running its code: `python -m docs.gallery` from the root of the repository."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
#: Dots an inch: pictures stay below 100 kB.
DPI = 80


def draw(folder: Path) -> list[Path]:
    """Runs the page and saves each figure that it shows. Returns the files, in order."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    files: list[Path] = []

    def save() -> None:
        file = folder / f"gallery-{len(files) + 1}.png"
        pyplot.savefig(file, dpi=DPI)
        pyplot.close("all")
        files.append(file)

    shown, pyplot.show = pyplot.show, save
    try:
        namespace: dict[str, Any] = {"__name__": "gallery"}
        text = (FOLDER / "gallery.md").read_text(encoding="utf-8")
        for found in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            before = text.count("\n", 0, found.start(1))
            exec(compile("\n" * before + found[1], str(FOLDER / "gallery.md"), "exec"), namespace)
    finally:
        pyplot.show = shown
    return files


if __name__ == "__main__":
    for file in draw(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / "figures"):
        print(file)
