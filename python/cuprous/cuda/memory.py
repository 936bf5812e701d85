"""CuPy's `cupy.cuda.memory`."""

from __future__ import annotations

from cuprous._core import OutOfMemoryError
from cuprous._device import MemoryPool, PinnedMemoryPool
from cuprous._pointers import MemoryPointer, alloc

__all__ = ["MemoryPointer", "MemoryPool", "OutOfMemoryError", "PinnedMemoryPool", "alloc"]
