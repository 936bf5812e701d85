"""Random numbers of DTensors: those of the whole tensor, of which each rank uses its part."""

from __future__ import annotations

import hashlib
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _creation, _random_numbers
from cuprous.torch._random_numbers import Generator
from cuprous.torch.distributed import _collectives
from cuprous.torch.distributed.device_mesh import DeviceMesh
from cuprous.torch.distributed.tensor._dtensor import DTensor
from cuprous.torch.distributed.tensor._layout import local_part

#: By mesh: its generator, and the state of the default generator when it was made.
_GENERATORS: dict[DeviceMesh, tuple[Generator, Any]] = {}


def _generator(mesh: DeviceMesh) -> Generator:
    """Returns the generator of a mesh, which only its DTensors use, so that all ranks draw the same numbers. It starts
    from the seed of the mesh's first rank, again whenever that was set. All ranks of the mesh call it."""
    start = _random_numbers.default_generator._position
    known = _GENERATORS.get(mesh)
    if known is not None and known[1] is start:
        return known[0]
    digest = hashlib.blake2b(f"{_random_numbers.initial_seed()} {mesh!r}".encode(), digest_size=7).digest()
    seed = _creation.tensor([int.from_bytes(digest, "little")], device="cpu")
    for group in mesh.get_all_groups():
        _collectives.broadcast(seed, group=group, group_src=0)
    generator = Generator().manual_seed(int(seed.item()))
    _GENERATORS[mesh] = generator, start
    return generator


def draw_unit(like: DTensor) -> Tensor:
    """Returns this rank's part of uniform random numbers in [0, 1), one for each element of the whole."""
    whole = _random_numbers.draw_unit(like._local, like.dims, _generator(like.device_mesh))
    sizes, offsets = local_part(like.dims, like.device_mesh, like.placements)
    for dim, (size, offset) in enumerate(zip(sizes, offsets, strict=True)):
        whole = whole.narrow(dim, offset, size)
    return whole
