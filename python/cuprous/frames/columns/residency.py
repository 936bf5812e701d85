"""Columns that stay on the device between queries."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.arrow import buffer_key
from cuprous.frames.columns.column import Column
from cuprous.frames.columns.transfer import upload

#: Columns whose losses are remembered.
_MOST_LOST = 4096


@dataclass
class Residency:
    """Uploaded columns by the memory that they were read from, the least recently used given up first.

    An entry holds its Series, so that Polars neither frees nor overwrites the memory.

    Parameters
    ----------
    limit : int
        The most bytes of arrays that are kept; 0 keeps none.
    """

    limit: int
    bytes_kept: int = 0
    bytes_moved: int = 0
    hits: int = 0
    misses: int = 0
    _entries: OrderedDict[Any, tuple[pl.Series, Column]] = field(default_factory=OrderedDict)
    _lost: OrderedDict[Any, float] = field(default_factory=OrderedDict)
    _lock: Any = field(default_factory=RLock)

    def column(self, series: pl.Series) -> Column:
        """Returns a Series on the current device, uploaded at most once while it is kept."""
        key = (str(cp.get_device()), *buffer_key(series))
        with self._lock:
            if key in self._entries:
                self.hits += 1
                self._entries.move_to_end(key)
                return self._entries[key][1]
            self.misses += 1
            column = upload(series)
            self.bytes_moved += column.nbytes
            if column.nbytes <= self.limit:
                self._entries[key] = (series, column)
                self.bytes_kept += column.nbytes
                while self.bytes_kept > self.limit:
                    _, (_, oldest) = self._entries.popitem(last=False)
                    self.bytes_kept -= oldest.nbytes
            return column

    def holds(self, series: pl.Series) -> bool:
        """Returns true if a Series is on the device already."""
        return (str(cp.get_device()), *buffer_key(series)) in self._entries

    def lose(self, series: pl.Series, nanoseconds: float, counts: bool) -> float:
        """Returns what has been lost in all because a Series is not on the device.

        Parameters
        ----------
        series : Series
            A column of a query that Polars runs instead.
        nanoseconds : float
            What this query loses.
        counts : bool
            Whether it is added to what later queries lose.
        """
        key = (str(cp.get_device()), *buffer_key(series))
        with self._lock:
            lost = self._lost.get(key, 0.0) + nanoseconds
            if counts:
                self._lost[key] = lost
                while len(self._lost) > _MOST_LOST:
                    self._lost.popitem(last=False)
            return lost

    def clear(self) -> None:
        """Gives up all columns."""
        with self._lock:
            self._entries.clear()
            self.bytes_kept = 0

    def stats(self) -> dict[str, int]:
        """Returns counts: columns and bytes kept, bytes moved, hits and misses."""
        return {
            "columns": len(self._entries),
            "bytes_kept": self.bytes_kept,
            "bytes_moved": self.bytes_moved,
            "hits": self.hits,
            "misses": self.misses,
        }
