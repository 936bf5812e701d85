"""Creation of arrays: filled, ranges, triangular, diagonal, and from other objects."""

from __future__ import annotations

import math
import operator
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, Shape, as_shape, ndarray, normalize_axis, result_name, spread
from cuprous._common.arguments import array as as_array
from cuprous._common.casting import warn_of_lost_parts
from cuprous._common.convert import check_range, convert
from cuprous._common.device import device_word
from cuprous._common.layout import axis_order, empty_in_order, inverse, order_letter
from cuprous._common.layout import with_order as _with_order
from cuprous._common.operands import is_scalar
from cuprous._functions.manipulation import moveaxis


def _filled(shape: Shape, value: Any, dtype: Any, order: str, device: Any) -> ndarray:
    dims, name = as_shape(shape), dtypes.name_of(dtype)
    if order == "C" or order_letter(order, "CF", "C") == "C":
        return _on_device(_core.full(dims, value, name), device)
    return _on_device(_core.without_base(_core.full(dims[::-1], value, name).T), device)


def empty(shape: Shape, dtype: Any = float, order: str = "C", *, device: Any = None) -> ndarray:
    """Returns a new array with arbitrary contents.

    Args:
        shape: the shape of the result, an integer or a sequence of integers.
        dtype: the dtype of the result, float64 by default.
        order: the memory order, "C" (row-major) or "F" (column-major).
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        An uninitialized array of this shape and dtype.

    Examples:
        >>> cp.empty((2, 3)).shape
        (2, 3)
    """
    order = order_letter(order, "CF", "C")
    dims = as_shape(shape)
    if device is not None:
        return _on_device(empty(shape, dtype, order), device)
    return empty_in_order(dims, dtypes.name_of(dtype), None if order == "C" else range(len(dims) - 1, -1, -1))


def zeros(shape: Shape, dtype: Any = float, order: str = "C", *, device: Any = None) -> ndarray:
    """Returns a new array of zeros.

    Args:
        shape: the shape of the result, an integer or a sequence of integers.
        dtype: the dtype of the result, float64 by default.
        order: the memory order, "C" (row-major) or "F" (column-major).
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        An array of this shape and dtype.

    Examples:
        >>> cp.zeros(3)
        array([0., 0., 0.])
        >>> cp.zeros((2, 2), dtype=int)
        array([[0, 0],
               [0, 0]])
    """
    return _filled(shape, 0, dtype, order, device)


def ones(shape: Shape, dtype: Any = float, order: str = "C", *, device: Any = None) -> ndarray:
    """Returns a new array of ones.

    Args:
        shape: the shape of the result, an integer or a sequence of integers.
        dtype: the dtype of the result, float64 by default.
        order: the memory order, "C" (row-major) or "F" (column-major).
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        An array of this shape and dtype.

    Examples:
        >>> cp.ones((2, 2), cp.float32)
        array([[1., 1.],
               [1., 1.]], dtype=float32)
    """
    return _filled(shape, 1, dtype, order, device)


def full(shape: Shape, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> ndarray:
    """Returns a new array filled with a value.

    Args:
        shape: the shape of the result, an integer or a sequence of integers.
        fill_value: a scalar, or an array-like that broadcasts to the shape.
        dtype: the dtype of the result; by default that of the value.
        order: the memory order, "C" (row-major) or "F" (column-major).
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        An array of this shape and dtype.

    Raises:
        OverflowError: if an integer is out of bounds for the dtype.
        ValueError: if the value does not broadcast to the shape.

    Examples:
        >>> cp.full((2, 2), 7)
        array([[7, 7],
               [7, 7]])
        >>> cp.full((2, 3), [1, 2, 3])
        array([[1, 2, 3],
               [1, 2, 3]])
    """
    if is_scalar(fill_value):
        if dtype is None:
            dtype = convert(fill_value).dtype_name
        if not hasattr(fill_value, "dtype"):
            if type(fill_value) is int:
                check_range(fill_value, dtypes.name_of(dtype))
            return _filled(shape, fill_value, dtype, order, device)
    source = convert(fill_value)
    result = empty(shape, source.dtype_name if dtype is None else dtype, order)
    _core.update(result, source)
    return _on_device(result, device)


def _like(a: ArrayLike, value: Any, dtype: Any, order: str, subok: Any, shape: Shape | None, device: Any) -> ndarray:
    a = as_array(a)
    if subok is not None:
        operator.index(subok)  # checked as in NumPy; arrays have no subclasses
    dims = a.shape if shape is None else as_shape(shape)
    order = order_letter(order)
    name = a.dtype_name if dtype is None else dtypes.name_of(dtype)
    axes: tuple[int, ...] | None = None
    if order == "F" or (order == "A" and a.is_f_contiguous and not a.is_c_contiguous):
        axes = tuple(range(len(dims) - 1, -1, -1))
    elif order == "K" and len(dims) == a.ndim:
        axes = axis_order(a, order)
    memory_shape = dims if axes is None else tuple(dims[i] for i in axes)
    result = _core.empty(memory_shape, name) if value is None else full(memory_shape, value, name)
    return _on_device(result if axes is None else _core.without_base(result.transpose(inverse(axes))), device)


def empty_like(
    prototype: ArrayLike, dtype: Any = None, order: str = "K", subok: Any = None, shape: Shape | None = None,
    *, device: Any = None,
) -> ndarray:  # fmt: skip
    """Returns a new array with another's shape and dtype and arbitrary contents.

    Args:
        prototype: an array or array-like.
        dtype: the dtype of the result; by default that of the prototype.
        order: the memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
        subok: has no effect, because arrays have no subclasses.
        shape: the shape of the result; by default that of the prototype.
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        An uninitialized array.

    Examples:
        >>> cp.empty_like([[1, 2], [3, 4]]).shape
        (2, 2)
    """
    return _like(prototype, None, dtype, order, subok, shape, device)


def zeros_like(
    a: ArrayLike, dtype: Any = None, order: str = "K", subok: Any = None, shape: Shape | None = None,
    *, device: Any = None,
) -> ndarray:  # fmt: skip
    """Returns a new array of zeros with another's shape and dtype.

    Args:
        a: an array or array-like.
        dtype: the dtype of the result; by default that of `a`.
        order: the memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
        subok: has no effect, because arrays have no subclasses.
        shape: the shape of the result; by default that of `a`.
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        An array of zeros.

    Examples:
        >>> cp.zeros_like([[1, 2], [3, 4]])
        array([[0, 0],
               [0, 0]])
    """
    return _like(a, 0, dtype, order, subok, shape, device)


def ones_like(
    a: ArrayLike, dtype: Any = None, order: str = "K", subok: Any = None, shape: Shape | None = None,
    *, device: Any = None,
) -> ndarray:  # fmt: skip
    """Returns a new array of ones with another's shape and dtype.

    Args:
        a: an array or array-like.
        dtype: the dtype of the result; by default that of `a`.
        order: the memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
        subok: has no effect, because arrays have no subclasses.
        shape: the shape of the result; by default that of `a`.
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        An array of ones.

    Examples:
        >>> cp.ones_like(cp.arange(3))
        array([1, 1, 1])
    """
    return _like(a, 1, dtype, order, subok, shape, device)


def full_like(
    a: ArrayLike, fill_value: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Shape | None = None,
    *, device: Any = None,
) -> ndarray:  # fmt: skip
    """Returns a new array with another's shape and dtype, filled with a value.

    Args:
        a: an array or array-like.
        fill_value: a scalar, or an array-like that broadcasts to the shape.
        dtype: the dtype of the result; by default that of `a`.
        order: the memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
        subok: has no effect, because arrays have no subclasses.
        shape: the shape of the result; by default that of `a`.
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        An array filled with the value.

    Raises:
        ValueError: if the value does not broadcast to the shape.

    Examples:
        >>> cp.full_like([1.5, 2.5], 9)
        array([9., 9.])
    """
    return _like(a, fill_value, dtype, order, subok, shape, device)


def _on_device(a: ndarray, device: Any) -> ndarray:
    return a if device is None else _core.to_device(a, device_word(device))


def asarray(
    a: Any, dtype: Any = None, order: str | None = None, *, blocking: bool = True, copy: bool | None = None,
    device: Any = None,
) -> ndarray:  # fmt: skip
    """Returns a device array of an array-like: lists, NumPy arrays, buffers, DLPack, other libraries' GPU arrays.

    An array that is already on the device is shared, not copied, unless `copy` is True. Elements `a[i]` and 0-d results
    are immutable, like NumPy's scalars, and are copied.

    Args:
        a: the array-like.
        dtype: the dtype of the result; by default that of `a`, as NumPy infers it.
        order: the memory order, "C", "F", "A" or "K" (the default).
        blocking: has no effect, because a transfer always ends before the call returns.
        copy: True always copies, None copies if needed, False never copies.
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        An array of the shape of `a`.

    Raises:
        ValueError: if a copy is needed and `copy` is False, or if nested lists have rows of different lengths.
        TypeError: for objects that do not convert to a numeric array.

    Examples:
        >>> cp.asarray([[1, 2], [3, 4]])
        array([[1, 2],
               [3, 4]])
        >>> a = cp.asarray(np.array([1.5, 2.5]))
        >>> cp.asarray(a) is a
        True
    """
    if type(a) is ndarray and dtype is None and order is None and device is None and (copy is None or copy is False):
        return array(a) if a.is_value and copy is None else a
    return _on_device(convert(a, dtype, order or "K", copy), device)


def asanyarray(
    a: Any, dtype: Any = None, order: str | None = None, *, blocking: bool = True, copy: bool | None = None,
    device: Any = None,
) -> ndarray:  # fmt: skip
    """Does the same as `asarray`: arrays have no subclasses.

    Args:
        a: the array-like.
        dtype: the dtype of the result; by default that of `a`.
        order: the memory order, "C", "F", "A" or "K" (the default).
        blocking: has no effect, because a transfer always ends before the call returns.
        copy: True always copies, None copies if needed, False never copies.
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        An array of the shape of `a`.

    Examples:
        >>> cp.asanyarray([1, 2, 3])
        array([1, 2, 3])
    """
    return asarray(a, dtype, order, blocking=blocking, copy=copy, device=device)


def asfarray(a: Any, dtype: Any = float) -> ndarray:
    """Returns an array of a floating dtype.

    Args:
        a: the array-like.
        dtype: the dtype of the result; float64 is taken instead of one that is not floating.

    Returns:
        An array of a floating or complex dtype.

    Examples:
        >>> cp.asfarray([1, 2])
        array([1., 2.])
    """
    name = dtypes.name_of(dtype)
    return convert(a, name if dtypes.kind(name) in "fc" else "float64")


def array(
    obj: Any, dtype: Any = None, copy: bool | None = True, order: str = "K", subok: bool = False, ndmin: int = 0,
    *, blocking: bool = True, device: Any = None,
) -> ndarray:  # fmt: skip
    """Returns a new array from an array-like.

    Args:
        obj: lists, scalars, arrays of any library, or another array-like.
        dtype: the dtype of the result; by default that of `obj`, as NumPy infers it.
        copy: True (the default) always copies, None copies if needed, False never copies.
        order: the memory order, "C", "F", "A" or "K" (as `obj`).
        subok: has no effect, because arrays have no subclasses.
        ndmin: the least number of axes; axes of length one are added in front.
        blocking: has no effect, because a transfer always ends before the call returns.
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        An array with the elements of `obj`.

    Raises:
        ValueError: if a copy is needed and `copy` is False, or if nested lists have rows of different lengths.
        TypeError: for objects that do not convert to a numeric array.

    Examples:
        >>> cp.array([1, 2, 3])
        array([1, 2, 3])
        >>> cp.array([1, 2], dtype=cp.float32)
        array([1., 2.], dtype=float32)
        >>> cp.array([1, 2], ndmin=2)
        array([[1, 2]])
    """
    result = convert(obj, dtype, order or "K", copy)
    if result.ndim < ndmin:
        result = result.reshape((1,) * (ndmin - result.ndim) + result.shape)
    return _on_device(result, device)


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    """Returns a C-contiguous array of at least one dimension.

    Args:
        a: the array-like.
        dtype: the dtype of the result; by default that of `a`.

    Returns:
        An array in C order; `a` itself if it is one.

    Examples:
        >>> cp.ascontiguousarray(cp.ones((2, 3)).T).flags.c_contiguous
        True
    """
    result = convert(a, dtype, "C")
    return result if result.ndim else result.reshape((1,))


def asfortranarray(a: Any, dtype: Any = None) -> ndarray:
    """Returns a Fortran-contiguous array of at least one dimension.

    Args:
        a: the array-like.
        dtype: the dtype of the result; by default that of `a`.

    Returns:
        An array in Fortran order; `a` itself if it is one.

    Examples:
        >>> cp.asfortranarray([[1, 2], [3, 4]]).strides
        (8, 16)
    """
    result = convert(a, dtype, "F")
    return result if result.ndim else result.reshape((1,))


def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> ndarray:
    """Converts to an array as `asarray`, and checks that all values are finite. The check waits for the values.

    Args:
        a: the array-like.
        dtype: the dtype of the result; by default that of `a`.
        order: the memory order, "C", "F", "A" or "K" (the default).

    Returns:
        An array of the shape of `a`.

    Raises:
        ValueError: if a value is infinite or NaN.

    Examples:
        >>> cp.asarray_chkfinite([1.0, cp.inf])
        Traceback (most recent call last):
            ...
        ValueError: array must not contain infs or NaNs
    """
    result = asarray(a, dtype, order)
    if dtypes.kind(result.dtype_name) in "fc" and not bool(_core.map("isfinite", result).all()):  # type: ignore[attr-defined]
        raise ValueError("array must not contain infs or NaNs")
    return result


def astype(x: ArrayLike, dtype: Any, /, *, copy: bool = True, device: Any = None) -> ndarray:
    """Returns the elements cast to a dtype.

    Args:
        x: an array or array-like.
        dtype: the new dtype.
        copy: False returns the array itself if the dtype does not change.
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        An array of the shape of `x`.

    Examples:
        >>> cp.astype(cp.asarray([1.7, -1.7]), int)
        array([ 1, -1])
    """
    x, name = as_array(x), dtypes.name_of(dtype)
    warn_of_lost_parts(x.dtype_name, name)
    return _on_device(_core.cast(x, name) if copy or x.dtype_name != name else x, device)


#: The requirements of `require`, by their names. Arrays always meet those of alignment, writability and class.
_REQUIREMENTS = {
    "C": "C", "C_CONTIGUOUS": "C", "CONTIGUOUS": "C", "F": "F", "F_CONTIGUOUS": "F", "FORTRAN": "F", "A": "A",
    "ALIGNED": "A", "W": "W", "WRITEABLE": "W", "O": "O", "OWNDATA": "O", "E": "E", "ENSUREARRAY": "E",
}  # fmt: skip


def require(a: Any, dtype: Any = None, requirements: Any = None) -> ndarray:
    """Returns an array that is contiguous in the required order ("C" or "F"), and owns its memory if "O" is required.

    Args:
        a: the array-like.
        dtype: the dtype of the result; by default that of `a`.
        requirements: a list of names as in NumPy: "C", "F", "O" or their longer forms; "A", "W" and "E" are always met.

    Returns:
        An array that meets the requirements.

    Raises:
        ValueError: if both orders are required.
        KeyError: for a requirement that NumPy does not have.

    Examples:
        >>> cp.require([[1, 2], [3, 4]], requirements=["F"]).flags.f_contiguous
        True
    """
    flags = {_REQUIREMENTS[str(r).upper()] for r in requirements or ()}
    if flags >= {"C", "F"}:
        raise ValueError('Cannot specify both "C" and "F" order')
    result = convert(a, dtype, "F" if "F" in flags else "C" if "C" in flags else "K")
    return result.copy("K") if "O" in flags and result.base is not None else result


def copy(a: ArrayLike, order: str = "K", subok: bool = False) -> ndarray:
    """Returns a copy of an array.

    Args:
        a: an array or array-like.
        order: the memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
        subok: has no effect, because arrays have no subclasses.

    Returns:
        An array in memory of its own.

    Examples:
        >>> a = cp.arange(3)
        >>> b = cp.copy(a)
        >>> b[0] = 9
        >>> a
        array([0, 1, 2])
    """
    return _with_order(as_array(a), order, fresh=True)


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> ndarray:
    """Returns a 1-d array from an object with Python's buffer protocol. The elements are copied to the device.

    Args:
        buffer: an object with the buffer protocol, such as bytes.
        dtype: the dtype of the elements, float64 by default.
        count: the number of elements; -1 reads all.
        offset: the number of bytes to skip.

    Returns:
        An array of shape (count,).

    Raises:
        ValueError: if the buffer is too short, or its size is not a multiple of the element size.

    Examples:
        >>> cp.frombuffer(b"abc", dtype=cp.uint8)
        array([97, 98, 99], dtype=uint8)
    """
    import numpy as np

    return _core.from_numpy(np.frombuffer(buffer, dtypes.numpy_dtype(dtypes.name_of(dtype)), count, offset))


def fromiter(iter: Any, dtype: Any, count: int = -1) -> ndarray:
    """Returns a 1-d array from an iterable.

    Args:
        iter: an iterable of scalars.
        dtype: the dtype of the elements.
        count: the number of elements to read; -1 reads all.

    Returns:
        An array of shape (count,).

    Raises:
        ValueError: if the iterable has fewer than `count` elements.

    Examples:
        >>> cp.fromiter((i * i for i in range(4)), dtype=int)
        array([0, 1, 4, 9])
    """
    import numpy as np

    return _core.from_numpy(np.fromiter(iter, dtypes.numpy_dtype(dtypes.name_of(dtype)), count))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str = "") -> ndarray:
    """Returns a 1-d array from numbers in a text.

    Args:
        string: the text.
        dtype: the dtype of the elements, float64 by default.
        count: the number of elements to read; -1 reads all.
        sep: the separator. Whitespace matches any amount of whitespace.

    Returns:
        An array of shape (count,).

    Raises:
        ValueError: if `sep` is empty; `frombuffer` reads bytes.

    Examples:
        >>> cp.fromstring("1, 2, 4", sep=",")
        array([1., 2., 4.])
    """
    import numpy as np

    return _core.from_numpy(np.fromstring(string, dtypes.numpy_dtype(dtypes.name_of(dtype)), count, sep=sep))


def fromfunction(function: Any, shape: Shape, *, dtype: Any = float, **kwargs: Any) -> Any:
    """Returns the result of `function`, called once with the index arrays of a shape.

    Args:
        function: a function of as many arrays as the shape has axes.
        shape: the shape of the result, an integer or a sequence of integers.
        dtype: the dtype of the index arrays, float64 by default.
        **kwargs: keyword arguments of the function.

    Returns:
        What the function returns, normally an array of this shape.

    Examples:
        >>> cp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
        array([[ 0,  1,  2],
               [10, 11, 12]])
    """
    return function(*indices(as_shape(shape), dtype=dtype), **kwargs)


# --- ranges


def arange(
    start_or_stop: Any = None, /, stop: Any = None, step: Any = None, dtype: Any = None, *, start: Any = None,
    device: Any = None,
) -> ndarray:  # fmt: skip
    """Returns evenly spaced values from `start` up to but not including `stop`. A single argument is the stop.

    Args:
        start_or_stop: the first value if `stop` is passed too; otherwise the end, with 0 as the first value.
        stop: the end, which is not included.
        step: the difference of neighbors, 1 by default. It may be negative.
        dtype: the dtype of the result; by default it follows from the other arguments.
        start: the first value, by name.
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        A 1-d array of `ceil((stop - start) / step)` elements.

    Raises:
        ZeroDivisionError: for a step of zero.
        TypeError: if the stop is missing, or an argument is not a real number.
        ValueError: for arrays of several elements.

    Examples:
        >>> cp.arange(5)
        array([0, 1, 2, 3, 4])
        >>> cp.arange(1, 2, 0.25)
        array([1.  , 1.25, 1.5 , 1.75])
        >>> cp.arange(5, 0, -2)
        array([5, 3, 1])
    """
    if start is not None:
        if start_or_stop is not None:
            raise TypeError("argument for arange() given by name ('start') and position (position 0)")
    elif stop is None:
        start, stop = 0, start_or_stop
    else:
        start = 0 if start_or_stop is None else start_or_stop
    if stop is None:
        raise TypeError("arange() requires stop to be specified.")
    step = 1 if step is None else step
    if dtype is device is None and type(start) is type(stop) is type(step) is int and step:
        return _core.iota((max(0, -((start - stop) // step)),), (step,), start)
    if not all(map(is_scalar, (start, stop, step))):
        start, stop, step = map(_number, (start, stop, step))
    if step == 0:
        raise ZeroDivisionError("[arange] step must not be zero")
    length = _length(start, stop, step)
    if dtype is None:
        name = "int64" if all(isinstance(x, int) for x in (start, stop, step)) else _range_dtype(start, stop, step)
    else:
        name = dtypes.name_of(dtype)
    letter = dtypes.kind(name)
    if letter == "b" and length > 2:
        raise TypeError("arange() is only supported for booleans when the result has at most length 2.")
    if letter == "b":  # the first two elements are converted separately
        return _on_device(convert([bool(start), bool(start + step)][:length], "bool"), device)
    if letter in "iu" and all(isinstance(x, int) for x in (start, step)):
        for x in (start, start + step)[:length]:
            check_range(x, name)
        result = _core.iota((length,), (step,), start)
        return _on_device(result if name == "int64" else _core.cast(result, name), device)
    if letter in "iu":
        # As NumPy: the first two elements are cast, and the others follow from their difference.
        first = int(start)
        return _on_device(_core.cast(_core.iota((length,), (int(start + step) - first,), first), name), device)
    return _on_device(_ramp(length, start, (start + step) - start, name), device)


def _number(x: Any) -> Any:
    """Returns a bound or step of a range as a number.

    Raises:
        ValueError: for arrays of several elements, and lists that do not convert to an array.
        TypeError: for other lists, and text.
    """
    if isinstance(x, str):
        raise TypeError("arange() not supported for text")
    if isinstance(x, (list, tuple)):
        as_array(x)  # raises its own errors first
        raise TypeError(f"arange() takes numbers, not {type(x).__name__}")
    return x.item() if isinstance(x, ndarray) else x


def _length(start: Any, stop: Any, step: Any) -> int:
    count = (stop - start) / step
    if count != count:
        raise ValueError("arange: cannot compute length")
    if abs(count) >= 2**63:
        raise ValueError("Maximum allowed size exceeded")
    return max(0, math.ceil(count))


def _range_dtype(*values: Any) -> str:
    """Returns the dtype of a range from its arguments. The default integer dtype takes part in the promotion, as in
    NumPy."""
    import numpy as np

    return dtypes.name_of(
        np.result_type(int, *(type(v) if type(v) in (bool, int, float, complex) else v for v in values))
    )


def _ramp(length: int, start: Any, delta: Any, name: str) -> ndarray:
    """Returns start + i * delta for each index i, computed in double precision."""
    wide = "complex128" if dtypes.kind(name) == "c" else "float64"
    index = _core.cast(_core.iota((length,), (1,), 0), wide)
    scalar = complex if wide == "complex128" else float
    values = _core.map("add", _core.map("multiply", index, scalar(delta)), scalar(start))
    return values if name == wide else _core.cast(values, name)


def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """Returns `num` evenly spaced values from `start` to `stop`, with or without the end point.

    Args:
        start: the first value, a scalar or an array-like.
        stop: the last value, or the end that is left out; a scalar or an array-like.
        num: the number of values.
        endpoint: whether `stop` is the last value.
        retstep: whether to return also the spacing.
        dtype: the dtype of the result; floating by default.
        axis: where the new axis goes if `start` or `stop` is an array.
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        An array of shape (num,), with the axes of `start` and `stop` if these are arrays. With `retstep` a tuple of it
        and the spacing.

    Raises:
        ValueError: if `num` is negative.
        TypeError: if `num` is not an integer.

    Examples:
        >>> cp.linspace(0, 1, 5)
        array([0.  , 0.25, 0.5 , 0.75, 1.  ])
        >>> cp.linspace(0, 1, 4, endpoint=False)
        array([0.  , 0.25, 0.5 , 0.75])
    """
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    parts = num - 1 if endpoint else num
    first, last = (convert(x) for x in (start, stop))
    wide = dtypes.inexact(result_name(*(x if is_scalar(x) else y for x, y in ((start, first), (stop, last)))))
    name = wide if dtype is None else dtypes.name_of(dtype)
    low, high = _core.cast(first, wide), _core.cast(last, wide)
    delta = _core.map("subtract", high, low)
    index = _core.cast(_core.iota((num,), (1,), 0), "float64").reshape((num,) + (1,) * delta.ndim)
    if dtypes.itemsize(dtypes.component(delta.dtype_name)) < 8:
        index = _core.cast(index, dtypes.component(delta.dtype_name))
    step = _core.map("divide", delta, parts) if parts > 0 else None
    if step is None:
        result = _core.map("multiply", index, delta)
    else:  # where the step underflows to zero, NumPy scales the index by the number of steps first
        direct = _core.map("multiply", index, step)
        scaled = _core.map("multiply", _core.map("divide", index, parts), delta)
        result = _core.map("where", _core.map("equal", step, 0), scaled, direct)
    result = _core.map("add", result, low)
    if endpoint and num > 1:
        result[-1] = high
    if axis != 0:
        result = moveaxis(result, 0, axis)
    if dtypes.kind(name) in "iu":
        result = _core.map("floor", result)
    if result.dtype_name != name:
        result = _core.cast(result, name)
    result = _on_device(result, device)
    if not retstep:
        return result
    return result, (_core.full((), math.nan, "float64") if step is None else step)


def _with_axis(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Returns the shape with an additional axis of length one."""
    axis = normalize_axis(axis, len(shape) + 1)
    return (*shape[:axis], 1, *shape[axis:])


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> ndarray:
    """Returns `num` values evenly spaced on a logarithmic scale, from base**start to base**stop. `base` may be an array
    that broadcasts with them.

    Args:
        start: the exponent of the first value, a scalar or an array-like.
        stop: the exponent of the last value, a scalar or an array-like.
        num: the number of values.
        endpoint: whether `base**stop` is the last value.
        base: the base of the scale.
        dtype: the dtype of the result; floating by default.
        axis: where the new axis goes if `start` or `stop` is an array.

    Returns:
        An array of shape (num,), with the axes of `start` and `stop` if these are arrays.

    Raises:
        ValueError: if `num` is negative.

    Examples:
        >>> cp.logspace(0, 3, 4)
        array([   1.,   10.,  100., 1000.])
    """
    if not is_scalar(base):
        base, start, stop = convert(base), convert(start), convert(stop)
        ndim = max(base.ndim, start.ndim, stop.ndim)
        base, start, stop = (x.reshape((1,) * (ndim - x.ndim) + x.shape) for x in (base, start, stop))
        base = base.reshape(_with_axis(base.shape, axis))
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    result = _core.map("power", base, exponents)
    return result if dtype is None else _core.cast(result, dtypes.name_of(dtype))


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> ndarray:
    """Returns `num` values in geometric progression from `start` to `stop`, which must be nonzero and have the same
    sign.

    Args:
        start: the first value, a scalar or an array-like.
        stop: the last value, or the end that is left out; a scalar or an array-like.
        num: the number of values.
        endpoint: whether `stop` is the last value.
        dtype: the dtype of the result; floating by default.
        axis: where the new axis goes if `start` or `stop` is an array.

    Returns:
        An array of shape (num,), with the axes of `start` and `stop` if these are arrays.

    Raises:
        ValueError: if `start` or `stop` is zero, or `num` is negative.

    Examples:
        >>> cp.geomspace(1, 16, 5)
        array([ 1.,  2.,  4.,  8., 16.])
    """
    first, last = convert(start), convert(stop)
    if any(bool((x == 0).any()) for x in (first, last)):  # type: ignore[attr-defined]
        raise ValueError("Geometric sequence cannot include zero")
    name = dtypes.inexact(dtypes.name_of(dtype))
    for x in (first, last):
        name = _core.promote_types(name, x.dtype_name)
    first, last = _core.cast(first, name), _core.cast(last, name)
    sign = _core.map("sign", first)
    exponents = linspace(
        _core.map("log10", _core.map("divide", first, sign)), _core.map("log10", _core.map("divide", last, sign)),
        num, endpoint,
    )  # fmt: skip
    result = _core.map("multiply", _core.map("power", 10.0, exponents), sign)
    if num > 0:
        _core.update(result[:1], first)
        if num > 1 and endpoint:
            _core.update(result[-1:], last)
    if axis != 0:
        result = moveaxis(result, 0, axis)
    return result if dtype is None else _core.cast(result, dtypes.name_of(dtype))


# --- matrices


def eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = float, order: str = "C", *, device: Any = None
) -> ndarray:
    """Returns an N x M matrix with ones on the k-th diagonal.

    Args:
        N: the number of rows.
        M: the number of columns, N by default.
        k: the diagonal: 0 is the main one, positive ones are above it.
        dtype: the dtype of the result, float64 by default.
        order: the memory order, "C" (row-major) or "F" (column-major).
        device: the device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns:
        An array of shape (N, M).

    Examples:
        >>> cp.eye(3, dtype=int)
        array([[1, 0, 0],
               [0, 1, 0],
               [0, 0, 1]])
        >>> cp.eye(2, 3, k=1)
        array([[0., 1., 0.],
               [0., 0., 1.]])
    """
    result = zeros((N, N if M is None else M), dtype, order)
    _core.update(diagonal_view(result, operator.index(k)), 1)
    return _on_device(result, device)


def identity(n: int, dtype: Any = float) -> ndarray:
    """Returns the n x n identity matrix.

    Args:
        n: the number of rows and columns.
        dtype: the dtype of the result, float64 by default.

    Returns:
        An array of shape (n, n).

    Examples:
        >>> cp.identity(2)
        array([[1., 0.],
               [0., 1.]])
    """
    return eye(n, dtype=dtype)


def diagonal_view(a: ndarray, offset: int = 0, axis1: int = -2, axis2: int = -1) -> ndarray:
    """Returns a writable view of the diagonals of `a` along a new last axis."""
    axis1, axis2 = (normalize_axis(x, a.ndim) for x in (axis1, axis2))
    if axis1 == axis2:
        raise ValueError("axis1 and axis2 cannot be the same")
    shape, strides = a.shape, a.element_strides
    rows, columns = shape[axis1], shape[axis2]
    start = -offset * strides[axis1] if offset < 0 else offset * strides[axis2]
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    rest = [i for i in range(a.ndim) if i not in (axis1, axis2)]
    return _core.as_strided(
        a,
        (*(shape[i] for i in rest), length),
        (*(strides[i] for i in rest), strides[axis1] + strides[axis2]),
        start if length else 0,
    )


def diag(v: ArrayLike, k: int = 0) -> ndarray:
    """Returns a copy of the k-th diagonal of a matrix, or a matrix with a vector on its k-th diagonal.

    Args:
        v: a vector of shape (N,) or a matrix of shape (M, N).
        k: the diagonal: 0 is the main one, positive ones are above it.

    Returns:
        A vector if the input is a matrix, a matrix of shape (N + |k|, N + |k|) if it is a vector.

    Raises:
        ValueError: unless the input is 1-d or 2-d.

    Examples:
        >>> cp.diag([1, 2, 3])
        array([[1, 0, 0],
               [0, 2, 0],
               [0, 0, 3]])
        >>> cp.diag([[1, 2], [3, 4]])
        array([1, 4])
    """
    v = as_array(v)
    if v.ndim == 2:
        return diagonal_view(v, k).copy()
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = v.size + abs(k)
    result = zeros((n, n), v.dtype_name)
    _core.update(diagonal_view(result, k), v)
    return result


def diagflat(v: ArrayLike, k: int = 0) -> ndarray:
    """Returns a matrix with the flattened input on its k-th diagonal.

    Args:
        v: an array of any shape with N elements.
        k: the diagonal: 0 is the main one, positive ones are above it.

    Returns:
        A matrix of shape (N + |k|, N + |k|).

    Examples:
        >>> cp.diagflat([[1, 2]], 1)
        array([[0, 1, 0],
               [0, 0, 2],
               [0, 0, 0]])
    """
    return diag(as_array(v).reshape(-1), k)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> ndarray:
    """Returns a matrix with ones at and below the k-th diagonal.

    Args:
        N: the number of rows.
        M: the number of columns, N by default.
        k: the last diagonal with ones: 0 is the main one, positive ones are above it.
        dtype: the dtype of the result, float64 by default.

    Returns:
        An array of shape (N, M).

    Examples:
        >>> cp.tri(3, 4, dtype=int)
        array([[1, 0, 0, 0],
               [1, 1, 0, 0],
               [1, 1, 1, 0]])
    """
    rows, columns = max(N, 0), max(N if M is None else M, 0)
    return _core.cast(_core.map("less_equal", _core.iota((rows, columns), (-1, 1), 0), k),
                      dtypes.name_of(dtype))  # fmt: skip


def _triangle(m: ArrayLike, k: int, lower: bool) -> ndarray:
    m = as_array(m)
    if m.ndim == 0:
        raise ValueError("Input must be at least 1-d.")
    shape = m.shape[-2:] if m.ndim > 1 else m.shape * 2
    below = _core.map("less_equal", _core.iota(shape, (-1, 1), 0), k if lower else k - 1)
    zero = _core.full((), 0, m.dtype_name)
    return _core.map("where", below, m, zero) if lower else _core.map("where", below, zero, m)


def tril(m: ArrayLike, k: int = 0) -> ndarray:
    """Returns a copy with zeros above the k-th diagonal.

    Args:
        m: an array of shape (..., M, N).
        k: the last diagonal that is kept: 0 is the main one, positive ones are above it.

    Returns:
        An array of the same shape and dtype.

    Examples:
        >>> cp.tril([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        array([[1, 0, 0],
               [4, 5, 0],
               [7, 8, 9]])
    """
    return _triangle(m, k, True)


def triu(m: ArrayLike, k: int = 0) -> ndarray:
    """Returns a copy with zeros below the k-th diagonal.

    Args:
        m: an array of shape (..., M, N).
        k: the first diagonal that is kept: 0 is the main one, positive ones are above it.

    Returns:
        An array of the same shape and dtype.

    Examples:
        >>> cp.triu([[1, 2, 3], [4, 5, 6], [7, 8, 9]], k=1)
        array([[0, 2, 3],
               [0, 0, 6],
               [0, 0, 0]])
    """
    return _triangle(m, k, False)


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> ndarray:
    """Returns a Vandermonde matrix, whose columns are powers of a vector.

    Args:
        x: a vector of shape (M,).
        N: the number of columns, M by default.
        increasing: whether powers increase from left to right.

    Returns:
        A matrix of shape (M, N).

    Raises:
        ValueError: unless the input is 1-d.

    Examples:
        >>> cp.vander([1, 2, 3], increasing=True)
        array([[1, 1, 1],
               [1, 2, 4],
               [1, 3, 9]])
    """
    x = as_array(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = x.size if N is None else N
    powers = _core.iota((n,), (1,), 0) if increasing else _core.iota((n,), (-1,), n - 1)
    name = _core.promote_types(x.dtype_name, "int64")
    return _core.map("power", _core.cast(x, name).reshape((x.size, 1)), _core.cast(powers, name))


# --- index grids


def indices(dimensions: Shape, dtype: Any = int, sparse: bool = False) -> Any:
    """Returns the indices of all elements of a shape.

    Args:
        dimensions: the shape, a sequence of integers.
        dtype: the dtype of the indices, int64 by default.
        sparse: True returns a tuple of arrays that broadcast to the shape.

    Returns:
        An array of shape (len(dimensions), *dimensions), or a tuple of arrays if `sparse` is true.

    Examples:
        >>> cp.indices((2, 2))
        array([[[0, 0],
                [1, 1]],
        <BLANKLINE>
               [[0, 1],
                [0, 1]]])
    """
    shape = as_shape(dimensions)
    name = dtypes.name_of(dtype)
    grids = []
    for axis, n in enumerate(shape):
        if sparse:
            grid = _core.iota((1,) * axis + (n,) + (1,) * (len(shape) - axis - 1),
                              (0,) * axis + (1,) + (0,) * (len(shape) - axis - 1), 0)  # fmt: skip
        else:
            grid = _core.iota(shape, tuple(int(i == axis) for i in range(len(shape))), 0)
        grids.append(grid if name == "int64" else _core.cast(grid, name))
    if sparse:
        return tuple(grids)
    if not grids:
        return empty((0,), name)
    result = _core.empty((len(shape), *shape), name)
    for axis, grid in enumerate(grids):
        _core.update(result[axis], grid)
    return result


def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[ndarray, ...]:
    """Returns coordinate matrices from coordinate vectors.

    Args:
        *xi: 1-d arrays, the coordinates along each axis.
        copy: False returns views with zero strides.
        sparse: True returns arrays that broadcast to the grid, with length one along all axes but their own.
        indexing: "xy" exchanges the first two axes, as plots do; "ij" keeps them in order.

    Returns:
        A tuple with an array for each vector. With "ij" their shape is the vectors' lengths.

    Raises:
        ValueError: if `indexing` is neither "xy" nor "ij".

    Examples:
        >>> x, y = cp.meshgrid([1, 2, 3], [10, 20])
        >>> x
        array([[1, 2, 3],
               [1, 2, 3]])
        >>> y
        array([[10, 10, 10],
               [20, 20, 20]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    vectors = [as_array(x).reshape(-1) for x in xi]
    n = len(vectors)
    axes = list(range(n))
    if indexing == "xy" and n > 1:
        axes[0], axes[1] = 1, 0
    grids = [spread(v, axis, n) for v, axis in zip(vectors, axes, strict=True)]
    if not sparse:
        sizes = [0] * n
        for v, axis in zip(vectors, axes, strict=True):
            sizes[axis] = v.size
        grids = [_core.broadcast_to(g, sizes) for g in grids]
    return tuple(g.copy() for g in grids) if copy else tuple(grids)


__all__ = [
    "arange", "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfarray", "asfortranarray",
    "astype", "copy", "diag", "diagflat", "empty", "empty_like", "eye", "frombuffer", "fromfunction",
    "fromiter", "fromstring", "full", "full_like", "geomspace", "identity", "indices", "linspace", "logspace",
    "meshgrid", "ones", "ones_like", "require", "tri", "tril", "triu", "vander", "zeros", "zeros_like",
]  # fmt: skip
