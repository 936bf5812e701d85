"""Casts between numbers, booleans and counts of time. A value that does not fit is null, or an error of Polars."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import cuprous as cp
from cuprous.frames.columns.column import Column, both
from cuprous.frames.columns.dtypes import array_dtype
from cuprous.frames.expressions.rule import Rule, kind_of, kind_of_dtype
from cuprous.frames.plan.expressions import Call
from cuprous.frames.reasons import refuse_unless

#: Units of time in a day.
_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def _cast(call: Call, columns: list[Column]) -> Column:
    (column,) = columns
    source, target = column.dtype, call.dtype
    if source == target:
        return column
    dtype = array_dtype(target)
    if source == pl.Date and target.base_type() == pl.Datetime:
        per_day = _PER_DAY[target.time_unit]
        most = (2**63 - 1) // per_day
        inside = (column.values >= -most) & (column.values <= most) if target.time_unit == "ns" else None
        return kept(call, column, column.values.astype("int64") * per_day, inside)
    if target == pl.Boolean:
        return Column(column.values != 0, column.valid, target)
    inside = None if call.options[0] == "overflow" else fits(column.values, dtype)
    return kept(call, column, column.values, inside)


def kept(call: Call, column: Column, values: Any, inside: Any) -> Column:
    """Returns the result of a cast.

    Parameters
    ----------
    call : Call
        The cast.
    column : Column
        What is cast.
    values : array_like
        Its values, before the last change of their dtype.
    inside : ndarray
        Which of them the dtype holds; None for all. Others are null.

    Raises
    ------
    Refused
        If the cast is strict and one is outside.
    """
    dtype = array_dtype(call.dtype)
    if inside is None:
        return Column(values.astype(dtype), column.valid, call.dtype)
    found = cp.where(inside, values, 0).astype(dtype)
    if call.options[0] == "strict":
        known = inside if column.valid is None else inside | ~column.valid
        refuse_unless(bool(cp.all(known)), "a strict cast meets a value that does not fit")
        return Column(found, column.valid, call.dtype)
    return Column(found, both(column.valid, inside), call.dtype)


def fits(values: Any, dtype: str) -> Any:
    """Returns which values an integer dtype can hold; None for all."""
    source = np.dtype(str(values.dtype))
    if np.dtype(dtype).kind == "f" or source.kind == "b":
        return None
    bounds = np.iinfo(dtype)
    if source.kind == "f":
        # The largest integers are no floats: the bounds are the powers of two beyond them.
        low = float(bounds.min)
        above = values > low - 1 if bounds.bits < 64 and source.itemsize == 8 else values >= low
        return above & (values < float(2 ** (bounds.bits - (bounds.min < 0))))
    own = np.iinfo(source)
    checks = []
    if own.min < bounds.min:
        checks.append(values >= int(bounds.min))
    if own.max > bounds.max:
        checks.append(values <= int(bounds.max))
    return both(*checks)


#: Kinds between which values are converted.
_NUMBERS = ("bool", "int", "float")


def _refuse(call: Call) -> str:
    (argument,) = call.arguments
    source, target = argument.dtype, call.dtype
    kinds = (kind_of(argument), kind_of_dtype(target))
    if source == target or (source == pl.Date and target.base_type() == pl.Datetime and target.time_zone is None):
        return ""
    if kinds[0] == "float" and kinds[1] == "int" and array_dtype(target) not in ("int32", "int64"):
        return f"cast from {source} to {target} is not supported"
    wraps = call.options[0] == "overflow"
    if kinds[0] in _NUMBERS and kinds[1] in _NUMBERS and (not wraps or "float" not in kinds):
        return ""
    return f"cast from {source} to {target} is not supported"


#: Name -> rule.
CASTS = {"cast": Rule(_cast, _refuse)}
