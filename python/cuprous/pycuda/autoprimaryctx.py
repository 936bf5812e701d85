"""A context for the program: the primary one, as with `autoinit`."""

from __future__ import annotations

from cuprous.pycuda.autoinit import context, device

__all__ = ["context", "device"]
