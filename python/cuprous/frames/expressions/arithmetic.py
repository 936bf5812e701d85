"""Arithmetic. Division by one value is a product with its reciprocal, as Polars computes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.column import ONE, Column, both
from cuprous.frames.columns.dtypes import array_dtype
from cuprous.frames.expressions.rule import Rule, kind_of, only
from cuprous.frames.plan.expressions import Call


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
    found = dividend * (cp.ones(1, dtype) / divisor) if _by_one_value(left, right) else dividend / divisor
    return _result(call, found, both(left.valid, right.valid))


def _floor_quotient(left: Column, right: Column) -> Any:
    if _by_one_value(left, right):
        return cp.floor(left.values * (cp.ones(1, right.values.dtype) / right.values))
    return cp.floor(left.values / right.values)


def _floor_divide(call: Call, columns: list[Column]) -> Column:
    left, right = columns
    if call.dtype.is_float():
        return _result(call, _floor_quotient(left, right), both(left.valid, right.valid))
    nonzero = right.values != 0
    divisor = cp.where(nonzero, right.values, cp.ones(1, right.values.dtype))
    return _result(call, left.values // divisor, both(left.valid, right.valid, nonzero))


def _modulus(call: Call, columns: list[Column]) -> Column:
    left, right = columns
    if call.dtype.is_float():
        found = left.values - right.values * _floor_quotient(left, right)
        return _result(call, found, both(left.valid, right.valid))
    nonzero = right.values != 0
    divisor = cp.where(nonzero, right.values, cp.ones(1, right.values.dtype))
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
    scale = cp.full(1, 10.0**decimals, column.values.dtype)
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
        duration = pl.Duration in (left.dtype.base_type(), right.dtype.base_type(), call.dtype.base_type())
        if len(units) == 1 and duration and "day" not in units:
            return ""
        return f"arithmetic of {left.dtype} and {right.dtype} is not supported"
    return only("int", "float")(call)



def _clip(call: Call, columns: list[Column]) -> Column:
    column, *limits = columns
    low, high = call.options
    values = column.values
    valid = column.valid
    for present, function in ((low, cp.maximum), (high, cp.minimum)):
        if present:
            limit = limits.pop(0)
            limited = function(values, limit.values)
            values = limited if limit.valid is None else cp.where(limit.valid, limited, values)
    return _result(call, values, valid)


#: Name -> rule.
ARITHMETIC = {
    "op.Plus": Rule(_operator(lambda a, b: a + b), _refuse_plus),
    "op.Minus": Rule(_operator(lambda a, b: a - b), _refuse_plus),
    "op.Multiply": Rule(_operator(lambda a, b: a * b), only("int", "float")),
    "op.TrueDivide": Rule(_true_divide, only("int", "float")),
    "op.FloorDivide": Rule(_floor_divide, only("int", "float")),
    "op.Modulus": Rule(_modulus, only("int", "float")),
    "negate": Rule(_unary(lambda a: -a), only("int", "float")),
    "abs": Rule(_unary(cp.abs), only("int", "float")),
    "floor": Rule(_unary(cp.floor), only("float")),
    "ceil": Rule(_unary(cp.ceil), only("float")),
    "sqrt": Rule(_unary(cp.sqrt), only("float")),
    "sign": Rule(_sign, only("int")),
    "round": Rule(_round, _refuse_round),
    "clip": Rule(_clip, only("int")),
}
