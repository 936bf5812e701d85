"""`torch.accelerator`: the GPU, whatever its maker calls it."""

from __future__ import annotations

from typing import Any

from cuprous.torch import _types, cuda
from cuprous.torch.cuda import (
    current_stream,
    device_count,
    empty_cache,
    is_available,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_peak_memory_stats,
    synchronize,
)


def current_accelerator(check_available: bool = False) -> _types.device | None:
    """`device("cuda")` where there is a GPU that can be used, otherwise None."""
    return _types.device("cuda") if is_available() else None


def current_device_index() -> int:
    """The number of the GPU that "cuda" names."""
    return cuda.current_device()


current_device_idx = current_device_index


def set_device_index(device: Any) -> None:
    """Makes "cuda" name that GPU."""
    cuda.set_device(device)


set_device_idx = set_device_index


def set_stream(stream: cuda.Stream) -> None:
    """NotImplementedError: use `with torch.cuda.stream(stream)`."""
    raise NotImplementedError("[set_stream] is not supported; use `with torch.cuda.stream(stream):`")


__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
    "empty_cache", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream",
    "synchronize",
]  # fmt: skip
