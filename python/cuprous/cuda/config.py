"""The supported settings of `numba.cuda.config`: what kernels warn about.

Environment variables of Numba's names set them (`NUMBA_CUDA_WARN_ON_IMPLICIT_COPY=1`), assignments change them.
"""

from __future__ import annotations

import os
import sys
import types
import warnings
from typing import Any

from cuprous import _core
from cuprous.cuda._device import Device, is_available
from cuprous.cuda.errors import NumbaPerformanceWarning


def _number(name: str) -> int:
    text = os.environ.get(f"NUMBA_{name}", "0")
    try:
        return int(text)
    except ValueError:
        return 0


#: 1: a launch with too few blocks to occupy the GPU causes a warning. Numba's default is 1. Here it is 0, because
#: tests and examples consist of small launches.
CUDA_LOW_OCCUPANCY_WARNINGS = _number("CUDA_LOW_OCCUPANCY_WARNINGS")
#: 1: an argument that is copied to a device and back causes a warning. Numba's default is 1, here it is 0.
CUDA_WARN_ON_IMPLICIT_COPY = _number("CUDA_WARN_ON_IMPLICIT_COPY")
#: Include directories for linked CUDA C++, separated by ":".
CUDA_NVRTC_EXTRA_SEARCH_PATHS = os.environ.get("NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS", "")
#: Kernels do not run in a simulator: on the CPU they are native code.
ENABLE_CUDASIM = False

_SWITCHES = ("CUDA_LOW_OCCUPANCY_WARNINGS", "CUDA_WARN_ON_IMPLICIT_COPY")


def _switch() -> None:
    _core.kernel_warnings(bool(CUDA_LOW_OCCUPANCY_WARNINGS), bool(CUDA_WARN_ON_IMPLICIT_COPY))


class _Config(types.ModuleType):
    """The type of this module, on which an assignment to a setting takes effect."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in _SWITCHES:
            _switch()


def _stack_level() -> int:
    """Returns the stack level of the user's line for `warnings.warn`."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("cuprous."):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    return level


def warn_of_few_blocks(blocks: int) -> None:
    """Warns about a launch with fewer blocks than the GPU has multiprocessors."""
    if blocks < (Device().attributes["multiProcessorCount"] if is_available() else os.cpu_count() or 1):
        message = f"Grid size {blocks} will likely leave processors idle: low occupancy."
        warnings.warn(message, NumbaPerformanceWarning, stacklevel=_stack_level())


def warn_of_host_array(array: Any) -> None:
    """Warns about a host array that is copied to a GPU for a launch."""
    from cuprous.cuda._mapped import MappedNDArray  # imports NumPy

    if not isinstance(array, MappedNDArray):
        message = "Host array used in CUDA kernel will incur copy overhead to/from device."
        warnings.warn(message, NumbaPerformanceWarning, stacklevel=_stack_level())


sys.modules[__name__].__class__ = _Config
_switch()
