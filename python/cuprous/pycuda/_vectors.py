"""CUDA's vector types as structured dtypes, such as `float3`, and constructors such as `make_float3(1, 2, 3)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_BASES = {
    "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32",
    "long": "int64", "ulong": "uint64", "longlong": "int64", "ulonglong": "uint64", "float": "float32",
    "double": "float64",
}  # fmt: skip


def _maker(dtype: np.dtype[Any]) -> Callable[..., Any]:
    return lambda *values: np.array(tuple(values), dtype)[()] if len(values) > 1 else np.array([values], dtype)[0]


for _name, _base in _BASES.items():
    for _count in (1, 2, 3, 4):
        _dtype = np.dtype([(field, _base) for field in "xyzw"[:_count]])
        globals()[f"{_name}{_count}"] = _dtype
        globals()[f"make_{_name}{_count}"] = _maker(_dtype)


def __getattr__(name: str) -> Any:
    """Raises AttributeError. Its presence tells type checkers that further names exist."""
    raise AttributeError(f"{name!r} is not a vector type")
