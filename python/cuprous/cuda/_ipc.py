"""Device memory that another process opens by a handle."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cuprous import _core
from cuprous._common.arguments import ndarray
from cuprous._common.convert import from_cuda_interface
from cuprous.cuda._arrays import current_context, synchronize
from cuprous.cuda._device import is_available


class _Handle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_byte * 64),)


class DriverHandle(NamedTuple):
    """The driver's handle of the memory: 64 bytes."""

    reserved: bytes


def _driver() -> Any:
    if not is_available():
        raise RuntimeError("handles of device memory need a GPU: arrays on the CPU are shared through shared memory")
    if _core.hip_version() is not None:
        raise RuntimeError(
            "handles of device memory (IPC) are not supported on a GPU of AMD; take the array to the host with "
            "cuprous.asnumpy and share it through multiprocessing.shared_memory"
        )
    for name in ("libcuda.so.1", "nvcuda.dll"):
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    raise RuntimeError("the CUDA driver's library was not found")


def _check(what: str, status: int) -> None:
    if status:
        raise RuntimeError(f"[{what}] the driver says {status}")


class IpcHandle:
    """A handle of device memory. Other processes open it by `open_array`; the owning process cannot.

    Parameters
    ----------
    handle : bytes
        The driver's 64 bytes.
    size : int
        The number of bytes.
    offset : int
        The bytes before the array in the driver's allocation.
    device : int
        The GPU's number.

    Examples
    --------
    >>> if cuda.is_available():
    ...     handle = cuda.current_context().get_ipc_handle(cp.ones(3))
    """

    def __init__(self, handle: bytes, size: int, offset: int, device: int) -> None:
        self._handle = handle
        #: Numba's attribute; None, since the array owns the memory.
        self.base = None
        self.size = size
        #: The array's offset in bytes in the driver's allocation.
        self.offset = offset
        self.device = device
        self._opened: int | None = None

    @classmethod
    def of(cls, address: int, size: int, device: int) -> IpcHandle:
        """Returns the handle of memory of this process.

        Parameters
        ----------
        address : int
            The address.
        size : int
            The number of bytes.
        device : int
            The GPU's number.

        Returns
        -------
        IpcHandle

        Examples
        --------
        >>> if cuda.is_available():
        ...     x = cp.ones(3)
        ...     handle = cuda.IpcHandle.of(x.data.ptr, x.nbytes, 0)
        """
        driver = _driver()
        base, length = ctypes.c_uint64(), ctypes.c_size_t()
        _check("cuMemGetAddressRange", driver.cuMemGetAddressRange_v2(
            ctypes.byref(base), ctypes.byref(length), ctypes.c_uint64(address)))  # fmt: skip
        handle = _Handle()
        _check("get_ipc_handle", driver.cuIpcGetMemHandle(ctypes.byref(handle), base))
        return cls(bytes(handle), size, address - base.value, device)

    @property
    def handle(self) -> DriverHandle:
        """The driver's handle; its 64 bytes are `.reserved`."""
        return DriverHandle(self._handle)

    def open_array(self, context: Any, shape: Any, dtype: Any, strides: Any = None) -> ndarray:
        """Opens the array in another process than the owner's. `close` releases it.

        Parameters
        ----------
        context : object
            For Numba's signature; it has no effect.
        shape : int or tuple of ints
            The extents.
        dtype : dtype
            The dtype.
        strides : tuple of ints, optional
            For Numba's signature; only None.

        Returns
        -------
        ndarray
            An array on the memory.

        Raises
        ------
        NotImplementedError
            For `strides`.
        RuntimeError
            In the process that owns the memory, and if the driver fails.
        ValueError
            If the handle is already open.

        Examples
        --------
        >>> x = handle.open_array(cuda.current_context(), shape=(3,), dtype=np.float64)  # doctest: +SKIP
        """
        if self._opened is not None:
            raise ValueError("IpcHandle is already opened")
        if strides is not None:
            raise NotImplementedError("[open_array] strides= is not supported; open all of it and take a view")

        synchronize()  # the context is current afterwards
        driver = _driver()
        found = ctypes.c_uint64()
        opened = driver.cuIpcOpenMemHandle_v2(
            ctypes.byref(found), _Handle.from_buffer_copy(self._handle), ctypes.c_uint(1)
        )
        _check("open_ipc_array", opened)
        self._opened = found.value
        size = shape if isinstance(shape, tuple) else (int(shape),)
        interface = {
            "shape": size, "typestr": np.dtype(dtype).str, "data": (found.value + self.offset, False), "version": 3,
            "strides": None, "stream": None,
        }  # fmt: skip
        return from_cuda_interface(self, interface)

    def close(self) -> None:
        """Releases the opened memory.

        Examples
        --------
        >>> handle.close()  # doctest: +SKIP
        """
        if self._opened is not None:
            synchronize()
            _driver().cuIpcCloseMemHandle(ctypes.c_uint64(self._opened))
            self._opened = None

    def __reduce__(self) -> Any:
        return IpcHandle, (self._handle, self.size, self.offset, self.device)


class IpcArrayHandle:
    """A handle that is pickled to another process, where `with handle as array:` opens the array.

    Parameters
    ----------
    ipc_handle : IpcHandle
        The handle of its memory.
    array_desc : dict
        A dict of "shape", "strides" and "dtype".

    Examples
    --------
    >>> with handle as x:  # doctest: +SKIP
    ...     print(x.sum())
    """

    def __init__(self, ipc_handle: IpcHandle, array_desc: dict[str, Any]) -> None:
        self._ipc_handle = ipc_handle
        self._array_desc = array_desc

    def open(self) -> ndarray:
        """Returns the array on the memory of the owning process."""
        return self._ipc_handle.open_array(current_context(), **self._array_desc)

    def close(self) -> None:
        """Releases the array."""
        self._ipc_handle.close()

    def __enter__(self) -> ndarray:
        return self.open()

    def __exit__(self, *exc: Any) -> None:
        self.close()


def handle_of(array: Any) -> IpcArrayHandle:
    """The handle of an array on a GPU.

    Raises
    ------
    NotImplementedError
        For an array with gaps.
    RuntimeError
        For one on the CPU.
    """
    if not hasattr(array, "__cuda_array_interface__"):
        raise RuntimeError("get_ipc_handle needs an array on a GPU; on the CPU use multiprocessing.shared_memory")
    interface = array.__cuda_array_interface__
    if interface.get("strides") is not None:
        raise NotImplementedError("get_ipc_handle of an array with gaps is not supported; copy it first")
    synchronize()
    size = int(np.prod(array.shape)) * array.dtype.itemsize
    handle = IpcHandle.of(interface["data"][0], size, array.device.id)
    return IpcArrayHandle(handle, {"shape": tuple(array.shape), "dtype": array.dtype})


@contextlib.contextmanager
def open_ipc_array(handle: Any, shape: Any, dtype: Any, strides: Any = None, offset: int = 0) -> Iterator[ndarray]:
    """Returns a context manager that opens the array of a handle's 64 bytes.

    Parameters
    ----------
    handle : bytes
        The bytes.
    shape : int or tuple of ints
        The extents.
    dtype : dtype
        The dtype.
    strides : tuple of ints, optional
        For Numba's signature; only None.
    offset : int, default 0
        The bytes before the array in the driver's allocation.

    Returns
    -------
    context manager
        A context manager, whose value is the array.

    Raises
    ------
    NotImplementedError
        For `strides`.
    RuntimeError
        Without a GPU, and if the driver fails.

    Examples
    --------
    >>> with cuda.open_ipc_array(handle, shape=(3,), dtype=np.float64) as x:  # doctest: +SKIP
    ...     print(x.sum())
    """
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    opened = IpcHandle(bytes(handle), size, offset, 0)
    try:
        yield opened.open_array(None, shape, dtype, strides)
    finally:
        opened.close()
