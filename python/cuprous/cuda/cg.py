"""Cooperative groups in kernels: the threads of a block, and those of the grid.

`cg.this_grid().sync()` waits for all threads of the grid. A kernel that does so is launched cooperatively: all its
blocks run at once, so there may only be as many as the GPU holds. `cg.this_thread_block().sync()` is
`cuda.syncthreads()`, `cg.sync(group)` is `group.sync()`. Groups also have CUDA's and CuPy's `thread_rank()`,
`num_threads()`, `size()` and `group_dim()`; blocks `thread_index()`, `group_index()`, `dim_threads()`; grids
`block_index()`, `block_rank()`, `num_blocks()`, `dim_blocks()`.
"""

from __future__ import annotations

from cuprous._unsupported import unsupported_function
from cuprous.cuda._intrinsics import _Intrinsic

this_grid = _Intrinsic("cuda.cg.this_grid")
this_thread_block = _Intrinsic("cuda.cg.this_thread_block")
sync = _Intrinsic("cuda.cg.sync")

_COPY = "copy in a loop, and wait with cg.this_thread_block().sync()"
memcpy_async = unsupported_function("memcpy_async", _COPY, "cuda.cg.")
wait = unsupported_function("wait", _COPY, "cuda.cg.")
wait_prior = unsupported_function("wait_prior", _COPY, "cuda.cg.")

__all__ = ["memcpy_async", "sync", "this_grid", "this_thread_block", "wait", "wait_prior"]
