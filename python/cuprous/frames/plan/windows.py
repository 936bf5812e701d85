"""Intervals of an index: Polars' durations as counts of the index's unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from cuprous.frames.reasons import refuse_unless

_NANOSECONDS = {"ns": 1, "us": 1_000, "ms": 1_000_000}
#: Sums of a few durations below this fit int64.
_LONGEST = 1 << 60
_DAY = 86_400_000_000_000
#: Dates are counted in microseconds: windows of hours have days and nights.
_DATES = "us"
#: Weeks begin on Monday, and day 4 of 1970 was the first.
_MONDAY = 4 * _DAY


@dataclass(frozen=True)
class Interval:
    """What rows a window has, in counts of the index's unit.

    Parameters
    ----------
    offset : int
        The distance of its begin from where it is counted from.
    period : int
        Its length.
    closed : str
        Which of its ends are in it: "left", "right", "both" or "none".
    origin : int, default 0
        From where multiples of the distance of windows are counted.
    """

    offset: int
    period: int
    closed: str
    origin: int = 0

    @property
    def takes_begin(self) -> bool:
        """Whether a row at its begin is in it."""
        return self.closed in ("left", "both")

    @property
    def takes_end(self) -> bool:
        """Whether a row at its end is in it."""
        return self.closed in ("right", "both")


def _unit(dtype: Any) -> int | None:
    """Nanoseconds of the unit of an index, None for integers."""
    if dtype in (pl.Int32, pl.Int64):
        return None
    known = dtype == pl.Date or (dtype.base_type() == pl.Datetime and dtype.time_zone in (None, "UTC"))
    refuse_unless(known, f"windows over an index of {dtype} are not supported")
    return _NANOSECONDS[_DATES if dtype == pl.Date else dtype.time_unit]


def count_of(duration: tuple[int, int, int, int, bool, bool], dtype: Any) -> int:
    """Returns a duration of Polars in the unit of an index.

    Raises
    ------
    Refused
        If it has months, whose lengths differ, or parts of the unit.
    """
    months, weeks, days, nanoseconds, counts, negative = duration
    unit = _unit(dtype)
    refuse_unless(months == 0, "windows of months are not supported")
    refuse_unless(
        counts == (unit is None) or not any(duration[:4]), f"windows over {dtype} need a duration of its kind"
    )
    total = nanoseconds if unit is None else nanoseconds + (7 * weeks + days) * _DAY
    refuse_unless(unit is None or total % unit == 0, f"windows over {dtype} of parts of its unit are not supported")
    found = total if unit is None else total // unit
    refuse_unless(found < _LONGEST, "windows near the ends of int64 are left to Polars")
    return -found if negative else found


def origin_of(every: tuple[int, int, int, int, bool, bool], dtype: Any) -> int:
    """Returns from where multiples of a duration are counted.

    Raises
    ------
    Refused
        If the duration has several units, for which Polars has rules of its own.
    """
    unit = _unit(dtype)
    weeks, rest = every[1], every[2:4]
    refuse_unless(not (weeks and any(rest)) and not all(rest), "windows every so many units of several kinds")
    return _MONDAY // unit if weeks and unit is not None else 0
