"""Dtypes: limits, the default, promotion."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._core import Tensor
from cuprous.torch._args import by_name
from cuprous.torch._types import DTYPES, FLOAT8, dtype, dtype_name


class finfo:
    """Limits of a float dtype: eps, max, min, tiny, smallest_normal, resolution, bits, dtype."""

    def __init__(self, type: Any = None) -> None:
        import ml_dtypes

        if type in FLOAT8.values():
            name = type.name
            info = ml_dtypes.finfo(getattr(ml_dtypes, name))
        else:
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


def get_default_dtype() -> dtype:
    """Returns the dtype that floats get unless another is given."""
    return DTYPES[_core.t_default_dtype()]


def set_default_dtype(d: Any) -> None:
    """Sets the dtype that floats get unless another is given."""
    _core.t_set_default_dtype(dtype_name(d))


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """Returns the dtype of the result of an operation on two operands."""
    return DTYPES[_core.t_result_type(tensor1, tensor2)]


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Returns the smallest dtype to which both can be cast."""
    return DTYPES[_core.t_promote_types(type1.name, type2.name)]


def can_cast(from_: dtype, to: dtype) -> bool:
    """Returns True if a cast keeps the kind, which it does not from complex to float, from float to integer, or from
    integer to bool."""
    rank = [d.is_complex * 3 or d.is_floating_point * 2 or (d.name != "bool") * 1 for d in (from_, to)]
    return rank[0] <= rank[1]


def numel(input: Tensor) -> int:
    """Returns the number of elements."""
    return input.numel()


def is_floating_point(input: Tensor) -> bool:
    """Returns True if the dtype is a float."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Returns True if the dtype is complex."""
    return input.is_complex()


FUNCTIONS = by_name(finfo, iinfo, get_default_dtype, set_default_dtype, result_type, promote_types, can_cast, numel,
                    is_floating_point, is_complex)  # fmt: skip
