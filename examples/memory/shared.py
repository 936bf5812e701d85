"""A matrix product that reads all operands from global memory, and one that keeps tiles in shared memory.

Both perform the same operations. Each number of a tile is read from memory once for TILE threads, not once for each
thread.
"""

import argparse

import numpy as np
from common import rate, seconds, table

from cuprous import cuda

TILE = 16


@cuda.jit
def plain(a, b, c):
    """Each thread reads a row and a column."""
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total


@cuda.jit
def tiled(a, b, c):
    """Each block reads tiles, which its threads share. The sizes must be multiples of TILE."""
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for start in range(0, a.shape[1], TILE):
        tile_a[y, x] = a[row, start + x]
        tile_b[y, x] = b[start + y, column]
        cuda.syncthreads()  # the tiles are complete
        for k in range(TILE):
            total += tile_a[y, k] * tile_b[k, x]
        cuda.syncthreads()  # all threads have read the tiles
    c[row, column] = total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1024 if cuda.is_available() else 256, help="a multiple of 16")
    n = parser.parse_args().size
    if n % TILE:
        parser.error(f"--size must be a multiple of {TILE}")
    rng = np.random.default_rng(0)
    hosts = rng.random((n, n), np.float32), rng.random((n, n), np.float32)
    a, b = (cuda.to_device(host) for host in hosts)
    c = cuda.device_array((n, n), np.float32)
    rows = []
    # Bytes that the threads read from global memory: two numbers for each multiplication, or 1/TILE of that.
    for name, kernel, asked in (("global memory", plain, 8 * n**3), ("shared memory", tiled, 8 * n**3 // TILE)):
        taken = seconds(lambda kernel=kernel: kernel[(n // TILE, n // TILE), (TILE, TILE)](a, b, c), 7)
        np.testing.assert_allclose(c.copy_to_host(), hosts[0] @ hosts[1], rtol=1e-4)
        rows.append((name, f"{taken * 1e3:.3f} ms", f"{2 * n**3 / taken / 1e9:.0f} GFLOP/s", rate(asked, taken)))
    table(f"Product of {n} x {n} float32", ("reads from", "time", "operations", "asked of global memory"), rows)


if __name__ == "__main__":
    main()
