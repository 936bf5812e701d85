"""Windows over an index: each is the rows of a group whose index lies in an interval; a row may be in several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.column import Column
from cuprous.frames.plan.windows import Interval
from cuprous.frames.reasons import refuse_unless

#: Indices and intervals below this have sums that int64 holds.
LARGEST = 1 << 60
#: The most rows of all windows together, beside the number of rows: each is a row to gather and to reduce.
_MOST, _MOST_FOR_EACH = 1 << 20, 16


@dataclass(frozen=True)
class Placed:
    """Rows whose groups are adjacent, in the order of their index within each group.

    Parameters
    ----------
    order : array_like
        The row at each position; None if rows are at their numbers.
    groups : int
        The number of the group at each position.
    begins : array_like
        The first position of each group.
    index : int
        The index at each position.
    """

    order: Any
    groups: Any
    begins: Any
    index: Any

    def rows(self, positions: Any) -> Any:
        """The rows at some positions."""
        return positions if self.order is None else self.order[positions]


@dataclass(frozen=True)
class Members:
    """The rows of windows, one after another.

    Parameters
    ----------
    rows : ndarray
        The row of each member.
    windows : int
        The number of the window of each member.
    count : int
        The number of windows.
    """

    rows: Any
    windows: Any
    count: int


def checked(values: Any, groups: Any) -> Any:
    """Returns an index that is in order within each group.

    Parameters
    ----------
    values : int
        The index at each position.
    groups : int
        The number of the group at each position, which do not fall; None for one group.

    Raises
    ------
    Refused
        If it is not in order, or near the ends of int64.
    """
    in_order = values[1:] >= values[:-1]
    in_order = in_order if groups is None else in_order | (groups[1:] != groups[:-1])
    refuse_unless(bool(cp.all(in_order)), "windows over an index that is not in order are left to Polars")
    inside = bool(cp.all((values < LARGEST) & (values > -LARGEST)))
    refuse_unless(inside, "windows over an index near the ends of int64 are left to Polars")
    return values


def counts_of(index: Column) -> Any:
    """Returns the values of an index, of int64; dates in microseconds.

    Raises
    ------
    Refused
        If it has nulls.
    """
    complete = index.valid is None or bool(cp.all(index.valid))
    refuse_unless(complete, "windows over an index with nulls are left to Polars")
    values = index.values.astype("int64")
    return values * 86_400_000_000 if index.dtype == pl.Date else values


def in_frame_order(index: Column) -> Placed:
    """Returns rows at their numbers, as one group."""
    values = checked(counts_of(index), None)
    return Placed(None, cp.zeros(len(index), "int64"), cp.zeros(1, "int64"), values)


def members(counts: Any, height: int) -> tuple[Any, Any]:
    """Returns the window of each member, and its number in the window.

    Parameters
    ----------
    counts : ndarray
        How many members each window has.
    height : int
        The number of rows.

    Raises
    ------
    Refused
        If there are many for so many rows.
    """
    total = int(counts.sum())
    refuse_unless(total <= _MOST + _MOST_FOR_EACH * height, f"the windows have {total:,} rows of {height:,}")
    windows = cp.repeat(cp.arange(counts.shape[0]), counts)
    return windows, cp.arange(total) - (cp.cumsum(counts) - counts)[windows]


def rolling_members(of: Placed, window: Interval) -> Members:
    """Returns the members of a window for each position, which begins at a distance from its index."""
    index, height = of.index, int(of.index.shape[0])
    low, high = int(index.min()), int(index.max())
    width = high - low + 1
    refuse_unless(width * (int(of.begins.shape[0]) + 1) < LARGEST, "the index is too wide for windows of groups")
    base = of.groups * width
    keys = base + (index - low)

    def position(bound: Any, after: bool) -> Any:
        """The first position of the group whose index is at least a bound, or above it."""
        return cp.searchsorted(keys, base + cp.clip(bound + int(after) - low, 0, width), side="left")

    begin = position(index + window.offset, after=not window.takes_begin)
    end = position(index + window.offset + window.period, after=window.takes_end)
    counts = cp.maximum(end - begin, 0)
    windows, nth = members(counts, height)
    return Members(of.rows(begin[windows] + nth), windows, height)
