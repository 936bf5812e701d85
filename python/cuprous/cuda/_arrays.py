"""Numba's API for device arrays, devices, streams and events."""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Iterator
from typing import Any

from cuprous import _core
from cuprous._array.interop import as_numba
from cuprous._common.arguments import ndarray
from cuprous._common.convert import convert, from_cuda_interface
from cuprous._common.pointers import MemoryPointer
from cuprous._functions.creation import empty
from cuprous.cuda._device import Gpu, get_device_id
from cuprous.cuda._stream import Event, ExternalStream, Stream, get_elapsed_time


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
    """Copies a NumPy array (or anything array-like) to the default device, or into `to` if it is passed. An array of
    records becomes a `DeviceRecordArray`.
    """
    if to is not None:
        to.copy_to_device(obj, stream)
        return to
    dtype = getattr(obj, "dtype", None)
    if getattr(dtype, "names", None) and not isinstance(obj, ndarray):
        from cuprous.cuda import _records  # imports NumPy

        return _records.copied(obj)
    if getattr(dtype, "kind", "") in ("M", "m"):
        from cuprous.cuda import _dates  # imports NumPy

        return obj if isinstance(obj, _dates.DeviceDateArray) else _dates.copied(obj, stream)
    made = convert(obj, copy=True if copy and not isinstance(obj, ndarray) else None)
    return made if made is obj else as_numba(made, stream)


def device_array(shape: Any, dtype: Any = float, strides: Any = None, order: str = "C", stream: Any = 0) -> Any:
    """Returns an uninitialized array on the default device; for records, a `DeviceRecordArray`.

    Raises:
        NotImplementedError: for `strides`.
    """
    if strides is not None:
        raise NotImplementedError("[device_array] strides= is not supported; use order=")
    if getattr(dtype, "names", None) or isinstance(dtype, list):
        from cuprous.cuda import _records  # imports NumPy

        return _records.empty(shape, dtype)
    if getattr(dtype, "kind", "") in ("M", "m"):
        from cuprous.cuda import _dates  # imports NumPy

        return _dates.empty(shape, dtype, order, stream)
    extents = tuple(map(operator.index, shape)) if hasattr(shape, "__len__") else shape
    return as_numba(empty(extents, dtype, order), stream)


def device_array_like(ary: Any, stream: Any = 0) -> Any:
    """An array on the default device of the shape, dtype and order of another, with arbitrary contents."""
    return device_array(ary.shape, ary.dtype, order=order_of(ary), stream=stream)


def order_of(ary: Any) -> str:
    """Returns "F" if the first axis has the smallest strides, otherwise "C"."""
    return "C" if len(ary.shape) < 2 or ary.strides[0] >= ary.strides[-1] else "F"


def pinned_array(shape: Any, dtype: Any = float, strides: Any = None, order: str = "C") -> Any:
    """Returns an ordinary NumPy array: copies of any host memory go through the engine's own pinned buffers.

    Raises:
        NotImplementedError: for `strides`.
    """
    import numpy as np

    if strides is not None:
        raise NotImplementedError("[pinned_array] strides= is not supported; use order=")
    return np.empty(shape, dtype, order)  # type: ignore[call-overload]


def pinned_array_like(ary: Any) -> Any:
    """A NumPy array of the shape, dtype and order of another: see `pinned_array`."""
    return pinned_array(ary.shape, ary.dtype, order=order_of(ary))


@contextlib.contextmanager
def pinned(*arylist: Any) -> Iterator[None]:
    """Does nothing: copies go through the engine's own pinned buffers."""
    yield


@contextlib.contextmanager
def defer_cleanup() -> Iterator[None]:
    """Does nothing: freeing memory never waits."""
    yield


def is_cuda_array(obj: Any) -> bool:
    """Returns true if an object has `__cuda_array_interface__`."""
    if isinstance(obj, ndarray):  # the attribute itself would wait for pending work
        return obj.device_name != "cpu"
    return hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj: Any, sync: bool = True) -> Any:
    """Returns an array on another library's memory, bound to the stream that its interface names.

    Args:
        obj: an object with `__cuda_array_interface__`.
        sync: if true, waits for that stream.

    Raises:
        TypeError: if the object does not have the interface.
    """
    if isinstance(obj, ndarray):
        return obj
    interface = getattr(obj, "__cuda_array_interface__", None)
    if interface is None:
        raise TypeError("*obj* doesn't implement the cuda array interface.")
    return from_cuda_array_interface(interface, obj, sync)


def from_cuda_array_interface(desc: dict[str, Any], owner: Any = None, sync: bool = True) -> Any:
    """An array on the memory that an interface describes: see `as_cuda_array`."""
    if desc["typestr"][1:2] in ("M", "m"):
        from cuprous.cuda import _dates  # imports NumPy

        return _dates.of_interface(owner, desc)
    handle = desc.get("stream")
    made = from_cuda_interface(owner, desc if sync else {**desc, "stream": None})
    return as_numba(made, 0 if handle is None else ExternalStream(handle))


# --- devices, streams, events


def synchronize() -> None:
    """Submits what is recorded and waits for it."""
    _core.synchronize()


def stream() -> Stream:
    """A new stream."""
    return Stream()


def default_stream() -> Stream:
    """The default stream."""
    return Stream.null


legacy_default_stream = per_thread_default_stream = default_stream


def external_stream(ptr: int) -> ExternalStream:
    """Another library's stream, by its handle."""
    return ExternalStream(ptr)


def event(timing: bool = True) -> Event:
    """A new event."""
    return Event(disable_timing=not timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds between two events."""
    return get_elapsed_time(evtstart, evtend)


class _Devices:
    """The usable GPUs: a list of them, and the current one."""

    @property
    def lst(self) -> list[Gpu]:
        """All of them."""
        return [Gpu(k) for k in range(_core.device_count())]

    @property
    def current(self) -> Gpu:
        """The current one."""
        return Gpu(get_device_id())

    def __getitem__(self, index: int) -> Gpu:
        return self.lst[index]

    def __len__(self) -> int:
        return _core.device_count()

    def __iter__(self) -> Iterator[Gpu]:
        return iter(self.lst)

    def __repr__(self) -> str:
        return repr(self.lst)


gpus = _Devices()


def list_devices() -> _Devices:
    """The usable GPUs."""
    return gpus


def get_current_device() -> Gpu:
    """The current GPU."""
    return gpus.current


def select_device(device_id: int) -> Gpu:
    """Makes a GPU the device of new arrays."""
    device = Gpu(device_id)
    device.use()
    return device


def close() -> None:
    """Frees cached programs and memory; the primary context stays, since other libraries share it."""
    _core.synchronize()
    _core.trim_memory(_core.get_device())


class MemoryInfo(tuple[int, int]):
    """Free and total bytes."""

    __slots__ = ()

    @property
    def free(self) -> int:
        """Free bytes."""
        return self[0]

    @property
    def total(self) -> int:
        """All bytes."""
        return self[1]


class Context:
    """The primary context of a GPU."""

    def __init__(self, device: Gpu) -> None:
        self.device = device

    def get_memory_info(self) -> MemoryInfo:
        """Free and total bytes of the GPU's memory."""
        return MemoryInfo(self.device.mem_info)

    @property
    def id(self) -> int:
        """The GPU's number."""
        return self.device.id

    def push(self) -> None:
        """Makes its GPU the device of new arrays, until `pop`."""
        self.device.__enter__()

    def pop(self) -> None:
        """Restores the device of new arrays from before `push`."""
        self.device.__exit__()

    def __enter__(self) -> Context:
        self.push()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.pop()

    def get_ipc_handle(self, memory: Any) -> Any:
        """Returns a handle with which another process opens the memory of an array.

        Raises:
            RuntimeError: without a GPU.
        """
        from cuprous.cuda._ipc import handle_of  # imports NumPy

        return handle_of(memory._array if isinstance(memory, MemoryPointer) else memory)._ipc_handle

    create_stream = staticmethod(stream)
    create_event = staticmethod(event)
    synchronize = staticmethod(synchronize)
    defer_cleanup = staticmethod(defer_cleanup)

    def reset(self) -> None:
        """Frees cached programs and memory, and unloads modules that have callbacks (`setup_callback`)."""
        if "cuprous.cuda._link" in sys.modules:
            sys.modules["cuprous.cuda._link"].tear_down()
        close()


def current_context(devnum: int | None = None) -> Context:
    """The primary context of a GPU, the current one if no number is given."""
    return Context(gpus.current if devnum is None else Gpu(devnum))


def detect() -> bool:
    """Prints the usable GPUs, or why no GPU can be used. Returns true if a GPU can be used."""
    count = _core.device_count()
    print(f"Found {count} CUDA devices")
    for device in gpus:
        print(f"id {device.id}  {device.name}  compute capability {'.'.join(map(str, device.compute_capability))}")
    if not count:
        print(_core.unusable_gpu_reason() or "there is no usable GPU")
    return count > 0
