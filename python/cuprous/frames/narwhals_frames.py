"""Tables as frames of narwhals: `narwhals.from_native(table)`.

Libraries that take any data frame read a table through it, as a frame of Polars that is copied to the host when its
values are read. `lazy()` begins with the arrays themselves, and what follows runs on the engine.
"""

from __future__ import annotations

from typing import Any

from narwhals._polars.dataframe import PolarsDataFrame, PolarsLazyFrame
from narwhals._polars.namespace import PolarsNamespace
from narwhals._polars.utils import native_to_narwhals_dtype
from narwhals._utils import Implementation, Version

from cuprous._clients.for_narwhals import is_native
from cuprous.frames.engine import Engine
from cuprous.frames.table import Table


class TableFrame(PolarsDataFrame):
    """A table as narwhals' data frame.

    Parameters
    ----------
    table : Table
        The table.
    version : Version
        Narwhals' API version.
    """

    def __init__(self, table: Table, *, version: Version) -> None:
        self._table, self._version = table, version
        self._read: Any = None

    @property
    def native(self) -> Any:
        """The frame of Polars that other functions work with."""
        if self._read is None:
            self._read = self._table.to_polars()
        return self._read

    _native_frame = native

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._table.columns

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return len(self._table), len(self._table.columns)

    def __len__(self) -> int:
        return len(self._table)

    def collect_schema(self) -> dict[str, Any]:
        """Returns narwhals' dtype of each column."""
        return {name: native_to_narwhals_dtype(dtype, self._version) for name, dtype in self._table.schema.items()}

    def lazy(self, backend: Any = None, *, session: Any = None) -> Any:
        """Returns a lazy frame; without a backend, or with Polars', it begins with the arrays."""
        if backend in (None, Implementation.POLARS):
            return TableLazyFrame(self._table.lazy(), version=self._version)
        return super().lazy(backend, session=session)

    def _with_native(self, df: Any) -> Any:
        return PolarsDataFrame(df, version=self._version)

    def _with_version(self, version: Version) -> Any:
        return type(self)(self._table, version=version)


class TableLazyFrame(PolarsLazyFrame):
    """A query that begins with a table, and runs on the engine."""

    def collect(self, backend: Any, **kwargs: Any) -> Any:
        """Runs the query."""
        return super().collect(backend, **{"engine": Engine(), **kwargs})


class TableNamespace(PolarsNamespace):
    """What narwhals calls for tables."""

    def from_native(self, data: Any, /) -> Any:
        """Returns a table, or an object of Polars, as narwhals' frame."""
        return TableFrame(data, version=self._version) if is_native(data) else super().from_native(data)
