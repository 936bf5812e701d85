"""Further words of `numba.cuda` on the host: how arguments travel, what is supported."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cuprous import _core
from cuprous._unsupported import unsupported_function
from cuprous.cuda._arrays import to_device
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
    return not is_available() or Device()._capability >= (major, minor)


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

set_memory_manager = unsupported_function("set_memory_manager", _MEMORY, "cuda.")

__all__ = [
    "In", "InOut", "Out", "cuda_error", "is_bfloat16_supported", "is_float16_supported", "is_supported_version",
    "mapped", "profile_start", "profile_stop", "profiling", "require_context", "set_memory_manager",
]  # fmt: skip
