"""Comparisons: NaN equals NaN and is above all numbers; strings are compared by the order of their dictionary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.column import ONE, Column, both, validity, with_one_dictionary
from cuprous.frames.expressions.rule import Rule, constant, kind_of
from cuprous.frames.plan.expressions import Call, Literal
from cuprous.frames.reasons import refuse_unless


def _at_least(left: Any, right: Any) -> Any:
    return (left >= right) | cp.isnan(left) if left.dtype.kind == "f" else left >= right


def _equal(left: Any, right: Any) -> Any:
    return (left == right) | (cp.isnan(left) & cp.isnan(right)) if left.dtype.kind == "f" else left == right


#: Operator -> its value of two arrays.
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": _equal,
    "NotEq": lambda a, b: ~_equal(a, b),
    "GtEq": _at_least,
    "LtEq": lambda a, b: _at_least(b, a),
    "Gt": lambda a, b: ~_at_least(b, a),
    "Lt": lambda a, b: ~_at_least(a, b),
}


def comparable(left: Column, right: Column) -> tuple[Any, Any]:
    """Returns arrays in the order of the values of two columns."""
    if left.dictionary is None or right.dictionary is None or left.dictionary is right.dictionary:
        return left.values, right.values
    if left.dtype.base_type() == pl.Enum:
        return left.values, right.values
    if right.level == ONE and len(right) == 1 and right.valid is None:
        return left.values * 2, _between_codes(left.dictionary, right)
    if left.level == ONE and len(left) == 1 and left.valid is None:
        return _between_codes(right.dictionary, left), right.values * 2
    left, right = with_one_dictionary([left, right])
    return left.values, right.values


def _between_codes(dictionary: pl.Series, value: Column) -> Any:
    """Twice the code of a value in a dictionary; an odd number for a value between two codes."""
    assert value.dictionary is not None
    text = value.dictionary[int(value.values[0])]
    position = int(dictionary.search_sorted(text, "left")) if len(dictionary) else 0
    found = position < len(dictionary) and dictionary[position] == text
    return cp.full(1, 2 * position - (0 if found else 1), value.values.dtype)


def compare(operator: str, left: Column, right: Column) -> Any:
    """Returns the values of a comparison."""
    return COMPARISONS[operator](*comparable(left, right))


def _comparison(operator: str) -> Callable[[Call, list[Column]], Column]:
    def compute(call: Call, columns: list[Column]) -> Column:
        left, right = columns
        return Column(compare(operator, left, right), both(left.valid, right.valid), call.dtype)

    return compute


def _with_nulls(equal: bool) -> Callable[[Call, list[Column]], Column]:
    def compute(call: Call, columns: list[Column]) -> Column:
        left, right = columns
        values = equal_or_null(compare("Eq", left, right), left, right)
        return Column(values if equal else ~values, None, call.dtype)

    return compute


def equal_or_null(equal: Any, left: Column, right: Column) -> Any:
    """Returns where two columns are equal or both null, by where their values are equal."""
    if left.valid is None and right.valid is None:
        return equal
    one, other = validity(left), validity(right)
    return cp.where(one & other, equal, ~(one | other))


def _refuse(call: Call) -> str:
    left, right = call.arguments[:2]
    if left.dtype != right.dtype or kind_of(left) == "other" or left.dtype == pl.Categorical:
        return f"comparison of {left.dtype} with {right.dtype} is not supported"
    return ""


#: closed -> the comparisons with the lower and the upper bound.
_CLOSED = {"both": ("GtEq", "LtEq"), "left": ("GtEq", "Lt"), "right": ("Gt", "LtEq"), "none": ("Gt", "Lt")}


def _is_between(call: Call, columns: list[Column]) -> Column:
    column, low, high = columns
    above, below = _CLOSED[call.options[0]]
    first = Column(compare(above, column, low), both(column.valid, low.valid), call.dtype)
    second = Column(compare(below, column, high), both(column.valid, high.valid), call.dtype)
    return kleene_and(call, [first, second])


def _refuse_between(call: Call) -> str:
    column, low, high = call.arguments
    if column.dtype != low.dtype or column.dtype != high.dtype or column.dtype == pl.Categorical:
        return f"is_between of {column.dtype}, {low.dtype} and {high.dtype} is not supported"
    return ""


def _is_in(call: Call, columns: list[Column]) -> Column:
    column = columns[0]
    wanted = call.arguments[1]
    assert isinstance(wanted, Literal)
    values = wanted.value if isinstance(wanted.value, pl.Series) else pl.Series(wanted.value)
    if values.dtype == pl.List:
        refuse_unless(len(values) == 1, "is_in with a list for each row is not supported")
        refuse_unless(values.null_count() == 0, "is_in null is not supported")
        values = values[0]
    refuse_unless(len(values) <= 64, "is_in with more than 64 values is not supported")
    refuse_unless(values.null_count() == 0, "is_in with null among the values is not supported")
    values = values.cast(column.dtype)
    if column.dictionary is not None:
        assert column.dtype.base_type() != pl.Categorical
        member = column.dictionary.cast(pl.String).is_in(values.cast(pl.String).implode())
        table = cp.asarray(member.to_numpy()) if len(member) else cp.zeros(1, "bool")
        return Column(table[column.values], column.valid, call.dtype)
    found = cp.zeros(column.values.shape, "bool")
    for value in values.to_physical():
        found = found | (cp.isnan(column.values) if value != value else column.values == value)
    return Column(found, column.valid, call.dtype)


def _refuse_is_in(call: Call) -> str:
    column, wanted = call.arguments
    if not constant(wanted):
        return "is_in with values that are not constant is not supported"
    if call.options[0]:
        return "is_in(nulls_equal=True) is not supported"
    inner = getattr(wanted.dtype, "inner", wanted.dtype)
    if inner != column.dtype or column.dtype == pl.Categorical:
        return f"is_in of {column.dtype} with {wanted.dtype} is not supported"
    return ""


def kleene_and(call: Call, columns: list[Column]) -> Column:
    """Returns the logical and: false with anything is false, true with null is null."""
    left, right = columns
    if left.valid is None and right.valid is None:
        return Column(left.values & right.values, None, call.dtype)
    false = _known(left, ~left.values) | _known(right, ~right.values)
    return Column(~false, both(left.valid, right.valid, None) | false, call.dtype)


def kleene_or(call: Call, columns: list[Column]) -> Column:
    """Returns the logical or: true with anything is true, false with null is null."""
    left, right = columns
    if left.valid is None and right.valid is None:
        return Column(left.values | right.values, None, call.dtype)
    true = _known(left, left.values) | _known(right, right.values)
    return Column(true, both(left.valid, right.valid) | true, call.dtype)


def _known(column: Column, values: Any) -> Any:
    return values if column.valid is None else values & column.valid


def _only_bool(call: Call) -> str:
    if any(kind_of(argument) != "bool" for argument in call.arguments):
        return f"{call.function.split('.')[-1]} of numbers is not supported"
    return ""


def _not(call: Call, columns: list[Column]) -> Column:
    return Column(~columns[0].values, columns[0].valid, call.dtype)


def _xor(call: Call, columns: list[Column]) -> Column:
    left, right = columns
    return Column(left.values ^ right.values, both(left.valid, right.valid), call.dtype)


#: Name -> rule.
COMPARISON = {
    **{f"op.{name}": Rule(_comparison(name), _refuse) for name in COMPARISONS},
    "op.EqValidity": Rule(_with_nulls(True), _refuse),
    "op.NotEqValidity": Rule(_with_nulls(False), _refuse),
    "op.And": Rule(kleene_and, _only_bool),
    "op.LogicalAnd": Rule(kleene_and, _only_bool),
    "op.Or": Rule(kleene_or, _only_bool),
    "op.LogicalOr": Rule(kleene_or, _only_bool),
    "op.Xor": Rule(_xor, _only_bool),
    "boolean.not": Rule(_not, _only_bool),
    "boolean.isbetween": Rule(_is_between, _refuse_between),
    "boolean.isin": Rule(_is_in, _refuse_is_in),
}
