"""Columns of one height."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cuprous.frames.columns.column import Column


@dataclass(frozen=True)
class Frame:
    """Named columns at the level of rows.

    Args:
        columns: name -> column, in order.
        height: the number of rows, also without columns.
    """

    columns: dict[str, Column]
    height: int

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return sum(column.nbytes for column in self.columns.values())

    def project(self, names: Any) -> Frame:
        """Returns some of the columns."""
        return Frame({name: self.columns[name] for name in names}, self.height)

    def take(self, rows: Any) -> Frame:
        """Returns the rows with these numbers."""
        return Frame({name: column.take(rows) for name, column in self.columns.items()}, int(rows.shape[0]))

    def slice(self, offset: int, length: int | None) -> Frame:
        """Returns adjacent rows; a negative offset counts from the end."""
        begin = offset if offset >= 0 else self.height + offset
        end = self.height if length is None else begin + length
        start, stop = min(max(begin, 0), self.height), min(max(end, 0), self.height)
        stop = max(start, stop)
        return Frame({name: column.slice(start, stop) for name, column in self.columns.items()}, stop - start)
