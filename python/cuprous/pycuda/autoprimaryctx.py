"""Creates a context for the program: the primary one, as `autoinit` does."""

from __future__ import annotations

from cuprous.pycuda.autoinit import context, device

__all__ = ["context", "device"]
