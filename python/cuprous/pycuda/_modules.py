"""Modules and functions of PyCUDA's driver."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from cuprous import _core
from cuprous.cuda._raw_kernels import RawModule as _RawModule
from cuprous.pycuda._attributes import NO_TEXTURES, func_cache, function_attribute
from cuprous.pycuda._memory import ArgumentHandler, DeviceAllocation, PointerHolderBase
from cuprous.pycuda._streams import Event


def _attribute(name: str, doc: str) -> int:
    """Returns the property of a function that is one of its kernel's attributes."""
    return property(lambda self: self._kernel.attributes[name], doc=doc)  # type: ignore[return-value]


class Function:
    """A kernel. `f(*args, block=(x, y, z), grid=(x, y))` launches it.

    See Also
    --------
    pycuda.compiler.SourceModule, pycuda.driver.Module

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

    See Also
    --------
    pycuda.driver.module_from_file, pycuda.driver.module_from_buffer, pycuda.compiler.SourceModule

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
    """Loads a module from a file with device code.

    See Also
    --------
    pycuda.driver.module_from_buffer, pycuda.driver.Module
    """
    return Module(_RawModule(path=filename))


def module_from_buffer(buffer: bytes, options: Any = (), message_handler: Any = None) -> Module:
    """Loads a module from device code.

    Raises
    ------
    NotImplementedError
        For `options` and `message_handler`.

    See Also
    --------
    pycuda.driver.module_from_file, pycuda.compiler.compile
    """
    if options or message_handler is not None:
        raise NotImplementedError("[module_from_buffer] options= and message_handler= are not supported")
    raw = _RawModule(code="")
    raw._binary = bytes(buffer)
    raw.compile()
    return Module(raw)


__all__ = ["Function", "Module", "module_from_buffer", "module_from_file"]
