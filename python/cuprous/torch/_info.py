"""Limits of dtypes: `finfo`, `iinfo`."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous.torch._types import dtype_name


class finfo:
    """Limits of a float dtype: eps, max, min, tiny, smallest_normal, resolution, bits, dtype."""

    def __init__(self, type: Any = None) -> None:
        import ml_dtypes

        name = _core.t_default_dtype() if type is None else dtype_name(type)
        info = ml_dtypes.finfo(_dtypes.numpy_dtype(name))
        self.dtype, self.bits = name, int(info.bits)
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = float(info.resolution)

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})")  # fmt: skip


class iinfo:
    """Limits of an integer dtype: max, min, bits, dtype."""

    def __init__(self, type: Any) -> None:
        name = dtype_name(type)
        self.dtype, self.bits = name, 8 * _dtypes.itemsize(name)
        self.max, self.min = int(_dtypes.highest(name)), int(_dtypes.lowest(name))

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
