"""Tests CPU kernels with endless loops or endless recursion."""

from __future__ import annotations

import os
import textwrap
from typing import Any

import pytest

import cuprous as cp
from cuprous import cuda
from tests.robust.helpers import DEVICE, interrupted

pytestmark = pytest.mark.skipif(
    DEVICE != "cpu" or not hasattr(os, "fork"), reason="a kernel on a GPU cannot be stopped; needs POSIX signals"
)

#: The kernel is compiled before the clock starts, because its first launch would not end.
SETUP = """
from cuprous import cuda
a, lock = cp.zeros(64), cp.zeros(1, dtype="int64")
other = cp.ones(3) + 1

@cuda.jit(device=True)
def spin(a):
    n = 0
    while a[1] == 0:
        n += 1
    return n

@cuda.jit("void(float64[::1], int64[::1])")
def endless(a, lock):
"""

#: Kernel bodies and their launch shapes.
ENDLESS = {
    "while True": ("i = 0\nwhile True:\n    i += 1\n    a[0] = i", "1, 1"),
    "a while loop of lanes": ("i = cuda.grid(1)\nwhile a[i] < 1:\n    a[i] = a[i] * 0.5", "1, 64"),
    "1e11 iterations": (
        "s = 0.0\nfor i in range(100_000_000_000):\n    s += i * 0.5\na[cuda.threadIdx.x] = s",
        "1, 32",
    ),
    "constant loops": (
        "s = 0.0\nfor i in range(4000):\n    for j in range(4000):\n        for k in range(4000):\n"
        "            s += i * j + k\na[0] = s",
        "1, 1",
    ),
    "2**31 - 1 blocks": ("if cuda.blockIdx.x == 5:\n    a[0] = 1", "2**31 - 1, 128"),
    "barriers": ("while True:\n    a[cuda.threadIdx.x] += 1\n    cuda.syncthreads()", "1, 64"),
    "divergent barriers": (
        "i = cuda.threadIdx.x\nwhile True:\n    if i < 32:\n        cuda.syncwarp()\n"
        "    a[i] += 1\n    cuda.syncthreads()",
        "1, 64",
    ),
    "a spin lock": ("while cuda.atomic.cas(lock, 0, 1, 2) != 1:\n    pass", "1, 4"),
    "an inner function": ("a[0] = spin(a)", "1, 1"),
    "a cooperative launch": ("g = cuda.cg.this_grid()\nwhile True:\n    a[0] += 1\n    g.sync()", "2, 4"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
def test_ctrl_c_ends_a_kernel(name: str) -> None:
    body, shape = ENDLESS[name]
    after = """
        try:
            print(a.tolist())
        except RuntimeError as error:
            print("lost" if "interrupted" in str(error) else error)
        print(float(other.sum()))
    """
    setup = SETUP + textwrap.indent(body, "    ")
    seconds, lines = interrupted(setup, f"endless[{shape}](a, lock)\ncp.synchronize()", after)
    assert seconds < 4
    assert lines == ["lost", "6.0"]


@cuda.jit(device=True)
def down(n):
    if n == 0:
        return 0
    return down(n - 1) + 1


@cuda.jit
def deep(out, n):
    i = cuda.grid(1)
    out[i] = down(n)


@cuda.jit
def deep_with_barriers(out, n):
    i = cuda.threadIdx.x
    out[i] = down(n)
    if i < 8:
        return
    cuda.syncthreads()
    out[i] += 0


@pytest.mark.parametrize("kernel", [deep, deep_with_barriers], ids=["block", "coroutines"])
def test_runaway_recursion_is_an_error(kernel: Any) -> None:
    out = cp.zeros(32, dtype="int64")
    kernel[1, 32](out, 100)
    assert out.tolist() == [100] * 32
    with pytest.raises(RecursionError, match="down"):
        kernel[1, 32](out, 50_000_000)
        cp.synchronize()
    kernel[1, 32](out, 7)
    assert out.tolist() == [7] * 32


def test_deep_recursion_works() -> None:
    out = cp.zeros(4, dtype="int64")
    deep[1, 4](out, 20_000)
    assert out.tolist() == [20_000] * 4


@pytest.mark.slow
def test_ctrl_c_leaves_kernels_of_other_threads_alone() -> None:
    """Python interrupts only the main thread."""
    setup = """
        import threading
        from cuprous import cuda

        @cuda.jit("void(int64[::1], int64)")
        def count(a, n):
            s = 0
            for i in range(n):
                s += i ^ a[1]
            a[0] = s

        def other():
            while not stop:
                a = cp.zeros(2, dtype="int64")
                count[1, 1](a, 100_000_000)
                results.append(a.tolist()[0])

        stop, results = [], []
        thread = threading.Thread(target=other)
        thread.start()
    """
    after = """
        known = len(results)
        while len(results) < known + 2:  # one that ran meanwhile, and one more
            time.sleep(0.01)
        stop.append(True)
        thread.join()
        print({*results} == {99_999_999 * 50_000_000})
    """
    seconds, lines = interrupted(setup, "while True: time.sleep(0.01)", after)
    assert seconds < 4
    assert lines == ["True"]
