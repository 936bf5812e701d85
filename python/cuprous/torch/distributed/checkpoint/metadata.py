"""What a checkpoint has: tensors with their parts, and other values, by dotted name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cuprous.torch._memory_format import FORMATS, LAYOUTS
from cuprous.torch._types import DTYPES, Size, dtype


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor.

    Args:
        offsets: where it begins in the whole.
        sizes: its shape.
    """

    offsets: Size
    sizes: Size


@dataclass
class TensorProperties:
    """Properties of a tensor, of which a checkpoint has the dtype.

    Args:
        dtype: the dtype.
        layout: the layout, as with PyTorch.
        requires_grad: whether it requires a gradient.
        memory_format: the memory format, as with PyTorch.
        pin_memory: whether its memory is pinned.
    """

    dtype: dtype = field(default_factory=lambda: DTYPES["float32"])
    layout: Any = LAYOUTS["strided"]
    requires_grad: bool = False
    memory_format: Any = FORMATS["contiguous_format"]
    pin_memory: bool = False

    @staticmethod
    def create_from_tensor(tensor: Any) -> TensorProperties:
        """Returns the properties of a tensor.

        Args:
            tensor: the tensor.
        """
        return TensorProperties(tensor.dtype, requires_grad=tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor of a checkpoint.

    Args:
        properties: its dtype.
        size: the shape of the whole.
        chunks: the parts that are stored.
    """

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """A value that is no tensor."""


@dataclass
class StorageMeta:
    """What a storage says to planners.

    Args:
        checkpoint_id: the name of the checkpoint.
        save_id: identifies a call of `save`.
        load_id: identifies a call of `load`.
        modules: names, as with PyTorch.
    """

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """The contents of a checkpoint.

    Args:
        state_dict_metadata: tensors and other values by name.
        planner_data: what the planner keeps with them.
        storage_data: where the storage has what, by `MetadataIndex`.
        storage_meta: what the storage says to planners.
        version: the version of the format.
    """

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """The name of a value, or of a part of a tensor.

    Args:
        fqn: the dotted name.
        offset: where the part begins in the whole.
        index: the position of the part among those of the tensor, which is a hint and is not compared.
    """

    fqn: str
    offset: Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "offset", None if offset is None else Size(offset))
        object.__setattr__(self, "index", index)


__all__ = ["BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta",
           "TensorProperties", "TensorStorageMetadata"]  # fmt: skip
