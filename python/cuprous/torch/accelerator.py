"""`torch.accelerator`: the GPU, independent of its vendor."""

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
    """Returns the device type of GPUs.

    Parameters
    ----------
    check_available : bool, default False
        For PyTorch's signature; it has no effect.

    Returns
    -------
    device or None
        `device("cuda")` if a GPU is available, otherwise None.

    See Also
    --------
    torch.accelerator.is_available, torch.accelerator.device_count, torch.accelerator.current_device_idx,
    torch.accelerator.set_device_idx

    Examples
    --------
    >>> torch.accelerator.current_accelerator() is None or torch.cuda.is_available()
    True
    """
    return _types.device("cuda") if is_available() else None


def current_device_index() -> int:
    """Returns the index of the GPU that "cuda" refers to.

    Returns
    -------
    int

    Raises
    ------
    RuntimeError
        Without a GPU.

    See Also
    --------
    torch.accelerator.set_device_idx, torch.accelerator.current_accelerator, torch.accelerator.is_available,
    torch.accelerator.device_count

    Examples
    --------
    >>> if torch.cuda.is_available():
    ...     index = torch.accelerator.current_device_index()
    """
    return cuda.current_device()


current_device_idx = current_device_index


def set_device_index(device: Any) -> None:
    """Sets the GPU that "cuda" refers to.

    Parameters
    ----------
    device : device or str
        The GPU, an index, a name or a `torch.device`.

    See Also
    --------
    torch.accelerator.current_accelerator, torch.accelerator.is_available, torch.accelerator.device_count,
    torch.accelerator.current_device_idx

    Examples
    --------
    >>> if torch.cuda.is_available():
    ...     torch.accelerator.set_device_index(0)
    """
    cuda.set_device(device)


set_device_idx = set_device_index


def set_stream(stream: cuda.Stream) -> None:
    """Raises an error, because streams are set by `with torch.cuda.stream(stream)`.

    Parameters
    ----------
    stream : Stream
        The stream.

    Raises
    ------
    NotImplementedError
        Always.

    See Also
    --------
    torch.accelerator.synchronize, torch.accelerator.current_stream

    Examples
    --------
    >>> try:
    ...     torch.accelerator.set_stream(torch.cuda.Stream())
    ... except NotImplementedError:
    ...     print("not supported")
    not supported
    """
    raise NotImplementedError("[set_stream] is not supported; use `with torch.cuda.stream(stream):`")


__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
    "empty_cache", "is_available", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_stats", "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream",
    "synchronize",
]  # fmt: skip
