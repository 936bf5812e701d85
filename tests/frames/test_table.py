"""Tables: results on the device, frames that begin with arrays, columns that stay."""

from __future__ import annotations

import gc
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import cuprous as cp
import cuprous.frames
from cuprous.frames import Table
from cuprous.frames.columns import device_arrow
from cuprous.frames.columns.arrow import buffer_key, chunks
from tests.frames.random_frames import DTYPES, series

c = pl.col
ENGINE = cuprous.frames.Engine(take="all")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("height", [0, 1, 40])
def test_every_dtype_makes_the_round_trip(dtype: Any, height: int) -> None:
    for seed in range(6):
        frame = series(Random(seed), "x", dtype, height).to_frame()
        table = frame.lazy().filter(True).execute(engine=ENGINE)
        assert_frame_equal(
            table.to_polars() if isinstance(table, cuprous.frames.Table) else table.lazy().collect(), frame
        )


def test_a_result_is_arrays() -> None:
    lf = pl.LazyFrame({"k": [1, 2, 1], "x": [1.0, 2.0, 4.0]})
    table = lf.group_by("k", maintain_order=True).agg(c("x").sum()).execute(engine=ENGINE)
    assert isinstance(table, cuprous.frames.Table) and len(table) == 2 and table.columns == ["k", "x"]
    assert isinstance(table["x"], cp.ndarray) and cp.asnumpy(table["x"] / 2).tolist() == [2.5, 1.0]
    assert table.schema == {"k": pl.Int64, "x": pl.Float64}
    assert {n: a.tolist() for n, a in table.to_arrays().items()} == {"k": [1, 2], "x": [5.0, 2.0]}
    assert pl.DataFrame(table).rows() == [(1, 5.0), (2, 2.0)]
    assert table.head.rows() == [(1, 5.0), (2, 2.0)] and table.n_rows_total == 2


def test_a_table_begins_a_query_without_a_copy() -> None:
    array = cp.arange(6.0)
    lf = cuprous.frames.from_arrays({"x": array, "k": cp.asarray([0, 1, 0, 1, 0, 1])})
    table = lf.select("x").execute(engine=ENGINE)
    assert table["x"] is array
    assert ENGINE.last_report is not None and ENGINE.last_report.complete
    limited = lf.filter(c("k") == 1).select("x").head(2)
    assert limited.execute(engine=ENGINE)["x"].tolist() == [1.0, 3.0]
    assert_frame_equal(limited.collect(engine=ENGINE), limited.collect(engine="in-memory"))
    query = lf.filter(c("x") > 1).group_by("k").agg(c("x").sum()).sort("k")
    for _ in range(2):  # it may be read many times, by Polars too
        assert_frame_equal(query.collect(engine=ENGINE), query.collect(engine="in-memory"))
        assert_frame_equal(query.collect(engine=ENGINE), query.collect(engine="streaming"))


def test_a_result_is_trained_on() -> None:
    """Query, feature matrix and a step of gradient descent; the columns stay arrays of this library."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    lf = pl.LazyFrame({"x": x, "y": 3 * x + 1})
    table = lf.filter(c("x") > 0).select((c("x") * 2).alias("a"), "y").execute(engine=ENGINE)
    a, y = table["a"], table["y"]
    weights = cp.linalg.lstsq(cp.stack([a, cp.ones(len(table))], axis=1), y)[0]
    assert np.allclose(cp.asnumpy(weights), [1.5, 1.0])


def test_nulls_and_strings_have_no_array() -> None:
    table = pl.LazyFrame({"x": [1, None], "s": ["b", "a"]}).filter(True).execute(engine=ENGINE)
    with pytest.raises(ValueError, match=r"column 'x' has nulls; take \.column\('x'\)"):
        table["x"]
    assert table.column("x").valid.tolist() == [True, False]
    with pytest.raises(ValueError, match="column 's' has dtype String"):
        table["s"]
    assert table.column("s").values.tolist() == [1, 0] and table.column("s").dictionary.to_list() == ["a", "b"]
    with pytest.raises(KeyError, match="no column 'z'"):
        table["z"]


def test_what_is_no_table() -> None:
    with pytest.raises(ValueError, match="different lengths"):
        cuprous.frames.from_arrays({"x": cp.arange(2), "y": cp.arange(3)})
    with pytest.raises(ValueError, match="2 dimensions"):
        cuprous.frames.from_arrays({"x": cp.zeros((2, 2))})
    with pytest.raises(TypeError, match="complex128"):
        cuprous.frames.from_arrays({"x": cp.zeros(2, "complex128")})
    with pytest.raises(TypeError, match="List"):
        cuprous.frames.from_arrays({"x": [[1], [2]]})
    assert cuprous.frames.from_arrays({}).collect().shape == (0, 0)


def test_columns_stay_on_the_device() -> None:
    engine = cuprous.frames.Engine(take="all")
    frame = pl.DataFrame({"x": np.arange(1000.0), "s": ["a long string that is not inline", "b"] * 500})
    lf = frame.lazy().filter(c("s") == "b").select(c("x").sum())
    first = lf.collect(engine=engine)
    assert engine.stats() == {"columns": 2, "bytes_kept": 12_000, "bytes_moved": 12_000, "hits": 0, "misses": 2}
    assert_frame_equal(lf.collect(engine=engine), first)
    assert engine.stats()["hits"] == 2 and engine.stats()["bytes_moved"] == 12_000
    frame[0, "x"] = 5.0  # another memory, or none that is kept
    assert lf.collect(engine=engine).item() == first.item()
    assert frame.lazy().select(c("x").sum()).collect(engine=engine).item() == np.arange(1000.0).sum() + 5
    engine.clear()
    assert engine.stats()["columns"] == 0


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_column_is_known_by_its_own_memory(dtype: Any) -> None:
    """What an export makes anew has another address while an earlier export lives."""
    column = series(Random(0), "x", dtype, 40)
    key = buffer_key(column)
    with chunks(column), chunks(column):
        assert buffer_key(column) == key


def test_columns_of_categories_are_different_columns() -> None:
    """Their codes had been known by the address of a copy, which the next column got."""
    engine = cuprous.frames.Engine(take="all")
    values = [[["a", "b", "ab", "zebra"][(k * step) % 4] for k in range(5)] for step in range(1, 9)]
    frame = pl.DataFrame({f"c{k}": pl.Series(v, dtype=pl.Categorical) for k, v in enumerate(values)})
    lf = frame.lazy().with_columns(pl.len().over("c0").alias("n"))
    for _ in range(5):
        assert_frame_equal(lf.collect(engine=engine), lf.collect(engine="in-memory"))
    assert engine.stats()["hits"] == 4 * len(values)


def test_a_result_may_be_written_to() -> None:
    """What stays on the device is not what the caller gets, nor a view of it."""
    engine = cuprous.frames.Engine(take="all")
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0], "k": [1, 2, 3]})
    for lf in (frame.lazy(), frame.lazy().head(2), frame.lazy().select(c("x").alias("x"))):
        table = lf.execute(engine=engine)
        table["x"][:] = 0
        assert frame.lazy().select(c("x").sum()).collect(engine=engine).item() == 6
    array = cp.arange(4)
    lf = cuprous.frames.from_arrays({"x": array})
    query = lf.group_by("x").agg(pl.len()).sort("x")
    assert query.collect(engine=engine)["x"].to_list() == [0, 1, 2, 3]
    array[:] = cp.asarray([7, 7, 9, 100_000])  # the table has the array itself
    assert query.collect(engine=engine).rows() == [(7, 2), (9, 1), (100_000, 1)]


def test_the_least_recently_used_columns_go_first() -> None:
    engine = cuprous.frames.Engine(take="all", cache_bytes=16_000)
    frame = pl.DataFrame({name: np.arange(1000.0) for name in "abc"})
    for name in "abac":
        frame.lazy().select(c(name).sum()).collect(engine=engine)
    assert engine.stats()["bytes_kept"] == 16_000 and engine.stats()["hits"] == 1
    frame.lazy().select(c("a").sum()).collect(engine=engine)
    assert engine.stats()["hits"] == 2
    nothing = cuprous.frames.Engine(take="all", cache_bytes=0)
    frame.lazy().select(c("a").sum()).collect(engine=nothing)
    assert nothing.stats()["columns"] == 0


def test_columns_are_exported_without_a_copy() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    columns = {
        "x": cp.arange(5_000.0),
        "flag": cp.arange(5_000) % 3 == 0,
        "some": pl.Series([None if k % 7 == 0 else k for k in range(5_000)], dtype=pl.Int32),
        "day": pl.Series(range(5_000), dtype=pl.Date),
    }
    table = Table.from_arrays(columns)
    if table["x"].__dlpack_device__()[0] != 1:
        pytest.skip("pyarrow reads memory of the host")
    batch = pyarrow.record_batch(table)
    assert batch.column(0).buffers()[1].address == table["x"].__array_interface__["data"][0]
    assert pl.DataFrame(pyarrow.Table.from_batches([batch])).equals(table.to_polars())
    held = len(device_arrow._exported)
    del batch
    gc.collect()
    assert len(device_arrow._exported) == held - 5  # the batch and its columns
    capsules = table.__arrow_c_device_array__()
    assert len(device_arrow._exported) == held
    del capsules
    gc.collect()
    assert len(device_arrow._exported) == held - 5
    assert pyarrow.record_batch(Table.from_arrays({"x": cp.zeros(0)})).num_rows == 0


def test_strings_are_not_exported_from_the_device() -> None:
    with pytest.raises(TypeError, match="whose dictionary is on the host"):
        Table.from_arrays({"s": pl.Series(["a"])}).__arrow_c_device_array__()
    with pytest.raises(NotImplementedError, match="requested schema"):
        Table.from_arrays({"x": cp.zeros(1)}).__arrow_c_device_array__(object())
