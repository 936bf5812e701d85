"""NumPy's constants."""

from __future__ import annotations

e = 2.718281828459045
euler_gamma = 0.5772156649015329
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793

__all__ = ["e", "euler_gamma", "inf", "nan", "newaxis", "pi"]
