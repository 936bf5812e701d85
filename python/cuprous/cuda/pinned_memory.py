"""CuPy's `cupy.cuda.pinned_memory`: page-locked memory of the host, and its allocator."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable
from typing import Any

from cuprous.cuda._pinned_pool import (
    PinnedMemoryPointer,
    PinnedMemoryPool,
    get_default_pinned_memory_pool,
    kind_of_size,
    new_block,
)

_allocator: Callable[[int], Any] = get_default_pinned_memory_pool().malloc


def _unpooled(size: int) -> PinnedMemoryPointer:
    """Returns a block that is freed with its last reference."""
    block = new_block(max(size, 1))
    pointer: PinnedMemoryPointer = kind_of_size(max(size, 1)).from_address(ctypes.addressof(block))
    pointer.mem = block
    return pointer


def set_pinned_memory_allocator(allocator: Callable[[int], Any] | None = None) -> None:
    """Sets what `alloc_pinned_memory` calls. The engine's own staging buffers are not affected.

    Parameters
    ----------
    allocator : callable, optional
        A function of a number of bytes; None stands for the driver's memory without a pool.

    Examples
    --------
    >>> cuda.set_pinned_memory_allocator(cp.get_default_pinned_memory_pool().malloc)
    """
    global _allocator
    _allocator = _unpooled if allocator is None else allocator


def alloc_pinned_memory(size: int) -> Any:
    """Allocates page-locked memory with the current allocator.

    Parameters
    ----------
    size : int
        The number of bytes.

    Returns
    -------
    PinnedMemoryPointer

    Examples
    --------
    >>> cuda.alloc_pinned_memory(16).size() >= 16
    True
    """
    return _allocator(operator.index(size))


__all__ = [
    "PinnedMemoryPointer", "PinnedMemoryPool", "alloc_pinned_memory", "get_default_pinned_memory_pool",
    "set_pinned_memory_allocator",
]  # fmt: skip
