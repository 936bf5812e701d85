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
    """Copies a NumPy array, or anything array-like, to the default device. An array of records becomes a
    `DeviceRecordArray`.

    Parameters
    ----------
    obj : array_like
        The array.
    stream : Stream, default 0
        The stream. Work runs in the order of the program on any of them.
    copy : bool, default True
        Whether an array of the host is copied in any case; otherwise one may share its memory on the CPU.
    to : array_like, optional
        An array to write to.

    Returns
    -------
    ndarray
        An array on the default device, or `to`.

    See Also
    --------
    cuda.pinned_array, cuda.as_cuda_array, cuda.device_array, cuda.device_array_like

    Examples
    --------
    >>> cuda.to_device(np.arange(3))
    array([0, 1, 2])
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
    """Returns an array on the default device whose elements are not set to anything in particular. With a dtype of
    records it is a `DeviceRecordArray`.

    Parameters
    ----------
    shape : int or tuple of ints
        The extents.
    dtype : dtype, optional
        The dtype.
    strides : tuple of ints, optional
        For Numba's signature; only None.
    order : str, default "C"
        The memory order, "C" or "F".
    stream : Stream, default 0
        The stream. Work runs in the order of the program on any of them.

    Returns
    -------
    ndarray

    Raises
    ------
    NotImplementedError
        For `strides`.

    See Also
    --------
    cuda.device_array_like, cuda.to_device, cuda.pinned_array, cuda.as_cuda_array

    Examples
    --------
    >>> cuda.device_array((2, 3), np.float32).shape
    (2, 3)
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
    """Returns an array on the default device of the shape, dtype and order of another, whose elements are not set to
    anything in particular.

    Parameters
    ----------
    ary : array_like
        The other array.
    stream : Stream, default 0
        The stream. Work runs in the order of the program on any of them.

    Returns
    -------
    ndarray

    See Also
    --------
    cuda.to_device, cuda.pinned_array, cuda.as_cuda_array, cuda.device_array

    Examples
    --------
    >>> cuda.device_array_like(np.ones((2, 3))).shape
    (2, 3)
    """
    return device_array(ary.shape, ary.dtype, order=order_of(ary), stream=stream)


def order_of(ary: Any) -> str:
    """Returns "F" if the first axis has the smallest strides, otherwise "C"."""
    return "C" if len(ary.shape) < 2 or ary.strides[0] >= ary.strides[-1] else "F"


def pinned_array(shape: Any, dtype: Any = float, strides: Any = None, order: str = "C") -> Any:
    """Returns an ordinary NumPy array. Copies of any host memory go through the engine's own pinned buffers.

    Parameters
    ----------
    shape : int or tuple of ints
        The extents.
    dtype : dtype, optional
        The dtype.
    strides : tuple of ints, optional
        For Numba's signature; only None.
    order : str, default "C"
        The memory order, "C" or "F".

    Returns
    -------
    numpy.ndarray
        A NumPy array.

    Raises
    ------
    NotImplementedError
        For `strides`.

    See Also
    --------
    cuda.as_cuda_array, cuda.device_array, cuda.device_array_like, cuda.to_device, cuda.pinned_array_like

    Examples
    --------
    >>> cuda.pinned_array(3).shape
    (3,)
    """
    import numpy as np

    if strides is not None:
        raise NotImplementedError("[pinned_array] strides= is not supported; use order=")
    return np.empty(shape, dtype, order)  # type: ignore[call-overload]


def pinned_array_like(ary: Any) -> Any:
    """Returns a NumPy array of the shape, dtype and order of another, as `pinned_array` does.

    Parameters
    ----------
    ary : array_like
        The other array.

    Returns
    -------
    numpy.ndarray
        A NumPy array.

    See Also
    --------
    cuda.pinned, cuda.pinned_array

    Examples
    --------
    >>> cuda.pinned_array_like(np.ones((2, 3))).shape
    (2, 3)
    """
    return pinned_array(ary.shape, ary.dtype, order=order_of(ary))


@contextlib.contextmanager
def pinned(*arylist: Any) -> Iterator[None]:
    """Returns a context manager that does nothing. Copies go through the engine's own pinned buffers.

    Parameters
    ----------
    *arylist : numpy.ndarray
        NumPy arrays.

    Returns
    -------
    context manager

    See Also
    --------
    cuda.pinned_array, cuda.pinned_array_like

    Examples
    --------
    >>> with cuda.pinned(np.ones(3)):
    ...     pass
    """
    yield


@contextlib.contextmanager
def defer_cleanup() -> Iterator[None]:
    """Returns a context manager that does nothing. Freeing memory never waits.

    Returns
    -------
    context manager

    See Also
    --------
    cuda.current_context

    Examples
    --------
    >>> with cuda.defer_cleanup():
    ...     x = cuda.to_device(np.arange(3))
    """
    yield


def is_cuda_array(obj: Any) -> bool:
    """Returns true if an object has `__cuda_array_interface__`.

    Parameters
    ----------
    obj : object
        An object.

    Returns
    -------
    bool

    See Also
    --------
    cuda.from_cuda_array_interface, cuda.as_cuda_array

    Examples
    --------
    >>> cuda.is_cuda_array(np.ones(3))
    False
    """
    if isinstance(obj, ndarray):  # the attribute itself would wait for pending work
        return obj.device_name != "cpu"
    return hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj: Any, sync: bool = True) -> Any:
    """Returns an array on another library's memory, bound to the stream that its interface names.

    Parameters
    ----------
    obj : object
        An object with `__cuda_array_interface__`, or an array.
    sync : bool, default True
        Whether to wait for that stream.

    Returns
    -------
    ndarray
        An array on the same memory.

    Raises
    ------
    TypeError
        If the object does not have the interface.

    See Also
    --------
    cuda.device_array, cuda.device_array_like, cuda.to_device, cuda.pinned_array, cuda.is_cuda_array

    Examples
    --------
    >>> cuda.as_cuda_array(cp.arange(3))
    array([0, 1, 2])
    """
    if isinstance(obj, ndarray):
        return obj
    interface = getattr(obj, "__cuda_array_interface__", None)
    if interface is None:
        raise TypeError("*obj* doesn't implement the cuda array interface.")
    return from_cuda_array_interface(interface, obj, sync)


def from_cuda_array_interface(desc: dict[str, Any], owner: Any = None, sync: bool = True) -> Any:
    """Returns an array on the memory that an interface describes, as `as_cuda_array` does.

    Parameters
    ----------
    desc : dict
        The interface, the dict of `__cuda_array_interface__`.
    owner : object, optional
        An object that is kept alive with the array.
    sync : bool, default True
        Whether to wait for the interface's stream.

    Returns
    -------
    ndarray
        An array on the same memory.

    See Also
    --------
    cuda.as_cuda_array, cuda.is_cuda_array

    Examples
    --------
    >>> x = cp.arange(3)
    >>> if cuda.is_available():
    ...     x = cuda.from_cuda_array_interface(x.__cuda_array_interface__)
    >>> x
    array([0, 1, 2])
    """
    if desc["typestr"][1:2] in ("M", "m"):
        from cuprous.cuda import _dates  # imports NumPy

        return _dates.of_interface(owner, desc)
    handle = desc.get("stream")
    made = from_cuda_interface(owner, desc if sync else {**desc, "stream": None})
    return as_numba(made, 0 if handle is None else ExternalStream(handle))


# --- devices, streams, events


def synchronize() -> None:
    """Submits the recorded operations and waits for them.

    See Also
    --------
    cuda.stream, cuda.default_stream, cuda.external_stream

    Examples
    --------
    >>> cuda.synchronize()
    """
    _core.synchronize()


def stream() -> Stream:
    """Returns a new stream.

    Returns
    -------
    Stream

    See Also
    --------
    cuda.default_stream, cuda.external_stream, cuda.synchronize

    Examples
    --------
    >>> with cuda.stream().auto_synchronize():
    ...     x = cuda.to_device(np.arange(3))
    """
    return Stream()


def default_stream() -> Stream:
    """Returns the default stream.

    Returns
    -------
    Stream

    See Also
    --------
    cuda.external_stream, cuda.synchronize, cuda.stream

    Examples
    --------
    >>> cuda.default_stream().ptr >= 0
    True
    """
    return Stream.null


legacy_default_stream = per_thread_default_stream = default_stream


def external_stream(ptr: int) -> ExternalStream:
    """Returns another library's stream.

    Parameters
    ----------
    ptr : int
        Its handle.

    Returns
    -------
    ExternalStream

    See Also
    --------
    cuda.synchronize, cuda.stream, cuda.default_stream

    Examples
    --------
    >>> cuda.external_stream(0)
    <ExternalStream 0>
    """
    return ExternalStream(ptr)


def event(timing: bool = True) -> Event:
    """Returns a new event.

    Parameters
    ----------
    timing : bool, default True
        Whether it measures time.

    Returns
    -------
    Event

    See Also
    --------
    cuda.event_elapsed_time, cuda.get_elapsed_time

    Examples
    --------
    >>> start = cuda.event()
    >>> start.record()
    """
    return Event(disable_timing=not timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Returns the time between two events.

    Parameters
    ----------
    evtstart : Event
        The first event, which was recorded.
    evtend : Event
        The second event, which was recorded.

    Returns
    -------
    float
        A float, in milliseconds.

    See Also
    --------
    cuda.get_elapsed_time, cuda.event

    Examples
    --------
    >>> start, end = cuda.event(), cuda.event()
    >>> start.record()
    >>> x = cp.ones(3) + 1
    >>> end.record()
    >>> end.synchronize()
    >>> cuda.event_elapsed_time(start, end) >= 0
    True
    """
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
    """Returns the usable GPUs.

    Returns
    -------
    sequence of Gpus
        A sequence of `Gpu`.

    See Also
    --------
    cuda.current_context, cuda.is_available, cuda.detect

    Examples
    --------
    >>> len(cuda.list_devices()) == cuda.runtime.getDeviceCount()
    True
    """
    return gpus


def get_current_device() -> Gpu:
    """Returns the current GPU.

    Returns
    -------
    Gpu

    See Also
    --------
    cuda.get_device_id, cuda.select_device, cuda.get_device_properties

    Examples
    --------
    >>> cuda.get_current_device().id
    0
    """
    return gpus.current


def select_device(device_id: int) -> Gpu:
    """Makes a GPU the device of new arrays.

    Parameters
    ----------
    device_id : int
        The GPU's number.

    Returns
    -------
    Gpu

    Raises
    ------
    CUDARuntimeError
        If there is no such GPU.

    See Also
    --------
    cuda.get_device_properties, cuda.get_current_device, cuda.get_device_id

    Examples
    --------
    >>> if cuda.is_available():
    ...     gpu = cuda.select_device(0)
    """
    device = Gpu(device_id)
    device.use()
    return device


def close() -> None:
    """Frees cached programs and memory. The primary context stays, since other libraries share it.

    See Also
    --------
    cuda.Device, cuda.current_context

    Examples
    --------
    >>> cuda.close()
    """
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

        Raises
        ------
        RuntimeError
            Without a GPU.
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
    """Returns the primary context of a GPU.

    Parameters
    ----------
    devnum : int, optional
        The GPU's number, by default the current one.

    Returns
    -------
    Context
        A context, with `get_memory_info()` and `reset()`.

    See Also
    --------
    cuda.is_available, cuda.detect, cuda.list_devices

    Examples
    --------
    >>> cuda.current_context().id
    0
    """
    return Context(gpus.current if devnum is None else Gpu(devnum))


def detect() -> bool:
    """Prints the usable GPUs, or why no GPU can be used.

    Returns
    -------
    bool
        True if a GPU can be used.

    See Also
    --------
    cuda.list_devices, cuda.current_context, cuda.is_available

    Examples
    --------
    >>> found = cuda.detect()
    Found ...
    """
    count = _core.device_count()
    print(f"Found {count} CUDA devices")
    for device in gpus:
        print(f"id {device.id}  {device.name}  compute capability {'.'.join(map(str, device.compute_capability))}")
    if not count:
        print(_core.unusable_gpu_reason() or "there is no usable GPU")
    return count > 0
