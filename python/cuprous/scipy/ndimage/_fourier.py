"""Filters in the frequency domain: each frequency is multiplied by the filter's response."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import normalize_axis
from cuprous._common.operands import on_array_device
from cuprous.scipy.ndimage._parameters import documented
from cuprous.scipy.ndimage._support import ArrayLike, Output, deliver, is_complex, ndarray, source, target
from cuprous.scipy.special import j1, sinc

_map = _core.map


def _prepared(input: ArrayLike, output: Output, to_complex: bool) -> tuple[ndarray, str, ndarray | None]:
    """Returns the input in the dtype for the computation, the result's dtype, and the caller's output array or None."""
    a = source(input)
    if output is not None:
        name, out = target(a, output, is_complex(a) or to_complex)
    elif is_complex(a) or (a.dtype_name == "float32" and not to_complex):
        name, out = a.dtype_name, None
    else:
        name, out = "complex128" if to_complex else "float64", None
    return _core.cast(a, name), name, out


def _axes(a: ndarray, value: Any, what: str, n: int, axis: int) -> list[tuple[ndarray, float]]:
    """Returns, for each axis, the frequencies in cycles per element, shaped to broadcast, and the axis' value."""
    numbers = [float(v) for v in value] if hasattr(value, "__iter__") else [float(value)] * a.ndim
    if len(numbers) != a.ndim:
        raise RuntimeError(f"sequence argument must have length equal to input rank; got {len(numbers)} for {what}")
    axis = normalize_axis(axis, a.ndim)
    name = _dtypes.component(a.dtype_name)
    found = []
    for i, (count, number) in enumerate(zip(a.shape, numbers, strict=True)):
        index = _core.iota([count], [1], 0)
        if i == axis and n > 0:
            points = n
        else:
            points = count
            index = _map("where", index < (count + 1) // 2, index, index - count)
        shape = [count if k == i else 1 for k in range(a.ndim)]
        found.append(((_core.cast(index, name) / float(max(points, 1))).reshape(shape), number))
    return found


def _filtered(a: ndarray, name: str, out: ndarray | None, response: ndarray) -> ndarray:
    result = a * response
    return deliver(result if result.dtype_name == name else _core.cast(result, name), out)


@on_array_device
@documented
def fourier_gaussian(input: ArrayLike, sigma: Any, n: int = -1, axis: int = -1, output: Output = None) -> ndarray:
    """Multiplies the Fourier transform of an array by that of a Gaussian.

    Parameters
    ----------
    input : array_like
        The Fourier transform.
    sigma : float or sequence of floats
        The standard deviations, one for all axes or one for each.
    axis : int, default -1
        The axis of the real transform.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For a wrong number of standard deviations.
    AxisError
        If the axis does not exist.

    See Also
    --------
    scipy.ndimage.fourier_shift, scipy.ndimage.fourier_uniform, scipy.ndimage.fourier_ellipsoid

    Examples
    --------
    >>> cp.scipy.ndimage.fourier_gaussian(cp.ones(4), 1.0).round(6)
    array([1.      , 0.291213, 0.007192, 0.291213])
    """
    a, name, out = _prepared(input, output, False)
    total: Any = 0.0
    for f, width in _axes(a, sigma, "sigma", n, axis):
        total = total + f * f * (-2.0 * (math.pi * width) ** 2)
    return _filtered(a, name, out, _map("exp", total))


@on_array_device
@documented
def fourier_uniform(input: ArrayLike, size: Any, n: int = -1, axis: int = -1, output: Output = None) -> ndarray:
    """Multiplies the Fourier transform of an array by that of a box.

    Parameters
    ----------
    input : array_like
        The Fourier transform.
    size : float or sequence of floats
        The extents of the box, one for all axes or one for each.
    axis : int, default -1
        The axis of the real transform.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For a wrong number of extents.

    See Also
    --------
    scipy.ndimage.fourier_ellipsoid, scipy.ndimage.fourier_gaussian, scipy.ndimage.fourier_shift

    Examples
    --------
    >>> cp.scipy.ndimage.fourier_uniform(cp.ones(4), 2.0).round(6)
    array([1.     , 0.63662, 0.     , 0.63662])
    """
    a, name, out = _prepared(input, output, False)
    total: Any = 1.0
    for f, extent in _axes(a, size, "size", n, axis):
        total = total * sinc(f * extent)
    return _filtered(a, name, out, total)


@on_array_device
@documented
def fourier_ellipsoid(input: ArrayLike, size: Any, n: int = -1, axis: int = -1, output: Output = None) -> ndarray:
    """Multiplies the Fourier transform of an array with up to three axes by that of an ellipsoid.

    Parameters
    ----------
    input : array_like
        The Fourier transform.
    size : float or sequence of floats
        The diameters, one for all axes or one for each.
    axis : int, default -1
        The axis of the real transform.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    NotImplementedError
        For more axes.

    See Also
    --------
    scipy.ndimage.fourier_gaussian, scipy.ndimage.fourier_shift, scipy.ndimage.fourier_uniform

    Examples
    --------
    >>> cp.scipy.ndimage.fourier_ellipsoid(cp.ones(4), 2.0).round(6)
    array([1.     , 0.63662, 0.     , 0.63662])
    """
    a, name, out = _prepared(input, output, False)
    if a.ndim > 3:
        raise NotImplementedError("Only 1d, 2d and 3d inputs are supported")
    square: Any = 0.0
    for f, extent in _axes(a, size, "size", n, axis):
        square = square + f * f * (math.pi * extent) ** 2
    r = _map("sqrt", square)
    safe = _map("where", r == 0.0, 1.0, r)
    if a.ndim == 1:
        value = _map("sin", safe) / safe
    elif a.ndim == 2:
        value = 2.0 * j1(safe) / safe
    else:
        value = 3.0 * (_map("sin", safe) - safe * _map("cos", safe)) / (safe * safe * safe)
    return _filtered(a, name, out, _map("where", r == 0.0, 1.0, value))


@on_array_device
@documented
def fourier_shift(input: ArrayLike, shift: Any, n: int = -1, axis: int = -1, output: Output = None) -> ndarray:
    """Returns the Fourier transform of the shifted array.

    Parameters
    ----------
    input : array_like
        The Fourier transform.
    shift : int or sequence of ints
        The number of elements, one for all axes or one for each.
    axis : int, default -1
        The axis of the real transform.

    Returns
    -------
    ndarray
        A complex array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For a wrong number of shifts.

    See Also
    --------
    scipy.ndimage.fourier_uniform, scipy.ndimage.fourier_ellipsoid, scipy.ndimage.fourier_gaussian

    Examples
    --------
    >>> shifted = cp.scipy.ndimage.fourier_shift(cp.fft.fft([1.0, 2.0, 3.0, 4.0]), 1)
    >>> cp.fft.ifft(shifted).real.round(6)
    array([4., 1., 2., 3.])
    """
    a, name, out = _prepared(input, output, True)
    total: Any = 0.0
    for f, step in _axes(a, shift, "shift", n, axis):
        total = total + f * (-2.0 * math.pi * step)
    return _filtered(a, name, out, _map("make_complex", _map("cos", total), _map("sin", total)))
