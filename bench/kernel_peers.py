"""The work of the examples, written for `numba.njit(parallel=True)`: loops without threads or shared memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import get_num_threads, get_thread_id, njit, prange


@njit(parallel=True)
def stencil(old: Any, new: Any) -> None:
    for y in prange(1, old.shape[0] - 1):
        for x in range(1, old.shape[1] - 1):
            new[y, x] = (old[y - 1, x] + old[y + 1, x] + old[y, x - 1] + old[y, x + 1]) * np.float32(0.25)


@njit(parallel=True)
def mandelbrot(turns: Any, left: Any, top: Any, step: Any, most: Any) -> None:
    for row in prange(turns.shape[0]):
        for column in range(turns.shape[1]):
            re, im = left + np.float32(column) * step, top - np.float32(row) * step
            x = y = np.float32(0)
            found = most
            for turn in range(most):
                x, y = x * x - y * y + re, np.float32(2) * x * y + im
                if x * x + y * y > np.float32(4):
                    found = turn
                    break
            turns[row, column] = found


@njit(parallel=True)
def image_filter(image: Any, result: Any) -> None:
    height, width = image.shape[0], image.shape[1]
    for row in prange(height):
        above, below = max(row - 1, 0), min(row + 1, height - 1)
        for column in range(width):
            left, right = max(column - 1, 0), min(column + 1, width - 1)
            for k in range(3):
                corners = np.int32(image[above, left, k]) + image[above, right, k]
                corners += np.int32(image[below, left, k]) + image[below, right, k]
                sides = np.int32(image[above, column, k]) + image[below, column, k]
                sides += np.int32(image[row, left, k]) + image[row, right, k]
                value = np.int32(image[row, column, k])
                result[row, column, k] = min(max(value + ((12 * value - 2 * sides - corners) >> 3), 0), 255)


@njit(parallel=True)
def reduction(values: Any, out: Any) -> None:
    total = 0.0
    for i in prange(values.size):
        total += values[i]
    out[0] += total


@njit(parallel=True)
def histogram(values: Any, low: Any, high: Any, counts: Any) -> None:
    mine = np.zeros((get_num_threads(), 256), np.int32)
    scale = np.float32(256) / (high - low)
    for i in prange(values.size):
        if low <= values[i] < high:
            mine[get_thread_id(), min(int((values[i] - low) * scale), 255)] += 1
    counts += mine.sum(0)


@njit(parallel=True, fastmath=False)
def matmul(a: Any, b: Any, c: Any) -> None:
    for i in prange(a.shape[0]):
        c[i, :] = 0
        for k in range(a.shape[1]):  # the loop order that reads rows
            factor = a[i, k]
            for j in range(b.shape[1]):
                c[i, j] += factor * b[k, j]


@njit(parallel=True)
def n_body(stars: Any, speeds: Any, dt: Any) -> None:
    for me in prange(stars.shape[0]):
        x, y, z = stars[me, 0], stars[me, 1], stars[me, 2]
        ax = ay = az = np.float32(0)
        for other in range(stars.shape[0]):
            dx, dy, dz = stars[other, 0] - x, stars[other, 1] - y, stars[other, 2] - z
            squared = dx * dx + dy * dy + dz * dz + np.float32(1e-2)
            pull = stars[other, 3] / (squared * math.sqrt(squared))
            ax += dx * pull
            ay += dy * pull
            az += dz * pull
        speeds[me, 0] += ax * dt
        speeds[me, 1] += ay * dt
        speeds[me, 2] += az * dt


@njit
def _next(states: Any, i: Any) -> Any:
    s0, s1 = states[i, 0], states[i, 1]
    number = s0 + s1
    s1 ^= s0
    states[i, 0] = ((s0 << np.uint64(55)) | (s0 >> np.uint64(9))) ^ s1 ^ (s1 << np.uint64(14))
    states[i, 1] = (s1 << np.uint64(36)) | (s1 >> np.uint64(28))
    return np.float32(np.float64(number >> np.uint64(11)) * 2.0**-53)


@njit(parallel=True)
def monte_carlo(states: Any, days: Any, drift: Any, spread: Any, means: Any) -> None:
    for path in prange(means.size):
        level = total = np.float32(0)
        for _ in range(days):
            u1, u2 = _next(states, path), _next(states, path)
            normal = math.sqrt(np.float32(-2) * math.log(u1)) * math.cos(np.float32(2 * math.pi) * u2)
            level += drift + spread * normal
            total += level
        means[path] = math.exp(total / np.float32(days))


def prepared(name: str, scale: float) -> Callable[[], Any]:
    """Returns one call at the size of `bench.kernel_examples`."""
    rng = np.random.default_rng(0)

    def side(n: int) -> int:
        return max(16, int(n * scale**0.5) // 16 * 16)

    def floats(*shape: int) -> Any:
        return rng.random(shape, np.float32)

    count, paths = max(512, int((1 << 22) * scale)), max(256, int(65536 * scale))
    f = np.float32
    n = side(512)
    arguments: dict[str, Callable[[], tuple[Any, ...]]] = {
        "stencil": lambda: (floats(side(2048), side(2048)), floats(side(2048), side(2048))),
        "mandelbrot": lambda: (np.zeros((side(1024),) * 2, np.int32), f(-2), f(1.25), f(2.5 / side(1024)), 200),
        "image_filter": lambda: tuple(rng.integers(0, 256, (side(1088), side(1920), 3), np.uint8) for _ in "ab"),
        "reduction": lambda: (rng.random(count), np.zeros(1)),
        "histogram": lambda: (floats(count), f(0), f(1), np.zeros(256, np.int32)),
        "matmul": lambda: (floats(n, n), floats(n, n), floats(n, n)),
        "n_body": lambda: (floats(side(4096), 4), np.zeros((side(4096), 3), f), f(0.01)),
        "monte_carlo": lambda: (
            rng.integers(1, 1 << 63, (paths, 2), np.uint64), 252, f(1e-4), f(0.0126), np.zeros(paths, f),
        ),
    }  # fmt: skip
    args = arguments[name]()
    kernel = globals()[name]
    return lambda: kernel(*args)
