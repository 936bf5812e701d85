"""The names of `cupy.cuda` (devices, streams, memory pools, the runtime) and of `numba.cuda` (kernels)."""

from __future__ import annotations

from typing import Any

from cuprous._common.device import MemoryPool
from cuprous._common.pointers import MemoryPointer, alloc
from cuprous._core import OutOfMemoryError
from cuprous._exports import Exports as _Exports
from cuprous.cuda import _intrinsics, errors, memory, runtime, types
from cuprous.cuda._arrays import (
    as_cuda_array,
    close,
    current_context,
    default_stream,
    defer_cleanup,
    detect,
    device_array,
    device_array_like,
    event,
    event_elapsed_time,
    external_stream,
    from_cuda_array_interface,
    get_current_device,
    gpus,
    is_cuda_array,
    legacy_default_stream,
    list_devices,
    per_thread_default_stream,
    pinned,
    pinned_array,
    pinned_array_like,
    select_device,
    stream,
    synchronize,
    to_device,
)
from cuprous.cuda._device import Device, get_device_id, is_available
from cuprous.cuda._intrinsics import (
    atomic,
    blockDim,
    blockIdx,
    const,
    fp16,
    gridDim,
    laneid,
    local,
    shared,
    threadIdx,
    warpsize,
)
from cuprous.cuda._jit import jit
from cuprous.cuda._reduce import Reduce, reduce
from cuprous.cuda._stream import Event, ExternalStream, Stream, get_current_stream, get_elapsed_time
from cuprous.cuda.runtime import get_device_properties

#: Names whose modules are imported on first use, because importing them is slow.
_EXPORTS = _Exports(
    __name__,
    {
        "._allocators": "get_allocator malloc_managed set_allocator using_allocator",
        "._compile": "compile compile_all compile_for_current_device compile_ptx compile_ptx_for_current_device",
        "._host_api": (
            "In InOut Out cuda_error is_bfloat16_supported is_float16_supported is_supported_version mapped "
            "profile_start profile_stop profiling require_context set_memory_manager"
        ),
        "._ipc": "IpcArrayHandle IpcHandle open_ipc_array",
        "._link": "Archive CUSource Cubin Fatbin LTOIR LinkableCode Object PTXSource declare_device",
        "._mapped": "managed_array mapped_array mapped_array_like",
        "._vectorize": "guvectorize vectorize",
        "._pinned_pool": "PinnedMemoryPointer PinnedMemoryPool",
        ".pinned_memory": "alloc_pinned_memory set_pinned_memory_allocator",
    },
    modules=("bf16", "cg", "config", "cufft", "libdevice", "nvtx", "pinned_memory", "random"),
)


def __getattr__(name: str) -> Any:
    """Returns intrinsics of kernels, and types: `cuda.syncthreads`, `cuda.float32`."""
    if name in _intrinsics.FUNCTIONS:
        return getattr(_intrinsics, name)
    if name in _intrinsics.VECTORS:
        return _intrinsics.VECTORS[name]
    found = getattr(types, name, None)
    if isinstance(found, types.Type):
        return found
    return _EXPORTS.get(name)


def __dir__() -> list[str]:
    kinds = {name for name, value in vars(types).items() if isinstance(value, types.Type)}
    return sorted({*globals(), *kinds, *_intrinsics.FUNCTIONS, *_intrinsics.VECTORS, *_EXPORTS})


__all__ = [
    "Device", "Event", "ExternalStream", "MemoryPointer", "MemoryPool", "OutOfMemoryError",
    "Reduce", "Stream", "alloc", "as_cuda_array", "atomic", "blockDim", "blockIdx", "close", "const", "current_context",
    "default_stream", "defer_cleanup", "detect", "device_array", "device_array_like", "errors", "event",
    "event_elapsed_time", "external_stream", "fp16", "from_cuda_array_interface", "get_current_device",
    "get_current_stream", "get_device_id", "get_device_properties", "get_elapsed_time", "gpus", "gridDim",
    "is_available", "is_cuda_array", "jit", "laneid", "legacy_default_stream", "list_devices", "local", "memory",
    "per_thread_default_stream", "pinned", "pinned_array", "pinned_array_like", "reduce", "runtime", "select_device",
    "shared", "stream", "synchronize", "threadIdx", "to_device", "types", "warpsize",
]  # fmt: skip
