"""NumPy's `lib`: `array_utils` and `stride_tricks`."""

from __future__ import annotations

from cuprous.lib import array_utils, stride_tricks

__all__ = ["array_utils", "stride_tricks"]
