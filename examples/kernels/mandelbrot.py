"""The Mandelbrot set as a picture, one thread a pixel.

The same with Numba: import from `numba` instead of `cuprous`.
"""

import argparse
import time

import numpy as np
import png

from cuprous import cuda


@cuda.jit(device=True)
def escape(re, im, most):
    """Turns until z * z + c leaves the circle of radius 2."""
    x = y = np.float32(0)
    for turn in range(most):
        x, y = x * x - y * y + re, np.float32(2) * x * y + im
        if x * x + y * y > np.float32(4):
            return turn
    return most


@cuda.jit
def mandelbrot(turns, left, top, step, most):
    """Each thread colours one pixel."""
    column, row = cuda.grid(2)
    if row < turns.shape[0] and column < turns.shape[1]:
        re = left + np.float32(column) * step
        im = top - np.float32(row) * step
        turns[row, column] = escape(re, im, most)


def compute(size: int, most: int):
    """Turns of each pixel of the square around the set, on the device."""
    turns = cuda.device_array((size, size), dtype=np.int32)
    blocks = -(-size // 16)
    mandelbrot[(blocks, blocks), (16, 16)](turns, np.float32(-2), np.float32(1.25), np.float32(2.5 / size), most)
    return turns


def reference(size: int, most: int) -> np.ndarray:
    """Turns of every eighth pixel, by NumPy."""
    re = -2 + np.arange(0, size, 8, np.float32) * np.float32(2.5 / size)
    c = re + 1j * (1.25 - np.arange(0, size, 8, np.float32) * np.float32(2.5 / size))[:, None]
    z, turns = np.zeros_like(c), np.full(c.shape, most)
    for turn in range(most):
        inside = turns == most
        z[inside] = z[inside] ** 2 + c[inside]
        turns[inside & (np.abs(z) > 2)] = turn
    return turns


def coloured(turns: np.ndarray, most: int) -> np.ndarray:
    """Black inside; outside a palette that turns slower the longer the way out was."""
    phase = 3.0 + 0.9 * np.log1p(turns)[..., None] + np.array([0.0, 0.6, 1.0])
    return np.where(turns[..., None] < most, 127.5 + 127.5 * np.cos(phase), 0).astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--to", default="mandelbrot.png")
    options = parser.parse_args()
    compute(16, 1)  # compiles
    start = time.perf_counter()
    turns = compute(options.size, options.turns).copy_to_host()
    elapsed = time.perf_counter() - start

    assert np.mean(turns[::8, ::8] != reference(options.size, options.turns)) < 0.01  # roundings near the edge
    png.write(options.to, coloured(turns, options.turns))
    area = np.mean(turns == options.turns) * 2.5**2
    print(f"{options.size} x {options.size} pixels in {elapsed * 1e3:.1f} ms, area {area:.2f}; see {options.to}")


if __name__ == "__main__":
    main()
