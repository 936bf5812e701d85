"""What stands for `numba` where it is not installed: `numba.cuda`, types of signatures, and functions that raise."""

from __future__ import annotations

from typing import Any

from cuprous import cuda
from cuprous._unsupported import unsupported_function
from cuprous.cuda import errors, guvectorize, types, vectorize
from cuprous.cuda.types import typeof

_INSTEAD = "it compiles for the CPU; install numba, or write the function with numba.cuda or whole-array operations"
__version__ = "0.66.0+cuprous"

jit, njit, stencil, cfunc, jit_module, objmode = (
    unsupported_function(name, _INSTEAD, "numba.")
    for name in ("jit", "njit", "stencil", "cfunc", "jit_module", "objmode")
)
prange = range
#: `import numba.cuda.random` needs a package; its modules are found by the import hook.
__path__: list[str] = []


def __getattr__(name: str) -> Any:
    """Returns types: `numba.float32`."""
    found = getattr(types, name, None)
    if isinstance(found, types.Type):
        return found
    raise AttributeError(f"module 'numba' has no attribute {name!r} here: {_INSTEAD}")


__all__ = ["cfunc", "cuda", "errors", "guvectorize", "jit", "njit", "prange", "stencil", "typeof", "types", "vectorize"]
