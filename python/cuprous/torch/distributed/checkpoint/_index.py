"""The index of a checkpoint in files: which file has which part of which tensor, as JSON.

Ranks that save without collectives have an index each, and the checkpoint's index names those."""

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
#: Names of the indexes of ranks that save without collectives: those of their data, with another ending.
OF_RANK = re.compile(r"(rank\d+-[0-9a-f]{16})\.json")


@dataclass(frozen=True)
class StorageInfo:
    """Where something is.

    Parameters
    ----------
    file : str or None
        The name of the file, or None for a value that stands in the index.
    key : str, default ""
        Its name in the file.
    packed : str, optional
        The value as JSON, if it stands in the index.
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


def of_ranks(names: list[str]) -> str:
    """Returns the index, as JSON, of a checkpoint whose ranks have indexes of these names."""
    return json.dumps({"format": _FORMAT, "version": _VERSION, "ranks": names}, indent=1)


def ranks_of(text: str) -> list[str] | None:
    """Returns the names of the indexes of the ranks, or None for an index that is that of all.

    Raises
    ------
    ValueError
        If one is outside of the directory.
    """
    index = json.loads(text)
    names = index.get("ranks") if isinstance(index, dict) else None
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(n, str) and OF_RANK.fullmatch(n) for n in names):
        raise ValueError(f"the indexes of the ranks are not files of the checkpoint: {names!r}")
    return names


def merged(indexes: list[Metadata]) -> Metadata:
    """Returns the contents that several ranks have written each for itself. Of what several have, the first's counts.

    Raises
    ------
    ValueError
        If a tensor or a part of it differs between ranks in dtype or shape.
    """
    whole = Metadata({}, {}, {}, version=str(_VERSION))
    for rank, each in enumerate(indexes):
        for name, entry in each.state_dict_metadata.items():
            known = whole.state_dict_metadata.setdefault(name, entry)
            if known is not entry:
                _extend(name, rank, known, entry)
        whole.storage_data = each.storage_data | whole.storage_data
        whole.planner_data = (each.planner_data or {}) | whole.planner_data
    return whole


def _extend(name: str, rank: int, known: Any, entry: Any) -> None:
    """Adds the parts that a rank has of a tensor to those of the ranks before it."""
    if isinstance(known, BytesStorageMetadata) and isinstance(entry, BytesStorageMetadata):
        return
    are_tensors = isinstance(known, TensorStorageMetadata) and isinstance(entry, TensorStorageMetadata)
    if not are_tensors or (known.properties, known.size) != (entry.properties, entry.size):
        raise ValueError(f"{name!r} of rank {rank} has another dtype or shape than that of the ranks before it")
    sizes = {chunk.offsets: chunk.sizes for chunk in known.chunks}
    for chunk in entry.chunks:
        if sizes.setdefault(chunk.offsets, chunk.sizes) != chunk.sizes:
            raise ValueError(f"a part of {name!r} of rank {rank} overlaps that of another one: {chunk}")
    known.chunks += [chunk for chunk in entry.chunks if chunk not in known.chunks]


def _location(info: StorageInfo) -> dict[str, Any]:
    return {"file": info.file, "key": info.key}


def from_text(text: str) -> Metadata:
    """Returns an index after checking it.

    Raises
    ------
    ValueError
        If it is not an index, or names a file outside of the directory.
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


__all__ = ["DATA", "INDEX", "OF_RANK", "StorageInfo", "from_text", "merged", "of_ranks", "ranks_of", "to_text"]
