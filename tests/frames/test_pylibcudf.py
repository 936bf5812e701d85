"""Parquet files that pylibcudf decodes: a stand-in on the simulated GPU, and itself where it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

import cuprous.frames
from tests.simulated import FOLDER

#: What pylibcudf 26.10 has of names that the reader calls, over files that Polars decodes.
STAND_IN = """
import enum, types as modules
import numpy as np, polars as pl
import cuprous as cp

TypeId = enum.IntEnum("TypeId", "INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 FLOAT32 FLOAT64 BOOL8 "
    "TIMESTAMP_DAYS TIMESTAMP_MILLISECONDS TIMESTAMP_MICROSECONDS TIMESTAMP_NANOSECONDS DURATION_MILLISECONDS "
    "DURATION_MICROSECONDS DURATION_NANOSECONDS STRING")
types = modules.SimpleNamespace(TypeId=TypeId)
NAMES = {pl.Boolean: "BOOL8", pl.Date: "TIMESTAMP_DAYS", pl.String: "STRING"}
UNITS = {"ms": "MILLISECONDS", "us": "MICROSECONDS", "ns": "NANOSECONDS"}
CALLS = []
#: Columns begin so many rows into their memory.
OFFSET = 3


class Span:
    def __init__(self, array):
        self.array = array
        interface = array.__cuda_array_interface__
        self.ptr, self.size = interface["data"][0], array.nbytes


class Column:
    def __init__(self, series):
        dtype, self._series = series.dtype, series
        base = dtype.base_type()
        kind = {pl.Datetime: "TIMESTAMP", pl.Duration: "DURATION"}.get(base)
        name = f"{kind}_{UNITS[dtype.time_unit]}" if kind else NAMES.get(base, str(base).upper())
        self._type = TypeId[name]
        physical = series.to_physical()
        values = physical.fill_null(True if dtype == pl.Boolean else 7).to_numpy()
        valid = np.r_[[False] * OFFSET, series.is_not_null().to_numpy()]
        self._data = Span(cp.asarray(np.r_[np.zeros(OFFSET, values.dtype), values]))
        self._mask = Span(cp.asarray(np.packbits(valid, bitorder="little")))
        cp.synchronize()

    def type(self):
        return modules.SimpleNamespace(id=lambda: self._type)

    def size(self):
        return len(self._series)

    def null_count(self):
        return self._series.null_count()

    def offset(self):
        return OFFSET

    def data(self):
        return self._data

    def null_mask(self):
        return self._mask if self.null_count() else None


class ParquetReaderOptions:
    skip, count, names = 0, None, None

    @staticmethod
    def builder(source):
        options = ParquetReaderOptions()
        options.source = source
        return modules.SimpleNamespace(build=lambda: options)

    def set_column_names(self, names):
        self.names = names

    def set_skip_rows(self, skip):
        self.skip = skip

    def set_num_rows(self, count):
        self.count = count


class SourceInfo(list):
    pass


def read_parquet(options):
    frame = pl.read_parquet(list(options.source), columns=options.names).slice(options.skip, options.count)
    CALLS.append((frame.columns, frame.height))
    columns = [Column(one) for one in frame.get_columns()]
    return modules.SimpleNamespace(tbl=modules.SimpleNamespace(columns=lambda: columns),
                                   column_names=lambda: frame.columns)


io = modules.SimpleNamespace(SourceInfo=SourceInfo, parquet=modules.SimpleNamespace(
    ParquetReaderOptions=ParquetReaderOptions, read_parquet=read_parquet))
"""

PROGRAM = """
import datetime, sys
from pathlib import Path
import polars as pl
from polars.testing import assert_frame_equal
from tests.simulated import select
import cuprous as cp
if sys.argv[1] == "simulated":
    cp.set_device(select("sim:32"))
import cuprous.frames, pylibcudf
c, n, at = pl.col, 1000, datetime.datetime(2026, 11, 27)
data = pl.DataFrame({
    "i": [i if i % 7 else None for i in range(n)], "x": [i / 8 for i in range(n)], "b": [i % 3 == 0 for i in range(n)],
    "u": pl.Series([i % 251 for i in range(n)], dtype=pl.UInt8), "k": [i * i % 5 for i in range(n)],
    "s": [f"w{i * 37 % 19}" if i % 5 else None for i in range(n)],
    "d": pl.Series([at.date()] * n) + pl.Series([datetime.timedelta(i % 90) for i in range(n)]),
    "t": [at + datetime.timedelta(minutes=i) for i in range(n)],
    "l": [datetime.timedelta(seconds=i) if i % 4 else None for i in range(n)],
})
folder = Path(sys.argv[2])
data[:300].write_parquet(folder / "0.parquet")
data[300:].write_parquet(folder / "1.parquet")
files = pl.scan_parquet(folder / "*.parquet")
last = files.select(c("i", "x", "u", "d", "t", "l").max(), b=c("b").sum(), nulls=c("i").null_count())
groups = files.filter(c("x") > 20).group_by("k", "s").agg(c("i").sum(), c("b").any(), c("l").min(), pl.len())
for rows in (None, 300):
    engine = cuprous.frames.Engine("cuda", take="all", strict=True, reader="pylibcudf", block_rows=rows)
    for lf in (last, groups, files.select(c("i") + c("u"), "s", "t").head(0) if rows is None else last):
        assert_frame_equal(lf.collect(engine=engine), lf.collect(engine="in-memory"), check_row_order=False)
if sys.argv[1] == "simulated":
    read = {name for names, _ in pylibcudf.CALLS for name in names}
    assert read == {"i", "x", "b", "u", "k", "d", "t", "l"}, read  # Polars decodes the strings
    assert {height for _, height in pylibcudf.CALLS} == {1000, 300, 100}
(folder / "2.parquet").write_bytes(b"a file of another kind" * 20)
try:
    bad = pl.scan_parquet(folder / "2.parquet").select(c("i").sum())
    bad.collect(engine=cuprous.frames.Engine("cuda", take="all", reader="pylibcudf"))
except pl.exceptions.PolarsError:
    print("as Polars")
"""


def run(kind: str, folder: Path, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    done = subprocess.run([sys.executable, "-c", PROGRAM, kind, str(tmp_path)], env=environment, capture_output=True,
                          text=True, timeout=300)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "as Polars\n"), done.stdout + done.stderr


@pytest.mark.skipif(not (FOLDER / "libcuda.so.1").exists(), reason="needs the simulated GPU: make build/sim/.built")
def test_a_stand_in_decodes_on_the_simulated_gpu(tmp_path: Path) -> None:
    """All dtypes, nulls, offsets and blocks of rows; files that cannot be read are Polars' error."""
    (tmp_path / "stand_in").mkdir()
    (tmp_path / "stand_in" / "pylibcudf.py").write_text(STAND_IN)
    run("simulated", tmp_path / "stand_in", tmp_path)


@pytest.mark.skipif(find_spec("pylibcudf") is None, reason="pylibcudf is not installed")
def test_pylibcudf_decodes(tmp_path: Path) -> None:
    run("itself", tmp_path, tmp_path)


@pytest.mark.skipif(find_spec("pylibcudf") is not None, reason="pylibcudf is installed")
def test_it_must_be_installed() -> None:
    with pytest.raises(ImportError, match="pip install pylibcudf-cu13"):
        cuprous.frames.Engine(reader="pylibcudf")


def test_the_cpu_has_no_memory_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pylibcudf.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    pl.DataFrame({"i": [1, 2]}).write_parquet(tmp_path / "x.parquet")
    engine = cuprous.frames.Engine("cpu", take="all", reader="pylibcudf")
    assert pl.scan_parquet(tmp_path / "x.parquet").select(pl.col("i").sum()).collect(engine=engine).item() == 3
    assert engine.last_report is not None
    assert any("into the memory of a GPU" in reason for reason in engine.last_report.reasons)
