"""A histogram: each block counts in shared memory, where only its own threads compete, then adds to the total.

To run it with Numba, import from `numba` instead of `cuprous`.
"""

import argparse
import time

import numpy as np

from cuprous import cuda

BINS = 256
THREADS = 256


@cuda.jit
def histogram(values, low, high, counts):
    """Adds the counts of values in BINS equal bins from `low` to `high` to `counts`."""
    mine = cuda.shared.array(BINS, np.int32)
    for k in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        mine[k] = 0
    cuda.syncthreads()
    scale = np.float32(BINS) / (high - low)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        value = values[i]
        if low <= value < high:
            cuda.atomic.add(mine, min(int((value - low) * scale), BINS - 1), 1)
    cuda.syncthreads()
    for k in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        cuda.atomic.add(counts, k, mine[k])


def count(values, low: float, high: float):
    """Returns the histogram of float32 values, on the device."""
    counts = cuda.to_device(np.zeros(BINS, np.int32))
    blocks = min(1024, -(-values.size // THREADS))
    histogram[blocks, THREADS](values, np.float32(low), np.float32(high), counts)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000)
    size = parser.parse_args().size
    values = np.random.default_rng(0).standard_normal(size, np.float32)
    on_device = cuda.to_device(values)
    count(on_device, -4, 4)  # compiles
    start = time.perf_counter()
    counts = count(on_device, -4, 4).copy_to_host()
    elapsed = time.perf_counter() - start

    expected, _ = np.histogram(values, BINS, (-4, 4))
    assert counts.sum() == expected.sum()
    assert np.abs(counts - expected).sum() <= size * 1e-4  # values at an edge may fall into either bin
    print(f"{size:,} values into {BINS} bins in {elapsed * 1e3:.1f} ms: as NumPy's")
    for k in range(0, BINS, 32):
        print(f"{-4 + k / 32:4.0f} {'#' * int(50 * counts[k : k + 32].sum() / size)}")


if __name__ == "__main__":
    main()
