"""Reductions of a column to one value for each group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.column import Column, both
from cuprous.frames.columns.dtypes import MOST_DIGITS, array_dtype
from cuprous.frames.columns.groups import Groups, Whole
from cuprous.frames.columns.keys import Codes, combined
from cuprous.frames.columns.rows import group_ids
from cuprous.frames.expressions.decimals import limit, to_float
from cuprous.frames.expressions.quantiles import POSITIONS, quantiles
from cuprous.frames.expressions.rule import kind_of
from cuprous.frames.plan.expressions import Aggregate
from cuprous.frames.reasons import refuse_unless

Rows = Groups | Whole
#: Sums of decimals stay below it.
_MOST = 10**MOST_DIGITS


@dataclass(frozen=True)
class _Rule:
    """How a reduction is computed, of which kinds of dtypes, and with which options.

    Parameters
    ----------
    compute : callable
        The result of the column, which has valid and selected rows.
    kinds : str, default ""
        Kinds of dtypes of the argument; "" for all.
    options : tuple or None, optional
        What Polars' options may be; None for anything.
    reads : tuple of str, optional
        What is reduced of the column's own values, in one pass with what other aggregates read.
    refuse : callable, optional
        The reason why an aggregate is left to Polars, or "".
    """

    compute: Callable[[Aggregate, Column, Rows], Column]
    kinds: str = ""
    options: tuple[Any, ...] | None = (None, False)
    reads: tuple[str, ...] = ()
    refuse: Callable[[Aggregate], str] = lambda _: ""


def _taken(column: Column) -> Any:
    """The rows that count: valid and selected."""
    return both(column.valid, column.selected)


def _result(aggregate: Aggregate, values: Any, valid: Any) -> Column:
    return Column(values.astype(array_dtype(aggregate.dtype)), valid, aggregate.dtype)


def _number(column: Column, rows: Rows, mask: Any) -> Any:
    """The number of rows of each group in which a mask holds."""
    return rows.reduce("count", column.values, mask)


def _float_total(column: Column, rows: Rows) -> Any:
    """The sum of each group in float64; sums of integers of up to 32 bits are exact."""
    values = column.values
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        values = values.astype("float64")
    return rows.reduce("sum", values, _taken(column)).astype("float64")


def _refuse_wide(column: Column, rows: Rows) -> None:
    """Raises `Refused` if a sum of decimals may have more digits than int64 has."""
    if limit(column) * len(column) >= _MOST:
        largest = rows.reduce("sum", cp.abs(column.values).astype("float64"), _taken(column))
        refuse_unless(not bool(cp.any(largest >= _MOST)), "a sum of decimals of more than 18 digits is left to Polars")


def _sum(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    if column.dtype.is_decimal():
        _refuse_wide(column, rows)
    return _result(aggregate, rows.reduce("sum", column.values, _taken(column)), None)


def _mean(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    number = _number(column, rows, _taken(column))
    if column.dtype.is_decimal():
        _refuse_wide(column, rows)
        total = rows.reduce("sum", column.values, _taken(column)).astype("float64") / 10.0**column.dtype.scale
    else:
        total = _float_total(column, rows)
    return _result(aggregate, total / cp.maximum(number, 1), number > 0)


def _variance(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    degrees = aggregate.options[0]
    column = to_float(column)
    taken = _taken(column)
    number = _number(column, rows, taken)
    # From the least value, distances of equal values are exactly 0, however their mean would be rounded.
    values, least = column.values.astype("float64"), rows.reduce("min", column.values, taken).astype("float64")
    above = values - rows.to_rows(least)
    mean = rows.reduce("sum", above, taken) / cp.maximum(number, 1)
    distance = above - rows.to_rows(mean)
    total = rows.reduce("sum", distance * distance, taken)
    found = total / cp.maximum(number - degrees, 1)
    if aggregate.function == "std":
        found = cp.sqrt(found)
    return _result(aggregate, found, number > degrees)


def _extreme(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    taken = _taken(column)
    found = rows.reduce(aggregate.function, column.values, taken)
    number = _number(column, rows, taken)
    if column.dictionary is not None:
        found = cp.where(number > 0, found, 0)  # the code of a null is a code, too
    return replace(_result(aggregate, found, number > 0), dictionary=column.dictionary)


def _count(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    counted = column.selected if aggregate.options[0] else _taken(column)
    return _result(aggregate, _number(column, rows, counted), None)


def _null_count(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    null = cp.zeros(len(column), "bool") if column.valid is None else ~column.valid
    return _result(aggregate, _number(column, rows, both(null, column.selected)), None)


def _at_row(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    """The value of the first or last row of each group."""
    found = rows.reduce(aggregate.function, column.values, column.selected)
    return column.take_or_null(cp.maximum(found, 0), found >= 0)


def _n_unique(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    numbers = rows.numbers
    if column.selected is not None:
        numbers = numbers[column.selected]
        column = replace(column.compress(column.selected), selected=None)
    if len(column) == 0:
        return _result(aggregate, cp.zeros(rows.count, "int64"), None)
    keys = Column(numbers, None, pl.Int64, memo={"equal": Codes(numbers, max(1, rows.count))})
    codes = combined([keys, column])
    distinct = group_ids(codes.values, codes.domain).first
    return _result(aggregate, cp.bincount(numbers[distinct], minlength=rows.count), None)


def _quantile(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    interpolation, quantile = aggregate.options if aggregate.function == "quantile" else ("linear", 0.5)
    column = to_float(column)
    taken, numbers = _taken(column), rows.numbers
    if taken is not None:
        numbers, column = numbers[taken], column.compress(taken)
    sizes = cp.bincount(numbers, minlength=rows.count) if len(column) else cp.zeros(rows.count, "int64")
    return _result(aggregate, quantiles(column, numbers, sizes, interpolation, quantile), sizes > 0)


def _refuse_quantile(aggregate: Aggregate) -> str:
    interpolation, quantile = aggregate.options
    known = interpolation in POSITIONS and isinstance(quantile, float) and 0 <= quantile <= 1
    return "" if known else f"quantile({quantile}, {interpolation!r}) is not supported"


def _any(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    return _result(aggregate, rows.reduce("sum", column.values, _taken(column)) > 0, None)


def _all(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    number = _number(column, rows, _taken(column))
    return _result(aggregate, rows.reduce("sum", column.values, _taken(column)) == number, None)


#: Name -> rule.
AGGREGATES = {
    "sum": _Rule(_sum, "bool int float decimal", reads=("sum",)),
    "mean": _Rule(_mean, "int float decimal", reads=("sum", "count")),
    "min": _Rule(_extreme, "bool int float decimal temporal text", reads=("min", "count")),
    "max": _Rule(_extreme, "bool int float decimal temporal text", reads=("max", "count")),
    "count": _Rule(_count, options=(False, True), reads=("count",)),
    "null_count": _Rule(_null_count, options=None),
    "first": _Rule(_at_row),
    "last": _Rule(_at_row),
    "n_unique": _Rule(_n_unique),
    "median": _Rule(_quantile, "int float decimal"),
    "quantile": _Rule(_quantile, "int float decimal", options=None, refuse=_refuse_quantile),
    "std": _Rule(_variance, "int float decimal", options=(0, 1, 2), reads=("count", "min")),
    "var": _Rule(_variance, "int float decimal", options=(0, 1, 2), reads=("count", "min")),
    "any": _Rule(_any, "bool", options=(True,)),
    "all": _Rule(_all, "bool", options=(True,)),
}


def refuse_aggregate(aggregate: Aggregate) -> None:
    """Raises `Refused` if an aggregate is not supported."""
    rule = AGGREGATES.get(aggregate.function)
    refuse_unless(rule is not None, f"the aggregate {aggregate.function} is not supported")
    assert rule is not None
    argument = aggregate.argument
    name, dtype = aggregate.function, argument.dtype
    refuse_unless(not rule.kinds or kind_of(argument) in rule.kinds.split(), f"{name} of {dtype} is not supported")
    refuse_unless(name not in ("min", "max") or dtype != pl.Categorical, f"{name} of {dtype} is not supported")
    options = rule.options
    refuse_unless(
        options is None or all(one in options for one in aggregate.options),
        f"{name} with the options {aggregate.options} is not supported",
    )
    reason = rule.refuse(aggregate)
    refuse_unless(not reason, reason)


def expect(aggregate: Aggregate, column: Column, rows: Rows) -> None:
    """Says that a column will be reduced, so that its aggregates are computed together."""
    rows.expect(AGGREGATES[aggregate.function].reads, column.values, _taken(column))


def reduce(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    """Returns one value of a column for each group."""
    result = AGGREGATES[aggregate.function].compute(aggregate, column, rows)
    return replace(result, level=rows.level, selected=None)
