"""Tests the placement of CPU machine code: contiguous, and using no more address space than needed."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import cuda

FAR, HOLE = 6 << 30, 1 << 16


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_addresses_of_many_kernels() -> None:
    def pages() -> int:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])

    table = np.arange(5.0)

    def compiled(i: int) -> None:
        @cuda.jit
        def kernel(a):  # type: ignore[no-untyped-def]
            a[0] = a[0] + i + table[i % 5]

        a = np.zeros(3)
        kernel[1, 1](a)
        assert a[0] == i + i % 5

    compiled(0)
    before = pages()
    for i in range(1, 41):
        compiled(i)
    assert (pages() - before) * mmap.PAGESIZE < 400 << 20, "a thread takes 64 MiB, as each kernel did"


@pytest.fixture
def cut_up_memory() -> Iterator[None]:
    """Reserves an address range longer than a call can reach.

    Large allocations then lie below it, small ones in a hole above.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    start = libc.mmap(None, FAR, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if start in (None, ctypes.c_void_p(-1).value):
        pytest.skip("addresses are limited here")
    holes = [start + FAR - k * (1 << 20) for k in range(64, 0, -1)]
    for hole in holes:
        assert libc.munmap(hole, HOLE) == 0
    yield
    # The holes are not unmapped, because other code may have allocated in them.
    for low, high in zip([start, *(hole + HOLE for hole in holes)], [*holes, start + FAR], strict=True):
        libc.munmap(low, high - low)


def test_functions_and_constants_are_within_call_range(cut_up_memory: None) -> None:
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
