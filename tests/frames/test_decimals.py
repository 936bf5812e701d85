"""Decimals: Polars' digits and its roundings."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import cuprous as cp
import cuprous.frames

c = pl.col
POLARS = tuple(map(int, pl.__version__.split(".")[:2]))


def decimals(random: Random, precision: int, scale: int, most: int) -> pl.Series:
    """A column of decimals, some of them null."""
    values = [random.choice([None, 0, random.randint(-most, most), random.randint(-20, 20)]) for _ in range(80)]
    exact = [None if one is None else Decimal(one).scaleb(-scale) for one in values]
    return pl.Series(exact, dtype=pl.Decimal(precision, scale))


def frame(seed: int) -> pl.DataFrame:
    """Two columns of decimals, integers and keys, in two chunks."""
    random = Random(seed)
    a, b = random.choice([(10, 2), (18, 4), (6, 0)]), random.choice([(12, 1), (9, 3)])
    found = pl.DataFrame({
        "a": decimals(random, *a, 5000), "b": decimals(random, *b, 300),
        "i": [random.choice([None, random.randint(-9, 9)]) for _ in range(80)],
        "k": [random.randint(0, 5) for _ in range(80)],
    })  # fmt: skip
    return pl.concat([found[:30], found[30:]], rechunk=False)


@pytest.fixture
def engine() -> cuprous.frames.Engine:
    return cuprous.frames.Engine(take="all")


ROWS: dict[str, Any] = {
    "sums": [c("a") + c("b"), c("a") - c("b"), 1 - c("a"), c("a") + c("i"), c("a") + pl.lit(Decimal("1.5"))],
    "products": [c("a") * c("b"), c("a") * c("a"), c("a") * c("i"), c("a") * (1 - c("b")) * (1 + c("b"))],
    "quotients": [c("a") / 2, c("a") / -7, c("a") / pl.lit(Decimal("0.3")), c("i") / pl.lit(Decimal("-1.25"))],
    "comparisons": [
        c("a") < c("b"), c("a") >= 1, c("a") == Decimal("0.5"), c("a") != c("b"), c("a").eq_missing(c("b")),
        c("a") > c("i"), c("a").is_between(0, 2),
        c("b").ne_missing(c("b").max()),
    ],
    "casts": [
        c("a").cast(pl.Float64), c("a").cast(pl.Decimal(18, 0)), c("a").cast(pl.Decimal(17, 5)),
        c("a").cast(pl.Boolean),
        c("a").cast(pl.Decimal(5, 1), strict=False), c("i").cast(pl.Decimal(3, 1)),
        c("b").cast(pl.Decimal(2, 1), strict=False),
    ],
    "choices": [
        pl.when(c("i") > 0).then("a").otherwise("b"), c("a").fill_null(0), pl.coalesce("a", "b"),
        pl.max_horizontal("a", "b"),
        pl.min_horizontal("a", c("a").shift(1)), pl.when(c("a") > 1).then("a"),
        pl.lit(None, pl.Decimal(10, 2)) + c("a"),
    ],
    "others": [-c("a"), c("a").abs(), c("a").shift(2), c("a").rank("min"), c("a").is_null()],
    "over": [c("a").sum().over("k"), c("a").max().over("k"), c("a") - c("a").min().over("k")],
}  # fmt: skip
AGGREGATES = [
    *(getattr(c("a"), name)().alias(name) for name in (
        "sum", "mean", "min", "max", "median", "std", "first", "last", "n_unique", "count", "null_count",
    )),
    c("a").quantile(0.3).alias("quantile"), c("a").filter(c("i") > 0).sum().alias("some"),
    (c("a") * (1 - c("b"))).sum().alias("products"), (c("a").sum() / (c("b").len() + 3)).alias("part"),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ROWS)
def test_functions_of_rows(name: str, seed: int, engine: Any) -> None:
    query = frame(seed).lazy().select([one.alias(str(k)) for k, one in enumerate(ROWS[name])])
    assert_frame_equal(query.collect(engine=engine), query.collect(engine="in-memory"), check_exact=True)
    assert engine.last_report.complete, engine.last_report.reasons


@pytest.mark.parametrize("seed", range(3))
def test_aggregates(seed: int, engine: Any) -> None:
    for query in (
        frame(seed).lazy().group_by("k", maintain_order=True).agg(AGGREGATES),
        frame(seed).lazy().select(AGGREGATES),
        frame(seed).lazy().filter(c("i") > 100).select(AGGREGATES),
    ):
        assert_frame_equal(query.collect(engine=engine), query.collect(engine="in-memory"), rel_tol=1e-12)
        assert engine.last_report.complete, engine.last_report.reasons


def test_whole_quotients_and_integers(engine: Any) -> None:
    query = frame(0).lazy().select(c("a") // 3, (c("a") % -2).alias("rest"), c("a").cast(pl.Int16).alias("i"))
    if POLARS < (2, 0):  # has no such quotients
        with pytest.raises(pl.exceptions.InvalidOperationError):
            query.collect(engine=engine)
        return
    assert_frame_equal(query.collect(engine=engine), query.collect(engine="in-memory"), check_exact=True)
    assert engine.last_report.complete == (POLARS >= (2, 1))


def test_keys_of_decimals(engine: Any) -> None:
    lf, other = frame(1).lazy(), frame(1).lazy().select("a", other=c("i"))
    for query, ordered in (
        (lf.group_by("a", "b", maintain_order=True).agg(pl.len()), True),
        (lf.sort("a", "b", descending=[True, False], nulls_last=True, maintain_order=True), True),
        (lf.unique("a", keep="last", maintain_order=True), True),
        (lf.select("a", "i").join(other, on="a", how="full", nulls_equal=True), False),
        (lf.select("a").join_where(other.select(y="a"), c("a") < c("y")), False),
        (pl.concat([lf, lf.filter(c("a") > 1)]), True),
        (lf.filter(c("a").is_in(frame(1)["a"][:3].drop_nulls().implode())), True),
    ):
        got, want = query.collect(engine=engine), query.collect(engine="in-memory")
        assert_frame_equal(got, want, check_row_order=ordered)
        assert engine.last_report.complete, engine.last_report.reasons


def test_more_than_18_digits_are_left_to_polars(engine: Any) -> None:
    wide = pl.LazyFrame({"a": pl.Series([Decimal(10) ** 18, None], dtype=pl.Decimal(38, 0)), "b": [1, 2]})
    edge = pl.LazyFrame({"a": pl.Series([Decimal(10**18 - 1), Decimal(1 - 10**18)], dtype=pl.Decimal(18, 0))})
    many = pl.LazyFrame({"a": pl.Series([Decimal(10**17)] * 20, dtype=pl.Decimal(18, 0))})
    for query, reason in (
        (wide.select(c("a") + 1), "of more than 18 digits"),
        (edge.select(c("a") + c("a")), "of more than 18 digits"),
        (edge.select(c("a") * 10), "of more than 18 digits"),
        (edge.select(c("a") * c("a")), "products of more than 18 digits"),
        (many.select(c("a").sum()), "a sum of decimals of more than 18 digits"),
        (edge.select(c("a").cast(pl.Float64)), "decimals of more than 53 bits"),
    ):
        assert_frame_equal(query.collect(engine=engine), query.collect(engine="in-memory"))
        assert reason in engine.last_report.reasons[0]
    exact = edge.select(c("a").max(), low=c("a").min(), sum=c("a").sum(), times=c("a") * 1)
    assert_frame_equal(exact.collect(engine=engine), exact.collect(engine="in-memory"))
    # What may overflow by its bound is summed where it does not.
    kept = pl.LazyFrame({"a": pl.Series([Decimal(10**17), *([Decimal(1)] * 50)], dtype=pl.Decimal(18, 0))}).select(
        c("a").sum()
    )
    assert kept.collect(engine=engine).item() == 10**17 + 50 and engine.last_report.complete


def test_a_division_by_zero_is_an_error_of_polars(engine: Any) -> None:
    with pytest.raises(pl.exceptions.ComputeError, match="division by zero"):
        frame(0).lazy().select(c("a") / c("b")).collect(engine=engine)
    assert "division of decimals by zero" in engine.last_report.reasons[0]


def test_tables_of_decimals(engine: Any) -> None:
    table = frame(2).lazy().filter(c("a").is_not_null()).select("a", "k").execute(engine=engine)
    with pytest.raises(ValueError, match="counts of the last digit"):
        table["a"]
    want = frame(2).drop_nulls("a")
    scale = want.schema["a"].scale
    counts = [int(one.scaleb(scale)) for one in want["a"]]
    assert cp.asnumpy(table.column("a").values).tolist() == counts
    assert_frame_equal(table.to_polars(), want.select("a", "k"))
    assert_frame_equal(table.lazy().select(c("a").sum()).collect(), want.select(c("a").sum()))
