"""Single operations on the engine beside Polars: `python -m bench.tables.rates --rows 1000000`.

Shows wall-clock times and the times of all threads; the second do not depend on what else runs on the machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import polars as pl

import cuprous.frames

c = pl.col


def queries(rows: int) -> dict[str, pl.LazyFrame]:
    """Returns one query for each operation, on frames of some rows."""
    rng = np.random.default_rng(0)
    groups = max(1, rows // 10)
    names = pl.Series([f"id{i:03d}" for i in range(100)])
    lf = pl.DataFrame({
        "id": rng.integers(0, 100, rows), "big": rng.integers(0, groups, rows), "v": rng.integers(0, 1000, rows),
        "x": rng.random(rows), "y": rng.random(rows), "s": names[rng.integers(0, 100, rows)],
    }).lazy()  # fmt: skip
    few = pl.DataFrame({"id": np.arange(100), "w": rng.random(100)}).lazy()
    some = pl.DataFrame({"big": rng.permutation(groups), "z": rng.random(groups)}).lazy()
    return {
        "filter, sum": lf.filter(c("x") > 0.5).select((c("x") * c("y")).sum()),
        "arithmetic": lf.select((c("x") * c("y") + c("v") / 3).alias("e")),
        "filter": lf.filter(c("x") > 0.9),
        "group, 100": lf.group_by("id").agg(c("v").sum(), c("x").mean()),
        "group, 100 strings": lf.group_by("s").agg(c("v").sum(), c("x").mean()),
        "group, many": lf.group_by("big").agg(c("v").sum(), c("x").max()),
        "group, two keys": lf.group_by("id", "s").agg(c("x").std(), pl.len()),
        "median": lf.group_by("id").agg(c("x").median()),
        "sort floats": lf.select("x", "v").sort("x"),
        "sort integers": lf.select("v", "x").sort("v"),
        "join few": lf.join(few, on="id").select((c("x") * c("w")).sum()),
        "join some": lf.join(some, on="big").select((c("x") * c("z")).sum()),
        "unique": lf.select("id", "v").unique(),
        "window": lf.select((c("x") - c("x").mean().over("id")).alias("q")),
        "strings": lf.filter(c("s").str.contains("id0")).select(pl.len()),
        "reductions": lf.select(c("x").mean(), c("y").max(), c("v").sum(), c("x").std().alias("sd")),
    }


def measured(run: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Returns the least wall-clock time and the least time of all threads, in milliseconds."""
    walls, threads = [], []
    for _ in range(repeats):
        wall, thread = time.perf_counter(), time.process_time()
        run()
        walls.append(time.perf_counter() - wall)
        threads.append(time.process_time() - thread)
    return min(walls) * 1e3, min(threads) * 1e3


def main() -> None:
    """Prints a line for each operation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--take", choices=("measured", "all"), default="all")
    options = parser.parse_args()
    engine = cuprous.frames.Engine(take=options.take)
    engines: tuple[pl.Engine | str, ...] = (engine, "in-memory", "streaming")
    print(f"{options.rows:,} rows; ms of wall-clock time | ms of all threads: here, Polars in memory, Polars streaming")
    for name, lf in queries(options.rows).items():
        lf.collect(engine=engine)
        times = [measured(lambda: lf.collect(engine=one), options.repeats) for one in engines]  # noqa: B023
        walls, threads = ("".join(f"{one[i]:9.2f}" for one in times) for i in range(2))
        print(f"{name:20s}{walls} |{threads}", flush=True)


if __name__ == "__main__":
    main()
