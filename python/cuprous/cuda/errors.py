"""Exceptions and warnings of kernels, with Numba's names."""

from __future__ import annotations


class KernelError(Exception):
    """The error for a kernel that cannot be compiled. The message has the cause, the source location, and what to do.

    Examples
    --------
    >>> try:
    ...     cuda.jit("void(float64[:])")(lambda x: unknown(x))
    ... except cuda.errors.KernelError:
    ...     print("not a kernel")
    not a kernel
    """


class TypingError(KernelError, TypeError):
    """Types do not match."""


class UnsupportedError(KernelError, NotImplementedError):
    """The kernel language does not support this."""


class InvalidValueError(KernelError, ValueError):
    """A compile-time constant is invalid, such as an alignment of 3."""


class CudaSupportError(RuntimeError):
    """CUDA cannot be used on this machine."""


class KernelRuntimeError(RuntimeError):
    """A kernel raised an exception."""


class KernelCheckError(KernelRuntimeError):
    """A kernel with `check=True` has races, uninitialized reads or divergent barriers. The message has each with the
    threads, blocks, array, index and lines.
    """


class LinkerError(RuntimeError):
    """A file to link does not exist, or cannot be linked."""


class NumbaWarning(Warning):
    """The base class of warnings about kernels."""


class NumbaPerformanceWarning(NumbaWarning):
    """A launch leaves a device idle, or copies arrays: see `cuda.config`."""


class NumbaDebugInfoWarning(NumbaWarning):
    """Source locations in a kernel may be inaccurate."""


class NumbaInvalidConfigWarning(NumbaWarning):
    """Numba's warning about conflicting options. Never issued; exists for warning filters."""


class NumbaDeprecationWarning(NumbaWarning, DeprecationWarning):
    """Numba's warning about deprecated features; exists for warning filters."""


class NumbaPendingDeprecationWarning(NumbaWarning, PendingDeprecationWarning):
    """Numba's warning about features to be deprecated; exists for warning filters."""


#: Numba's name of the base class.
NumbaError = KernelError
LoweringError = KernelError


class CUDARuntimeError(RuntimeError):
    """The error for a CUDA call that failed.

    Examples
    --------
    >>> try:
    ...     cuda.runtime.setDevice(1000)
    ... except cuda.errors.CUDARuntimeError:
    ...     print("no such GPU")
    no such GPU
    """


__all__ = [
    "CudaSupportError", "InvalidValueError", "KernelCheckError", "KernelError", "KernelRuntimeError", "LinkerError",
    "LoweringError", "NumbaDebugInfoWarning", "NumbaDeprecationWarning", "NumbaError", "NumbaInvalidConfigWarning",
    "NumbaPendingDeprecationWarning", "NumbaPerformanceWarning", "NumbaWarning", "TypingError", "UnsupportedError",
]  # fmt: skip
