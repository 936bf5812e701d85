"""Page-locked memory of the host, and a pool that keeps what was freed."""

from __future__ import annotations

import ctypes
import functools
import operator
import threading
import weakref
from typing import Any

from cuprous import _core
from cuprous.cuda._mapped import MappedNDArray, driver_memory

#: The smallest block; larger ones are powers of two.
_LEAST = 512


class PinnedMemoryPointer:
    """A block of page-locked memory that supports Python's buffer protocol: `numpy.frombuffer(pointer, dtype)`.
    On a machine without a GPU it is ordinary memory.

    Examples
    --------
    >>> memory = cuda.alloc_pinned_memory(16)
    >>> np.frombuffer(memory, "f8", 2).size
    2
    """

    #: Keeps the block; when it is collected, the block returns to its pool.
    mem: Any

    @property
    def ptr(self) -> int:
        """The address."""
        return ctypes.addressof(self)  # type: ignore[arg-type]

    def size(self) -> int:
        """Returns the number of bytes.

        Returns
        -------
        int

        Examples
        --------
        >>> cuda.alloc_pinned_memory(16).size() >= 16
        True
        """
        return ctypes.sizeof(self)  # type: ignore[arg-type]


@functools.cache
def kind_of_size(size: int) -> Any:
    """Returns the class of pointers to blocks of a size."""
    return type("PinnedMemoryPointer", (PinnedMemoryPointer, ctypes.c_char * size), {})


def new_block(size: int) -> Any:
    on_gpu = _core.get_device() not in ("cpu", "auto")
    return driver_memory(MappedNDArray, size) if on_gpu else ctypes.create_string_buffer(size)


class PinnedMemoryPool:
    """A pool of page-locked memory: blocks that are no longer in use are kept for the next request of their size.

    Parameters
    ----------
    allocator : callable, optional
        For CuPy's signature; only None, the driver's page-locked memory.

    Raises
    ------
    NotImplementedError
        For an allocator.

    See Also
    --------
    get_default_pinned_memory_pool, MemoryPool, cuda.pinned_array

    Examples
    --------
    >>> pool = cp.cuda.PinnedMemoryPool()
    >>> block = pool.malloc(1000)
    >>> del block
    >>> pool.n_free_blocks()
    1
    """

    def __init__(self, allocator: Any = None) -> None:
        if allocator is not None:
            raise NotImplementedError("[PinnedMemoryPool] allocator= is not supported; blocks are the driver's")
        self._free: dict[int, list[Any]] = {}
        self._lock = threading.RLock()  # a block may be collected while the pool is in use

    def malloc(self, size: int) -> PinnedMemoryPointer:
        """Returns a block of at least `size` bytes.

        Parameters
        ----------
        size : int
            The number of bytes.

        Returns
        -------
        PinnedMemoryPointer

        Examples
        --------
        >>> cp.cuda.PinnedMemoryPool().malloc(1000).size()
        1024
        """
        size = operator.index(size)
        rounded = max(_LEAST, 1 << (size - 1).bit_length()) if size else _LEAST
        with self._lock:
            kept = self._free.get(rounded)
            block = kept.pop() if kept else None
        block = new_block(rounded) if block is None else block
        pointer: PinnedMemoryPointer = kind_of_size(rounded).from_address(ctypes.addressof(block))
        pointer.mem = block
        weakref.finalize(pointer, self._give_back, rounded, block).atexit = False
        return pointer

    def _give_back(self, size: int, block: Any) -> None:
        with self._lock:
            self._free.setdefault(size, []).append(block)

    def n_free_blocks(self) -> int:
        """Returns the number of blocks that are kept and not in use.

        Returns
        -------
        int

        Examples
        --------
        >>> cp.cuda.PinnedMemoryPool().n_free_blocks()
        0
        """
        with self._lock:
            return sum(map(len, self._free.values()))

    def free_all_blocks(self) -> None:
        """Frees the blocks that are not in use.

        Examples
        --------
        >>> cp.get_default_pinned_memory_pool().free_all_blocks()
        """
        with self._lock:
            self._free.clear()


_POOL = PinnedMemoryPool()


def get_default_pinned_memory_pool() -> PinnedMemoryPool:
    """Returns the pool of pinned host memory.

    Returns
    -------
    PinnedMemoryPool

    See Also
    --------
    get_default_memory_pool

    Examples
    --------
    >>> type(cp.get_default_pinned_memory_pool()).__name__
    'PinnedMemoryPool'
    """
    return _POOL


__all__ = ["PinnedMemoryPool", "get_default_pinned_memory_pool"]
