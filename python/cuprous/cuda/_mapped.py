"""NumPy arrays in memory that host and device share: `mapped_array`, `managed_array`."""

from __future__ import annotations

import ctypes
import math
import weakref
from typing import Any

import numpy as np

from cuprous import _core
from cuprous.cuda._arrays import order_of
from cuprous.cuda._ipc import _check, _driver

#: Flags of the driver: portable, device-mapped and write-combined host memory.
_PORTABLE, _DEVICEMAP, _WRITECOMBINED = 1, 2, 4
#: Flags of the driver: managed memory attached globally, or to the host at first.
_GLOBAL, _HOST = 1, 2


class MappedNDArray(np.ndarray):
    """A NumPy array in memory that host and device share. Launches do not warn about it. With a GPU it has
    `__cuda_array_interface__`; launches of `cuda.jit` copy it there and back all the same.
    """

    #: The driver's memory, owned by the array; None if NumPy allocated it.
    _memory: Any = None
    #: The stream that it is bound to, or 0.
    stream: Any = 0

    def __array_finalize__(self, parent: Any) -> None:
        self._memory = getattr(parent, "_memory", None)
        self.stream = getattr(parent, "stream", 0)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        memory, face = self._memory, self.__array_interface__
        place = face["data"][0]
        # Results of arithmetic also have this class, but their memory is NumPy's.
        if memory is None or not 0 <= place - ctypes.addressof(memory) <= len(memory):
            raise AttributeError("an array in memory of the host alone has no attribute '__cuda_array_interface__'")
        return {**face, "version": 3, "stream": (int(self.stream.handle) or 1) if self.stream else None}


class ManagedNDArray(MappedNDArray):
    """A NumPy array in managed memory, whose pages the driver migrates."""


def _release(context: Any, name: str, address: int) -> None:
    driver = _driver()
    if driver.cuCtxPushCurrent_v2(context) == 0:  # the context may not be current on this thread
        getattr(driver, name)(ctypes.c_uint64(address))
        driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


def driver_memory(kind: type[MappedNDArray], size: int, flags: int = _PORTABLE) -> Any:
    """Allocates managed or page-locked memory, which is freed with its last reference."""
    _core.synchronize()  # the context is current afterwards
    driver, found = _driver(), ctypes.c_uint64()
    allocate, free = (
        ("cuMemAllocManaged", "cuMemFree_v2") if kind is ManagedNDArray else ("cuMemHostAlloc", "cuMemFreeHost")
    )
    _check(allocate, getattr(driver, allocate)(ctypes.byref(found), ctypes.c_size_t(size), ctypes.c_uint(flags)))
    context = ctypes.c_void_p()
    _check("cuCtxGetCurrent", driver.cuCtxGetCurrent(ctypes.byref(context)))
    memory = (ctypes.c_char * size).from_address(found.value)
    weakref.finalize(memory, _release, context, free, found.value).atexit = False
    return memory


def shared(
    what: str, kind: type[MappedNDArray], shape: Any, dtype: Any, strides: Any, order: str, stream: Any, flags: int
) -> Any:
    """Creates an array of this kind: in the driver's memory if kernels run on a GPU, otherwise in NumPy's."""
    if strides is not None:
        raise NotImplementedError(f"[{what}] strides= is not supported; use order=")
    dtype = np.dtype(dtype)
    size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * dtype.itemsize
    if size and not dtype.hasobject and _core.get_device() not in ("cpu", "auto"):
        memory = driver_memory(kind, size, flags)
        array = np.ndarray(shape, dtype, memory, order=order).view(kind)  # type: ignore[arg-type]
        array._memory = memory
    else:
        array = np.empty(shape, dtype, order).view(kind)  # type: ignore[call-overload]
    array.stream = stream or 0
    return array


def mapped_array(
    shape: Any, dtype: Any = float, strides: Any = None, order: str = "C", stream: Any = 0, portable: bool = False,
    wc: bool = False,
) -> Any:  # fmt: skip
    """Returns a NumPy array in pinned memory where kernels run on a GPU.

    Launches take it: on a GPU they get and return a copy, and on the CPU they use it in place.

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
    stream : int, default 0
        What `__cuda_array_interface__` names for other libraries to wait for.
    portable : bool, default False
        Has no effect: all contexts see the memory.
    wc : bool, default False
        Whether memory is write-combined: writes bypass the CPU's cache, and reads are slow.

    Returns
    -------
    numpy.ndarray
        A NumPy array.

    Raises
    ------
    NotImplementedError
        For `strides`.
    RuntimeError
        If the driver fails.

    Examples
    --------
    >>> x = cuda.mapped_array(3)
    >>> x[:] = 1
    >>> x.sum()
    MappedNDArray(3.)
    """
    flags = _PORTABLE | _DEVICEMAP | (_WRITECOMBINED if wc else 0)
    return shared("mapped_array", MappedNDArray, shape, dtype, strides, order, stream, flags)


def mapped_array_like(ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False) -> Any:
    """Returns a `mapped_array` of the shape, dtype and order of another array.

    Parameters
    ----------
    ary : array_like
        The other array.
    stream : int, default 0
        What `__cuda_array_interface__` names for other libraries to wait for.
    portable : bool, default False
        Has no effect: all contexts see the memory.
    wc : bool, default False
        Whether memory is write-combined: writes bypass the CPU's cache, and reads are slow.

    Returns
    -------
    numpy.ndarray
        A NumPy array.

    Examples
    --------
    >>> cuda.mapped_array_like(np.ones((2, 3))).shape
    (2, 3)
    """
    return mapped_array(ary.shape, ary.dtype, order=order_of(ary), stream=stream, wc=wc)


def managed_array(
    shape: Any, dtype: Any = float, strides: Any = None, order: str = "C", stream: Any = 0, attach_global: bool = True
) -> Any:
    """Returns a NumPy array in memory that the driver moves between host and GPU. Launches take it as a `mapped_array`.

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
    stream : int, default 0
        What `__cuda_array_interface__` names for other libraries to wait for.
    attach_global : bool, default True
        Whether all streams of all GPUs can access it from the start.

    Returns
    -------
    numpy.ndarray
        A NumPy array.

    Raises
    ------
    NotImplementedError
        For `strides`.
    RuntimeError
        If the driver fails.

    Examples
    --------
    >>> x = cuda.managed_array(3)
    >>> x[:] = 1
    >>> x.sum()
    ManagedNDArray(3.)
    """
    return shared(
        "managed_array", ManagedNDArray, shape, dtype, strides, order, stream, _GLOBAL if attach_global else _HOST
    )
