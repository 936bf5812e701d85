"""The memory of a Series by Arrow's C stream: addresses of buffers, without a copy."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl


class _Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    """Arrow's `ArrowArray`."""


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))), ("private_data", ctypes.c_void_p),
]  # fmt: skip
Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))), ("private_data", ctypes.c_void_p),
]  # fmt: skip
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))), ("private_data", ctypes.c_void_p),
]  # fmt: skip

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


@dataclass(frozen=True)
class Chunk:
    """One chunk of a Series: the addresses of its buffers (None for an absent one), its length and offset."""

    length: int
    offset: int
    null_count: int
    buffers: tuple[int | None, ...]

    def values(self, dtype: str) -> memoryview:
        """Returns the memory of the second buffer, of the rows of this chunk."""
        size = ctypes.sizeof(_TYPES[dtype])
        start = (self.buffers[1] or 0) + self.offset * size
        return memoryview((_TYPES[dtype] * self.length).from_address(start))

    def words(self) -> memoryview:
        """Returns the memory of the second buffer of decimals: the low and the high int64 of each row in turn."""
        start = (self.buffers[1] or 0) + self.offset * 16
        return memoryview((ctypes.c_int64 * (2 * self.length)).from_address(start))


_TYPES: dict[str, Any] = {
    "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32, "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16, "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64,
    "float32": ctypes.c_float, "float64": ctypes.c_double,
}  # fmt: skip


@contextmanager
def chunks(series: pl.Series) -> Iterator[list[Chunk]]:
    """Gives the chunks of a Series. Their memory is the Series' own and lives as long as it does.

    Yields
    ------
    context manager
        The chunks in order; the addresses may be read inside the block.
    """
    capsule = series.__arrow_c_stream__()
    stream = _Stream.from_address(_pointer(capsule, b"arrow_array_stream"))
    arrays: list[Array] = []
    try:
        found = []
        while True:
            array = Array()
            if stream.get_next(ctypes.byref(stream), ctypes.byref(array)) != 0:
                raise RuntimeError("Polars did not export a Series")
            if not array.release:
                break
            arrays.append(array)
            addresses = tuple(array.buffers[i] for i in range(array.n_buffers))
            found.append(Chunk(array.length, array.offset, array.null_count, addresses))
        yield found
    finally:
        for array in arrays:
            array.release(ctypes.byref(array))


def buffer_key(series: pl.Series) -> tuple[Any, ...]:
    """Returns what identifies the memory of a Series while it lives: addresses, offsets and lengths.

    What an export makes anew does not: its memory is free afterwards, and another column may get it.
    """
    dtype = series.dtype
    # The last buffer of strings holds the sizes of the others; each export makes it anew.
    end = -1 if dtype == pl.String else None
    # The codes of categories are exported as a copy in another width.
    with chunks(series.to_physical() if isinstance(dtype, pl.Categorical) else series) as found:
        return (dtype, *((c.buffers[:end], c.offset, c.length) for c in found))
