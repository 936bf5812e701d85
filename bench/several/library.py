"""The library that BENCH_LEARNING names, with its distributed part; and this rank's device."""

from __future__ import annotations

import os

from bench.learning.library import F, nn, torch

if torch.__name__ == "torch":
    import torch.distributed as dist
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
else:
    import cuprous.torch.distributed as dist
    from cuprous.torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

DDP = nn.parallel.DistributedDataParallel

#: The kind of device, and this rank's own.
KIND = os.environ.get("BENCH_DEVICE", "cpu")
RANK, N = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
DEVICE = f"cuda:{RANK}" if KIND == "cuda" else "cpu"

__all__ = [
    "DDP",
    "DEVICE",
    "KIND",
    "RANK",
    "F",
    "MixedPrecisionPolicy",
    "N",
    "dist",
    "fully_shard",
    "nn",
    "torch",
    "wait",
]


def wait() -> None:
    """Waits until the device has done what this process gave it."""
    if KIND == "cuda":
        torch.cuda.synchronize()
