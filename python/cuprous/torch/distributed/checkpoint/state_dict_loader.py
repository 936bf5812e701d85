"""Loads a state into the tensors of a program, whatever ranks have saved it."""

from __future__ import annotations

import warnings
from typing import Any

from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed.checkpoint import _wire
from cuprous.torch.distributed.checkpoint._storage_utils import call, storage_of, value_of
from cuprous.torch.distributed.checkpoint.api import Ranks
from cuprous.torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from cuprous.torch.distributed.checkpoint.planner import LoadPlan, LoadPlanner
from cuprous.torch.distributed.checkpoint.stateful import Stateful, plain_state
from cuprous.torch.distributed.checkpoint.storage import StorageReader


def load(state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_reader: StorageReader | None = None,
         planner: LoadPlanner | None = None, process_group: Any = None, no_dist: bool = False) -> None:  # fmt: skip
    """Loads a state in place: tensors are written, other values replaced. All ranks call it.

    The checkpoint may have been saved by any number of ranks, and its tensors sharded in another way or not at all.
    Each rank reads what it needs. What the checkpoint has beyond the state is left out.

    Parameters
    ----------
    state_dict : dict
        As for `save`; it says what is loaded, and how it is distributed.
    checkpoint_id : str or path-like, optional
        The directory, which all ranks reach, or an address for fsspec.
    storage_reader : StorageReader, optional
        Where the checkpoint is, in place of `FileSystemReader`.
    planner : LoadPlanner, optional
        What is loaded and where it goes, in place of `DefaultLoadPlanner`.
    process_group : ProcessGroup, optional
        The ranks; all by default.
    no_dist : bool, default False
        Loads on this rank alone.

    Raises
    ------
    CheckpointException
        On all ranks, if the checkpoint lacks something on one of them, is damaged, or has another shape.
    ValueError
        Without a directory or a storage.

    See Also
    --------
    torch.distributed.checkpoint.save, torch.distributed.checkpoint.FileSystemReader

    Examples
    --------
    >>> state = {"model": model.state_dict()}  # doctest: +SKIP
    >>> dcp.load(state, checkpoint_id="step100")  # doctest: +SKIP
    """
    reader = storage_of(checkpoint_id, storage_reader, StorageReader, True)
    plain = plain_state(state_dict)
    _load(plain, reader, planner, process_group, 0, no_dist)
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(plain[key])
        else:
            state_dict[key] = plain[key]


def _load(state: dict[str, Any], reader: StorageReader, planner: LoadPlanner | None, group: Any, coordinator: int,
          alone: bool) -> None:  # fmt: skip
    chosen = DefaultLoadPlanner() if planner is None else planner
    ranks = Ranks(group, alone, coordinator, _wire.modules_of(reader, chosen))

    def local_plan() -> LoadPlan:
        contents = reader.read_metadata()
        chosen.set_up_planner(state, contents, ranks.is_coordinator)
        call(reader.set_up_storage_reader, contents, ranks.is_coordinator, rank=ranks.rank, use_collectives=True)
        return reader.prepare_local_plan(chosen.create_local_plan())

    def global_plan(plans: list[LoadPlan]) -> list[LoadPlan]:
        return reader.prepare_global_plan(chosen.create_global_plan(plans))

    with no_grad():
        plan = ranks.reduce_scatter("planning what is loaded", local_plan, global_plan)
        ranks.do("reading", lambda: value_of(reader.read_data(chosen.finish_plan(plan), chosen)))


def load_state_dict(state_dict: dict[str, Any], storage_reader: StorageReader, process_group: Any = None,
                    coordinator_rank: int = 0, no_dist: bool = False,
                    planner: LoadPlanner | None = None) -> None:  # fmt: skip
    """Loads a state in place: the older name of `load`.

    Parameters
    ----------
    state_dict : dict
        As for `load`.
    storage_reader : StorageReader
        Where the checkpoint is.
    process_group : ProcessGroup, optional
        The ranks; all by default.
    coordinator_rank : int, default 0
        The rank that plans for all.
    no_dist : bool, default False
        Loads on this rank alone.
    planner : LoadPlanner, optional
        What is loaded, in place of `DefaultLoadPlanner`.

    See Also
    --------
    torch.distributed.checkpoint.load, torch.distributed.checkpoint.save_state_dict
    """
    warnings.warn("`load_state_dict` is deprecated, use `load`", FutureWarning, stacklevel=2)
    storage_reader.reset()
    _load(state_dict, storage_reader, planner, process_group, coordinator_rank, no_dist)


__all__ = ["load", "load_state_dict"]
