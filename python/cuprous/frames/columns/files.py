"""Files that Polars reads and this library computes with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from cuprous.frames.reasons import Refused


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files with Polars' default options.

    Args:
        paths: the files, in order.
    """

    paths: tuple[str, ...]

    @cached_property
    def _height(self) -> int:
        return self._collected(pl.len()).item()

    def __len__(self) -> int:
        return self._height

    def read(self, schema: dict[str, Any]) -> pl.DataFrame:
        """Returns some columns.

        Args:
            schema: their names and dtypes.

        Raises:
            Refused: if Polars cannot read them without options, or reads other dtypes.
        """
        found = self._collected(*schema)
        if dict(found.schema) != schema:
            raise Refused(f"the files have the columns {dict(found.schema)}")
        return found

    def batches(self, schema: dict[str, Any], rows: int) -> Iterator[pl.DataFrame]:
        """Gives some columns in batches of adjacent rows, which Polars decodes while earlier ones are used.

        Args:
            schema: their names and dtypes.
            rows: the most rows of a batch.

        Raises:
            Refused: if Polars cannot read them without options, or reads other dtypes.
        """
        lf = pl.scan_parquet(list(self.paths), glob=False).select(*schema)
        try:
            for batch in lf.collect_batches(chunk_size=rows, maintain_order=True, engine="streaming"):
                if dict(batch.schema) != schema:
                    raise Refused(f"the files have the columns {dict(batch.schema)}")
                for begin in range(0, batch.height, rows):
                    yield batch.slice(begin, rows)
        except (PolarsError, OSError) as error:
            raise Refused(_unreadable(error)) from error

    def _collected(self, *columns: Any) -> pl.DataFrame:
        try:
            return pl.scan_parquet(list(self.paths), glob=False).select(*columns).collect(engine="streaming")
        except (PolarsError, OSError) as error:
            raise Refused(_unreadable(error)) from error


def _unreadable(error: Exception) -> str:
    return f"Polars does not read the files without options: {str(error).splitlines()[0]}"
