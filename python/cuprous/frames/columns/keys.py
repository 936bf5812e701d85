"""Codes of columns: integers that are equal where values are, in the order of the values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cuprous as cp
from cuprous.frames.columns.column import Column
from cuprous.frames.columns.rows import group_ids, is_direct

_WIDEST = 1 << 62
#: dtype of floats -> dtype of their bits, shift that leaves the sign, all bits but the sign.
_BITS = {"float64": ("int64", 63, 2**63 - 1), "float32": ("int32", 31, 2**31 - 1)}


@dataclass(frozen=True)
class Codes:
    """Integers of the values of a column, or of the rows of several.

    Parameters
    ----------
    values : ndarray
        The codes, of int64.
    domain : int or None
        Codes are from 0 below it; None for an open domain, all of int64.
    """

    values: Any
    domain: int | None


def total_order(values: Any) -> Any:
    """Returns integers of floats, in Polars' order: -0.0 equals 0.0, and NaN is one value above all others."""
    bits, shift, others = _BITS[str(values.dtype)]
    one_zero = cp.where(values == 0, 0.0, values)
    found = cp.where(cp.isnan(values), float("nan"), one_zero).view(bits)
    return (found ^ ((found >> shift) & others)).astype("int64")


def untotal_order(codes: Any, dtype: str) -> Any:
    """Returns the floats of a dtype that `total_order` has given integers to."""
    bits, shift, others = _BITS[dtype]
    narrow = codes.astype(bits)
    return (narrow ^ ((narrow >> shift) & others)).view(dtype)


def bounds(column: Column) -> tuple[int, int]:
    """Returns the smallest and largest value of a column of integers; (0, -1) without rows."""
    if "bounds" not in column.memo:
        values = column.values
        column.memo["bounds"] = (int(values.min()), int(values.max())) if len(column) else (0, -1)
    return column.memo["bounds"]


def ordered(column: Column) -> Codes:
    """Returns codes in the order of the values; nulls have arbitrary codes."""
    values = column.values
    dtype = str(values.dtype)
    if column.dictionary is not None:
        return Codes(values.astype("int64"), max(1, len(column.dictionary)))
    if dtype == "bool":
        return Codes(values.astype("int64"), 2)
    if dtype in _BITS:
        return Codes(total_order(values), None)
    low, high = bounds(column)
    width = high - low + 1
    if high < 2**63 and width < _WIDEST:
        return Codes(values.astype("int64") - low, max(1, width))
    if dtype == "uint64":  # with the highest bit turned, the order of int64 is theirs
        return Codes(values.view("int64") ^ -(2**63), None)
    return Codes(values.astype("int64"), None)


def _numbered(codes: Codes, valid: Any = None) -> Codes:
    """Codes that number the distinct ones from 0, or from 1 with code 0 where a mask is false."""
    found = group_ids(codes.values, codes.domain, valid)
    ids = found.ids.astype("int64")
    return Codes(ids, max(1, found.groups)) if valid is None else Codes(ids + 1, found.groups + 1)


def equal(column: Column) -> Codes:
    """Returns codes with a closed domain; equal values have equal codes, and nulls have code 0."""
    if "equal" not in column.memo:
        codes = ordered(column)
        if not is_direct(codes.domain, len(column)):
            codes = _numbered(codes, column.valid)
        elif column.valid is not None:
            assert codes.domain is not None
            codes = Codes(cp.where(column.valid, codes.values + 1, 0), codes.domain + 1)
        column.memo["equal"] = codes
    return column.memo["equal"]


def combined(columns: list[Column]) -> Codes:
    """Returns one code for the values of several columns; equal ones have equal codes."""
    if len(columns) == 1 and columns[0].valid is None and "equal" not in columns[0].memo:
        return ordered(columns[0])
    result = equal(columns[0])
    for column in columns[1:]:
        codes = equal(column)
        assert result.domain is not None and codes.domain is not None
        if result.domain * codes.domain >= _WIDEST:
            result = _numbered(result)
        assert result.domain is not None
        result = Codes(result.values * codes.domain + codes.values, result.domain * codes.domain)
    return result
