"""What is wrong with a kernel; the classes have Numba's names."""

from __future__ import annotations


class KernelError(Exception):
    """A kernel cannot be compiled. The message is the cause, the place, and what to do."""


class TypingError(KernelError, TypeError):
    """Types do not fit together."""


class UnsupportedError(KernelError, NotImplementedError):
    """The kernel language has no such thing."""


class InvalidValueError(KernelError, ValueError):
    """A value that is known when the kernel is compiled cannot be, such as an alignment of 3."""


class CudaSupportError(RuntimeError):
    """CUDA is not usable here."""


class KernelRuntimeError(RuntimeError):
    """A kernel raised an exception."""


class LinkerError(RuntimeError):
    """A file to link is not there, or does not fit."""


class NumbaWarning(Warning):
    """Something that a kernel's author may want to know."""


class NumbaPerformanceWarning(NumbaWarning):
    """A launch leaves a device idle, or copies arrays: see `cuda.config`."""


class NumbaDebugInfoWarning(NumbaWarning):
    """What is said of places in a kernel is not what its author wrote."""


class NumbaInvalidConfigWarning(NumbaWarning):
    """Numba's warning of options that do not go together; here they do, and nothing warns. Filters may name it."""


class NumbaDeprecationWarning(NumbaWarning, DeprecationWarning):
    """Numba's warning of what will go; filters may name it."""


class NumbaPendingDeprecationWarning(NumbaWarning, PendingDeprecationWarning):
    """Numba's warning of what will go later; filters may name it."""


#: Numba's name of the base class.
NumbaError = KernelError
LoweringError = KernelError


class CUDARuntimeError(RuntimeError):
    """A CUDA call failed."""


__all__ = [
    "CudaSupportError", "InvalidValueError", "KernelError", "KernelRuntimeError", "LinkerError", "LoweringError",
    "NumbaDebugInfoWarning", "NumbaDeprecationWarning", "NumbaError", "NumbaInvalidConfigWarning",
    "NumbaPendingDeprecationWarning", "NumbaPerformanceWarning", "NumbaWarning", "TypingError", "UnsupportedError",
]  # fmt: skip
