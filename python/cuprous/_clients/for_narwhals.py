"""The plugin of narwhals: `narwhals.from_native(table)`.

narwhals loads the plugins of all installed packages before it looks at an object, so this module needs neither Polars
nor the engine; `cuprous.frames.narwhals_frames` has the frames.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

#: The package whose objects narwhals shows to `is_native`.
NATIVE_PACKAGE = "cuprous"


def is_native(native_object: object, /) -> bool:
    """Returns true if an object is a table."""
    tables = sys.modules.get("cuprous.frames.table")
    return tables is not None and isinstance(native_object, tables.Table)


def __narwhals_namespace__(version: Any) -> Any:
    return import_module("cuprous.frames.narwhals_frames").TableNamespace(version=version)


__all__ = ["NATIVE_PACKAGE", "is_native"]
