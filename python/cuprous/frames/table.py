"""Tables: results whose columns are arrays, and frames that begin with arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

import cuprous as cp
from cuprous.frames.columns.column import Column
from cuprous.frames.columns.device_arrow import device_array
from cuprous.frames.columns.frame import Frame
from cuprous.frames.columns.transfer import download, upload
from cuprous.frames.reasons import Refused

#: Kind and size of an array's dtype -> Polars' dtype.
_OF_ARRAYS = {
    "bool": pl.Boolean, "int8": pl.Int8, "int16": pl.Int16, "int32": pl.Int32, "int64": pl.Int64,
    "uint8": pl.UInt8, "uint16": pl.UInt16, "uint32": pl.UInt32, "uint64": pl.UInt64,
    "float32": pl.Float32, "float64": pl.Float64,
}  # fmt: skip


class Table:
    """A table whose columns are arrays on the device.

    A query gives one by `LazyFrame.execute(engine=Engine())`, and `from_arrays` begins with one. It is what Polars
    calls a query result: `lazy()` gives a frame that queries may begin with, on this engine without a copy.

    Parameters
    ----------
    frame : Frame
        The columns.

    See Also
    --------
    frames.from_arrays

    Examples
    --------
    >>> import cuprous.frames
    >>> table = cuprous.frames.Table.from_arrays({"x": cp.arange(3.0)})
    >>> table["x"] * 2
    array([0., 2., 4.])
    """

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Table:
        """Returns a table of arrays, or of anything that Polars makes a Series of.

        Parameters
        ----------
        arrays : mapping
            Name -> one-dimensional array, or object with `__arrow_c_stream__`; all of one length.

        Returns
        -------
        Table
            A table that shares the memory of contiguous arrays of this library.

        Raises
        ------
        ValueError
            If the lengths differ, or an array does not have one dimension.
        TypeError
            If no dtype of Polars has values of an array's dtype.
        """
        columns = {name: _column(name, array) for name, array in arrays.items()}
        heights = {len(column) for column in columns.values()}
        if len(heights) > 1:
            raise ValueError(f"the columns have different lengths: {sorted(heights)}; give arrays of one length")
        return cls(Frame(columns, heights.pop() if heights else 0))

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.frame.columns)

    @property
    def schema(self) -> pl.Schema:
        """Name -> Polars' dtype."""
        return pl.Schema({name: column.dtype for name, column in self.frame.columns.items()})

    @property
    def n_rows_total(self) -> int:
        """The number of rows."""
        return self.frame.height

    @property
    def head(self) -> pl.DataFrame:
        """The first five rows, on the host."""
        return Table(self.frame.slice(0, 5)).to_polars()

    def __len__(self) -> int:
        return self.frame.height

    def __getitem__(self, name: str) -> Any:
        column = self.column(name)
        if column.valid is not None and not bool(cp.all(column.valid)):
            raise ValueError(f"column {name!r} has nulls; take .column({name!r}).values and .valid")
        if column.dtype.is_decimal():
            raise ValueError(
                f"column {name!r} has dtype {column.dtype}; take .column({name!r}).values, counts of the last digit"
            )
        if column.dictionary is not None:
            raise ValueError(f"column {name!r} has dtype {column.dtype}; take .column({name!r}).values, the codes")
        return column.values

    def column(self, name: str) -> Column:
        """Returns a column: its `values`, and `valid`, an array of bool, or None if nothing is null.

        Parameters
        ----------
        name : str
            The name of a column.

        Raises
        ------
        KeyError
            If there is no such column.
        """
        if name not in self.frame.columns:
            raise KeyError(f"no column {name!r}; there are {self.columns}")
        return self.frame.columns[name]

    def to_arrays(self) -> dict[str, Any]:
        """Returns all columns as arrays.

        Raises
        ------
        ValueError
            If a column has nulls or is no array of numbers.
        """
        return {name: self[name] for name in self.columns}

    def to_polars(self) -> pl.DataFrame:
        """Copies the table to the host."""
        columns = [download(name, column) for name, column in self.frame.columns.items()]
        return pl.DataFrame(columns) if columns else _without_columns(self.frame.height)

    def lazy(self) -> pl.LazyFrame:
        """Returns a frame for queries. Other engines copy the table to the host."""
        return register_io_source(_Source(self).read, schema=self.schema, validate_schema=False)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_polars().__arrow_c_stream__(requested_schema)

    def __arrow_c_device_array__(self, requested_schema: object | None = None, **options: Any) -> tuple[object, object]:
        if requested_schema is not None:
            raise NotImplementedError("a requested schema is not supported; cast the columns in a query")
        if any(value is not None for value in options.values()):
            raise NotImplementedError(f"the options {sorted(options)} of __arrow_c_device_array__ are not supported")
        return device_array(self.frame.columns, self.frame.height)

    def __repr__(self) -> str:
        return f"Table({self.frame.height} rows, {dict(self.schema)})"


def _without_columns(height: int) -> pl.DataFrame:
    return pl.DataFrame({"": range(height)}).select([]) if height == 0 else pl.DataFrame(height=height)


class _Source:
    """What Polars reads a table by; `source_of` finds it again in a plan."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def read(
        self, with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        """Gives the table to Polars, in one batch."""
        frame = self.table.frame if with_columns is None else self.table.frame.project(with_columns)
        found = Table(frame if n_rows is None else frame.slice(0, n_rows)).to_polars()
        yield found if predicate is None else found.filter(predicate)


def source_of(scan: Any) -> Table | None:
    """Returns the table that a scan's function reads; None if it reads something else."""
    for cell in getattr(scan, "__closure__", None) or ():
        owner = getattr(cell.cell_contents, "__self__", None)
        if isinstance(owner, _Source):
            return owner.table
    return None


def _column(name: str, values: Any) -> Column:
    if not isinstance(values, cp.ndarray):
        try:
            return upload(values if isinstance(values, pl.Series) else pl.Series(name, values))
        except (Refused, KeyError) as error:
            raise TypeError(f"column {name!r}: {error}; leave it to Polars") from error
    if values.ndim != 1:
        raise ValueError(f"column {name!r} has {values.ndim} dimensions; give an array of one")
    if str(values.dtype) not in _OF_ARRAYS:
        raise TypeError(f"column {name!r} has dtype {values.dtype}, which Polars has no dtype for; cast it")
    return Column(values, None, _OF_ARRAYS[str(values.dtype)]())


def from_arrays(arrays: Mapping[str, Any]) -> pl.LazyFrame:
    """Returns a lazy frame whose columns are arrays on the device.

    Parameters
    ----------
    arrays : mapping
        Name -> one-dimensional array; all of one length.

    Returns
    -------
    LazyFrame
        A frame that the engine reads without a copy, and Polars by a copy to the host.

    Raises
    ------
    ValueError
        If the lengths differ, or an array does not have one dimension.
    TypeError
        If no dtype of Polars has values of an array's dtype.

    See Also
    --------
    frames.Table, frames.Engine

    Examples
    --------
    >>> import cuprous.frames
    >>> lf = cuprous.frames.from_arrays({"x": cp.arange(4.0)})
    >>> lf.filter(pl.col("x") > 1).execute(engine=cuprous.frames.Engine(take="all"))["x"]
    array([2., 3.])
    """
    return Table.from_arrays(arrays).lazy()
