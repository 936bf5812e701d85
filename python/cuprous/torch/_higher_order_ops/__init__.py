"""Functions that take functions."""

from __future__ import annotations

from typing import Any

from cuprous.torch import _placeholders


def __getattr__(name: str) -> Any:
    return _placeholders.get("_higher_order_ops", name)
