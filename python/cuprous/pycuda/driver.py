"""PyCUDA's `driver`: devices, contexts, memory, streams, events, modules and functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuprous import _core
from cuprous._core import OutOfMemoryError as MemoryError
from cuprous.pycuda._attributes import (
    ABSENT,
    absent,
    ctx_flags,
    device_attribute,
    event_flags,
    func_cache,
    function_attribute,
    host_alloc_flags,
)
from cuprous.pycuda._contexts import Context, Device, get_driver_version, get_version, init
from cuprous.pycuda._errors import CompileError, Error, LaunchError, LogicError, RuntimeError
from cuprous.pycuda._memory import (
    ArgumentHandler,
    DeviceAllocation,
    In,
    InOut,
    Out,
    PointerHolderBase,
    aligned_empty,
    aligned_zeros,
    from_device,
    from_device_like,
    mem_alloc,
    mem_alloc_like,
    mem_alloc_pitch,
    mem_get_info,
    memcpy_dtod,
    memcpy_dtod_async,
    memcpy_dtoh,
    memcpy_dtoh_async,
    memcpy_htod,
    memcpy_htod_async,
    memset_d8,
    memset_d16,
    memset_d32,
    pagelocked_empty,
    pagelocked_empty_like,
    pagelocked_zeros,
    pagelocked_zeros_like,
    register_host_memory,
    to_device,
)
from cuprous.pycuda._modules import Function, Module, module_from_buffer, module_from_file
from cuprous.pycuda._streams import Event, Stream


def start_profiler() -> None:
    """Waits for recorded work, so that a profiler sees only the work that follows.

    See Also
    --------
    pycuda.driver.stop_profiler

    Examples
    --------
    >>> drv.start_profiler()
    >>> drv.stop_profiler()
    """
    _core.synchronize()


def stop_profiler() -> None:
    """Waits for recorded work, so that a profiler sees all of it.

    See Also
    --------
    pycuda.driver.start_profiler

    Examples
    --------
    >>> drv.start_profiler()
    >>> drv.stop_profiler()
    """
    _core.synchronize()


if not TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> Any:
        """Returns placeholders for unsupported names, which name the replacement when called."""
        if name in ABSENT:
            return absent(name)
        raise AttributeError(f"module 'cuprous.pycuda.driver' has no attribute {name!r}")


__all__ = [
    "ArgumentHandler", "CompileError", "Context", "Device", "DeviceAllocation", "Error", "Event", "Function", "In",
    "InOut", "LaunchError", "LogicError", "MemoryError", "Module", "Out", "PointerHolderBase", "RuntimeError",
    "Stream", "aligned_empty", "aligned_zeros", "ctx_flags", "device_attribute", "event_flags", "from_device",
    "from_device_like", "func_cache", "function_attribute", "get_driver_version", "get_version", "host_alloc_flags",
    "init", "mem_alloc", "mem_alloc_like", "mem_alloc_pitch", "mem_get_info", "memcpy_dtod", "memcpy_dtod_async",
    "memcpy_dtoh", "memcpy_dtoh_async", "memcpy_htod", "memcpy_htod_async", "memset_d8", "memset_d16", "memset_d32",
    "module_from_buffer", "module_from_file", "pagelocked_empty", "pagelocked_empty_like", "pagelocked_zeros",
    "pagelocked_zeros_like", "register_host_memory", "start_profiler", "stop_profiler", "to_device",
]  # fmt: skip
