"""Kernels in Python and in CUDA C++, streams and device memory, typed strictly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import cuprous as cp
from cuprous import cuda, cupyx, scipy
from cuprous.cuda import random as cuda_random
from cuprous.scipy import ndimage, signal, sparse, special, stats

THREADS = 64


@cuda.jit
def scale(x: cp.ndarray, out: cp.ndarray, factor: float) -> None:
    """Multiplies each element."""
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i] = x[i] * factor


@cuda.jit("void(float32[:], float32[:])")
def block_sums(x: cp.ndarray, out: cp.ndarray) -> None:
    """Sums the elements of each block in shared memory."""
    part = cuda.shared.array(THREADS, dtype=cuda.float32)
    lane = cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.x + lane
    part[lane] = x[i] if i < x.shape[0] else 0.0
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if lane < step:
            part[lane] += part[lane + step]
        cuda.syncthreads()
        step //= 2
    if lane == 0:
        out[cuda.blockIdx.x] = part[0]


@cuda.jit(device=True)
def escapes(real: float, imaginary: float, limit: int) -> int:
    """Counts iterations until a point leaves the Mandelbrot set."""
    a, b = 0.0, 0.0
    for n in range(limit):
        a, b = a * a - b * b + real, 2.0 * a * b + imaginary
        if a * a + b * b > 4.0:
            return n
    return limit


@cuda.jit
def mandelbrot(image: cp.ndarray, limit: int) -> None:
    """Fills an image in a grid-stride loop."""
    row, column = cuda.grid(2)
    rows, columns = cuda.gridsize(2)
    for y in range(row, image.shape[0], rows):
        for x in range(column, image.shape[1], columns):
            image[y, x] = escapes(3.0 * x / image.shape[1] - 2.0, 2.0 * y / image.shape[0] - 1.0, limit)


@cuda.jit
def histogram(values: cp.ndarray, counts: cp.ndarray) -> None:
    """Counts with atomic additions."""
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(counts, values[i], 1)


@cp.vectorize(["float32(float32, float32)"])
def smaller(a: float, b: float) -> float:
    """Returns the smaller of two numbers."""
    return a if a < b else b


@dataclass
class Grid:
    """How a kernel is launched."""

    blocks: int
    threads: int = THREADS

    @classmethod
    def over(cls, n: int, threads: int = THREADS) -> Grid:
        """Returns the grid with a thread for each element."""
        return cls(math.ceil(n / threads), threads)


def launches(n: int) -> float:
    """Launches kernels on arrays and on a stream."""
    grid = Grid.over(n)
    x = cp.arange(n, dtype=cp.float32)
    out = cp.empty_like(x)
    scale[grid.blocks, grid.threads](x, out, 2.0)
    sums = cp.zeros(grid.blocks, dtype="float32")
    block_sums[grid.blocks, THREADS](out, sums)
    image = cp.zeros((16, 24), dtype=cp.int32)
    mandelbrot[(2, 2), (8, 8)](image, 20)
    counts = cuda.to_device(np.zeros(4, dtype=np.int32))
    histogram.forall(n)(cp.arange(n) % 4, counts)
    host = counts.copy_to_host()
    assert int(host.sum()) == n and int(image.max()) == 20
    return float(sums.sum())


def compiled() -> list[float]:
    """Calls kernels of CUDA C++ and of expressions."""
    square = cp.ElementwiseKernel("float32 x", "float32 y", "y = x * x", "square")
    norm = cp.ReductionKernel("float32 x", "float32 y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    x = cp.asarray([3.0, 4.0], dtype=cp.float32)
    squared: list[float] = square(x).tolist()
    return [*squared, float(norm(x)), float(smaller(x, x[::-1]).sum())]


def fused() -> cp.ndarray:
    """Fuses a function and reduces."""

    @cp.fuse()
    def step(x: cp.ndarray, y: cp.ndarray) -> cp.ndarray:
        result: cp.ndarray = cp.sqrt(x * x + y * y)
        return result

    result: cp.ndarray = step(cp.asarray([3.0]), cp.asarray([4.0]))
    return result


def timed() -> bool:
    """Measures with events and waits."""
    begin, end = cuda.Event(), cuda.Event()
    begin.record()
    cp.ones(100).sum()
    end.record()
    end.synchronize()
    elapsed = cuda.get_elapsed_time(begin, end)
    cuda.synchronize()
    usable: bool = cuda.is_available()
    return elapsed >= 0 and usable in (True, False)


def filters(size: int) -> cp.ndarray:
    """Filters images and signals."""
    image = cp.random.default_rng(0).random((size, size))
    smooth = ndimage.gaussian_filter(image, sigma=1.0)
    labels, count = ndimage.label(smooth > 0.5)
    window = signal.get_window("hann", 8)
    filtered = signal.fftconvolve(image[0], window, mode="same")
    b, a = signal.butter(2, 0.2)
    passed = signal.lfilter(b, a, filtered)
    assert labels.shape == image.shape and int(count) >= 0
    return cp.concatenate([passed, ndimage.sobel(smooth)[0]])


def matrices(n: int) -> float:
    """Multiplies sparse matrices and solves with them."""
    laplace = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n), format="csr")
    b = cp.ones(n)
    x, info = sparse.linalg.cg(laplace, b)
    assert int(info) == 0 and laplace.nnz == 3 * n - 2
    return float(cp.abs(laplace @ x - b).max())


def probabilities() -> tuple[float, float]:
    """Computes special functions and tests."""
    x = cp.linspace(-3, 3, 50)
    area = special.erf(x).sum() + special.gammaln(cp.asarray([5.0]))[0]
    result = stats.ttest_1samp(x, 0.0)
    correlation = stats.pearsonr(x, x**3)
    assert scipy.get_array_module(x) is scipy
    return float(area), float(result.pvalue) + float(correlation[0])


@cuda.jit
def diffuse(old: cp.ndarray, new: cp.ndarray, rate: float) -> None:
    """Takes a step of heat on a grid."""
    y, x = cuda.grid(2)
    if 0 < y < old.shape[0] - 1 and 0 < x < old.shape[1] - 1:
        around = old[y - 1, x] + old[y + 1, x] + old[y, x - 1] + old[y, x + 1]
        new[y, x] = old[y, x] + rate * (around - 4.0 * old[y, x])


@cuda.jit
def estimate_pi(states: cp.ndarray, rounds: int, out: cp.ndarray) -> None:
    """Throws points at a square, each thread with random numbers of its own."""
    thread = cuda.grid(1)
    inside = 0
    for _ in range(rounds):
        x = cuda_random.xoroshiro128p_uniform_float32(states, thread)
        y = cuda_random.xoroshiro128p_uniform_float32(states, thread)
        if x * x + y * y <= 1.0:
            inside += 1
    out[thread] = 4.0 * inside / rounds


@cuda.jit
def warp_sums(values: cp.ndarray, out: cp.ndarray) -> None:
    """Sums the elements of each warp by shuffles."""
    i = cuda.grid(1)
    value = values[i]
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
        offset //= 2
    if cuda.laneid == 0:
        out[i // 32] = value


@cuda.reduce
def larger(a: float, b: float) -> float:
    """Returns the larger of two numbers."""
    return a if a > b else b


def heat(size: int, steps: int) -> float:
    """Runs a stencil with two buffers in turn."""
    old = cp.zeros((size, size), dtype=cp.float32)
    old[size // 2, size // 2] = 100.0
    new = old.copy()
    blocks = (math.ceil(size / 8), math.ceil(size / 8))
    for _ in range(steps):
        diffuse[blocks, (8, 8)](old, new, 0.1)
        old, new = new, old
    return float(old.sum())


def randomness(threads: int) -> float:
    """Averages estimates of pi."""
    states = cuda_random.create_xoroshiro128p_states(threads, seed=1)
    out = cuda.device_array(threads, dtype=np.float32)
    estimate_pi[threads // 32, 32](states, 200, out)
    return float(out.copy_to_host().mean())


@cuda.jit
def smooth(x: cp.ndarray, out: cp.ndarray) -> None:
    """Averages neighbors, which a block shares."""
    tile = cuda.shared.array(THREADS + 2, dtype=cuda.float32)
    i = cuda.grid(1)
    lane = cuda.threadIdx.x + 1
    tile[lane] = x[i] if i < x.size else 0.0
    if lane == 1:
        tile[0] = x[i - 1] if i > 0 else x[0]
        tile[THREADS + 1] = x[min(i + THREADS, x.size - 1)]
    cuda.syncthreads()
    if i < x.size:
        out[i] = (tile[lane - 1] + tile[lane] + tile[lane + 1]) / 3


def reduced() -> tuple[float, list[float]]:
    """Reduces by a function, and in warps."""
    values = cp.arange(64, dtype=cp.float32)
    largest = float(larger(values))
    sums = cp.zeros(2, dtype=cp.float32)
    warp_sums[1, 64](values, sums)
    listed: list[float] = sums.tolist()
    return largest, listed


def streams(n: int) -> int:
    """Copies on a stream, and measures memory."""
    stream = cuda.stream()
    with stream.auto_synchronize():
        device = cuda.to_device(np.ones(n), stream=stream)
        scale[Grid.over(n).blocks, THREADS, stream](device, device, 3.0)
    host = device.copy_to_host(stream=stream)
    with cp.cuda.Stream() as other:
        total = cp.asarray(host).sum()
    other.synchronize()
    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()
    assert pool.used_bytes() >= 0 and pool.total_bytes() >= 0
    return int(total)


def cupy_names() -> cp.ndarray:
    """Uses what CuPy adds to NumPy."""
    a = cp.zeros(4)
    cupyx.scatter_add(a, cp.asarray([0, 0, 3]), 1.0)
    xp = cp.get_array_module(a)
    assert xp is cp and isinstance(cp.asnumpy(a), np.ndarray)
    roots: cp.ndarray = cupyx.rsqrt(a + 1)
    with cupyx.errstate(linalg="raise"):
        solved = cp.linalg.solve(cp.eye(4), roots)
    return solved


def main() -> None:
    """Runs everything."""
    print(launches(256), fused().tolist(), timed(), compiled() if cuda.is_available() else "CUDA C++ needs a GPU")
    print(filters(16).shape, matrices(20) < 1e-3, [math.isfinite(p) for p in probabilities()])
    print(heat(16, 4), 2.5 < randomness(64) < 3.8, reduced(), streams(32), cupy_names().shape)
    line = cp.arange(2 * THREADS, dtype=cp.float32)
    smoothed = cp.empty_like(line)
    smooth[2, THREADS](line, smoothed)
    print(bool(cp.allclose(smoothed[1:-1], line[1:-1])))


if __name__ == "__main__":
    main()
