"""Arithmetic. Division by one value is a product with its reciprocal, as Polars computes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.column import ONE, Column, both, validity
from cuprous.frames.columns.dtypes import array_dtype
from cuprous.frames.expressions.rule import Rule, kind_of, only
from cuprous.frames.plan.expressions import Call, Literal


def _result(call: Call, values: Any, valid: Any) -> Column:
    return Column(values.astype(array_dtype(call.dtype)), valid, call.dtype)


def _operator(function: Callable[[Any, Any], Any]) -> Callable[[Call, list[Column]], Column]:
    def compute(call: Call, columns: list[Column]) -> Column:
        left, right = columns
        return _result(call, function(left.values, right.values), both(left.valid, right.valid))

    return compute


def _by_one_value(left: Column, right: Column) -> bool:
    """Returns true if Polars divides a column by one value."""
    return right.level == ONE and left.level != ONE and len(left) != 1


def _true_divide(call: Call, columns: list[Column]) -> Column:
    left, right = columns
    dtype = array_dtype(call.dtype)
    dividend, divisor = left.values.astype(dtype), right.values.astype(dtype)
    found = dividend * (1.0 / divisor) if _by_one_value(left, right) else dividend / divisor
    return _result(call, found, both(left.valid, right.valid))


def _floor_quotient(left: Column, right: Column) -> Any:
    if _by_one_value(left, right):
        return cp.floor(left.values * (1.0 / right.values))
    return cp.floor(left.values / right.values)


def _floor_divide(call: Call, columns: list[Column]) -> Column:
    left, right = columns
    if call.dtype.is_float():
        return _result(call, _floor_quotient(left, right), both(left.valid, right.valid))
    nonzero = right.values != 0
    divisor = cp.where(nonzero, right.values, 1)
    return _result(call, left.values // divisor, both(left.valid, right.valid, nonzero))


def _modulus(call: Call, columns: list[Column]) -> Column:
    left, right = columns
    if call.dtype.is_float():
        found = left.values - right.values * _floor_quotient(left, right)
        return _result(call, found, both(left.valid, right.valid))
    nonzero = right.values != 0
    divisor = cp.where(nonzero, right.values, 1)
    return _result(call, left.values % divisor, both(left.valid, right.valid, nonzero))


def _unary(function: Callable[[Any], Any]) -> Callable[[Call, list[Column]], Column]:
    def compute(call: Call, columns: list[Column]) -> Column:
        return _result(call, function(columns[0].values), columns[0].valid)

    return compute


def _round(call: Call, columns: list[Column]) -> Column:
    (column,) = columns
    decimals = call.options[0]
    if column.values.dtype.kind != "f":
        return column
    if decimals == 0:
        return _result(call, cp.rint(column.values), column.valid)
    scale = 10.0**decimals
    return _result(call, cp.rint(column.values * scale) / scale, column.valid)


def _refuse_round(call: Call) -> str:
    if call.options[1:] != ("half_to_even",):
        return f"rounding {call.options[1:]} is not supported"
    if not 0 <= call.options[0] <= 6 or call.dtype != pl.Float64:
        return f"round of {call.dtype} to {call.options[0]} decimals is not supported"
    return ""


def _sign(call: Call, columns: list[Column]) -> Column:
    return _result(call, cp.sign(columns[0].values), columns[0].valid)


def _refuse_plus(call: Call) -> str:
    """Numbers of one dtype, and differences that Polars computes on the counts of one unit."""
    left, right = call.arguments
    kinds = (kind_of(left), kind_of(right))
    if kinds == ("temporal", "temporal"):
        units = {getattr(one.dtype, "time_unit", "day") for one in (left, right, call)}
        zones = {one.dtype.time_zone for one in (left, right) if one.dtype.base_type() == pl.Datetime}
        if len(zones) > 1:  # Polars raises
            return f"arithmetic of {left.dtype} and {right.dtype} is not supported"
        duration = pl.Duration in (left.dtype.base_type(), right.dtype.base_type(), call.dtype.base_type())
        if len(units) == 1 and duration and "day" not in units:
            return ""
        return f"arithmetic of {left.dtype} and {right.dtype} is not supported"
    return only("int", "float")(call)


def _refuse_negate(call: Call) -> str:
    if call.arguments[0].dtype.is_unsigned_integer():
        return f"the negative of {call.arguments[0].dtype} is not supported"
    return only("int", "float")(call)


def _clip(call: Call, columns: list[Column]) -> Column:
    """Values below the lower limit are that, other values above the upper limit are that; null is no limit."""
    column, *limits = columns
    low, high = call.options
    found = column.values
    if high:
        found = _limited(found, column.values > limits[-1].values, limits[-1])
    if low:
        found = _limited(found, column.values < limits[0].values, limits[0])
    return _result(call, found, column.valid)


def _limited(values: Any, beyond: Any, limit: Column) -> Any:
    return cp.where(both(beyond, limit.valid), limit.values, values)


#: Polars' names of a product and a sum, which it computes with two roundings.
_FUSED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "fma": lambda a, b, c: a * b + c,
    "fsm": lambda a, b, c: a - b * c,
    "fms": lambda a, b, c: a * b - c,
}


def _fused(call: Call, columns: list[Column]) -> Column:
    values = _FUSED[call.options[0]](*(column.values for column in columns))
    return _result(call, values, both(*(column.valid for column in columns)))


def _refuse_fused(call: Call) -> str:
    if call.options[0] not in _FUSED:
        return f"the function {call.options[0]} is not supported"
    return only("int", "float")(call)


def _horizontal(better: Callable[[Any, Any], Any]) -> Callable[[Call, list[Column]], Column]:
    """The smallest or largest value of each row, of those that are not null nor NaN."""

    def compute(call: Call, columns: list[Column]) -> Column:
        found = columns[0]
        for other in columns[1:]:
            values = better(found.values, other.values)
            if found.valid is None and other.valid is None:
                found = found.with_values(values, None)
                continue
            one, two = validity(found), validity(other)
            chosen = cp.where(one & two, values, cp.where(one, found.values, other.values))
            found = found.with_values(chosen, one | two)
        return _result(call, found.values, found.valid)

    return compute


def _square(call: Call, columns: list[Column]) -> Column:
    return _result(call, columns[0].values * columns[0].values, columns[0].valid)


def _refuse_power(call: Call) -> str:
    base, exponent = call.arguments
    squared = isinstance(exponent, Literal) and exponent.value == 2 and kind_of(base) == "float"
    return "" if squared and call.dtype == base.dtype else "powers are not supported but squares of floats"


def _sum_horizontal(call: Call, columns: list[Column]) -> Column:
    total = None
    for column in columns:
        values = column.values if column.valid is None else cp.where(column.valid, column.values, 0)
        total = values if total is None else total + values
    return _result(call, total, None)


def _refuse_sum_horizontal(call: Call) -> str:
    if call.options != (True,):
        return "sum_horizontal(ignore_nulls=False) is not supported"
    if call.dtype != call.arguments[0].dtype:
        return f"sum_horizontal of {call.arguments[0].dtype} is not supported"
    return only("int")(call)


#: Name -> rule.
ARITHMETIC = {
    "op.Plus": Rule(_operator(lambda a, b: a + b), _refuse_plus),
    "op.Minus": Rule(_operator(lambda a, b: a - b), _refuse_plus),
    "op.Multiply": Rule(_operator(lambda a, b: a * b), only("int", "float")),
    "op.TrueDivide": Rule(_true_divide, only("int", "float")),
    "op.FloorDivide": Rule(_floor_divide, only("int", "float")),
    "op.Modulus": Rule(_modulus, only("int", "float")),
    "negate": Rule(_unary(lambda a: -a), _refuse_negate),
    "abs": Rule(_unary(cp.abs), only("int", "float")),
    "floor": Rule(_unary(cp.floor), only("float")),
    "ceil": Rule(_unary(cp.ceil), only("float")),
    "pow": Rule(_square, _refuse_power),
    "sqrt": Rule(_unary(cp.sqrt), only("float")),
    "sign": Rule(_sign, only("int", "float")),
    "round": Rule(_round, _refuse_round),
    "fused": Rule(_fused, _refuse_fused),
    "min_horizontal": Rule(_horizontal(cp.fmin), only("int", "decimal")),
    "max_horizontal": Rule(_horizontal(cp.fmax), only("int", "decimal")),
    "sum_horizontal": Rule(_sum_horizontal, _refuse_sum_horizontal),
    "clip": Rule(_clip, only("int")),
}
