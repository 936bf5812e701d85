"""Mixed precision: `autocast` and `GradScaler`."""

import sys

from cuprous.torch.amp._autocast import (
    autocast,
    custom_bwd,
    custom_fwd,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_available,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
)
from cuprous.torch.amp._scaler import GradScaler

#: PyTorch's modules of these classes.
autocast_mode = grad_scaler = sys.modules[__name__]

__all__ = [
    "GradScaler", "autocast", "custom_bwd", "custom_fwd", "get_autocast_cpu_dtype", "get_autocast_dtype",
    "get_autocast_gpu_dtype", "is_autocast_available", "is_autocast_cpu_enabled",
    "is_autocast_enabled",
]  # fmt: skip
