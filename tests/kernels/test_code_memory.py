"""Machine code of kernels for the CPU takes the addresses that it needs, so that a process may have thousands."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from cuprous import cuda


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
    assert (pages() - before) * 4096 < 40 << 20


def test_large_constants_and_many_functions() -> None:
    large = np.arange(3_000_000, dtype=np.float64)

    @cuda.jit
    def first(a):  # type: ignore[no-untyped-def]
        a[0] = large[a.size + 2_999_990]

    a = np.zeros(3)
    first[1, 1](a)
    assert a[0] == 2_999_993
