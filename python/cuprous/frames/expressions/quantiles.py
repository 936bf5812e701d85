"""Quantiles of groups: the values at some places of the order within each group.

One sort of integers that hold the group and 32 bits of the value finds them, up to the other 32 bits. These are sorted
for the rows alone that could be meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cuprous as cp
from cuprous.frames.columns.column import Column
from cuprous.frames.columns.keys import bounds, ordered, untotal_order

_HALF = 1 << 32
_WIDEST = 1 << 62

#: Name of an interpolation -> the first and the second of the sorted values, by their number less one and the quantile.
POSITIONS: dict[str, Callable[[Any, float], tuple[Any, Any]]] = {
    "lower": lambda last, q: (cp.floor(last * q),) * 2,
    "higher": lambda last, q: (cp.ceil(last * q),) * 2,
    "nearest": lambda last, q: (cp.floor(last * q + 0.5),) * 2,
    "midpoint": lambda last, q: (cp.floor(last * q), cp.ceil(last * q)),
    "linear": lambda last, q: (cp.floor(last * q), cp.ceil(last * q)),
    "equiprobable": lambda last, q: (cp.maximum(cp.ceil((last + 1) * q) - 1, 0),) * 2,
}


def quantiles(column: Column, numbers: Any, sizes: Any, interpolation: str, quantile: float) -> Any:
    """Returns a quantile of each group, arbitrary for groups without rows.

    Parameters
    ----------
    column : Column
        Numbers, none of which is null.
    numbers : int
        The number of the group of each row.
    sizes : int
        The number of rows of each group.
    interpolation : str
        A name of `POSITIONS`.
    quantile : float
        From 0 to 1.
    """
    if len(column) == 0:
        return cp.zeros(sizes.shape)
    last = cp.maximum(sizes - 1, 0).astype("float64")
    first, second = POSITIONS[interpolation](last, quantile)
    places = [first] if second is first else [first, second]
    found = [_decoded(codes, column).astype("float64") for codes in _selected(column, numbers, sizes, places)]
    below, above = found[0], found[-1]
    if interpolation == "midpoint":
        return cp.where(below == above, below, (below + above) / 2)
    return cp.where(below == above, below, below + (above - below) * (last * quantile - first))


def _selected(column: Column, numbers: Any, sizes: Any, places: list[Any]) -> list[Any]:
    """The codes of the values at some places within each group."""
    codes = ordered(column)
    starts = cp.cumsum(sizes) - sizes
    end = len(column) - 1
    places = [place.astype("int64") for place in places]
    if codes.domain is not None and codes.domain * int(sizes.shape[0]) < _WIDEST:
        keys = cp.sort(numbers * codes.domain + codes.values)
        return [keys[cp.clip(starts + place, 0, end)] % codes.domain for place in places]
    high, low = (codes.values >> 32) + _HALF // 2, codes.values & (_HALF - 1)
    keys = numbers * _HALF + high
    in_order = cp.sort(keys)
    found = []
    for place in places:
        chosen = in_order[cp.clip(starts + place, 0, end)]
        smaller = cp.searchsorted(in_order, chosen) - starts
        rows = cp.flatnonzero(keys == chosen[numbers])
        rest = cp.sort(numbers[rows] * _HALF + low[rows])
        begins = cp.searchsorted(rest, cp.arange(sizes.shape[0]) * _HALF)
        last_bits = rest[cp.clip(begins + place - smaller, 0, rest.shape[0] - 1)] % _HALF
        found.append(((chosen % _HALF - _HALF // 2) << 32) | last_bits)
    return found


def _decoded(codes: Any, column: Column) -> Any:
    """The values of codes, which `ordered` has given to a column of numbers."""
    dtype = str(column.values.dtype)
    if dtype.startswith("float"):
        return untotal_order(codes, dtype)
    if ordered(column).domain is not None:
        return codes + bounds(column)[0]
    return (codes ^ -(2**63)).view("uint64") if dtype == "uint64" else codes
