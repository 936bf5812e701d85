"""`torch.autograd.profiler`: the older names of `torch.profiler`."""

from __future__ import annotations

from typing import Any

from cuprous.torch import _placeholders
from cuprous.torch.profiler import profile, record_function


def __getattr__(name: str) -> Any:
    return _placeholders.get("autograd.profiler", name)


__all__ = ["profile", "record_function"]
