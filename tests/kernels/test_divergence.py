"""Tests divergence: threads that run in the lanes of one vector take different branches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import cuda

N = 50


def launched(kernel: Any, *args: Any, threads: int = 25) -> None:
    kernel[N // threads, threads](*args)


def test_negative_indices_in_some_lanes() -> None:
    @cuda.jit
    def kernel(a, out, back):
        i = cuda.grid(1)
        out[i] = a[i - 20] + a[3 - i % 7]
        back[i - 37] = i

    a, out, back = np.arange(N) * 1.5, np.zeros(N), np.zeros(N, np.int64)
    i = np.arange(N)
    for threads in (25, 50):
        launched(kernel, a, out, back, threads=threads)
        np.testing.assert_array_equal(out, a[i - 20] + a[3 - i % 7])
        np.testing.assert_array_equal(back[i - 37], i)


def test_clamped_neighbor_indices() -> None:
    @cuda.jit
    def kernel(image, out):
        x, y = cuda.grid(2)
        height, width = image.shape[0], image.shape[1]
        if x < width and y < height:
            left, right = max(x - 1, 0), min(x + 1, width - 1)
            for k in range(3):
                value = np.int32(image[y, left, k]) + 2 * image[y, x, k] + image[y, right, k]
                out[y, x, k] = min(value, 255)

    image = np.random.default_rng(0).integers(0, 256, (5, 70, 3), np.uint8)
    wide = np.pad(image.astype(int), ((0, 0), (1, 1), (0, 0)), "edge")
    expected = np.minimum(wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:], 255)
    for block in ((16, 2), (32, 1), (9, 5)):
        out = np.zeros_like(image)
        kernel[(-(-70 // block[0]), -(-5 // block[1])), block](image, out)
        np.testing.assert_array_equal(out, expected)


def test_divergent_loop_trip_counts() -> None:
    @cuda.jit
    def kernel(a, out, n):
        i = cuda.grid(1)
        total = 0.0
        for k in range(i, n, 13):
            total += a[k]
        turns = 0
        while turns * turns < i:
            turns += 1
            if turns == n:
                break
        for k in range(3):
            for j in range(i % 4):
                total += k * j
        out[i] = total + 1000 * turns

    a, out = np.arange(N) * 0.5, np.zeros(N)
    expected = [
        a[i::13].sum() + sum(k * j for k in range(3) for j in range(i % 4)) + 1000 * int(np.ceil(np.sqrt(i)))
        for i in range(N)
    ]
    for threads in (25, 50):
        launched(kernel, a, out, N, threads=threads)
        np.testing.assert_array_equal(out, expected)


def test_numbers_of_all_sizes_and_truth_values() -> None:
    @cuda.jit
    def kernel(a, b, small, flags, out):
        i = cuda.grid(1)
        inside = 3 < i < 40
        even = i % 2 == 0
        both = (inside and even) or i == 1
        flags[i] = both != inside
        small[i] = a[i] * 3 + (b[i] >> 1) if both else -a[i]
        out[i] = np.float32(a[i]) / b[i] if b[i] > 4 and not even else int(b[i]) // (i - 60)

    rng = np.random.default_rng(1)
    a, b = rng.integers(-128, 128, N, np.int8), rng.integers(0, 200, N, np.uint16)
    small, flags, out = np.zeros(N, np.int8), np.zeros(N, bool), np.zeros(N, np.float32)
    i = np.arange(N)
    inside, even = (i > 3) & (i < 40), i % 2 == 0
    both = inside & even | (i == 1)
    wide_a, wide_b = a.astype(int), b.astype(int)
    expected = np.where(both, wide_a * 3 + (wide_b >> 1), -wide_a).astype(np.int8)
    ratio = np.divide(a.astype(np.float32), b.astype(np.float32), where=b > 4, out=np.zeros(N, np.float32))
    for threads in (25, 50):
        launched(kernel, a, b, small, flags, out, threads=threads)
        np.testing.assert_array_equal(flags, both != inside)
        np.testing.assert_array_equal(small, expected)
        np.testing.assert_allclose(out, np.where((b > 4) & ~even, ratio, wide_b // (i - 60)), rtol=1e-6)


def test_early_exit_of_one_lane() -> None:
    @cuda.jit
    def early(a, out):
        i = cuda.grid(1)
        if i % 3 == 1:
            return
        out[i] = a[i]
        if i == 30:
            return
        out[i] += 1

    @cuda.jit(debug=True, opt=False)
    def raising(a, out):
        i = cuda.grid(1)
        if a[i] == 7:
            raise ValueError("seven")
        out[i] = a[i] + 1

    a, i = np.arange(N), np.arange(N)
    for threads in (25, 50):
        out = np.zeros(N, np.int64)
        launched(early, a, out, threads=threads)
        np.testing.assert_array_equal(out, np.where(i % 3 == 1, 0, a + (i != 30)))
    out = cuda.to_device(np.zeros(N, np.int64))
    with pytest.raises(ValueError, match="seven"):
        raising[1, N](a, out)
        cuda.synchronize()
    if not cuda.is_available():
        np.testing.assert_array_equal(out.copy_to_host(), np.where(a == 7, 0, a + 1))


def test_values_live_across_barriers() -> None:
    @cuda.jit
    def kernel(a, out):
        s = cuda.shared.array(64, np.float64)
        mine = cuda.local.array(4, np.int32)
        t = cuda.threadIdx.x
        z = complex(t, 1)
        row = a[t % 5]
        pair = (t, a[0, t % 3])
        for k in range(4):
            mine[k] = t * k
        s[t] = t * 2.0
        cuda.syncthreads()
        other = s[cuda.blockDim.x - 1 - t]
        cuda.syncthreads()
        s[t] = other
        cuda.syncthreads()
        out[t] = s[t] + row[1] + pair[0] + pair[1] + mine[3] + (z * z).imag

    a = np.random.default_rng(2).random((5, 3))
    for threads in (7, 16, 40):
        t, out = np.arange(threads), np.zeros(threads)
        kernel[1, threads](a, out)
        expected = 2.0 * (threads - 1 - t) + a[t % 5, 1] + t + a[0, t % 3] + 3 * t + 2 * t
        np.testing.assert_allclose(out, expected)


def test_barriers_in_uniform_control_flow() -> None:
    @cuda.jit
    def kernel(out, n, flag):
        s = cuda.shared.array(64, np.int64)
        t = cuda.threadIdx.x
        s[t] = t
        cuda.syncthreads()
        step, rounds = 1, 0
        while step < cuda.blockDim.x:
            if flag > 1 and step > n:
                break
            left = s[t - step] if t >= step else 0
            cuda.syncthreads()
            s[t] += left
            rounds += cuda.syncthreads_count(t >= step) + cuda.syncthreads_or(t == 3) - cuda.syncthreads_and(t > 3)
            step *= 2
        out[t] = s[t] * 1000 + rounds

    for threads in (16, 33):
        for flag in (0, 2):
            s, step, rounds = np.arange(threads), 1, 0
            while step < threads and not (flag > 1 and step > 4):
                s[step:] += s[:-step].copy()
                rounds += threads - step + 1
                step *= 2
            out = np.zeros(threads, np.int64)
            kernel[1, threads](out, 4, flag)
            np.testing.assert_array_equal(out, s * 1000 + rounds)


def test_divergent_barriers_still_synchronize() -> None:
    @cuda.jit
    def kernel(out, n):
        s = cuda.shared.array(64, np.int64)
        t = cuda.threadIdx.x
        if t >= n:
            return
        s[t] = t
        cuda.syncthreads()
        out[t] = s[n - 1 - t]

    out = np.zeros(40, np.int64)
    kernel[1, 40](out, 30)
    np.testing.assert_array_equal(out, [*range(29, -1, -1), *[0] * 10])


@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "i8", "f4", "f8"])
def test_gathers_from_distant_elements(dtype: str) -> None:
    @cuda.jit
    def turn(source, out):
        i = cuda.grid(1)
        if i < source.shape[0]:
            for k in range(source.shape[1]):
                out[i, k] = source[i, k] + source[source.shape[0] - 1 - i, k]

    numbers = np.arange(4 * 77 * 5).reshape(4 * 77, 5) % 100
    everything = cp.asarray(numbers.astype(dtype))
    for view in (np.s_[:77, :3], np.s_[::4, 1:4], np.s_[::-3, ::-1], np.s_[5:6], np.s_[:0]):
        source, plain = everything[view], numbers[view]
        out = cp.zeros((*plain.shape, 2), dtype)[..., 1]
        turn[3, 48](source, out)
        np.testing.assert_array_equal(cp.asnumpy(out), (plain + plain[::-1]).astype(dtype))


def test_divergent_variables_keep_their_bits() -> None:
    @cuda.jit
    def kernel(source, out):
        i = cuda.grid(1)
        if i < source.size:
            n = source[i] * 1000
            out[0, i] = n * n
            n = source[i] * 100_000
            out[1, i] = n * n - n
            n = int(np.int32(source[i]) - 300)
            out[2, i] = 12 * n * n
            for _ in range(3):
                n = n * 3000
            out[3, i] = n

    source = np.arange(256, dtype=np.uint8)
    out = np.zeros((4, 256), np.int64)
    kernel[8, 32](source, out)
    n = source.astype(np.int64)
    np.testing.assert_array_equal(out[0], (n * 1000) ** 2)
    np.testing.assert_array_equal(out[1], (n * 100_000) ** 2 - n * 100_000)
    np.testing.assert_array_equal(out[2], 12 * (n - 300) ** 2)
    np.testing.assert_array_equal(out[3], (n - 300) * 3000**3)


def test_jumps_from_a_loop_else_target_the_outer_loop() -> None:
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        v = last = turn = 0
        while turn < 3:
            turn += 1
            for _ in range(2):
                v = a[i]
            else:
                if a[i] > 1:
                    continue
            v = 100
        for _ in range(3):
            while last < a[i]:
                last = a[i] + 5
            else:
                if a[i] > 2:
                    break
            last = 200
        out[0, i], out[1, i] = v, last

    out = np.zeros((2, 4), np.int64)
    kernel[1, 4](np.arange(4), out)
    assert out.tolist() == [[100, 100, 2, 3], [200, 200, 200, 8]]


@pytest.mark.parametrize("threads", [1, 3, 8, 16, 17, 100, 256])
def test_thread_indices_for_any_block_size(threads: int) -> None:
    @cuda.jit(device=True)
    def place(shift):
        return cuda.threadIdx.x + shift + cuda.blockDim.x * cuda.blockIdx.x - shift

    @cuda.jit
    def words(a, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a[i] * 2 + i

    @cuda.jit
    def names(a, out):
        t, b, n = cuda.threadIdx.x, cuda.blockIdx.x, cuda.blockDim.x
        i = t + n * b
        if i < out.size:
            out[i] = a[i] * 2 + i

    @cuda.jit
    def called(a, out):
        i = place(3)
        if i < out.size:
            out[i] = a[i] * 2 + place(5)

    @cuda.jit
    def strided(a, out):
        for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
            out[i] = a[i] * 2 + i

    @cuda.jit
    def rows(a, out):
        x, y = cuda.grid(2)
        i = y * 100 + x
        if x < 100 and i < out.size:
            out[i] = a[i] * 2 + i

    for size in (1, 50, 1000):
        a = np.random.default_rng(size).integers(-100, 100, size)
        for kernel in (words, names, called, strided, rows):
            out, grid = np.zeros(size, np.int64), -(-size // threads)
            if kernel is rows:
                rows[(-(-100 // threads), 5), (threads, 2)](a, out)
            else:
                kernel[grid, threads](a, out)
            np.testing.assert_array_equal(out, a * 2 + np.arange(size), f"{size}")


def test_other_uses_of_thread_indices() -> None:
    @cuda.jit
    def within(out):
        i, t = cuda.grid(1), cuda.threadIdx.x
        out[i] = 100 * t + i

    @cuda.jit
    def block(out):
        out[cuda.grid(1)] = cuda.blockIdx.x

    @cuda.jit
    def narrow(out):
        t = np.int8(cuda.threadIdx.x)
        out[cuda.grid(1)] = t + cuda.blockIdx.x * cuda.blockDim.x

    @cuda.jit
    def changed(out):
        i = cuda.grid(1)
        t = cuda.threadIdx.x
        if t == 3:
            t = 7
        out[i] = t

    for threads, blocks in ((5, 40), (16, 7), (150, 2)):
        i = np.arange(threads * blocks)
        t = i % threads
        expected = {
            within: 100 * t + i,
            block: i // threads,
            narrow: t.astype(np.int8).astype(int) + i - t,
            changed: np.where(t == 3, 7, t),
        }
        for kernel, numbers in expected.items():
            out = np.zeros(i.size, np.int64)
            kernel[blocks, threads](out)
            np.testing.assert_array_equal(out, numbers)


@pytest.mark.parametrize("block", [(16, 16), (16, 5), (32, 1), (32, 2), (8, 4), (20, 3)])
def test_per_row_sums_in_2d_blocks(block: tuple[int, int]) -> None:
    @cuda.jit
    def kernel(a, b, out, turns):
        left, right = cuda.shared.array((16, 32), np.float32), cuda.shared.array((32, 32), np.float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        height, below = cuda.blockDim.y, 2 * y + 1
        total, rounds, last = np.float32(0), 0, np.int32(0)
        for start in range(0, a.shape[1], 8):
            for k in range(8):
                left[y, k] = a[row, start + k]
                right[k, x] = b[start + k, column]
            cuda.syncthreads()
            rounds += 1
            for k in range(8):
                total += left[y, k] * right[k, x]
                for _ in range(turns):
                    total -= left[height - 1 - y, k]
            cuda.syncthreads()
            for k in range(2):
                last = last + y * k + rounds
            cuda.syncthreads()
        out[row, column] = total + 1000 * rounds + below + last

    rng = np.random.default_rng(5)
    width, height = block
    a = rng.integers(-4, 5, (2 * height, 24)).astype(np.float32)
    b = rng.integers(-4, 5, (24, 3 * width)).astype(np.float32)
    for turns in (0, 2):
        out = np.zeros((2 * height, 3 * width), np.float32)
        kernel[(3, 2), block](a, b, out, turns)
        y = np.arange(2 * height)[:, None] % height
        mirrored = a.reshape(2, height, 24)[:, ::-1].reshape(2 * height, 24).sum(1, keepdims=True)
        expected = a @ b - turns * mirrored + 3000 + 2 * y + 1 + 3 * y + 2 * (1 + 2 + 3)
        np.testing.assert_array_equal(out, expected)
