"""Tests threads, blocks and memory: grids, barriers, shared and local arrays, atomic operations, warps."""

from __future__ import annotations

import numpy as np
import pytest

from cuprous import cuda
from cuprous.cuda import float32, float64, int32

TPB = 16
WEIGHTS = np.array([[1.0, 2.0], [3.0, 4.0]])


def test_grid_in_one_two_and_three_dimensions() -> None:
    @cuda.jit
    def kernel(a, b, c):
        i = cuda.grid(1)
        if i < a.size:
            a[i] = i + cuda.gridsize(1)
        x, y = cuda.grid(2)
        if x < b.shape[0] and y < b.shape[1]:
            b[x, y] = x * 100 + y
        p = cuda.grid(3)
        if p[0] < c.shape[0] and p[1] < c.shape[1] and p[2] < c.shape[2]:
            c[p] = cuda.threadIdx.x + cuda.blockDim.y * 10 + cuda.gridDim.z * 100

    a, b, c = np.zeros(8, int), np.zeros((6, 5), int), np.zeros((3, 3, 3), int)
    kernel[(2, 2, 2), (4, 3, 2)](a, b, c)
    np.testing.assert_array_equal(a, np.arange(8) + 8)
    np.testing.assert_array_equal(b, np.arange(6)[:, None] * 100 + np.arange(5))
    expected = np.broadcast_to((np.arange(3) % 4)[:, None, None] + 30 + 200, (3, 3, 3))
    np.testing.assert_array_equal(c, expected)


def test_matrix_product_in_shared_memory() -> None:
    @cuda.jit
    def matmul(a, b, c):
        sa = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
        sb = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        tmp = float32(0.0)
        for i in range(cuda.gridDim.x):
            sa[tx, ty] = a[x, ty + i * TPB] if x < a.shape[0] and ty + i * TPB < a.shape[1] else 0
            sb[tx, ty] = b[tx + i * TPB, y] if tx + i * TPB < b.shape[0] and y < b.shape[1] else 0
            cuda.syncthreads()
            for j in range(TPB):
                tmp += sa[tx, j] * sb[j, ty]
            cuda.syncthreads()
        if x < c.shape[0] and y < c.shape[1]:
            c[x, y] = tmp

    rng = np.random.default_rng(0)
    a, b = rng.random((40, 35), np.float32), rng.random((35, 37), np.float32)
    c = np.zeros((40, 37), np.float32)
    matmul[(3, 3), (TPB, TPB)](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_reduction_with_dynamic_shared_memory() -> None:
    @cuda.jit
    def total(a, out):
        s = cuda.shared.array(0, float64)
        i, t = cuda.grid(1), cuda.threadIdx.x
        s[t] = a[i] if i < a.size else 0.0
        cuda.syncthreads()
        step = cuda.blockDim.x // 2
        while step > 0:
            if t < step:
                s[t] += s[t + step]
            cuda.syncthreads()
            step //= 2
        if t == 0:
            cuda.atomic.add(out, 0, s[0])
            out[1] = len(s)

    a = np.arange(1000.0)
    out = np.zeros(2)
    total[8, 128, 0, 128 * 8](a, out)
    assert out[0] == a.sum() and out[1] == 128


def test_barriers_ignore_threads_that_returned() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        if t >= 10:
            return
        s = cuda.shared.array(10, int32)
        s[t] = t
        cuda.syncthreads()
        out[t] = s[9 - t]

    out = np.zeros(10, int)
    kernel[1, 32](out)
    np.testing.assert_array_equal(out, np.arange(10)[::-1])


def test_votes_of_a_block() -> None:
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        n = cuda.syncthreads_count(t < 5)
        every = cuda.syncthreads_and(t < 40)
        some = cuda.syncthreads_or(t == 39)
        if t == 0:
            out[0], out[1], out[2] = n, every != 0, some != 0

    out = np.zeros(3, int)
    kernel[1, 40](out)
    assert out.tolist() == [5, 1, 1]


def test_lanes_of_a_warp() -> None:
    @cuda.jit
    def kernel(total, votes, moved):
        t = cuda.threadIdx.x
        x = float(t)
        offset = 16
        while offset > 0:
            x += cuda.shfl_down_sync(0xFFFFFFFF, x, offset)
            offset //= 2
        if cuda.laneid == 0:
            total[t // 32] = x
        votes[t, 0] = cuda.ballot_sync(0xFFFFFFFF, t % 2)
        votes[t, 1] = cuda.all_sync(0xFFFFFFFF, t >= 0) + 2 * cuda.any_sync(0xFFFFFFFF, t == 33)
        votes[t, 2] = cuda.match_any_sync(0xFFFFFFFF, t % 4)
        _mask, same = cuda.match_all_sync(0xFFFFFFFF, 7)
        votes[t, 3] = same
        votes[t, 4] = cuda.eq_sync(0xFFFFFFFF, t >= 0) + 2 * cuda.eq_sync(0xFFFFFFFF, t < 0)
        votes[t, 5] = cuda.eq_sync(0xFFFFFFFF, t == 33)
        moved[t] = cuda.shfl_xor_sync(0xFFFFFFFF, t, 1) * 100 + cuda.shfl_up_sync(0xFFFFFFFF, t, 1)

    total, votes, moved = np.zeros(2), np.zeros((64, 6), np.int64), np.zeros(64, int)
    kernel[1, 64](total, votes, moved)
    assert total.tolist() == [sum(range(32)), sum(range(32, 64))]
    lane = np.arange(64) % 32
    assert set(votes[:, 0]) == {0xAAAAAAAA}
    assert votes[:32, 1].tolist() == [1] * 32 and votes[32:, 1].tolist() == [3] * 32
    assert votes[:, 2].tolist() == [0x11111111 << (t % 4) for t in range(64)]
    assert set(votes[:, 3]) == {1} and set(votes[:, 4]) == {3}
    assert votes[:32, 5].tolist() == [1] * 32 and votes[32:, 5].tolist() == [0] * 32
    t = np.arange(64)
    np.testing.assert_array_equal(moved, (t ^ 1) * 100 + np.where(lane == 0, t, t - 1))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "float32", "float64"])
def test_atomic_arithmetic(dtype: str) -> None:
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        cuda.atomic.add(out, 0, a[i])
        cuda.atomic.sub(out, 1, a[i])
        cuda.atomic.max(out, 2, a[i])
        cuda.atomic.min(out, 3, a[i])
        old = cuda.atomic.exch(out, 4, a[i])
        cuda.atomic.add(out, 5, old * 0 + 1)

    a = np.arange(1, 129).astype(dtype)
    out = np.array([0, 128 * 129 // 2, 5, 5, 0, 0], dtype)
    kernel[4, 32](a, out)
    assert out.tolist()[:4] == [128 * 129 // 2, 0, 128, 1]
    assert out[4] in a and out[5] == 128


def test_atomic_bits_and_counters() -> None:
    @cuda.jit
    def kernel(out, hist, data):
        i = cuda.grid(1)
        cuda.atomic.and_(out, 0, 0xFFFFFFFF ^ (1 << i % 8))
        cuda.atomic.or_(out, 1, 1 << i % 8)
        cuda.atomic.xor(out, 2, 1)
        cuda.atomic.inc(out, 3, 9)
        cuda.atomic.dec(out, 4, 9)
        cuda.atomic.cas(out, 5, 0, i + 1)
        cuda.atomic.compare_and_swap(out[6:], 0, i + 1)
        cuda.atomic.add(hist, (data[i], 0), 1)

    out, hist = np.array([0xFFFF, 0, 0, 0, 0, 0, 0], np.uint32), np.zeros((4, 1), np.int32)
    data = np.arange(64) % 4
    kernel[2, 32](out, hist, data)
    assert out.tolist()[:5] == [0xFF00, 0xFF, 0, 4, 6]
    assert 1 <= out[5] <= 64 and 1 <= out[6] <= 64
    assert hist.ravel().tolist() == [16] * 4


def test_atomics_and_nan() -> None:
    @cuda.jit
    def kernel(out, values):
        for v in values:
            cuda.atomic.max(out, 0, v)
            cuda.atomic.max(out, 1, v)
            cuda.atomic.nanmax(out, 2, v)
            cuda.atomic.nanmin(out, 3, v)

    out = np.array([0.0, np.nan, np.nan, np.nan])
    kernel[1, 1](out, np.array([1.0, np.nan, 3.0, 2.0]))
    assert out[0] == 3 and np.isnan(out[1]) and out[2] == 3 and out[3] == 1


def test_local_and_constant_arrays() -> None:
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        buffer = cuda.local.array((2, 3), float64)
        c = cuda.const.array_like(WEIGHTS)
        for j in range(2):
            for k in range(3):
                buffer[j, k] = i * j + k
        s = 0.0
        for row in buffer:
            for x in row:
                s += x
        out[i] = s + c[1, 0] + WEIGHTS[0, -1]

    out = np.zeros(8)
    kernel[2, 4](out)
    np.testing.assert_array_equal(out, np.arange(8) * 3 + 6 + 5)


def test_views_inside_kernels() -> None:
    @cuda.jit
    def kernel(a, out):
        row = a[1]
        column = a[:, 2]
        part = a[1:3, ::-2]
        out[0] = row[0] + row[-1]
        out[1] = column[0] + column.size * 1000
        out[2] = part[1, 0] + part.shape[0] * 100 + part.shape[1] * 10
        out[3] = a.T[3, 2] + a.ndim + a[-1][-2]
        out[4] = a[..., 1][2] + a[None, 0, 3][0]

    a = np.arange(20.0).reshape(4, 5)
    for given in (a, np.asfortranarray(a), np.arange(80.0).reshape(8, 10)[::2, ::2].copy()[:, :]):
        out = np.zeros(5)
        kernel[1, 1](given, out)
        g, p = given, given[1:3, ::-2]
        expected = [
            g[1, 0] + g[1, -1], g[0, 2] + g.shape[0] * 1000, p[1, 0] + p.shape[0] * 100 + p.shape[1] * 10,
            g.T[3, 2] + 2 + g[-1, -2], g[2, 1] + g[0, 3],
        ]  # fmt: skip
        np.testing.assert_array_equal(out, expected)


def test_arrays_by_strides() -> None:
    @cuda.jit
    def kernel(a, b):
        i, j = cuda.grid(2)
        if i < a.shape[0] and j < a.shape[1]:
            b[i, j] = a[i, j] * 2

    big = np.arange(96.0).reshape(8, 12)
    a, b = big[::2, 1::3], np.zeros((4, 8))[:, ::2]
    kernel[(1, 1), (8, 8)](a, b)
    np.testing.assert_array_equal(b, a * 2)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "complex64", "complex128"])
def test_element_types(dtype: str) -> None:
    @cuda.jit
    def kernel(a, b):
        i = cuda.grid(1)
        if i < a.size:
            b[i] = a[i] + a[i]

    a = (np.arange(20) % 2 if dtype == "bool" else np.arange(20)).astype(dtype)
    if a.dtype.kind == "c":
        a += 1j * np.arange(20)
    b = np.zeros_like(a)
    kernel[1, 32](a, b)
    np.testing.assert_array_equal(b, (a + a).astype(dtype))


def test_bits_of_integers() -> None:
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        out[i, 0] = cuda.popc(a[i])
        out[i, 1] = cuda.clz(a[i])
        out[i, 2] = cuda.ffs(a[i])
        out[i, 3] = cuda.brev(a[i])

    a = np.array([0, 1, 6, 0x80000000, 0xFFFFFFFF], np.uint32)
    out = np.zeros((5, 4), np.int64)
    kernel[1, 5](a, out)
    assert out.tolist() == [
        [0, 32, 0, 0], [1, 31, 1, 0x80000000], [2, 29, 2, 0x60000000], [1, 0, 32, 1], [32, 0, 1, 0xFFFFFFFF],
    ]  # fmt: skip


def test_printing(capfd: pytest.CaptureFixture[str]) -> None:
    @cuda.jit
    def kernel(a):
        print("element", cuda.grid(1), "is", a[cuda.grid(1)], True)

    kernel[1, 2](np.array([1.5, 2.0]))
    cuda.synchronize()
    assert capfd.readouterr().out == "element 0 is 1.500000 True\nelement 1 is 2.000000 True\n"


def test_tuple_shapes_pass_through_calls() -> None:
    @cuda.jit(device=True)
    def mirrored(out, shape, kind):
        tile = cuda.shared.array(shape, kind)
        mine = cuda.local.array(shape[1], int32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        mine[y] = 10 * x + y
        tile[x, y] = mine[y] + len(shape)
        cuda.syncthreads()
        out[x, y] = tile[shape[0] - 1 - x, shape[1] - 1 - y]

    @cuda.jit(device=True)
    def passed_on(out, shape, kind):
        mirrored(out, shape, kind)

    @cuda.jit
    def kernel(a, b):
        shape = (2, 3)
        passed_on(a, shape, float64)
        passed_on(b, (2, 3), int32)

    a, b = np.zeros((2, 3)), np.zeros((2, 3), np.int32)
    kernel[1, (2, 3)](a, b)
    np.testing.assert_array_equal(a, [[14, 13, 12], [4, 3, 2]])
    np.testing.assert_array_equal(b, a)


def test_groups_know_their_threads() -> None:
    @cuda.jit
    def kernel(ranks, sizes):
        block = cuda.cg.this_thread_block()
        grid = cuda.cg.this_grid()
        k = grid.thread_rank()
        ranks[k, 0] = block.thread_rank()
        ranks[k, 1] = grid.block_rank()
        ranks[k, 2] = block.thread_index().y * 100 + block.group_index().x
        if k == 0:
            sizes[0] = block.num_threads() + block.size()
            sizes[1] = grid.num_threads() + grid.size()
            sizes[2] = grid.num_blocks()
            sizes[3] = block.group_dim().z * 10 + grid.group_dim().y
        block.sync()

    ranks, sizes = np.zeros((6 * 24, 3), int), np.zeros(4, int)
    kernel[(3, 2), (4, 3, 2)](ranks, sizes)
    k = np.arange(6 * 24)
    np.testing.assert_array_equal(ranks[:, 0], k % 24)
    np.testing.assert_array_equal(ranks[:, 1], k // 24)
    np.testing.assert_array_equal(ranks[:, 2], k % 24 // 4 % 3 * 100 + k // 24 % 3)
    assert sizes.tolist() == [48, 288, 6, 22]

    @cuda.jit
    def other(x):
        cuda.cg.sync(x)

    with pytest.raises(cuda.errors.TypingError, match="takes a group"):
        other[1, 1](np.zeros(1))


def test_oversized_grid_is_rejected_before_allocation() -> None:
    @cuda.jit
    def wait(a):
        part = cuda.shared.array(6000, np.float64)
        part[0] = 0
        cuda.cg.this_grid().sync()
        a[0] = 1

    a = np.zeros(1)
    with pytest.raises(ValueError, match="wait for one another"):
        wait[2_000_000, 256](a)
    assert a[0] == 0
