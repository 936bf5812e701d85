"""Utilities around training: `data` and other modules, each imported on first use. `tensorboard` needs another package
and must be imported explicitly."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name == "tensorboard" or importlib.util.find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
