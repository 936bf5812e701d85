"""Skips the tests of tables where Polars is not installed, or is older than the engine needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


class _NoPolars(pytest.File):
    """A file of tests that needs Polars; it is one skipped item."""

    def collect(self) -> list[pytest.Item]:
        return [_Skipped.from_parent(self, name="polars")]


class _Skipped(pytest.Item):
    def runtest(self) -> None:
        pytest.skip("Polars 1.44 or newer is not installed (requirements-clients.txt)")


def _is_installed() -> bool:
    try:
        import polars
    except ModuleNotFoundError:
        return False
    return hasattr(polars, "InMemoryEngine")


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> Any:
    """Gives the files of this folder up where Polars is missing, and says so."""
    return None if _is_installed() else _NoPolars.from_parent(parent, path=module_path)
