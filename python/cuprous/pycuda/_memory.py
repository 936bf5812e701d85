"""Device memory by address, copies between device and host, and kernel argument handlers."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuprous import _core
from cuprous._common.arguments import ndarray
from cuprous._common.pointers import bytes_at
from cuprous.cuda._device import Device
from cuprous.pycuda._attributes import host_alloc_flags


def device_name() -> str:
    """Returns the engine's name of the default device."""
    return _core.get_device()


def host_bytes(array: Any) -> np.ndarray[Any, Any]:
    """Returns a contiguous host object as bytes, without a copy."""
    if isinstance(array, np.generic):
        return np.frombuffer(array.tobytes(), np.uint8)
    if not isinstance(array, np.ndarray):
        return np.frombuffer(array, np.uint8)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise ValueError("only contiguous arrays may be copied; use numpy.ascontiguousarray")
    flat = array.reshape(-1, order="A") if array.ndim else array.reshape(1)
    return flat.view(np.uint8)


class PointerHolderBase:
    """The base class of objects with an address; subclasses implement `get_pointer`.

    See Also
    --------
    pycuda.driver.DeviceAllocation
    """

    def get_pointer(self) -> int:
        """Returns the address."""
        raise NotImplementedError("subclasses must implement get_pointer")

    @property
    def gpudata(self) -> int:
        """The address."""
        return self.get_pointer()

    @property
    def ptr(self) -> int:
        """The address."""
        return self.get_pointer()

    def __int__(self) -> int:
        return self.get_pointer()

    __index__ = __int__


class DeviceAllocation(PointerHolderBase):
    """Memory on the default device, freed with the last reference to it.

    See Also
    --------
    pycuda.driver.mem_alloc, pycuda.driver.PointerHolderBase

    Examples
    --------
    >>> data = drv.mem_alloc(8)
    >>> drv.memcpy_htod(data, np.array([1, 2], np.int32))
    >>> back = np.empty(2, np.int32)
    >>> drv.memcpy_dtoh(back, data)
    >>> back
    array([1, 2], dtype=int32)
    """

    def __init__(self, size: int) -> None:
        if size <= 0:
            raise ValueError("an allocation needs at least one byte")
        self.size = size
        self._array: ndarray | None = _core.empty((size,), "uint8")

    @property
    def array(self) -> ndarray:
        """The memory as an array of bytes."""
        if self._array is None:
            raise ValueError("the memory was freed")
        return self._array

    def get_pointer(self) -> int:
        """Returns the address.

        Raises
        ------
        ValueError
            After `free`.

        Examples
        --------
        >>> data = drv.mem_alloc(8)
        >>> data.get_pointer() == int(data)
        True
        """
        return self.array.address()

    def free(self) -> None:
        """Frees the memory.

        Examples
        --------
        >>> data = drv.mem_alloc(8)
        >>> data.free()
        """
        self._array = None

    def as_buffer(self, size: int, offset: int = 0) -> Any:
        """Not supported, as the host cannot access device memory.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("[as_buffer] is not supported; copy with memcpy_dtoh")


def mem_alloc(size: int) -> DeviceAllocation:
    """Allocates `size` bytes on the default device.

    See Also
    --------
    pycuda.driver.mem_alloc_like, pycuda.driver.mem_alloc_pitch, pycuda.driver.to_device, pycuda.driver.DeviceAllocation

    Examples
    --------
    >>> data = drv.mem_alloc(8)
    >>> drv.memcpy_htod(data, np.array([1, 2], np.int32))
    >>> back = np.empty(2, np.int32)
    >>> drv.memcpy_dtoh(back, data)
    >>> back
    array([1, 2], dtype=int32)
    """
    return DeviceAllocation(int(size))


def mem_alloc_like(ary: Any) -> DeviceAllocation:
    """Allocates memory for the bytes of an array.

    See Also
    --------
    pycuda.driver.mem_alloc, pycuda.driver.mem_alloc_pitch

    Examples
    --------
    >>> data = drv.mem_alloc_like(np.ones(2, np.int32))
    """
    return mem_alloc(ary.nbytes)


def mem_alloc_pitch(width: int, height: int, access_size: int) -> tuple[DeviceAllocation, int]:
    """Allocates memory for `height` rows of `width` bytes. Returns it with the row pitch, which suits accesses of any
    size.

    See Also
    --------
    pycuda.driver.mem_alloc, pycuda.driver.mem_alloc_like

    Examples
    --------
    >>> data, pitch = drv.mem_alloc_pitch(100, 3, 4)
    >>> pitch >= 100
    True
    """
    pitch = -(-int(width) // 512) * 512
    return mem_alloc(pitch * int(height)), pitch


def mem_get_info() -> tuple[int, int]:
    """Returns the free and total bytes of the GPU's memory.

    Raises
    ------
    RuntimeError
        Without a GPU.

    See Also
    --------
    pycuda.driver.Device

    Examples
    --------
    >>> # needs a GPU
    >>> free, total = drv.mem_get_info()
    >>> 0 <= free <= total
    True
    """
    return Device().mem_info


def memcpy_htod(dest: Any, src: Any) -> None:
    """Copies a host buffer to a device address.

    See Also
    --------
    pycuda.driver.memcpy_htod_async, pycuda.driver.memcpy_dtoh, pycuda.driver.to_device

    Examples
    --------
    >>> data = drv.mem_alloc(8)
    >>> drv.memcpy_htod(data, np.array([1, 2], np.int32))
    >>> back = np.empty(2, np.int32)
    >>> drv.memcpy_dtoh(back, data)
    >>> back
    array([1, 2], dtype=int32)
    """
    data = host_bytes(src)
    if data.size:
        _core.update(bytes_at(int(dest), data.size), _core.from_numpy(data, device_name()))


def memcpy_dtoh(dest: Any, src: Any) -> None:
    """Copies from a device address to a host buffer, filling it.

    See Also
    --------
    pycuda.driver.memcpy_dtoh_async, pycuda.driver.memcpy_htod, pycuda.driver.from_device

    Examples
    --------
    >>> data = drv.mem_alloc(8)
    >>> drv.memcpy_htod(data, np.array([1, 2], np.int32))
    >>> back = np.empty(2, np.int32)
    >>> drv.memcpy_dtoh(back, data)
    >>> back
    array([1, 2], dtype=int32)
    """
    data = host_bytes(dest)
    if data.size:
        _core.to_numpy(bytes_at(int(src), data.size), data)


def memcpy_dtod(dest: Any, src: Any, size: int) -> None:
    """Copies between device addresses.

    See Also
    --------
    pycuda.driver.memcpy_dtod_async, pycuda.driver.memcpy_dtoh, pycuda.driver.memcpy_htod

    Examples
    --------
    >>> data = drv.mem_alloc(8)
    >>> drv.memcpy_htod(data, np.array([1, 2], np.int32))
    >>> other = drv.mem_alloc(8)
    >>> drv.memcpy_dtod(other, data, 8)
    >>> drv.from_device(other, (2,), np.int32)
    array([1, 2], dtype=int32)
    """
    if size:
        _core.update(bytes_at(int(dest), size), bytes_at(int(src), size))


def memcpy_htod_async(dest: Any, src: Any, stream: Any = None) -> None:
    """Performs `memcpy_htod`. All work runs in order, and the host buffer may be changed on return.

    See Also
    --------
    pycuda.driver.memcpy_htod, pycuda.driver.Stream, pycuda.driver.pagelocked_empty

    Examples
    --------
    >>> data = drv.mem_alloc(8)
    >>> drv.memcpy_htod_async(data, np.array([1, 2], np.int32))
    >>> back = np.empty(2, np.int32)
    >>> drv.memcpy_dtoh(back, data)
    >>> back
    array([1, 2], dtype=int32)
    """
    memcpy_htod(dest, src)


def memcpy_dtoh_async(dest: Any, src: Any, stream: Any = None) -> None:
    """Performs `memcpy_dtoh`. All work runs in order, and the copy is complete on return.

    See Also
    --------
    pycuda.driver.memcpy_dtoh, pycuda.driver.Stream, pycuda.driver.pagelocked_empty

    Examples
    --------
    >>> data = drv.mem_alloc(8)
    >>> drv.memcpy_htod(data, np.array([1, 2], np.int32))
    >>> back = np.empty(2, np.int32)
    >>> drv.memcpy_dtoh_async(back, data)
    >>> back
    array([1, 2], dtype=int32)
    """
    memcpy_dtoh(dest, src)


def memcpy_dtod_async(dest: Any, src: Any, size: int, stream: Any = None) -> None:
    """Performs `memcpy_dtod`. All work runs in order.

    See Also
    --------
    pycuda.driver.memcpy_dtod, pycuda.driver.Stream

    Examples
    --------
    >>> data = drv.mem_alloc(8)
    >>> drv.memcpy_htod(data, np.array([1, 2], np.int32))
    >>> other = drv.mem_alloc(8)
    >>> drv.memcpy_dtod_async(other, data, 8)
    >>> drv.from_device(other, (2,), np.int32)
    array([1, 2], dtype=int32)
    """
    memcpy_dtod(dest, src, size)


def _set(dest: Any, value: int, count: int, dtype: str) -> None:
    address, itemsize = int(dest), np.dtype(dtype).itemsize
    if count:
        view = _core.from_address(address, (count,), (1,), dtype, device_name(), None)
        _core.update(view, _core.full((), int(value) % (1 << 8 * itemsize), dtype))


def memset_d8(dest: Any, data: int, count: int) -> None:
    """Fills memory with a byte.

    See Also
    --------
    pycuda.driver.memset_d16, pycuda.driver.memset_d32

    Examples
    --------
    >>> data = drv.mem_alloc(8)
    >>> drv.memcpy_htod(data, np.array([1, 2], np.int32))
    >>> drv.memset_d8(data, 0, 8)
    >>> back = np.empty(2, np.int32)
    >>> drv.memcpy_dtoh(back, data)
    >>> back
    array([0, 0], dtype=int32)
    """
    _set(dest, data, count, "uint8")


def memset_d16(dest: Any, data: int, count: int) -> None:
    """Fills memory with a two-byte word.

    See Also
    --------
    pycuda.driver.memset_d8, pycuda.driver.memset_d32

    Examples
    --------
    >>> data = drv.mem_alloc(8)
    >>> drv.memcpy_htod(data, np.array([1, 2], np.int32))
    >>> drv.memset_d16(data, 0, 4)
    >>> back = np.empty(2, np.int32)
    >>> drv.memcpy_dtoh(back, data)
    >>> back
    array([0, 0], dtype=int32)
    """
    _set(dest, data, count, "uint16")


def memset_d32(dest: Any, data: int, count: int) -> None:
    """Fills memory with a four-byte word.

    See Also
    --------
    pycuda.driver.memset_d8, pycuda.driver.memset_d16

    Examples
    --------
    >>> data = drv.mem_alloc(8)
    >>> drv.memcpy_htod(data, np.array([1, 2], np.int32))
    >>> drv.memset_d32(data, 7, 2)
    >>> back = np.empty(2, np.int32)
    >>> drv.memcpy_dtoh(back, data)
    >>> back
    array([7, 7], dtype=int32)
    """
    _set(dest, data, count, "uint32")


def to_device(bf_obj: Any) -> DeviceAllocation:
    """Allocates device memory and copies a host buffer to it.

    See Also
    --------
    pycuda.driver.from_device, pycuda.driver.mem_alloc, pycuda.driver.memcpy_htod

    Examples
    --------
    >>> drv.from_device(drv.to_device(np.array([1, 2], np.int32)), (2,), np.int32)
    array([1, 2], dtype=int32)
    """
    result = mem_alloc(host_bytes(bf_obj).size)
    memcpy_htod(result, bf_obj)
    return result


def from_device(devptr: Any, shape: Any, dtype: Any, order: str = "C") -> np.ndarray[Any, Any]:
    """Returns a NumPy array with a copy of device memory.

    See Also
    --------
    pycuda.driver.from_device_like, pycuda.driver.to_device, pycuda.driver.memcpy_dtoh

    Examples
    --------
    >>> data = drv.mem_alloc(8)
    >>> drv.memcpy_htod(data, np.array([1, 2], np.int32))
    >>> drv.from_device(data, (2,), np.int32)
    array([1, 2], dtype=int32)
    """
    result = np.empty(shape, dtype, order)  # type: ignore[call-overload]
    memcpy_dtoh(result, devptr)
    return np.asarray(result)


def from_device_like(devptr: Any, other_ary: Any) -> np.ndarray[Any, Any]:
    """Returns a NumPy array, with the shape and dtype of another, that holds a copy of device memory.

    See Also
    --------
    pycuda.driver.from_device, pycuda.driver.to_device

    Examples
    --------
    >>> data = drv.mem_alloc(8)
    >>> drv.memcpy_htod(data, np.array([1, 2], np.int32))
    >>> drv.from_device_like(data, np.empty(2, np.int32))
    array([1, 2], dtype=int32)
    """
    result = np.empty_like(other_ary)
    memcpy_dtoh(result, devptr)
    return np.asarray(result)


# --- host memory: copies go through the engine's pinned buffers, so ordinary memory suffices


def _check_flags(name: str, flags: int) -> None:
    """Raises NotImplementedError for memory that kernels would access directly, under a device address."""
    if flags & host_alloc_flags.DEVICEMAP:
        raise NotImplementedError(
            f"[{name}] DEVICEMAP is not supported; pass driver.InOut(array), or use cuprous.cuda.mapped_array"
        )


def pagelocked_empty(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> np.ndarray[Any, Any]:
    """Returns an uninitialized NumPy array.

    Raises
    ------
    NotImplementedError
        For memory that kernels access directly.

    See Also
    --------
    pycuda.driver.pagelocked_empty_like, pycuda.driver.pagelocked_zeros, pycuda.driver.register_host_memory

    Examples
    --------
    >>> drv.pagelocked_empty((2, 3), np.float32).shape
    (2, 3)
    """
    _check_flags("pagelocked_empty", mem_flags)
    return np.asarray(np.empty(shape, dtype, order))  # type: ignore[call-overload]


def pagelocked_zeros(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> np.ndarray[Any, Any]:
    """Returns a NumPy array of zeros.

    Raises
    ------
    NotImplementedError
        For memory that kernels access directly.

    See Also
    --------
    pycuda.driver.pagelocked_zeros_like, pycuda.driver.pagelocked_empty

    Examples
    --------
    >>> drv.pagelocked_zeros(3, np.float32)
    array([0., 0., 0.], dtype=float32)
    """
    _check_flags("pagelocked_zeros", mem_flags)
    return np.asarray(np.zeros(shape, dtype, order))  # type: ignore[call-overload]


def pagelocked_empty_like(array: Any, mem_flags: int = 0) -> np.ndarray[Any, Any]:
    """Returns an uninitialized NumPy array with the shape and dtype of another.

    Raises
    ------
    NotImplementedError
        For memory that kernels access directly.

    See Also
    --------
    pycuda.driver.pagelocked_empty, pycuda.driver.pagelocked_zeros_like

    Examples
    --------
    >>> drv.pagelocked_empty_like(np.ones(3)).shape
    (3,)
    """
    _check_flags("pagelocked_empty_like", mem_flags)
    return np.empty_like(array)


def pagelocked_zeros_like(array: Any, mem_flags: int = 0) -> np.ndarray[Any, Any]:
    """Returns a NumPy array of zeros with the shape and dtype of another.

    Raises
    ------
    NotImplementedError
        For memory that kernels access directly.

    See Also
    --------
    pycuda.driver.pagelocked_zeros, pycuda.driver.pagelocked_empty_like

    Examples
    --------
    >>> drv.pagelocked_zeros_like(np.ones(3))
    array([0., 0., 0.])
    """
    _check_flags("pagelocked_zeros_like", mem_flags)
    return np.zeros_like(array)


def aligned_empty(shape: Any, dtype: Any, order: str = "C", alignment: int = 4096) -> np.ndarray[Any, Any]:
    """Returns an uninitialized NumPy array whose address is a multiple of `alignment`.

    See Also
    --------
    pycuda.driver.aligned_zeros, pycuda.driver.pagelocked_empty

    Examples
    --------
    >>> drv.aligned_empty(4, np.float32).ctypes.data % 4096
    0
    """
    dtype = np.dtype(dtype)
    count = int(np.prod(shape)) * dtype.itemsize
    whole = np.empty(count + alignment, np.uint8)
    start = -whole.ctypes.data % alignment
    return np.asarray(whole[start : start + count].view(dtype).reshape(shape, order=order))


def aligned_zeros(shape: Any, dtype: Any, order: str = "C", alignment: int = 4096) -> np.ndarray[Any, Any]:
    """Returns an array like `aligned_empty`, filled with zeros.

    See Also
    --------
    pycuda.driver.aligned_empty, pycuda.driver.pagelocked_zeros

    Examples
    --------
    >>> drv.aligned_zeros(4, np.float32)
    array([0., 0., 0., 0.], dtype=float32)
    """
    result = aligned_empty(shape, dtype, order, alignment)
    result[...] = 0
    return result


def register_host_memory(ary: Any, flags: int = 0) -> Any:
    """Returns the array itself, as registration is not needed.

    Raises
    ------
    NotImplementedError
        For memory that kernels access directly.

    See Also
    --------
    pycuda.driver.pagelocked_empty

    Examples
    --------
    >>> x = drv.register_host_memory(np.zeros(1024, np.float32))
    >>> x.shape
    (1024,)
    """
    _check_flags("register_host_memory", flags)
    return ary


# --- argument handlers


class ArgumentHandler:
    """The base class of handlers that pass a NumPy array to a kernel.

    See Also
    --------
    pycuda.driver.In, pycuda.driver.Out, pycuda.driver.InOut

    Examples
    --------
    >>> x = np.ones(2, np.float32)
    >>> drv.ArgumentHandler(x).array
    array([1., 1.], dtype=float32)
    """

    def __init__(self, ary: Any) -> None:
        self.array = ary
        self.dev_alloc: DeviceAllocation | None = None

    def get_device_alloc(self) -> DeviceAllocation:
        """Returns device memory for the array.

        Examples
        --------
        >>> drv.In(np.ones(2, np.float32)).get_device_alloc().array.nbytes
        8
        """
        if self.dev_alloc is None:
            self.dev_alloc = mem_alloc_like(self.array)
        return self.dev_alloc

    def pre_call(self, stream: Any) -> None:
        """Runs before the launch."""

    def post_call(self, stream: Any) -> None:
        """Runs after the launch."""


class In(ArgumentHandler):
    """Copies the array to the device before the launch.

    See Also
    --------
    pycuda.driver.Out, pycuda.driver.InOut

    Examples
    --------
    >>> # needs a GPU
    >>> module = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> x = np.ones(2, np.float32)
    >>> module.get_function("twice")(drv.In(x), block=(2, 1, 1))
    >>> x
    array([1., 1.], dtype=float32)
    """

    def pre_call(self, stream: Any) -> None:
        """Copies it to the device."""
        memcpy_htod(self.get_device_alloc(), self.array)


class Out(ArgumentHandler):
    """Copies the array back after the launch.

    See Also
    --------
    pycuda.driver.In, pycuda.driver.InOut

    Examples
    --------
    >>> # needs a GPU
    >>> y = np.empty(2, np.float32)
    >>> module = SourceModule("__global__ void ones(float *x) { x[threadIdx.x] = 1; }")
    >>> module.get_function("ones")(drv.Out(y), block=(2, 1, 1))
    >>> y
    array([1., 1.], dtype=float32)
    """

    def post_call(self, stream: Any) -> None:
        """Copies it back."""
        memcpy_dtoh(self.array, self.get_device_alloc())


class InOut(In, Out):
    """Copies the array to the device before the launch, and back after it.

    See Also
    --------
    pycuda.driver.In, pycuda.driver.Out

    Examples
    --------
    >>> # needs a GPU
    >>> module = SourceModule("__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
    >>> x = np.ones(2, np.float32)
    >>> module.get_function("twice")(drv.InOut(x), block=(2, 1, 1))
    >>> x
    array([2., 2.], dtype=float32)
    """
