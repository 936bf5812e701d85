"""SciPy's functions for Cuprous arrays, in modules with SciPy's names."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from cuprous import _core
from cuprous._exports import Exports

_EXPORTS = Exports(
    __name__,
    modules=("fft", "fftpack", "interpolate", "linalg", "ndimage", "signal", "sparse", "spatial", "special", "stats"),
)


def get_array_module(*args: Any) -> ModuleType:
    """Returns `cuprous.scipy` if an argument is a Cuprous array or sparse matrix, otherwise SciPy."""
    if any(isinstance(arg, _core.ndarray) or type(arg).__module__.startswith("cuprous.") for arg in args):
        return sys.modules[__name__]
    import scipy

    module: ModuleType = scipy
    return module


def __getattr__(name: str) -> Any:
    return _EXPORTS.get(name)


__all__ = ["get_array_module"]
