"""The index of a checkpoint in files: which file has which part of which tensor, as JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cuprous.torch import _types
from cuprous.torch._types import Size
from cuprous.torch.distributed.checkpoint import _wire
from cuprous.torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)

#: The index, which is written last.
INDEX = "metadata.json"
_FORMAT, _VERSION = "cuprous-checkpoint", 1
#: Names of files with tensors: the rank, and what tells the files of one checkpoint from those of others.
DATA = re.compile(r"rank\d+-[0-9a-f]{16}\.safetensors")


@dataclass(frozen=True)
class StorageInfo:
    """Where something is.

    Args:
        file: the name of the file, or None for a value that stands in the index.
        key: its name in the file.
        packed: the value as JSON, if it stands in the index.
    """

    file: str | None
    key: str = ""
    packed: Any = None


def to_text(contents: Metadata) -> str:
    """Returns an index as JSON."""
    tensors, values, streams = {}, {}, {}
    for name, entry in contents.state_dict_metadata.items():
        if isinstance(entry, TensorStorageMetadata):
            parts = [{"offsets": list(chunk.offsets), "sizes": list(chunk.sizes),
                      **_location(contents.storage_data[MetadataIndex(name, chunk.offsets)])}
                     for chunk in entry.chunks]  # fmt: skip
            tensors[name] = {"dtype": entry.properties.dtype.name, "shape": list(entry.size), "parts": parts}
        elif (info := contents.storage_data[MetadataIndex(name)]).file is None:
            values[name] = info.packed
        else:
            streams[name] = _location(info)
    index = {"format": _FORMAT, "version": _VERSION, "tensors": tensors, "values": values, "bytes": streams,
             "planner": json.loads(_wire.to_text(contents.planner_data))}  # fmt: skip
    return json.dumps(index, indent=1, ensure_ascii=False)


def _location(info: StorageInfo) -> dict[str, Any]:
    return {"file": info.file, "key": info.key}


def from_text(text: str) -> Metadata:
    """Returns an index after checking it.

    Raises:
        ValueError: if it is not an index, or names a file outside of the directory.
    """
    try:
        index = json.loads(text)
        if index["format"] != _FORMAT or index["version"] != _VERSION:
            raise ValueError(f"its format is {index['format']!r}, version {index['version']!r}")
        if not isinstance(index["values"], dict):
            raise ValueError("its values are not a mapping")
        contents = Metadata({}, storage_data={}, version=str(_VERSION))
        for name, entry in index["tensors"].items():
            contents.state_dict_metadata[name] = tensor = _tensor(name, entry)
            for chunk, info in _parts(name, entry, tensor.size):
                tensor.chunks.append(chunk)
                contents.storage_data[MetadataIndex(name, chunk.offsets)] = info
        infos = {name: StorageInfo(None, "", packed) for name, packed in index["values"].items()}
        infos |= {name: _info(name, entry) for name, entry in index.get("bytes", {}).items()}
        for name, info in infos.items():
            contents.state_dict_metadata[name] = BytesStorageMetadata()
            contents.storage_data[MetadataIndex(name)] = info
        contents.planner_data = _wire.from_text(json.dumps(index.get("planner")))
        return contents
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"the index cannot be read ({type(error).__name__}: {error})") from None


def _tensor(name: str, entry: dict[str, Any]) -> TensorStorageMetadata:
    if entry["dtype"] not in _types.DTYPES:
        raise ValueError(f"{name!r} has the unknown dtype {entry['dtype']!r}")
    properties = TensorProperties(_types.DTYPES[entry["dtype"]])
    return TensorStorageMetadata(properties, _extents(name, entry["shape"]), [])


def _parts(name: str, entry: dict[str, Any], shape: Size) -> Iterator[tuple[ChunkStorageMetadata, StorageInfo]]:
    for part in entry["parts"]:
        offsets, sizes = _extents(name, part["offsets"]), _extents(name, part["sizes"])
        fits = len(offsets) == len(sizes) == len(shape)
        if not fits or any(at + size > n for at, size, n in zip(offsets, sizes, shape, strict=True)):
            raise ValueError(f"a part of {name!r} is not inside of it: {part}")
        yield ChunkStorageMetadata(offsets, sizes), _info(name, part)


def _info(name: str, entry: dict[str, Any]) -> StorageInfo:
    file, key = entry["file"], entry["key"]
    if not isinstance(file, str) or not DATA.fullmatch(file) or not isinstance(key, str):
        raise ValueError(f"a part of {name!r} is not in a file of the checkpoint: {file!r}")
    return StorageInfo(file, key)


def _extents(name: str, given: Any) -> Size:
    if not isinstance(given, list) or any(type(n) is not int or not 0 <= n < 1 << 62 for n in given):
        raise ValueError(f"shape, offsets or sizes of {name!r} are not lists of integers")
    if math.prod(n or 1 for n in given) >= 1 << 62:
        raise ValueError(f"{name!r} is too big: {given}")
    return Size(given)


__all__ = ["DATA", "INDEX", "StorageInfo", "from_text", "to_text"]
