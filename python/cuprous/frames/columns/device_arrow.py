"""Columns by Arrow's C interfaces, of devices and of the host: structures over the memory of arrays."""

from __future__ import annotations

import ctypes
from itertools import count
from typing import Any

import numpy as np
import polars as pl

import cuprous as cp
from cuprous import _core
from cuprous.frames.columns.arrow import Array
from cuprous.frames.columns.column import Column
from cuprous.frames.columns.dtypes import is_coded

#: The number of the CPU, in Arrow as in DLPack.
_CPU = 1


class _DeviceArray(ctypes.Structure):
    _fields_ = [
        ("array", Array), ("device_id", ctypes.c_int64), ("device_type", ctypes.c_int32),
        ("sync_event", ctypes.c_void_p), ("reserved", ctypes.c_int64 * 3),
    ]  # fmt: skip


#: What exported structures refer to, until their consumers release them.
_exported: dict[int, list[Any]] = {}
_numbers = count(1)

_Release = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _release(pointer: Any) -> None:
    array = pointer.contents
    for k in range(array.n_children):
        child = ctypes.cast(array.children, ctypes.POINTER(ctypes.POINTER(Array)))[k]
        if child.contents.release:
            child.contents.release(child)
    _exported.pop(array.private_data, None)
    # The consumer sees that the structure has been released.
    ctypes.c_void_p.from_address(ctypes.addressof(array) + Array.release.offset).value = None


def _destroyed(capsule: int) -> None:
    address = _get_pointer(capsule, _get_name(capsule))
    array = _DeviceArray.from_address(address).array
    if array.release:
        array.release(ctypes.byref(array))
    _capsules.pop(address, None)


_release_function = _Release(_release)
_destructor = _Destructor(_destroyed)
#: Names of capsules: a device's structure begins with the host's.
_NAME, _HOST_NAME = b"arrow_device_array", b"arrow_array"
#: The structures of capsules, by their addresses.
_capsules: dict[int, _DeviceArray] = {}
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, _Destructor]
# The capsule may be dying: it is passed as an address.
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_GetName", ctypes.pythonapi))


def _bits(mask: Any) -> Any:
    """A mask as Arrow's bits."""
    tiles = (int(mask.size) + 4095) // 4096
    return _core.pack_mask(mask)[tiles:]


def _address(array: Any) -> int:
    on_cpu = array.__dlpack_device__()[0] == _CPU
    interface = array.__array_interface__ if on_cpu else array.__cuda_array_interface__
    return interface["data"][0]


def _structure(length: int, nulls: int, buffers: list[Any], children: list[Array]) -> Array:
    """A structure over arrays (None for an absent one) that holds them until it is released."""
    addresses = (ctypes.c_void_p * len(buffers))(*(None if one is None else _address(one) for one in buffers))
    pointers = (ctypes.POINTER(Array) * len(children))(*map(ctypes.pointer, children))
    number = next(_numbers)
    result = Array(
        length=length, null_count=nulls, offset=0, n_buffers=len(buffers), n_children=len(children),
        buffers=ctypes.cast(addresses, ctypes.POINTER(ctypes.c_void_p)),
        children=ctypes.cast(pointers, ctypes.c_void_p) if children else None, dictionary=None,
        release=_release_function, private_data=number,
    )  # fmt: skip
    _exported[number] = [buffers, addresses, children, pointers]
    return result


def _column(name: str, column: Column) -> Array:
    if is_coded(column.dtype):
        raise TypeError(
            f"column {name!r} has dtype {column.dtype}, whose dictionary is on the host; select other columns, or use "
            "__arrow_c_stream__, which copies"
        )
    valid = None if column.valid is None else cp.ascontiguousarray(column.valid)
    nulls = 0 if valid is None else len(column) - int(valid.sum())
    values = cp.ascontiguousarray(column.values)
    empty = len(column) == 0
    if column.dtype == pl.Boolean and not empty:
        values = _bits(values)
    if column.dtype.is_decimal():  # of 128 bits in Arrow
        values = cp.ascontiguousarray(cp.stack([values, values >> 63], axis=1))
    return _structure(
        len(column), nulls, [None if valid is None or empty else _bits(valid), None if empty else values], []
    )


def device_array(columns: dict[str, Column], height: int) -> tuple[Any, Any]:
    """Returns the capsules of the schema and of the record batch of some columns.

    Raises
    ------
    TypeError
        If a column has strings.
    """
    children = [_column(name, column) for name, column in columns.items()]
    arrays = [column.values for column in columns.values()]
    cp.synchronize()
    kind, number = arrays[0].__dlpack_device__() if arrays else (_CPU, 0)
    schema = pl.Schema({name: column.dtype for name, column in columns.items()}).__arrow_c_schema__()
    return schema, _capsule(_structure(height, 0, [None], children), kind, number, _NAME)


def _capsule(array: Array, kind: int, number: int, name: bytes) -> Any:
    structure = _DeviceArray(
        array=array, device_id=-1 if kind == _CPU else number, device_type=kind, sync_event=None
    )  # fmt: skip
    address = ctypes.addressof(structure)
    _capsules[address] = structure
    return _new_capsule(address, name, _destructor)


class _Batch:
    """A record batch that Polars reads once."""

    def __init__(self, schema: Any, array: Array) -> None:
        self._schema, self._array = schema, array

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[Any, Any]:
        return self._schema, _capsule(self._array, _CPU, 0, _HOST_NAME)


def decimal_series(name: str, values: np.ndarray, valid: np.ndarray | None, dtype: Any) -> pl.Series:
    """Returns a Series of decimals.

    Parameters
    ----------
    name : str
        Its name.
    values : numpy.ndarray
        Counts of the last digit, of int64.
    valid : numpy.ndarray or None
        Which of them are not null; None for all.
    dtype : dtype
        The dtype of Polars.
    """
    words = np.stack([values, values >> 63], axis=1)  # of 128 bits in Arrow
    bits = None if valid is None else np.packbits(valid, bitorder="little")
    nulls = 0 if valid is None else len(values) - int(valid.sum())
    column = _structure(len(values), nulls, [bits, words], [])
    schema = pl.Schema({name: dtype}).__arrow_c_schema__()
    return pl.DataFrame(_Batch(schema, _structure(len(values), 0, [None], [column]))).to_series()
