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
    """An argument of a launch: a NumPy array that is copied to the device only.

    Parameters
    ----------
    value : array_like
        The array.

    Examples
    --------
    >>> @cuda.jit
    ... def scale(x, y):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         y[i] = 2 * x[i]
    >>> y = np.zeros(3)
    >>> scale[1, 4](cuda.In(np.arange(3.0)), y)
    >>> y
    array([0., 2., 4.])
    """

    @property
    def _launch_argument(self) -> Any:
        return to_device(self.value) if isinstance(self.value, np.ndarray) else self.value


class InOut(_Wrapped):
    """An argument of a launch: a NumPy array that is copied to the device and back, as every array that the kernel
    writes is.

    Parameters
    ----------
    value : array_like
        The array.

    Examples
    --------
    >>> @cuda.jit
    ... def double(x):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         x[i] *= 2
    >>> x = np.arange(3.0)
    >>> double[1, 4](cuda.InOut(x))
    >>> x
    array([0., 2., 4.])
    """

    @property
    def _launch_argument(self) -> Any:
        return self.value


class Out(InOut):
    """An argument of a launch: a NumPy array that is copied back.

    Parameters
    ----------
    value : array_like
        The array.

    Examples
    --------
    >>> @cuda.jit
    ... def number(x):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         x[i] = i
    >>> x = np.empty(3)
    >>> number[1, 4](cuda.Out(x))
    >>> x
    array([0., 1., 2.])
    """


@contextlib.contextmanager
def mapped(*arylist: Any, **kws: Any) -> Iterator[Any]:
    """Returns a context manager that returns the arrays as they are. They can be arguments of launches.

    Parameters
    ----------
    *arylist : any
        NumPy arrays.
    **kws : any
        Has no effect.

    Returns
    -------
    context manager

    Examples
    --------
    >>> with cuda.mapped(np.ones(3)) as x:
    ...     pass
    """
    if kws:
        raise NotImplementedError(f"[mapped] {min(kws)}= is not supported; leave it out")
    yield arylist[0] if len(arylist) == 1 else arylist


# --- what is supported


def is_supported_version() -> bool:
    """Returns true. The compiler comes with Cuprous, so the machine's CUDA version does not matter.

    Returns
    -------
    bool

    Examples
    --------
    >>> cuda.is_supported_version()
    True
    """
    return True


def cuda_error() -> str | None:
    """Returns why the visible GPU cannot be used.

    Returns
    -------
    str or None
        A string; None if it can be used, or if no GPU is visible.

    Examples
    --------
    >>> cuda.cuda_error() is None
    True
    """
    return _core.unusable_gpu_reason()


def is_float16_supported() -> bool:
    """Returns true if kernels can compute with float16, which they can on the CPU.

    Returns
    -------
    bool

    Examples
    --------
    >>> cuda.is_float16_supported()
    True
    """
    return not is_available() or Device().supports_float16


def is_bfloat16_supported() -> bool:
    """Returns true if kernels can compute with bfloat16, which they can on the CPU.

    Returns
    -------
    bool

    Examples
    --------
    >>> cuda.is_bfloat16_supported()
    True
    """
    return not is_available() or Device().supports_bfloat16


def require_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function itself, because a context always exists.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    callable

    Examples
    --------
    >>> @cuda.require_context
    ... def f():
    ...     return 1
    >>> f()
    1
    """
    return function


def profile_start() -> None:
    """Waits for the recorded operations, so that a profiler sees only later work.

    Examples
    --------
    >>> cuda.profile_start()
    """
    _core.synchronize()


def profile_stop() -> None:
    """Waits for the recorded operations, so that a profiler sees all of them.

    Examples
    --------
    >>> cuda.profile_stop()
    """
    _core.synchronize()


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    """Returns a context manager that calls `profile_start` before a block and `profile_stop` after it.

    Returns
    -------
    context manager

    Examples
    --------
    >>> with cuda.profiling():
    ...     x = cp.ones(3) + 1
    """
    profile_start()
    yield
    profile_stop()


_MEMORY = "memory comes from the engine's pool; see cuprous.get_default_memory_pool"
set_memory_manager = unsupported_function("set_memory_manager", _MEMORY, "cuda.")
