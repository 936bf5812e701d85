"""Which part of a tensor a rank has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuprous.torch.distributed.device_mesh import DeviceMesh
from cuprous.torch.distributed.tensor.placement_types import Placement, Replicate, Shard


def chunk(total: int, n: int, rank: int) -> tuple[int, int]:
    """Returns offset and size of a rank's part of `total` rows, as `torch.chunk` divides them."""
    most = -(-total // n)
    start = min(rank * most, total)
    return start, min(most, total - start)


def local_part(shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement],
               place: Sequence[int] | None = None) -> tuple[list[int], list[int]]:  # fmt: skip
    """Returns shape and offsets of the part of a rank, by default this one. Dimensions of the mesh divide a dimension
    of the tensor one after another."""
    sizes, offsets = list(shape), [0] * len(shape)
    for k, (placement, rank) in enumerate(zip(placements, coordinate(mesh) if place is None else place, strict=True)):
        if isinstance(placement, Shard):
            start, size = chunk(sizes[placement.dim], mesh.size(k), rank)
            offsets[placement.dim] += start
            sizes[placement.dim] = size
    return sizes, offsets


def part_sizes(extent: int, mesh: DeviceMesh, placements: Sequence[Placement], dim: int) -> set[int]:
    """Returns the sizes of all ranks' parts along a dimension, which several dimensions of the mesh may divide."""
    sizes = {extent}
    for k, placement in enumerate(placements):
        if placement == Shard(dim):
            n = mesh.size(k)
            sizes = {chunk(size, n, rank)[1] for size in sizes for rank in range(n)}
    return sizes


def coordinate(mesh: DeviceMesh) -> list[int]:
    """Returns this rank's position in a mesh.

    Raises
    ------
    RuntimeError
        If it is not in it.
    """
    place = mesh.get_coordinate()
    if place is None:
        raise RuntimeError(f"rank {mesh.get_rank()} is not in {mesh!r}")
    return list(place)


def checked(placements: Any, mesh: DeviceMesh, ndim: int) -> tuple[Placement, ...]:
    """Returns placements with dimensions that are not negative; None means `Replicate` everywhere.

    Raises
    ------
    TypeError
        For anything but placements.
    ValueError
        Unless there is one for each dimension of the mesh.
    IndexError
        For a dimension that the tensor does not have.
    """
    if placements is None:
        return tuple(Replicate() for _ in range(mesh.ndim))
    given = tuple(placements)
    if len(given) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: {len(given)}, and "
            f"device_mesh.ndim: {mesh.ndim}."
        )
    result: list[Placement] = []
    for placement in given:
        if not isinstance(placement, Placement):
            raise TypeError(f"placements must be Shard, Replicate or Partial, got {placement!r}")
        if isinstance(placement, Shard):
            if not -ndim <= placement.dim < ndim:
                raise IndexError(f"{placement!r} is out of range for a tensor of {ndim} dimensions")
            placement = Shard(placement.dim % ndim)
        result.append(placement)
    return tuple(result)
