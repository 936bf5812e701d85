"""SciPy's functions for Cuprous arrays, in modules with SciPy's names."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from cuprous import _core

_MODULES = ("fft", "interpolate", "ndimage", "signal", "sparse", "spatial", "special", "stats")


def get_array_module(*args: Any) -> ModuleType:
    """Returns `cuprous.scipy` if an argument is a Cuprous array or sparse matrix, otherwise SciPy."""
    if any(isinstance(arg, _core.ndarray) or type(arg).__module__.startswith("cuprous.") for arg in args):
        import cuprous.scipy

        return cuprous.scipy
    import scipy

    module: ModuleType = scipy
    return module


def __getattr__(name: str) -> ModuleType:
    if name in _MODULES:
        import importlib

        return importlib.import_module(f"cuprous.scipy.{name}")
    raise AttributeError(f"module 'cuprous.scipy' has no attribute {name!r}")


__all__ = ["get_array_module"]
