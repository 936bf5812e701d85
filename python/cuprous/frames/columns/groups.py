"""Groups of rows, and the reductions over them that everything else is composed of."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

import cuprous as cp
from cuprous.frames.columns.column import GROUPS, ONE, Column, both
from cuprous.frames.columns.keys import combined
from cuprous.frames.columns.rows import group_aggregate, group_ids


class Whole:
    """All rows of a frame as one group.

    Parameters
    ----------
    height : int
        The number of rows.
    """

    level = ONE
    count = 1

    def __init__(self, height: int) -> None:
        self.height = height

    @property
    def numbers(self) -> Any:
        """The number of the group of each row."""
        return cp.zeros(self.height, "int64")

    def expect(self, functions: Iterable[str], values: Any, mask: Any) -> None:
        """Says what will be reduced; all rows are reduced by kernels that the engine fuses."""

    def reduce(self, function: str, values: Any, mask: Any) -> Any:
        """Returns one number for each group; see `rows.group_aggregate`."""
        return _WHOLE[function](self.height, values, mask).reshape(1)

    def to_rows(self, values: Any) -> Any:
        """Returns for each row the value of its group."""
        return values


def _known(mask: Any, values: Any, other: Any) -> Any:
    return values if mask is None else cp.where(mask, values, other)


def _whole_sum(_: int, values: Any, mask: Any) -> Any:
    dtype = "float64" if values.dtype.kind == "f" else "int64"
    return cp.sum(_known(mask, values.astype(dtype), 0), dtype=dtype)


def _whole_count(height: int, _: Any, mask: Any) -> Any:
    return cp.full(1, height, "int64") if mask is None else cp.sum(mask, dtype="int64")


def _whole_extreme(name: str) -> Any:
    def reduce(_: int, values: Any, mask: Any) -> Any:
        function = cp.min if name == "min" else cp.max
        if values.dtype == "bool":
            values = values.astype("uint8")
        if values.dtype.kind != "f":
            limits = np.iinfo(str(values.dtype))
            start: Any = limits.max if name == "min" else limits.min
            return function(_known(mask, values, start), initial=start)
        start = np.inf if name == "min" else -np.inf
        present = both(mask, ~cp.isnan(values))
        found = function(cp.where(present, values, start), initial=start)
        return cp.where(cp.any(present), found, np.nan)

    return reduce


def _whole_first(height: int, _: Any, mask: Any) -> Any:
    found = cp.min(_known(mask, cp.arange(height), height), initial=height)
    return cp.where(found == height, -1, found)


def _whole_last(height: int, _: Any, mask: Any) -> Any:
    return cp.max(_known(mask, cp.arange(height), -1), initial=-1)


_WHOLE = {
    "sum": _whole_sum,
    "count": _whole_count,
    "min": _whole_extreme("min"),
    "max": _whole_extreme("max"),
    "first": _whole_first,
    "last": _whole_last,
}


def _read(function: str, values: Any, mask: Any) -> Any:
    """The values that a function is computed with. Counts of all rows are those of no values."""
    return values if function in ("sum", "min", "max") or mask is not None else None


class Groups:
    """Rows by the values of some columns. Groups are numbered in the order of their first rows.

    Parameters
    ----------
    columns : list of Columns
        The keys, all of one length.
    mask : array_like, optional
        The rows that belong to groups; None for all.
    """

    level = GROUPS

    def __init__(self, columns: list[Column], mask: Any = None) -> None:
        codes = combined(columns)
        ids, self.first, count = group_ids(codes.values, codes.domain, mask)
        self._set(ids, count)
        #: The columns of the keys, a row for each group.
        self.keys = [column.take(self.first).at_level(GROUPS) for column in columns]

    @classmethod
    def numbered(cls, ids: Any, count: int) -> Groups:
        """Returns groups whose numbers are known; some may be empty. They have no keys and no first rows.

        Parameters
        ----------
        ids : int
            The number of the group of each row.
        count : int
            The number of groups.
        """
        groups = cls.__new__(cls)
        groups._set(ids, count)
        groups.keys = []
        return groups

    def _set(self, ids: Any, count: int) -> None:
        self.height = int(ids.shape[0])
        #: The number of the group of each row (-1 for none), and how many there are.
        self.ids, self.count = ids, count
        # By the identities of values and mask, which are held so that these are not used again.
        self._expected: dict[tuple[int, int], set[str]] = {}
        self._found: dict[tuple[int, int], dict[str, Any]] = {}
        self._held: list[Any] = []

    @cached_property
    def numbers(self) -> Any:
        """The number of the group of each row."""
        return self.ids.astype("int64")

    @property
    def sizes(self) -> Any:
        """The number of rows of each group."""
        return self.reduce("count", None, None)

    def expect(self, functions: Iterable[str], values: Any, mask: Any) -> None:
        """Says what will be reduced, so that all functions of the same values are computed in one pass."""
        for function in functions:
            of = _read(function, values, mask)
            self._expected.setdefault((id(of), id(mask)), set()).add(function)
            self._held += [of, mask]

    def reduce(self, function: str, values: Any, mask: Any) -> Any:
        """Returns one number for each group; see `rows.group_aggregate`."""
        self.expect((function,), values, mask)
        values = _read(function, values, mask)
        key = (id(values), id(mask))
        found = self._found.setdefault(key, {})
        if function not in found:
            missing = sorted(self._expected[key] - found.keys())
            found.update(group_aggregate(self.ids, self.count, missing, values, mask))
        return found[function]

    def to_rows(self, values: Any) -> Any:
        """Returns for each row the value of its group."""
        return values[self.numbers]
