"""What the index of a checkpoint says: which file has which part of which tensor."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuprous.torch import _types

#: The index, which is written last.
INDEX = "metadata.json"
_FORMAT, _VERSION = "cuprous-checkpoint", 1
#: Names of files with tensors: the rank, and what tells the files of one checkpoint from those of others.
DATA = re.compile(r"rank\d+-[0-9a-f]{16}\.safetensors")


@dataclass
class Part:
    """A part of a tensor: its offsets and sizes in the whole, the file, and its name in it."""

    offsets: list[int]
    sizes: list[int]
    file: str
    key: str


@dataclass
class TensorMetadata:
    """A tensor: dtype and shape of the whole, and its parts."""

    dtype: str
    shape: list[int]
    parts: list[Part] = field(default_factory=list)


@dataclass
class Metadata:
    """The index of a checkpoint: tensors and other values by dotted name."""

    tensors: dict[str, TensorMetadata] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def to_text(self) -> str:
        """Returns the index as JSON."""
        tensors = {name: {"dtype": t.dtype, "shape": t.shape, "parts": [vars(part) for part in t.parts]}
                   for name, t in self.tensors.items()}  # fmt: skip
        index = {"format": _FORMAT, "version": _VERSION, "tensors": tensors, "values": self.values}
        return json.dumps(index, indent=1, ensure_ascii=False)

    @staticmethod
    def from_text(text: str) -> Metadata:
        """Returns an index after checking it.

        Raises:
            ValueError: if it is not an index, or names a file outside of the directory.
        """
        try:
            index = json.loads(text)
            if index["format"] != _FORMAT or index["version"] != _VERSION:
                raise ValueError(f"its format is {index['format']!r}, version {index['version']!r}")
            tensors = {name: _tensor(name, entry) for name, entry in index["tensors"].items()}
            if not isinstance(index["values"], dict):
                raise ValueError("its values are not a mapping")
            return Metadata(tensors, index["values"])
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"the index cannot be read ({type(error).__name__}: {error})") from None


def _tensor(name: str, entry: dict[str, Any]) -> TensorMetadata:
    shape = _extents(name, entry["shape"])
    if entry["dtype"] not in _types.DTYPES:
        raise ValueError(f"{name!r} has the unknown dtype {entry['dtype']!r}")
    parts = []
    for part in entry["parts"]:
        offsets, sizes = _extents(name, part["offsets"]), _extents(name, part["sizes"])
        fits = len(offsets) == len(sizes) == len(shape)
        if not fits or any(at + size > n for at, size, n in zip(offsets, sizes, shape, strict=True)):
            raise ValueError(f"a part of {name!r} is not inside of it: {part}")
        if not isinstance(part["file"], str) or not DATA.fullmatch(part["file"]) or not isinstance(part["key"], str):
            raise ValueError(f"a part of {name!r} is not in a file of the checkpoint: {part['file']!r}")
        parts.append(Part(offsets, sizes, part["file"], part["key"]))
    return TensorMetadata(entry["dtype"], shape, parts)


def _extents(name: str, given: Any) -> list[int]:
    if not isinstance(given, list) or any(type(n) is not int or not 0 <= n < 1 << 62 for n in given):
        raise ValueError(f"shape, offsets or sizes of {name!r} are not lists of integers")
    if math.prod(n or 1 for n in given) >= 1 << 62:
        raise ValueError(f"{name!r} is too big: {given}")
    return given


def read(directory: Path) -> Metadata:
    """Returns the index of a checkpoint.

    Raises:
        FileNotFoundError: if the directory has none: it is not a checkpoint, or was never finished.
        ValueError: if it is damaged.
    """
    path = directory / INDEX
    if not path.is_file():
        raise FileNotFoundError(f"{directory} has no {INDEX}: it is not a checkpoint, or one that was never finished")
    return Metadata.from_text(path.read_text(encoding="utf-8"))


__all__ = ["Metadata", "Part", "TensorMetadata"]
