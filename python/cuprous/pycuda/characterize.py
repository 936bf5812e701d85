"""PyCUDA's `characterize`: what a GPU can do."""

from __future__ import annotations

import struct
from typing import Any

from cuprous.pycuda.tools import parse_c_arg


def has_double_support() -> bool:
    """Whether float64 works: everywhere."""
    return True


def platform_bits() -> int:
    """Bits of an address."""
    return struct.calcsize("P") * 8


def sizeof(type_name: str, preamble: str = "") -> Any:
    """Bytes of a type of C.

    Raises:
        NotImplementedError: with a preamble.
        ValueError: for a type that nobody registered.
    """
    if preamble:
        raise NotImplementedError("[sizeof] preamble= is not supported; register a dtype with get_or_register_dtype")
    return parse_c_arg(f"{type_name} x").dtype.itemsize


__all__ = ["has_double_support", "platform_bits", "sizeof"]
