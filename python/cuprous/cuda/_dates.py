"""Dates and durations on a device: integer counts of NumPy's unit, which kernels compute with."""

from __future__ import annotations

from typing import Any

import numpy as np

import cuprous
from cuprous._array.interop import as_numba
from cuprous._common.arguments import ndarray
from cuprous._common.convert import convert, from_cuda_interface

#: The count that represents NaT.
_NAT = -(1 << 63)


def is_date(dtype: Any) -> bool:
    """Returns true if a dtype is a date or a duration."""
    return getattr(dtype, "kind", "") in ("M", "m")


class DeviceDateArray:
    """Dates or durations on a device, which kernels take. `a[i:j]` are views, `a[i]` is a date on the host;
    `a.view("int64")` is an array of their counts in the same memory.
    """

    def __init__(self, counts: ndarray, dtype: Any, has_nat: bool = False, of: DeviceDateArray | None = None) -> None:
        self._counts = counts
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self._is_view = of is not None
        #: Whether the memory contains NaT. A list, so that all views of the memory share it.
        self._nat: list[bool] = [has_nat] if of is None else of._nat

    def __getattr__(self, name: str) -> Any:
        if name not in ("shape", "ndim", "size", "nbytes", "alloc_size", "strides", "flags", "gpu_data", "stream"):
            raise AttributeError(f"'DeviceDateArray' object has no attribute {name!r}; view counts: a.view('int64')")
        return getattr(self._counts, name)

    @property
    def _launch_dates(self) -> tuple[ndarray, str]:
        if self._nat[0]:
            raise ValueError("[cuda.jit] NaT is not supported in kernels; fill it, or pass a mask as well")
        return self._counts, repr(np.datetime_data(self.dtype))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        face: dict[str, Any] = self._counts.__cuda_array_interface__
        return {**face, "typestr": self.dtype.str, "descr": self.dtype.descr}

    def view(self, dtype: Any) -> Any:
        """The same memory as counts, or as dates or durations of another unit.

        Raises
        ------
        TypeError
            For another dtype.
        """
        dtype = np.dtype(dtype)
        if is_date(dtype):
            return DeviceDateArray(self._counts, dtype, of=self)
        return self._counts.view(dtype)

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """Copies the dates to a NumPy array, to `ary` if it is passed.

        Raises
        ------
        TypeError
            If `ary` has another dtype.
        """
        if ary is not None and ary.dtype != self.dtype:
            raise TypeError(f"[copy_to_host] dtypes {ary.dtype} and {self.dtype} differ")
        counts = None if ary is None else ary.view(np.int64)
        found = self._counts.copy_to_host(counts, stream).view(self.dtype)
        return found if ary is None else ary

    get = copy_to_host

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copies an array of dates on the host or a device, of the same shape, to this array and casts to its unit."""
        source = ary.copy_to_host() if isinstance(ary, DeviceDateArray) else np.asarray(ary)
        dates = source.astype(self.dtype, casting="same_kind")
        self._nat[0] = bool(np.isnat(dates).any()) or (self._is_view and self._nat[0])
        self._counts.copy_to_device(dates.view(np.int64), stream)

    def __getitem__(self, key: Any) -> Any:
        part = self._counts[key]
        if part.ndim:
            return DeviceDateArray(part, self.dtype, of=self)
        return cuprous.asnumpy(part).view(self.dtype)[()]

    def __setitem__(self, key: Any, value: Any) -> None:
        # The ellipsis makes a view of a single element too, for writing to it.
        at = (*key, ...) if isinstance(key, tuple) and ... not in key else key if isinstance(key, tuple) else (key, ...)
        DeviceDateArray(self._counts[at], self.dtype, of=self).copy_to_device(value)

    def __len__(self) -> int:
        return len(self._counts)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("`copy=False` is not supported. A copy is always created.")
        return np.asarray(self.copy_to_host(), dtype)

    def __repr__(self) -> str:
        return f"<{self._counts.shape} of {self.dtype} on {self._counts.device_name}>"


def empty(shape: Any, dtype: Any, order: str, stream: Any) -> DeviceDateArray:
    """Dates with arbitrary contents, on the default device."""
    counts: Any = cuprous.empty(shape, np.int64, order=order)
    return DeviceDateArray(as_numba(counts, stream), dtype)


def copied(dates: Any, stream: Any) -> DeviceDateArray:
    """Copies dates from the host to the default device."""
    return DeviceDateArray(
        as_numba(convert(dates.view(np.int64), copy=True), stream), dates.dtype, bool(np.isnat(dates).any())
    )


def of_interface(owner: Any, interface: dict[str, Any]) -> DeviceDateArray:
    """Returns an array on the memory of another library's dates."""
    counts: Any = from_cuda_interface(owner, {**interface, "typestr": "<i8"})
    return DeviceDateArray(counts, interface["typestr"], bool((counts == _NAT).any()))
