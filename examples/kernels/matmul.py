"""A tiled matrix product: each block keeps two tiles in shared memory, so each number is read n
16 times.

To run it with Numba, import from `numba` instead of `cuprous`.
"""

import argparse
import time

import numpy as np

from cuprous import cuda

TILE = 16


@cuda.jit
def matmul(a, b, c):
    """Each thread computes one element of c = a @ b; the matrices may have any shape."""
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    column, row = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for start in range(0, a.shape[1], TILE):
        inside = row < a.shape[0] and start + x < a.shape[1]
        tile_a[y, x] = a[row, start + x] if inside else np.float32(0)
        inside = start + y < b.shape[0] and column < b.shape[1]
        tile_b[y, x] = b[start + y, column] if inside else np.float32(0)
        cuda.syncthreads()  # the tiles are complete
        for k in range(TILE):
            total += tile_a[y, k] * tile_b[k, x]
        cuda.syncthreads()  # all threads have read the tiles
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def product(a, b):
    """Returns a @ b for float32 matrices, on the device."""
    c = cuda.device_array((a.shape[0], b.shape[1]), dtype=np.float32)
    blocks = (-(-c.shape[1] // TILE), -(-c.shape[0] // TILE))
    matmul[blocks, (TILE, TILE)](a, b, c)
    return c


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=500)
    size = parser.parse_args().size
    rng = np.random.default_rng(0)
    a, b = rng.random((size, size + 3), np.float32), rng.random((size + 3, size - 1), np.float32)
    device_a, device_b = cuda.to_device(a), cuda.to_device(b)
    product(device_a, device_b)  # compiles
    start = time.perf_counter()
    c = product(device_a, device_b).copy_to_host()
    elapsed = time.perf_counter() - start
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)
    print(f"{size} x {size + 3} by {size + 3} x {size - 1} in {elapsed * 1e3:.1f} ms: as NumPy's")


if __name__ == "__main__":
    main()
