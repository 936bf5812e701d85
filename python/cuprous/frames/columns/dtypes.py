"""Polars' dtypes and the arrays that hold them: one row for each supported dtype."""

from __future__ import annotations

from typing import Any

import polars as pl

from cuprous.frames.reasons import Refused

#: Polars' dtype -> dtype of the array. Dates and times are counts of days or of the unit in the dtype, decimals are
#: counts of the last digit.
_ARRAYS: dict[Any, str] = {
    pl.Boolean: "bool",
    pl.Int8: "int8", pl.Int16: "int16", pl.Int32: "int32", pl.Int64: "int64",
    pl.UInt8: "uint8", pl.UInt16: "uint16", pl.UInt32: "uint32", pl.UInt64: "uint64",
    pl.Float32: "float32", pl.Float64: "float64",
    pl.Date: "int32", pl.Datetime: "int64", pl.Duration: "int64", pl.Time: "int64", pl.Decimal: "int64",
}  # fmt: skip
#: Dtypes that are positions in a dictionary.
_CODED = frozenset((pl.String, pl.Categorical, pl.Enum))
_HELD = _CODED.union(_ARRAYS)
CODES = "int32"
#: Digits of the largest decimals: int64 holds all of so many.
MOST_DIGITS = 18


def array_dtype(dtype: Any) -> str:
    """Returns the dtype of the array that holds values of a Polars dtype."""
    return CODES if is_coded(dtype) else _ARRAYS[dtype.base_type()]


def is_coded(dtype: Any) -> bool:
    """Returns true if values are positions in a dictionary."""
    return dtype.base_type() in _CODED


def refuse_dtype(dtype: Any, owner: str) -> None:
    """Raises `Refused` if a dtype has no array."""
    if dtype.base_type() not in _HELD:
        raise Refused(f"{owner} has dtype {dtype}, which is left to Polars")


def refuse_schema(schema: dict[str, Any]) -> None:
    """Raises `Refused` if a column has a dtype without an array."""
    if not _HELD.issuperset(map(type, schema.values())):
        for column, dtype in schema.items():
            refuse_dtype(dtype, f"column {column!r}")
