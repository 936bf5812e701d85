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
        return Column(column.values.astype("int64") * _PER_DAY[target.time_unit], column.valid, target)
    if target == pl.Boolean:
        return Column(column.values != 0, column.valid, target)
    fits = _fits(column.values, dtype)
    if fits is None or call.options[0] == "overflow":
        return Column(column.values.astype(dtype), column.valid, target)
    if call.options[0] == "strict":
        inside = fits if column.valid is None else fits | ~column.valid
        refuse_unless(bool(cp.all(inside)), "a strict cast meets a value that does not fit")
        return Column(cp.where(fits, column.values, 0).astype(dtype), column.valid, target)
    safe = cp.where(fits, column.values, 0)
    return Column(safe.astype(dtype), both(column.valid, fits), target)


def _fits(values: Any, dtype: str) -> Any:
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
