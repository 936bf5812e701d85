"""Whether two results are the same, as far as it is certain."""

from __future__ import annotations

import polars as pl
from polars.testing import assert_frame_equal, assert_series_equal


def assert_same(got: pl.DataFrame, want: pl.DataFrame, ordered: bool, inexact: set[str]) -> None:
    """Raises AssertionError unless the frames agree.

    Parameters
    ----------
    got : DataFrame
        One result.
    want : DataFrame
        The other.
    ordered : bool
        Whether the order of the rows counts.
    inexact : set of str
        Columns that may differ by roundings.
    """
    assert dict(got.schema) == dict(want.schema), (got.schema, want.schema)
    assert got.height == want.height, (got.height, want.height)
    exact = [name for name in want.columns if name not in inexact]
    if not ordered and want.columns:
        got, want = (_sorted(one, exact, inexact) for one in (got, want))
    assert_frame_equal(got.select(exact), want.select(exact), check_exact=True)
    for name in inexact & {*want.columns}:
        half = want.schema[name] == pl.Float32
        tolerance = {"rel_tol": 1e-3, "abs_tol": 5e-2} if half else {"rel_tol": 1e-6, "abs_tol": 1e-7}
        assert_series_equal(got[name], want[name], **tolerance)


def _sorted(frame: pl.DataFrame, exact: list[str], inexact: set[str]) -> pl.DataFrame:
    """A frame sorted by all columns; -0.0 and 0.0 are one value."""
    keys = [_key(frame[name]).alias(f"k{i}") for i, name in enumerate([*exact, *sorted(inexact & {*frame.columns})])]
    order = pl.DataFrame(keys).with_row_index("row").sort([key.name for key in keys], nulls_last=True)["row"]
    return frame[order]


def _key(series: pl.Series) -> pl.Series:
    if series.dtype.is_float():
        return series + 0.0
    return series.cast(pl.String) if series.dtype.base_type() in (pl.Categorical, pl.Enum) else series
