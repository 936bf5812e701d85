"""The parts of `cupyx` that programs use beside `cupyx.scipy`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cuprous import rsqrt
from cuprous._exports import Exports as _Exports
from cuprous._functions.selection import scatter_add, scatter_max, scatter_min
from cuprous.cupyx import _scipy
from cuprous.cupyx._errors import allow_synchronize, errstate, geterr, seterr

if TYPE_CHECKING:
    from cuprous import scipy as scipy
    from cuprous.cupyx import jit as jit
    from cuprous.cupyx import profiler as profiler
    from cuprous.cupyx._pinned_array import empty_like_pinned as empty_like_pinned
    from cuprous.cupyx._pinned_array import empty_pinned as empty_pinned
    from cuprous.cupyx._pinned_array import zeros_like_pinned as zeros_like_pinned
    from cuprous.cupyx._pinned_array import zeros_pinned as zeros_pinned
else:
    _EXPORTS = _Exports(
        __name__,
        {"._pinned_array": "empty_like_pinned empty_pinned zeros_like_pinned zeros_pinned"},
        modules={"jit": ".jit", "profiler": ".profiler"},
    )

    def __getattr__(name: str) -> Any:
        """Imports submodules, and what needs NumPy, on first access."""
        if name == "scipy":
            return importlib.import_module("cuprous.scipy")
        return _EXPORTS.get(name)


_scipy.install()

__all__ = [
    "allow_synchronize", "empty_like_pinned", "empty_pinned", "errstate", "geterr", "rsqrt", "scatter_add",
    "scatter_max", "scatter_min", "seterr", "zeros_like_pinned", "zeros_pinned",
]  # fmt: skip
