"""Devices, memory pools, and information about the engine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, overload

from cuprous import _core

_F = TypeVar("_F", bound=Callable[..., Any])


def show_code(array: _core.ndarray | None = None, device: str | None = None) -> str:
    """Returns the code generated for a pending array, or for the last program.

    Parameters
    ----------
    array : ndarray, optional
        An array that is not computed yet.
    device : str, optional
        "cuda" shows the CUDA C++ that an H200 would run, also on a machine without a GPU; by default the code for the
        array's own device.

    Returns
    -------
    str
        The code, C++ or LLVM's language.

    See Also
    --------
    explain

    Examples
    --------
    >>> a = cp.arange(3) + 1.5
    >>> "__global__" in cp.show_code(a, device="cuda")
    True
    """
    return _core.show_code(array, device)


def synchronize() -> None:
    """Submits the recorded operations and waits for them. Errors of the device are raised here at the latest.

    See Also
    --------
    timeit, paced

    Examples
    --------
    >>> a = cp.ones(3) + 1
    >>> cp.synchronize()
    """
    _core.synchronize()


def device_word(device: Any) -> str:
    """Returns the name of a device for a string, a number or a `cuprous.cuda.Device`; "cuda" is the first GPU."""
    if isinstance(device, str):
        return "cuda:0" if device in ("cuda", "gpu") else device
    index = getattr(device, "id", device)
    if isinstance(index, int):
        return f"cuda:{index}"
    raise TypeError(f"not a device: {device!r}; use 'cpu', 'cuda' or cuprous.cuda.Device(i)")


def set_device(device: Any) -> None:
    """Makes "cpu", "cuda", "hip" or "auto" the device of new arrays.

    With "auto" each program runs on the CPU or on the GPU, whichever the model of `cuprous.estimate` predicts to be
    faster, given where its data are. `explain()` says why. Data are moved if that pays off, but not back and forth.
    Without a usable GPU all programs run on the CPU. Measurements by `cuprous calibrate` improve the model.

    Parameters
    ----------
    device : str or Device
        "cpu", "cuda", "cuda:1", "auto", or a `cuprous.cuda.Device`. "hip" and "hip:1" are GPUs of AMD; "cuda" is a GPU
        of any maker.

    Raises
    ------
    RuntimeError
        If the device cannot be used, with the cause.

    See Also
    --------
    get_device

    Examples
    --------
    >>> before = cp.get_device()
    >>> cp.set_device("cpu")
    >>> cp.get_device()
    'cpu'
    >>> cp.set_device(before)
    """
    _core.set_device(device_word(device))


def get_device() -> str:
    """Returns the device of new arrays.

    Returns
    -------
    str
        A string: "cpu", "auto", or "cuda:0" with the number of a GPU, which is "hip:0" on a GPU of AMD.

    See Also
    --------
    set_device

    Examples
    --------
    >>> cp.ones(3).device_name == cp.get_device()
    True
    """
    return _core.get_device()


current_device = get_device


class MemoryPool:
    """The engine's memory pool on a device, with CuPy's methods.

    Parameters
    ----------
    allocator : callable, optional
        For CuPy's signature; only None, the engine's own memory.
    device : str, optional
        The name of the device; by default the current device.

    Raises
    ------
    NotImplementedError
        For an allocator.

    See Also
    --------
    get_default_memory_pool, PinnedMemoryPool

    Examples
    --------
    >>> pool = cp.get_default_memory_pool()
    >>> pool.used_bytes() <= pool.total_bytes()
    True
    """

    def __init__(self, allocator: Any = None, *, device: str | None = None) -> None:
        if allocator is not None:
            raise NotImplementedError("[MemoryPool] allocator= is not supported; arrays are in the engine's own pool")
        self._device = device

    def malloc(self, size: int) -> Any:
        """Allocates memory on the default device, as `cuda.alloc` does.

        Parameters
        ----------
        size : int
            The number of bytes.

        Returns
        -------
        MemoryPointer

        Examples
        --------
        >>> memory = cp.get_default_memory_pool().malloc(16)
        >>> memory.memset(0, 16)
        """
        return _core.empty((size,), "uint8").data

    @property
    def _name(self) -> str:
        return self._device or _core.get_device()

    def _stat(self, name: str) -> int:
        return _core.memory_stats(self._name)[name]

    def used_bytes(self) -> int:
        """Returns the number of bytes in use by arrays.

        Returns
        -------
        int

        Examples
        --------
        >>> pool = cp.get_default_memory_pool()
        >>> pool.used_bytes() >= 0
        True
        """
        return self._stat("used_bytes")

    def free_bytes(self) -> int:
        """Returns the number of reserved bytes that are not in use.

        Returns
        -------
        int

        Examples
        --------
        >>> pool = cp.get_default_memory_pool()
        >>> pool.free_bytes() >= 0
        True
        """
        return self._stat("free_bytes")

    def total_bytes(self) -> int:
        """Returns the number of reserved bytes.

        Returns
        -------
        int

        Examples
        --------
        >>> pool = cp.get_default_memory_pool()
        >>> pool.total_bytes() >= pool.used_bytes()
        True
        """
        return self._stat("total_bytes")

    def n_free_blocks(self) -> int:
        """Returns the number of reserved blocks that are not in use.

        Returns
        -------
        int

        Examples
        --------
        >>> cp.get_default_memory_pool().n_free_blocks() >= 0
        True
        """
        return self._stat("n_free_blocks")

    def get_limit(self) -> int:
        """Returns the limit in bytes; 0 means that there is no limit.

        Returns
        -------
        int

        Examples
        --------
        >>> cp.get_default_memory_pool().get_limit() >= 0
        True
        """
        return self._stat("limit_bytes")

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Limits the pool to a number of bytes, or to a fraction of the GPU's memory; 0 removes the limit.

        Parameters
        ----------
        size : int, optional
            The number of bytes.
        fraction : float, optional
            The part of the GPU's memory, 0 to 1.

        Raises
        ------
        ValueError
            For an invalid value, and if both are passed.

        Examples
        --------
        >>> pool = cp.get_default_memory_pool()
        >>> pool.set_limit(fraction=0.5)  # doctest: +SKIP
        >>> pool.set_limit(0)
        """
        if fraction is not None:
            if size is not None:
                raise ValueError("size and fraction cannot be specified at the same time")
            if not 0 <= fraction <= 1:
                raise ValueError("memory limit fraction out of range: " + str(fraction))
            size = int(fraction * int(_core.device_properties()["totalGlobalMem"]))
        if size is None:
            size = 0
        if size < 0:
            raise ValueError("memory limit size out of range: " + str(size))
        _core.set_memory_limit(self._name, size)

    def free_all_blocks(self, stream: Any = None) -> None:
        """Frees all unused memory.

        Parameters
        ----------
        stream : Stream, optional
            Has no effect, because all work runs on one stream.

        Examples
        --------
        >>> cp.get_default_memory_pool().free_all_blocks()
        """
        _core.trim_memory(self._name)

    def free_all_free(self) -> None:
        """Does the same as `free_all_blocks`.

        Examples
        --------
        >>> cp.get_default_memory_pool().free_all_free()
        """
        self.free_all_blocks()


_POOL = MemoryPool()


def get_default_memory_pool() -> MemoryPool:
    """Returns the memory pool of the default device.

    Returns
    -------
    MemoryPool

    See Also
    --------
    get_default_pinned_memory_pool

    Examples
    --------
    >>> type(cp.get_default_memory_pool()).__name__
    'MemoryPool'
    """
    return _POOL


@overload
def fuse(func: _F, /) -> _F: ...
@overload
def fuse(*args: Any, **kwargs: Any) -> Callable[[_F], _F]: ...
def fuse(*args: Any, **kwargs: Any) -> Any:
    """Returns the function unchanged: all operations are fused anyway. Exists for compatibility with CuPy.

    Parameters
    ----------
    *args : callable
        A function, or nothing to use the call as a decorator.
    **kwargs : any
        `kernel_name`, which has no effect.

    Returns
    -------
    callable
        The function, or a decorator that returns it.

    Raises
    ------
    TypeError
        For other arguments than CuPy's: a function, or `kernel_name`.

    See Also
    --------
    vectorize, ElementwiseKernel, ReductionKernel

    Examples
    --------
    >>> @cp.fuse
    ... def f(x, y):
    ...     return x * y + 1
    >>> f(cp.arange(3), 10)
    array([ 1, 11, 21])
    """
    if unknown := kwargs.keys() - {"kernel_name"}:
        raise TypeError(f"fuse() got an unexpected keyword argument '{min(unknown)}'")
    if len(args) > 1 or not all(map(callable, args)):
        raise TypeError("fuse() takes one function, or none")
    return args[0] if args else lambda func: func


def show_config() -> None:
    """Prints versions, devices and memory.

    See Also
    --------
    torch.__config__.show

    Examples
    --------
    >>> cp.show_config()
    Cuprous version         : ...
    """
    for name, value in config().items():
        print(f"{name:<24}: {value}")


def config() -> dict[str, Any]:
    """Returns the names and values that `show_config` prints."""
    facts: dict[str, Any] = {
        "Cuprous version": _core.__version__,
        "Python version": sys.version.split()[0],
        "Default device": _core.get_device(),
        "Usable GPUs": _core.device_count(),
    }
    numpy = sys.modules.get("numpy")
    facts["NumPy version"] = numpy.__version__ if numpy is not None else "(not imported)"
    if _core.device_count():
        for key, value in _core.device_properties(0).items():
            facts[f"GPU 0 {key}"] = value
    elif reason := _core.unusable_gpu_reason():
        facts["GPU not usable"] = reason
    return facts


__all__ = [
    "MemoryPool", "fuse", "get_default_memory_pool", "get_device", "set_device", "show_code", "show_config",
    "synchronize",
]  # fmt: skip
