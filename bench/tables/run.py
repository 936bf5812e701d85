"""TPC-H on the engine beside Polars: `python -m bench.tables.run --scale 0.1`.

The data are made by tpchgen-cli (`pip install tpchgen-cli`) and read into memory first: what is timed are queries.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
from polars.testing import assert_frame_equal

import cuprous.frames
from bench.tables.tpch import QUERIES, Tables

NAMES = ("lineitem", "orders", "customer", "supplier", "part", "partsupp", "nation", "region")


def tables(folder: Path, scale: float, decimals: bool = False) -> Tables:
    """Returns the tables in memory, decimals as float64 unless they shall stay; makes them if the folder has none."""
    if not (folder / "lineitem.parquet").exists():
        command = [
            str(Path(sys.executable).with_name("tpchgen-cli")),
            "parquet",
            "-s",
            str(scale),
            "--output-dir",
            str(folder),
        ]
        subprocess.run(command, check=True)
    found = {}
    for name in NAMES:
        lf = pl.scan_parquet(folder / f"{name}.parquet")
        texts = [
            n for n, d in lf.collect_schema().items() if d not in (pl.Int32, pl.Int64, pl.Date) and not d.is_decimal()
        ]
        numbers = pl.selectors.decimal() if decimals else pl.selectors.decimal().cast(pl.Float64)
        frame = lf.with_columns(numbers, pl.col(texts).cast(pl.String)).collect()
        found[name] = frame.rechunk().lazy()
    return found


def best(run: Callable[[], object], repeats: int) -> float:
    """Returns the least of some times in milliseconds."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times) * 1e3


def main() -> int:
    """Runs the queries, compares the answers and prints times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--folder", type=Path, default=None, help="where the tables are, or are made")
    parser.add_argument("--decimals", action="store_true", help="keep decimals instead of float64")
    parser.add_argument("--only", type=int, nargs="*", default=None)
    parser.add_argument("--take", choices=("measured", "all"), default="all")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=0, help="runs before those that are timed")
    options = parser.parse_args()
    folder = options.folder or Path("build") / "tpch" / f"sf{options.scale}"
    data = tables(folder, options.scale, options.decimals)
    engine = cuprous.frames.Engine(take=options.take)
    strict = cuprous.frames.Engine(take="all", strict=True)
    whole = wrong = 0
    gains = []
    print("query   here ms  first ms  in-memory ms  streaming ms  gain  left to Polars")
    for number in options.only or sorted(QUERIES):
        lf = QUERIES[number](data)
        want = lf.collect(engine="in-memory")
        try:
            strict.collect(lf, optimizations=pl.QueryOptFlags())
            reasons, whole = "", whole + 1
        except NotImplementedError as error:
            reasons = str(error).partition(": ")[2]
        begin = time.perf_counter()
        got = lf.collect(engine=engine)
        first = (time.perf_counter() - begin) * 1e3
        try:
            assert_frame_equal(got, want, rel_tol=1e-9)
        except AssertionError as error:
            wrong += 1
            reasons = f"WRONG {str(error)[:300]}"
        for _ in range(options.warmup):
            lf.collect(engine=engine)  # columns come to the device when they have been missed enough
        here, memory, streaming = (
            best(lambda: lf.collect(engine=one), options.repeats)  # noqa: B023
            for one in (engine, "in-memory", "streaming")
        )
        # What is measured is beside Polars' default engine, what is taken in any case beside the better one.
        gains.append((streaming if options.take == "measured" else min(memory, streaming)) / here)
        print(
            f"{number:5d} {here:9.1f} {first:9.1f} {memory:13.1f} {streaming:13.1f} {gains[-1]:5.2f}  {reasons[:400]}",
            flush=True,
        )
    mean = math.exp(sum(map(math.log, gains)) / len(gains))
    print(f"{whole} queries wholly here, {wrong} wrong; geometric mean {mean:.2f}, least {min(gains):.2f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
