"""The module that contains the functions of `torch.distributed` in PyTorch."""

from __future__ import annotations

from typing import Any

from cuprous.torch import distributed
from cuprous.torch.distributed import *  # noqa: F403
from cuprous.torch.distributed._groups import _get_default_group

default_pg_timeout = distributed.default_pg_timeout
default_pg_nccl_timeout = distributed.default_pg_timeout


def __getattr__(name: str) -> Any:
    return getattr(distributed, name)


__all__ = [*distributed.__all__, "_get_default_group"]
