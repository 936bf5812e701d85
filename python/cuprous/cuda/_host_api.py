"""Host-side functions of `numba.cuda`: wrappers for launch arguments, and queries of supported features."""

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
    """A launch argument with its copy direction."""

    def __init__(self, value: Any) -> None:
        self.value = value


class In(_Wrapped):
    """A NumPy array that is copied to the device only."""

    @property
    def _launch_argument(self) -> Any:
        return to_device(self.value) if isinstance(self.value, np.ndarray) else self.value


class InOut(_Wrapped):
    """A NumPy array that is copied to the device and back, like every array that the kernel writes."""

    @property
    def _launch_argument(self) -> Any:
        return self.value


class Out(InOut):
    """A NumPy array that is copied back."""


@contextlib.contextmanager
def mapped(*arylist: Any, **kws: Any) -> Iterator[Any]:
    """Returns the arrays unchanged, which can be launch arguments: see `mapped_array`."""
    if kws:
        raise NotImplementedError(f"[mapped] {min(kws)}= is not supported; leave it out")
    yield arylist[0] if len(arylist) == 1 else arylist


# --- what is supported


def is_supported_version() -> bool:
    """Returns true: the compiler comes with Cuprous, so the machine's CUDA version does not matter."""
    return True


def cuda_error() -> str | None:
    """Returns why the visible GPU cannot be used; None if it can, or if no GPU is visible."""
    return _core.unusable_gpu_reason()


def is_float16_supported() -> bool:
    """Returns true if kernels can compute with float16; on the CPU they can."""
    return not is_available() or Device().supports_float16


def is_bfloat16_supported() -> bool:
    """Returns true if kernels can compute with bfloat16; on the CPU they can."""
    return not is_available() or Device().supports_bfloat16


def require_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function unchanged: a context always exists."""
    return function


def profile_start() -> None:
    """Waits for the recorded operations, so that a profiler sees only later work."""
    _core.synchronize()


def profile_stop() -> None:
    """Waits for the recorded operations, so that a profiler sees all of them."""
    _core.synchronize()


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    """Calls `profile_start` before and `profile_stop` after a block."""
    profile_start()
    yield
    profile_stop()


_MEMORY = "memory comes from the engine's pool; see cuprous.get_default_memory_pool"
set_memory_manager = unsupported_function("set_memory_manager", _MEMORY, "cuda.")
