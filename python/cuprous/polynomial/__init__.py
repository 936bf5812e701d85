"""The part of `numpy.polynomial` that CuPy has: functions of coefficients from the lowest power up."""

from __future__ import annotations

from cuprous.polynomial import polynomial, polyutils

__all__ = ["polynomial", "polyutils"]
