"""Collectives with gradients."""

from cuprous.torch.distributed.nn import functional
from cuprous.torch.distributed.nn.functional import all_gather, all_reduce

__all__ = ["all_gather", "all_reduce", "functional"]
