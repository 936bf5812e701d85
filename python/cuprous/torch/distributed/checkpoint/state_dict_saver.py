"""Saves a state: each rank what it has, and the contents last."""

from __future__ import annotations

import enum
import inspect
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed import _groups
from cuprous.torch.distributed._options import unsupported
from cuprous.torch.distributed.checkpoint import _wire
from cuprous.torch.distributed.checkpoint._storage_utils import call, storage_of, value_of
from cuprous.torch.distributed.checkpoint.api import Ranks
from cuprous.torch.distributed.checkpoint.default_planner import DefaultSavePlanner
from cuprous.torch.distributed.checkpoint.filesystem import FileSystemWriter
from cuprous.torch.distributed.checkpoint.metadata import Metadata
from cuprous.torch.distributed.checkpoint.planner import SavePlan, SavePlanner
from cuprous.torch.distributed.checkpoint.staging import AsyncStager, BlockingAsyncStager
from cuprous.torch.distributed.checkpoint.stateful import plain_state
from cuprous.torch.distributed.checkpoint.storage import StorageWriter, WriteResult


def save(state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_writer: StorageWriter | None = None,
         planner: SavePlanner | None = None, process_group: Any = None, no_dist: bool = False,
         use_collectives: bool = True) -> Metadata:  # fmt: skip
    """Saves a state. All ranks call it; each writes its parts of DTensors to a file of its own.

    The files get their names when they are complete, and the index is written last: if a process is killed in between,
    the checkpoint that was there before is whole, under the same `checkpoint_id` too.

    Args:
        state_dict: tensors, DTensors, plain values, and nested dicts and lists of them; objects with `state_dict()`.
        checkpoint_id: the directory, which all ranks reach, or an address for fsspec.
        storage_writer: where the checkpoint goes, in place of `FileSystemWriter`.
        planner: what is saved by which rank, in place of `DefaultSavePlanner`.
        process_group: the ranks; all by default.
        no_dist: saves on this rank alone.
        use_collectives: True.

    Returns:
        The contents.

    Raises:
        CheckpointException: on all ranks, if one of them failed. The last checkpoint is untouched.
        ValueError: without a directory or a storage.

    Example:
        >>> dcp.save({"model": model.state_dict()}, checkpoint_id="step100")  # doctest: +SKIP
    """
    unsupported("save", use_collectives=not use_collectives)
    writer = storage_of(checkpoint_id, storage_writer, StorageWriter, False)
    return _save(plain_state(state_dict), writer, planner, process_group, 0, no_dist)


def _save(state: dict[str, Any], writer: StorageWriter, planner: SavePlanner | None, group: Any, coordinator: int,
          alone: bool) -> Metadata:  # fmt: skip
    chosen = DefaultSavePlanner() if planner is None else planner
    ranks = Ranks(group, alone, coordinator, _wire.modules_of(writer, chosen))
    contents: list[Metadata] = []

    def local_plan() -> SavePlan:
        _set_up(chosen, state, writer, ranks.is_coordinator)
        call(writer.set_up_storage_writer, ranks.is_coordinator, rank=ranks.rank, use_collectives=True)
        return writer.prepare_local_plan(chosen.create_local_plan())

    def global_plan(plans: list[SavePlan]) -> list[SavePlan]:
        plans, made = chosen.create_global_plan(plans)
        contents[:] = [made]
        return writer.prepare_global_plan(plans)

    def write(plan: SavePlan) -> list[WriteResult]:
        results: list[WriteResult] = value_of(writer.write_data(chosen.finish_plan(plan), chosen))
        return results

    def finish(results: list[list[WriteResult]]) -> Metadata:
        writer.finish(contents[0], results)
        return contents[0]

    with no_grad():
        try:
            plan = ranks.reduce_scatter("planning what is saved", local_plan, global_plan)
            result: Metadata = ranks.all_reduce("writing", lambda: write(plan), finish)
        except BaseException:
            if isinstance(writer, FileSystemWriter):
                writer.undo()
            raise
    return result


def _set_up(planner: SavePlanner, state: dict[str, Any], writer: StorageWriter, is_coordinator: bool) -> None:
    if "storage_meta" in inspect.signature(planner.set_up_planner).parameters:
        planner.set_up_planner(state, storage_meta=writer.storage_meta(), is_coordinator=is_coordinator)
    else:  # as planners were before PyTorch 2.3
        planner.set_up_planner(state, is_coordinator)  # type: ignore[arg-type]


class AsyncCheckpointerType(enum.Enum):
    """What writes a checkpoint in the background. Only a thread is supported."""

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """What `async_save` returns if the stager copies in the background.

    Args:
        staging_completion: is done when the state may be changed.
        upload_completion: is done when the checkpoint is written.
    """

    staging_completion: Future[None]
    upload_completion: Future[Metadata]


#: The thread that writes, and its groups: it talks to the other ranks beside the program's own collectives.
_THREAD = ThreadPoolExecutor(1, "cuprous-checkpoint")
_BESIDE: dict[int, Any] = {}


def _beside(group: Any) -> Any:
    """Returns a group of the same ranks for the thread."""
    if group is None:
        return None
    if id(group) not in _BESIDE or _BESIDE[id(group)][0] is not group:
        members = _groups.get_process_group_ranks(group)
        _BESIDE[id(group)] = group, _groups.new_group(members, use_local_synchronization=True)
    return _BESIDE[id(group)][1]


def async_save(state_dict: dict[str, Any], *, checkpoint_id: Any = None,
               storage_writer: StorageWriter | None = None, planner: SavePlanner | None = None,
               process_group: Any = None, async_checkpointer_type: Any = AsyncCheckpointerType.THREAD,
               async_stager: AsyncStager | None = None, no_dist: bool = False,
               use_collectives: bool = True) -> Future[Metadata] | AsyncSaveResponse:  # fmt: skip
    """Saves a state in the background. When this returns, it is copied, and the program may change it.

    Args:
        state_dict: as for `save`.
        checkpoint_id: the directory, or an address for fsspec.
        storage_writer: where the checkpoint goes, as for `save`. It copies the state if it is an `AsyncStager`.
        planner: as for `save`. Its methods are called in the background, with the copy.
        process_group: the ranks; all by default.
        async_checkpointer_type: `AsyncCheckpointerType.THREAD`: a thread of this process writes.
        async_stager: what copies the state; by default to host memory.
        no_dist: saves on this rank alone.
        use_collectives: True.

    Returns:
        A future of the contents, whose `result()` raises what `save` does; with a stager that copies in the background,
        an `AsyncSaveResponse`.
    """
    unsupported("async_save", use_collectives=not use_collectives)
    if async_checkpointer_type not in (None, AsyncCheckpointerType.THREAD):
        raise NotImplementedError(
            f"[async_save] async_checkpointer_type={async_checkpointer_type!r} is not supported; a thread writes"
        )
    writer = storage_of(checkpoint_id, storage_writer, StorageWriter, False)
    stager = async_stager
    if stager is None:
        stager = writer if isinstance(writer, AsyncStager) else BlockingAsyncStager()
    ranks = Ranks(process_group, no_dist)
    group = _beside(ranks.group)
    staged: list[Any] = []
    ranks.do("copying the state", lambda: staged.append(stager.stage(plain_state(state_dict))))
    copy = staged[0]

    def write() -> Metadata:
        state = copy.result() if isinstance(copy, Future) else copy
        return _save(state, writer, planner, group, 0, group is None)

    written = _THREAD.submit(write)
    if not isinstance(copy, Future):
        if stager.should_synchronize_after_execute:
            stager.synchronize_staging()
        return written
    staging: Future[None] = Future()

    def is_copied(done: Future[Any]) -> None:
        error = done.exception()
        if error is None:
            staging.set_result(None)
        else:
            staging.set_exception(error)

    copy.add_done_callback(is_copied)
    return AsyncSaveResponse(staging, written)


def save_state_dict(state_dict: dict[str, Any], storage_writer: StorageWriter, process_group: Any = None,
                    coordinator_rank: int = 0, no_dist: bool = False,
                    planner: SavePlanner | None = None) -> Metadata:  # fmt: skip
    """Saves a state: the older name of `save`.

    Args:
        state_dict: as for `save`.
        storage_writer: where the checkpoint goes.
        process_group: the ranks; all by default.
        coordinator_rank: the rank that plans for all.
        no_dist: saves on this rank alone.
        planner: what is saved, in place of `DefaultSavePlanner`.

    Returns:
        The contents.
    """
    warnings.warn("`save_state_dict` is deprecated, use `save`", FutureWarning, stacklevel=2)
    storage_writer.reset()
    return _save(state_dict, storage_writer, planner, process_group, coordinator_rank, no_dist)


__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]
