"""Tables: a Polars engine, and tables whose columns are arrays.

`lf.collect(engine=cuprous.frames.Engine())` runs what fits of a query of Polars on this library, and leaves the rest
to Polars; `cuprous.polars` is Polars with that engine as default. Polars is imported when the first of these names is
used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuprous._exports import Exports as _Exports

if TYPE_CHECKING:
    from cuprous.frames.engine import Engine, report
    from cuprous.frames.reporting import Entry, Report
    from cuprous.frames.table import Table, from_arrays

_PUBLIC = {
    ".engine": "Engine report",
    ".reporting": "Entry Report",
    ".table": "Table from_arrays",
}
_EXPORTS = _Exports(__name__, _PUBLIC)
__all__ = ["Engine", "Entry", "Report", "Table", "from_arrays", "report"]


if not TYPE_CHECKING:  # checkers report names that do not exist

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return _EXPORTS.get(name)
        except ModuleNotFoundError as error:
            if error.name != "polars":
                raise
            raise ModuleNotFoundError(
                "cuprous.frames needs Polars 1.44 or newer, which is not installed; run: pip install 'cuprous[polars]'",
                name="polars",
            ) from None


def __dir__() -> list[str]:
    return sorted(__all__)
