"""Pairs of rows whose keys are in an order."""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous.frames.columns.column import Column, both
from cuprous.frames.columns.keys import ordered
from cuprous.frames.expressions.comparison import compare
from cuprous.frames.operations.rows import concatenated
from cuprous.frames.reasons import refuse_unless

#: The most pairs of rows that a join without equal keys may have.
MOST_PAIRS = 1 << 26


def inequality_pairs(operators: tuple[str, ...], left: list[Column], right: list[Column]) -> tuple[Any, Any]:
    """Returns the left and right rows of all pairs in which every comparison holds.

    Parameters
    ----------
    operators : tuple of str
        The comparison of each key.
    left : list of Columns
        The keys of the left side.
    right : list of Columns
        Those of the right side.

    Raises
    ------
    Refused
        If the first comparison holds for too many pairs.
    """
    left_rows, right_rows = _pairs(operators[0], left[0], right[0])
    for operator, one, other in zip(operators[1:], left[1:], right[1:], strict=True):
        one, other = one.take(left_rows), other.take(right_rows)
        kept = cp.flatnonzero(both(compare(operator, one, other), one.valid, other.valid))
        left_rows, right_rows = left_rows[kept], right_rows[kept]
    return left_rows, right_rows


def _pairs(operator: str, left: Column, right: Column) -> tuple[Any, Any]:
    codes = ordered(concatenated([left, right])).values
    left_rows, right_rows = _valid_rows(left), _valid_rows(right)
    left_codes, right_codes = codes[: len(left)][left_rows], codes[len(left) :][right_rows]
    order = cp.argsort(right_codes, kind="stable")
    # The matches of a left value are a beginning or an end of the sorted right values.
    side = "left" if operator in ("Gt", "LtEq") else "right"
    position = cp.searchsorted(right_codes[order], left_codes, side=side)
    first = operator in ("Gt", "GtEq")
    counts: Any = position if first else right_codes.shape[0] - position
    total = int(counts.sum())
    refuse_unless(total <= MOST_PAIRS, f"an inequality holds for {total} pairs of rows")
    begins = cp.cumsum(counts) - counts
    which = cp.repeat(cp.arange(counts.shape[0]), counts)
    nth = cp.arange(total) - begins[which]
    return left_rows[which], right_rows[order[nth if first else position[which] + nth]]


def _valid_rows(column: Column) -> Any:
    return cp.arange(len(column)) if column.valid is None else cp.flatnonzero(column.valid)
