"""PyCUDA's `tools`: memory pools, C names of dtypes, kernel parameters, occupancy."""

from __future__ import annotations

import functools
import operator
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from cuprous import _core
from cuprous.cuda._occupancy import blocks_per_multiprocessor, multiprocessor
from cuprous.pycuda import driver
from cuprous.pycuda._memory import DeviceAllocation, pagelocked_empty

#: Dtypes and their C names; generated code uses the first.
_NAMES = {
    "bool": ("bool",), "int8": ("signed char", "char", "int8_t"), "uint8": ("unsigned char", "uint8_t"),
    "int16": ("short", "signed short", "int16_t"), "uint16": ("unsigned short", "uint16_t"),
    "int32": ("int", "signed int", "int32_t"), "uint32": ("unsigned", "unsigned int", "uint32_t"),
    "int64": ("long long", "long", "long int", "int64_t", "ptrdiff_t"),
    "uint64": ("unsigned long long", "unsigned long", "size_t", "uint64_t"),
    "float32": ("float",), "float64": ("double",),
    "complex64": ("pycuda::complex<float>", "complex<float>"),
    "complex128": ("pycuda::complex<double>", "complex<double>"),
}  # fmt: skip
_C_NAME: dict[np.dtype[Any], str] = {np.dtype(name): c[0] for name, c in _NAMES.items()}
_DTYPE: dict[str, np.dtype[Any]] = {c: np.dtype(name) for name, names in _NAMES.items() for c in names}


def dtype_to_ctype(dtype: Any) -> str:
    """Returns the C name of a dtype.

    Raises
    ------
    ValueError
        For None, and for a dtype that is not registered.

    See Also
    --------
    pycuda.tools.get_or_register_dtype, pycuda.tools.register_dtype

    Examples
    --------
    >>> tools.dtype_to_ctype(np.float32)
    'float'
    """
    if dtype is None:
        raise ValueError("dtype may not be None")
    found = _C_NAME.get(np.dtype(dtype))
    if found is None:
        raise ValueError(f"unable to map dtype '{dtype}'; name it with get_or_register_dtype")
    return found


def get_or_register_dtype(c_names: Any, dtype: Any = None) -> np.dtype[Any]:
    """Registers a dtype under C names and returns it; without a dtype, looks the names up.

    Raises
    ------
    RuntimeError
        For a name that is registered with another dtype.

    See Also
    --------
    pycuda.tools.register_dtype, pycuda.tools.dtype_to_ctype

    Examples
    --------
    >>> tools.get_or_register_dtype("float")
    dtype('float32')
    """
    names = [c_names] if isinstance(c_names, str) else list(c_names)
    if dtype is None:
        return _DTYPE[names[0]]
    dtype = np.dtype(dtype)
    for name in names:
        if _DTYPE.setdefault(name, dtype) != dtype:
            raise RuntimeError(f"name '{name}' is already registered to a different dtype")
    _C_NAME.setdefault(dtype, names[0])
    return dtype


def register_dtype(dtype: Any, name: Any) -> np.dtype[Any]:
    """Registers a dtype; the old name of `get_or_register_dtype`.

    See Also
    --------
    pycuda.tools.get_or_register_dtype, pycuda.tools.dtype_to_ctype

    Examples
    --------
    >>> pair = np.dtype([("x", np.float32), ("y", np.float32)])
    >>> tools.register_dtype(pair, "point_of_floats")
    dtype([('x', '<f4'), ('y', '<f4')])
    """
    return get_or_register_dtype(name, dtype)


class Argument(NamedTuple):
    """A kernel parameter: dtype, name, and whether it is an array.

    See Also
    --------
    pycuda.tools.ScalarArg, pycuda.tools.VectorArg, pycuda.tools.parse_arguments

    Examples
    --------
    >>> tools.VectorArg(np.float32, "x")
    Argument(dtype=dtype('float32'), name='x', is_vector=True)
    """

    dtype: np.dtype[Any]
    name: str
    is_vector: bool = False

    def declarator(self) -> str:
        """Returns the C declaration.

        Examples
        --------
        >>> tools.VectorArg(np.float32, "x").declarator()
        'float *x'
        """
        return f"{dtype_to_ctype(self.dtype)} {'*' * self.is_vector}{self.name}"


def ScalarArg(dtype: Any, name: str) -> Argument:
    """Returns a scalar parameter.

    See Also
    --------
    pycuda.tools.VectorArg, pycuda.tools.Argument

    Examples
    --------
    >>> tools.ScalarArg(np.float32, "a").declarator()
    'float a'
    """
    return Argument(np.dtype(dtype), name)


def VectorArg(dtype: Any, name: str, with_offset: bool = False) -> Argument:
    """Returns an array parameter.

    Raises
    ------
    NotImplementedError
        For `with_offset`.

    See Also
    --------
    pycuda.tools.ScalarArg, pycuda.tools.Argument

    Examples
    --------
    >>> tools.VectorArg(np.float32, "x").declarator()
    'float *x'
    """
    if with_offset:
        raise NotImplementedError("[VectorArg] with_offset= is not supported; pass a slice of the array to the kernel")
    return Argument(np.dtype(dtype), name, True)


def parse_c_arg(text: str) -> Argument:
    """Parses a C parameter declaration, such as "const float *x".

    Raises
    ------
    ValueError
        For a type that is not registered.

    See Also
    --------
    pycuda.tools.parse_arguments, pycuda.tools.ScalarArg, pycuda.tools.VectorArg

    Examples
    --------
    >>> tools.parse_c_arg("float *x").declarator()
    'float *x'
    """
    plain = re.sub(r"\b(const|volatile|__restrict__)\b", " ", text)
    found = re.fullmatch(r"\s*([\w:<>\s]+?)\s*(\*?)\s*(\w+)\s*", plain)
    if not found or found[1] not in _DTYPE:
        raise ValueError(f"unknown type in '{text}'; name it with get_or_register_dtype")
    return Argument(_DTYPE[found[1]], found[3], bool(found[2]))


def parse_arguments(arguments: Any) -> list[Argument]:
    """Returns parameters from a string like "float *z, float a", or from a list of `VectorArg` and `ScalarArg`.

    See Also
    --------
    pycuda.tools.parse_c_arg, pycuda.tools.Argument

    Examples
    --------
    >>> [x.name for x in tools.parse_arguments("float *x, int n")]
    ['x', 'n']
    """
    if isinstance(arguments, str):
        return [parse_c_arg(part) for part in arguments.split(",")]
    return list(arguments)


# --- pools: memory comes from the engine's pool, which caches freed blocks


def bitlog2(n: int) -> int:
    """Returns the index of the highest set bit, which is the logarithm rounded down.

    Examples
    --------
    >>> tools.bitlog2(1000)
    9
    """
    return operator.index(n).bit_length() - 1


class DeviceMemoryPool:
    """A memory pool, backed by the engine's.

    See Also
    --------
    pycuda.tools.PageLockedMemoryPool, pycuda.driver.mem_alloc

    Examples
    --------
    >>> pool = tools.DeviceMemoryPool()
    >>> x = gpuarray.zeros(3, np.float32, allocator=pool.allocate)
    >>> pool.active_bytes >= 0
    True
    """

    def allocate(self, size: int) -> DeviceAllocation:
        """Allocates `size` bytes.

        Examples
        --------
        >>> data = tools.DeviceMemoryPool().allocate(16)
        """
        return driver.mem_alloc(size)

    __call__ = allocate

    @staticmethod
    def bin_number(size: int) -> int:
        """Returns PyCUDA's bin number for allocations of about that size; there are four bins per power of two.

        Examples
        --------
        >>> tools.DeviceMemoryPool.bin_number(1000)
        39
        """
        exponent = bitlog2(size) if size else 0
        shifted = size >> exponent - 2 if exponent >= 2 else size << 2 - exponent
        return exponent << 2 | shifted & 3

    @staticmethod
    def alloc_size(bin_nr: int) -> int:
        """Returns the greatest allocation size of a bin.

        Examples
        --------
        >>> tools.DeviceMemoryPool.alloc_size(10)
        6
        """
        exponent, head = bin_nr >> 2, 4 | bin_nr & 3
        if exponent < 2:
            return head >> 2 - exponent
        return head << exponent - 2 | (1 << exponent - 2) - 1

    def free_held(self) -> None:
        """Returns unused memory to the system.

        Examples
        --------
        >>> tools.DeviceMemoryPool().free_held()
        """
        _core.trim_memory(_core.get_device())

    stop_holding = free_held

    @property
    def active_bytes(self) -> int:
        """The bytes in use."""
        return _core.memory_stats(_core.get_device())["used_bytes"]

    @property
    def managed_bytes(self) -> int:
        """The bytes in use or cached."""
        return _core.memory_stats(_core.get_device())["total_bytes"]

    @property
    def held_blocks(self) -> int:
        """The number of cached blocks."""
        return _core.memory_stats(_core.get_device())["n_free_blocks"]


class PageLockedMemoryPool:
    """A pool of host memory.

    See Also
    --------
    pycuda.tools.DeviceMemoryPool, pycuda.driver.pagelocked_empty

    Examples
    --------
    >>> tools.PageLockedMemoryPool().allocate((2, 3), np.float32).shape
    (2, 3)
    """

    def allocate(self, shape: Any, dtype: Any, order: str = "C") -> Any:
        """Returns an uninitialized NumPy array.

        Examples
        --------
        >>> tools.PageLockedMemoryPool().allocate((2, 3), np.float32).shape
        (2, 3)
        """
        return pagelocked_empty(shape, dtype, order)

    def free_held(self) -> None:
        """Does nothing, as no memory is cached.

        Examples
        --------
        >>> tools.PageLockedMemoryPool().free_held()
        """

    stop_holding = free_held


def context_dependent_memoize(function: Callable[..., Any]) -> Callable[..., Any]:
    """Caches a function's results; a single cache suffices, as only the primary context exists.

    See Also
    --------
    pycuda.tools.clear_context_caches

    Examples
    --------
    >>> @tools.context_dependent_memoize
    ... def square(n):
    ...     return n * n
    >>> square(3)
    9
    """
    return functools.cache(function)


def clear_context_caches() -> None:
    """Does nothing, as the engine bounds its caches itself.

    See Also
    --------
    pycuda.tools.context_dependent_memoize

    Examples
    --------
    >>> tools.clear_context_caches()
    """


def mark_cuda_test(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a test to be skipped without a GPU.

    See Also
    --------
    pycuda.tools.init_cuda_context_fixture
    """

    @functools.wraps(function)
    def test(*args: Any, **kwargs: Any) -> Any:
        if not driver.Device.count():
            import pytest

            pytest.skip("there is no GPU")
        return function(*args, **kwargs)

    return test


def init_cuda_context_fixture() -> Iterator[None]:
    """Yields once, as the body of test fixtures; no setup is needed.

    See Also
    --------
    pycuda.tools.mark_cuda_test
    """
    yield


def get_default_device(default: int = 0) -> driver.Device:
    """Returns the GPU of that number.

    See Also
    --------
    pycuda.tools.make_default_context, pycuda.driver.Device

    Examples
    --------
    >>> # needs a GPU
    >>> device = tools.get_default_device()
    """
    return driver.Device(default)


def make_default_context(ctx_maker: Any = None) -> driver.Context:
    """Returns the context of the first GPU (or of the number in `CUDA_DEVICE`), or the result of `ctx_maker(device)`.

    Raises
    ------
    LogicError
        If that GPU does not exist.

    See Also
    --------
    pycuda.tools.get_default_device, pycuda.driver.Context

    Examples
    --------
    >>> # needs a GPU
    >>> context = tools.make_default_context()
    >>> context.pop()
    """
    device = driver.Device(int(os.environ.get("CUDA_DEVICE") or 0))
    context: driver.Context = (ctx_maker or driver.Device.make_context)(device)
    return context


class DeviceData:
    """A GPU's resources for blocks.

    See Also
    --------
    pycuda.tools.OccupancyRecord, pycuda.driver.Device

    Examples
    --------
    >>> # needs a GPU
    >>> tools.DeviceData().warp_size
    32
    """

    def __init__(self, dev: driver.Device | None = None) -> None:
        dev = dev or driver.Device(0)
        major, minor = dev.compute_capability()
        held = multiprocessor(major * 10 + minor)
        self.max_threads = dev.get_attribute(driver.device_attribute.MAX_THREADS_PER_BLOCK)
        self.warp_size = 32
        self.warps_per_mp = held.threads // 32
        self.thread_blocks_per_mp = held.blocks
        self.registers = held.registers
        self.shared_memory = held.shared

    def align_bytes(self, word_size: int = 4) -> int:
        """Returns the number of bytes that a warp reads at once for words of 4, 8 or 16 bytes.

        Examples
        --------
        >>> # needs a GPU
        >>> tools.DeviceData().align_bytes(4)
        64
        """
        return {4: 64, 8: 128, 16: 128}[word_size]


class OccupancyRecord:
    """The blocks and warps that fit on a multiprocessor: `tb_per_mp`, `warps_per_mp`, `occupancy`, `limited_by`.

    See Also
    --------
    pycuda.tools.DeviceData

    Examples
    --------
    >>> # needs a GPU
    >>> tools.OccupancyRecord(tools.DeviceData(), 256).tb_per_mp > 0
    True
    """

    def __init__(self, devdata: DeviceData, threads: int, shared_mem: int = 0, registers: int = 0) -> None:
        if threads > devdata.max_threads:
            raise ValueError("too many threads")
        limits = blocks_per_multiprocessor(
            threads, registers, shared_mem, devdata.warps_per_mp * 32, devdata.thread_blocks_per_mp, devdata.registers,
            devdata.shared_memory,
        )  # fmt: skip
        words = {"threads": "warps", "blocks": "device", "registers": "regs", "shared memory": "smem"}
        self.limited_by, self.tb_per_mp = min(((words[k], n) for k, n in limits.items()), key=lambda pair: pair[1])
        self.warps_per_mp = self.tb_per_mp * -(-threads // 32)
        self.occupancy = self.warps_per_mp / devdata.warps_per_mp


__all__ = [
    "Argument", "DeviceData", "DeviceMemoryPool", "OccupancyRecord", "PageLockedMemoryPool", "ScalarArg", "VectorArg",
    "bitlog2", "clear_context_caches", "context_dependent_memoize", "dtype_to_ctype", "get_default_device",
    "get_or_register_dtype", "init_cuda_context_fixture",
    "make_default_context", "mark_cuda_test", "parse_arguments", "parse_c_arg", "register_dtype",
]  # fmt: skip
