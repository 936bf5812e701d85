"""Series of Polars as columns of arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import cuprous as cp
from cuprous.frames.columns.arrow import chunks
from cuprous.frames.columns.column import Column
from cuprous.frames.columns.device_arrow import decimal_series
from cuprous.frames.columns.dtypes import CODES, MOST_DIGITS, array_dtype, is_coded
from cuprous.frames.reasons import refuse_unless

#: The largest dictionary: codes are int32, and one is kept for null.
_LARGEST = 2**31 - 2


def upload(series: pl.Series) -> Column:
    """Copies a Series to the current device.

    Raises
    ------
    Refused
        If it has too many distinct strings for codes, or decimals of too many digits.
    """
    dtype = series.dtype
    valid = None if series.null_count() == 0 else cp.asarray(series.is_not_null().to_numpy())
    if is_coded(dtype):
        dictionary, codes = _encoded(series)
        return Column(cp.asarray(codes, CODES), valid, dtype, dictionary)
    if dtype.is_decimal():
        return Column(cp.asarray(_last_digits(series)), valid, dtype)
    return Column(cp.asarray(_values(series)), valid, dtype)


def _values(series: pl.Series) -> np.ndarray:
    """The values of a Series without strings; arbitrary where it is null."""
    name = array_dtype(series.dtype)
    if series.dtype == pl.Boolean:
        return series.fill_null(False).to_numpy()
    with chunks(series) as found:
        parts = [np.asarray(chunk.values(name)) for chunk in found if chunk.length]
        if not parts:
            return np.empty(0, name)
        return np.concatenate(parts) if len(parts) > 1 else parts[0].copy()


def _last_digits(series: pl.Series) -> np.ndarray:
    """Decimals as counts of the last digit; 0 where they are null."""
    if series.null_count():
        series = series.fill_null(pl.Series([0], dtype=series.dtype))
    with chunks(series) as found:
        parts = [np.asarray(chunk.words()).reshape(-1, 2) for chunk in found if chunk.length]
        values = np.concatenate([part[:, 0] for part in parts]) if parts else np.empty(0, "int64")
        signs = all((part[:, 1] == part[:, 0] >> 63).all() for part in parts)
    most = 10**MOST_DIGITS
    fits = signs and (len(values) == 0 or (values.min() > -most and values.max() < most))
    refuse_unless(fits, f"decimals of more than {MOST_DIGITS} digits are left to Polars")
    return values


def _encoded(series: pl.Series) -> tuple[pl.Series, np.ndarray]:
    """The sorted dictionary of a Series of strings, and the code of each row."""
    if isinstance(series.dtype, pl.Enum):
        dictionary = series.dtype.categories
        return dictionary, series.to_physical().fill_null(0).cast(pl.Int32).to_numpy()
    text = series.cast(pl.String) if series.dtype != pl.String else series
    dictionary = text.drop_nulls().unique().sort()
    refuse_unless(len(dictionary) < _LARGEST, "there are too many distinct strings")
    if len(dictionary) == 0:
        return dictionary, np.zeros(len(series), CODES)
    codes = text.cast(pl.Enum(dictionary)).to_physical().fill_null(0)
    return dictionary, codes.cast(pl.Int32).to_numpy()


def download(name: str, column: Column) -> pl.Series:
    """Copies a column to the host, as a Series of its dtype."""
    if column.dtype.is_decimal():
        valid = None if column.valid is None else cp.asnumpy(column.valid)
        return decimal_series(name, cp.asnumpy(column.values), valid, column.dtype)
    values = pl.Series(name, cp.asnumpy(column.values))
    if column.valid is not None:
        valid = pl.Series(cp.asnumpy(column.valid))
        if not valid.all():
            values = values.set(~valid, None)
    return _decoded(values, column)


def _decoded(values: pl.Series, column: Column) -> pl.Series:
    if column.dictionary is None:
        return values if values.dtype == column.dtype else values.cast(column.dtype)
    if len(column.dictionary) == 0:
        return pl.Series(values.name, [None] * len(values), dtype=column.dtype)
    return column.dictionary.gather(values).cast(column.dtype).alias(values.name)


def from_value(value: Any, dtype: Any) -> Column:
    """Returns a column of one value of Python."""
    return upload(pl.Series([value], dtype=dtype))
