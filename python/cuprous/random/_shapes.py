"""Sizes, dtypes and parameters of the distributions."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import array, as_shape, broadcast_shapes, ndarray
from cuprous._common.operands import is_scalar


def shape_of(size: Any) -> tuple[tuple[int, ...], int]:
    """Returns the shape and number of elements of a `size` argument (None is one element without axes)."""
    if size is None:
        return (), 1
    if type(size) is int and size >= 0:
        return (size,), size
    shape = as_shape(size)
    return shape, math.prod(shape)


def parameter(value: Any) -> Any:
    """Returns a distribution's parameter: an array as it is, a scalar as a Python scalar (so that it does not promote).

    Raises
    ------
    TypeError
        For complex numbers.
    """
    if type(value) in (float, int):
        return value
    if is_scalar(value):
        value = value.item() if hasattr(value, "item") else value
        found = type(value).__name__
    else:
        value = array(value)
        found = value.dtype_name
    if found.startswith("complex"):
        raise TypeError(f"parameters of distributions are real, not {found}")
    return value


def common_shape(size: Any, *parameters: Any) -> tuple[int, ...]:
    """Returns the shape of a draw: `size`, or what the parameters broadcast to.

    Raises
    ------
    ValueError
        If the parameters do not broadcast to `size`.
    """
    shapes = [p.shape for p in parameters if isinstance(p, ndarray)]
    if size is None:
        return broadcast_shapes(*shapes)
    shape = shape_of(size)[0]
    if shapes:
        theirs = broadcast_shapes(*shapes)
        try:
            fits = broadcast_shapes(shape, theirs) == shape
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(f"Output size {shape} is not compatible with broadcast dimensions of inputs {theirs}.")
    return shape


#: A cache of the names of dtype-likes.
_FLOATS: dict[Any, str] = {None: "float64", float: "float64", "float64": "float64", "float32": "float32"}


def float_dtype(dtype: Any, name: str) -> str:
    """Returns "float32" or "float64".

    Raises
    ------
    TypeError
        For any other dtype.
    """
    try:
        return _FLOATS[dtype]
    except (KeyError, TypeError):
        found = dtypes.name_of(dtype)
    if found not in ("float32", "float64"):
        raise TypeError(f"Unsupported dtype {found!r} for {name}")
    if isinstance(dtype, type):
        _FLOATS[dtype] = found
    return found


def check(condition: bool, message: str) -> None:
    """Raises ValueError with the message unless the condition holds."""
    if not condition:
        raise ValueError(message)


def non_negative(value: Any, name: str, nan: bool = True) -> None:
    """Raises ValueError for a negative scalar, and for NaN unless `nan` is true. Arrays are not checked, because that
    would wait for the device."""
    if not isinstance(value, ndarray):
        check(not value < 0 if nan else value >= 0, f"{name} < 0" if nan else f"{name} < 0 or {name} is NaN")


def positive(value: Any, name: str, nan: bool = True) -> None:
    """Raises ValueError for a scalar that is not above zero, as `non_negative` does."""
    if not isinstance(value, ndarray):
        check(not value <= 0 if nan else value > 0, f"{name} <= 0" if nan else f"{name} <= 0 or {name} is NaN")


def probability(value: Any, name: str = "p", above_zero: bool = False) -> None:
    """Raises ValueError for a scalar outside [0, 1] (or (0, 1])."""
    if not isinstance(value, ndarray):
        check(0 <= value <= 1 and (value > 0 or not above_zero), f"{name} < 0, {name} > 1 or {name} contains NaNs")


def to_dtype(a: ndarray, name: str) -> ndarray:
    """Returns `a` itself if it has the dtype, otherwise a cast copy."""
    return a if a.dtype_name == name else _core.cast(a, name)


def in_dtype(value: Any, name: str) -> Any:
    """Returns a parameter that does not promote a computation in dtype `name`: arrays are cast, scalars kept."""
    return to_dtype(value, name) if isinstance(value, ndarray) else value


def write(out: ndarray | None, result: ndarray) -> ndarray:
    """Returns the result, or `out` after writing it there."""
    if out is None:
        return result
    _core.update(out, result)
    return out


def out_shape(out: Any, size: Any, dtype: str) -> Any:
    """Returns the size to draw, given `out`.

    Raises
    ------
    TypeError
        If `out` is not an array or has another dtype.
    ValueError
        If `size` differs from its shape.
    """
    if out is None:
        return size
    if not isinstance(out, ndarray):
        raise TypeError(f"out must be a cuprous.ndarray, not {type(out)}")
    if out.dtype_name != dtype:
        raise TypeError(f"Supplied output array has the wrong type. Expected {dtype}, got {out.dtype_name}")
    if size is not None and shape_of(size)[0] != out.shape:
        raise ValueError("size must match out.shape when used together")
    return out.shape
