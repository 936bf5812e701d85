"""Scans larger than memory: files that are read and aggregated in blocks of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import cuprous.frames
from cuprous.frames.operations import blocks

c = pl.col


@pytest.fixture
def files(tmp_path: Path) -> pl.LazyFrame:
    data = pl.DataFrame({
        "k": [i % 7 if i % 11 else None for i in range(1000)], "s": [f"w{i * 37 % 19}" for i in range(1000)],
        "x": [float(i) if i % 13 else float("nan") for i in range(1000)], "i": range(1000),
        "b": [i % 3 == 0 for i in range(1000)],
    })  # fmt: skip
    for number, part in enumerate((data[:300], data[300:310], data[310:])):
        part.write_parquet(tmp_path / f"{number}.parquet", row_group_size=64)
    return pl.scan_parquet(tmp_path / "*.parquet")


SMALL = pl.DataFrame({"k": [1, 2, None, 9], "w": [10, 20, 30, 40]}).lazy()


@pytest.mark.parametrize("rows", [50, 333])
def test_aggregates_of_blocks_are_those_of_all_rows(files: pl.LazyFrame, rows: int) -> None:
    engine = cuprous.frames.Engine(take="all", strict=True, block_rows=rows)
    of_rows = [
        c("x").sum().alias("sx"), c("i").mean(), c("x").min().alias("least"), c("s").max(), pl.len().alias("n"),
        c("k").count().alias("known"), c("b").any(), c("b").all().alias("all"), c("k").null_count().alias("nulls"),
        (c("i").sum() + c("i").max() * pl.len()).alias("mixed"), c("i").filter(c("b")).sum().alias("chosen"),
    ]  # fmt: skip
    for lf, ordered in (
        (files.select(of_rows), True),
        (files.group_by("k", maintain_order=True).agg(of_rows), True),
        (
            files.filter(c("i") > 40).with_columns(y=c("i") * 2).group_by("s", "k").agg(c("y").sum(), c("x").mean()),
            False,
        ),
        (files.join(SMALL, on="k").group_by("w").agg(c("i").sum()).sort("w"), True),
        (files.join(SMALL, on="k", how="left").select(c("w").sum(), c("w").null_count().alias("none")), True),
        (files.join(SMALL, on="k", how="anti").group_by("s").agg(pl.len()).sort("s").head(3), True),
        (SMALL.join(files.group_by("k").agg(c("i").max()), on="k").sort("w"), True),
        (files.filter(c("i") > 5000).select(c("i").sum(), c("x").mean()), True),
    ):
        got, want = lf.collect(engine=engine), lf.collect(engine="in-memory")
        assert_frame_equal(got, want, check_row_order=ordered)
        report = engine.last_report
        assert report is not None and not any(one.rows_out == 1000 for one in report.entries if one.node == "Scan")


def test_what_needs_all_rows_at_once_runs_in_polars(files: pl.LazyFrame) -> None:
    engine = cuprous.frames.Engine(take="all", block_rows=100)
    for lf in (
        files.sort("i"),
        files.group_by("k").agg(c("i").median()).sort("k"),
        files.group_by("k").agg(c("i").first()).sort("k"),
        files.with_columns(c("i").cum_sum()).select(c("i").max()),
        files.join(files, on="i").select(pl.len()),
        files.unique("k", keep="first", maintain_order=True).select(c("i").sum()),
    ):
        assert_frame_equal(lf.collect(engine=engine), lf.collect(engine="in-memory"))
        report = engine.last_report
        assert report is not None
        assert any("the files have 1,000 rows, of which 100 fit" in reason for reason in report.reasons), report.reasons


def test_blocks_are_as_large_as_free_memory_allows(files: pl.LazyFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = cuprous.frames.Engine(take="all", strict=True, device="cpu")
    lf = files.group_by("k").agg(c("i").sum()).sort("k")
    lf.collect(engine=engine)
    assert engine.last_report is not None
    whole = [one.rows_out for one in engine.last_report.entries if one.node == "Scan"]
    monkeypatch.setattr(blocks, "free_memory", lambda device: 4 * 400 * 18)
    assert_frame_equal(lf.collect(engine=engine), lf.collect(engine="in-memory"))
    parts = [one.rows_out for one in engine.last_report.entries if one.node == "Scan"]
    assert whole == [1000] and max(part or 0 for part in parts) <= 400 and len(parts) > 3


def test_the_free_memory_of_the_host_is_known() -> None:
    assert 0 < blocks.free_memory("cpu") < 1 << 50


def test_a_corrupt_file_is_an_error_of_polars(tmp_path: Path) -> None:
    pl.DataFrame({"i": range(100)}).write_parquet(tmp_path / "x.parquet")
    data = (tmp_path / "x.parquet").read_bytes()
    (tmp_path / "x.parquet").write_bytes(data[:40] + bytes(40) + data[80:])
    engine = cuprous.frames.Engine(take="all", block_rows=10)
    lf = pl.scan_parquet(tmp_path / "x.parquet").select(c("i").sum())
    errors: list[Any] = []
    for one in (engine, "in-memory"):
        try:
            errors.append(lf.collect(engine=one).item())  # type: ignore[arg-type]
        except pl.exceptions.PolarsError as error:
            errors.append(type(error))
    assert errors[0] == errors[1]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"block_rows": 0}, ValueError, "block_rows must be positive"),
        ({"reader": "arrow"}, ValueError, "reader must be 'polars' or 'pylibcudf'"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        cuprous.frames.Engine(**options)
