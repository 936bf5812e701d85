"""Conversion and validation of arguments: arrays, axes, shapes, `out` and `where`."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from cuprous import _core
from cuprous._common import dtypes, transfers
from cuprous._common.casting import astype, check_casting, promoted
from cuprous._common.convert import convert
from cuprous._common.operands import PYTHON_SCALARS, is_masked, is_numpy_array, is_scalar, operand_like

ndarray = _core.ndarray

#: Anything array-like, as in NumPy: arrays, scalars, nested lists.
ArrayLike: TypeAlias = Any
Shape: TypeAlias = "int | Sequence[int]"
Axis: TypeAlias = "int | None"
Axes: TypeAlias = "int | Sequence[int] | None"

#: NumPy's message for the difference of bool arrays.
NO_BOOLEAN_SUBTRACT = (
    "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, or the "
    "logical_xor function instead."
)


def as_operands(args: Iterable[Any]) -> list[Any]:
    """Converts operands for `_core.map`: lists and NumPy arrays become arrays on the device of the first array.

    Raises
    ------
    TypeError
        For objects that cannot become device arrays.
    """
    args = list(args)
    like = next((x for x in args if isinstance(x, ndarray)), None)
    for i, x in enumerate(args):
        if isinstance(x, (ndarray, *PYTHON_SCALARS)) or is_scalar(x):
            continue
        found = None if like is None or is_masked(x) else operand_like(like, x)
        args[i] = array(x) if found is None else found
    return args


def target(x: Any, function: str) -> ndarray:
    """Returns the argument if it is an array, for functions that write to it or inspect it without conversion.

    Raises
    ------
    TypeError
        If it is anything else.
    """
    if not isinstance(x, ndarray):
        raise TypeError(f"[{function}] the array must be a cuprous.ndarray, not {type(x).__name__}")
    return x


def check_writable(a: ndarray) -> None:
    """Raises TypeError for an element `a[i]`: its views are copies, so that a write to them would be lost."""
    if a.is_element:
        raise TypeError("a value cannot be written: an element a[i] is immutable, like NumPy's scalars")


def array(x: ArrayLike) -> ndarray:
    """Converts an argument to an array. NumPy arrays are copied to the device (see `set_transfers`)."""
    if isinstance(x, ndarray):
        return x
    if is_numpy_array(x):
        if is_masked(x):
            raise TypeError("masked arrays are not supported; fill them, or pass .data and .mask")
        transfers.count_upload(x, _core.get_device())

    return convert(x)


def operand(x: ArrayLike) -> Any:
    """Converts an argument as `array` does, but keeps scalars, so that they promote weakly."""
    return x if isinstance(x, (ndarray, *PYTHON_SCALARS)) or is_scalar(x) else array(x)


def axis_error(axis: int, ndim: int, prefix: str | None = None) -> Exception:
    """Returns NumPy's AxisError."""
    from numpy.exceptions import AxisError

    return AxisError(axis, ndim, prefix)


def normalize_axis(axis: Any, ndim: int, prefix: str | None = None) -> int:
    """Returns `axis` counted from the front.

    Raises
    ------
    AxisError
        If the axis is out of bounds.
    """
    i = operator.index(axis)
    if -ndim <= i < ndim:
        return i + ndim if i < 0 else i
    raise axis_error(i, ndim, prefix)


def with_axis(a: ArrayLike, axis: Axis, scalars: bool = True) -> tuple[ndarray, int]:
    """Converts an argument to an array, and `axis` to one counted from the front; None flattens the array.

    With `scalars` a 0-d array becomes an array of one element.

    Raises
    ------
    AxisError
        If the axis is out of bounds.
    """
    a = array(a)
    if axis is None or (scalars and not a.ndim):
        a = a.reshape(-1)
    return a, normalize_axis(0 if axis is None else axis, a.ndim)


def along(axis: int, start: Any = None, stop: Any = None) -> tuple[slice, ...]:
    """Returns the index of a range along an axis."""
    return (slice(None),) * axis + (slice(start, stop),)


def spread(values: Any, axis: int, ndim: int) -> Any:
    """Returns a vector (array or tensor) as one of `ndim` dimensions that varies along an axis."""
    return values.reshape(tuple(-1 if i == axis else 1 for i in range(ndim)))


def normalize_axes(axis: Any, ndim: int, prefix: str | None = None) -> tuple[int, ...]:
    """Returns a tuple of distinct axes counted from the front; None means all axes."""
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, Iterable):
        return (normalize_axis(axis, ndim, prefix),)
    axes = tuple(normalize_axis(a, ndim, prefix) for a in axis)
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in `{prefix}` argument" if prefix else "duplicate value in 'axis'")
    return axes


def as_shape(shape: Any) -> tuple[int, ...]:
    """Returns a tuple of extents from an int or a sequence of ints."""
    if isinstance(shape, ndarray) and shape.ndim == 1:
        shape = shape.tolist()
    if type(shape) is tuple:
        dims = shape
        for n in dims:
            if type(n) is not int:
                dims = tuple(operator.index(n) for n in shape)
                break
    elif hasattr(shape, "__index__") and not isinstance(shape, Sequence):
        dims = (operator.index(shape),)
    else:
        dims = tuple(operator.index(n) for n in shape)
    for n in dims:
        if n < 0:
            raise ValueError("negative dimensions are not allowed")
    return dims


def result_name(*operands: Any) -> str:
    """Returns the dtype that operands promote to: Python's scalars are weak, NumPy's scalars and arrays are not."""
    strong = [
        x.dtype_name if isinstance(x, ndarray) else dtypes.name_of(x.dtype) for x in operands if hasattr(x, "dtype")
    ]
    weak = [x for x in operands if not hasattr(x, "dtype")]
    if not strong:
        return dtypes.name_of(max((type(x) for x in weak), key=PYTHON_SCALARS.index))
    name = promoted(strong)
    for x in weak:
        name = _core.result_dtype("maximum", _core.empty((), name), type(x)(0))
    return name


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape that the shapes broadcast to.

    Raises
    ------
    ValueError
        If they do not broadcast.
    """
    ndim = max(map(len, shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for i, n in enumerate(shape, ndim - len(shape)):
            if n != 1 and result[i] != n:
                if result[i] != 1:
                    shown = " ".join(str(s).replace(" ", "") for s in shapes)
                    raise ValueError(f"operands could not be broadcast together with shapes {shown} ")
                result[i] = n
    return tuple(result)


def write_out(out: Any, result: ndarray, name: str, casting: str = "same_kind") -> ndarray:
    """Writes a result into the caller's `out` and returns `out`."""
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError(f"[{name}] 'out' must be an array or a tuple of one array")
        out = out[0]
    if out is None or out is ...:
        return result
    if not isinstance(out, ndarray):
        raise TypeError(f"[{name}] return arrays must be of cuprous.ndarray, not {type(out)}")
    check_casting(result.dtype_name, out.dtype_name, casting, f"ufunc '{name}' output")
    if out.shape != result.shape and broadcast_shapes(out.shape, result.shape) != out.shape:
        theirs, ours = (str(s).replace(" ", "") for s in (out.shape, result.shape))
        raise ValueError(
            f"[{name}] non-broadcastable output operand with shape {theirs} doesn't match the broadcast shape {ours}"
        )
    _core.update(out, result)
    return out


def write_exactly(out: Any, result: ndarray, name: str, casting: str = "same_kind") -> ndarray:
    """Writes a result as `write_out` does, but the shapes must be equal (reductions do not broadcast into `out`)."""
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if isinstance(target, ndarray) and target.shape != result.shape:
        raise ValueError(f"[{name}] output parameter for reduction operation has the wrong shape {target.shape}, "
                         f"expected {result.shape}")  # fmt: skip
    return write_out(out, result, name, casting)


def truth_mask(where: Any) -> Any:
    """Converts `where=` to True or a bool array.

    Raises
    ------
    TypeError
        For another dtype.
    """
    if where is True:
        return True
    if isinstance(where, (list, tuple, *PYTHON_SCALARS)):  # any dtype is converted to bool, as in NumPy
        return astype(array(where), "bool")
    mask = array(where)
    check_casting(mask.dtype_name, "bool", "safe", "array data")
    return mask


def reduction_mask(where: Any, shape: tuple[int, ...]) -> Any:
    """Converts the `where=` of a reduction to True or a bool array that broadcasts to the array's shape.

    Raises
    ------
    TypeError
        For another dtype than bool.
    ValueError
        For a mask that does not broadcast to the shape.
    """
    mask = truth_mask(where)
    if mask is not True and broadcast_shapes(mask.shape, shape) != shape:
        shapes = " doesn't match the broadcast shape ".join(str(s).replace(" ", "") for s in (shape, mask.shape))
        raise ValueError(f"non-broadcastable operand with shape {shapes}")
    return mask


def check_subok(subok: Any) -> None:
    """Validates a ufunc's `subok` as NumPy does. It has no effect, since arrays have no subclasses.

    Raises
    ------
    TypeError
        For anything but a bool.
    """
    if not isinstance(subok, bool):
        raise TypeError("'subok' must be a boolean")
