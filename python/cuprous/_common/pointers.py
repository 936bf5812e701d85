"""Memory by its address: CuPy's `MemoryPointer`, the type of `array.data` and of the result of `cuda.alloc`."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ndarray
from cuprous._common.convert import c_strides


def bytes_at(address: int, count: int, owner: Any = None, device: str | None = None) -> ndarray:
    """Returns a view of memory as bytes; `device` is the default device if None."""
    return _core.from_address(address, (count,), (1,), "uint8", device or _core.get_device(), owner)


class MemoryPointer:
    """A pointer into an array's memory, which it keeps alive: `array.data.ptr` is the address.

    Parameters
    ----------
    array : ndarray
        The array.
    offset : int, default 0
        Bytes from the array's first element.

    See Also
    --------
    cuda.alloc

    Examples
    --------
    >>> x = cp.arange(3, dtype="float32")
    >>> (x.data + 4).ptr - x.data.ptr
    4
    """

    __slots__ = ("_array", "_offset")

    def __init__(self, array: ndarray, offset: int = 0) -> None:
        self._array = array
        self._offset = offset

    @property
    def ptr(self) -> int:
        """The address."""
        return self._array.address() + self._offset

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryPointer) and (other.ptr, other.device) == (self.ptr, self.device)

    def __hash__(self) -> int:
        return hash(self.ptr)

    @property
    def device(self) -> Any:
        """The device that the memory is on."""
        device: Any = self._array.device
        return device

    def _bytes(self, size: int) -> ndarray:
        return bytes_at(self.ptr, size, self._array, self._array.device_name)

    def copy_from_device(self, src: MemoryPointer, size: int) -> None:
        """Copies bytes from other device memory.

        Parameters
        ----------
        src : MemoryPointer
            A pointer to them.
        size : int
            The number of bytes.

        Examples
        --------
        >>> x, y = cp.arange(3), cp.zeros(3, dtype=int)
        >>> y.data.copy_from_device(x.data, x.nbytes)
        >>> y
        array([0, 1, 2])
        """
        if size:
            _core.update(self._bytes(size), src._bytes(size))

    def copy_from_host(self, mem: Any, size: int) -> None:
        """Copies bytes from the host.

        Parameters
        ----------
        mem : int or object
            A host address, as an int or a ctypes pointer, or an object with a buffer.
        size : int
            The number of bytes.

        Raises
        ------
        ValueError
            For a buffer that is not contiguous, or has fewer bytes.

        Examples
        --------
        >>> x = cp.zeros(3, dtype=int)
        >>> x.data.copy_from_host(np.arange(3), x.nbytes)
        >>> x
        array([0, 1, 2])
        """
        if size:
            _core.update(self._bytes(size), _core.from_numpy(_host(mem, size), self._array.device_name))

    def copy_from(self, mem: Any, size: int) -> None:
        """Copies bytes from device or host memory.

        Parameters
        ----------
        mem : int or object
            A pointer to device memory, or what `copy_from_host` takes.
        size : int
            The number of bytes.

        Examples
        --------
        >>> x = cp.zeros(3, dtype=int)
        >>> x.data.copy_from(np.arange(3), x.nbytes)
        >>> x
        array([0, 1, 2])
        """
        (self.copy_from_device if isinstance(mem, MemoryPointer) else self.copy_from_host)(mem, size)

    def copy_to_host(self, mem: Any, size: int) -> None:
        """Copies bytes to the host.

        Parameters
        ----------
        mem : int or object
            A host address, as an int or a ctypes pointer, or an object with a buffer.
        size : int
            The number of bytes.

        Raises
        ------
        ValueError
            For a buffer that is not contiguous, or has fewer bytes.

        Examples
        --------
        >>> x, host = cp.arange(3), np.zeros(3, dtype=int)
        >>> x.data.copy_to_host(host, x.nbytes)
        >>> host
        array([0, 1, 2])
        """
        if size:
            _core.to_numpy(self._bytes(size), _host(mem, size))

    def memset(self, value: int, size: int) -> None:
        """Sets bytes to a value.

        Parameters
        ----------
        value : int
            The value, of which the lowest 8 bits count.
        size : int
            The number of bytes.

        Examples
        --------
        >>> x = cp.ones(3, dtype=int)
        >>> x.data.memset(0, x.nbytes)
        >>> x
        array([0, 0, 0])
        """
        if size:
            _core.update(self._bytes(size), _core.full((), int(value) % 256, "uint8"))

    # All work runs in order on one stream, so the asynchronous methods ignore `stream`.

    def copy_from_device_async(self, src: MemoryPointer, size: int, stream: Any = None) -> None:
        """Copies bytes from other device memory, in order with all other work.

        Parameters
        ----------
        src : MemoryPointer
            A pointer to them.
        size : int
            The number of bytes.
        stream : Stream, optional
            Has no effect: all work runs in order.

        Examples
        --------
        >>> x, y = cp.arange(3), cp.zeros(3, dtype=int)
        >>> y.data.copy_from_device_async(x.data, x.nbytes)
        >>> y
        array([0, 1, 2])
        """
        self.copy_from_device(src, size)

    def copy_from_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Copies bytes from the host, in order with all other work.

        Parameters
        ----------
        mem : int or object
            What `copy_from_host` takes.
        size : int
            The number of bytes.
        stream : Stream, optional
            Has no effect: all work runs in order.

        Examples
        --------
        >>> x = cp.zeros(3, dtype=int)
        >>> x.data.copy_from_host_async(np.arange(3), x.nbytes)
        >>> x
        array([0, 1, 2])
        """
        self.copy_from_host(mem, size)

    def copy_from_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Copies bytes from device or host memory, in order with all other work.

        Parameters
        ----------
        mem : int or object
            What `copy_from` takes.
        size : int
            The number of bytes.
        stream : Stream, optional
            Has no effect: all work runs in order.

        Examples
        --------
        >>> x = cp.zeros(3, dtype=int)
        >>> x.data.copy_from_async(np.arange(3), x.nbytes)
        >>> x
        array([0, 1, 2])
        """
        self.copy_from(mem, size)

    def copy_to_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Copies bytes to the host, in order with all other work. The copy is finished on return.

        Parameters
        ----------
        mem : int or object
            What `copy_to_host` takes.
        size : int
            The number of bytes.
        stream : Stream, optional
            Has no effect: all work runs in order.

        Examples
        --------
        >>> x, host = cp.arange(3), np.zeros(3, dtype=int)
        >>> x.data.copy_to_host_async(host, x.nbytes)
        >>> host
        array([0, 1, 2])
        """
        self.copy_to_host(mem, size)

    def memset_async(self, value: int, size: int, stream: Any = None) -> None:
        """Sets bytes to a value, in order with all other work.

        Parameters
        ----------
        value : int
            The value, of which the lowest 8 bits count.
        size : int
            The number of bytes.
        stream : Stream, optional
            Has no effect: all work runs in order.

        Examples
        --------
        >>> x = cp.ones(3, dtype=int)
        >>> x.data.memset_async(0, x.nbytes)
        >>> x
        array([0, 0, 0])
        """
        self.memset(value, size)

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self._array, self._offset + offset)

    __radd__ = __add__

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + -offset

    def __repr__(self) -> str:
        return f"<MemoryPointer {self.ptr:#x} on {self._array.device_name}>"


def _host(mem: Any, size: int) -> Any:
    import ctypes

    import numpy as np

    if isinstance(mem, (int, ctypes._Pointer, ctypes.c_void_p)):
        address = mem if isinstance(mem, int) else ctypes.cast(mem, ctypes.c_void_p).value
        return np.ctypeslib.as_array(ctypes.cast(address or 0, ctypes.POINTER(ctypes.c_uint8)), (size,))
    flat = np.asarray(mem).reshape(-1)
    if flat.nbytes < size:
        raise ValueError(f"{flat.nbytes} bytes at the host, {size} to copy")
    if flat.size and not np.shares_memory(flat, mem):
        raise ValueError("only contiguous memory of the host is copied; use numpy.ascontiguousarray")
    return flat.view(np.uint8)[:size]


def alloc(size: int) -> MemoryPointer:
    """Allocates memory on the default device, which is freed with the last reference to it.

    Parameters
    ----------
    size : int
        The number of bytes.

    Returns
    -------
    MemoryPointer

    See Also
    --------
    cuda.MemoryPointer

    Examples
    --------
    >>> memory = cuda.alloc(16)
    >>> memory.memset(0, 16)
    """
    return MemoryPointer(_core.empty((size,), "uint8"))


def at(memptr: Any, shape: tuple[int, ...], dtype: str, strides: Any, order: str) -> ndarray:
    """Returns an array on existing memory: `memptr` has `.ptr` and is kept alive. Strides are in bytes; None means
    those of a contiguous array in `order`.

    Raises
    ------
    NotImplementedError
        For strides that are not multiples of the item size.
    """
    itemsize = dtypes.itemsize(dtype)
    if strides is None:
        steps = c_strides(shape[::-1])[::-1] if order == "F" else c_strides(shape)
    elif any(n % itemsize for n in strides):
        raise NotImplementedError(f"[ndarray] strides={strides} are not multiples of the {itemsize} bytes of {dtype}")
    else:
        steps = tuple(n // itemsize for n in strides)
    return _core.from_address(int(memptr.ptr), shape, steps, dtype, _core.get_device(), memptr)
