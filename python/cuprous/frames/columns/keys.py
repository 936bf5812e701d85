"""Codes of columns: integers that are equal where values are, in the order of the values, and their inverse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cuprous as cp
from cuprous.frames.columns.column import Column

#: A range of integers up to this, or up to a few times the number of rows, is addressed directly.
DIRECT = 1 << 16
_WIDEST = 1 << 62
#: dtype of floats -> dtype of their bits, shift that leaves the sign, all bits but the sign.
_BITS = {"float64": ("int64", 63, 2**63 - 1), "float32": ("int32", 31, 2**31 - 1)}


@dataclass(frozen=True)
class Codes:
    """Integers of the values of a column, or of the rows of several.

    Args:
        values: the codes, of int64.
        domain: codes are from 0 below it; None for an open domain, all of int64.
        restore: the columns of some codes.
    """

    values: Any
    domain: int | None
    restore: Callable[[Any], list[Column]]


def total_order(values: Any) -> Any:
    """Returns integers of floats, in Polars' order: -0.0 equals 0.0, and NaN is one value above all others."""
    bits, shift, others = _BITS[str(values.dtype)]
    one_zero = cp.where(values == 0, 0.0, values)
    found = cp.where(cp.isnan(values), float("nan"), one_zero).view(bits)
    return (found ^ ((found >> shift) & others)).astype("int64")


def _floats(codes: Any, dtype: str) -> Any:
    """The floats whose order has some codes."""
    bits, shift, others = _BITS[dtype]
    found = codes.astype(bits)
    return (found ^ ((found >> shift) & others)).view(dtype)


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

    def restored(of: Callable[[Any], Any]) -> Callable[[Any], list[Column]]:
        return lambda codes: [column.with_values(of(codes).astype(dtype), None)]

    if column.dictionary is not None:
        return Codes(values.astype("int64"), max(1, len(column.dictionary)), restored(lambda codes: codes))
    if dtype == "bool":
        return Codes(values.astype("int64"), 2, restored(lambda codes: codes))
    if dtype in _BITS:
        return Codes(total_order(values), None, restored(lambda codes: _floats(codes, dtype)))
    low, high = bounds(column)
    width = high - low + 1
    if high < 2**63 and width < _WIDEST:
        return Codes(values.astype("int64") - low, max(1, width), restored(lambda codes: codes + low))
    if dtype == "uint64":  # with the highest bit turned, the order of int64 is theirs
        return Codes(values.view("int64") ^ -(2**63), None, restored(lambda codes: (codes ^ -(2**63)).view("uint64")))
    return Codes(values.astype("int64"), None, restored(lambda codes: codes))


def _closed(codes: Codes) -> Codes:
    """Codes that number the distinct ones."""
    distinct, inverse = cp.unique(codes.values, return_inverse=True)
    return Codes(inverse, max(1, int(distinct.shape[0])), lambda numbers: codes.restore(distinct[numbers]))


def equal(column: Column) -> Codes:
    """Returns codes with a closed domain; equal values have equal codes, and nulls have code 0."""
    if "equal" not in column.memo:
        codes = ordered(column)
        if codes.domain is None or codes.domain > max(DIRECT, 4 * len(column)):
            codes = _closed(codes)
        column.memo["equal"] = codes if column.valid is None else _with_null(codes, column)
    return column.memo["equal"]


def _with_null(codes: Codes, column: Column) -> Codes:
    assert codes.domain is not None

    def restore(numbers: Any) -> list[Column]:
        (found,) = codes.restore(cp.maximum(numbers - 1, 0))
        return [found.with_values(found.values, numbers > 0)]

    return Codes(cp.where(column.valid, codes.values + 1, 0), codes.domain + 1, restore)


def combined(columns: list[Column]) -> Codes:
    """Returns one code for the values of several columns, with a closed domain."""
    result = equal(columns[0])
    for column in columns[1:]:
        codes = equal(column)
        assert result.domain is not None and codes.domain is not None
        if result.domain * codes.domain >= _WIDEST:
            result = _closed(result)
        result = _paired(result, codes)
    return result


def _paired(first: Codes, second: Codes) -> Codes:
    assert first.domain is not None and second.domain is not None
    width = second.domain

    def restore(numbers: Any) -> list[Column]:
        return [*first.restore(numbers // width), *second.restore(numbers % width)]

    return Codes(first.values * width + second.values, first.domain * width, restore)
