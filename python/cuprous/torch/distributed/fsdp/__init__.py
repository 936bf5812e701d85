"""Training with a part of the parameters on each rank: `torch.distributed.fsdp`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuprous.torch import _placeholders
from cuprous.torch.distributed.fsdp._fully_shard import (
    FSDPModule,
    UnshardHandle,
    fully_shard,
    register_fsdp_forward_method,
)
from cuprous.torch.distributed.fsdp._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy

if not TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> Any:
        return _placeholders.get("distributed.fsdp", name)


__all__ = ["CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle", "fully_shard",
           "register_fsdp_forward_method"]  # fmt: skip
