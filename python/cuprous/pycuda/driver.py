"""PyCUDA's `driver`: devices, contexts, memory, streams, events, modules and functions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cuprous import _core
from cuprous import cuda as _cuda
from cuprous._core import OutOfMemoryError as MemoryError
from cuprous.cuda import _nvrtc
from cuprous.cuda._raw_kernels import RawModule as _RawModule
from cuprous.pycuda._attributes import (
    ABSENT,
    NO_TEXTURES,
    absent,
    ctx_flags,
    device_attribute,
    event_flags,
    func_cache,
    function_attribute,
    host_alloc_flags,
)
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


class Error(Exception):
    """The base class of the driver's errors."""


class LogicError(Error):
    """The program made an invalid request."""


class RuntimeError(Error):
    """The device reported an error."""


class LaunchError(Error):
    """A launch failed."""


class CompileError(Error):
    """A source did not compile."""

    def __init__(self, msg: str, command_line: Any = (), stdout: str | None = None, stderr: str | None = None) -> None:
        super().__init__(msg)
        self.msg, self.command_line, self.stdout, self.stderr = msg, command_line, stdout, stderr


def init(flags: int = 0) -> None:
    """Does nothing: the device starts with its first work. As in CUDA, `flags` must be 0.

    Examples
    --------
    >>> drv.init()
    """
    if flags:
        raise LogicError(f"cuInit failed: invalid argument: flags={flags}, must be 0")


def get_version() -> tuple[int, int, int]:
    """Returns the CUDA version of the compiler."""
    major, minor = _nvrtc.version()
    return major, minor, 0


def get_driver_version() -> int:
    """Returns the driver's version, such as 13000 for 13.0; 0 without a driver.

    Examples
    --------
    >>> drv.get_driver_version() >= 0
    True
    """
    return int(_core.device_properties(0).get("driverVersion", 0)) if _core.device_count() else 0


class Device:
    """A GPU.

    Examples
    --------
    >>> drv.Device.count() >= 0
    True
    """

    def __init__(self, number: int) -> None:
        count = _core.device_count()
        if not 0 <= int(number) < count:
            reason = _core.unusable_gpu_reason()
            raise LogicError(f"cuDeviceGet failed: invalid device ordinal {number}, usable GPUs: {count}"
                             + (f"; {reason}" if reason else ""))  # fmt: skip
        self._device = _cuda.Device(int(number))

    @staticmethod
    def count() -> int:
        """Returns the number of GPUs.

        Examples
        --------
        >>> drv.Device.count() >= 0
        True
        """
        return _core.device_count()

    def name(self) -> str:
        """Returns the product name.

        Examples
        --------
        >>> # needs a GPU
        >>> device = drv.Device(0)
        >>> name = device.name()
        """
        return self._device.name

    def compute_capability(self) -> tuple[int, int]:
        """Returns the major and minor compute capability.

        Examples
        --------
        >>> # needs a GPU
        >>> drv.Device(0).compute_capability() >= (7, 5)
        True
        """
        both = int(self._device.compute_capability)
        return both // 10, both % 10

    def total_memory(self) -> int:
        """Returns the bytes of the GPU's memory.

        Examples
        --------
        >>> # needs a GPU
        >>> drv.Device(0).total_memory() > 0
        True
        """
        return self._device.mem_info[1]

    def get_attributes(self) -> dict[device_attribute, int]:
        """Returns all attributes.

        Examples
        --------
        >>> # needs a GPU
        >>> drv.device_attribute.WARP_SIZE in drv.Device(0).get_attributes()
        True
        """
        properties = self._device.attributes
        return {attribute: attribute.of(properties) for attribute in device_attribute}

    def get_attribute(self, attr: device_attribute) -> int:
        """Returns an attribute: `device.get_attribute(driver.device_attribute.WARP_SIZE)`, or `device.warp_size`.

        Examples
        --------
        >>> # needs a GPU
        >>> drv.Device(0).get_attribute(drv.device_attribute.MAX_THREADS_PER_BLOCK)
        1024
        """
        return attr.of(self._device.attributes)

    def __getattr__(self, name: str) -> int:
        found = device_attribute.__members__.get(name.upper())
        if found is None or name.startswith("_"):
            raise AttributeError(f"'Device' object has no attribute {name!r}")
        return self.get_attribute(found)

    def pci_bus_id(self) -> str:
        """Returns the PCI address.

        Examples
        --------
        >>> # needs a GPU
        >>> address = drv.Device(0).pci_bus_id()
        """
        return str(self._device.attributes["pciBusID"])

    def make_context(self, flags: int = 0) -> Context:
        """Makes the primary context current until it is popped. Other contexts are not created, so that other libraries
        share the memory. `flags` select how the host waits and have no effect.

        Examples
        --------
        >>> # needs a GPU
        >>> context = drv.Device(0).make_context()
        >>> context.pop()
        """
        context = self.retain_primary_context()
        context.push()
        return context

    def retain_primary_context(self) -> Context:
        """Returns the primary context, which is current only after it is pushed.

        Examples
        --------
        >>> # needs a GPU
        >>> context = drv.Device(0).retain_primary_context()
        """
        return Context(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other._device == self._device

    def __hash__(self) -> int:
        return hash(self._device)


class _Stack(threading.local):
    """The devices of the contexts below the current one, per host thread."""

    def __init__(self) -> None:
        self.under: list[Any] = []


_STACK = _Stack()


class Context:
    """The primary context of a GPU. The current context is that of the default device.

    Examples
    --------
    >>> drv.Context.get_current() == drv.Context.get_current()
    True
    """

    def __init__(self, device: Device | None = None) -> None:
        self._device = device

    @staticmethod
    def get_current() -> Context:
        """Returns the current context.

        Examples
        --------
        >>> # needs a GPU
        >>> drv.Context.get_current() == drv.Context.get_current()
        True
        """
        is_gpu = _core.get_device() != "cpu" and _core.device_count() > 0
        return Context(Device(_cuda.get_device_id()) if is_gpu else None)

    @staticmethod
    def get_device() -> Device:
        """Returns the GPU of the current context.

        Raises
        ------
        LogicError
            If programs run on the CPU.

        Examples
        --------
        >>> # needs a GPU
        >>> drv.Context.get_device() == drv.Device(0)
        True
        """
        return Device(_cuda.get_device_id())

    @staticmethod
    def synchronize() -> None:
        """Submits the recorded work and waits for it.

        Examples
        --------
        >>> drv.Context.synchronize()
        """
        _core.synchronize()

    @staticmethod
    def pop() -> None:
        """Restores the context that was current before the last `push` or `make_context`.

        Examples
        --------
        >>> # needs a GPU
        >>> context = drv.Device(0).make_context()
        >>> Context = drv.Context
        >>> Context.pop()
        """
        if _STACK.under:
            _core.enter_device(_STACK.under.pop())

    def push(self) -> None:
        """Makes the context current.

        Examples
        --------
        >>> # needs a GPU
        >>> context = drv.Device(0).retain_primary_context()
        >>> context.push()
        >>> context.pop()
        """
        _STACK.under.append(_core.get_device())
        if self._device is not None:
            self._device._device.use()

    attach = push

    def detach(self) -> None:
        """Pops the context if it is current; the primary context itself persists.

        Examples
        --------
        >>> # needs a GPU
        >>> context = drv.Device(0).make_context()
        >>> context.detach()
        """
        if self == Context.get_current():
            Context.pop()

    get_api_version = staticmethod(get_driver_version)

    @staticmethod
    def set_cache_config(cc: Any) -> None:
        """Accepts any of `func_cache` without effect, as the driver splits memory between cache and shared memory.

        Examples
        --------
        >>> drv.Context.set_cache_config(drv.func_cache.PREFER_L1)
        """
        func_cache(cc)

    @staticmethod
    def get_cache_config() -> func_cache:
        """Returns `func_cache.PREFER_NONE`, as the driver decides.

        Examples
        --------
        >>> drv.Context.get_cache_config()
        <func_cache.PREFER_NONE: 0>
        """
        return func_cache.PREFER_NONE

    @staticmethod
    def set_limit(limit: Any, value: int) -> None:
        """Not supported.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(f"[Context] set_limit({limit}, {value}) is not supported")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and other._device == self._device

    def __hash__(self) -> int:
        return hash(self._device)


class Stream:
    """A stream. All work runs in order, whichever stream it names.

    Examples
    --------
    >>> stream = drv.Stream()
    >>> stream.synchronize()
    >>> stream.is_done()
    True
    """

    def __init__(self, flags: int = 0) -> None:
        self._stream = _cuda.Stream()

    @property
    def handle(self) -> int:
        """The stream's handle."""
        return self._stream.ptr

    def synchronize(self) -> None:
        """Waits for all work.

        Examples
        --------
        >>> drv.Stream().synchronize()
        """
        self._stream.synchronize()

    def is_done(self) -> bool:
        """Returns true if all work has finished.

        Examples
        --------
        >>> drv.Context.synchronize()
        >>> drv.Stream().is_done()
        True
        """
        return self._stream.done

    def wait_for_event(self, evt: Event) -> None:
        """Does nothing, as later work always follows the event.

        Examples
        --------
        >>> drv.Stream().wait_for_event(drv.Event().record())
        """
        evt.synchronize()


class Event:
    """A point in the device's work; the time between two events can be measured.

    Examples
    --------
    >>> start, end = drv.Event(), drv.Event()
    >>> _ = start.record()
    >>> y = gpuarray.arange(10, dtype=np.float32) * 2
    >>> _ = end.record().synchronize()
    >>> end.time_since(start) >= 0
    True
    """

    def __init__(self, flags: int = 0) -> None:
        self._event = _cuda.Event()

    def record(self, stream: Stream | None = None) -> Event:
        """Records the event after all work so far.

        Examples
        --------
        >>> _ = drv.Event().record()
        """
        self._event.record()
        return self

    def synchronize(self) -> Event:
        """Waits for the event.

        Examples
        --------
        >>> _ = drv.Event().record().synchronize()
        """
        self._event.synchronize()
        return self

    def query(self) -> bool:
        """Returns true if the event has been reached.

        Examples
        --------
        >>> drv.Event().record().synchronize().query()
        True
        """
        return self._event.query()

    def time_since(self, event: Event) -> float:
        """Returns the milliseconds since an earlier event.

        Examples
        --------
        >>> start = drv.Event().record()
        >>> end = drv.Event().record().synchronize()
        >>> end.time_since(start) >= 0
        True
        """
        return _cuda.get_elapsed_time(event._event, self._event)

    def time_till(self, event: Event) -> float:
        """Returns the milliseconds until a later event.

        Examples
        --------
        >>> start = drv.Event().record()
        >>> end = drv.Event().record().synchronize()
        >>> start.time_till(end) >= 0
        True
        """
        return _cuda.get_elapsed_time(self._event, event._event)


# --- modules


def _attribute(name: str, doc: str) -> int:
    """Returns the property of a function that is one of its kernel's attributes."""
    return property(lambda self: self._kernel.attributes[name], doc=doc)  # type: ignore[return-value]


class Function:
    """A kernel. `f(*args, block=(x, y, z), grid=(x, y))` launches it.

    Examples
    --------
    >>> # needs a GPU
    >>> module = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> x = gpuarray.ones(2, np.float32)
    >>> module.get_function("twice")(x, block=(2, 1, 1))
    >>> x
    array([2., 2.], dtype=float32)
    """

    def __init__(self, module: Module, name: str) -> None:
        self._kernel = module._raw.get_function(name)
        self._kernel.compile()
        self._format: list[np.dtype[Any]] = []

    def __call__(
        self, *args: Any, grid: Any = (1, 1), block: Any = None, stream: Any = None, shared: int = 0, texrefs: Any = (),
        time_kernel: bool = False, **kwargs: Any,
    ) -> float | None:  # fmt: skip
        """Launches the kernel.

        Parameters
        ----------
        *args : any
            NumPy numbers, allocations, `gpuarray` arrays, and `In`, `Out` and `InOut` of NumPy arrays.
        block, grid : int, optional
            The number of threads in a block and of blocks, up to three numbers each.
        stream : Stream, optional
            Ignored, as all work runs in order.
        shared : int, default 0
            The bytes of dynamic shared memory.
        time_kernel : bool, default False
            Whether to wait and return the elapsed seconds.

        Raises
        ------
        NotImplementedError
            For `texrefs`.
        TypeError
            For arguments of unsupported types.
        ValueError
            For unknown keywords, and without `block`.
        """
        if kwargs:
            raise ValueError(f"extra keyword arguments: {','.join(kwargs)}")
        if texrefs:
            raise NotImplementedError(f"[pycuda] texrefs= is not supported: {NO_TEXTURES}")
        if block is None:
            raise ValueError("must specify block size")
        handlers = [a for a in args if isinstance(a, ArgumentHandler)]
        values = [_argument(k, a) for k, a in enumerate(args)]
        for handler in handlers:
            handler.pre_call(stream)
        if time_kernel:
            _core.synchronize()
        start = time.perf_counter()
        self._launch(grid, block, values, shared)
        if time_kernel:
            _core.synchronize()
        elapsed = time.perf_counter() - start
        for handler in handlers:
            handler.post_call(stream)
        return elapsed if time_kernel else None

    def _launch(self, grid: Any, block: Any, values: list[Any], shared: int) -> None:
        sizes = [tuple(int(n) for n in size) for size in (grid, block)]
        self._kernel(sizes[0], sizes[1], values, shared_mem=int(shared))

    def prepare(self, arg_types: Any, texrefs: Any = ()) -> Function:
        """Declares the argument types: letters of `struct` ("P" for an address), or dtypes.

        Examples
        --------
        >>> # needs a GPU
        >>> module = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
        >>> x = gpuarray.ones(2, np.float32)
        >>> twice = module.get_function("twice").prepare("P")
        >>> twice.prepared_call((1, 1), (2, 1, 1), x.gpudata)
        >>> x
        array([2., 2.], dtype=float32)
        """
        if texrefs:
            raise NotImplementedError(f"[prepare] texrefs= is not supported: {NO_TEXTURES}")
        self._format = [np.dtype(np.uintp) if t in ("P", np.intp) else np.dtype(t) for t in arg_types]
        return self

    def _prepared(self, args: tuple[Any, ...]) -> list[Any]:
        if len(args) != len(self._format):
            raise TypeError(f"prepared for {len(self._format)} arguments, got {len(args)}")
        return [
            a if dtype.kind == "V" else dtype.type(int(a) if dtype.kind in "ui" else a)
            for dtype, a in zip(self._format, (_address(a) for a in args), strict=True)
        ]

    def prepared_call(self, grid: Any, block: Any, *args: Any, shared_size: int = 0) -> None:
        """Launches the kernel with arguments of the declared types.

        Raises
        ------
        TypeError
            For a wrong number of arguments.

        Examples
        --------
        >>> # needs a GPU
        >>> module = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
        >>> x = gpuarray.ones(2, np.float32)
        >>> twice = module.get_function("twice").prepare("P")
        >>> twice.prepared_call((1, 1), (2, 1, 1), x.gpudata)
        >>> x
        array([2., 2.], dtype=float32)
        """
        self._launch(grid, block, self._prepared(args), shared_size)

    def prepared_async_call(self, grid: Any, block: Any, stream: Any, *args: Any, shared_size: int = 0) -> None:
        """Performs `prepared_call`; `stream` is ignored, as all work runs in order.

        Examples
        --------
        >>> # needs a GPU
        >>> module = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
        >>> x = gpuarray.ones(2, np.float32)
        >>> twice = module.get_function("twice").prepare("P")
        >>> twice.prepared_async_call((1, 1), (2, 1, 1), drv.Stream(), x.gpudata)
        >>> x
        array([2., 2.], dtype=float32)
        """
        self.prepared_call(grid, block, *args, shared_size=shared_size)

    def prepared_timed_call(self, grid: Any, block: Any, *args: Any, shared_size: int = 0) -> Callable[[], float]:
        """Performs `prepared_call`. Returns a function that waits and returns the elapsed seconds.

        Examples
        --------
        >>> # needs a GPU
        >>> module = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
        >>> x = gpuarray.ones(2, np.float32)
        >>> twice = module.get_function("twice").prepare("P")
        >>> seconds = twice.prepared_timed_call((1, 1), (2, 1, 1), x.gpudata)
        >>> seconds() >= 0
        True
        """
        start, end = Event(), Event()
        start.record()
        self.prepared_call(grid, block, *args, shared_size=shared_size)
        end.record()
        return lambda: end.synchronize().time_since(start) * 1e-3

    def get_attribute(self, attr: function_attribute) -> int:
        """Returns an attribute of the kernel.

        Examples
        --------
        >>> # needs a GPU
        >>> module = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
        >>> module.get_function("twice").get_attribute(drv.function_attribute.SHARED_SIZE_BYTES)
        0
        """
        return self._kernel.attributes[attr.name.lower()]

    num_regs = _attribute("num_regs", "The number of registers per thread.")
    shared_size_bytes = _attribute("shared_size_bytes", "The bytes of static shared memory.")
    local_size_bytes = _attribute("local_size_bytes", "The bytes of local memory per thread.")
    max_threads_per_block = _attribute("max_threads_per_block", "The greatest number of threads per block.")

    def set_cache_config(self, fc: Any) -> None:
        """Accepts any of `func_cache` without effect, as the driver splits memory between cache and shared memory.

        Examples
        --------
        >>> # needs a GPU
        >>> module = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
        >>> module.get_function("twice").set_cache_config(drv.func_cache.PREFER_L1)
        """
        func_cache(fc)


def _address(a: Any) -> Any:
    return a.get_device_alloc() if isinstance(a, ArgumentHandler) else getattr(a, "gpudata", a)


def _argument(k: int, a: Any) -> Any:
    """Converts an argument for the launch."""
    if isinstance(a, ArgumentHandler):
        return a.get_device_alloc().array
    if isinstance(a, DeviceAllocation):
        return a.array
    if isinstance(a, (np.number, np.bool_)):
        return a
    if isinstance(a, (np.ndarray, np.void)):  # a struct
        return a.tobytes()
    array = getattr(a, "_launch_argument", None)
    if array is not None:
        return array
    if hasattr(a, "__cuda_array_interface__") or isinstance(a, PointerHolderBase):
        return a
    raise TypeError(f"invalid type on parameter #{k} (0-based)")


class Module:
    """A module of compiled code.

    Examples
    --------
    >>> # needs a GPU
    >>> module = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> twice = module.get_function("twice")
    """

    def __init__(self, raw: _RawModule) -> None:
        self._raw = raw

    def get_function(self, name: str) -> Function:
        """Returns a kernel of the module.

        Examples
        --------
        >>> # needs a GPU
        >>> module = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
        >>> twice = module.get_function("twice")
        """
        return Function(self, name)

    def get_global(self, name: str) -> tuple[int, int]:
        """Returns the address and size in bytes of a variable.

        Examples
        --------
        >>> # needs a GPU
        >>> module = SourceModule("__device__ float table[4];")
        >>> address, size = module.get_global("table")
        >>> size
        16
        """
        found = self._raw.get_global(name)
        return found.ptr, found.size

    def get_texref(self, name: str) -> Any:
        """Not supported.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(f"[get_texref] of {name!r} is not supported: {NO_TEXTURES}")

    get_surfref = get_texref


def module_from_file(filename: str) -> Module:
    """Loads a module from a file with device code."""
    return Module(_RawModule(path=filename))


def module_from_buffer(buffer: bytes, options: Any = (), message_handler: Any = None) -> Module:
    """Loads a module from device code.

    Raises
    ------
    NotImplementedError
        For `options` and `message_handler`.
    """
    if options or message_handler is not None:
        raise NotImplementedError("[module_from_buffer] options= and message_handler= are not supported")
    raw = _RawModule(code="")
    raw._binary = bytes(buffer)
    raw.compile()
    return Module(raw)


def start_profiler() -> None:
    """Waits for recorded work, so that a profiler sees only the work that follows.

    Examples
    --------
    >>> drv.start_profiler()
    >>> drv.stop_profiler()
    """
    _core.synchronize()


def stop_profiler() -> None:
    """Waits for recorded work, so that a profiler sees all of it.

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
    "InOut", "LaunchError", "LogicError", "MemoryError", "Module", "Out", "PointerHolderBase", "RuntimeError", "Stream",
    "aligned_empty", "aligned_zeros", "ctx_flags", "device_attribute", "event_flags", "from_device", "from_device_like",
    "func_cache", "function_attribute", "get_driver_version", "get_version", "host_alloc_flags", "init", "mem_alloc",
    "mem_alloc_like", "mem_alloc_pitch", "mem_get_info", "memcpy_dtod", "memcpy_dtod_async", "memcpy_dtoh",
    "memcpy_dtoh_async", "memcpy_htod", "memcpy_htod_async", "memset_d8", "memset_d16", "memset_d32",
    "module_from_buffer", "module_from_file", "pagelocked_empty", "pagelocked_empty_like", "pagelocked_zeros",
    "pagelocked_zeros_like", "register_host_memory", "start_profiler", "stop_profiler", "to_device",
]  # fmt: skip
