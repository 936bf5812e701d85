"""Occupancy: how many threads wait for memory at the same time.

A GPU hides the latency of memory by running other threads. Each block here requests more shared memory than it needs,
so that fewer and fewer blocks fit on a multiprocessor: the same copy, with ever fewer threads to hide the latency.
"""

import argparse

import numpy as np
from common import ones, rate, seconds, table

from cuprous import cuda

THREADS = 256


@cuda.jit
def copy(a, out):
    """Copies an array. The dynamic shared memory is allocated and not used."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + np.float32(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log-size", type=int, default=26 if cuda.is_available() else 22, help="2 to that power")
    n = 1 << parser.parse_args().log_size
    a, out = ones(n), ones(n)
    rows = []
    for kib in (0, 16, 24, 32, 48):
        launch = copy[-(-n // THREADS), THREADS, 0, kib << 10]
        taken = seconds(lambda launch=launch: launch(a, out))
        assert out.copy_to_host()[-1] == 2
        here = "-"
        if cuda.is_available():
            has = cuda.get_current_device().attributes
            # The system reserves 1 KiB for each block.
            threads, shared = has["maxThreadsPerMultiProcessor"], has["sharedMemPerMultiprocessor"]
            blocks = min(threads // THREADS, shared // (kib + 1 << 10))
            here = f"{blocks} blocks, {blocks * THREADS} threads"
        rows.append((f"{kib} KiB", here, f"{taken * 1e3:.3f} ms", rate(8 * n, taken)))
    table(f"Copy of {n:,} float32", ("shared, a block", "on a multiprocessor", "time", "bytes"), rows)
    if not cuda.is_available():
        print("A CPU has a few threads, which caches serve: shared memory that is not used costs nothing.")


if __name__ == "__main__":
    main()
