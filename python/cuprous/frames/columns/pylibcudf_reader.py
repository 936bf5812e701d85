"""Columns of Parquet files that pylibcudf, of RAPIDS, decodes on the GPU."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import polars as pl

import cuprous as cp
from cuprous._common.convert import from_cuda_interface
from cuprous._common.device import current_device
from cuprous.frames.columns.column import Column
from cuprous.frames.columns.dtypes import array_dtype
from cuprous.frames.reasons import Refused, refuse_unless

#: Polars' dtype -> the name of pylibcudf's. Of others Polars reads the columns.
_TYPES: dict[Any, str] = {
    pl.Boolean: "BOOL8",
    pl.Int8: "INT8", pl.Int16: "INT16", pl.Int32: "INT32", pl.Int64: "INT64",
    pl.UInt8: "UINT8", pl.UInt16: "UINT16", pl.UInt32: "UINT32", pl.UInt64: "UINT64",
    pl.Float32: "FLOAT32", pl.Float64: "FLOAT64", pl.Date: "TIMESTAMP_DAYS",
}  # fmt: skip
_UNITS = {"ms": "MILLISECONDS", "us": "MICROSECONDS", "ns": "NANOSECONDS"}
#: The stream on which pylibcudf works unless it is given another one: CUDA's legacy default stream.
_STREAM = 1


@dataclass(frozen=True)
class _Memory:
    """Memory of pylibcudf, as other libraries see it; `owner` keeps it."""

    owner: Any
    pointer: int
    count: int
    typestr: str

    def array(self) -> Any:
        """Returns an array that shares the memory."""
        interface = {"data": (self.pointer, True), "shape": (self.count,), "typestr": self.typestr, "stream": _STREAM}
        return from_cuda_interface(self, interface)


def require() -> None:
    """Raises ImportError if pylibcudf is not installed."""
    if find_spec("pylibcudf") is None:
        raise ImportError("reader='pylibcudf' needs pylibcudf, which is not installed; run: pip install pylibcudf-cu13")


def decoded(paths: tuple[str, ...], schema: dict[str, Any], rows: range | None) -> dict[str, Column]:
    """Returns the columns that pylibcudf decodes, on the current device. The others are left to Polars.

    Parameters
    ----------
    paths : tuple of str
        Parquet files, in order.
    schema : dict
        The names and dtypes of columns.
    rows : range or None
        Which rows; None for all.

    Raises
    ------
    Refused
        If the device is the CPU, or pylibcudf cannot read the files.
    """
    refuse_unless(
        current_device().startswith("cuda"), "pylibcudf reads into the memory of a GPU, and the device is none"
    )
    names = [name for name, dtype in schema.items() if _type_name(dtype) is not None]
    if not names:
        return {}
    plc: Any = import_module("pylibcudf")
    parquet = plc.io.parquet
    try:
        options = parquet.ParquetReaderOptions.builder(plc.io.SourceInfo(list(paths))).build()
        choose = getattr(options, "set_column_names", None) or options.set_columns  # the name in older versions
        choose(names)
        if rows is not None:
            options.set_skip_rows(rows.start)
            options.set_num_rows(len(rows))
        read = parquet.read_parquet(options)
    except (RuntimeError, ValueError, OSError, MemoryError) as error:
        raise Refused(f"pylibcudf does not read the files: {str(error).splitlines()[0]}") from error
    columns = dict(zip(read.column_names(), read.tbl.columns(), strict=True))
    return {
        name: _column(columns[name], schema[name])
        for name in names
        if columns[name].type().id() == getattr(plc.types.TypeId, str(_type_name(schema[name])))
    }


def _type_name(dtype: Any) -> str | None:
    """The name of pylibcudf's dtype with the same values."""
    base = dtype.base_type()
    if base in (pl.Datetime, pl.Duration):
        return f"{'TIMESTAMP' if base == pl.Datetime else 'DURATION'}_{_UNITS[dtype.time_unit]}"
    return _TYPES.get(base)


def _column(column: Any, dtype: Any) -> Column:
    count, begin = column.size(), column.offset()
    name = array_dtype(dtype)
    if count == 0:
        return Column(cp.empty(0, name), None, dtype)
    values = _Memory(column, column.data().ptr, begin + count, cp.dtype(name).str).array()[begin:]
    valid = None
    if column.null_count():
        bits = _Memory(column, column.null_mask().ptr, (begin + count + 7) // 8, "|u1").array()
        valid = cp.unpackbits(bits, count=begin + count, bitorder="little")[begin:].astype("bool")
    return Column(values, valid, dtype)
