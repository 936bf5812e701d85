"""Quantiles of groups, by an order of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import cuprous.frames

RANDOM = np.random.default_rng(0)
N = 3000
#: Values whose order is in all bits, in the upper or in the lower ones alone, or in few values.
VALUES: dict[str, Any] = {
    "normal": RANDOM.normal(size=N),
    "near one": 1 + RANDOM.integers(-50, 50, N) * 2.0**-50,
    "powers": RANDOM.choice([-1.0, 1.0], N) * 2.0 ** RANDOM.integers(-900, 900, N),
    "few": RANDOM.choice([0.0, -0.0, 1.5, np.inf, -np.inf, np.nan, -1e-310, 1.7e308], N),
    "float32": RANDOM.normal(size=N).astype("float32"),
    "int8": RANDOM.integers(-128, 128, N).astype("int8"),
    "wide int64": RANDOM.integers(-(2**52), 2**52, N),
    "all of uint64": RANDOM.integers(0, 2**53, N).astype("uint64") << np.uint64(11),
}


@pytest.mark.parametrize("interpolation", ["nearest", "higher", "lower", "midpoint", "linear", "equiprobable"])
@pytest.mark.parametrize("name", VALUES)
def test_quantiles_are_those_of_polars(name: str, interpolation: Any) -> None:
    values = pl.Series("x", VALUES[name])
    frame = pl.DataFrame({"x": values, "k": RANDOM.integers(0, 40, N)}).with_columns(
        pl.when(pl.col("k") % 7 != 3).then("x")  # groups of nulls alone
    )
    engine = cuprous.frames.Engine(take="all", strict=True)
    aggregates = [pl.col("x").quantile(q, interpolation).alias(str(q)) for q in (0.0, 0.1, 0.5, 0.99, 1.0)]
    for query in (
        frame.lazy().group_by("k", maintain_order=True).agg(*aggregates, pl.col("x").median()),
        frame.lazy().select(*aggregates),
        frame.lazy().select(pl.col("x").filter(pl.col("k") == 3).quantile(0.5, interpolation)),
    ):
        assert_frame_equal(query.collect(engine=engine), query.collect(engine="in-memory"), rel_tol=1e-12)
