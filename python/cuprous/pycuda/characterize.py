"""PyCUDA's `characterize`: capabilities of a GPU."""

from __future__ import annotations

import struct
from typing import Any

from cuprous.pycuda.tools import parse_c_arg


def has_double_support() -> bool:
    """Returns true, as float64 works everywhere.

    See Also
    --------
    pycuda.tools.DeviceData, pycuda.driver.Device

    Examples
    --------
    >>> characterize.has_double_support()
    True
    """
    return True


def platform_bits() -> int:
    """Returns the number of bits of an address.

    See Also
    --------
    pycuda.characterize.sizeof

    Examples
    --------
    >>> characterize.platform_bits()
    64
    """
    return struct.calcsize("P") * 8


def sizeof(type_name: str, preamble: str = "") -> Any:
    """Returns the size in bytes of a C type.

    Raises
    ------
    NotImplementedError
        If `preamble` is given.
    ValueError
        For a type that is not registered.

    See Also
    --------
    pycuda.characterize.platform_bits, pycuda.tools.dtype_to_ctype

    Examples
    --------
    >>> characterize.sizeof("double")
    8
    """
    if preamble:
        raise NotImplementedError("[sizeof] preamble= is not supported; register a dtype with get_or_register_dtype")
    return parse_c_arg(f"{type_name} x").dtype.itemsize


__all__ = ["has_double_support", "platform_bits", "sizeof"]
