"""Queries of Polars as functions of arrays, for the tools that take functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def is_query(value: Any) -> bool:
    """Returns true if a value is a lazy frame of Polars, which is not imported for it."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(value, polars.LazyFrame)


def as_function(lf: Any) -> Callable[[], list[Any]]:
    """Returns the function that runs a query, and gives the arrays of the result's columns.

    It raises `NotImplementedError` if a part of the query would run in Polars.
    """
    from cuprous.frames import Engine, Table

    def query() -> list[Any]:
        table = lf.execute(engine=Engine(take="all", strict=True, cache_bytes=0))
        assert isinstance(table, Table)
        columns = [table.column(name) for name in table.columns]
        return [array for one in columns for array in (one.values, one.valid) if array is not None]

    return query
