"""Reductions of a column to one value for each group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

import cuprous as cp
from cuprous.frames.columns.column import Column, both
from cuprous.frames.columns.dtypes import array_dtype
from cuprous.frames.columns.groups import Groups, Whole
from cuprous.frames.columns.keys import Codes, combined, ordered
from cuprous.frames.expressions.rule import kind_of
from cuprous.frames.plan.expressions import Aggregate
from cuprous.frames.reasons import refuse_unless

Rows = Groups | Whole


@dataclass(frozen=True)
class _Rule:
    """How a reduction is computed, of which kinds of dtypes, and with which options.

    Args:
        compute: the result of the column, which has valid and selected rows.
        kinds: kinds of dtypes of the argument; "" for all.
        options: what Polars' options may be; None for anything.
    """

    compute: Callable[[Aggregate, Column, Rows], Column]
    kinds: str = ""
    options: tuple[Any, ...] | None = (None, False)


def _taken(column: Column) -> Any:
    """The rows that count: valid and selected."""
    return both(column.valid, column.selected)


def _result(aggregate: Aggregate, values: Any, valid: Any) -> Column:
    return Column(values.astype(array_dtype(aggregate.dtype)), valid, aggregate.dtype)


def _known(mask: Any, values: Any, other: Any) -> Any:
    return values if mask is None else cp.where(mask, values, other)


def _number(column: Column, rows: Rows, mask: Any) -> Any:
    """The number of rows of each group in which a mask holds."""
    return rows.sizes if mask is None else rows.total(mask, "int64")


def _float_total(column: Column, rows: Rows) -> Any:
    return rows.total(_known(_taken(column), column.values.astype("float64"), 0.0), "float64")


def _sum(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    if column.values.dtype.kind == "f":
        return _result(aggregate, _float_total(column, rows), None)
    dtype = array_dtype(aggregate.dtype)
    return _result(aggregate, rows.total(_known(_taken(column), column.values.astype(dtype), 0), dtype), None)


def _mean(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    number = _number(column, rows, _taken(column))
    return _result(aggregate, _float_total(column, rows) / cp.maximum(number, 1), number > 0)


def _variance(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    degrees = aggregate.options[0]
    taken = _taken(column)
    number = _number(column, rows, taken)
    mean = _float_total(column, rows) / cp.maximum(number, 1)
    distance = _known(taken, column.values.astype("float64") - rows.to_rows(mean), 0.0)
    total = rows.total(distance * distance, "float64")
    found = total / cp.maximum(number - degrees, 1)
    if aggregate.function == "std":
        found = cp.sqrt(found)
    return _result(aggregate, found, number > degrees)


def _extreme(name: str) -> Callable[[Aggregate, Column, Rows], Column]:
    def compute(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
        values = column.values
        taken = _taken(column)
        if values.dtype == "bool":
            values = values.astype("uint8")
        if values.dtype.kind == "f":
            present = both(taken, ~cp.isnan(values))
            start = np.inf if name == "min" else -np.inf
        else:
            present = taken
            limits = np.iinfo(str(values.dtype))
            start = limits.max if name == "min" else limits.min
        reduce = rows.smallest if name == "min" else rows.largest
        found = reduce(_known(present, values, start), start)
        number = _number(column, rows, taken)
        if values.dtype.kind == "f":
            numbers = rows.total(present, "int64")
            found = cp.where(numbers > 0, found, np.nan)
        if column.dictionary is not None:
            found = cp.where(number > 0, found, 0)  # the code of a null is a code, too
        return replace(_result(aggregate, found, number > 0), dictionary=column.dictionary)

    return compute


def _count(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    counted = column.selected if aggregate.options[0] else _taken(column)
    return _result(aggregate, _number(column, rows, counted), None)


def _null_count(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    null = cp.zeros(len(column), "bool") if column.valid is None else ~column.valid
    return _result(aggregate, rows.total(both(null, column.selected), "int64"), None)


def _at_row(name: str) -> Callable[[Aggregate, Column, Rows], Column]:
    """The value of the first or last row of each group."""

    def compute(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
        height = len(column)
        numbers = cp.arange(height)
        if name == "first":
            found = rows.smallest(_known(column.selected, numbers, height), height)
            present = found < height
        else:
            found = rows.largest(_known(column.selected, numbers, -1), -1)
            present = found >= 0
        return column.take_or_null(cp.clip(found, 0, max(0, height - 1)), present)

    return compute


def _not_restored(_: Any) -> list[Column]:
    raise AssertionError("numbers of groups are no values")


def _n_unique(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    if column.selected is not None:
        numbers = rows.numbers[column.selected]
        column = replace(column.compress(column.selected), selected=None)
    else:
        numbers = rows.numbers
    if len(column) == 0:
        return _result(aggregate, cp.zeros(rows.count, "int64"), None)
    keys = Column(numbers, None, pl.Int64, memo={"equal": Codes(numbers, max(1, rows.count), _not_restored)})
    codes = combined([keys, column])
    assert codes.domain is not None
    per_group = codes.domain // max(1, rows.count)
    if codes.domain <= 4 * len(column) + 1_000:
        distinct = cp.flatnonzero(cp.bincount(codes.values, minlength=codes.domain))
    else:
        distinct = cp.unique(codes.values)
    return _result(aggregate, cp.bincount(distinct // per_group, minlength=rows.count), None)


def _sorted_by_group(column: Column, rows: Rows) -> tuple[Any, Any, Any]:
    """The valid values in order within each group, where each group begins, and how many it has."""
    taken = _taken(column)
    numbers = rows.numbers
    if taken is not None:
        numbers, column = numbers[taken], column.compress(taken)
    order = cp.argsort(ordered(column).values, kind="stable")
    if rows.count > 1:
        order = order[cp.argsort(numbers[order], kind="stable")]
    sizes = cp.bincount(numbers, minlength=rows.count) if len(column) else cp.zeros(rows.count, "int64")
    return column.values[order], cp.cumsum(sizes) - sizes, sizes


def _median(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    values, starts, sizes = _sorted_by_group(column, rows)
    if values.shape[0] == 0:
        return _result(aggregate, cp.zeros(rows.count), cp.zeros(rows.count, "bool"))
    last = values.shape[0] - 1
    below = values[cp.clip(starts + (sizes - 1) // 2, 0, last)].astype("float64")
    above = values[cp.clip(starts + sizes // 2, 0, last)].astype("float64")
    middle = cp.where(below == above, below, below + (above - below) * 0.5)
    return _result(aggregate, middle, sizes > 0)


def _any(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    return _result(aggregate, rows.total(_known(_taken(column), column.values, False), "int64") > 0, None)


def _all(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    return _result(aggregate, rows.total(_known(_taken(column), ~column.values, False), "int64") == 0, None)


#: Name -> rule.
AGGREGATES = {
    "sum": _Rule(_sum, "bool int float"),
    "mean": _Rule(_mean, "int float"),
    "min": _Rule(_extreme("min"), "bool int float temporal text"),
    "max": _Rule(_extreme("max"), "bool int float temporal text"),
    "count": _Rule(_count, options=(False, True)),
    "null_count": _Rule(_null_count, options=None),
    "first": _Rule(_at_row("first")),
    "last": _Rule(_at_row("last")),
    "n_unique": _Rule(_n_unique),
    "median": _Rule(_median, "int float"),
    "std": _Rule(_variance, "int float", options=(0, 1, 2)),
    "var": _Rule(_variance, "int float", options=(0, 1, 2)),
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


def reduce(aggregate: Aggregate, column: Column, rows: Rows) -> Column:
    """Returns one value of a column for each group."""
    result = AGGREGATES[aggregate.function].compute(aggregate, column, rows)
    return replace(result, level=rows.level, selected=None)
