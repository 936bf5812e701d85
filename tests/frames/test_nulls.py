"""Literal nulls without a dtype, in each place that an operand may have."""

from __future__ import annotations

import datetime

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import cuprous.frames

NULL = pl.lit(None)
A, B, S, T = pl.col("a"), pl.col("b"), pl.col("s"), pl.col("t")


@pytest.mark.parametrize(
    "expression",
    [
        NULL.is_null(), NULL.is_not_null(), NULL.is_not_null().cast(pl.Boolean), NULL.eq_missing(None),
        A.eq_missing(NULL),
        NULL.ne_missing(A), A == NULL, NULL < A, A + NULL, NULL - A, A / NULL, A // NULL, A % NULL, A**NULL, -NULL,
        B & NULL, NULL | B, B ^ NULL, ~NULL, NULL.fill_null(3), A.fill_null(NULL), pl.coalesce(NULL, A),
        pl.when(A > 1).then(NULL).otherwise(A), pl.when(NULL).then(A).otherwise(7), pl.when(B).then(A).otherwise(NULL),
        A.is_in([None]), A.is_in([None, 2]), A.is_between(NULL, 2), A.is_between(0, NULL), A.clip(NULL, 2),
        pl.min_horizontal(A, NULL), pl.max_horizontal(NULL, A), pl.sum_horizontal(A, NULL), pl.any_horizontal(B, NULL),
        pl.all_horizontal(B, NULL), S.str.starts_with(NULL), S.str.contains(NULL), S + NULL, pl.concat_str(S, NULL),
        T.dt.offset_by(NULL), T - NULL, NULL.cast(pl.Int8).abs(), A.filter(NULL).sum(), NULL.sum(), NULL.max(),
        NULL.count(),
        NULL.null_count(), A.shift(fill_value=NULL), A.replace(1, NULL), A.sum() + NULL, NULL.is_null().sum() + A.sum(),
    ],
)  # fmt: skip
def test_an_untyped_null_is_an_operand(expression: pl.Expr) -> None:
    """The value is that of Polars, or the error."""
    lf = pl.LazyFrame({
        "a": [1, None, 3], "b": [True, False, None], "s": ["x", None, "yz"],
        "t": [datetime.date(2026, 1, 1), None, None],
    })  # fmt: skip
    for query in (lf.select(z=expression), lf.with_columns(z=expression), lf.filter(expression.is_null())):
        try:
            want = query.collect(engine="in-memory")
        except pl.exceptions.PolarsError:  # its engines raise different classes
            with pytest.raises(pl.exceptions.PolarsError):
                query.collect(engine=cuprous.frames.Engine(take="all"))
        else:
            engine = cuprous.frames.Engine(take="all")
            assert_frame_equal(query.collect(engine=engine), want)
            assert engine.last_report is not None
            assert not any("unexpected error" in reason for reason in engine.last_report.reasons)
