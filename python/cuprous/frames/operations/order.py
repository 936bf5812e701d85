"""The order of rows by several keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import cuprous as cp
from cuprous.frames.columns.column import Column
from cuprous.frames.columns.keys import ordered

_WIDEST = 1 << 62


class _Key(NamedTuple):
    """Integers that sort ascending; from 0 below a domain, or of all int64."""

    values: Any
    domain: int | None


def _sort_keys(column: Column, descending: bool, nulls_last: bool) -> list[_Key]:
    """Codes that sort ascending: first where nulls are, then the values."""
    codes = ordered(column)
    values = codes.values
    if descending:
        values = ~values if codes.domain is None else codes.domain - 1 - values
    if column.valid is None:
        return [_Key(values, codes.domain)]
    if codes.domain is None:
        null = column.valid if not nulls_last else ~column.valid
        return [_Key(null.astype("int64"), 2), _Key(cp.where(column.valid, values, 0), None)]
    if nulls_last:
        return [_Key(cp.where(column.valid, values, codes.domain), codes.domain + 1)]
    return [_Key(cp.where(column.valid, values + 1, 0), codes.domain + 1)]


def sorted_rows(columns: Sequence[Column], descending: Sequence[bool], nulls_last: Sequence[bool]) -> Any:
    """Returns the numbers of the rows in order; rows with equal keys keep theirs.

    Parameters
    ----------
    columns : sequence of Columns
        The keys, the most significant first.
    descending : sequence of bools
        For each key.
    nulls_last : sequence of bools
        For each key.
    """
    keys = [code for key in zip(columns, descending, nulls_last, strict=True) for code in _sort_keys(*key)]
    passes: list[_Key] = []
    for key in keys:  # adjacent closed domains are one number
        last = passes[-1] if passes else None
        if last is not None and last.domain and key.domain and last.domain * key.domain < _WIDEST:
            passes[-1] = _Key(last.values * key.domain + key.values, last.domain * key.domain)
        else:
            passes.append(key)
    order = None
    for key in reversed(passes):
        values = key.values if order is None else key.values[order]
        found = cp.argsort(values, kind="stable")
        order = found if order is None else order[found]
    return order
