"""`cupyx.jit`: kernels written in Python with `@jit.rawkernel()`.

These are `cuprous.cuda` kernels and follow its typing rules: a Python integer has 64 bits.
"""

from __future__ import annotations

from typing import Any

from cuprous.cuda import cg
from cuprous.cuda._intrinsics import _Intrinsic, blockDim, blockIdx, gridDim, laneid, threadIdx, warpsize
from cuprous.cuda._jit import Dispatcher
from cuprous.cuda._jit import jit as _jit


def _named(name: str) -> _Intrinsic:
    return _Intrinsic(f"cuda.{name}")


grid, gridsize = _named("grid"), _named("gridsize")
syncthreads, syncwarp = _named("syncthreads"), _named("syncwarp")
shfl_sync, shfl_up_sync = _named("shfl_sync"), _named("shfl_up_sync")
shfl_down_sync, shfl_xor_sync = _named("shfl_down_sync"), _named("shfl_xor_sync")
atomic_add, atomic_sub = _named("atomic.add"), _named("atomic.sub")
atomic_exch, atomic_cas = _named("atomic.exch"), _named("atomic.cas")
atomic_max, atomic_min = _named("atomic.max"), _named("atomic.min")
atomic_inc, atomic_dec = _named("atomic.inc"), _named("atomic.dec")
atomic_and, atomic_or, atomic_xor = _named("atomic.and_"), _named("atomic.or_"), _named("atomic.xor")
range = _Intrinsic("range")


class RawKernel:
    """A kernel. `kernel[grid, block](x, y)` launches it, and so does `kernel((grid,), (block,), (x, y))`.

    See Also
    --------
    cupyx.jit.rawkernel, cuda.jit
    """

    def __init__(self, function: Any) -> None:
        self.kernel: Dispatcher = _jit(function)
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __getitem__(self, configuration: Any) -> Any:
        return self.kernel[configuration]

    def __call__(self, grid: Any, block: Any, args: Any, shared_mem: int = 0, stream: Any = None) -> None:
        """Launches the kernel. `shared_mem` is the size of the dynamic shared memory in bytes."""
        self.kernel[tuple(grid), tuple(block), 0, shared_mem](*args)

    @property
    def cached_code(self) -> str:
        """The generated CUDA C++, if the kernel was compiled for a single signature."""
        return self.kernel.cuda_source()

    @property
    def cached_codes(self) -> dict[Any, str]:
        """The generated CUDA C++ by argument types."""
        return {types: self.kernel.cuda_source(types) for types in self.kernel.signatures}


def rawkernel(*, mode: str = "cuda", device: bool = False) -> Any:
    """Decorates a function as a kernel, or with `device=True` as a function that kernels call.

    Raises
    ------
    NotImplementedError
        For modes other than "cuda".

    See Also
    --------
    cupyx.jit.RawKernel, cuda.jit

    Examples
    --------
    >>> @jit.rawkernel()
    ... def double(x, y):
    ...     i = jit.grid(1)
    ...     y[i] = 2 * x[i]
    >>> x, y = cp.arange(4, dtype=cp.float32), cp.empty(4, cp.float32)
    >>> double[1, 4](x, y)
    >>> y
    array([0., 2., 4., 6.], dtype=float32)
    """
    if mode != "cuda":
        raise NotImplementedError(f"[rawkernel] mode={mode!r} is not supported; leave it out")
    return (lambda function: _jit(function, device=True)) if device else RawKernel


shared_memory = _Intrinsic("cupyx.jit.shared_memory")

__all__ = [
    "RawKernel", "atomic_add", "atomic_and", "atomic_cas", "atomic_dec", "atomic_exch", "atomic_inc", "atomic_max",
    "atomic_min", "atomic_or", "atomic_sub", "atomic_xor", "blockDim", "blockIdx", "cg", "grid", "gridDim", "gridsize",
    "laneid", "range", "rawkernel", "shared_memory", "shfl_down_sync", "shfl_sync", "shfl_up_sync", "shfl_xor_sync",
    "syncthreads", "syncwarp", "threadIdx", "warpsize",
]  # fmt: skip
