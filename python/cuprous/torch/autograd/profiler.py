"""`torch.autograd.profiler`: the older names of `torch.profiler`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuprous.torch import _placeholders
from cuprous.torch.profiler import profile, record_function

if not TYPE_CHECKING:  # type checkers refuse names that do not exist

    def __getattr__(name: str) -> Any:
        return _placeholders.get("autograd.profiler", name)


__all__ = ["profile", "record_function"]
