"""CuPy's `cupy.cuda.memory`."""

from __future__ import annotations

from cuprous._core import OutOfMemoryError
from cuprous._device import MemoryPool, PinnedMemoryPool

__all__ = ["MemoryPool", "OutOfMemoryError", "PinnedMemoryPool"]
