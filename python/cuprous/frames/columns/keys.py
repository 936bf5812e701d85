"""Codes of columns: integers that are equal where values are, in their order where asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.column import Column

#: A range of integers up to this, or up to a few times the number of rows, is addressed directly.
DIRECT = 1 << 16
_WIDEST = 1 << 62


@dataclass(frozen=True)
class Codes:
    """Integers from 0 below `domain`; an open domain (None) is all of int64."""

    values: Any
    domain: int | None


def total_order(values: Any) -> Any:
    """Returns integers of floats, in Polars' order: -0.0 equals 0.0, and NaN is one value above all others."""
    bits = "int64" if values.dtype == "float64" else "int32"
    plain = cp.where(values == 0, cp.zeros(1, values.dtype), values)
    found = cp.where(cp.isnan(values), cp.full(1, float("nan"), values.dtype), plain).view(bits)
    sign = cp.full(1, 63 if bits == "int64" else 31, bits)
    largest = cp.full(1, 2**63 - 1 if bits == "int64" else 2**31 - 1, bits)
    return (found ^ ((found >> sign) & largest)).astype("int64")


def bounds(column: Column) -> tuple[int, int]:
    """Returns the smallest and largest value of a column of integers; (0, -1) without rows."""
    if "bounds" not in column.memo:
        values = column.values
        column.memo["bounds"] = (int(values.min()), int(values.max())) if len(column) else (0, -1)
    return column.memo["bounds"]


def ordered(column: Column) -> Codes:
    """Returns codes in the order of the values; nulls have arbitrary codes."""
    values = column.values
    if column.dictionary is not None and column.dtype.base_type() != pl.Categorical:
        return Codes(values.astype("int64"), max(1, len(column.dictionary)))
    if column.dictionary is not None:
        return Codes(values.astype("int64"), max(1, len(column.dictionary)))
    if values.dtype == "bool":
        return Codes(values.astype("int64"), 2)
    if values.dtype.kind == "f":
        return Codes(total_order(values), None)
    low, high = bounds(column)
    width = high - low + 1
    if width < _WIDEST:
        shifted = values.astype("int64") - low if high < 2**63 else (values - cp.full(1, low, "uint64")).astype("int64")
        return Codes(shifted, max(1, width))
    if values.dtype == "uint64":
        return Codes(values.view("int64") ^ cp.full(1, -(2**63), "int64"), None)
    return Codes(values.astype("int64"), None)


def equal(column: Column) -> Codes:
    """Returns codes with a closed domain; equal values have equal codes, and nulls have code 0."""
    if "equal" not in column.memo:
        codes = ordered(column)
        if codes.domain is None or codes.domain > max(DIRECT, 4 * len(column)):
            distinct, inverse = cp.unique(codes.values, return_inverse=True)
            codes = Codes(inverse, max(1, int(distinct.shape[0])))
        if column.valid is not None:
            assert codes.domain is not None
            codes = Codes(cp.where(column.valid, codes.values + 1, 0), codes.domain + 1)
        column.memo["equal"] = codes
    return column.memo["equal"]


def combined(columns: list[Column]) -> Codes:
    """Returns one code for the values of several columns, with a closed domain."""
    result: Codes | None = None
    for column in columns:
        codes = equal(column)
        assert codes.domain is not None
        if result is None:
            result = codes
            continue
        assert result.domain is not None
        if result.domain * codes.domain >= _WIDEST:
            distinct, inverse = cp.unique(result.values, return_inverse=True)
            result = Codes(inverse, max(1, int(distinct.shape[0])))
        assert result.domain is not None
        result = Codes(result.values * codes.domain + codes.values, result.domain * codes.domain)
    assert result is not None
    return result
