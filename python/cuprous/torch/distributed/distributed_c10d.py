"""The module that contains the functions of `torch.distributed` in PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuprous.torch import distributed
from cuprous.torch.distributed import *  # noqa: F403

default_pg_timeout = distributed.default_pg_timeout
default_pg_nccl_timeout = distributed.default_pg_timeout


def _get_default_group() -> Any:
    """Returns the group of all ranks.

    Raises
    ------
    ValueError
        If there is none.
    """
    if not distributed.is_initialized():
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return distributed.group.WORLD


if TYPE_CHECKING:
    from cuprous.torch.distributed import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        return getattr(distributed, name)


__all__ = [*distributed.__all__, "_get_default_group"]
