"""Random numbers of DTensors: those of the whole tensor, of which each rank uses its part."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _creation, _random_numbers
from cuprous.torch._random_numbers import Generator
from cuprous.torch.distributed import _collectives
from cuprous.torch.distributed.device_mesh import DeviceMesh
from cuprous.torch.distributed.tensor._dtensor import DTensor
from cuprous.torch.distributed.tensor._layout import local_part
from cuprous.torch.distributed.tensor._operands import refuse
from cuprous.torch.distributed.tensor.placement_types import Partial

#: Functions of `torch.nn.init` that write random numbers by more than the methods below, and those that write others.
INITIALIZERS = {"trunc_normal_": True, "orthogonal_": True, "sparse_": True, "eye_": False, "dirac_": False}
#: Methods that fill a tensor with random numbers.
FILLS = ("uniform_", "normal_", "bernoulli_", "exponential_", "geometric_", "log_normal_", "cauchy_", "random_")

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
    return _part_of(like, _random_numbers.draw_unit(like._local, like.dims, _generator(like.device_mesh)))


def _part_of(like: DTensor, whole: Tensor) -> Tensor:
    """Returns this rank's part of a tensor that all ranks have, distributed as `like`."""
    sizes, offsets = local_part(like.dims, like.device_mesh, like.placements)
    for dim, (size, offset) in enumerate(zip(sizes, offsets, strict=True)):
        whole = whole.narrow(dim, offset, size)
    return whole


def filled(function: Callable[..., Any], is_random: bool) -> Callable[..., DTensor]:
    """Returns a function that writes to a DTensor what `function` writes to a plain tensor of its whole shape. Random
    numbers are those of the mesh, unless the caller gives a generator, which all ranks must have seeded alike."""

    @functools.wraps(function)
    def fill(self: DTensor, *args: Any, **kwargs: Any) -> DTensor:
        if any(isinstance(p, Partial) for p in self.placements):
            refuse(function.__name__, [self], "the parts of a Partial are not a value")
        local = self._local
        whole = _creation.empty(self.dims, dtype=local.dtype, device=local.device)
        if is_random and kwargs.get("generator") is None:
            kwargs["generator"] = _generator(self.device_mesh)
        function(whole, *args, **kwargs)
        local.copy_(_part_of(self, whole))
        return self

    return fill
