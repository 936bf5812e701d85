"""Where the machine code of kernels lies on the CPU: its parts must reach one another, however memory is cut up."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import cuda

FAR = 6 << 30


@pytest.fixture
def cut_up_memory() -> Iterator[None]:
    """A range longer than a call reaches is taken: what is large then lies below it, what is small in a hole above."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    start = libc.mmap(None, FAR, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if start in (None, ctypes.c_void_p(-1).value):
        pytest.skip("addresses are limited here")
    for k in range(64):
        assert libc.munmap(start + FAR - (k + 1) * (1 << 20), 1 << 16) == 0
    yield
    libc.munmap(start, FAR)


def test_functions_and_constants_lie_together(cut_up_memory: None) -> None:
    for size in (10, 1_000_000):
        table = np.arange(size, dtype=np.float64)

        @cuda.jit(device=True)
        def weighed(i: Any) -> Any:
            total = 0.0
            for k in range(3):
                total += cuda.const.array_like(table)[i] * (k % 2 + 0.5)  # noqa: B023
            return total

        @cuda.jit
        def run(out: Any) -> None:
            i = cuda.grid(1)
            if i < out.size:
                out[i] = weighed(i % 10) + cuda.const.array_like(table)[i % 10]  # noqa: B023

        out = cp.zeros(50)
        run[2, 32](out)
        np.testing.assert_array_equal(out.get(), 3.5 * (np.arange(50) % 10))
