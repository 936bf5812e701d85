"""Saves a state: a file of tensors for each rank, and an index that is written last."""

from __future__ import annotations

import contextlib
import enum
import os
import secrets
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import safetensors
from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed import _groups, _objects
from cuprous.torch.distributed.checkpoint._items import Region, items, region
from cuprous.torch.distributed.checkpoint.api import Ranks
from cuprous.torch.distributed.checkpoint.default_planner import DefaultSavePlanner, given
from cuprous.torch.distributed.checkpoint.filesystem import FileSystemWriter, directory, unsupported
from cuprous.torch.distributed.checkpoint.metadata import DATA, INDEX, Metadata, Part, TensorMetadata
from cuprous.torch.distributed.checkpoint.stateful import plain_state


@dataclass
class _Plan:
    """What this rank writes, and the index of all."""

    file: str
    own: dict[str, Tensor]
    index: Metadata


def _check_same(name: str, entries: list[dict[str, Any]]) -> None:
    first = entries[0]
    for entry in entries:
        if any(entry[key] != first[key] for key in ("dtype", "shape", "plain")):
            raise ValueError(f"{name!r} differs between ranks: {first['dtype']}{first['shape']} and "
                             f"{entry['dtype']}{entry['shape']}")  # fmt: skip


def _plan(state: dict[str, Any], ranks: Ranks, planner: DefaultSavePlanner) -> _Plan:
    """Decides, in the same way on all ranks, which rank writes what. A plain tensor that several ranks have is written
    by that of them that writes least, or by the lowest if the planner says so."""
    regions: dict[str, Region] = {}

    def describe() -> dict[str, Any]:
        tensors, values = {}, {}
        for item in items(state):
            if isinstance(item.value, Tensor):
                own = regions[item.name] = region(item.name, item.value)
                tensors[item.name] = {"dtype": own.local.dtype_name, "shape": own.shape, "offsets": own.offsets,
                                      "sizes": list(own.local.dims), "writes": own.is_writer, "plain": own.is_plain,
                                      "bytes": own.local.numel() * own.local.element_size()}  # fmt: skip
            else:
                values[item.name] = _objects._pack(item.value, [], False)
        return {"token": secrets.token_hex(8), "tensors": tensors, "values": values}

    every = ranks.do("describing the state", describe)
    files = [f"rank{rank}-{every[0]['token']}.safetensors" for rank in range(ranks.size)]
    index, load = Metadata(), [0] * ranks.size
    mine: dict[str, Tensor] = {}
    names = dict.fromkeys(name for each in every for name in each["tensors"])
    for name in names:
        holders = [rank for rank in range(ranks.size) if name in every[rank]["tensors"]]
        entries = [every[rank]["tensors"][name] for rank in holders]
        _check_same(name, entries)
        if entries[0]["plain"]:
            by_load = not planner.dedup_save_to_lowest_rank
            writers = [min(holders, key=lambda rank: (load[rank] if by_load else 0, rank))]
        else:
            writers = [rank for rank, entry in zip(holders, entries, strict=True) if entry["writes"]]
        tensor = index.tensors[name] = TensorMetadata(entries[0]["dtype"], entries[0]["shape"])
        for rank in writers:
            entry = every[rank]["tensors"][name]
            if 0 in entry["sizes"]:
                continue
            load[rank] += entry["bytes"]
            tensor.parts.append(Part(entry["offsets"], entry["sizes"], files[rank], name))
            if rank == ranks.rank:
                mine[name] = regions[name].local.detach()
    for each in every:
        for name, value in each["values"].items():
            index.values.setdefault(name, value)
    return _Plan(files[ranks.rank], _separate(mine), index)


def _separate(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns tensors of which no two share memory, as a file needs."""
    done: dict[str, Tensor] = {}
    for name, t in tensors.items():
        done[name] = t.clone() if any(t.shares_storage(other) for other in done.values()) else t
    return done


def _durably(path: Path, write: Callable[[Path], None], sync: bool) -> None:
    """Writes a file under a temporary name, and renames it when it is on the disk."""
    temporary = path.with_name(path.name + ".tmp")
    write(temporary)
    if sync:
        _sync(temporary)
    os.replace(temporary, path)
    if sync:
        _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(plan: _Plan, writer: FileSystemWriter, ranks: Ranks) -> Metadata:
    folder = writer.path
    path = folder / plan.file

    def write_own() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if not writer.overwrite and (folder / INDEX).exists():
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={writer.overwrite}: {folder}")
        if plan.own:
            _durably(path, lambda where: safetensors.save_file(plan.own, where), writer.sync_files)

    def write_index() -> None:
        if ranks.rank == 0:
            text = plan.index.to_text()
            _durably(
                folder / INDEX, lambda where: _discard(where.write_text(text, encoding="utf-8")), writer.sync_files
            )

    try:
        ranks.do("writing the tensors", write_own)
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        raise
    # From here on the new checkpoint is the one that is loaded; before, the last one is untouched.
    ranks.do("writing the index", write_index)
    if ranks.rank == 0:
        _remove_others(folder, plan.index)
    return plan.index


def _discard(_: int) -> None:
    """Drops a result that nobody needs."""


def _remove_others(folder: Path, index: Metadata) -> None:
    """Removes the files of earlier checkpoints, and of those that were never finished."""
    used = {part.file for tensor in index.tensors.values() for part in tensor.parts}
    for path in folder.iterdir():
        if DATA.fullmatch(path.name.removesuffix(".tmp")) and path.name not in used:
            with contextlib.suppress(OSError):
                path.unlink()


def save(state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_writer: FileSystemWriter | None = None,
         planner: Any = None, process_group: Any = None, no_dist: bool = False,
         use_collectives: bool = True) -> Metadata:  # fmt: skip
    """Saves a state. All ranks call it; each writes its parts of DTensors to a file of its own.

    The files get their names when they are complete, and the index is written last: if a process is killed in between,
    the checkpoint that was there before is whole, under the same `checkpoint_id` too.

    Args:
        state_dict: tensors, DTensors, plain values, and nested dicts and lists of them; objects with `state_dict()`.
        checkpoint_id: the directory, which all ranks reach.
        storage_writer: a `FileSystemWriter`, which has the directory.
        planner: a `DefaultSavePlanner` or None.
        process_group: the ranks; all by default.
        no_dist: saves on this rank alone.
        use_collectives: True.

    Returns:
        The index.

    Raises:
        CheckpointException: on all ranks, if one of them failed. The last checkpoint is untouched.
        ValueError: without a directory.
        NotImplementedError: for another planner or another storage.

    Example:
        >>> dcp.save({"model": model.state_dict()}, checkpoint_id="step100")  # doctest: +SKIP
    """
    unsupported("save", use_collectives=not use_collectives)
    chosen = given("save", planner, DefaultSavePlanner)
    writer = _writer(checkpoint_id, storage_writer)
    ranks = Ranks(process_group, no_dist)
    with no_grad():
        plan = _plan(plain_state(state_dict), ranks, chosen)
        return _write(plan, writer, ranks)


def _writer(checkpoint_id: Any, given: Any) -> FileSystemWriter:
    if given is not None and not isinstance(given, FileSystemWriter):
        raise NotImplementedError(f"storage_writer={given!r} is not supported; use FileSystemWriter")
    path = directory(checkpoint_id, given)
    return FileSystemWriter(path) if given is None else given.at(path)


class AsyncCheckpointerType(enum.Enum):
    """What writes a checkpoint in the background. Only a thread is supported."""

    THREAD = "thread"
    PROCESS = "process"


#: The thread that writes, and its groups: it talks to the other ranks beside the program's own collectives.
_THREAD = ThreadPoolExecutor(1, "cuprous-checkpoint")
_BESIDE: dict[int, Any] = {}


def async_save(state_dict: dict[str, Any], *, checkpoint_id: Any = None,
               storage_writer: FileSystemWriter | None = None, planner: Any = None, process_group: Any = None,
               async_checkpointer_type: Any = AsyncCheckpointerType.THREAD, async_stager: Any = None,
               no_dist: bool = False, use_collectives: bool = True) -> Future[Metadata]:  # fmt: skip
    """Saves a state in the background. When this returns, it is copied, and the program may change it.

    Args:
        state_dict: as for `save`.
        checkpoint_id: the directory.
        storage_writer: a `FileSystemWriter`.
        planner: a `DefaultSavePlanner` or None.
        process_group: the ranks; all by default.
        async_checkpointer_type: `AsyncCheckpointerType.THREAD`: a thread of this process writes.
        async_stager: None.
        no_dist: saves on this rank alone.
        use_collectives: True.

    Returns:
        A future of the index, whose `result()` raises what `save` does.
    """
    unsupported("async_save", async_stager=async_stager, use_collectives=not use_collectives)
    if async_checkpointer_type not in (None, AsyncCheckpointerType.THREAD):
        raise NotImplementedError(
            f"[async_save] async_checkpointer_type={async_checkpointer_type!r} is not supported; a thread writes"
        )
    chosen = given("async_save", planner, DefaultSavePlanner)
    writer = _writer(checkpoint_id, storage_writer)
    ranks = Ranks(process_group, no_dist)
    beside = ranks
    if ranks.group is not None:
        if id(ranks.group) not in _BESIDE or _BESIDE[id(ranks.group)][0] is not ranks.group:
            members = _groups.get_process_group_ranks(ranks.group)
            _BESIDE[id(ranks.group)] = ranks.group, _groups.new_group(members, use_local_synchronization=True)
        beside = Ranks(_BESIDE[id(ranks.group)][1], False)
    with no_grad():
        plan = _plan(plain_state(state_dict), ranks, chosen)
        plan.own = {name: t.clone() if t.device_name == "cpu" else t.cpu() for name, t in plan.own.items()}
        for t in plan.own.values():
            t.data_ptr()  # computes the copy now
    return _THREAD.submit(_write, plan, writer, beside)


def save_state_dict(state_dict: dict[str, Any], storage_writer: FileSystemWriter, process_group: Any = None,
                    coordinator_rank: int = 0, no_dist: bool = False, planner: Any = None) -> Metadata:  # fmt: skip
    """Saves a state: the older name of `save`.

    Args:
        state_dict: as for `save`.
        storage_writer: a `FileSystemWriter`, which has the directory.
        process_group: the ranks; all by default.
        coordinator_rank: 0.
        no_dist: saves on this rank alone.
        planner: a `DefaultSavePlanner` or None.

    Returns:
        The index.

    Raises:
        NotImplementedError: for another coordinator, planner or storage.
    """
    warnings.warn("`save_state_dict` is deprecated, use `save`", FutureWarning, stacklevel=2)
    unsupported("save_state_dict", coordinator_rank=coordinator_rank or None)
    return save(state_dict, storage_writer=storage_writer, planner=planner, process_group=process_group,
                no_dist=no_dist)  # fmt: skip


__all__ = ["AsyncCheckpointerType", "async_save", "save", "save_state_dict"]
