"""A frame: columns of one height."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from cuprous import _core
from cuprous.frames.columns.column import Column

#: A mask is kept instead of the rows that it selects if they are at least this part of all.
_DENSE = 4


class Mask:
    """The rows that are in a frame.

    Parameters
    ----------
    values : array_like
        An array of bool for all rows.
    """

    def __init__(self, values: Any) -> None:
        self.values = values

    @cached_property
    def _packed(self) -> tuple[Any, int]:
        """The mask as `_core.compact` takes it, and the number of rows that it selects."""
        packed = _core.pack_mask(self.values)
        return packed, int(packed[(self.values.size + 4095) // 4096 - 1])

    @property
    def count(self) -> int:
        """The number of rows that it selects."""
        return self._packed[1] if self.values.size else 0

    def compacted(self, values: Any) -> Any:
        """Returns the values of the rows that it selects."""
        packed, count = self._packed
        return _core.compact(packed, self.values.size, count, values)


#: How many rows a frame has: a number, or what has to be counted.
Extent = int | Mask


@dataclass(frozen=True)
class Frame:
    """Named columns at the level of rows.

    Parameters
    ----------
    columns : dict of str to Column
        Name -> column, in order.
    height : int
        The number of rows, also without columns.
    mask : Mask, optional
        Which of the rows are in the frame; None for all. Nodes that need rows apply it first.
    """

    columns: dict[str, Column]
    height: int
    mask: Mask | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return sum(column.nbytes for column in self.columns.values())

    @property
    def extent(self) -> Extent:
        """How many rows are in the frame."""
        return self.height if self.mask is None else self.mask

    @property
    def is_dense(self) -> bool:
        """Whether most rows are in the frame, so that reading all of them costs little."""
        return self.mask is None or _DENSE * self.mask.count >= self.height > 0

    def filtered(self, mask: Any) -> Frame:
        """Returns the frame with the rows alone at which a mask is true."""
        return replace(self, mask=Mask(mask if self.mask is None else self.mask.values & mask))

    def materialized(self) -> Frame:
        """Returns the same rows without a mask."""
        mask = self.mask
        if mask is None or self.height == 0 or mask.count == self.height:
            return replace(self, mask=None)
        columns = {
            name: column.with_values(
                mask.compacted(column.values), None if column.valid is None else mask.compacted(column.valid)
            )
            for name, column in self.columns.items()
        }
        return Frame(columns, mask.count)

    def project(self, names: Any) -> Frame:
        """Returns some of the columns."""
        return replace(self, columns={name: self.columns[name] for name in names})

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
