"""Parts of tensors, by the names that libraries import."""

from __future__ import annotations

from collections.abc import Sequence

from cuprous.torch.distributed.device_mesh import DeviceMesh
from cuprous.torch.distributed.tensor._layout import local_part
from cuprous.torch.distributed.tensor.placement_types import Placement


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement], skip_offset: bool = False
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the shape of this rank's part of a tensor, and its offset in the tensor; without the offset if
    `skip_offset`."""
    sizes, offsets = local_part(global_shape, mesh, placements)
    return tuple(sizes), () if skip_offset else tuple(offsets)


def compute_local_shape(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[int, ...]:
    """Returns the shape of this rank's part of a tensor."""
    return tuple(local_part(global_shape, mesh, placements)[0])


__all__ = ["compute_local_shape", "compute_local_shape_and_global_offset"]
