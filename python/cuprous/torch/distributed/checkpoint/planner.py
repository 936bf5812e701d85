"""Planners, which say what of a state is saved or loaded and by which rank, and the plans that they make."""

from __future__ import annotations

import abc
import enum
import io
import math
from dataclasses import dataclass
from typing import Any

from cuprous._core import Tensor
from cuprous.torch._types import Size
from cuprous.torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
)


class WriteItemType(enum.Enum):
    """What is written: a whole tensor, a part of one, or a value as bytes."""

    TENSOR = 1
    SHARD = 2
    BYTE_IO = 3


class LoadItemType(enum.Enum):
    """What is read: a part of a tensor, or a value as bytes."""

    TENSOR = 1
    BYTE_IO = 2


@dataclass(frozen=True)
class BytesIOWriteData:
    """How many bytes a value has.

    Parameters
    ----------
    nbytes : int
        The number.
    """

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """Which part of which tensor is written.

    Parameters
    ----------
    chunk : ChunkStorageMetadata
        The part.
    properties : TensorProperties
        The dtype.
    size : Size
        The shape of the whole.
    """

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Size


@dataclass(frozen=True)
class WriteItem:
    """Something that a rank writes.

    Parameters
    ----------
    index : MetadataIndex
        Its name.
    type : WriteItemType
        What it is.
    bytes_io_data : BytesIOWriteData, optional
        The size of a value, if it is known.
    tensor_data : TensorWriteData, optional
        The part of a tensor.

    See Also
    --------
    torch.distributed.checkpoint.SavePlan, torch.distributed.checkpoint.ReadItem
    """

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """Returns the bytes of the part, or None for a value that is no tensor."""
        data = self.tensor_data
        return None if data is None else math.prod(data.chunk.sizes) * data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """Something that a rank reads.

    Parameters
    ----------
    type : LoadItemType
        What it is.
    dest_index : MetadataIndex
        Its name in the state.
    dest_offsets : Size
        Where it begins in this rank's part.
    storage_index : MetadataIndex
        Its name in the checkpoint.
    storage_offsets : Size
        Where it begins in the part that is stored.
    lengths : Size
        Its shape.

    See Also
    --------
    torch.distributed.checkpoint.LoadPlan, torch.distributed.checkpoint.WriteItem
    """

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Size
    storage_index: MetadataIndex
    storage_offsets: Size
    lengths: Size


@dataclass(frozen=True)
class SavePlan:
    """What a rank writes.

    Parameters
    ----------
    items : list of WriteItem
        The parts and values.
    storage_data : object, optional
        What the storage adds.
    planner_data : object, optional
        What the planner adds.
    usable : bool, default True
        As with PyTorch, where False stands for the plan of the last time.

    See Also
    --------
    torch.distributed.checkpoint.SavePlanner, torch.distributed.checkpoint.WriteItem
    """

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a rank reads.

    Parameters
    ----------
    items : list of ReadItem
        The parts and values.
    storage_data : object, optional
        What the storage adds.
    planner_data : object, optional
        What the planner adds.

    See Also
    --------
    torch.distributed.checkpoint.LoadPlanner, torch.distributed.checkpoint.ReadItem
    """

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Decides what is saved, by which rank, and as what. `save` calls its methods in the order in which they stand
    here.

    Plans travel between the ranks as text. What a planner adds to them consists of plain values, of this package's
    classes, and of dataclasses of the module that defines the planner or the storage. A subclass of
    `DefaultSavePlanner` needs only the methods that differ.

    See Also
    --------
    torch.distributed.checkpoint.DefaultSavePlanner, torch.distributed.checkpoint.SavePlan

    Examples
    --------
    >>> class Rounded(dcp.DefaultSavePlanner):  # doctest: +SKIP
    ...     def transform_object(self, write_item, object):
    ...         object = super().transform_object(write_item, object)
    ...         return object.half() if isinstance(object, torch.Tensor) else object
    >>> dcp.save(state, checkpoint_id="step100", planner=Rounded())  # doctest: +SKIP
    """

    @abc.abstractmethod
    def set_up_planner(self, state_dict: dict[str, Any], storage_meta: StorageMeta | None = None,
                       is_coordinator: bool = False) -> None:  # fmt: skip
        """Begins, on all ranks.

        Parameters
        ----------
        state_dict : dict
            The state.
        storage_meta : StorageMeta, optional
            What the storage says.
        is_coordinator : bool, default False
            Whether this rank calls `create_global_plan`.
        """
        ...

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """Returns what this rank has, on all ranks."""
        ...

    @abc.abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Returns what each rank writes, and the contents of the checkpoint, on one rank.

        Parameters
        ----------
        all_plans : list of SavePlan
            The plans of the ranks, in their order.
        """
        ...

    @abc.abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Returns this rank's plan, which the storage gets, on all ranks.

        Parameters
        ----------
        new_plan : SavePlan
            This rank's part of the global plan.
        """
        ...

    @abc.abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """Returns what is written for an item: a tensor on any device, or bytes. The storage may call it several times.

        Parameters
        ----------
        write_item : WriteItem
            The item.
        """
        ...


class LoadPlanner:
    """Decides what is loaded, and where it goes. `load` calls its methods in the order in which they stand here.

    A subclass of `DefaultLoadPlanner` needs only the methods that differ.

    See Also
    --------
    torch.distributed.checkpoint.DefaultLoadPlanner, torch.distributed.checkpoint.LoadPlan

    Examples
    --------
    >>> class Renamed(dcp.DefaultLoadPlanner):  # doctest: +SKIP
    ...     def set_up_planner(self, state_dict, metadata=None, is_coordinator=False):
    ...         state_dict = {f"model.{name}": value for name, value in state_dict.items()}
    ...         super().set_up_planner(state_dict, metadata, is_coordinator)
    >>> dcp.load(state, checkpoint_id="step100", planner=Renamed())  # doctest: +SKIP
    """

    @abc.abstractmethod
    def set_up_planner(self, state_dict: dict[str, Any], metadata: Metadata | None = None,
                       is_coordinator: bool = False) -> None:  # fmt: skip
        """Begins, on all ranks.

        Parameters
        ----------
        state_dict : dict
            The state.
        metadata : Metadata, optional
            The contents of the checkpoint.
        is_coordinator : bool, default False
            Whether this rank calls `create_global_plan`.
        """
        ...

    @abc.abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """Returns what this rank needs, on all ranks."""
        ...

    @abc.abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """Returns what each rank reads, on one rank.

        Parameters
        ----------
        global_plan : list of LoadPlan
            The plans of the ranks, in their order.
        """
        ...

    @abc.abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """Returns this rank's plan, which the storage gets, on all ranks.

        Parameters
        ----------
        central_plan : LoadPlan
            This rank's part of the global plan.
        """
        ...

    @abc.abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Takes a value that is no tensor.

        Parameters
        ----------
        read_item : ReadItem
            The item.
        value : BytesIO
            Its bytes, as `SavePlanner.resolve_data` has returned them.
        """
        ...

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """Returns where bytes are written. As with PyTorch, no storage of this package calls it.

        Parameters
        ----------
        read_item : ReadItem
            The item.
        """
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abc.abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """Returns the tensor into which the storage copies a part.

        Parameters
        ----------
        read_item : ReadItem
            The item.
        """
        ...

    @abc.abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Takes note that a part has been copied.

        Parameters
        ----------
        read_item : ReadItem
            The item.
        tensor : Tensor
            What `resolve_tensor` has returned.
        """
        ...


__all__ = ["BytesIOWriteData", "LoadItemType", "LoadPlan", "LoadPlanner", "ReadItem", "SavePlan", "SavePlanner",
           "TensorWriteData", "WriteItem", "WriteItemType"]  # fmt: skip
