"""Arrays of Dask that are larger than a GPU, on a worker for each GPU: a program for one library.

`python -m bench.several.arrays --backend cuprous --workers 4 --gb 90` prints an object of JSON for each row: its name,
the seconds of the faster of two runs, and by how much its result differs from what is expected, as a part of that.
The numbers are uniform between 0 and 1, made by the workers, used and forgotten.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client

from cuprous.dask import LocalCluster

CHUNK = 256 << 20


def numbers(nbytes: int, columns: int) -> Any:
    """Returns a tall matrix of random float32 of about so many bytes, in chunks of rows."""
    rows = max(columns, int(min(CHUNK, nbytes / 8)) // (4 * columns))  # chunks are tall, as `svd` needs them
    blocks = max(2, round(nbytes / (4 * columns * rows)))
    return da.random.default_rng(7).random((rows * blocks, columns), dtype=np.float32, chunks=(rows, columns))


def total(nbytes: int) -> float:
    x = numbers(nbytes, 4096)
    return float(x.sum(dtype=np.float64).compute()) / x.size / 0.5


def matmul(nbytes: int) -> float:
    """The product of the transpose with the matrix; its trace is the sum of squares."""
    x = numbers(nbytes, 4096)
    return float((x.T @ x).compute().trace()) / x.size / (1 / 3)


def _sort(x: Any) -> Any:
    return np.sort(x, axis=-1)


def sort(nbytes: int) -> float:
    """Each row sorted; a quarter of it is below its first quartile."""
    x = numbers(nbytes, 4096)
    y = x.map_blocks(_sort, dtype=x.dtype, meta=x._meta)
    rising = y[:, 1:] >= y[:, :-1]
    quartile, ordered = da.compute(y[:, 1024].mean(dtype=np.float64), rising.all())
    return float(quartile) / 0.25 if bool(ordered) else float("nan")


def svd(nbytes: int) -> float:
    """Singular values of a tall matrix; the sum of their squares is that of the elements."""
    x = numbers(nbytes, 256)
    _, s, _ = da.linalg.svd(x)
    return float((s**2).sum().compute()) / x.size / (1 / 3)


ROWS: dict[str, Callable[[int], float]] = {"sum": total, "matmul": matmul, "sort": sort, "svd": svd}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="cuprous", help="of dask's arrays, such as cupy")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gb", type=float, default=90.0)
    parser.add_argument("--seconds", type=float, default=60.0, help="after which no run begins")
    arguments = parser.parse_args()
    start = time.perf_counter()
    with (
        LocalCluster(arguments.workers) as cluster,
        Client(cluster) as client,
        dask.config.set({"array.backend": arguments.backend}),
    ):
        client.wait_for_workers(arguments.workers)
        for name, function in ROWS.items():
            try:
                function(int(min(2 * arguments.workers * CHUNK, arguments.gb * 1e9)))  # compiles, and fills pools
                seconds: list[float] = []
                found = float("nan")
                for _ in range(2):
                    if seconds and time.perf_counter() - start > arguments.seconds:
                        break
                    begun = time.perf_counter()
                    found = function(int(arguments.gb * 1e9))
                    seconds.append(time.perf_counter() - begun)
                row = {"row": name, "seconds": min(seconds), "off": abs(found - 1)}
            except Exception as error:  # the next row may work
                row = {"row": name, "error": f"{type(error).__name__}: {error}"[:300]}
            print(json.dumps(row), flush=True)
            if time.perf_counter() - start > arguments.seconds:
                break
    return 0


if __name__ == "__main__":
    sys.exit(main())
