"""Further words of `numba.cuda` on the host: how arguments travel, memory that both sides see, what is supported."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cuprous import _core
from cuprous._unsupported import refusing
from cuprous.cuda._arrays import order_of, to_device
from cuprous.cuda._device import Device, is_available


class _Wrapped:
    """An argument of a launch, with the way it travels."""

    def __init__(self, value: Any) -> None:
        self.value = value


class In(_Wrapped):
    """A NumPy array that is copied to the device only."""

    @property
    def _launch_argument(self) -> Any:
        return to_device(self.value) if isinstance(self.value, np.ndarray) else self.value


class InOut(_Wrapped):
    """A NumPy array that is copied to the device and back, as every one that the kernel writes is."""

    @property
    def _launch_argument(self) -> Any:
        return self.value


class Out(InOut):
    """A NumPy array that is copied back."""


# --- memory that host and device see


class MappedNDArray(np.ndarray):
    """A NumPy array in memory that host and device see: no launch warns of it."""


class ManagedNDArray(MappedNDArray):
    """The same, where the driver moves pages."""


def _shared(what: str, kind: type[MappedNDArray], shape: Any, dtype: Any, strides: Any, order: str) -> Any:
    if strides is not None:
        raise NotImplementedError(f"[{what}] strides= is not supported; use order=")
    return np.empty(shape, dtype, order).view(kind)  # type: ignore[call-overload]


def mapped_array(
    shape: Any, dtype: Any = float, strides: Any = None, order: str = "C", stream: Any = 0, portable: bool = False,
    wc: bool = False,
) -> Any:  # fmt: skip
    """A NumPy array that launches may take: on the CPU they use it in place, a GPU gets and returns a copy.

    Raises:
        NotImplementedError: for `strides`.
    """
    return _shared("mapped_array", MappedNDArray, shape, dtype, strides, order)


def mapped_array_like(ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False) -> Any:
    """A `mapped_array` of the shape, dtype and order of another."""
    return mapped_array(ary.shape, ary.dtype, order=order_of(ary))


def managed_array(
    shape: Any, dtype: Any = float, strides: Any = None, order: str = "C", stream: Any = 0, attach_global: bool = True
) -> Any:
    """A NumPy array that launches may take: see `mapped_array`.

    Raises:
        NotImplementedError: for `strides`.
    """
    return _shared("managed_array", ManagedNDArray, shape, dtype, strides, order)


@contextlib.contextmanager
def mapped(*arylist: Any, **kws: Any) -> Iterator[Any]:
    """The arrays themselves, which launches may take: see `mapped_array`."""
    if kws:
        raise NotImplementedError(f"[mapped] {min(kws)}= is not supported; leave it out")
    yield arylist[0] if len(arylist) == 1 else arylist


# --- what is supported


def is_supported_version() -> bool:
    """Whether this machine's CUDA is one that kernels are tested with: true, since the compiler comes along."""
    return True


def cuda_error() -> str | None:
    """Why the visible GPU cannot be used; None if it can, or there is none."""
    return _core.unusable_gpu_reason()


def _at_least(major: int, minor: int) -> bool:
    return not is_available() or int(Device().compute_capability) >= major * 10 + minor


def is_float16_supported() -> bool:
    """Whether kernels compute with float16 (on the CPU they do)."""
    return _at_least(5, 3)


def is_bfloat16_supported() -> bool:
    """Whether kernels compute with bfloat16 (on the CPU they do)."""
    return _at_least(8, 0)


def require_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself: there always is a context."""
    return function


def profile_start() -> None:
    """Waits for what was recorded, so that a profiler sees only what comes now."""
    _core.synchronize()


def profile_stop() -> None:
    """Waits for what was recorded, so that a profiler sees no less."""
    _core.synchronize()


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    """`profile_start` and `profile_stop` around a block."""
    profile_start()
    yield
    profile_stop()


_MEMORY = "memory comes from the engine's pool; see cuprous.get_default_memory_pool"

set_memory_manager = refusing("set_memory_manager", _MEMORY, "cuda.")

__all__ = [
    "In", "InOut", "ManagedNDArray", "MappedNDArray", "Out", "cuda_error", "is_bfloat16_supported",
    "is_float16_supported", "is_supported_version", "managed_array", "mapped", "mapped_array", "mapped_array_like",
    "profile_start", "profile_stop", "profiling", "require_context", "set_memory_manager",
]  # fmt: skip
