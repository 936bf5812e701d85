"""Defaults of process groups."""

from cuprous.torch.distributed._options import DEFAULT_TIMEOUT

default_pg_timeout = default_pg_nccl_timeout = DEFAULT_TIMEOUT

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]
