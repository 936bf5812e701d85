"""Operands that are not device arrays: recognition and conversion of scalars, NumPy arrays and other objects."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from cuprous import _core
from cuprous._common import transfers
from cuprous._common.convert import convert
from cuprous._core import ndarray

PYTHON_SCALARS = (bool, int, float, complex)


def host_operand(x: Any) -> bool:
    """Returns true for objects that NumPy converts to arrays, unless they implement operators with device arrays."""
    if isinstance(x, (list, tuple)):
        return True
    kind = type(x)
    if isinstance(x, (str, bytes, _core.Tensor)) or hasattr(kind, "__cuda_array_interface__"):
        return False
    if kind.__module__ == "numpy" and kind.__name__ in ("ndarray", "memmap"):
        return True
    if hasattr(kind, "__array_ufunc__") or getattr(x, "__array_priority__", 0) > ndarray.__array_priority__:
        return False
    return hasattr(kind, "__array__") or hasattr(kind, "__array_interface__") or isinstance(x, (bytearray, memoryview))


_F = TypeVar("_F", bound=Callable[..., Any])


def on_array_device(function: _F) -> _F:
    """Lets a function make its new arrays on the device of the first array among its arguments or in a list."""

    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        before = _core.enter_device_of(args or tuple(kwargs.values()))
        if before is None:
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        finally:
            _core.leave_device(before)

    return cast(_F, inside)


def operand_like(like: ndarray, x: Any) -> Any:
    """Converts a list or NumPy array to an array on the device of `like`, the other operand (a hook of the native
    type). Returns None if the object implements the operator itself.

    Raises
    ------
    TypeError
        For an unsupported dtype, and in the mode "refuse".
    """
    if hasattr(type(x), "__cupy_get_ndarray__"):
        return convert(x)
    return _uploaded(like, x) if host_operand(x) else None


@on_array_device
def _uploaded(like: ndarray, x: Any) -> ndarray:
    transfers.count_upload(x, like.device_name)
    return convert(x)


def compare(a: ndarray, x: Any, equal: bool) -> Any:
    """Returns `a == x` or `a != x` for an `x` that is neither a device array nor a scalar (a hook of the native type).

    Objects that cannot become device arrays are compared on the host by NumPy, element by element.
    """
    kind = type(x)
    if host_operand(x):
        try:
            other = operand_like(a, x)
        except TypeError:  # a list of strings, for example
            if transfers.refuses():
                raise
        else:
            return _core.map("equal" if equal else "not_equal", a, other)
    elif isinstance(x, _core.Tensor) or hasattr(kind, "__array_ufunc__") or hasattr(x, "__array_priority__"):
        return NotImplemented
    elif kind.__eq__ is object.__eq__ and (equal or kind.__ne__ is object.__ne__):  # compares by identity
        return _core.to_device(_core.full(a.shape, not equal, "bool"), a.device_name)
    import numpy as np

    host = a.get()
    found = host.__eq__(x) if equal else host.__ne__(x)
    return found if found is NotImplemented else _core.from_numpy(np.asarray(found, bool), a.device_name)


def is_numpy_array(x: object) -> bool:
    """Returns true for `numpy.ndarray` (and its subclasses), without importing NumPy."""
    return any(t.__name__ == "ndarray" and t.__module__ == "numpy" for t in type(x).__mro__)


def is_scalar(x: object) -> bool:
    """Returns true for Python's and NumPy's scalars."""
    if isinstance(x, PYTHON_SCALARS):
        return True
    return any(t.__name__ == "generic" and t.__module__ == "numpy" for t in type(x).__mro__)


def unsupported(x: object) -> TypeError:
    """Returns the TypeError for an argument of a type that the function does not support."""
    return TypeError(f"Unsupported type {type(x)}; move it to the device with cp.asarray(...) first")


def is_masked(x: object) -> bool:
    """Returns true for NumPy's masked arrays, whose masks would be lost."""
    return is_numpy_array(x) and hasattr(x, "mask") and hasattr(x, "fill_value")
