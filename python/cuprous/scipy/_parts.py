"""Matrices of distances in parts of bounded size."""

from __future__ import annotations

from collections.abc import Iterator

#: Elements of a matrix of distances that are computed at a time.
_PART = 1 << 24


def parts(rows: int, columns: int) -> Iterator[slice]:
    """Yields slices of rows, so that a matrix of them has a bounded number of elements."""
    step = max(1, _PART // max(columns, 1))
    yield from (slice(start, min(start + step, rows)) for start in range(0, rows, step))
