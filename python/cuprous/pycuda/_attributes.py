"""PyCUDA's enumerations: attributes of devices and functions, and flags, which have no effect here."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NoReturn


class device_attribute(enum.Enum):
    """Attributes of a device. The values are keys of the driver's properties, or constants that hold for every GPU.

    See Also
    --------
    pycuda.driver.Device

    Examples
    --------
    >>> # needs a GPU
    >>> drv.Device(0).get_attribute(drv.device_attribute.MAX_THREADS_PER_BLOCK)
    1024
    """

    CLOCK_RATE = "clockRate"
    COMPUTE_CAPABILITY_MAJOR = "major"
    COMPUTE_CAPABILITY_MINOR = "minor"
    GLOBAL_MEMORY_BUS_WIDTH = "memoryBusWidth"
    INTEGRATED = "integrated"
    MAX_BLOCK_DIM_X = 1024
    MAX_BLOCK_DIM_Z = 64
    MAX_GRID_DIM_X = 2147483647
    MAX_GRID_DIM_Y = 65535
    MAX_REGISTERS_PER_MULTIPROCESSOR = "regsPerMultiprocessor"
    MAX_SHARED_MEMORY_PER_BLOCK = "sharedMemPerBlock"
    MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = "sharedMemPerBlockOptin"
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = "sharedMemPerMultiprocessor"
    MAX_THREADS_PER_BLOCK = "maxThreadsPerBlock"
    MAX_THREADS_PER_MULTIPROCESSOR = "maxThreadsPerMultiProcessor"
    MEMORY_CLOCK_RATE = "memoryClockRate"
    MULTIPROCESSOR_COUNT = "multiProcessorCount"
    TOTAL_CONSTANT_MEMORY = 65536
    WARP_SIZE = "warpSize"
    MAX_BLOCK_DIM_Y = MAX_BLOCK_DIM_X
    MAX_GRID_DIM_Z = MAX_GRID_DIM_Y

    def of(self, properties: dict[str, Any]) -> int:
        """Returns the attribute's value on a device with these properties."""
        return int(properties[self.value]) if isinstance(self.value, str) else int(self.value)


class function_attribute(enum.Enum):
    """Attributes of a function.

    See Also
    --------
    pycuda.driver.func_cache

    Examples
    --------
    >>> # needs a GPU
    >>> module = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> module.get_function("twice").get_attribute(drv.function_attribute.SHARED_SIZE_BYTES)
    0
    """

    CONST_SIZE_BYTES = enum.auto()
    LOCAL_SIZE_BYTES = enum.auto()
    MAX_THREADS_PER_BLOCK = enum.auto()
    NUM_REGS = enum.auto()
    SHARED_SIZE_BYTES = enum.auto()


class ctx_flags(enum.IntFlag):
    """How a host thread waits for the GPU.

    See Also
    --------
    pycuda.driver.Context, pycuda.driver.Device

    Examples
    --------
    >>> drv.ctx_flags.SCHED_AUTO
    <ctx_flags.SCHED_AUTO: 0>
    """

    SCHED_AUTO = 0
    SCHED_SPIN = 1
    SCHED_YIELD = 2
    SCHED_BLOCKING_SYNC = 4
    MAP_HOST = 8
    LMEM_RESIZE_TO_MAX = 16


class event_flags(enum.IntFlag):
    """How a host thread waits for an event.

    See Also
    --------
    pycuda.driver.Event

    Examples
    --------
    >>> drv.event_flags.DEFAULT
    <event_flags.DEFAULT: 0>
    """

    DEFAULT = 0
    BLOCKING_SYNC = 1
    DISABLE_TIMING = 2
    INTERPROCESS = 4


class func_cache(enum.IntEnum):
    """The preferred split of a multiprocessor's memory between cache and shared memory.

    See Also
    --------
    pycuda.driver.function_attribute

    Examples
    --------
    >>> drv.func_cache.PREFER_SHARED
    <func_cache.PREFER_SHARED: 1>
    """

    PREFER_NONE = 0
    PREFER_SHARED = 1
    PREFER_L1 = 2
    PREFER_EQUAL = 3


class host_alloc_flags(enum.IntFlag):
    """How host memory is allocated and mapped.

    See Also
    --------
    pycuda.driver.pagelocked_empty, pycuda.driver.register_host_memory

    Examples
    --------
    >>> drv.host_alloc_flags.PORTABLE
    <host_alloc_flags.PORTABLE: 1>
    """

    PORTABLE = 1
    DEVICEMAP = 2
    WRITECOMBINED = 4


NO_TEXTURES = (
    "NVIDIA removed texture and surface references in CUDA 12; pass kernels the address of an array (`const float *`, "
    "read with __ldg), or a texture object that the program creates"
)
_SHAPED = "copy rows with memcpy_htod, memcpy_dtoh and memcpy_dtod, or slice arrays of gpuarray"
_MANAGED = "use gpuarray, or mem_alloc with copies"
#: Driver names that are not supported, each with its replacement.
ABSENT = {
    **dict.fromkeys(("Array", "ArrayDescriptor", "ArrayDescriptor3D", "SurfaceReference", "TextureReference",
                     "bind_array_to_texref", "gpuarray_to_array", "make_multichannel_2d_array", "matrix_to_array",
                     "matrix_to_texref", "np_to_array", "address_mode", "array_format", "array3d_flags",
                     "dtype_to_array_format", "filter_mode", "TRSA_OVERRIDE_FORMAT", "TRSF_READ_AS_INTEGER",
                     "TRSF_NORMALIZED_COORDINATES"), NO_TEXTURES),
    **dict.fromkeys(("Memcpy2D", "Memcpy3D", "Memcpy3DPeer", "memcpy_atoa", "memcpy_atod", "memcpy_dtoa",
                     "memcpy_htoa"), _SHAPED),
    **dict.fromkeys(("managed_empty", "managed_empty_like", "managed_zeros", "managed_zeros_like"), _MANAGED),
    **dict.fromkeys(("IPCMemoryHandle", "mem_get_ipc_handle"), "share arrays through host memory"),
    "Linker": "link with compiler.DynamicModule",
    **dict.fromkeys(("memcpy_peer", "memcpy_peer_async"), "arrays of one GPU are supported"),
}  # fmt: skip


class _Absent:
    """A placeholder for an unsupported driver name. Calling it, or reading its attributes, raises with the
    replacement."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.__doc__ = f"Not supported: {ABSENT[name]}."

    def _error(self) -> NotImplementedError:
        return NotImplementedError(f"[{self.__name__}] is not supported: {ABSENT[self.__name__]}")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self._error()

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(name) if name.startswith("__") else self._error()

    def __or__(self, other: Any) -> NoReturn:
        raise self._error()

    __ror__ = __or__


def absent(name: str) -> Callable[..., NoReturn]:
    """Returns the placeholder for an unsupported name."""
    return _Absent(name)
