"""Metadata of bound packages, for libraries that look at the version of PyTorch before they import it."""

from __future__ import annotations

from importlib.metadata import Distribution
from os import PathLike
from pathlib import Path
from typing import Any


class BoundDistribution(Distribution):
    """The metadata of one package."""

    def __init__(self, name: str, version: str) -> None:
        self._texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: Cuprous under this name\n",
            "top_level.txt": f"{name}\n",
        }

    def read_text(self, filename: str) -> str | None:
        """Returns the text of a metadata file, or None if there is no such file."""
        return self._texts.get(filename)

    def locate_file(self, path: str | PathLike[str]) -> Any:
        """Returns the path of a file of the package."""
        return Path(__file__).parents[1] / path
