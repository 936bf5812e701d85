"""Coalesced memory access: neighboring threads that read neighboring numbers, and threads that do not.

Memory is accessed in units: 32-byte sectors on a GPU, 64-byte lines on most CPUs. The kernel reads each number once,
whatever the stride. The stride determines which thread reads which number, and so how much of each unit is used while
it is cached.
"""

import argparse

import numpy as np
from common import ones, rate, seconds, table

from cuprous import cuda


@cuda.jit
def copy(a, out, stride_bits, row_bits):
    """Thread i reads number i * stride and wraps around at the end with an offset, so that each number is read once."""
    i = cuda.grid(1)
    if i < out.size:
        place = (i & ((1 << row_bits) - 1)) << stride_bits | i >> row_bits
        out[i] = a[place]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log-size", type=int, default=24, help="2 to that many numbers")
    bits = parser.parse_args().log_size
    n = 1 << bits
    a, out = cuda.to_device(np.arange(n, dtype=np.float32)), ones(n)
    rows, first = [], 0.0
    for shift in (0, 1, 2, 3, 4, 5, 7, 10):
        stride = 1 << shift
        taken = seconds(lambda shift=shift: copy[-(-n // 256), 256](a, out, shift, bits - shift))
        got = out.copy_to_host()
        assert got[1] == stride and got.astype(np.float64).sum() == n * (n - 1) / 2
        first = first or taken
        rows.append((stride, f"{taken * 1e3:.3f} ms", rate(8 * n, taken), f"{taken / first:.1f} x"))
    table(f"Copy of {n:,} float32 by stride", ("stride", "time", "useful bytes", "of stride 1"), rows)


if __name__ == "__main__":
    main()
