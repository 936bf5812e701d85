"""Linear filters: correlation and convolution along one or all axes, and moving averages."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import normalize_axis
from cuprous._common.convert import convert
from cuprous.scipy.ndimage._parameters import documented
from cuprous.scipy.ndimage._support import (
    ArrayLike,
    Mode,
    Output,
    check_axes,
    check_origin,
    compute_dtype,
    converted,
    deliver,
    edge,
    in_order,
    is_complex,
    line_shape,
    ndarray,
    per_axis,
    prepared,
    source,
    spread,
    target,
)

#: A function that returns the weights, with as many axes as the input, in a dtype and on a device.
Weights = Callable[[str, str], ndarray]


@lru_cache(maxsize=256)
def _line(values: tuple[float, ...], axis: int, ndim: int, dtype: str, device: str) -> ndarray:
    """Returns weights along one axis on a device. Cached, so that a loop of filters copies them only once."""
    import numpy as np

    return _core.from_numpy(np.array(values, dtype=dtype).reshape(line_shape(len(values), axis, ndim)), device)


def line(values: tuple[float, ...], axis: int, ndim: int) -> Weights:
    """Returns weights along one axis, from Python floats."""
    return lambda dtype, device: _line(values, axis, ndim, dtype, device)


def _from_array(weights: ndarray) -> Weights:
    return lambda dtype, device: weights if weights.dtype_name == dtype else _core.cast(weights, dtype)


def correlated(
    a: ndarray, weights: Weights, mode: str, cval: Any, origin: list[int], name: str, out: list[int] | None = None
) -> ndarray:
    """Returns a new array of dtype `name` and shape `out` (that of `a`): sum_j weights[j] * a[i + j - origin], for real
    weights."""
    if a.size == 0 and out is None:
        return _core.empty(a.shape, name)
    if is_complex(a):
        part, cval = _dtypes.component(name), complex(cval)
        re = correlated(_core.map("real", a), weights, mode, cval.real, origin, part, out)
        im = correlated(_core.map("imag", a), weights, mode, cval.imag, origin, part, out)
        return _core.map("make_complex", re, im)
    dtype = compute_dtype(a.dtype_name, name)
    if a.dtype_name != dtype:
        a = _core.cast(a, dtype)
    w = weights(dtype, a.device_name)
    result = _core.correlate(a, w, mode, float(cval), origin, out) if a.ndim else a * w
    return converted(result, name)


def _any_weights(
    a: ndarray, weights: ndarray, shape: list[int], conjugate: bool, mode: str, cval: Any, origin: list[int], name: str,
    out: list[int] | None = None,
) -> ndarray:  # fmt: skip
    """Computes `correlated` for weights that may be complex: (a + bi)(u + vi) by four real correlations."""
    weights = weights.reshape(shape)
    if not is_complex(weights):
        return correlated(a, _from_array(weights), mode, cval, origin, name, out)
    part = _dtypes.component(name)
    u, v = _from_array(_core.map("real", weights)), _from_array(_core.map("imag", weights))
    if isinstance(cval, complex) and not is_complex(a):
        raise ValueError("Cannot provide a complex-valued cval when the input is real.")
    sign = -1.0 if conjugate else 1.0
    if not is_complex(a):
        re = correlated(a, u, mode, cval, origin, part, out)
        im = correlated(a, v, mode, cval, origin, part, out) * sign
    else:
        x, y, c = _core.map("real", a), _core.map("imag", a), complex(cval)
        re = (
            correlated(x, u, mode, c.real, origin, part, out) - correlated(y, v, mode, c.imag, origin, part, out) * sign
        )
        im = correlated(x, v, mode, c.real, origin, part, out) * sign + correlated(
            y, u, mode, c.imag, origin, part, out
        )
    return _core.map("make_complex", re, im)


def _flipped(weights: ndarray) -> ndarray:
    return weights[tuple(slice(None, None, -1) for _ in range(weights.ndim))]


def _line_filter(
    input: ArrayLike, weights: ArrayLike, axis: int, output: Output, mode: Mode, cval: Any, origin: int, convolve: bool
) -> ndarray:
    a = source(input)
    w: ndarray | tuple[float, ...]
    if isinstance(weights, (list, tuple)) and weights and all(isinstance(v, (int, float)) for v in weights):
        w = tuple(float(v) for v in weights)
        count, complex_weights = len(w), False
        w = w[::-1] if convolve else w
    else:
        w = convert(weights)
        if w.ndim != 1 or w.size == 0:
            raise RuntimeError("no filter weights given")
        count, complex_weights = w.size, is_complex(w)
        w = _flipped(w) if convolve else w
    if convolve:
        origin = -origin - (0 if count & 1 else 1)
    name, out = target(a, output, is_complex(a) or complex_weights)
    axis = normalize_axis(axis, a.ndim)
    _check_origin(origin, count, "len(weights)", "origin")
    middle = [count // 2 + origin if i == axis else 0 for i in range(a.ndim)]
    shape = line_shape(count, axis, a.ndim)
    if isinstance(w, tuple):
        return deliver(correlated(a, line(w, axis, a.ndim), edge(mode), cval, middle, name), out)
    return deliver(_any_weights(a, w, shape, not convolve, edge(mode), cval, middle, name), out)


def _check_origin(origin: int, length: int, what: str, which: str) -> None:
    if not -(length // 2) <= origin <= (length - 1) // 2:
        raise ValueError(f"Invalid origin; origin must satisfy -({what} // 2) <= {which} <= ({what}-1) // 2")


@documented
def correlate1d(
    input: ArrayLike, weights: ArrayLike, axis: int = -1, output: Output = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> ndarray:  # fmt: skip
    """Correlates the lines along one axis with a vector of weights.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    weights : array_like
        A vector of real or complex numbers.
    origin : int, default 0
        The shift of the window's center.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For weights that are not a vector, an unknown mode, or an output of the wrong shape.
    ValueError
        For an origin outside the window.

    See Also
    --------
    scipy.ndimage.convolve, scipy.ndimage.correlate, scipy.ndimage.convolve1d

    Examples
    --------
    >>> cp.scipy.ndimage.correlate1d(cp.asarray([0.0, 1.0, 0.0]), [1.0, 2.0, 3.0])
    array([3., 2., 1.])
    """
    return _line_filter(input, weights, axis, output, mode, cval, origin, False)


@documented
def convolve1d(
    input: ArrayLike, weights: ArrayLike, axis: int = -1, output: Output = None, mode: str = "reflect",
    cval: Any = 0.0, origin: int = 0,
) -> ndarray:  # fmt: skip
    """Convolves the lines along one axis with a vector of weights: `correlate1d` with reversed weights.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    weights : array_like
        A vector of real or complex numbers.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For weights that are not a vector, an unknown mode, or an output of the wrong shape.
    ValueError
        For an origin outside the window.

    See Also
    --------
    scipy.ndimage.correlate1d, scipy.ndimage.convolve, scipy.ndimage.correlate

    Examples
    --------
    >>> cp.scipy.ndimage.convolve1d(cp.asarray([0.0, 1.0, 0.0]), [1.0, 2.0, 3.0])
    array([1., 2., 3.])
    """
    return _line_filter(input, weights, axis, output, mode, cval, origin, True)


def _filter(
    input: ArrayLike, weights: ArrayLike, output: Output, mode: str, cval: Any, origin: Any, axes: Any, convolve: bool
) -> ndarray:
    a, w = source(input), convert(weights)
    found, origins = in_order(check_axes(axes, a.ndim), origin, a.ndim)
    if w.ndim != len(found):
        raise RuntimeError(f"weights.ndim ({w.ndim}) must match len(axes) ({len(found)})")
    if 0 in w.shape:
        raise RuntimeError("no filter weights given")
    if convolve:
        w = _flipped(w)
        origins = [-o - (0 if n & 1 else 1) for o, n in zip(origins, w.shape, strict=True)]
    for o, n in zip(origins, w.shape, strict=True):
        _check_origin(o, n, "weights.shape[k]", "origin[k]")
    name, out = target(a, output, is_complex(a) or is_complex(w))
    middle = spread([n // 2 + o for n, o in zip(w.shape, origins, strict=True)], found, a.ndim, 0)
    shape = spread(list(w.shape), found, a.ndim, 1)
    return deliver(_any_weights(a, w, shape, not convolve, edge(mode), cval, middle, name), out)


@documented
def correlate(
    input: ArrayLike, weights: ArrayLike, output: Output = None, mode: str = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Correlates an array with weights: sum over j of conj(weights[j]) * input[i + j - center].

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    weights : array_like
        Real or complex, with as many axes as `input`, or as `axes` if given.
    mode : str, default "reflect"
        One of the modes of `correlate1d`, for all axes.
    axes : int or tuple of ints, optional
        The axes to filter along; None for all.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For weights of the wrong rank, an unknown mode, or an output of the wrong shape.
    ValueError
        For an origin outside the window, or invalid axes.

    See Also
    --------
    convolve

    Examples
    --------
    >>> cp.scipy.ndimage.correlate(cp.asarray([0.0, 1.0, 0.0]), [1.0, 2.0, 3.0])
    array([3., 2., 1.])
    """
    return _filter(input, weights, output, mode, cval, origin, axes, False)


@documented
def convolve(
    input: ArrayLike, weights: ArrayLike, output: Output = None, mode: str = "reflect", cval: Any = 0.0,
    origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Convolves an array with weights: `correlate` with the weights (not conjugated) reversed along each axis.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    weights : array_like
        Real or complex, with as many axes as `input`, or as `axes` if given.
    axes : int or tuple of ints, optional
        The axes to filter along; None for all.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For weights of the wrong rank, an unknown mode, or an output of the wrong shape.
    ValueError
        For an origin outside the window, or invalid axes.

    See Also
    --------
    correlate

    Examples
    --------
    >>> cp.scipy.ndimage.convolve(cp.asarray([0.0, 1.0, 0.0]), [1.0, 2.0, 3.0])
    array([1., 2., 3.])
    """
    return _filter(input, weights, output, mode, cval, origin, axes, True)


def averaged(a: ndarray, size: int, axis: int, mode: Mode, cval: Any, origin: int, name: str) -> ndarray:
    """Returns the mean over `size` elements along `axis`. Integers are summed exactly before the division, so that
    constant input stays constant."""
    check_origin(size, origin)
    middle = [size // 2 + origin if i == axis else 0 for i in range(a.ndim)]
    if _dtypes.kind(a.dtype_name) in "fc":
        return correlated(a, line((1.0 / size,) * size, axis, a.ndim), edge(mode), cval, middle, name)
    total = correlated(a, line((1.0,) * size, axis, a.ndim), edge(mode), cval, middle, "float64")
    return converted(total / float(size), name)


@documented
def uniform_filter1d(
    input: ArrayLike, size: int, axis: int = -1, output: Output = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> ndarray:  # fmt: skip
    """Returns means over windows along one axis.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    size : int
        The number of elements of a window.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For an unknown mode, or an output of the wrong shape.
    ValueError
        For an origin outside the window.

    See Also
    --------
    scipy.ndimage.gaussian_filter, scipy.ndimage.uniform_filter

    Examples
    --------
    >>> cp.scipy.ndimage.uniform_filter1d(cp.asarray([0.0, 3.0, 0.0, 0.0]), 3)
    array([1., 1., 1., 0.])
    """
    a, name, out = prepared(input, output)
    axis = normalize_axis(axis, a.ndim)
    return deliver(averaged(a, size, axis, mode, cval, origin, name), out)


@documented
def uniform_filter(
    input: ArrayLike, size: Any = 3, output: Output = None, mode: Mode = "reflect", cval: Any = 0.0, origin: Any = 0,
    *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Returns means over boxes, axis by axis.

    Parameters
    ----------
    input : array_like
        An array of any dtype and shape.
    size : int or sequence of ints, default 3
        The extents of the box, one for all axes or one for each.
    axes : int or tuple of ints, optional
        The axes to filter along; None for all.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For an unknown mode, or an output of the wrong shape.
    ValueError
        For an origin outside the window, or invalid axes.

    See Also
    --------
    scipy.ndimage.uniform_filter1d, scipy.ndimage.gaussian_filter

    Examples
    --------
    >>> cp.scipy.ndimage.uniform_filter(cp.asarray([0.0, 3.0, 0.0, 0.0]), 3)
    array([1., 1., 1., 0.])
    """
    a, name, out = prepared(input, output)
    found = check_axes(axes, a.ndim)
    sizes, modes, origins = (per_axis(v, len(found)) for v in (size, mode, origin))
    result = None
    for axis, n, m, o in zip(found, sizes, modes, origins, strict=True):
        if n > 1:
            result = averaged(a if result is None else result, int(n), axis, m, cval, o, name)
    return deliver(_core.cast(a, name) if result is None else result, out)
