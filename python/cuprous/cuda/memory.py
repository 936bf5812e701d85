"""CuPy's `cupy.cuda.memory`."""

from __future__ import annotations

from cuprous._common.device import MemoryPool
from cuprous._common.pointers import MemoryPointer, alloc
from cuprous._core import OutOfMemoryError

__all__ = ["MemoryPointer", "MemoryPool", "OutOfMemoryError", "alloc"]
