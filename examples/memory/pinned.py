"""Copies from and to pinned and pageable host memory.

A GPU can only copy directly from memory that the operating system does not move. Pageable memory is first copied to a
pinned buffer by the CPU. Without a GPU the table shows copies within the CPU's memory.
"""

import argparse
from functools import partial

import numpy as np
from common import rate, seconds, table

from cuprous import cuda


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1, 16, 128])
    rows = []
    for size in parser.parse_args().megabytes:
        n = size * 2**20 // 4
        pageable = np.ones(n, np.float32)
        device = cuda.device_array(n, np.float32)
        kinds = {"pageable": pageable}
        if cuda.is_available():
            kinds["pinned"] = cuda.pinned_array(n, np.float32)
            kinds["pinned"][:] = 1
        for kind, host in kinds.items():
            there = seconds(partial(device.copy_to_device, host), 9)
            back = seconds(partial(device.copy_to_host, host), 9)
            assert host[0] == host[-1] == 1
            rows.append((f"{size} MiB", kind, rate(4 * n, there), rate(4 * n, back)))
    table("Copies", ("size", "memory", "to the device", "from it"), rows)
    if not cuda.is_available():
        print("There is no GPU: these are copies within the CPU's memory, and pinning would change nothing.")


if __name__ == "__main__":
    main()
