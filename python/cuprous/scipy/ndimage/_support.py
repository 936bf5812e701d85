"""Helpers of all filters: per-axis arguments, modes, outputs and dtypes. The rules and error messages are SciPy's.

As in SciPy, integers and booleans are filtered in float64 and truncated in the result. float32 and float16 are filtered
in float32 (in SciPy, float64); complex numbers by real and imaginary parts.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, TypeAlias

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray
from cuprous._common.operands import is_numpy_array, unsupported

ArrayLike: TypeAlias = Any
#: None, a dtype, or an array that receives the result.
Output: TypeAlias = Any
Mode: TypeAlias = Any

#: The modes, and the engine's names of their extensions.
MODES = {mode: mode for mode in ("reflect", "constant", "nearest", "mirror", "wrap")}
MODES |= {"grid-mirror": "reflect", "grid-constant": "constant", "grid-wrap": "wrap"}


def edge(mode: Any) -> str:
    """Returns the engine's name for a mode.

    Raises
    ------
    RuntimeError
        For an unknown mode, or a sequence where the filter takes one mode for all axes.
    """
    if not isinstance(mode, str):
        raise RuntimeError("A sequence of modes is not supported")
    try:
        return MODES[mode]
    except KeyError:
        raise RuntimeError(f"boundary mode not supported: {mode!r}") from None


def per_axis(value: Any, count: int) -> list[Any]:
    """Returns one value for each axis.

    Raises
    ------
    RuntimeError
        If a sequence has the wrong length.
    """
    if isinstance(value, str) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return values


def check_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """Returns distinct non-negative axes; None means all.

    Raises
    ------
    ValueError
        For axes that do not exist or repeat.
    """
    if axes is None:
        return tuple(range(ndim))
    if hasattr(axes, "__index__") and not isinstance(axes, Iterable):
        axes = (axes,)
    if not isinstance(axes, Iterable):
        raise ValueError("axes must be an integer, iterable of integers, or None")
    found = [operator.index(axis) for axis in axes]
    for axis in found:
        if not -ndim <= axis < ndim:
            raise ValueError(f"specified axis: {axis} is out of range")
    result = tuple(axis % ndim for axis in found)
    if len(set(result)) != len(result):
        raise ValueError("axes must be unique")
    return result


def spread(values: list[Any], axes: tuple[int, ...], ndim: int, rest: Any) -> list[Any]:
    """Returns one value for each axis: `values` at `axes`, `rest` elsewhere."""
    result = [rest] * ndim
    for value, axis in zip(values, axes, strict=True):
        result[axis] = value
    return result


def in_order(axes: tuple[int, ...], origin: Any, ndim: int) -> tuple[tuple[int, ...], list[Any]]:
    """Returns sorted axes and their origins. As in SciPy, a footprint's axes follow the input's ascending axes in any
    order of `axes`, while origins follow the order of `axes` unless it names all axes."""
    origins = per_axis(origin, len(axes))
    if len(axes) < ndim:
        origins = [o for _, o in sorted(zip(axes, origins, strict=True), key=lambda pair: pair[0])]
    return tuple(sorted(axes)), origins


def beyond(name: str, cval: Any) -> bool:
    """Returns true if an integer dtype cannot hold the constant, so that the filter must compute in float64, like
    SciPy."""
    if _dtypes.kind(name) not in "biu":
        return False
    low, high = (0, 1) if name == "bool" else (_dtypes.lowest(name), _dtypes.highest(name))
    return not low - 1 < float(cval) < high + 1


def source(input: ArrayLike, real: bool = False) -> ndarray:
    """Returns the input as an array.

    Raises
    ------
    TypeError
        For complex arrays, which have no order, if it must be `real`.
    """
    a = array(input)
    if real and is_complex(a):
        raise TypeError("Complex type not supported")
    return a


def is_complex(a: ndarray) -> bool:
    """Returns true for complex64 and complex128."""
    return _dtypes.kind(a.dtype_name) == "c"


def target(
    a: ndarray, output: Output, complex_output: bool = False, shape: tuple[int, ...] | None = None
) -> tuple[str, ndarray | None]:
    """Returns the result's dtype, and the array that the caller passed for it, or None. The result has the input's
    shape unless `shape` is given.

    Raises
    ------
    RuntimeError
        If the array has another shape, or is real for a complex result.
    """
    if output is None:
        return _core.promote_types(a.dtype_name, "complex64") if complex_output else a.dtype_name, None
    if is_numpy_array(output):
        raise unsupported(output)
    if isinstance(output, ndarray):
        expected = a.shape if shape is None else shape
        if output.shape != expected:
            raise RuntimeError(f"output shape not correct: {output.shape}, expected {expected}")
        if complex_output and not is_complex(output):
            raise RuntimeError("output must have complex dtype")
        return output.dtype_name, output
    name = _dtypes.name_of(output)
    if complex_output and _dtypes.kind(name) != "c":
        if isinstance(output, str):
            raise RuntimeError("output must have complex dtype")
        import warnings

        warnings.warn("promoting specified output dtype to complex", stacklevel=4)
        name = _core.promote_types(name, "complex64")
    return name, None


def prepared(input: ArrayLike, output: Output) -> tuple[ndarray, str, ndarray | None]:
    """Returns the input as an array, the result's dtype, and the caller's array for the result or None."""
    a = source(input)
    return a, *target(a, output, is_complex(a))


def check_origin(size: int, origin: int) -> None:
    """Checks the length of a window along an axis, and the shift of its center.

    Raises
    ------
    RuntimeError
        For a length below 1.
    ValueError
        For an origin outside the window.
    """
    if size < 1:
        raise RuntimeError("incorrect filter size")
    if not 0 <= size // 2 + origin < size:
        raise ValueError("invalid origin")


def deliver(result: ndarray, output: ndarray | None) -> ndarray:
    """Returns the result, or writes it to the caller's array and returns that."""
    if output is None:
        return result
    _core.update(output, result)
    return output


def compute_dtype(source_name: str, output_name: str) -> str:
    """Returns float32 if neither input nor output is wider or an integer, otherwise float64."""
    for name in (source_name, output_name):
        name = _dtypes.component(name)
        if _dtypes.kind(name) != "f" or _dtypes.itemsize(name) > 4:
            return "float64"
    return "float32"


def converted(a: ndarray, name: str) -> ndarray:
    """Converts `a` to another dtype as C on x86 does: floats become integers through int64, so that negative values
    wrap around in unsigned dtypes on every device. Returns `a` itself if it already has the dtype."""
    if a.dtype_name == name:
        return a
    if _dtypes.kind(a.dtype_name) == "f" and _dtypes.kind(name) in "biu" and name != "int64":
        wrapped = _core.cast(_core.cast(a, "int64"), name)
        if name == "uint64":
            return _core.map("where", a < 0, wrapped, _core.cast(a, name))
        return wrapped
    return _core.cast(a, name)


def line_shape(length: int, axis: int, ndim: int) -> list[int]:
    """Returns the shape of a 1-d filter along `axis`."""
    return [length if i == axis else 1 for i in range(ndim)]
