"""Filters and geometric transforms by user functions.

Functions that are called for each element or line receive NumPy arrays: the input is copied to the host once before the
first call, and the result back once after the last. `vectorized_filter` calls its function once for all windows, as
views on the device, and kernels of CUDA C++ are called by one thread for each window or line.
"""

from __future__ import annotations

import math
import numbers
import operator
from array import array as array_of
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from cuprous import _core
from cuprous._common.arguments import normalize_axis
from cuprous._common.arguments import target as array_target
from cuprous._functions.manipulation import moveaxis
from cuprous._functions.padding import pad
from cuprous.cuda._raw_kernels import RawKernel
from cuprous.cuda._reduction_kernel import ReductionKernel
from cuprous.lib.stride_tricks import sliding_window_view
from cuprous.scipy.ndimage._interpolation import _check, _transformed
from cuprous.scipy.ndimage._kernel_functions import check_kernel, is_kernel, of_lines, of_windows, window_dtype
from cuprous.scipy.ndimage._parameters import documented
from cuprous.scipy.ndimage._rank import _box_or_footprint, _padded, _warn_size, _Window, windows_in_pieces
from cuprous.scipy.ndimage._structures import host
from cuprous.scipy.ndimage._support import (
    ArrayLike,
    Output,
    check_axes,
    converted,
    deliver,
    edge,
    in_order,
    is_complex,
    ndarray,
    source,
    target,
)

if TYPE_CHECKING:
    import numpy as np

#: The number of window elements that are gathered on the host at a time.
_PIECE = 1 << 20
#: The modes of `vectorized_filter` and NumPy's corresponding modes of `pad`; SciPy maps "grid-mirror" in the same way.
_PADS = {
    "nearest": "edge", "reflect": "symmetric", "mirror": "reflect", "grid-mirror": "reflect",
    "constant": "constant", "grid-constant": "constant", "wrap": "wrap", "grid-wrap": "wrap", "valid": "valid",
}  # fmt: skip


def _checked(name: str, function: Any, arguments: Any, keywords: Any) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Checks a user function. Returns it with its keywords.

    Raises
    ------
    NotImplementedError
        For a `scipy.LowLevelCallable`.
    ValueError
        For objects that are not callable.
    RuntimeError
        For extra arguments that are not a tuple, or keywords that are not a dict.
    """
    if any(t.__name__ == "LowLevelCallable" for t in type(function).__mro__):
        raise NotImplementedError(f"[{name}] scipy.LowLevelCallable is not supported; pass a Python function")
    if not callable(function):
        raise ValueError("invalid callable given")
    if not isinstance(arguments, tuple):
        raise RuntimeError("extra_arguments must be a tuple")
    if keywords is not None and not isinstance(keywords, dict):
        raise RuntimeError("extra_keywords must be a dictionary")
    return function, keywords or {}


def _doubles(a: ndarray, shape: Sequence[int], origins: Sequence[int], mode: str, cval: Any) -> np.ndarray[Any, Any]:
    """Returns the non-empty input in float64 on the host, padded so that every element has a full window."""
    return _core.to_numpy(_padded(_core.cast(a, "float64"), shape, origins, mode, cval))


@documented
def generic_filter(
    input: ArrayLike, function: Callable[..., float], size: Any = None, footprint: Any = None, output: Output = None,
    mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, extra_arguments: tuple[Any, ...] = (),
    extra_keywords: dict[str, Any] | None = None, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Applies a function to the window of every element.

    For a Python function, the array is copied to the host once and the results back once; each call takes microseconds,
    in order. If the function has an `axis` argument, `vectorized_filter` stays on the device and is faster. CuPy's
    kernels stay on the GPU.

    Parameters
    ----------
    function : callable
        `function(window, *extra_arguments, **extra_keywords)` returns a number; `window` is a 1-d NumPy array of
        float64 with the window's elements that the footprint selects. Or a `RawKernel` of `void f(double* window, int
        size, double* value)`, or a `ReductionKernel` of one input and one output, which reduces a window.
    size : int or sequence of ints, optional
        The extents of a box, one for all axes or one for each.
    footprint : array_like, optional
        Instead of `size`, the elements that belong to a window; read on the host.
    output : dtype or ndarray, optional
        The result's dtype (the input's by default), or an array for the result. Integers are truncated.
    mode : str, default "reflect"
        The extension beyond the edges, as for `correlate1d`.
    extra_arguments : tuple, optional
        Passed on to the function.
    extra_keywords : dict, optional
        Passed on to the function.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    TypeError
        For complex input, if the function returns something other than a real number, and for other kinds of kernels
        and further arguments of kernels.
    RuntimeError
        Without `size` and `footprint`, and for arguments of the wrong length or shape.
    ValueError
        For an origin outside the window, and for a function that is not callable.
    NotImplementedError
        For a `scipy.LowLevelCallable`, and for kernels if the device is a CPU.

    See Also
    --------
    vectorized_filter

    Examples
    --------
    >>> cp.scipy.ndimage.generic_filter(cp.asarray([1.0, 5.0, 2.0]), max, size=3)
    array([5., 5., 5.])
    """
    import numpy as np

    _warn_size(size, footprint)
    kernel = is_kernel(function)
    if kernel:
        check_kernel("generic_filter", function, (RawKernel, ReductionKernel), extra_arguments, extra_keywords)
    function, keywords = _checked("generic_filter", function, extra_arguments, extra_keywords)
    a = source(input, real=True)
    found, origin = in_order(check_axes(axes, a.ndim), origin, a.ndim)
    shape, mask = _box_or_footprint(size, footprint, len(found))
    window = _Window(shape, mask, origin, found, a.ndim)
    name, out = target(a, output)
    mode = edge(mode)
    if a.size == 0:
        return deliver(_core.empty(a.shape, name), out)
    if kernel:
        return deliver(_by_kernel(function, a, window, mode, cval, name), out)
    around = _doubles(a, window.shape, window.origins, mode, cval)
    strides = [s // around.itemsize for s in around.strides] or [1]
    deltas = np.array([sum(map(operator.mul, cell, strides)) for cell in sorted(window.offsets)], dtype=np.int64)
    flat, found_values = around.reshape(-1), array_of("d")
    step = max(1, _PIECE // max(1, deltas.size))
    for start in range(0, a.size, step):
        indices = np.unravel_index(np.arange(start, min(start + step, a.size)), a.shape or (1,))
        first = np.asarray(sum(position * s for position, s in zip(indices, strides, strict=True)))
        for values in flat[first[:, None] + deltas]:
            found_values.append(function(values, *extra_arguments, **keywords))
    result = np.array(found_values, dtype=np.float64).reshape(a.shape)
    return deliver(converted(_core.from_numpy(result, a.device_name), name), out)


def _by_kernel(function: Any, a: ndarray, window: _Window, mode: str, cval: Any, name: str) -> ndarray:
    result = _core.empty(a.shape, name)
    around = _core.cast(a, window_dtype(function, a.dtype_name))
    padded = _padded(around, window.shape, window.origins, mode, cval)
    if not a.ndim:
        return converted(of_windows(function, padded.reshape([1]), name), name)
    for part, windows in windows_in_pieces(result, padded, window):
        _core.update(part, converted(of_windows(function, windows, name), name))
    return result


@documented
def generic_filter1d(
    input: ArrayLike, function: Callable[..., Any], filter_size: int, axis: int = -1, output: Output = None,
    mode: str = "reflect", cval: Any = 0.0, origin: int = 0, extra_arguments: tuple[Any, ...] = (),
    extra_keywords: dict[str, Any] | None = None,
) -> ndarray:  # fmt: skip
    """Applies a function to every line along an axis.

    For a Python function, the array is copied to the host once and the results back once. CuPy's kernels stay on the
    GPU.

    Parameters
    ----------
    input : array_like
        A real array with at least one axis.
    function : callable
        `function(line, result, *extra_arguments, **extra_keywords)` writes to `result`; both are 1-d NumPy arrays of
        float64. `line` is extended beyond the edges by `filter_size - 1` elements. The function's return value is
        ignored. Or a `RawKernel` of `void f(double* line, ptrdiff_t length, double* result, ptrdiff_t length)`.
    filter_size : int
        The length of the filter.
    output : dtype or ndarray, optional
        The result's dtype (the input's by default), or an array for the result. Integers are truncated.
    extra_arguments : tuple, optional
        Further arguments of the function.
    extra_keywords : dict, optional
        Keyword arguments of the function.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    TypeError
        For complex input, and for other kinds of kernels and further arguments of kernels.
    RuntimeError
        For a length below 1.
    ValueError
        For an origin outside the filter, and for a function that is not callable.
    AxisError
        If the axis does not exist.
    NotImplementedError
        For a `scipy.LowLevelCallable`, and for kernels if the device is a CPU.

    See Also
    --------
    scipy.ndimage.generic_filter, scipy.ndimage.vectorized_filter

    Examples
    --------
    >>> def reverse(line, result):
    ...     result[:] = line[::-1]
    >>> cp.scipy.ndimage.generic_filter1d(cp.asarray([1.0, 5.0, 2.0]), reverse, 1)
    array([2., 5., 1.])
    """
    import numpy as np

    kernel = is_kernel(function)
    if kernel:
        check_kernel("generic_filter1d", function, (RawKernel,), extra_arguments, extra_keywords)
    function, keywords = _checked("generic_filter1d", function, extra_arguments, extra_keywords)
    a = source(input, real=True)
    name, out = target(a, output)
    n = operator.index(filter_size)
    if n < 1:
        raise RuntimeError("invalid filter size")
    axis = normalize_axis(axis, a.ndim)
    if not 0 <= n // 2 + origin < n:
        raise ValueError("invalid origin")
    shape, origins = ([k if i == axis else rest for i in range(a.ndim)] for k, rest in ((n, 1), (origin, 0)))
    mode = edge(mode)
    if kernel and a.size:
        padded = _padded(_core.cast(a, "float64"), shape, origins, mode, cval)
        written = of_lines(cast(RawKernel, function), moveaxis(padded, axis, -1).copy(), a.shape[axis])
        return deliver(moveaxis(converted(written, name), -1, axis), out)
    result = np.zeros(a.shape)
    if a.size:
        lines = np.moveaxis(_doubles(a, shape, origins, mode, cval), axis, -1)
        filtered = np.zeros((*lines.shape[:-1], a.shape[axis]))
        for position in np.ndindex(lines.shape[:-1]):
            function(lines[position].copy(), filtered[position], *extra_arguments, **keywords)
        result = np.moveaxis(filtered, -1, axis)
    return deliver(converted(_core.from_numpy(result, a.device_name), name), out)


@documented
def geometric_transform(
    input: ArrayLike, mapping: Callable[..., tuple[float, ...]], output_shape: Any = None, output: Output = None,
    order: int = 3, mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
    extra_arguments: tuple[Any, ...] = (), extra_keywords: dict[str, Any] | None = None,
) -> ndarray:  # fmt: skip
    """Returns an array whose element `o` is the input at `mapping(o)`.

    The mapping is a Python function that is called on the host for each element of the result; the coordinates are then
    copied to the device. If they can be computed for all elements at once, `map_coordinates` is faster.

    Parameters
    ----------
    input : array_like
        An array of any dtype.
    mapping : callable
        `mapping(position, *extra_arguments, **extra_keywords)` takes an index of the result as a tuple of integers and
        returns one coordinate for each axis of the input.
    output_shape : int or tuple of ints, optional
        The shape of the result; by default the input's.
    output : dtype or ndarray, optional
        The result's dtype (the input's by default), or an array for the result. Integers are rounded.
    mode : str, default "constant"
        The extension beyond the edges: "constant", "grid-constant", "nearest", "mirror", "reflect", "grid-mirror",
        "wrap" or "grid-wrap".
    extra_arguments : tuple, optional
        Passed on to the mapping.
    extra_keywords : dict, optional
        Passed on to the mapping.

    Returns
    -------
    ndarray
        An array of `output_shape`.

    Raises
    ------
    RuntimeError
        For an unsupported order or mode, an output of the wrong shape, and 0-d arrays.
    TypeError
        If the mapping returns anything other than a tuple of real numbers.
    ValueError
        For a mapping that is not callable.
    NotImplementedError
        For a `scipy.LowLevelCallable`.

    See Also
    --------
    map_coordinates, affine_transform, spline_filter1d

    Examples
    --------
    >>> a = cp.asarray([1.0, 2.0, 3.0])
    >>> cp.scipy.ndimage.geometric_transform(a, lambda at: (2.0 - at[0],), order=1)
    array([3., 2., 1.])
    """
    import numpy as np

    mapping, keywords = _checked("geometric_transform", mapping, extra_arguments, extra_keywords)
    a = source(input)
    shape = a.shape if output_shape is None else tuple(operator.index(n) for n in output_shape)
    _check(a, order, len(shape))
    target(a, output, is_complex(a), shape)  # checked before the calls, which may take long
    found = array_of("d")
    for position in np.ndindex(shape):
        coordinates = mapping(position, *extra_arguments, **keywords)
        if not isinstance(coordinates, tuple) or len(coordinates) < a.ndim:
            raise TypeError(f"[geometric_transform] the mapping must return a tuple of {a.ndim} numbers, not "
                            f"{coordinates!r}")  # fmt: skip
        found.extend(coordinates[: a.ndim])
    rows = np.array(found, dtype=np.float64).reshape(math.prod(shape), a.ndim).T.reshape(a.ndim, *shape)
    where = _core.from_numpy(rows, a.device_name)
    return _transformed(a, [where[i] for i in range(a.ndim)], shape, output, order, mode, cval, prefilter)


def _integers(values: Sequence[Any]) -> bool:
    return all(isinstance(v, numbers.Integral) and not isinstance(v, bool) for v in values)


def _sequence(value: Any, count: int) -> tuple[Any, ...]:
    return (value,) * count if isinstance(value, numbers.Number) else tuple(value)


@documented
def vectorized_filter(
    input: ArrayLike, function: Callable[..., Any], *, size: Any = None, footprint: Any = None,
    output: ndarray | None = None, mode: str = "reflect", cval: Any = None, origin: Any = None, axes: Any = None,
    batch_memory: float = 2**30,
) -> ndarray:  # fmt: skip
    """Applies a function to the windows of all elements at once, on the device.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    function : callable
        `function(windows, axis=axes_of_a_window)` returns an array without those axes, such as `cp.mean` or `lambda w,
        axis: cp.max(w, axis) - cp.min(w, axis)`. `windows` is a Cuprous array with the window's axes last (`axis` is a
        tuple). With a footprint, its elements form a single last axis (`axis` is -1).
    size : int or sequence of ints, optional
        The extents of a box, one for all axes or one for each.
    footprint : array_like, optional
        Instead of `size`, the elements that belong to a window; read on the host.
    output : ndarray, optional
        An array for the result; by default a new one with the dtype that the function returns.
    mode : str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap", "grid-constant",
        "grid-wrap", "grid-mirror" (here the same as "mirror", as in SciPy), or "valid", which uses only windows inside
        the array.
    cval : scalar, optional
        The value beyond the edges for "constant" (0).
    batch_memory : float, optional
        The greatest size in bytes of the windows that are passed to the function in one call.

    Returns
    -------
    ndarray
        An array of the shape of `input`; smaller for "valid".

    Raises
    ------
    ValueError
        Unless exactly one of `size` and `footprint` is given, and for arguments of the wrong kind or length.
    AxisError
        If an axis does not exist.

    See Also
    --------
    cuprous.scipy.ndimage.generic_filter

    Examples
    --------
    >>> cp.scipy.ndimage.vectorized_filter(cp.asarray([1.0, 5.0, 2.0]), cp.max, size=3)
    array([5., 5., 5.])
    """
    a = source(input)
    if not callable(function):
        raise ValueError("`function` must be a callable.")
    if size is None and footprint is None:
        raise ValueError("Either `size` or `footprint` must be provided.")
    if size is not None and footprint is not None:
        raise ValueError("Either `size` or `footprint` may be provided, not both.")
    found = tuple(range(-a.ndim, 0)) if axes is None else _sequence(axes, 1)
    count = len(found)
    if count > a.ndim:
        raise ValueError("The length of `axes` may not exceed the dimensionality of `input`(`input.ndim`).")
    called: Callable[..., Any] = function
    if size is not None:
        shape = _sequence(size, count)
        if not _integers(shape) or any(n <= 0 for n in shape):
            raise ValueError("All elements of `size` must be positive integers.")
    else:
        cells = host(footprint, bool)
        shape = cells.shape
        index = (..., *(_core.from_numpy(i, a.device_name) for i in cells.nonzero())) if count else ()

        def called(windows: ndarray, axis: Any) -> Any:
            return function(windows[index] if count else windows[cells[()]], axis=-1)

    if count != len(shape):
        raise ValueError(
            "`axes` must be compatible with the dimensionality of the window specified by `size` or `footprint`."
        )
    origins = (0,) * count if origin is None else _sequence(origin, count)
    if not _integers(origins):
        raise ValueError("All elements of `origin` must be integers.")
    if len(origins) != count:
        raise ValueError("`origin` must be an integer or tuple of integers with length equal to the number of axes.")
    if mode not in _PADS:
        raise ValueError(f"`mode` must be one of {set(_PADS)}.")
    mode = _PADS[mode]
    if mode == "valid" and any(origins):
        raise ValueError("`mode='valid'` is incompatible with use of `origin`.")
    if cval is not None and mode != "constant":
        raise ValueError("Use of `cval` is compatible only with `mode='constant'`.")
    if cval is not None and (isinstance(cval, bool) or not isinstance(cval, (numbers.Number, tuple, list, ndarray))):
        raise ValueError("`cval` must include only numbers.")
    if isinstance(batch_memory, bool) or not isinstance(batch_memory, numbers.Real) or not batch_memory > 0:
        raise ValueError("`batch_memory` must be positive number.")
    last = tuple(range(-count, 0))
    moved = moveaxis(a, found, last)
    if output is not None:
        output = moveaxis(array_target(output, "vectorized_filter"), found, last)
    if a.size == 0:
        return a
    if a.ndim == 0:
        return source(called(a, axis=-1) if footprint is not None else function(a))
    if mode != "valid":
        widths = [(n // 2 + o, (n - 1) // 2 - o) for n, o in zip(shape, origins, strict=True)]
        values = {"constant_values": 0.0 if cval is None else cval} if mode == "constant" else {}
        moved = pad(moved, [(0, 0)] * (a.ndim - count) + widths, mode, **values)
    result = _in_batches(called, sliding_window_view(moved, shape, last), last, output, batch_memory)
    return moveaxis(result, last, found)


def _in_batches(
    function: Callable[..., Any], windows: ndarray, last: tuple[int, ...], output: ndarray | None, memory: float
) -> ndarray:
    """Applies `function` to batches of windows along the first axis, each as large as the memory limit allows."""
    n = windows.shape[0]
    step = n if not last else int(min(n, memory // (math.prod(windows.shape[1:]) * windows.itemsize)))
    if step < 1:
        raise ValueError("`batch_memory` is insufficient for minimum chunk size.")
    if step == n:
        result = source(function(windows, axis=last))
        return result if output is None else deliver(result, output)
    for start in range(0, n, step):
        part = source(function(windows[start : start + step], axis=last))
        if output is None:
            output = _core.empty(windows.shape[: -len(last)], part.dtype_name)
        _core.update(output[start : start + step], part)
    assert output is not None
    return output
