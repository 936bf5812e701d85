"""Tests strip mining: grid-stride loops, in which neighboring threads read neighboring elements and advance by a large
stride."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuprous import cuda

SHAPES = [(1, 1), (1, 25), (3, 16), (2, 64), (5, 37)]


@cuda.jit
def by_grid(a, sums, out, n):
    total = 0.0
    odd = 0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        x = a[i]
        if x > 0.5:
            odd += i
        for k in range(i % 3):
            x += k
        total += x
        out[i] = x
    sums[cuda.grid(1), 0] = total
    sums[cuda.grid(1), 1] = odd


@pytest.mark.parametrize("shape", SHAPES)
def test_loops_over_the_grid(shape: tuple[int, int]) -> None:
    blocks, threads = shape
    stride = blocks * threads
    for n in (0, 1, threads - 1, threads, stride, 3 * stride + 7, 4 * stride, 8 * stride + threads, 13 * stride + 3):
        a = np.random.default_rng(n).random(n)
        sums, out = np.zeros((stride, 2)), np.full(n + 1, -1.0)
        by_grid[blocks, threads](a, sums, out, n)
        expected = np.zeros((stride, 2))
        values = np.full(n + 1, -1.0)
        for i in range(n):
            x = a[i]
            expected[i % stride, 1] += i if x > 0.5 else 0
            x += sum(range(i % 3))
            expected[i % stride, 0] += x
            values[i] = x
        np.testing.assert_array_equal(out, values)
        np.testing.assert_array_equal(sums, expected)


@cuda.jit
def by_block(a, part, sums):
    """Loops before and after a barrier, once for each row of a block."""
    t, row = cuda.threadIdx.x, cuda.threadIdx.y
    shared = cuda.shared.array((4, 64), np.float32)
    shared[row, t] = 0
    for i in range(t, a.shape[1], cuda.blockDim.x):
        shared[row, t] += a[row, i]
    cuda.syncthreads()
    for i in range(t, cuda.blockDim.x, cuda.blockDim.x):
        part[row, i] = shared[row, cuda.blockDim.x - 1 - i]
    most = np.float32(0)
    for r in range(2):
        for i in range(t, a.shape[1], cuda.blockDim.x):
            most = max(most, a[(row + r) % 4, i])
    sums[row, t] = most


@pytest.mark.parametrize("threads", [1, 16, 33, 64])
def test_loops_over_a_block(threads: int) -> None:
    a = np.random.default_rng(threads).integers(0, 1000, (4, 500)).astype(np.float32)
    part, sums = np.zeros((4, threads), np.float32), np.zeros((4, threads), np.float32)
    by_block[1, (threads, 4)](a, part, sums)
    for row in range(4):
        for t in range(threads):
            assert part[row, threads - 1 - t] == a[row, t::threads].sum()
            assert sums[row, t] == max(a[row, t::threads].max(), a[(row + 1) % 4, t::threads].max())


@cuda.jit
def by_others(a, out, by, first, last):
    i = cuda.grid(1)
    total, left, far = 0.0, 0.0, 0.0
    for k in range(i, last, by):  # `by` may be negative
        total += a[k]
    for k in range(i + first, last, 32):  # the start is a kernel argument
        left += a[k]
        if left > 30:
            break
    for k in range(63 - i, -1, -32):
        far = far * 2 + a[k]
    out[i, 0], out[i, 1], out[i, 2] = total, left, far


@pytest.mark.parametrize("by", [32, 1, 100, -32, -1, 1 << 40])
@pytest.mark.parametrize("first", [0, 5, -20])
def test_loops_with_other_bounds_and_steps(by: int, first: int) -> None:
    a, out = np.random.default_rng(0).random(64), np.zeros((32, 3))
    last = 64 if by > 0 else -1
    by_others[2, 16](a, out, by, first, last)
    for i in range(32):
        total = left = far = 0.0
        for k in range(i, last, by):
            total += a[k]
        for k in range(i + first, last, 32):
            left += a[k]
        for k in range(63 - i, -1, -32):
            far = far * 2 + a[k]
        np.testing.assert_array_equal(out[i], [total, left, far])


@cuda.jit
def much(a, out):
    """Many loop-carried values, some of which change only in some iterations."""
    t = cuda.grid(1)
    x = y = z = u = v = w = 0.0
    last = -1
    for i in range(t, a.size, cuda.gridsize(1)):
        x, y, z, u, v, w = y + a[i], z, u + x, v, w * 0.5, x
        if a[i] > 0.25:
            last = i
    out[t, 0], out[t, 1], out[t, 2], out[t, 3] = x + y, z + u, v + w, last


@cuda.jit
def one(a, out):
    t = cuda.grid(1)
    last, seen = -1, False
    for i in range(t, a.size, cuda.gridsize(1)):
        if a[i] > 0.25:
            last = i
        seen = seen or a[i] > 0.9
    out[t, 0], out[t, 1] = last, seen


@pytest.mark.parametrize("kernel", [much, one])
def test_loop_carried_values(kernel: Any) -> None:
    a = np.random.default_rng(3).random(1000)
    found = np.zeros((48, 4))
    kernel[1, 48](a, found)
    again = np.zeros((48, 4))
    kernel[48, 1](a, again)  # one thread per block
    np.testing.assert_array_equal(found, again)
    column = 3 if kernel is much else 0
    for t in range(48):
        assert found[t, column] == max(i for i in range(t, 1000, 48) if a[i] > 0.25)
        assert kernel is much or found[t, 1] == (a[t::48] > 0.9).any()
