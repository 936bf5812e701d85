"""CuPy's functions that choose an allocator. All memory comes from the engine's pool, so they accept that alone."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from cuprous._common.device import MemoryPool, get_default_memory_pool
from cuprous._common.pointers import alloc

Allocator = Callable[[int], Any]


class _Chosen(threading.local):
    inner: Allocator | None = None


_everywhere: list[Allocator] = [get_default_memory_pool().malloc]
_chosen = _Chosen()


def _checked(what: str, allocator: Any) -> Allocator:
    if allocator is None or allocator is alloc:
        return alloc
    if isinstance(getattr(allocator, "__self__", None), MemoryPool):
        pooled: Allocator = allocator
        return pooled
    raise NotImplementedError(
        f"[{what}] {allocator!r} is not supported: arrays are in the engine's own pool; pass None or a MemoryPool's "
        "malloc, and bound it with set_limit"
    )


def set_allocator(allocator: Allocator | None = None) -> None:
    """Sets the allocator of all threads. Each `MemoryPool` is the engine's pool, so arrays are where they were.

    Parameters
    ----------
    allocator : callable, optional
        The method `malloc` of a `MemoryPool`, or None.

    Raises
    ------
    NotImplementedError
        For other allocators.
    ValueError
        Inside of `using_allocator`.

    Examples
    --------
    >>> cuda.set_allocator(cuda.MemoryPool().malloc)
    """
    if _chosen.inner is not None:
        raise ValueError("Can't change the global allocator inside `using_allocator` context manager")
    _everywhere[0] = _checked("set_allocator", allocator)


def get_allocator() -> Allocator:
    """Returns the current allocator: a function of a number of bytes.

    Returns
    -------
    callable
        A function that returns a `MemoryPointer`.

    Examples
    --------
    >>> memory = cuda.get_allocator()(16)
    >>> memory.memset(0, 16)
    """
    return _everywhere[0] if _chosen.inner is None else _chosen.inner


@contextlib.contextmanager
def using_allocator(allocator: Allocator | None = None) -> Iterator[None]:
    """Sets the allocator of this thread within a `with` block, as `set_allocator` does.

    Parameters
    ----------
    allocator : callable, optional
        The method `malloc` of a `MemoryPool`, or None.

    Returns
    -------
    context manager

    Raises
    ------
    NotImplementedError
        For other allocators.

    Examples
    --------
    >>> with cuda.using_allocator(cuda.MemoryPool().malloc):
    ...     a = cp.ones(3)
    """
    before, _chosen.inner = _chosen.inner, _checked("using_allocator", allocator)
    try:
        yield
    finally:
        _chosen.inner = before


def malloc_managed(size: int) -> NoReturn:
    """Not supported as the memory of arrays.

    Parameters
    ----------
    size : int
        The number of bytes.

    Raises
    ------
    NotImplementedError
        Always; the message names the alternative.

    Examples
    --------
    >>> try:
    ...     cuda.malloc_managed(16)
    ... except NotImplementedError as error:
    ...     print(error)
    [malloc_managed] arrays are not in managed memory; use cuda.managed_array
    """
    raise NotImplementedError("[malloc_managed] arrays are not in managed memory; use cuda.managed_array")


__all__ = ["get_allocator", "malloc_managed", "set_allocator", "using_allocator"]
