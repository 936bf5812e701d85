"""Modules whose layers several processes compute together: `torch.distributed.tensor.parallel`."""

from __future__ import annotations

from cuprous.torch.distributed.tensor.parallel.api import parallelize_module
from cuprous.torch.distributed.tensor.parallel.style import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleOutput", "RowwiseParallel",
           "SequenceParallel", "parallelize_module"]  # fmt: skip
