"""Communication hooks of `DistributedDataParallel`."""

from cuprous.torch.distributed.algorithms.ddp_comm_hooks import default_hooks

__all__ = ["default_hooks"]
