"""Decimals: counts of the last digit in int64, with up to 18 digits.

Polars holds 38 digits. A bound of the values is carried along, so that an operation whose result may have more digits
than int64 has is left to Polars. Results that need rounding are rounded half to even, as Polars does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.column import Column, both
from cuprous.frames.columns.dtypes import MOST_DIGITS, array_dtype
from cuprous.frames.columns.keys import bounds
from cuprous.frames.expressions.casts import fits, kept
from cuprous.frames.expressions.comparison import COMPARISONS, equal_or_null
from cuprous.frames.expressions.rule import Rule, kind_of_dtype, only
from cuprous.frames.plan.expressions import Call
from cuprous.frames.reasons import refuse_unless

_LARGEST = 10**MOST_DIGITS - 1
#: The largest product that is rounded afterwards.
_WIDEST = 2**63 - 1
#: Integers up to this are float64 without a rounding.
_EXACT = 2**53
#: Polars 1 has no whole quotients of decimals, and until 2.1 rounds casts to integers in another way.
_POLARS = tuple(map(int, pl.__version__.split(".")[:2]))


def limit(column: Column) -> int:
    """Returns a number that no value of a column exceeds, nor its negative."""
    if "limit" not in column.memo:
        low, high = bounds(column)
        column.memo["limit"] = max(-low, high, 0)
    return column.memo["limit"]


def scale_of(dtype: Any) -> int:
    """Returns the digits after the point; 0 for an integer."""
    return dtype.scale if dtype.is_decimal() else 0


def _limited(values: Any, valid: Any, dtype: Any, most: int) -> Column:
    """A column of decimals.

    Raises
    ------
    Refused
        If a value may have too many digits.
    """
    refuse_unless(most <= _LARGEST, f"decimals of more than {MOST_DIGITS} digits are left to Polars")
    return Column(values.astype(array_dtype(dtype)), valid, dtype, memo={"limit": most})


def _scaled_up(column: Column, digits: int, most: int = _LARGEST) -> tuple[Any, int]:
    """The values with more digits after the point, and their limit."""
    factor = 10**digits
    bound = limit(column) * factor
    refuse_unless(bound <= most, f"decimals of more than {MOST_DIGITS} digits are left to Polars")
    return column.values.astype("int64") * factor, bound


def _quotient(dividend: Any, divisor: Any) -> Any:
    """The quotient, rounded half to even; the divisor is positive."""
    below = dividend // divisor
    rest = dividend - below * divisor
    other = divisor - rest
    return below + ((rest > other) | ((rest == other) & (below % 2 != 0))).astype("int64")


def aligned(left: Column, right: Column) -> tuple[Any, Any, int]:
    """Returns the values of two columns with the same digits after the point, and the limit of both."""
    scales = scale_of(left.dtype), scale_of(right.dtype)
    one, first = _scaled_up(left, max(scales) - scales[0])
    other, second = _scaled_up(right, max(scales) - scales[1])
    return one, other, first + second


def _sum(sign: int) -> Callable[[Call, list[Column]], Column]:
    def compute(call: Call, columns: list[Column]) -> Column:
        left, right, most = aligned(*columns)
        return _limited(left + sign * right, both(*(one.valid for one in columns)), call.dtype, most)

    return compute


def _product(call: Call, columns: list[Column]) -> Column:
    left, right = columns
    most = limit(left) * limit(right)
    refuse_unless(most <= _WIDEST, f"products of more than {MOST_DIGITS} digits are left to Polars")
    divisor = 10 ** (scale_of(left.dtype) + scale_of(right.dtype) - call.dtype.scale)
    found = left.values.astype("int64") * right.values.astype("int64")
    found = found if divisor == 1 else _quotient(found, divisor)
    return _limited(found, both(left.valid, right.valid), call.dtype, -(-most // divisor))


def _nonzero(column: Column) -> Any:
    """The values of a divisor, 1 where it is null. Polars raises for zero."""
    divisor = column.values.astype("int64")
    divisor = divisor if column.valid is None else cp.where(column.valid, divisor, 1)
    refuse_unless(bool(cp.all(divisor != 0)), "Polars raises for a division of decimals by zero")
    return divisor


def _true_divide(call: Call, columns: list[Column]) -> Column:
    left, right = columns
    digits = call.dtype.scale - scale_of(left.dtype) + scale_of(right.dtype)
    dividend, most = _scaled_up(left, digits, _WIDEST)
    divisor = _nonzero(right)
    sign = cp.where(divisor < 0, -1, 1)
    return _limited(_quotient(dividend * sign, divisor * sign), both(left.valid, right.valid), call.dtype, most)


def _whole_divide(call: Call, columns: list[Column]) -> Column:
    left, right, most = aligned(*columns)
    divisor = _nonzero(columns[1].with_values(right, columns[1].valid))
    valid = both(*(one.valid for one in columns))
    if call.function == "op.Modulus":
        return _limited(left - left // divisor * divisor, valid, call.dtype, most)
    unit = 10**call.dtype.scale
    # The quotient is no larger than the dividend at its own scale.
    return _limited(left // divisor * unit, valid, call.dtype, (most + 1) * unit)


def _comparison(operator: str) -> Callable[[Call, list[Column]], Column]:
    def compute(call: Call, columns: list[Column]) -> Column:
        left, right, _ = aligned(*columns)
        return Column(COMPARISONS[operator](left, right), both(*(one.valid for one in columns)), call.dtype)

    return compute


def _with_nulls(equal: bool) -> Callable[[Call, list[Column]], Column]:
    def compute(call: Call, columns: list[Column]) -> Column:
        left, right, _ = aligned(*columns)
        values = equal_or_null(left == right, *columns)
        return Column(values if equal else ~values, None, call.dtype)

    return compute


def to_float(column: Column) -> Column:
    """Returns decimals in float64, each the nearest; other columns unchanged."""
    if not column.dtype.is_decimal():
        return column
    refuse_unless(limit(column) <= _EXACT, "decimals of more than 53 bits as floats are left to Polars")
    values = column.values.astype("float64") / 10.0**column.dtype.scale
    return column.with_values(values, column.valid, dtype=pl.Float64())


def _cast(call: Call, columns: list[Column]) -> Column:
    (column,) = columns
    source, target = column.dtype, call.dtype
    if target == pl.Boolean:
        return Column(column.values != 0, column.valid, target)
    if target == pl.Float64:
        return to_float(column)
    digits = scale_of(target) - scale_of(source)
    if not target.is_decimal():
        unit = 10**-digits
        whole = cp.where(column.values < 0, -(-column.values // unit), column.values // unit)  # toward zero
        return kept(call, column, whole, fits(whole, array_dtype(target)))
    if digits >= 0:
        values, most = _scaled_up(column, digits)
    else:
        values, most = _quotient(column.values, 10**-digits), limit(column) // 10**-digits + 1
    if most < 10**target.precision:
        return _limited(values, column.valid, target, most)
    inside = cp.abs(values) < 10 ** min(target.precision, MOST_DIGITS)
    return kept(call, column, values, inside)


def _refuse_cast(call: Call) -> str:
    (argument,) = call.arguments
    source, target = argument.dtype, call.dtype
    kinds = (kind_of_dtype(source), kind_of_dtype(target))
    if kinds == ("decimal", "int") and _POLARS < (2, 1):
        return f"cast from {source} to {target} is not supported in Polars {pl.__version__}"
    known = kinds in (("decimal", "decimal"), ("int", "decimal"), ("decimal", "int"), ("decimal", "bool"))
    if (known or (kinds[0] == "decimal" and target == pl.Float64)) and call.options[0] != "overflow":
        return ""
    return f"cast from {source} to {target} is not supported"


def _unary(function: Callable[[Any], Any]) -> Rule:
    def compute(call: Call, columns: list[Column]) -> Column:
        (column,) = columns
        return _limited(function(column.values), column.valid, call.dtype, limit(column))

    return Rule(compute, only("decimal"))


_numbers = only("decimal", "int", same=False)


def _refuse_arithmetic(call: Call) -> str:
    if not call.dtype.is_decimal():
        return f"{call.function.removeprefix('op.')} of decimals to {call.dtype} is not supported"
    return _numbers(call)


def _refuse_whole(call: Call) -> str:
    return "whole quotients of decimals are not supported in Polars 1" if _POLARS < (2, 0) else _refuse_arithmetic(call)


#: Name -> rule, for calls with decimals among the arguments or as the result.
DECIMALS = {
    "op.Plus": Rule(_sum(1), _refuse_arithmetic),
    "op.Minus": Rule(_sum(-1), _refuse_arithmetic),
    "op.Multiply": Rule(_product, _refuse_arithmetic),
    "op.TrueDivide": Rule(_true_divide, _refuse_arithmetic),
    "op.FloorDivide": Rule(_whole_divide, _refuse_whole),
    "op.Modulus": Rule(_whole_divide, _refuse_whole),
    "abs": _unary(cp.abs),
    "negate": _unary(lambda values: -values),
    "cast": Rule(_cast, _refuse_cast),
    **{f"op.{name}": Rule(_comparison(name), _numbers) for name in COMPARISONS},
    "op.EqValidity": Rule(_with_nulls(True), _numbers),
    "op.NotEqValidity": Rule(_with_nulls(False), _numbers),
}
