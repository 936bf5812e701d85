"""The plugin of narwhals: `narwhals.from_native(table)`.

narwhals loads the plugins of all installed packages before it looks at an object, so this module needs neither Polars
nor the engine; `cuprous.frames.narwhals_frames` has the frames.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cuprous.frames.narwhals_frames import TableNamespace

#: The package whose objects narwhals shows to `is_native`.
NATIVE_PACKAGE = "cuprous"


def is_native(native_object: object, /) -> bool:
    """Returns true if an object is a table."""
    tables = sys.modules.get("cuprous.frames.table")
    return tables is not None and isinstance(native_object, tables.Table)


def __narwhals_namespace__(version: Any) -> TableNamespace:
    from cuprous.frames.narwhals_frames import TableNamespace

    return TableNamespace(version=version)


__all__ = ["NATIVE_PACKAGE", "is_native"]
