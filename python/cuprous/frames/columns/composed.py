"""Routines on rows for devices that have none of their own, composed of sorts, searches and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import cuprous as cp

#: The stub of ufuncs lacks the method `at`.
_add: Any = cp.add
_minimum: Any = cp.minimum
_maximum: Any = cp.maximum


def group_ids(keys: Any, domain: int | None, mask: Any) -> tuple[Any, Any, int]:
    """See `rows.group_ids`; the domain is small, or None."""
    if mask is not None:
        chosen = cp.flatnonzero(mask)
        numbers, first, count = group_ids(keys[chosen], domain, None)
        ids = cp.full(keys.shape, -1, "int64")
        ids[chosen] = numbers
        return ids, chosen[first], count
    height = int(keys.shape[0])
    if height == 0:
        return cp.zeros(0, "int64"), cp.zeros(0, "int64"), 0
    if domain is not None:
        present = cp.bincount(keys, minlength=domain) > 0
        numbers = (cp.cumsum(present.astype("int64")) - 1)[keys]
        count = int(present.sum())
    else:
        found, numbers = cp.unique(keys, return_inverse=True)
        count = int(found.shape[0])
    first = cp.full(count, height, "int64")
    _minimum.at(first, numbers, cp.arange(height))
    order = cp.argsort(first, kind="stable")
    rank = cp.zeros(count, "int64")
    rank[order] = cp.arange(count)
    return rank[numbers], first[order], count


def group_aggregate(ids: Any, count: int, functions: Sequence[str], values: Any, mask: Any) -> dict[str, Any]:
    """See `rows.group_aggregate`."""
    taken = ids >= 0 if mask is None else (ids >= 0) & mask
    # Rows outside of all groups go to a last group.
    slots = cp.where(taken, ids, count).astype("int64")
    numbers = cp.arange(ids.shape[0])

    def scattered(ufunc: Any, start: Any, dtype: str, elements: Any) -> Any:
        result = cp.full(count + 1, start, dtype)
        ufunc.at(result, slots, elements)
        return result[:-1]

    def extreme(name: str) -> Any:
        ufunc = _minimum if name == "min" else _maximum
        if values.dtype.kind != "f":
            wide = values.astype("uint64" if values.dtype == "uint64" else "int64")
            limits = np.iinfo("uint8" if values.dtype == "bool" else str(values.dtype))
            return scattered(ufunc, limits.max if name == "min" else limits.min, str(wide.dtype), wide)
        wide, start = values.astype("float64"), np.inf if name == "min" else -np.inf
        present = ~cp.isnan(wide)
        found = scattered(ufunc, start, "float64", cp.where(present, wide, start))
        return cp.where(scattered(_add, 0, "int64", present.astype("int64")) > 0, found, np.nan)

    def total() -> Any:
        dtype = "float64" if values.dtype.kind == "f" else "int64"
        return scattered(_add, 0, dtype, values.astype(dtype))

    def first() -> Any:
        end = int(ids.shape[0])
        found = scattered(_minimum, end, "int64", numbers)
        return cp.where(found == end, -1, found)

    results = {
        "sum": total,
        "count": lambda: scattered(_add, 0, "int64", cp.ones(ids.shape, "int64")),
        "min": lambda: extreme("min"),
        "max": lambda: extreme("max"),
        "first": first,
        "last": lambda: scattered(_maximum, -1, "int64", numbers),
    }
    return {function: results[function]() for function in functions}


def join_match(right: Any, left: Any, domain: int) -> tuple[Any, int, int, int]:
    """See `rows.join_match`."""
    height = int(left.shape[0])
    if height == 0 or int(right.shape[0]) == 0:
        return cp.full(height, -1, "int64"), 0, 0, 0
    slots = cp.where(right >= 0, right, domain)
    first = cp.full(domain + 1, right.shape[0], "int64")
    _minimum.at(first, slots, cp.arange(right.shape[0]))
    counts = _matches(slots, left, domain)
    found = cp.where(counts > 0, first[cp.clip(left, 0, domain)], -1)
    return found, int(counts.sum()), int((counts > 0).sum()), int(counts.max())


def _matches(slots: Any, left: Any, domain: int) -> Any:
    """The number of right rows that equal each left row."""
    counts = cp.bincount(slots, minlength=domain + 1)
    return cp.where(left >= 0, counts[cp.clip(left, 0, domain)], 0)


def join_pairs(right: Any, left: Any, domain: int, total: int, keep_left: bool) -> tuple[Any, Any]:
    """See `rows.join_pairs`."""
    if total == 0:
        return cp.zeros(0, "int64"), cp.zeros(0, "int64")
    if int(right.shape[0]) == 0:
        return cp.arange(left.shape[0]), cp.full(left.shape, -1, "int64")
    slots = cp.where(right >= 0, right, domain)
    matches = _matches(slots, left, domain)
    repeats: Any = cp.maximum(matches, 1) if keep_left else matches
    begins = cp.cumsum(repeats) - repeats
    rows = cp.flatnonzero(repeats)
    steps = cp.zeros(total, "int64")
    steps[begins[rows]] = cp.diff(rows, prepend=cp.zeros(1, "int64"))
    left_rows = cp.cumsum(steps)
    nth = cp.arange(total) - begins[left_rows]
    order = cp.argsort(slots, kind="stable")
    counts = cp.bincount(slots, minlength=domain + 1)
    starts = cp.cumsum(counts) - counts
    position = starts[cp.clip(left[left_rows], 0, domain)] + nth
    right_rows = order[cp.clip(position, 0, order.shape[0] - 1)]
    return left_rows, cp.where(matches[left_rows] > 0, right_rows, -1)
