"""The parts of `cupyx` that programs with kernels use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuprous import rsqrt
from cuprous._functions.selection import scatter_add, scatter_max, scatter_min

if TYPE_CHECKING:
    from cuprous import scipy as scipy
    from cuprous.cupyx import jit as jit
    from cuprous.cupyx import profiler as profiler
else:

    def __getattr__(name: str) -> Any:
        """Imports submodules on first access."""
        if name in ("jit", "profiler", "scipy"):
            import importlib

            return importlib.import_module("cuprous.scipy" if name == "scipy" else f"cuprous.cupyx.{name}")
        raise AttributeError(f"module 'cuprous.cupyx' has no attribute {name!r}")


__all__ = ["rsqrt", "scatter_add", "scatter_max", "scatter_min"]
