"""Items of plans for the values of a state."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from cuprous._core import Tensor
from cuprous.torch._types import Size
from cuprous.torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from cuprous.torch.distributed.checkpoint.planner import (
    LoadItemType,
    ReadItem,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)
from cuprous.torch.distributed.tensor._dtensor import DTensor
from cuprous.torch.distributed.tensor._layout import coordinate, local_part
from cuprous.torch.distributed.tensor.placement_types import Partial


def is_here(value: Any) -> bool:
    """Returns False for a tensor of a mesh in which this rank is not."""
    return not isinstance(value, DTensor) or value.device_mesh.get_coordinate() is not None


def local_tensor(value: Tensor) -> Tensor:
    """Returns what this rank has of a tensor, without its graph."""
    return (value._local if isinstance(value, DTensor) else value).detach()


def chunk_of(name: str, value: Tensor) -> ChunkStorageMetadata:
    """Returns which part of a tensor this rank has.

    Raises
    ------
    ValueError
        For a `Partial`.
    """
    if not isinstance(value, DTensor):
        return ChunkStorageMetadata(Size([0] * value.ndim), Size(value.dims))
    if any(isinstance(p, Partial) for p in value.placements):
        raise ValueError(f"{name!r} is a {value._text()}; redistribute it first, because its parts are not the value")
    sizes, offsets = local_part(value.dims, value.device_mesh, value.placements, coordinate(value.device_mesh))
    return ChunkStorageMetadata(Size(offsets), Size(sizes))


def write_items(name: str, value: Any) -> Iterator[WriteItem]:
    """Returns the items to write for a value: one, or none for a part of a tensor without elements."""
    if not isinstance(value, Tensor):
        yield WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO)
        return
    chunk, whole = chunk_of(name, value), Size(value.dims)
    if math.prod(chunk.sizes) or not math.prod(whole):
        kind = WriteItemType.SHARD if isinstance(value, DTensor) else WriteItemType.TENSOR
        data = TensorWriteData(chunk, TensorProperties.create_from_tensor(local_tensor(value)), whole)
        yield WriteItem(MetadataIndex(name, chunk.offsets), kind, tensor_data=data)


def read_items(name: str, saved: Any, value: Any) -> list[ReadItem]:
    """Returns the items to read for a value.

    Raises
    ------
    ValueError
        If the checkpoint has something else of that name, or lacks elements.
    """
    if isinstance(saved, BytesStorageMetadata):
        index, none = MetadataIndex(name), Size([0])
        return [ReadItem(LoadItemType.BYTE_IO, index, none, index, none, none)]
    if not isinstance(value, Tensor):
        raise ValueError(f"{name} is a tensor in the checkpoint, but {type(value).__name__} in the state")
    chunk = chunk_of(name, value)
    items = create_read_items_for_chunk_list(name, saved, [chunk])
    missing = math.prod(chunk.sizes) - sum(math.prod(item.lengths) for item in items)
    if missing:
        raise ValueError(f"the checkpoint lacks {missing} elements of {name}")
    return items


def create_read_items_for_chunk_list(fqn: str, checkpoint_md: TensorStorageMetadata,
                                     local_chunks: list[ChunkStorageMetadata]) -> list[ReadItem]:  # fmt: skip
    """Returns the items to read for parts of a tensor: for each of them its intersections with the parts that are
    stored.

    Parameters
    ----------
    fqn : str
        The name of the tensor.
    checkpoint_md : TensorStorageMetadata
        What the checkpoint has of it.
    local_chunks : list of ChunkStorageMetadata
        The parts that this rank needs.

    Returns
    -------
    list of ReadItem
        A list of items.
    """
    found = []
    for at, own in enumerate(local_chunks):
        for k, stored in enumerate(checkpoint_md.chunks):
            starts, ends = _intersection(own, stored)
            if all(start < end for start, end in zip(starts, ends, strict=True)):
                found.append(
                    ReadItem(
                        LoadItemType.TENSOR,
                        MetadataIndex(fqn, own.offsets, at),
                        _difference(starts, own.offsets),
                        MetadataIndex(fqn, stored.offsets, k),
                        _difference(starts, stored.offsets),
                        _difference(ends, starts),
                    )
                )
    return found


def _intersection(a: ChunkStorageMetadata, b: ChunkStorageMetadata) -> tuple[list[int], list[int]]:
    starts = [max(pair) for pair in zip(a.offsets, b.offsets, strict=True)]
    ends = [min(i + m, j + n) for i, m, j, n in zip(a.offsets, a.sizes, b.offsets, b.sizes, strict=True)]
    return starts, ends


def _difference(a: Sequence[int], b: Sequence[int]) -> Size:
    return Size(m - n for m, n in zip(a, b, strict=True))


def overlap(a: ChunkStorageMetadata, b: ChunkStorageMetadata) -> bool:
    """Returns True if two parts have an element in common."""
    return all(start < end for start, end in zip(*_intersection(a, b), strict=True))


def narrow(tensor: Tensor, offsets: Sequence[int], lengths: Sequence[int]) -> Tensor:
    """Returns a part of a tensor, as a view."""
    for dim, (start, length) in enumerate(zip(offsets, lengths, strict=True)):
        if (start, length) != (0, tensor.dims[dim]):
            tensor = tensor.narrow(dim, start, length)
    return tensor


__all__ = ["create_read_items_for_chunk_list"]
