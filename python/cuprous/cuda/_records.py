"""Arrays of records on a device: NumPy's structured dtypes, whose elements the engine's own arrays do not have."""

from __future__ import annotations

from typing import Any

import numpy as np

import cuprous
from cuprous._array.interop import copy_to_device
from cuprous._common.arguments import ndarray


class DeviceRecordArray:
    """Records on a device, packed in C order, which kernels take. `a[i]`, `a[i:j]` are views; `a[i]["x"]` reads a field
    on the host, `a[i]["x"] = 3` writes it: both copy the records, so that is for a few of them.
    """

    def __init__(self, memory: ndarray, dtype: Any, shape: tuple[int, ...], path: tuple[Any, ...] = ()) -> None:
        self._bytes = memory
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.shape = shape
        self._path = path

    @property
    def size(self) -> int:
        """Records."""
        return int(np.prod(self.shape, dtype=int))

    @property
    def ndim(self) -> int:
        """Axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes."""
        return int(self._bytes.size)

    alloc_size = nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one record to the next along each axis."""
        return tuple(np.empty(self.shape, "V1").strides[k] * self.dtype.itemsize for k in range(self.ndim))

    @property
    def _launch_records(self) -> tuple[ndarray, np.dtype[Any], tuple[int, ...]]:
        if self._path:
            raise AttributeError("cannot pass a field of a device record array to a kernel; pass the array")
        return self._bytes, self.dtype, self.shape

    def _whole(self) -> Any:
        return cuprous.asnumpy(self._bytes).view(self.dtype).reshape(self.shape)

    def _host(self, whole: Any) -> Any:
        for key in self._path:
            whole = whole[key]
        return whole

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """Copies the records to a NumPy array, to `ary` if it is passed.

        Raises
        ------
        ValueError
            If `ary` has another shape.
        """
        found = self._host(self._whole())
        if ary is None:
            return np.array(found, self.dtype if not self._path else None)
        if ary.shape != found.shape:
            raise ValueError(f"[copy_to_host] shapes {ary.shape} and {found.shape} differ")
        ary[...] = found
        return ary

    get = copy_to_host

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copies the records of another array of the same dtype and shape into this one.

        Raises
        ------
        ValueError
            For another shape.
        """
        source = ary.copy_to_host() if isinstance(ary, DeviceRecordArray) else np.asarray(ary, self.dtype)
        if source.shape != self.shape:
            raise ValueError(f"[copy_to_device] shapes {source.shape} and {self.shape} differ")
        self._store(source)

    def _store(self, records: Any) -> None:
        packed = np.ascontiguousarray(records).reshape(-1).view(np.uint8)
        if packed.size:
            copy_to_device(self._bytes, packed)

    def _part(self, key: Any) -> DeviceRecordArray | None:
        """The view that a place or a part without step along the first axis is."""
        if self._path or not self.ndim:
            return None
        each = int(np.prod(self.shape[1:], dtype=int)) * self.dtype.itemsize
        if isinstance(key, (int, np.integer)):
            place = range(self.shape[0])[key]
            return DeviceRecordArray(self._bytes[place * each : (place + 1) * each], self.dtype, self.shape[1:])
        if isinstance(key, slice) and key.step in (None, 1):
            start, stop, _ = key.indices(self.shape[0])
            shape = (max(stop - start, 0), *self.shape[1:])
            return DeviceRecordArray(self._bytes[start * each : max(stop, start) * each], self.dtype, shape)
        return None

    def __getitem__(self, key: Any) -> Any:
        if (part := self._part(key)) is not None:
            return part
        found = self._host(self._whole())[key]
        if not np.ndim(found) and not found.dtype.names:
            return found[()]
        return DeviceRecordArray(self._bytes, self.dtype, self.shape, (*self._path, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        whole = self._whole()
        self._host(whole)[key] = value.copy_to_host() if isinstance(value, DeviceRecordArray) else value
        self._store(whole)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a single record")
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("`copy=False` is not supported. A copy is always created.")
        return np.asarray(self.copy_to_host(), dtype)

    def __repr__(self) -> str:
        return f"<{self.shape} records of {self.dtype} on {self._bytes.device_name}>"


def empty(shape: Any, dtype: Any) -> DeviceRecordArray:
    """Records with arbitrary contents, on the default device."""
    shape = tuple(map(int, shape)) if np.ndim(shape) else (int(shape),)
    dtype = np.dtype(dtype)
    return DeviceRecordArray(cuprous.empty(int(np.prod(shape, dtype=int)) * dtype.itemsize, np.uint8), dtype, shape)


def copied(records: Any) -> DeviceRecordArray:
    """Copies records from the host to the default device."""
    made = empty(records.shape, records.dtype) if records.shape else empty((1,), records.dtype)[0]
    made.copy_to_device(records)
    return made
