"""Parts of dates and times, by integer arithmetic on days."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from cuprous.frames.columns.column import Column
from cuprous.frames.columns.dtypes import array_dtype
from cuprous.frames.expressions.rule import Rule
from cuprous.frames.plan.expressions import Call

_PER_SECOND = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def _days_and_rest(column: Column) -> tuple[Any, Any, int]:
    """The days since 1970, the rest of the day, and the units in a second."""
    values = column.values.astype("int64")
    if column.dtype == pl.Date:
        return values, values * 0, 1
    per_second = _PER_SECOND[column.dtype.time_unit]
    per_day = 86_400 * per_second
    days = values // per_day
    return days, values - days * per_day, per_second


def _civil(days: Any) -> tuple[Any, Any, Any]:
    """Year, month and day of days since 1970, by eras of 400 years that begin in March."""
    shifted = days + 719_468
    era = shifted // 146_097
    day_of_era = shifted - era * 146_097
    year_of_era = (day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + 3 - 12 * (month_from_march >= 10).astype("int64")
    year = year_of_era + era * 400 + (month <= 2).astype("int64")
    return year, month, day


def _days(function: Callable[[Any], Any]) -> Callable[[Column], Any]:
    return lambda column: function(_days_and_rest(column)[0])


def _clock(per_second: Callable[[Any, int], Any]) -> Callable[[Column], Any]:
    def part(column: Column) -> Any:
        _, rest, unit = _days_and_rest(column)
        return per_second(rest, unit)

    return part


#: Name -> the part of a column of dates or times.
_PARTS: dict[str, Callable[[Column], Any]] = {
    "year": _days(lambda days: _civil(days)[0]),
    "month": _days(lambda days: _civil(days)[1]),
    "day": _days(lambda days: _civil(days)[2]),
    "quarter": _days(lambda days: (_civil(days)[1] + 2) // 3),
    "weekday": _days(lambda days: (days + 3) % 7 + 1),
    "hour": _clock(lambda rest, unit: rest // (3_600 * unit)),
    "minute": _clock(lambda rest, unit: rest // (60 * unit) % 60),
    "second": _clock(lambda rest, unit: rest // unit % 60),
}
_OF_CLOCK = ("hour", "minute", "second")


def _rule(name: str) -> Rule:
    def compute(call: Call, columns: list[Column]) -> Column:
        values = _PARTS[name](columns[0]).astype(array_dtype(call.dtype))
        return Column(values, columns[0].valid, call.dtype)

    def refuse(call: Call) -> str:
        dtype = call.arguments[0].dtype
        date = dtype == pl.Date and name not in _OF_CLOCK
        if date or (dtype.base_type() == pl.Datetime and dtype.time_zone is None):
            return ""
        return f"{name} of {dtype} is not supported"

    return Rule(compute, refuse)


#: Name -> rule.
CALENDAR = {f"temporal.{name}": _rule(name) for name in _PARTS}
