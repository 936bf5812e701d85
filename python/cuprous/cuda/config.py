"""Numba's settings of `numba.cuda.config` that mean something here: what kernels warn of.

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


#: Whether a launch of fewer blocks than keep the processors busy is warned of. Numba's default is 1; here 0, because
#: small launches are what tests and examples are made of.
CUDA_LOW_OCCUPANCY_WARNINGS = _number("CUDA_LOW_OCCUPANCY_WARNINGS")
#: Whether an argument that is copied to a device and back is warned of. Numba's default is 1, here 0.
CUDA_WARN_ON_IMPLICIT_COPY = _number("CUDA_WARN_ON_IMPLICIT_COPY")
#: Folders, with ":" between them, in which headers are looked for that linked CUDA C++ includes.
CUDA_NVRTC_EXTRA_SEARCH_PATHS = os.environ.get("NUMBA_CUDA_NVRTC_EXTRA_SEARCH_PATHS", "")
#: Kernels do not run in a simulator: on the CPU they are native code.
ENABLE_CUDASIM = False

_SWITCHES = ("CUDA_LOW_OCCUPANCY_WARNINGS", "CUDA_WARN_ON_IMPLICIT_COPY")


def _switch() -> None:
    _core.kernel_warnings(bool(CUDA_LOW_OCCUPANCY_WARNINGS), bool(CUDA_WARN_ON_IMPLICIT_COPY))


class _Config(types.ModuleType):
    """The module, whose switches act when they are assigned to."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in _SWITCHES:
            _switch()


def _stack_level() -> int:
    """How far up the first frame outside the package is: a warning names the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("cuprous."):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    return level


def _processors() -> int:
    if is_available():
        return int(Device().attributes["multiProcessorCount"])
    return os.cpu_count() or 1


def warn_of_few_blocks(blocks: int) -> None:
    """Warns of a launch with fewer blocks than there are processors."""
    if blocks < _processors():
        message = f"Grid size {blocks} will likely leave processors idle: low occupancy."
        warnings.warn(message, NumbaPerformanceWarning, stacklevel=_stack_level())


def warn_of_host_array(array: Any) -> None:
    """Warns of an array of the host that a GPU gets a copy of."""
    from cuprous.cuda._mapped import MappedNDArray  # imports NumPy

    if not isinstance(array, MappedNDArray):
        message = "Host array used in CUDA kernel will incur copy overhead to/from device."
        warnings.warn(message, NumbaPerformanceWarning, stacklevel=_stack_level())


sys.modules[__name__].__class__ = _Config
_switch()
