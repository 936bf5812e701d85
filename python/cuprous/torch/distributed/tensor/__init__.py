"""Tensors that several processes hold together: `torch.distributed.tensor`."""

from __future__ import annotations

from cuprous.torch.distributed.tensor._api import (
    distribute_module,
    distribute_tensor,
    empty,
    full,
    ones,
    rand,
    randn,
    zeros,
)
from cuprous.torch.distributed.tensor._dispatch import install
from cuprous.torch.distributed.tensor._dtensor import DTensor
from cuprous.torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

install()

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty",
           "full", "ones", "rand", "randn", "zeros"]  # fmt: skip
