"""The Mandelbrot set as an image, with one thread for each pixel.

To run it with Numba, import from `numba` instead of `cuprous`.
"""

import argparse
import time

import numpy as np
import png

from cuprous import cuda


@cuda.jit(device=True)
def escape(re, im, max_iterations):
    """Returns the number of iterations until z * z + c leaves the circle of radius 2."""
    x = y = np.float32(0)
    for iteration in range(max_iterations):
        x, y = x * x - y * y + re, np.float32(2) * x * y + im
        if x * x + y * y > np.float32(4):
            return iteration
    return max_iterations


@cuda.jit
def mandelbrot(iterations, left, top, step, max_iterations):
    """Each thread computes one pixel."""
    column, row = cuda.grid(2)
    if row < iterations.shape[0] and column < iterations.shape[1]:
        re = left + np.float32(column) * step
        im = top - np.float32(row) * step
        iterations[row, column] = escape(re, im, max_iterations)


def compute(size: int, max_iterations: int):
    """Returns the iteration count of each pixel of the square around the set, on the device."""
    iterations = cuda.device_array((size, size), dtype=np.int32)
    blocks = -(-size // 16)
    mandelbrot[(blocks, blocks), (16, 16)](
        iterations, np.float32(-2), np.float32(1.25), np.float32(2.5 / size), max_iterations
    )
    return iterations


def reference(size: int, max_iterations: int) -> np.ndarray:
    """Returns the iteration count of every eighth pixel in both directions, computed by NumPy."""
    re = -2 + np.arange(0, size, 8, np.float32) * np.float32(2.5 / size)
    c = re + 1j * (1.25 - np.arange(0, size, 8, np.float32) * np.float32(2.5 / size))[:, None]
    z, iterations = np.zeros_like(c), np.full(c.shape, max_iterations)
    for iteration in range(max_iterations):
        inside = iterations == max_iterations
        z[inside] = z[inside] ** 2 + c[inside]
        iterations[inside & (np.abs(z) > 2)] = iteration
    return iterations


def colored(iterations: np.ndarray, max_iterations: int) -> np.ndarray:
    """Returns the colors: black inside the set; outside, a palette over the logarithm of the iteration count."""
    phase = 3.0 + 0.9 * np.log1p(iterations)[..., None] + np.array([0.0, 0.6, 1.0])
    return np.where(iterations[..., None] < max_iterations, 127.5 + 127.5 * np.cos(phase), 0).astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--to", default="mandelbrot.png")
    options = parser.parse_args()
    compute(16, 1)  # compiles
    start = time.perf_counter()
    iterations = compute(options.size, options.iterations).copy_to_host()
    elapsed = time.perf_counter() - start

    assert np.mean(iterations[::8, ::8] != reference(options.size, options.iterations)) < 0.01  # rounding
    png.write(options.to, colored(iterations, options.iterations))
    area = np.mean(iterations == options.iterations) * 2.5**2
    print(f"{options.size} x {options.size} pixels in {elapsed * 1e3:.1f} ms, area {area:.2f}; see {options.to}")


if __name__ == "__main__":
    main()
