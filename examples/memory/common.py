"""Times of kernels and copies, and a table of them."""

import time

import numpy as np

from cuprous import cuda


def seconds(work, runs=15):
    """Of one call, waited for, in the quarter of runs that was least disturbed."""
    times = []
    for _ in range(runs + 2):  # the first two compile and settle
        start = time.perf_counter()
        work()
        cuda.synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times[2:])[runs // 4]


def device_name():
    """Where kernels run here."""
    return cuda.get_current_device().name if cuda.is_available() else "the CPU"


def table(title, heads, rows):
    """Prints it."""
    print(f"{title}, on {device_name()}")
    cells = [list(heads), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(heads))]
    for row in cells:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


def rate(n_bytes, time_taken):
    """Bytes a second, readable."""
    return f"{n_bytes / time_taken / 1e9:.1f} GB/s"


def ones(n):
    """float32 on the device."""
    return cuda.to_device(np.ones(n, np.float32))
