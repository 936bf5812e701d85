"""Stars that attract one another: each block reads the stars in tiles through shared memory.

To run it with Numba, import from `numba` instead of `cuprous`.
"""

import argparse
import math
import time

import numpy as np

from cuprous import cuda

THREADS = 128
SOFTENING = np.float32(1e-2)  # keeps close encounters finite


@cuda.jit
def accelerate(stars, speeds, dt):
    """Each thread adds the acceleration by all stars, whose rows are (x, y, z, mass), to the velocity of its own
    star."""
    tile = cuda.shared.array((THREADS, 4), np.float32)
    me, t = cuda.grid(1), cuda.threadIdx.x
    n = stars.shape[0]
    mine = min(me, n - 1)  # threads past the end only help to load tiles
    x, y, z = stars[mine, 0], stars[mine, 1], stars[mine, 2]
    ax = ay = az = np.float32(0)
    for start in range(0, n, THREADS):
        for k in range(4):
            tile[t, k] = stars[start + t, k] if start + t < n else np.float32(0)  # a mass of zero has no effect
        cuda.syncthreads()
        for other in range(THREADS):
            dx, dy, dz = tile[other, 0] - x, tile[other, 1] - y, tile[other, 2] - z
            squared = dx * dx + dy * dy + dz * dz + SOFTENING
            pull = tile[other, 3] / (squared * math.sqrt(squared))
            ax += dx * pull
            ay += dy * pull
            az += dz * pull
        cuda.syncthreads()
    if me < n:
        speeds[me, 0] += ax * dt
        speeds[me, 1] += ay * dt
        speeds[me, 2] += az * dt


@cuda.jit
def move(stars, speeds, dt):
    """Each thread moves its star."""
    me = cuda.grid(1)
    if me < stars.shape[0]:
        for axis in range(3):
            stars[me, axis] += speeds[me, axis] * dt


def momentum(stars: np.ndarray, speeds: np.ndarray) -> np.ndarray:
    """Returns the total momentum, which is conserved because there are no external forces."""
    return (stars[:, 3:] * speeds).sum(0, dtype=np.float64)


def reference(stars: np.ndarray) -> np.ndarray:
    """Returns all accelerations at once, computed by NumPy."""
    gaps = stars[None, :, :3] - stars[:, None, :3]
    squared = (gaps**2).sum(-1) + SOFTENING
    return (gaps * (stars[:, 3] / squared**1.5)[..., None]).sum(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stars", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    stars = rng.standard_normal((options.stars, 4)).astype(np.float32)
    stars[:, 3] = 1 / options.stars
    d_stars, d_speeds = cuda.to_device(stars), cuda.to_device(np.zeros((options.stars, 3), np.float32))
    blocks, dt = -(-options.stars // THREADS), np.float32(0.01)

    accelerate[blocks, THREADS](d_stars, d_speeds, dt)
    np.testing.assert_allclose(d_speeds.copy_to_host(), reference(stars) * dt, rtol=2e-3, atol=1e-6)
    start = time.perf_counter()
    for _ in range(options.steps):
        move[blocks, THREADS](d_stars, d_speeds, dt)
        accelerate[blocks, THREADS](d_stars, d_speeds, dt)
    stars, speeds = d_stars.copy_to_host(), d_speeds.copy_to_host()
    elapsed = time.perf_counter() - start
    drift = np.abs(momentum(stars, speeds)).max()
    assert drift < 1e-5, drift
    pulls = options.stars**2 * options.steps / elapsed / 1e6
    print(f"{options.stars:,} stars, {options.steps} steps: {pulls:,.0f} million pulls/s, momentum off by {drift:.0e}")


if __name__ == "__main__":
    main()
