"""Polars with the engine of `cuprous.frames` as default: `import cuprous.polars as pl`.

All names are Polars' own. Importing this module sets the engine for lazy queries of the whole process;
`cuprous.polars.uninstall()` takes it back.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cuprous import frames as _frames

if TYPE_CHECKING:
    from polars import *  # noqa: F403

#: The engine that lazy queries run on.
engine = _frames.Engine()
_polars = importlib.import_module("polars")  # after the line above, whose error says what to install
_polars.Config.set_engine_affinity(engine)


def uninstall() -> None:
    """Takes the default engine back: lazy queries run in Polars again.

    Examples
    --------
    >>> import cuprous.polars
    >>> cuprous.polars.uninstall()
    """
    _polars.Config.set_engine_affinity()


if not TYPE_CHECKING:  # checkers report names that do not exist

    def __getattr__(name: str) -> Any:
        return getattr(_polars, name)


def __dir__() -> list[str]:
    return sorted({*dir(_polars), "engine", "uninstall"})
