"""The queries of db-benchmark (H2O.ai, DuckDB Labs) on the engine beside Polars: `python -m bench.tables.db_benchmark`.

The frames are those of its generators: groups of 100 keys, joins with tables of a thousandth and of all rows.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

import cuprous.frames
from bench.tables.run import best

SEED = 108
#: Values of each key with few of them.
KEYS = 100
c = pl.col


def words(numbers: np.ndarray, digits: int) -> pl.Series:
    """Returns "id" and a number of so many digits."""
    return "id" + pl.Series(numbers).cast(pl.String).str.zfill(digits)


def grouped(rows: int) -> pl.LazyFrame:
    """Returns the frame that is grouped."""
    random = np.random.default_rng(SEED)
    many = max(1, rows // KEYS)
    frame = pl.DataFrame({
        "id1": words(random.integers(1, KEYS + 1, rows), 3),
        "id2": words(random.integers(1, KEYS + 1, rows), 3),
        "id3": words(random.integers(1, many + 1, rows), 10),
        "id4": random.integers(1, KEYS + 1, rows).astype("int32"),
        "id5": random.integers(1, KEYS + 1, rows).astype("int32"),
        "id6": random.integers(1, many + 1, rows).astype("int32"),
        "v1": random.integers(1, 6, rows).astype("int32"),
        "v2": random.integers(1, 16, rows).astype("int32"),
        "v3": np.round(random.uniform(0, 100, rows), 6),
    })  # fmt: skip
    return frame.lazy()


def joined(rows: int) -> dict[str, pl.LazyFrame]:
    """Returns the frame that is joined, with those that it is joined with. A tenth of the keys have no partner."""
    random = np.random.default_rng(SEED)
    sizes = {"small": max(1, rows // 1_000_000) * 10, "medium": max(10, rows // 1_000), "big": rows}

    def keys(size: int) -> tuple[np.ndarray, np.ndarray]:
        """Those of the left and of the right side: nine of ten are shared."""
        numbers = random.permutation(np.arange(1, math.ceil(1.1 * size) + 1))
        return numbers[:size], numbers[-size:]

    pairs = {name: keys(size) for name, size in sizes.items()}
    left, right = {}, {}
    for k, (name, size) in enumerate(sizes.items(), 1):
        mine, theirs = pairs[name]
        chosen = mine if size == rows else random.choice(mine, rows)
        left[f"id{k}"] = pl.Series(chosen.astype("int32"))
        columns = {f"id{k}": pl.Series(theirs.astype("int32")), f"id{k + 3}": words(theirs, 1)}
        right[name] = pl.DataFrame({**columns, "v2": np.round(random.uniform(0, 100, size), 6)}).lazy()
    texts = {f"id{k + 3}": words(left[f"id{k}"].to_numpy(), 1) for k in (1, 2, 3)}
    x = pl.DataFrame({**left, **texts, "v1": np.round(random.uniform(0, 100, rows), 6)})
    return {"x": x.lazy(), **right}


#: Name -> query of the grouped frame.
GROUPS: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "group 1": lambda x: x.group_by("id1").agg(c("v1").sum()),
    "group 2": lambda x: x.group_by("id1", "id2").agg(c("v1").sum()),
    "group 3": lambda x: x.group_by("id3").agg(c("v1").sum(), c("v3").mean()),
    "group 4": lambda x: x.group_by("id4").agg(c("v1", "v2", "v3").mean()),
    "group 5": lambda x: x.group_by("id6").agg(c("v1", "v2", "v3").sum()),
    "group 6": lambda x: x.group_by("id4", "id5").agg(c("v3").median().alias("median"), c("v3").std().alias("std")),
    "group 7": lambda x: x.group_by("id3").agg((c("v1").max() - c("v2").min()).alias("range")),
    "group 8": lambda x: x.drop_nulls("v3").group_by("id6").agg(c("v3").top_k(2)).explode("v3"),
    "group 9": lambda x: x.group_by("id2", "id4").agg((pl.corr("v1", "v2") ** 2).alias("r2")),
    "group 10": lambda x: x.group_by("id1", "id2", "id3", "id4", "id5", "id6").agg(
        c("v3").sum(), c("v1").count().alias("count")
    ),
}
#: Name -> query of the joined frames.
JOINS: dict[str, Callable[[Any], pl.LazyFrame]] = {
    "join 1": lambda t: t["x"].join(t["small"], on="id1"),
    "join 2": lambda t: t["x"].join(t["medium"], on="id2"),
    "join 3": lambda t: t["x"].join(t["medium"], on="id2", how="left"),
    "join 4": lambda t: t["x"].join(t["medium"], on="id5"),
    "join 5": lambda t: t["x"].join(t["big"], on="id3"),
}


def ratios(lf: pl.LazyFrame, engines: dict[str, Any], repeats: int) -> dict[str, float]:
    """Returns the median milliseconds of each engine.

    They take turns, so that the machine's load is the same. In as many rounds as there are engines, each is the first
    once and runs once after each other one: Polars is half as fast a second after its last query, because its
    allocator has given the memory back.
    """
    times: dict[str, list[float]] = {name: [] for name in engines}
    names, count = list(engines), len(engines)
    zigzag = [(k + 1) // 2 if k % 2 else -(k // 2) for k in range(count)]  # 0, 1, -1, 2: differences all differ
    for k in range(repeats):
        for one in zigzag:
            name = names[(k + one) % count]
            times[name].append(best(lambda: lf.collect(engine=engines[name]), 1))  # noqa: B023
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> int:
    """Runs the queries, compares the answers and prints times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", nargs="*", default=None, help="names of queries, such as 'group 1'")
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--warmup", type=int, default=8, help="runs before the times of what users get")
    options = parser.parse_args()
    engines = {
        "all": cuprous.frames.Engine(take="all"),
        "measured": cuprous.frames.Engine(take="measured"),
        "memory": "in-memory",
        "streaming": "streaming",
    }
    wrong, found = 0, []
    print("gains of all beside the better engine of Polars, of what is measured beside its default, streaming")
    print("query      all ms  measured ms  in-memory ms  streaming ms  all  measured")
    for queries, data in ((GROUPS, grouped(options.rows)), (JOINS, joined(options.rows))):
        for name, query in queries.items():
            if options.only and name not in options.only:
                continue
            lf = query(data)
            want = lf.collect(engine="in-memory")
            for engine in ("all", "measured"):
                try:
                    assert_frame_equal(lf.collect(engine=engines[engine]), want, check_row_order=False, rel_tol=1e-9)
                except AssertionError as error:
                    wrong += 1
                    print(f"{name} WRONG with {engine}: {str(error)[:300]}")
            for _ in range(options.warmup):
                lf.collect(engine=engines["measured"])  # columns come to the device when they have been missed enough
            times = ratios(lf, engines, options.repeats)
            polars = min(times["memory"], times["streaming"])
            gains = [polars / times["all"], times["streaming"] / times["measured"]]
            found.append(gains)
            shown = "  ".join(f"{times[one]:11.1f}" for one in engines)
            print(f"{name:8s} {shown}  {gains[0]:6.2f}  {gains[1]:6.2f}", flush=True)
    means = np.exp(np.log(np.array(found)).mean(0))
    print(
        f"geometric mean {means[0]:.2f} with all, {means[1]:.2f} as measured; least {np.min(found, 0)}; {wrong} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
