"""Rows of groups side by side, for functions in which a value depends on other rows of its group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cuprous as cp
from cuprous.frames.columns.column import Column
from cuprous.frames.columns.groups import Groups, Whole


@dataclass(frozen=True)
class Segments:
    """Positions of rows whose groups are adjacent; the rows of a group keep their order.

    Parameters
    ----------
    height : int
        The number of rows.
    order : array_like
        The row at each position; None if rows are at their numbers.
    begin : array_like
        The first position of the group at each position.
    end : int
        The position after the last one of the group at each position.
    """

    height: int
    order: Any
    begin: Any
    end: Any

    @cached_property
    def positions(self) -> Any:
        """The numbers of the positions."""
        return cp.arange(self.height)

    def placed(self, column: Column) -> Column:
        """Returns the values of rows at their positions."""
        return column if self.order is None else column.take(self.order)

    def of_rows(self, column: Column) -> Column:
        """Returns the values at positions at their rows."""
        if self.order is None:
            return column
        rows = cp.zeros(self.height, "int64")
        rows[self.order] = self.positions
        return column.take(rows)

    def from_begin(self, numbers: Any) -> Any:
        """Returns the sum of numbers from the begin of the group to each position, in their dtype."""
        found = cp.cumsum(numbers, dtype=numbers.dtype)
        if self.order is None:
            return found
        return found - cp.where(self.begin > 0, found[cp.maximum(self.begin - 1, 0)], 0)


def segments(rows: Groups | Whole) -> Segments:
    """Returns the segments of groups."""
    if isinstance(rows, Whole):
        return Segments(rows.height, None, 0, rows.height)
    order = cp.argsort(rows.ids, kind="stable")
    sizes = rows.sizes
    ends = cp.cumsum(sizes)
    of_position = rows.numbers[order]
    return Segments(rows.height, order, (ends - sizes)[of_position], ends[of_position])
