"""Routines on rows: the numbers of their groups, aggregates of groups, pairs of rows with equal keys.

Devices that have no routines for them compose them of sorts, searches and scatters (`composed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cuprous import _core
from cuprous.frames.columns import composed

#: Keys below this, or below a few times the number of rows, are addressed directly.
DIRECT = 1 << 16


def is_direct(domain: int | None, height: int) -> bool:
    """Returns true if a table of a domain is not large beside the rows."""
    return domain is not None and domain <= max(DIRECT, 4 * height)


class Numbered(NamedTuple):
    """Rows by the numbers of their groups, in the order of the groups' first rows.

    Parameters
    ----------
    ids : int
        The number of the group of each row; -1 for rows outside of all groups.
    first : ndarray
        The first row of each group.
    groups : int
        The number of groups.
    """

    ids: Any
    first: Any
    groups: int


def group_ids(keys: Any, domain: int | None, mask: Any = None) -> Numbered:
    """Numbers rows by their keys.

    Parameters
    ----------
    keys : array_like
        An array of int64.
    domain : int or None
        Keys are from 0 below it; None for any keys.
    mask : array_like, optional
        The rows that belong to groups; None for all.
    """
    height = int(keys.shape[0])
    if not _core.has_table_routines(keys):
        return Numbered(*composed.group_ids(keys, domain if is_direct(domain, height) else None, mask))
    found = _core.group_ids(keys, domain if domain is not None and is_direct(domain, height) else 0, mask)
    count = int(found[-1])
    return Numbered(found[:height], found[height : height + count].astype("int64"), count)


def group_aggregate(ids: Any, count: int, functions: Sequence[str], values: Any, mask: Any) -> dict[str, Any]:
    """Aggregates rows by the numbers of their groups.

    Parameters
    ----------
    ids : int
        The number of the group of each row, or -1.
    count : int
        The number of groups.
    functions : sequence of str
        "sum", "count", "min", "max", "first" and "last"; the last two are numbers of rows, or -1.
    values : array_like
        An array for "sum", "min" and "max", which leave out NaN; None if there are none of these.
    mask : array_like
        The rows that count; None for all.

    Returns
    -------
    dict
        Arrays of int64, and of float64 for sums, minima and maxima of floats.
    """
    if not _core.has_table_routines(ids):
        return composed.group_aggregate(ids, count, functions, values, mask)
    found = _core.group_aggregate(ids, count, list(functions), values, mask)
    floats = values is not None and values.dtype.kind == "f"
    unsigned = values is not None and values.dtype == "uint64"

    def typed(function: str, result: Any) -> Any:
        if function == "sum" and floats:
            return result.view("float64")
        if function in ("min", "max"):
            return result.view("float64") if floats else result.view("uint64") if unsigned else result
        return result

    return {function: typed(function, found[k]) for k, function in enumerate(functions)}


class Matches(NamedTuple):
    """What rows of a right side equal each row of a left side.

    Parameters
    ----------
    first : ndarray
        The first right row; -1 for none.
    pairs : int
        The number of pairs of equal rows.
    matched : int
        The number of left rows that have one.
    most : int
        The largest number of pairs of one left row.
    """

    first: Any
    pairs: int
    matched: int
    most: int


def join_match(right: Any, left: Any, domain: int) -> Matches:
    """Finds for each left key the first equal right key.

    Parameters
    ----------
    right : scalar
        An array of int64 below the domain; negative keys equal none.
    left : scalar
        The same.
    domain : int
        The end of the keys.
    """
    height = int(left.shape[0])
    if not _core.has_table_routines(left):
        return Matches(*composed.join_match(right, left, domain))
    found = _core.join_match(right, left, domain)
    return Matches(found[:height], *(int(one) for one in found[height:].tolist()))


def join_pairs(right: Any, left: Any, domain: int, matches: Matches, keep_left: bool) -> tuple[Any, Any]:
    """Returns the left and the right rows of all pairs of equal keys, by the left row, then by the right row.

    Parameters
    ----------
    right : scalar
        An array of int64 below the domain; negative keys equal none.
    left : scalar
        The same.
    domain : int
        The end of the keys.
    matches : Matches
        What `join_match` found.
    keep_left : bool
        Whether left rows without an equal one have a pair with the right row -1.
    """
    total = matches.pairs + (int(left.shape[0]) - matches.matched if keep_left else 0)
    if not _core.has_table_routines(left):
        return composed.join_pairs(right, left, domain, total, keep_left)
    found = _core.join_pairs(right, left, domain, total, keep_left)
    return found[0], found[1]
