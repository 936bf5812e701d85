"""Functions of whole columns, in which a value depends on other rows."""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous.frames.columns.column import Column, null_column, validity
from cuprous.frames.columns.dtypes import array_dtype
from cuprous.frames.expressions.rule import Rule, kind_of
from cuprous.frames.plan.expressions import Call, Expression, Literal, walk


def _shift(call: Call, columns: list[Column]) -> Column:
    column = columns[0]
    distance = call.arguments[1]
    assert isinstance(distance, Literal)
    height, by = len(column), distance.value
    by = max(-height, min(height, by))
    kept = column.slice(max(0, -by), height - max(0, by))
    gap = null_column(column.dtype, column.dictionary, abs(by), column.values.dtype)
    parts = [gap, kept] if by > 0 else [kept, gap]
    valid = [validity(one) for one in parts]
    return column.with_values(cp.concatenate([one.values for one in parts]), cp.concatenate(valid))


def _refuse_shift(call: Call) -> str:
    distance = call.arguments[1]
    constant = isinstance(distance, Literal) and isinstance(distance.value, int)
    return "" if constant else "shift by what is not constant is not supported"


def _cum_sum(call: Call, columns: list[Column]) -> Column:
    (column,) = columns
    dtype = array_dtype(call.dtype)
    values = column.values.astype(dtype)
    if column.valid is not None:
        values = cp.where(column.valid, values, 0)
    if call.options[0]:
        found: Any = cp.cumsum(values[::-1], dtype=dtype)[::-1]
    else:
        found = cp.cumsum(values, dtype=dtype)
    return Column(found, column.valid, call.dtype)


def _refuse_cum_sum(call: Call) -> str:
    kind = kind_of(call.arguments[0])
    return "" if kind == "int" else f"cum_sum of {call.arguments[0].dtype} is not supported"


def has_sequence(expression: Expression) -> bool:
    """Returns true if a value of an expression depends on other rows, apart from aggregates."""
    return any(isinstance(one, Call) and one.function in SEQUENCES for one in walk(expression))


#: Name -> rule.
SEQUENCES = {
    "shift": Rule(_shift, _refuse_shift),
    "cum_sum": Rule(_cum_sum, _refuse_cum_sum),
}
