"""A column: an array of values, and where they are valid."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

import cuprous as cp
from cuprous.frames.columns.dtypes import CODES

#: What the values of a column stand for: each row, all rows (one value), or each group.
ROWS, ONE, GROUPS = "rows", "one", "groups"


@dataclass(frozen=True, eq=False)
class Column:
    """Values of one dtype. Immutable; values at invalid positions are arbitrary.

    Parameters
    ----------
    values : array_like
        The array, of shape (n,), or (1,) at level `ONE`.
    valid : ndarray
        Which of them are not null; None means all.
    dtype : dtype
        The dtype of Polars.
    dictionary : Series, optional
        The sorted distinct values that codes refer to, or an Enum's categories.
    level : str, optional
        `ROWS`, `ONE` or `GROUPS`.
    selected : array_like, optional
        The rows that an aggregate takes; None means all.
    memo : dict, optional
        What has been computed of this column: its bounds, its group codes.
    """

    values: Any
    valid: Any
    dtype: Any
    dictionary: pl.Series | None = None
    level: str = ROWS
    selected: Any = None
    memo: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return int(self.values.nbytes) + (0 if self.valid is None else int(self.valid.nbytes))

    def with_values(self, values: Any, valid: Any, **changes: Any) -> Column:
        """Returns a column of other values with the same dtype and dictionary."""
        return replace(self, values=values, valid=valid, memo={}, **changes)

    def at_level(self, level: str) -> Column:
        """Returns the same values at another level."""
        return replace(self, level=level)

    def take(self, rows: Any) -> Column:
        """Returns the values of the rows with these numbers."""
        return self.with_values(self.values[rows], None if self.valid is None else self.valid[rows])

    def take_or_null(self, rows: Any, present: Any) -> Column:
        """Returns the values of some rows, and null where `present` is false."""
        if len(self) == 0:
            return null_column(self.dtype, self.dictionary, int(rows.shape[0]), self.values.dtype)
        safe = cp.where(present, rows, 0)
        valid = present if self.valid is None else present & self.valid[safe]
        return self.with_values(self.values[safe], valid)

    def compress(self, mask: Any) -> Column:
        """Returns the values where a mask is true."""
        return self.with_values(self.values[mask], None if self.valid is None else self.valid[mask])

    def slice(self, start: int, stop: int) -> Column:
        """Returns adjacent values."""
        return self.with_values(self.values[start:stop], None if self.valid is None else self.valid[start:stop])

    def to_height(self, height: int) -> Column:
        """Returns a column of rows; one value is repeated, and values of groups become rows."""
        if self.level != ONE:
            return self if self.level == ROWS else self.at_level(ROWS)
        valid = None if self.valid is None else cp.broadcast_to(self.valid, (height,)).copy()
        return self.with_values(cp.broadcast_to(self.values, (height,)).copy(), valid, level=ROWS)


def null_column(dtype: Any, dictionary: pl.Series | None, height: int, values: Any) -> Column:
    """Returns a column of nulls."""
    return Column(cp.zeros(height, values), cp.zeros(height, "bool"), dtype, dictionary)


def both(*masks: Any) -> Any:
    """Returns where all masks are true; None stands for a mask of true."""
    result = None
    for mask in masks:
        if mask is not None:
            result = mask if result is None else result & mask
    return result


def validity(column: Column) -> Any:
    """Returns where a column is not null, as an array."""
    return cp.ones(column.values.shape, "bool") if column.valid is None else column.valid


def recoded(column: Column, dictionary: pl.Series) -> Column:
    """Returns the same values as codes of a larger dictionary."""
    if column.dictionary is dictionary:
        return column
    assert column.dictionary is not None
    if len(column.dictionary) == 0:
        return replace(column, dictionary=dictionary, memo={})
    positions = dictionary.search_sorted(column.dictionary, "left")
    table = cp.asarray(positions.cast(pl.Int32).to_numpy(), CODES)
    return replace(column, values=table[column.values], dictionary=dictionary, memo={})


def with_one_dictionary(columns: list[Column]) -> list[Column]:
    """Returns columns of strings with codes of the same dictionary."""
    dictionaries = [column.dictionary for column in columns]
    if any(one is None for one in dictionaries) or all(one is dictionaries[0] for one in dictionaries):
        return columns
    if columns[0].dtype.base_type() == pl.Enum:  # the dtypes are equal, so the categories are
        return [replace(column, dictionary=dictionaries[0], memo={}) for column in columns]
    largest = max((one for one in dictionaries if one is not None), key=len)
    merged = pl.concat([one for one in dictionaries if one is not None]).unique().sort()
    if len(merged) == len(largest):
        merged = largest
    return [recoded(column, merged) for column in columns]
