"""Functions of `torch.distributed.utils` that libraries use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cuprous._core import Tensor
from cuprous.torch.distributed._collectives import broadcast
from cuprous.torch.nn import Module


def _sync_module_states(
    module: Module,
    process_group: Any,
    broadcast_bucket_size: int,
    src: int,
    params_and_buffers_to_ignore: Iterable[str] = (),
    broadcast_buffers: bool = True,
) -> None:
    """Sends a module's parameters and buffers from one rank to all."""
    ignored = set(params_and_buffers_to_ignore)
    named: list[tuple[str, Tensor]] = list(module.named_parameters())
    named += list(module.named_buffers()) if broadcast_buffers else []
    for name, tensor in named:
        if name not in ignored:
            broadcast(tensor.detach(), src, group=process_group)


__all__ = ["_sync_module_states"]
