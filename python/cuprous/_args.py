"""What every function does with its arguments: arrays, axes, `out`, memory order, and the errors they raise."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from cuprous import _core, _dtypes, _transfers

ndarray = _core.ndarray

#: What functions take where NumPy takes anything array-like: arrays, scalars, nested lists.
ArrayLike: TypeAlias = Any
Shape: TypeAlias = "int | Sequence[int]"
Axis: TypeAlias = "int | None"
Axes: TypeAlias = "int | Sequence[int] | None"

#: NumPy's words where differences of bool arrays are asked for.
NO_BOOLEAN_SUBTRACT = (
    "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, or the "
    "logical_xor function instead."
)
_PYTHON_SCALARS = (bool, int, float, complex)
#: The largest number of axes of an array.
MAX_NDIM = 64
_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def is_numpy_array(x: object) -> bool:
    """True for `numpy.ndarray` (and its subclasses), without importing NumPy."""
    return any(t.__name__ == "ndarray" and t.__module__ == "numpy" for t in type(x).__mro__)


def is_scalar(x: object) -> bool:
    """True for Python's and NumPy's scalars."""
    if isinstance(x, _PYTHON_SCALARS):
        return True
    return any(t.__name__ == "generic" and t.__module__ == "numpy" for t in type(x).__mro__)


def unsupported(x: object) -> TypeError:
    """Returns the TypeError for an argument of a type that the function does not support."""
    return TypeError(f"Unsupported type {type(x)}; move it to the device with cp.asarray(...) first")


def beside_arrays(args: Iterable[Any]) -> list[Any]:
    """Operands as `_core.map` takes them: lists and NumPy arrays become arrays on the device of the first array.

    Raises:
        TypeError: for objects that cannot become device arrays.
    """
    args = list(args)
    like = next((x for x in args if isinstance(x, ndarray)), None)
    for i, x in enumerate(args):
        if isinstance(x, (ndarray, *_PYTHON_SCALARS)) or is_scalar(x):
            continue
        found = None if like is None or is_masked(x) else _transfers.beside(like, x)
        args[i] = array(x) if found is None else found
    return args


def is_masked(x: object) -> bool:
    """Returns true for NumPy's masked arrays, whose masks would be lost."""
    return is_numpy_array(x) and hasattr(x, "mask") and hasattr(x, "fill_value")


def target(x: Any, function: str) -> ndarray:
    """Returns the argument if it is an array: what a function writes to, or inspects without conversion.

    Raises:
        TypeError: if it is anything else.
    """
    if not isinstance(x, ndarray):
        raise TypeError(f"[{function}] the array must be a cuprous.ndarray, not {type(x).__name__}")
    return x


def check_writable(a: ndarray) -> None:
    """Raises TypeError for an element `a[i]`: its views are copies, so that a write to them would be lost."""
    if a.is_element:
        raise TypeError("a value cannot be written: an element a[i] is immutable, like NumPy's scalars")


def array(x: ArrayLike) -> ndarray:
    """An array from what a function was given. NumPy arrays are copied to the device (see `set_transfers`)."""
    if isinstance(x, ndarray):
        return x
    if is_numpy_array(x):
        if is_masked(x):
            raise TypeError("masked arrays are not supported; fill them, or pass .data and .mask")
        _transfers.arrives(x, _core.get_device())
    from cuprous._convert import convert

    return convert(x)


def operand(x: ArrayLike) -> Any:
    """As `array`, but scalars stay scalars, so that they promote weakly."""
    return x if isinstance(x, (ndarray, *_PYTHON_SCALARS)) or is_scalar(x) else array(x)


def axis_error(axis: int, ndim: int, prefix: str | None = None) -> Exception:
    """NumPy's AxisError."""
    from numpy.exceptions import AxisError

    return AxisError(axis, ndim, prefix)


def normalize_axis(axis: Any, ndim: int, prefix: str | None = None) -> int:
    """`axis` counted from the front.

    Raises:
        AxisError: if there is no such axis.
    """
    i = operator.index(axis)
    if -ndim <= i < ndim:
        return i + ndim if i < 0 else i
    raise axis_error(i, ndim, prefix)


def normalize_axes(axis: Any, ndim: int, prefix: str | None = None) -> tuple[int, ...]:
    """A tuple of distinct axes counted from the front; None means all of them."""
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, Iterable):
        return (normalize_axis(axis, ndim, prefix),)
    axes = tuple(normalize_axis(a, ndim, prefix) for a in axis)
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in `{prefix}` argument" if prefix else "duplicate value in 'axis'")
    return axes


def as_shape(shape: Any) -> tuple[int, ...]:
    """A tuple of extents from an int or a sequence of ints."""
    if isinstance(shape, ndarray) and shape.ndim == 1:
        shape = shape.tolist()  # type: ignore[attr-defined]
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


def check_casting(source: str, target: str, casting: str, what: str) -> None:
    """Raises TypeError unless `source` casts to `target` under that rule; warns if imaginary parts are lost."""
    if source == target:
        return
    if not _core.can_cast(source, target, casting):
        raise TypeError(f"Cannot cast {what} from dtype('{source}') to dtype('{target}') with casting rule '{casting}'")
    warn_of_lost_parts(source, target)


def warn_of_lost_parts(source: str, target: str) -> None:
    """Gives NumPy's ComplexWarning, at the caller's line, if a cast drops imaginary parts."""
    if not source.startswith("complex") or _dtypes.kind(target) in "cb":
        return
    import sys
    import warnings

    from numpy.exceptions import ComplexWarning

    level = 1
    while str(sys._getframe(level).f_globals.get("__name__")).startswith("cuprous."):
        level += 1
    warnings.warn("Casting complex values to real discards the imaginary part", ComplexWarning, stacklevel=level + 1)


def astype(a: ndarray, dtype: str) -> ndarray:
    """`a` itself if it has the dtype, otherwise a cast copy; warns if imaginary parts are lost."""
    if a.dtype_name == dtype:
        return a
    warn_of_lost_parts(a.dtype_name, dtype)
    return _core.cast(a, dtype)


def sum_dtype(name: str, dtype: Any, out: Any) -> str:
    """The dtype that sums and products of `name` are computed in: the caller's, that of `out`, or the default."""
    if dtype is not None:
        return _dtypes.name_of(dtype)
    if isinstance(out, ndarray):
        return _core.promote_types(name, out.dtype_name)
    return _dtypes.accumulator(name)


def starting_value(initial: Any, name: str) -> ndarray:
    """`initial` of a reduction (0-d) in the dtype that it computes in, stored as a number is stored in an array.

    Raises:
        OverflowError: for an integer that the dtype does not hold.
        TypeError: for a complex number in a real dtype.
        ValueError: for an array of several elements.
    """
    if isinstance(initial, ndarray):
        if initial.ndim:
            raise ValueError("setting an array element with a sequence.")
        return astype(initial, name)
    result = _core.empty((), name)
    _core.update(result, initial)
    return result


def common_dtype(arrays: Iterable[ndarray]) -> str:
    """The dtype that holds all of them."""
    return _promoted([a.dtype_name for a in arrays])


def _promoted(names: list[str]) -> str:
    """Returns the dtype that holds all of `names`.

    Floats come first, as in NumPy: uint16 and int8 are float32 beside float32, but int32 on their own.
    """
    result = names[0]
    if any(name != result for name in names):
        names = sorted(names, key=lambda name: ("complex" not in name, "float" not in name))
        result = names[0]
        for name in names[1:]:
            result = _core.promote_types(result, name)
    return result


def result_name(*operands: Any) -> str:
    """The dtype of operands together: arrays and NumPy's scalars by theirs, Python's scalars weakly."""
    strong = [
        x.dtype_name if isinstance(x, ndarray) else _dtypes.name_of(x.dtype) for x in operands if hasattr(x, "dtype")
    ]
    weak = [x for x in operands if not hasattr(x, "dtype")]
    if not strong:
        return _dtypes.name_of(max((type(x) for x in weak), key=_PYTHON_SCALARS.index))
    name = _promoted(strong)
    for x in weak:
        name = _core.result_dtype("maximum", _core.empty((), name), type(x)(0))
    return name


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all of them broadcast to.

    Raises:
        ValueError: if there is none.
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
    """Writes a result into the caller's `out` and returns that."""
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError(f"[{name}] 'out' must be an array or a tuple of one array")
        out = out[0]
    if out is None:
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
    """As `write_out`, but the shapes must be equal (reductions do not broadcast into `out`)."""
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    if isinstance(target, ndarray) and target.shape != result.shape:
        raise ValueError(f"[{name}] output parameter for reduction operation has the wrong shape {target.shape}, "
                         f"expected {result.shape}")  # fmt: skip
    return write_out(out, result, name, casting)


def truth_mask(where: Any) -> Any:
    """The mask of `where=`: True, or a bool array.

    Raises:
        TypeError: for another dtype.
    """
    if where is True:
        return True
    if isinstance(where, (list, tuple, *_PYTHON_SCALARS)):  # their elements' truth counts, as in NumPy
        return astype(array(where), "bool")
    mask = array(where)
    check_casting(mask.dtype_name, "bool", "safe", "array data")
    return mask


def reduction_mask(where: Any, shape: tuple[int, ...]) -> Any:
    """The mask of a reduction's `where=`. It broadcasts to the array's shape, never the array to the mask's.

    Raises:
        TypeError: for another dtype than bool.
        ValueError: for a mask that does not broadcast to the shape.
    """
    mask = truth_mask(where)
    if mask is not True and broadcast_shapes(mask.shape, shape) != shape:
        shapes = " doesn't match the broadcast shape ".join(str(s).replace(" ", "") for s in (shape, mask.shape))
        raise ValueError(f"non-broadcastable operand with shape {shapes}")
    return mask


def check_rule(casting: str) -> None:
    """Raises ValueError unless it is the name of a casting rule."""
    if casting not in _CASTINGS:
        raise ValueError(f"casting must be one of {', '.join(map(repr, _CASTINGS))} (got {casting!r})")


def order_letter(order: str | None, allowed: str = "CFAK", default: str = "K") -> str:
    """A memory order in upper case; None is the default."""
    if order is None:
        return default
    if not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    letter = order.upper()
    if len(letter) != 1 or letter not in allowed:
        raise ValueError(f"order must be one of {', '.join(repr(o) for o in allowed)} (got {order!r})")
    return letter


def axis_order(a: ndarray, order: str) -> tuple[int, ...] | None:
    """The axes from the slowest to the fastest in that memory order of `a`; None where that is C order."""
    if order == "C" or (order in "AK" and a.is_c_contiguous):
        return None
    if order == "F" or (order == "A" and a.is_f_contiguous):
        return tuple(range(a.ndim - 1, -1, -1))
    if order == "A":
        return None
    strides = a.element_strides
    axes = tuple(sorted(range(a.ndim), key=lambda i: -abs(strides[i])))
    return None if axes == tuple(range(a.ndim)) else axes


def inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes another."""
    result = [0] * len(axes)
    for place, axis in enumerate(axes):
        result[axis] = place
    return tuple(result)


def with_order(a: ndarray, order: str | None, fresh: bool = False) -> ndarray:
    """`a` in a memory order ("C" or "F"; "A" and "K" ask for none); copied where it lies otherwise, or if `fresh`."""
    letter = order_letter(order)
    if not fresh and (letter in "AK" or (letter == "C" and a.is_c_contiguous) or (letter == "F" and a.is_f_contiguous)):
        return a
    return a.copy(letter)


def cast_in_order(a: ndarray, dtype: str, order: str | None) -> ndarray:
    """A cast copy in a memory order ("C", "F", "A" or "K", the last two of the uncast array)."""
    letter = order_letter(order)
    warn_of_lost_parts(a.dtype_name, dtype)
    return with_order(_core.cast(a, dtype), fortran_or_c(a) if letter == "A" else letter)


def fortran_or_c(*arrays: ndarray) -> str:
    """Order "A": "F" if all arrays are Fortran-contiguous and not all C-contiguous as well, otherwise "C"."""
    fortran = all(a.is_f_contiguous for a in arrays) and not all(a.is_c_contiguous for a in arrays)
    return "F" if fortran else "C"


def check_subok(subok: Any) -> None:
    """NumPy's check of a ufunc's `subok`. There are no subclasses that it could let through.

    Raises:
        TypeError: for anything but a bool.
    """
    if not isinstance(subok, bool):
        raise TypeError("'subok' must be a boolean")


def joint_order(arrays: Sequence[ndarray]) -> tuple[int, ...] | None:
    """The axes from the slowest to the fastest in the memory of several arrays; where they disagree, in C order.

    None where that is C order. (NumPy's `PyArray_CreateMultiSortedStridePerm`.)
    """
    for a in arrays:
        if not a.is_c_contiguous:
            break
    else:
        return None
    known = [(a.shape, a.element_strides) for a in arrays]
    order: list[int] = []
    for axis in range(arrays[0].ndim):
        place = len(order)
        for i in range(len(order) - 1, -1, -1):
            other = order[i]
            pairs = [(abs(t[axis]), abs(t[other])) for s, t in known if s[axis] != 1 and s[other] != 1]
            if pairs and not all(mine > its for mine, its in pairs):
                break
            if pairs:
                place = i
        order.insert(place, axis)
    return None if order == list(range(len(order))) else tuple(order)


def laid_out(shape: Sequence[int], dtype: str, axes: Sequence[int] | None) -> ndarray:
    """A new array with arbitrary contents, whose axes lie in memory in that order, the slowest first (None: C)."""
    if axes is None:
        return _core.empty(shape, dtype)
    upright = _core.empty([shape[i] for i in axes], dtype)
    return _core.without_base(upright.transpose(inverse(tuple(axes))))
