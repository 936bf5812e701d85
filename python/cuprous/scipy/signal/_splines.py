"""Splines of uniform grids: their coefficients, their values, and the symmetric recursive filters of both.

The states from which the filters begin are sums over the mirrored signal, whose weights depend on the poles alone. They
are computed on the host, up to the term from which on they are below the precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray
from cuprous._common.operands import on_array_device
from cuprous.scipy.signal._orthants import sepfir2d
from cuprous.scipy.signal._recursive import lfilter

_map = _core.map
#: The default precision of the filters by the dtype of the real numbers, and that of splines of images.
_PRECISION, _IMAGES = {"float32": 1e-6, "float64": 1e-11}, {"float32": 1e-3, "float64": 1e-6}
#: The poles and the scales of cubic and quadratic splines.
_CUBIC, _QUADRATIC = (-2.0 + math.sqrt(3.0), 6.0), (-3.0 + 2.0 * math.sqrt(2.0), 8.0)


def _inexact(signal: Any) -> ndarray:
    """Returns the signal as floating-point or complex numbers of at least single precision."""
    x = array(signal)
    name = _dtypes.inexact(x.dtype_name)
    return _core.cast(x, "float32" if name in ("float16", "bfloat16") else name)


def _rows(signal: ndarray) -> ndarray:
    """Returns a vector as a matrix of one row.

    Raises
    ------
    ValueError
        For arrays of other dimensions.
    """
    if signal.ndim == 0:
        raise ValueError("object of too small depth for desired array")
    if signal.ndim > 2:
        raise ValueError("Input must be 1D or 2D")
    return signal.reshape(-1, signal.shape[-1]) if signal.ndim == 1 else signal


def _filtered(b: list[complex], a: list[complex], x: ndarray, state: ndarray) -> ndarray:
    """Applies a filter in the dtype of its input, after a state."""
    import numpy as np

    numerator, denominator = (np.asarray(v).astype(np.dtype(x.dtype_name)) for v in (b, a))
    y: ndarray = lfilter(numerator, denominator, x, zi=_core.cast(state, x.dtype_name))[0]
    return y


def _limit(precision: float, name: str) -> float:
    return precision if 0.0 < precision <= 1.0 else _PRECISION[_dtypes.component(name)]


def _summed(x: ndarray, weights: Callable[[Any], Any], limit: float) -> ndarray:
    """Returns the sums of elements times weights along the last axis, up to the first weight whose square is not above
    a limit.

    Raises
    ------
    ValueError
        If there is none before the last element.
    """
    import numpy as np

    factors = np.asarray(weights(np.arange(x.shape[-1])))
    small = np.flatnonzero(np.abs(factors) ** 2 <= limit)
    if not small.size or small[0] + 1 >= x.shape[-1]:
        raise ValueError("Sum to find symmetric boundary conditions did not converge.")
    count = int(small[0]) + 1
    column = _core.cast(_core.from_numpy(factors[:count]), x.dtype_name).reshape(-1, 1)
    return cp.matmul(x[:, :count], column)


@on_array_device
def symiirorder1(signal: Any, c0: complex, z1: complex, precision: float = -1.0) -> ndarray:
    """Applies a recursive filter of one pole forward and backward, to a signal that is mirrored at its ends.

    The transfer function is c0 / ((1 - z1 / z) (1 - z1 z)).

    Parameters
    ----------
    signal : array_like
        The signal, or a matrix of signals as rows.
    c0 : complex
        The gain.
    z1 : complex
        The pole, of absolute value below 1.
    precision : float, default -1.0
        The precision of the sum that is the filter's first state; 1e-6 for single and 1e-11 for double precision if it
        is not between 0 and 1.

    Returns
    -------
    ndarray
        An array of the shape of `signal`; complex if an argument is.

    Raises
    ------
    ValueError
        For poles that are not inside the unit circle, arrays of other dimensions, and signals that are too short for
        the precision.

    See Also
    --------
    symiirorder2, lfilter, filtfilt

    Examples
    --------
    >>> cp.scipy.signal.symiirorder1(cp.ones(60), 0.25, 0.5)[:3]
    array([1., 1., 1.])
    """
    x = _inexact(signal)
    if abs(z1) >= 1:
        raise ValueError("|z1| must be less than 1.0")
    if isinstance(z1, complex) or isinstance(c0, complex):
        x = _core.cast(x, _core.promote_types(x.dtype_name, "complex64"))
    rows = _rows(x)
    first = rows[:, :1] + _summed(rows, lambda k: z1 ** (k + 1), _limit(precision, x.dtype_name) ** 2)
    after = _filtered([1.0], [1.0, -z1], rows[:, 1:], first * z1)
    forward = cp.concatenate([first, after], axis=1)
    last = forward[:, -1:] * (-c0 / (z1 - 1.0))
    before = _filtered([c0], [1.0, -z1], forward[:, -2::-1], last * z1)
    return cp.concatenate([before[:, ::-1], last], axis=1).reshape(x.shape)


def _forward_weights(k: Any, cs: float, r: float, omega: float) -> Any:
    """The response of cs / (1 - 2 r cos(omega) / z + r² / z²) to an impulse."""
    import numpy as np

    if omega == 0.0:
        return cs * r**k * (k + 1)
    if omega == math.pi:
        return cs * r**k * (k + 1) * (1 - 2 * (k % 2))
    return cs * r**k * np.sin(omega * (k + 1)) / math.sin(omega)


def _backward_weights(k: Any, cs: float, r: float, omega: float) -> Any:
    """The response of the same filter forward and backward."""
    import numpy as np

    k, square = np.abs(k), r * r
    if omega in (0.0, math.pi):
        signs = 1 if omega == 0.0 else 1 - 2 * (k % 2)
        scale = (1 + square) / (1 - square) ** 3 * cs * cs
        return scale * abs(r) ** k * (1 + (1 - square) / (1 + square) * signs * k)
    scale = cs * cs * (1 + square) / (1 - square) / (1 - 2 * square * math.cos(2 * omega) + square * square)
    ratio = (1 - square) / (1 + square) / math.tan(omega)
    return scale * abs(r) ** k * (np.cos(omega * k) + ratio * np.sin(omega * k))


def _resonated(x: ndarray, newest: ndarray, second: ndarray, cs: float, r: float, omega: float) -> ndarray:
    """Applies cs / (1 - 2 r cos(omega) / z + r² / z²) to rows after the two outputs before them."""
    a1, a2 = -2.0 * r * math.cos(omega), r * r
    state = cp.concatenate([newest * -a1 + second * -a2, newest * -a2], axis=-1)
    # The numerator has three coefficients, so that a state of two elements is not taken for a history.
    return _filtered([cs, 0.0, 0.0], [1.0, a1, a2], x, state)


@on_array_device
def symiirorder2(input: Any, r: float, omega: float, precision: float = -1.0) -> ndarray:
    """Applies a recursive filter of two conjugate poles forward and backward, to a signal that is mirrored at its ends.

    The transfer function is cs² / ((1 - a2 / z - a3 / z²) (1 - a2 z - a3 z²)) with a2 = 2 r cos(omega), a3 = -r² and
    cs = 1 - a2 - a3.

    Parameters
    ----------
    input : array_like
        The signal, or a matrix of signals as rows; real.
    r : float
        The absolute value of the poles, below 1.
    omega : float
        The angle of the poles.
    precision : float, default -1.0
        The precision of the sums that are the filter's first state; 1e-6 for single and 1e-11 for double precision if
        it is not between 0 and 1.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    ValueError
        For poles that are not inside the unit circle, arrays of other dimensions, and signals that are too short for
        the precision.
    TypeError
        For complex signals.

    See Also
    --------
    symiirorder1, sosfilt, sosfiltfilt

    Examples
    --------
    >>> cp.scipy.signal.symiirorder2(cp.ones(90), 0.5, 1.0)[:3].round(6)
    array([1., 1., 1.])
    """
    x = _inexact(input)
    if r >= 1.0:
        raise ValueError("r must be less than 1.0")
    rows, name = _rows(x), x.dtype_name
    if _dtypes.kind(name) == "c":
        raise TypeError(f"Cannot cast array data from dtype('{name}') to dtype('float64') according to the rule 'safe'")
    cs, limit = 1.0 - 2.0 * r * math.cos(omega) + r * r, _limit(precision, name)
    one, two = (float(_forward_weights(k, cs, r, omega)) for k in (0, 1))
    first = rows[:, :1] * one + _summed(rows, lambda k: _forward_weights(k + 1, cs, r, omega), limit**2)
    second = rows[:, 1:2] * one + rows[:, :1] * two
    second = second + _summed(rows, lambda k: _forward_weights(k + 2, cs, r, omega), limit**2)
    forward = cp.concatenate([first, second, _resonated(rows[:, 2:], second, first, cs, r, omega)], axis=1)
    backward = rows[:, ::-1]
    last, before = (
        _summed(
            backward,
            lambda k, d=d: _backward_weights(k - d, cs, r, omega) + _backward_weights(k + 1 + d, cs, r, omega),  # type: ignore[misc]
            limit,
        )
        for d in (0, 1)
    )
    rest = _resonated(forward[:, -3::-1], before, last, cs, r, omega)
    return cp.concatenate([rest[:, ::-1], before, last], axis=1).reshape(x.shape)


def _vector(signal: Any, least: int) -> ndarray:
    """Returns a vector in double precision.

    Raises
    ------
    ValueError
        For arrays of other dimensions.
    IndexError
        For vectors without the elements that the ends need.
    """
    x = array(signal)
    if x.ndim != 1:
        raise ValueError(f"signal must be a vector, but its shape is {x.shape}")
    if x.size < least:
        raise IndexError(f"index {least - 1} is out of bounds for axis 0 with size {x.size}")
    return _core.cast(x, _core.promote_types(x.dtype_name, "float64"))


def _by_pole(signal: Any, pole: float, scale: float) -> ndarray:
    """Returns the coefficients of the spline through all elements, by a filter of one pole."""
    import numpy as np

    x = _vector(signal, 1)
    first = cp.sum(x * _core.from_numpy(pole ** np.arange(x.size))).reshape(1) * pole
    if x.size == 1:
        return (x + first) * (pole / (pole - 1.0))
    forward = _filtered([1.0], [1.0, -pole], x, first)
    last = forward[-1:] * (pole / (pole - 1.0))
    before = _filtered([-pole], [1.0, -pole], forward[-2::-1], last * pole)
    return cp.concatenate([before[::-1], last]) * scale


def _smoothing(lamb: float) -> tuple[float, float]:
    """Returns the absolute value and the angle of the poles of a smoothing spline."""
    root = math.sqrt(3.0 + 144.0 * lamb)
    xi = 1.0 - 96.0 * lamb + 24.0 * lamb * root
    omega = math.atan2(math.sqrt(144.0 * lamb - 1.0), math.sqrt(xi))
    rho = (24.0 * lamb - 1.0 - math.sqrt(xi)) / (24.0 * lamb)
    return rho * math.sqrt((48.0 * lamb + 24.0 * lamb * root) / xi), omega


@on_array_device
def cspline1d(signal: Any, lamb: float = 0.0) -> ndarray:
    """Returns the coefficients of the cubic spline through the elements of a vector, or of one that smooths them.

    The vector is mirrored at its ends.

    Parameters
    ----------
    signal : array_like
        The vector.
    lamb : float, default 0.0
        The smoothing, above 1 / 144; zero for a spline through all elements.

    Returns
    -------
    ndarray
        A vector of the same length, in double precision.

    Raises
    ------
    ValueError
        For arrays of other dimensions, and other `lamb`.
    IndexError
        For an empty vector, and for a single element with smoothing.

    See Also
    --------
    cspline1d_eval, qspline1d, cspline2d

    Examples
    --------
    >>> cp.scipy.signal.cspline1d(cp.ones(40))[:3].round(6)
    array([1., 1., 1.])
    """
    import numpy as np

    if lamb == 0.0:
        return _by_pole(signal, *_CUBIC)
    rho, omega = _smoothing(lamb)
    cs = 1.0 - 2.0 * rho * math.cos(omega) + rho * rho
    x = _vector(signal, 2)
    k = np.arange(x.size)

    def total(weights: Any, elements: ndarray) -> ndarray:
        return cp.sum(_core.from_numpy(weights) * elements).reshape(1)

    one, two = (float(_forward_weights(i, cs, rho, omega)) for i in (0, 1))
    first = x[:1] * one + total(_forward_weights(k + 1, cs, rho, omega), x)
    second = x[:1] * one + x[1:2] * two + total(_forward_weights(k + 2, cs, rho, omega), x)
    forward = cp.concatenate([first, second, _resonated(x[2:], second, first, cs, rho, omega)])
    mirrored = [_backward_weights(k + i, cs, rho, omega) for i in (-1, 0, 1, 2)]
    last = total(mirrored[1] + mirrored[2], x[::-1])
    before = total(mirrored[0] + mirrored[3], x[::-1])
    rest = _resonated(forward[-3::-1], before, last, cs, rho, omega)
    return cp.concatenate([rest[::-1], before, last])


@on_array_device
def qspline1d(signal: Any, lamb: float = 0.0) -> ndarray:
    """Returns the coefficients of the quadratic spline through the elements of a vector, which is mirrored at its ends.

    Parameters
    ----------
    signal : array_like
        The vector.
    lamb : float, default 0.0
        Must be zero: quadratic splines do not smooth.

    Returns
    -------
    ndarray
        A vector of the same length, in double precision.

    Raises
    ------
    ValueError
        For arrays of other dimensions, and other `lamb`.
    IndexError
        For an empty vector.

    See Also
    --------
    qspline1d_eval, cspline1d, qspline2d

    Examples
    --------
    >>> cp.scipy.signal.qspline1d(cp.ones(40))[:3].round(6)
    array([1., 1., 1.])
    """
    if lamb != 0.0:
        raise ValueError("Smoothing quadratic splines not supported yet.")
    return _by_pole(signal, *_QUADRATIC)


def _cubic(x: ndarray) -> ndarray:
    near = 2.0 / 3.0 - x * x * (2.0 - x) * 0.5
    far = (2.0 - x) * (2.0 - x) * (2.0 - x) / 6.0
    return _map("where", x < 1.0, near, _map("where", x < 2.0, far, x * 0.0))


def _quadratic(x: ndarray) -> ndarray:
    near, far = 0.75 - x * x, (1.5 - x) * (1.5 - x) * 0.5
    return _map("where", x < 0.5, near, _map("where", x < 1.5, far, x * 0.0))


def _evaluated(coefficients: ndarray, points: ndarray, basis: Callable[[ndarray], ndarray], width: int) -> ndarray:
    """Returns the values of a spline at points that are counted in elements, with the spline mirrored at its ends.

    Raises
    ------
    ValueError
        For a spline without coefficients.
    """
    count = coefficients.size
    if not count:
        raise ValueError("Spline coefficients 'cj' must not be empty.")
    if not points.size:
        return points
    period = 2.0 * (count - 1)
    inside = points * 0.0
    if count > 1:
        mirrored = cp.remainder(points, period)
        inside = _map("where", mirrored > count - 1, period - mirrored, mirrored)
        # A point between the ends stays as it is, to the last digit.
        inside = _map("where", cp.logical_and(points >= 0.0, points <= count - 1), points, inside)
    lowest = cp.floor(inside - width / 2) + 1.0
    found = inside * 0.0
    for i in range(width):
        index = lowest + float(i)
        position = cp.clip(_map("where", cp.isnan(index), 0.0, index), 0, count - 1)
        found = found + coefficients[_core.cast(position, "int64")] * basis(cp.abs(inside - index))
    return found


@on_array_device
def cspline1d_eval(cj: Any, newx: Any, dx: float = 1.0, x0: float = 0) -> ndarray:
    """Returns the values of a cubic spline, given by its coefficients, at points.

    Parameters
    ----------
    cj : array_like
        The coefficients, as of `cspline1d`.
    newx : array_like
        The points; beyond the ends the spline is mirrored.
    dx : float, default 1.0
        The distance of the elements.
    x0 : float, default 0
        The position of the first element.

    Returns
    -------
    ndarray
        An array of the shape of `newx` and the dtype of `cj`; float64 for integers.

    Raises
    ------
    ValueError
        If there are no coefficients.

    See Also
    --------
    cspline1d, qspline1d_eval, scipy.ndimage.map_coordinates

    Examples
    --------
    >>> coefficients = cp.scipy.signal.cspline1d([0.0, 1.0, 4.0, 9.0])
    >>> cp.scipy.signal.cspline1d_eval(coefficients, [1.0, 2.0, 4.0]).round(6)
    array([1., 4., 4.])
    """
    coefficients = array(cj)
    points = (_core.cast(array(newx), "float64") - x0) / dx
    return _core.cast(_evaluated(coefficients, points, _cubic, 4), _dtypes.inexact(coefficients.dtype_name))


@on_array_device
def qspline1d_eval(cj: Any, newx: Any, dx: float = 1.0, x0: float = 0) -> ndarray:
    """Returns the values of a quadratic spline, given by its coefficients, at points.

    Parameters
    ----------
    cj : array_like
        The coefficients, as of `qspline1d`.
    newx : array_like
        The points; beyond the ends the spline is mirrored.
    dx : float, default 1.0
        The distance of the elements.
    x0 : float, default 0
        The position of the first element.

    Returns
    -------
    ndarray
        An array of the shape and dtype of `newx`; float64 for integers, and complex for complex coefficients.

    Raises
    ------
    ValueError
        If there are no coefficients.

    See Also
    --------
    qspline1d, cspline1d_eval, scipy.ndimage.map_coordinates

    Examples
    --------
    >>> coefficients = cp.scipy.signal.qspline1d([0.0, 1.0, 4.0, 9.0])
    >>> cp.scipy.signal.qspline1d_eval(coefficients, [1.0, 2.0, 4.0]).round(6)
    array([1., 4., 4.])
    """
    coefficients, given = array(cj), array(newx)
    name = _dtypes.inexact(given.dtype_name)
    if _dtypes.kind(coefficients.dtype_name) == "c":
        name = _core.promote_types(name, "complex64")
    points = (_core.cast(given, "float64") - x0) / dx
    return _core.cast(_evaluated(coefficients, points, _quadratic, 3), name)


def _along_both(image: ndarray, one: Callable[[ndarray], ndarray]) -> ndarray:
    """Applies a filter of rows along the last axis, and then along the first one."""
    for axis in (-1, 0):
        moved = cp.moveaxis(image, axis, -1)
        image = cp.moveaxis(one(moved.reshape(-1, moved.shape[-1])).reshape(moved.shape), -1, axis)
    return cp.ascontiguousarray(image)


def _for_images(precision: float, name: str) -> float:
    return precision if 0.0 <= precision < 1.0 else _IMAGES.get(_dtypes.component(_dtypes.inexact(name)), 1e-3)


@on_array_device
def cspline2d(signal: Any, lamb: float = 0.0, precision: float = -1.0) -> ndarray:
    """Returns the coefficients of the cubic spline through the elements of a matrix, or of one that smooths them.

    The matrix is mirrored at its edges.

    Parameters
    ----------
    signal : array_like
        The matrix.
    lamb : float, default 0.0
        The smoothing; up to 1 / 144 the spline goes through all elements.
    precision : float, default -1.0
        The precision at the edges; 1e-3 for single and 1e-6 for double precision if it is not between 0 and 1.

    Returns
    -------
    ndarray
        An array of the same shape.

    Raises
    ------
    ValueError
        For matrices that are too small for the precision.
    TypeError
        For complex matrices with smoothing.

    See Also
    --------
    qspline2d, cspline1d, spline_filter

    Examples
    --------
    >>> cp.scipy.signal.cspline2d(cp.ones((16, 16)))[0, :3].round(5)
    array([1., 1., 1.])
    """
    x = _inexact(signal)
    limit = _for_images(precision, x.dtype_name)
    if lamb <= 1.0 / 144.0:
        pole, scale = _CUBIC
        return _along_both(x, lambda rows: symiirorder1(rows, -pole * scale, pole, limit))
    r, omega = _smoothing(lamb)
    return _along_both(x, lambda rows: symiirorder2(rows, r, omega, limit))


@on_array_device
def qspline2d(signal: Any, lamb: float = 0.0, precision: float = -1.0) -> ndarray:
    """Returns the coefficients of the quadratic spline through the elements of a matrix, mirrored at its edges.

    Parameters
    ----------
    signal : array_like
        The matrix.
    lamb : float, default 0.0
        Must not be above zero: quadratic splines do not smooth.
    precision : float, default -1.0
        The precision at the edges; 1e-3 for single and 1e-6 for double precision if it is not between 0 and 1.

    Returns
    -------
    ndarray
        An array of the same shape.

    Raises
    ------
    ValueError
        For a `lamb` above zero, and matrices that are too small for the precision.

    See Also
    --------
    cspline2d, qspline1d

    Examples
    --------
    >>> cp.scipy.signal.qspline2d(cp.ones((16, 16)))[0, :3].round(5)
    array([1., 1., 1.])
    """
    if lamb > 0:
        raise ValueError("lambda must be negative or zero")
    x = _inexact(signal)
    limit = _for_images(precision, x.dtype_name)
    pole, scale = _QUADRATIC
    return _along_both(x, lambda rows: symiirorder1(rows, -pole * scale, pole, limit))


@on_array_device
def spline_filter(Iin: Any, lmbda: float = 5.0) -> ndarray:
    """Smooths a matrix by a cubic spline.

    Parameters
    ----------
    Iin : array_like
        A matrix of float32, float64, complex64 or complex128. Complex numbers are computed in single precision.
    lmbda : float, default 5.0
        The smoothing, as for `cspline2d`.

    Returns
    -------
    ndarray
        A matrix of the same shape and dtype.

    Raises
    ------
    TypeError
        For other dtypes, and complex matrices with smoothing.
    ValueError
        For arrays of other dimensions, and matrices that are too small.

    See Also
    --------
    cspline2d, sepfir2d

    Examples
    --------
    >>> cp.scipy.signal.spline_filter(cp.ones((40, 40)), 0.1)[0, :3].round(4)
    array([1., 1., 1.])
    """
    import numpy as np

    x = array(Iin)
    if x.dtype_name not in ("float32", "float64", "complex64", "complex128"):
        raise TypeError(f"Invalid data type for Iin: Iin.dtype = {x.dtype!r}")
    computed = _core.cast(x, "complex64") if x.dtype_name == "complex128" else x
    values = np.array([1.0, 4.0, 1.0], np.float32) / np.float32(6.0)
    return _core.cast(sepfir2d(cspline2d(computed, lmbda), values, values), x.dtype_name)


__all__ = [
    "cspline1d", "cspline1d_eval", "cspline2d", "qspline1d", "qspline1d_eval", "qspline2d", "spline_filter",
    "symiirorder1", "symiirorder2",
]  # fmt: skip
