"""Windows over an index, as-of joins with a tolerance, and functions of the rows so far."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import cuprous.frames

c = pl.col
NAN, INF = float("nan"), float("inf")
DATA = pl.DataFrame({
    "t": [0, 0, 1, 3, 3, 7, 12, 12, 13], "k": [1, 2, 1, 2, 1, 1, 2, 1, 2], "v": [1, None, 3, 4, 5, 6, None, 8, 9],
    "f": [1.0, NAN, -0.0, None, 4.0, INF, 2.0, 1.5, 3.0], "s": [*"abcabcabc"],
    "x": [None, 1.0, NAN, 1.0, NAN, -0.0, 0.0, 2.0, None],
}).with_columns(
    hours=(c("t") * 3_600_000_000).cast(pl.Datetime("us")), days=c("t").cast(pl.Int32).cast(pl.Date),
    short=c("t").cast(pl.Int32), utc=(c("t") * 3_600_000).cast(pl.Datetime("ms", "UTC")),
)  # fmt: skip
LF = DATA.lazy()
AGGREGATES = [
    c("v").sum(), c("v").mean().alias("mean"), c("s").first(),
    c("s").last().alias("last"), pl.len().alias("n"), c("v").count().alias("known"), c("v").median().alias("middle"),
    c("v").n_unique().alias("kinds"), c("s").max().alias("most"), (c("v") * 2).filter(c("f") > 1).sum().alias("some"),
]  # fmt: skip
#: In windows of Polars 1 a NaN is the least and the largest float, and boundaries are missing without rows.
SETTLED = not pl.__version__.startswith("1.")
EXTREMES = [c("f").max(), c("f").min().alias("least")]
AGGREGATES += EXTREMES if SETTLED else []
INDICES = [
    ("t", "3i"), ("short", "2i"), ("hours", "3h"), ("hours", "1d"), ("hours", "90m"), ("days", "3d"), ("days", "1w"),
    ("utc", "5h"),
]  # fmt: skip
CLOSED: list[Any] = ["left", "right", "both", "none"]


def check(*queries: pl.LazyFrame, whole: bool = True) -> None:
    """Asserts that queries have Polars' results, and run wholly here or not."""
    engine = cuprous.frames.Engine(take="all")
    for lf in queries:
        assert_frame_equal(lf.collect(engine=engine), lf.collect(engine="in-memory"), rel_tol=1e-12)
        report = engine.last_report
        assert report is not None and report.complete == whole, report.reasons


@pytest.mark.parametrize(("index", "period"), INDICES)
def test_rows_near_each_row(index: str, period: str) -> None:
    offset = period if index != "days" else "2d"
    for closed in CLOSED:
        check(
            LF.rolling(index, period=period, closed=closed).agg(AGGREGATES),
            LF.rolling(index, period=period, closed=closed, offset=f"-{offset}", group_by="k").agg(AGGREGATES),
            LF.rolling(index, period=period, closed=closed, offset=offset, group_by="x").agg(AGGREGATES),
            LF.select(c("v").sum().rolling(index, period=period, closed=closed), (c("v").max() / pl.len()).rolling(
                index, period=period, closed=closed).alias("q")),
            LF.select(
                c("v").rolling_sum_by(index, period, closed=closed),
                c("v").rolling_min_by(index, period).alias("least"),
                c("v").rolling_mean_by(index, period, closed=closed, min_samples=2).alias("mean"),
            ),
        )  # fmt: skip


@pytest.mark.parametrize(("index", "every"), INDICES)
def test_windows_at_equal_distances(index: str, every: str) -> None:
    for closed in CLOSED:
        check(
            LF.group_by_dynamic(index, every=every, closed=closed, include_boundaries=SETTLED).agg(AGGREGATES),
            LF.group_by_dynamic(index, every=every, closed=closed, group_by=["k", "x"], label="right").agg(AGGREGATES),
            LF.group_by_dynamic(
                index, every=every, period="10i" if index in ("t", "short") else "2d", closed=closed,
                offset="-1i" if index in ("t", "short") else "1d", label="datapoint", group_by="k",
            ).agg(AGGREGATES),
            LF.group_by_dynamic(index, every=every, closed=closed, start_by="datapoint").agg(AGGREGATES).slice(1, 2),
        )  # fmt: skip


def test_windows_of_no_rows() -> None:
    none = LF.filter(c("t") > 99)
    check(
        none.group_by_dynamic("t", every="3i", group_by="k", include_boundaries=SETTLED).agg(AGGREGATES),
        none.rolling("t", period="3i").agg(AGGREGATES), none.select(c("v").rolling_sum_by("hours", "3h")),
    )  # fmt: skip


def test_windows_that_are_left_to_polars() -> None:
    check(
        LF.group_by_dynamic("days", every="1mo").agg(AGGREGATES), LF.rolling("days", period="1mo").agg(AGGREGATES),
        LF.group_by_dynamic("t", every="3i", group_by="s").agg(c("v").sum()),
        LF.group_by_dynamic("hours", every="3h", start_by="monday").agg(c("v").sum()),
        LF.rolling("t", period="3i").agg("v"), LF.select(c("f").rolling_sum_by("t", "3i")),
        LF.sort("s").select(c("v").rolling_sum_by("t", "3i")), whole=False,
    )  # fmt: skip
    engine = cuprous.frames.Engine(take="all")
    for lf in (LF.sort("v"), LF.with_columns(t=pl.when(c("v") > 3).then("t"))):
        with pytest.raises(pl.exceptions.PolarsError):
            lf.rolling("t", period="3i").agg(pl.len()).collect(engine=engine)


def test_windows_that_polars_2_changed() -> None:
    none = LF.filter(c("t") > 99)
    check(
        LF.rolling("t", period="3i").agg(EXTREMES),
        LF.select(c("f").min().rolling("t", period="3i")),
        LF.group_by_dynamic("t", every="2i", period="5i").agg(EXTREMES),
        none.group_by_dynamic("t", every="3i", group_by="k", include_boundaries=True).agg(c("v").sum()),
        whole=SETTLED,
    )


def test_windows_of_many_rows_are_left_to_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuprous.frames.columns.windows._MOST", 0)
    monkeypatch.setattr("cuprous.frames.columns.windows._MOST_FOR_EACH", 2)
    check(LF.rolling("t", period="99i").agg(c("v").sum()), whole=False)


@pytest.mark.parametrize("strategy", ["backward", "forward", "nearest"])
def test_as_of_joins_with_a_tolerance_of_time(strategy: Any) -> None:
    later = DATA.select(c("hours") + timedelta(minutes=20), "k", z="v").lazy()
    days = DATA.select(c("days") + timedelta(days=1), z="v").lazy()
    for tolerance in ("1h", "2h30m", timedelta(hours=4), "0h", None):
        check(
            LF.join_asof(later, on="hours", strategy=strategy, tolerance=tolerance),
            LF.join_asof(later, on="hours", by="k", strategy=strategy, tolerance=tolerance, check_sortedness=False),
        )
    for days_apart in ("1d", "36h", timedelta(days=2), None):
        check(LF.join_asof(days, on="days", strategy=strategy, tolerance=days_apart))


def test_extremes_so_far() -> None:
    for name in ("v", "days", "hours", "short"):
        check(
            LF.select(c(name).cum_max(), c(name).cum_min().alias("least"), c(name).cum_max(reverse=True).alias("back")),
            LF.select(c(name).cum_min(reverse=True).over("k"), c(name).cum_max().over("x").alias("most")),
        )
    check(
        LF.select(c("v").rolling_max(3), c("v").rolling_min(4, min_samples=1, center=True).alias("least")),
        LF.select(c("v").rolling_max(2, min_samples=1).over("k"), (c("v") > 4).cum_max().alias("any")),
    )
    check(LF.select(c("f").cum_max()), whole=False)
    check(LF.select((c("v") * 2**60).cum_max()), whole=False)


def test_a_join_by_several_keys_one_of_which_has_no_partner() -> None:
    far = 2**63 - 1
    left = pl.LazyFrame({"a": [5, 7, 9] * 100, "b": [6, far, 1] * 100})
    right = pl.LazyFrame({"a": [5, 7], "b": [far, 1], "z": [1, 2]})
    for how in ("left", "inner", "semi", "anti"):
        check(left.join(right, on=["a", "b"], how=how, maintain_order="left"))  # type: ignore[arg-type]
        check(right.join(left, on=["a", "b"], how=how, maintain_order="left"))  # type: ignore[arg-type]
        check(left.join(right, on=["b", "a"], how=how, nulls_equal=True, maintain_order="left"))  # type: ignore[arg-type]
