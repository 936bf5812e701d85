"""CuPy's `cupy.cuda`: devices, streams, events, the runtime's words and memory pools."""

from __future__ import annotations

from cuprous._core import OutOfMemoryError
from cuprous._device import MemoryPool, PinnedMemoryPool
from cuprous.cuda import memory, runtime
from cuprous.cuda._device import Device, get_device_id, is_available
from cuprous.cuda._stream import Event, ExternalStream, Stream, get_current_stream, get_elapsed_time

__all__ = [
    "Device", "Event", "ExternalStream", "MemoryPool", "OutOfMemoryError", "PinnedMemoryPool", "Stream",
    "get_current_stream", "get_device_id", "get_elapsed_time", "is_available", "memory", "runtime",
]  # fmt: skip
