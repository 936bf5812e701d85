"""Groups of rows, and the reductions over them that everything else is composed of."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import cuprous as cp
from cuprous.frames.columns.column import GROUPS, ONE, Column
from cuprous.frames.columns.keys import DIRECT, combined

#: The stub of ufuncs lacks the method `at`.
_add: Any = cp.add
_minimum: Any = cp.minimum
_maximum: Any = cp.maximum


class Whole:
    """All rows of a frame as one group.

    Args:
        height: the number of rows.
    """

    level = ONE
    count = 1

    def __init__(self, height: int) -> None:
        self.height = height

    @property
    def sizes(self) -> Any:
        """The number of rows of each group."""
        return cp.full(1, self.height, "int64")

    @property
    def numbers(self) -> Any:
        """The number of the group of each row."""
        return cp.zeros(self.height, "int64")

    def total(self, values: Any, dtype: str) -> Any:
        """Returns the sum of each group."""
        return cp.sum(values, dtype=dtype).reshape(1)

    def smallest(self, values: Any, start: Any) -> Any:
        """Returns the smallest value of each group and a first one."""
        return cp.min(values, initial=start).reshape(1)

    def largest(self, values: Any, start: Any) -> Any:
        """Returns the largest value of each group and a first one."""
        return cp.max(values, initial=start).reshape(1)

    def to_rows(self, values: Any) -> Any:
        """Returns for each row the value of its group."""
        return values

    @property
    def first(self) -> Any:
        """The number of the first row of each group."""
        return cp.zeros(1, "int64")


class Groups:
    """Rows by the values of some columns.

    Args:
        columns: the keys, all of one length.
        ordered: whether groups are numbered by their first rows.
    """

    level = GROUPS

    def __init__(self, columns: list[Column], ordered: bool = False) -> None:
        self.height = len(columns[0])
        codes = combined(columns)
        present: Any
        assert codes.domain is not None
        if codes.domain <= max(DIRECT, 4 * self.height):
            present = cp.bincount(codes.values, minlength=codes.domain) > 0
            self.count = int(present.sum())
            everything = self.count == codes.domain
            self.numbers = codes.values if everything else (cp.cumsum(present.astype("int64")) - 1)[codes.values]
            found = cp.arange(self.count) if everything else cp.flatnonzero(present)
        else:
            found, self.numbers = cp.unique(codes.values, return_inverse=True)
            self.count = int(found.shape[0])
        if ordered:
            order = cp.argsort(self.first, kind="stable")
            rank = cp.zeros(self.count, "int64")
            rank[order] = cp.arange(self.count)
            self.numbers, found = rank[self.numbers], found[order]
            self.__dict__["first"] = self.first[order]
        #: The columns of the keys, a row for each group.
        self.keys = [column.at_level(GROUPS) for column in codes.restore(found)]

    @cached_property
    def first(self) -> Any:
        """The number of the first row of each group."""
        return self.smallest(cp.arange(self.height), self.height)

    @cached_property
    def sizes(self) -> Any:
        """The number of rows of each group."""
        return cp.bincount(self.numbers, minlength=self.count)

    def total(self, values: Any, dtype: str) -> Any:
        """Returns the sum of each group."""
        result = cp.zeros(self.count, dtype)
        _add.at(result, self.numbers, values.astype(dtype))
        return result

    def smallest(self, values: Any, start: Any) -> Any:
        """Returns the smallest value of each group and a first one."""
        result = cp.full(self.count, start, values.dtype)
        _minimum.at(result, self.numbers, values)
        return result

    def largest(self, values: Any, start: Any) -> Any:
        """Returns the largest value of each group and a first one."""
        result = cp.full(self.count, start, values.dtype)
        _maximum.at(result, self.numbers, values)
        return result

    def to_rows(self, values: Any) -> Any:
        """Returns for each row the value of its group."""
        return values[self.numbers]
