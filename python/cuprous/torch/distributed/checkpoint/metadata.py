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

    Parameters
    ----------
    offsets : Size
        Where it begins in the whole.
    sizes : Size
        Its shape.

    See Also
    --------
    torch.distributed.checkpoint.TensorStorageMetadata, torch.distributed.checkpoint.Metadata
    """

    offsets: Size
    sizes: Size


@dataclass
class TensorProperties:
    """Properties of a tensor, of which a checkpoint has the dtype.

    Parameters
    ----------
    dtype : dtype, optional
        The dtype.
    layout : layout, optional
        The layout, as with PyTorch.
    requires_grad : bool, default False
        Whether it requires a gradient.
    memory_format : memory_format, optional
        The memory format, as with PyTorch.
    pin_memory : bool, default False
        Whether its memory is pinned.
    """

    dtype: dtype = field(default_factory=lambda: DTYPES["float32"])
    layout: Any = LAYOUTS["strided"]
    requires_grad: bool = False
    memory_format: Any = FORMATS["contiguous_format"]
    pin_memory: bool = False

    @staticmethod
    def create_from_tensor(tensor: Any) -> TensorProperties:
        """Returns the properties of a tensor.

        Parameters
        ----------
        tensor : Tensor
            The tensor.
        """
        return TensorProperties(tensor.dtype, requires_grad=tensor.requires_grad)


@dataclass
class TensorStorageMetadata:
    """A tensor of a checkpoint.

    Parameters
    ----------
    properties : TensorProperties
        Its dtype.
    size : Size
        The shape of the whole.
    chunks : list of ChunkStorageMetadata
        The parts that are stored.

    See Also
    --------
    torch.distributed.checkpoint.ChunkStorageMetadata, torch.distributed.checkpoint.Metadata

    Examples
    --------
    >>> import tempfile
    >>> from cuprous.torch.distributed import checkpoint
    >>> folder = tempfile.mkdtemp()
    >>> x = {"w": torch.ones(2)}
    >>> _ = checkpoint.save(x, checkpoint_id=folder)
    >>> checkpoint.FileSystemReader(folder).read_metadata().state_dict_metadata["w"].size
    torch.Size([2])
    """

    properties: TensorProperties
    size: Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """A value that is no tensor.

    See Also
    --------
    torch.distributed.checkpoint.TensorStorageMetadata, torch.distributed.checkpoint.Metadata
    """


@dataclass
class StorageMeta:
    """What a storage says to planners.

    Parameters
    ----------
    checkpoint_id : str or path-like, optional
        The name of the checkpoint.
    save_id : str, optional
        Identifies a call of `save`.
    load_id : str, optional
        Identifies a call of `load`.
    modules : list of str, optional
        Names, as with PyTorch.
    """

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """The contents of a checkpoint.

    Parameters
    ----------
    state_dict_metadata : dict of str to TensorStorageMetadata or BytesStorageMetadata
        Tensors and other values by name.
    planner_data : object, optional
        What the planner keeps with them.
    storage_data : object, optional
        Where the storage has what, by `MetadataIndex`.
    storage_meta : StorageMeta, optional
        What the storage says to planners.
    version : str, optional
        The version of the format.

    See Also
    --------
    torch.distributed.checkpoint.TensorStorageMetadata, torch.distributed.checkpoint.BytesStorageMetadata

    Examples
    --------
    >>> import tempfile
    >>> from cuprous.torch.distributed import checkpoint
    >>> folder = tempfile.mkdtemp()
    >>> x = {"w": torch.ones(2)}
    >>> _ = checkpoint.save(x, checkpoint_id=folder)
    >>> sorted(checkpoint.FileSystemReader(folder).read_metadata().state_dict_metadata)
    ['w']
    """

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """The name of a value, or of a part of a tensor.

    Parameters
    ----------
    fqn : str
        The dotted name.
    offset : sequence of ints, optional
        Where the part begins in the whole.
    index : int, optional
        The position of the part among those of the tensor, which is a hint and is not compared.
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
