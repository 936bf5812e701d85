"""Measures kernels and copies, and prints tables."""

import time

import numpy as np

from cuprous import cuda


def seconds(work, runs=15):
    """Returns the lower quartile of the seconds of several calls, each including the wait for the device."""
    times = []
    for _ in range(runs + 2):  # the first two runs compile and warm up
        start = time.perf_counter()
        work()
        cuda.synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times[2:])[runs // 4]


def device_name():
    """Returns the name of the device that runs the kernels."""
    return cuda.get_current_device().name if cuda.is_available() else "the CPU"


def table(title, heads, rows):
    """Prints a table."""
    print(f"{title}, on {device_name()}")
    cells = [list(heads), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(heads))]
    for row in cells:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


def rate(n_bytes, time_taken):
    """Returns the bandwidth as text."""
    return f"{n_bytes / time_taken / 1e9:.1f} GB/s"


def ones(n):
    """Returns float32 ones on the device."""
    return cuda.to_device(np.ones(n, np.float32))
