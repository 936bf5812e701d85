"""Nulls, NaN and choices between values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.column import Column, both, validity, with_one_dictionary
from cuprous.frames.expressions.rule import Rule, only
from cuprous.frames.plan.expressions import Call


def _is_valid(call: Call, columns: list[Column]) -> Column:
    return Column(validity(columns[0]), None, call.dtype)


def _is_null(call: Call, columns: list[Column]) -> Column:
    return Column(~validity(columns[0]), None, call.dtype)


def _of_values(function: Callable[[Any], Any]) -> Callable[[Call, list[Column]], Column]:
    def compute(call: Call, columns: list[Column]) -> Column:
        return Column(function(columns[0].values), columns[0].valid, call.dtype)

    return compute


def choose(condition: Any, one: Column, other: Column) -> Column:
    """Returns the values of one column where a condition holds, and of the other elsewhere."""
    one, other = with_one_dictionary([one, other])
    values = cp.where(condition, one.values, other.values)
    if one.valid is None and other.valid is None:
        return one.with_values(values, None)
    valid = cp.where(condition, validity(one), validity(other))
    return one.with_values(values, valid)


def _ternary(call: Call, columns: list[Column]) -> Column:
    condition, one, other = columns
    return choose(both(condition.values, condition.valid), one, other)


def _first_valid(call: Call, columns: list[Column]) -> Column:
    result = columns[0]
    for other in columns[1:]:
        result = choose(validity(result), result, other)
    return result


def _refuse_ternary(call: Call) -> str:
    if call.arguments[0].dtype != pl.Boolean:
        return f"a condition of {call.arguments[0].dtype} is not supported"
    _, one, other = call.arguments
    if one.dtype != other.dtype:
        return f"when/then of {one.dtype} and {other.dtype} is not supported"
    return ""


def _same(call: Call) -> str:
    return only("bool", "int", "float", "decimal", "temporal", "text")(call)


#: Name -> rule.
NULLS = {
    "boolean.isnull": Rule(_is_null),
    "boolean.isnotnull": Rule(_is_valid),
    "boolean.isnan": Rule(_of_values(cp.isnan), only("float")),
    "boolean.isnotnan": Rule(_of_values(lambda values: ~cp.isnan(values)), only("float")),
    "boolean.isfinite": Rule(_of_values(cp.isfinite), only("float")),
    "boolean.isinfinite": Rule(_of_values(cp.isinf), only("float")),
    "ternary": Rule(_ternary, _refuse_ternary),
    "fill_null": Rule(_first_valid, _same),
    "coalesce": Rule(_first_valid, _same),
}
