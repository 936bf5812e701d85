"""Storages: where checkpoints are written to and read from."""

from __future__ import annotations

import abc
import os
from dataclasses import dataclass
from typing import Any

from cuprous.torch.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from cuprous.torch.distributed.checkpoint.planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner
from cuprous.torch.futures import Future


@dataclass(frozen=True)
class WriteResult:
    """What has been written.

    Parameters
    ----------
    index : MetadataIndex
        Its name.
    size_in_bytes : int
        Its size.
    storage_data : object
        Where it is, in the storage's own terms.
    """

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(abc.ABC):
    """Writes checkpoints somewhere. `save` calls its methods in the order in which they stand here; those that are
    called on one rank are called on the rank that also calls the planner's `create_global_plan`.

    See Also
    --------
    torch.distributed.checkpoint.FileSystemWriter, torch.distributed.checkpoint.StorageReader
    """

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begins another checkpoint, on all ranks.

        Parameters
        ----------
        checkpoint_id : str or path-like, optional
            Its name, whose meaning is the storage's own.
        """
        ...

    @abc.abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Begins, on all ranks.

        Parameters
        ----------
        is_coordinator : bool
            Whether this is the rank that plans for all.
        *args : any
            Nothing.
        **kwargs : any
            `rank` and `use_collectives`, for methods that accept keywords.
        """
        ...

    @abc.abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Returns a rank's plan, on all ranks.

        Parameters
        ----------
        plan : SavePlan
            What the planner has returned.
        """
        ...

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Returns the plans of the ranks, on one rank.

        Parameters
        ----------
        plans : list of SavePlan
            What the planner has returned.
        """
        ...

    @abc.abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Writes what `planner.resolve_data` returns for each item of the plan, on all ranks.

        Parameters
        ----------
        plan : SavePlan
            This rank's plan.
        planner : SavePlanner
            The planner.

        Returns
        -------
        Future
            A future of what has been written.
        """
        ...

    @abc.abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Writes the contents, which completes the checkpoint, on one rank.

        Parameters
        ----------
        metadata : Metadata
            The contents.
        results : list of lists of WriteResult
            What the ranks have written.
        """
        ...

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Returns True if the storage can have a checkpoint of that name.

        Parameters
        ----------
        checkpoint_id : str or path-like
            The name.
        """
        ...

    def storage_meta(self) -> StorageMeta | None:
        """Returns what planners get in `set_up_planner`."""
        return None


class StorageReader(abc.ABC):
    """Reads checkpoints from somewhere. `load` calls its methods in the order in which they stand here.

    See Also
    --------
    torch.distributed.checkpoint.FileSystemReader, torch.distributed.checkpoint.StorageWriter
    """

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begins another checkpoint, on all ranks.

        Parameters
        ----------
        checkpoint_id : str or path-like, optional
            Its name, whose meaning is the storage's own.
        """
        ...

    @abc.abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """Returns the contents of the checkpoint, on all ranks.

        Parameters
        ----------
        *args : any
            Nothing.
        **kwargs : any
            Nothing.
        """
        ...

    @abc.abstractmethod
    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Begins, on all ranks.

        Parameters
        ----------
        metadata : Metadata
            The contents.
        is_coordinator : bool
            Whether this is the rank that plans for all.
        *args : any
            Nothing.
        **kwargs : any
            `rank` and `use_collectives`, for methods that accept keywords.
        """
        ...

    @abc.abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Returns a rank's plan, on all ranks.

        Parameters
        ----------
        plan : LoadPlan
            What the planner has returned.
        """
        ...

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Returns the plans of the ranks, on one rank.

        Parameters
        ----------
        plans : list of LoadPlan
            What the planner has returned.
        """
        ...

    @abc.abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Copies each item of the plan to what `planner.resolve_tensor` returns, or passes its bytes to
        `planner.load_bytes`, on all ranks.

        Parameters
        ----------
        plan : LoadPlan
            This rank's plan.
        planner : LoadPlanner
            The planner.

        Returns
        -------
        Future
            A future that is done when all is read.
        """
        ...

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Returns True if the storage can have a checkpoint of that name.

        Parameters
        ----------
        checkpoint_id : str or path-like
            The name.
        """
        ...


__all__ = ["StorageReader", "StorageWriter", "WriteResult"]
