"""A sum in three ways: one atomic operation for each number, a tree in shared memory for each block, and warp shuffles.

To run it with Numba, import from `numba` instead of `cuprous`.
"""

import argparse
import time

import numpy as np

from cuprous import cuda

THREADS = 256
ALL = 0xFFFFFFFF  # all lanes of a warp


@cuda.jit
def by_atomics(values, out):
    """Simple and slow: all threads update the same element."""
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(out, 0, values[i])


@cuda.jit
def by_tree(values, out):
    """Each thread sums what it reads, and each block sums over its threads in a tree; one atomic operation for each
    block remains."""
    part = cuda.shared.array(THREADS, np.float64)
    t = cuda.threadIdx.x
    mine = np.float64(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        mine += values[i]
    part[t] = mine
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, part[0])


@cuda.jit
def by_warps(values, out):
    """The same with registers: lanes of a warp exchange their values by shuffles."""
    mine = np.float64(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        mine += values[i]
    step = 16
    while step > 0:
        mine += cuda.shfl_down_sync(ALL, mine, step)
        step //= 2
    if cuda.threadIdx.x % 32 == 0:
        cuda.atomic.add(out, 0, mine)


def total(kernel, values, blocks: int) -> float:
    """Returns the sum of float64 values on the device."""
    out = cuda.to_device(np.zeros(1))
    kernel[blocks, THREADS](values, out)
    return out.copy_to_host()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000)
    size = parser.parse_args().size
    values = np.random.default_rng(0).random(size)
    on_device = cuda.to_device(values)
    enough = -(-size // THREADS)
    for kernel, blocks in ((by_atomics, enough), (by_tree, min(enough, 512)), (by_warps, min(enough, 512))):
        total(kernel, on_device, blocks)  # compiles
        start = time.perf_counter()
        found = total(kernel, on_device, blocks)
        elapsed = time.perf_counter() - start
        np.testing.assert_allclose(found, values.sum(), rtol=1e-12 * size**0.5)
        print(f"{kernel.__name__:>10}: the sum of {size:,} numbers in {elapsed * 1e3:7.2f} ms: as NumPy's")


if __name__ == "__main__":
    main()
