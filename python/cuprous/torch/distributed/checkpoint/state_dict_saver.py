"""Saves a state: each rank what it has, and the contents last."""

from __future__ import annotations

import enum
import inspect
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed import _groups
from cuprous.torch.distributed.checkpoint import _wire
from cuprous.torch.distributed.checkpoint._storage_utils import call, storage_of, value_of
from cuprous.torch.distributed.checkpoint.api import CheckpointException, Ranks
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

    Parameters
    ----------
    state_dict : dict
        Tensors, DTensors, plain values, and nested dicts and lists of them; objects with `state_dict()`.
    checkpoint_id : str or path-like, optional
        The directory, which all ranks reach, or an address for fsspec.
    storage_writer : StorageWriter, optional
        Where the checkpoint goes, in place of `FileSystemWriter`.
    planner : SavePlanner, optional
        What is saved by which rank, in place of `DefaultSavePlanner`.
    process_group : ProcessGroup, optional
        The ranks; all by default.
    no_dist : bool, default False
        Saves on this rank alone.
    use_collectives : bool, default True
        False lets each rank plan and write for itself, with an index of its own: only success and the name of the index
        travel. What several ranks have is written by each, and each loads its own again.

    Returns
    -------
    Metadata
        The contents; without collectives, those that this rank has written.

    Raises
    ------
    CheckpointException
        On all ranks, if one of them failed. The last checkpoint is untouched.
    ValueError
        Without a directory or a storage.

    See Also
    --------
    torch.distributed.checkpoint.async_save, torch.distributed.checkpoint.load,
    torch.distributed.checkpoint.FileSystemWriter

    Examples
    --------
    >>> dcp.save({"model": model.state_dict()}, checkpoint_id="step100")  # doctest: +SKIP
    """
    writer = storage_of(checkpoint_id, storage_writer, StorageWriter, False)
    return _save(plain_state(state_dict), writer, planner, process_group, 0, no_dist, use_collectives)


def _save(state: dict[str, Any], writer: StorageWriter, planner: SavePlanner | None, group: Any, coordinator: int,
          alone: bool, use_collectives: bool = True) -> Metadata:  # fmt: skip
    chosen = DefaultSavePlanner() if planner is None else planner
    modules = _wire.modules_of(writer, chosen)
    ranks = Ranks(group, alone, coordinator, modules)
    together = ranks if use_collectives else Ranks(None, True, 0, modules)
    if isinstance(chosen, DefaultSavePlanner):
        chosen.plans_for_all = use_collectives
    contents: list[Metadata] = []

    def local_plan() -> SavePlan:
        _set_up(chosen, state, writer, ranks.is_coordinator)
        more = {"rank": ranks.rank, "use_collectives": use_collectives}
        call(writer.set_up_storage_writer, ranks.is_coordinator, **more)
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

    def run() -> Metadata:
        plan = together.reduce_scatter("planning what is saved", local_plan, global_plan)
        result: Metadata = together.all_reduce("writing", lambda: write(plan), finish)
        return result

    with no_grad():
        try:
            result = run() if use_collectives else _each_for_itself(ranks, writer, run)
        except BaseException:
            if isinstance(writer, FileSystemWriter):
                writer.undo()
            raise
    return result


def _each_for_itself(ranks: Ranks, writer: StorageWriter, run: Callable[[], Metadata]) -> Metadata:
    """Saves what this rank has by `run`. The ranks only tell each other whether they have succeeded, and where."""
    made: list[Metadata] = []

    def local() -> str | None:
        try:
            made.append(run())
        except CheckpointException as error:
            raise error.failures[0] from None
        return writer.index_of_rank if isinstance(writer, FileSystemWriter) else None

    def join(names: list[Any]) -> None:
        if isinstance(writer, FileSystemWriter):
            writer.join_ranks(names)

    ranks.all_reduce("saving what each rank has", local, join)
    return made[0]


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

    Parameters
    ----------
    staging_completion : Future
        Is done when the state may be changed.
    upload_completion : Future
        Is done when the checkpoint is written.
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

    Parameters
    ----------
    state_dict : dict
        As for `save`.
    checkpoint_id : str or path-like, optional
        The directory, or an address for fsspec.
    storage_writer : StorageWriter, optional
        Where the checkpoint goes, as for `save`. It copies the state if it is an `AsyncStager`.
    planner : SavePlanner, optional
        As for `save`. Its methods are called in the background, with the copy.
    process_group : ProcessGroup, optional
        The ranks; all by default.
    async_checkpointer_type : AsyncCheckpointerType, optional
        `AsyncCheckpointerType.THREAD`: a thread of this process writes.
    async_stager : AsyncStager, optional
        What copies the state; by default to host memory.
    no_dist : bool, default False
        Saves on this rank alone.
    use_collectives : bool, default True
        As for `save`.

    Returns
    -------
    Future or AsyncSaveResponse
        A future of the contents, whose `result()` raises what `save` does; a failure is a warning too. With a stager
        that copies in the background, an `AsyncSaveResponse`.

    See Also
    --------
    torch.distributed.checkpoint.save, torch.distributed.checkpoint.load

    Examples
    --------
    >>> import tempfile
    >>> from cuprous.torch.distributed import checkpoint
    >>> folder = tempfile.mkdtemp()
    >>> x = {"w": torch.ones(2)}
    >>> _ = checkpoint.async_save(x, checkpoint_id=folder).result()
    """
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
        return _save(state, writer, planner, group, 0, group is None, use_collectives)

    written = _THREAD.submit(write)
    written.add_done_callback(_warn)
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


def _warn(written: Future[Metadata]) -> None:
    """Says that a checkpoint was not written, because programs need not ask."""
    error = written.exception()
    if error is not None:
        warnings.warn(f"async_save has not written the checkpoint: {error}", RuntimeWarning, stacklevel=1)


def save_state_dict(state_dict: dict[str, Any], storage_writer: StorageWriter, process_group: Any = None,
                    coordinator_rank: int = 0, no_dist: bool = False,
                    planner: SavePlanner | None = None) -> Metadata:  # fmt: skip
    """Saves a state: the older name of `save`.

    Parameters
    ----------
    state_dict : dict
        As for `save`.
    storage_writer : StorageWriter
        Where the checkpoint goes.
    process_group : ProcessGroup, optional
        The ranks; all by default.
    coordinator_rank : int, default 0
        The rank that plans for all.
    no_dist : bool, default False
        Saves on this rank alone.
    planner : SavePlanner, optional
        What is saved, in place of `DefaultSavePlanner`.

    Returns
    -------
    Metadata
        The contents.

    See Also
    --------
    torch.distributed.checkpoint.save, torch.distributed.checkpoint.load_state_dict
    """
    warnings.warn("`save_state_dict` is deprecated, use `save`", FutureWarning, stacklevel=2)
    storage_writer.reset()
    return _save(state_dict, storage_writer, planner, process_group, coordinator_rank, no_dist)


__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]
