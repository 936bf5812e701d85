"""Files that Polars or pylibcudf reads and this library computes with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from cuprous.frames.columns import pylibcudf_reader
from cuprous.frames.columns.frame import Frame
from cuprous.frames.columns.transfer import upload
from cuprous.frames.reasons import Refused, refuse_unless


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files with Polars' default options.

    Parameters
    ----------
    paths : tuple of str
        The files, in order.
    reader : str, default "polars"
        "polars", which decodes on the host, or "pylibcudf", which decodes on the GPU what it has dtypes for.
    """

    paths: tuple[str, ...]
    reader: str = "polars"

    @cached_property
    def _height(self) -> int:
        return self._collected(pl.len()).item()

    def __len__(self) -> int:
        return self._height

    def frame(self, schema: dict[str, Any], rows: range | None = None) -> tuple[Frame, int]:
        """Returns some columns on the current device, and how many bytes were copied there.

        Parameters
        ----------
        schema : dict
            Their names and dtypes.
        rows : range, optional
            Which rows; None for all.

        Raises
        ------
        Refused
            If the reader cannot read them without options, or reads other dtypes.
        """
        columns = pylibcudf_reader.decoded(self.paths, schema, rows) if self.reader == "pylibcudf" else {}
        rest = {name: dtype for name, dtype in schema.items() if name not in columns}
        height, moved = len(self) if rows is None else len(rows), 0
        if rest:
            read = self._collected(*rest, rows=rows)
            refuse_unless(dict(read.schema) == rest, f"the files have the columns {dict(read.schema)}")
            columns |= {name: upload(read.get_column(name)) for name in rest}
            height, moved = read.height, int(read.estimated_size())
        return Frame({name: columns[name] for name in schema}, height), moved

    def frames(self, schema: dict[str, Any], rows: int) -> Iterator[Frame]:
        """Gives some columns on the current device in blocks of adjacent rows; Polars decodes the next one meanwhile.

        Parameters
        ----------
        schema : dict
            Their names and dtypes.
        rows : int
            The most rows of a block.

        Raises
        ------
        Refused
            If the reader cannot read them without options, or reads other dtypes.
        """
        if self.reader == "pylibcudf":
            for begin in range(0, len(self), rows):
                yield self.frame(schema, range(begin, min(begin + rows, len(self))))[0]
            return
        lf = pl.scan_parquet(list(self.paths), glob=False).select(*schema)
        try:
            for batch in lf.collect_batches(chunk_size=rows, maintain_order=True, engine="streaming"):
                refuse_unless(dict(batch.schema) == schema, f"the files have the columns {dict(batch.schema)}")
                for begin in range(0, batch.height, rows):
                    part = batch.slice(begin, rows)
                    yield Frame({name: upload(part.get_column(name)) for name in schema}, part.height)
        except (PolarsError, OSError) as error:
            raise Refused(_unreadable(error)) from error

    def _collected(self, *columns: Any, rows: range | None = None) -> pl.DataFrame:
        try:
            lf = pl.scan_parquet(list(self.paths), glob=False).select(*columns)
            lf = lf if rows is None else lf.slice(rows.start, len(rows))
            return lf.collect(engine="streaming")
        except (PolarsError, OSError) as error:
            raise Refused(_unreadable(error)) from error


def _unreadable(error: Exception) -> str:
    return f"Polars does not read the files without options: {str(error).splitlines()[0]}"
