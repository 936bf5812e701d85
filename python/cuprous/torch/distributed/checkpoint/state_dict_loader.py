"""Loads a state into the tensors of a program, whatever ranks have saved it."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import safetensors
from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed import _objects
from cuprous.torch.distributed.checkpoint import metadata
from cuprous.torch.distributed.checkpoint._items import Item, Region, items, region
from cuprous.torch.distributed.checkpoint.api import Ranks
from cuprous.torch.distributed.checkpoint.default_planner import DefaultLoadPlanner, given
from cuprous.torch.distributed.checkpoint.filesystem import FileSystemReader, directory, unsupported
from cuprous.torch.distributed.checkpoint.metadata import Metadata, TensorMetadata
from cuprous.torch.distributed.checkpoint.stateful import Stateful, plain_state


class _Files:
    """The files of a checkpoint, each opened once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, safetensors.safe_open] = {}

    def tensor(self, file: str, key: str) -> Tensor:
        if file not in self._open:
            self._open[file] = safetensors.safe_open(self._folder / file)
        return self._open[file].get_tensor(key)


def _fill(name: str, own: Region, saved: TensorMetadata, files: _Files) -> None:
    """Copies a rank's part of a tensor from the parts that were saved."""
    if saved.shape != own.shape:
        raise ValueError(f"Size mismatch between saved {saved.shape} and current: {own.shape} for {name}")
    sizes = list(own.local.dims)
    missing = math.prod(sizes)
    target = own.local.detach()
    for part in saved.parts:
        # Where both parts overlap, in the whole.
        starts = [max(a, b) for a, b in zip(own.offsets, part.offsets, strict=True)]
        ends = [min(a + m, b + n) for a, m, b, n in zip(own.offsets, sizes, part.offsets, part.sizes, strict=True)]
        if any(end <= start for start, end in zip(starts, ends, strict=True)):
            continue
        source = files.tensor(part.file, part.key)
        if list(source.dims) != part.sizes:
            raise ValueError(f"{part.file} has a part of {name} of shape {list(source.dims)}, not {part.sizes}")
        into = target
        for dim, (start, end) in enumerate(zip(starts, ends, strict=True)):
            source = source.narrow(dim, start - part.offsets[dim], end - start)
            into = into.narrow(dim, start - own.offsets[dim], end - start)
        into.copy_(source)
        missing -= math.prod(end - start for start, end in zip(starts, ends, strict=True))
    if missing:
        raise ValueError(f"the checkpoint lacks {missing} elements of {name}")


def load(state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_reader: FileSystemReader | None = None,
         planner: Any = None, process_group: Any = None, no_dist: bool = False) -> None:  # fmt: skip
    """Loads a state in place: tensors are written, other values replaced. All ranks call it.

    The checkpoint may have been saved by any number of ranks, and its tensors sharded in another way or not at all.
    Each rank reads what it needs. What the checkpoint has beyond the state is left out.

    Args:
        state_dict: as for `save`; it says what is loaded, and how it is distributed.
        checkpoint_id: the directory, which all ranks reach.
        storage_reader: a `FileSystemReader`, which has the directory.
        planner: a `DefaultLoadPlanner` or None.
        process_group: the ranks; all by default.
        no_dist: loads on this rank alone.

    Raises:
        CheckpointException: on all ranks, if the checkpoint lacks something on one of them, is damaged, or has another
            shape.
        ValueError: without a directory.
        NotImplementedError: for another planner or another storage.

    Example:
        >>> state = {"model": model.state_dict()}  # doctest: +SKIP
        >>> dcp.load(state, checkpoint_id="step100")  # doctest: +SKIP
    """
    chosen = given("load", planner, DefaultLoadPlanner)
    if storage_reader is not None and not isinstance(storage_reader, FileSystemReader):
        raise NotImplementedError(f"storage_reader={storage_reader!r} is not supported; use FileSystemReader")
    folder = directory(checkpoint_id, storage_reader)
    plain = plain_state(state_dict)

    def read() -> None:
        _load(plain, metadata.read(folder), _Files(folder), chosen.allow_partial_load)

    with no_grad():
        Ranks(process_group, no_dist).do(f"loading {folder}", read)
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(plain[key])
        else:
            state_dict[key] = plain[key]


def _load(state: dict[str, Any], index: Metadata, files: _Files, is_partial: bool) -> None:
    def is_saved(item: Item) -> bool:
        return item.name in (index.tensors if isinstance(item.value, Tensor) else index.values)

    found = items(state)
    missing = [item.name for item in found if not is_saved(item)]
    if missing and not is_partial:
        raise RuntimeError(f"Missing key in checkpoint state_dict: {missing[0]}.")
    for item in filter(is_saved, found):
        if isinstance(item.value, Tensor):
            _fill(item.name, region(item.name, item.value), index.tensors[item.name], files)
        else:
            item.container[item.key] = _objects._unpack(index.values[item.name], [], False)


def load_state_dict(state_dict: dict[str, Any], storage_reader: FileSystemReader, process_group: Any = None,
                    coordinator_rank: int = 0, no_dist: bool = False, planner: Any = None) -> None:  # fmt: skip
    """Loads a state in place: the older name of `load`.

    Args:
        state_dict: as for `load`.
        storage_reader: a `FileSystemReader`, which has the directory.
        process_group: the ranks; all by default.
        coordinator_rank: 0.
        no_dist: loads on this rank alone.
        planner: a `DefaultLoadPlanner` or None.

    Raises:
        NotImplementedError: for another coordinator, planner or storage.
    """
    warnings.warn("`load_state_dict` is deprecated, use `load`", FutureWarning, stacklevel=2)
    unsupported("load_state_dict", coordinator_rank=coordinator_rank or None)
    load(state_dict, storage_reader=storage_reader, planner=planner, process_group=process_group, no_dist=no_dist)


__all__ = ["load", "load_state_dict"]
