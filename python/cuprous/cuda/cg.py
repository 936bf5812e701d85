"""Cooperative groups in kernels: `cg.this_grid().sync()` waits for all threads of the grid.

A kernel that does so is launched cooperatively: all its blocks run at once, so there may only be as many as the GPU
holds.
"""

from __future__ import annotations

from cuprous.cuda._intrinsics import _Intrinsic

this_grid = _Intrinsic("cuda.cg.this_grid")

__all__ = ["this_grid"]
