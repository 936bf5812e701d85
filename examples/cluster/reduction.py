"""Reduces an array that is larger than the memory of the workers: `python examples/cluster/reduction.py --size 50GB`.

The array is never whole anywhere. Each worker makes a chunk, reduces it to a few numbers and forgets it. On a machine
with GPUs there is a worker for each and chunks are in its memory, on one without they are in the host's.
"""

from __future__ import annotations

import argparse
import resource
import time

import dask.array as da
from dask import config
from dask.utils import format_bytes, parse_bytes
from distributed import Client

from cuprous.dask import LocalCluster


def peak() -> int:
    """Returns the most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--size", default="50GB", help="bytes of the array")
    parser.add_argument("--chunk", default="64MiB", help="bytes of a chunk")
    parser.add_argument("--workers", type=int, help="by default one for each GPU, or for each core")
    parser.add_argument("--memory", default="2GB", help="bytes of the host's memory that a worker may have")
    options = parser.parse_args()
    count, chunk = (parse_bytes(text) // 8 for text in (options.size, options.chunk))
    with LocalCluster(options.workers, memory_limit=options.memory) as cluster, Client(cluster) as client:
        with config.set({"array.backend": "cuprous"}):
            x = da.random.default_rng(0).normal(loc=3.0, scale=2.0, size=count, chunks=chunk)
        start = time.perf_counter()
        mean, deviation, most = da.compute(x.mean(), x.std(), abs(x).max())
        seconds = time.perf_counter() - start
        peaks = client.run(peak).values()
    rate, size = format_bytes(int(count * 8 / seconds)), format_bytes(count * 8)
    print(f"{size} in {x.npartitions} chunks, {len(peaks)} workers: {seconds:.1f} s, {rate}/s")
    print(f"mean {float(mean):.4f}, deviation {float(deviation):.4f}, largest {float(most):.2f}")
    print(f"peak memory of a worker: {format_bytes(max(peaks))}")


if __name__ == "__main__":
    main()
