"""NumPy's `lib`: `stride_tricks`."""

from __future__ import annotations

from cuprous.lib import stride_tricks

__all__ = ["stride_tricks"]
