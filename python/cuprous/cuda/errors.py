"""Exceptions and warnings of kernels, with Numba's names."""

from __future__ import annotations


class KernelError(Exception):
    """The error for a kernel that cannot be compiled. The message has the cause, the source location, and what to do.

    See Also
    --------
    cuda.errors.TypingError, cuda.errors.UnsupportedError, cuda.errors.KernelCheckError

    Examples
    --------
    >>> try:
    ...     cuda.jit("void(float64[:])")(lambda x: unknown(x))
    ... except cuda.errors.KernelError:
    ...     print("not a kernel")
    not a kernel
    """


class TypingError(KernelError, TypeError):
    """Types do not match.

    See Also
    --------
    cuda.errors.UnsupportedError, cuda.errors.KernelError
    """


class UnsupportedError(KernelError, NotImplementedError):
    """The kernel language does not support this.

    See Also
    --------
    cuda.errors.TypingError, cuda.errors.KernelError
    """


class InvalidValueError(KernelError, ValueError):
    """A compile-time constant is invalid, such as an alignment of 3.

    See Also
    --------
    cuda.errors.KernelError
    """


class CudaSupportError(RuntimeError):
    """CUDA cannot be used on this machine.

    See Also
    --------
    cuda.errors.KernelError
    """


class KernelRuntimeError(RuntimeError):
    """A kernel raised an exception.

    See Also
    --------
    cuda.errors.KernelError, cuda.errors.KernelCheckError
    """


class KernelCheckError(KernelRuntimeError):
    """A kernel with `check=True` has races, uninitialized reads or divergent barriers. The message has each with the
    threads, blocks, array, index and lines.

    See Also
    --------
    cuda.errors.KernelError, cuda.errors.KernelRuntimeError
    """


class LinkerError(RuntimeError):
    """A file to link does not exist, or cannot be linked.

    See Also
    --------
    cuda.errors.KernelError
    """


class NumbaWarning(Warning):
    """The base class of warnings about kernels.

    See Also
    --------
    cuda.errors.NumbaPerformanceWarning, cuda.errors.NumbaDeprecationWarning
    """


class NumbaPerformanceWarning(NumbaWarning):
    """A launch leaves a device idle, or copies arrays: see `cuda.config`.

    See Also
    --------
    cuda.errors.NumbaWarning
    """


class NumbaDebugInfoWarning(NumbaWarning):
    """Source locations in a kernel may be inaccurate.

    See Also
    --------
    cuda.errors.NumbaWarning
    """


class NumbaInvalidConfigWarning(NumbaWarning):
    """Numba's warning about conflicting options. Never issued; exists for warning filters.

    See Also
    --------
    cuda.errors.NumbaWarning
    """


class NumbaDeprecationWarning(NumbaWarning, DeprecationWarning):
    """Numba's warning about deprecated features; exists for warning filters.

    See Also
    --------
    cuda.errors.NumbaWarning, cuda.errors.NumbaPendingDeprecationWarning
    """


class NumbaPendingDeprecationWarning(NumbaWarning, PendingDeprecationWarning):
    """Numba's warning about features to be deprecated; exists for warning filters.

    See Also
    --------
    cuda.errors.NumbaDeprecationWarning, cuda.errors.NumbaWarning
    """


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
