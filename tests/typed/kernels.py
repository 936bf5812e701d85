"""Kernels in Python and in CUDA C++, streams and device memory, typed strictly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

import cuprous as cp
from cuprous import cuda, scipy
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


def main() -> None:
    """Runs everything."""
    print(launches(256), fused().tolist(), timed(), compiled() if cuda.is_available() else "CUDA C++ needs a GPU")
    print(filters(16).shape, matrices(20) < 1e-3, [math.isfinite(p) for p in probabilities()])


if __name__ == "__main__":
    main()
