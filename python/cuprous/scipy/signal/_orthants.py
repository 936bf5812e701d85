"""Analytic signals of two axes, polynomial division, synchrony of events, and conditions on windows."""

from __future__ import annotations

import math
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous import fft as _fft
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray, normalize_axis
from cuprous._common.operands import on_array_device
from cuprous.scipy import ndimage
from cuprous.scipy.signal._by_scipy import by_scipy
from cuprous.scipy.signal._convolution import convolve
from cuprous.scipy.signal._parameters import documented
from cuprous.scipy.signal._recursive import lfilter

_map = _core.map


@on_array_device
def hilbert2(x: Any, N: Any = None, axes: tuple[int, int] = (-2, -1)) -> ndarray:
    """Returns the analytic signal of two axes, which has no negative frequencies along either.

    Parameters
    ----------
    x : array_like
        A real array.
    N : int or pair of ints, optional
        The transform's lengths, one for both or a pair; those of the axes by default.
    axes : pair of ints, default (-2, -1)
        The two axes.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    ValueError
        For complex signals, lengths that are not positive, and equal axes.

    See Also
    --------
    hilbert

    Examples
    --------
    >>> cp.scipy.signal.hilbert2(cp.ones((2, 2))).real
    array([[1., 1.],
           [1., 1.]])
    """
    a = array(x)
    a = a.reshape((1,) * (2 - a.ndim) + a.shape) if a.ndim < 2 else a
    if _dtypes.kind(a.dtype_name) == "c":
        raise ValueError("x must be real.")
    if len(axes) != 2:
        raise ValueError("axes must be a tuple of length 2")
    first, second = (normalize_axis(axis, a.ndim) for axis in axes)
    if first == second:
        raise ValueError("axes must contain 2 distinct axes")
    lengths = (a.shape[first], a.shape[second]) if N is None else (N, N) if isinstance(N, int) else tuple(N)
    if len(lengths) != 2 or min(lengths) <= 0:
        raise ValueError("N must be positive." if isinstance(N, int) else
                         "When given as a tuple, N must hold exactly two positive integers")  # fmt: skip
    spectrum = cp.moveaxis(_fft.fft2(a, lengths, axes=axes), axes, (-2, -1))
    for count, shape in zip(lengths, ((-1, 1), (1, -1)), strict=True):
        index, half = cp.arange(count), (count + 1) // 2
        weights = _map("where", index >= half, 0.0, _map("where", index > 0, 2.0, 1.0)).reshape(*shape)
        spectrum = spectrum * _core.cast(weights, _dtypes.component(spectrum.dtype_name))
    return _fft.ifft2(cp.moveaxis(spectrum, (-2, -1), axes), axes=axes)


def deconvolve(signal: Any, divisor: Any) -> tuple[Any, ndarray]:
    """Divides polynomials, or undoes a convolution: signal = convolve(divisor, quotient) + remainder.

    Parameters
    ----------
    signal : array_like
        The coefficients of the dividend, read on the host.
    divisor : array_like
        The coefficients of the divisor, read on the host.

    Returns
    -------
    tuple
        The quotient (an empty list if the divisor is longer) and the remainder.

    Raises
    ------
    ValueError
        For arrays that are not vectors, or empty.

    See Also
    --------
    convolve

    Examples
    --------
    >>> quotient, remainder = cp.scipy.signal.deconvolve([0.0, 2.0, 1.0, 0.0], [2.0, 1.0])
    >>> quotient
    array([0., 1., 0.])
    """
    dividend, by = (a.reshape(1) if a.ndim == 0 else a for a in (array(signal), array(divisor)))
    for name, a in (("signal", dividend), ("divisor", by)):
        if a.ndim != 1 or not a.size:
            raise ValueError(f"Parameter {name} must be non-empty 1d array, but its shape is {a.shape}!")
    count = dividend.size - by.size + 1
    if count < 1:
        return [], dividend
    impulse = cp.zeros(count)
    impulse[0] = 1.0
    quotient: ndarray = lfilter(dividend, by, impulse)
    return quotient, dividend - convolve(by, quotient)


@on_array_device
def vectorstrength(events: Any, period: Any) -> tuple[ndarray, ndarray]:
    """Returns how far events keep to a period: the length and the angle of the mean of their phases on the circle.

    Parameters
    ----------
    events : array_like
        The times, a number or a vector.
    period : array_like
        The period, or a vector of periods.

    Returns
    -------
    pair of ndarrays
        The strength, 1 for events in phase, and the phase: 0-d arrays, or vectors for a vector of periods.

    Raises
    ------
    ValueError
        For arrays of several axes, and periods that are not positive.

    Examples
    --------
    >>> strength, phase = cp.scipy.signal.vectorstrength([0.25, 1.25, 5.25], 1.0)
    >>> strength.round(6)
    array(1.)
    """
    times, periods = (_core.cast(array(a), "float64") for a in (events, period))
    if times.ndim > 1:
        raise ValueError("events cannot have dimensions more than 1")
    if periods.ndim > 1:
        raise ValueError("period cannot have dimensions more than 1")
    if bool(cp.any(periods <= 0)):
        raise ValueError("periods must be positive")
    angles = 2.0 * math.pi / periods.reshape(-1, 1) * times.reshape(1, -1)
    x, y = cp.mean(cp.cos(angles), axis=1), cp.mean(cp.sin(angles), axis=1)
    found = cp.hypot(x, y), cp.arctan2(y, x)
    return (found[0][0], found[1][0]) if periods.ndim == 0 else found


@documented
def check_COLA(window: Any, nperseg: int, noverlap: int, tol: float = 1e-10) -> bool:
    """Returns True if overlapping windows add up to a constant, by SciPy on the host.

    Parameters
    ----------
    nperseg : int
        The length of a segment.
    noverlap : int
        The number of elements that segments share.
    tol : float, default 1e-10
        The difference that is allowed.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        For lengths that are not positive, and windows of another length.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    check_NOLA, stft, istft

    Examples
    --------
    >>> cp.scipy.signal.check_COLA("hann", 120, 60)
    True
    """
    return bool(by_scipy("check_COLA", window, nperseg, noverlap, tol))


@documented
def check_NOLA(window: Any, nperseg: int, noverlap: int, tol: float = 1e-10) -> bool:
    """Returns True if the squares of overlapping windows add up to no zero, so that `istft` is possible; by SciPy on
    the host.

    Parameters
    ----------
    nperseg : int
        The length of a segment.
    noverlap : int
        The number of elements that segments share.
    tol : float, default 1e-10
        The least sum.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        For lengths that are not positive, and windows of another length.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    check_COLA, istft

    Examples
    --------
    >>> cp.scipy.signal.check_NOLA("hann", 64, 0)
    False
    """
    return bool(by_scipy("check_NOLA", window, nperseg, noverlap, tol))


@on_array_device
def gauss_spline(x: Any, n: int) -> ndarray:
    """Returns the Gaussian that approximates the B-spline of a degree.

    Parameters
    ----------
    x : array_like
        The points.
    n : int
        The degree.

    Returns
    -------
    ndarray
        An array of the shape of `x`.

    See Also
    --------
    scipy.interpolate.BSpline, scipy.signal.windows.gaussian

    Examples
    --------
    >>> cp.scipy.signal.gauss_spline([0.0, 1.0], 3)
    array([0.6909883 , 0.15418033])
    """
    points = array(x)
    points = points if _dtypes.kind(points.dtype_name) in "fc" else _core.cast(points, "float64")
    variance = (n + 1) / 12.0
    return _map("exp", points * points * (-0.5 / variance)) * (1.0 / math.sqrt(2.0 * math.pi * variance))


@on_array_device
def sepfir2d(input: Any, hrow: Any, hcol: Any) -> ndarray:
    """Applies one FIR filter along the rows and one along the columns, with elements mirrored at the
    boundaries (the outermost ones twice).

    Parameters
    ----------
    input : array_like
        A matrix.
    hrow : array_like
        The filter along rows, of odd length.
    hcol : array_like
        The filter along columns, of odd length.

    Returns
    -------
    ndarray
        A matrix of the same shape, float32 for integers of up to 16 bits and float64 for longer ones.

    Raises
    ------
    ValueError
        For arrays of other dimensions, and filters of even length.

    See Also
    --------
    scipy.signal.convolve2d, scipy.signal.correlate2d, scipy.signal.convolve, scipy.signal.fftconvolve

    Examples
    --------
    >>> cp.scipy.signal.sepfir2d(cp.ones((3, 3)), [0.25, 0.5, 0.25], [1.0])
    array([[1., 1., 1.],
           [1., 1., 1.],
           [1., 1., 1.]])
    """
    a = array(input)
    filters = [array(h) for h in (hrow, hcol)]
    if a.ndim != 2 or any(h.ndim != 1 for h in filters):
        raise ValueError("object of too small depth for desired array")
    if any(h.size % 2 == 0 for h in filters):
        raise ValueError("hrow and hcol must be odd length")
    is_complex = any(_dtypes.kind(h.dtype_name) == "c" for h in filters)
    name = _core.promote_types(a.dtype_name, "complex64" if is_complex else "float32")
    a = _core.cast(a, name)
    for axis, h in zip((1, 0), filters, strict=True):
        a = ndimage.convolve1d(a, _core.cast(h, name), axis=axis, mode="reflect")
    return a


__all__ = [
    "check_COLA", "check_NOLA", "deconvolve", "gauss_spline", "hilbert2", "sepfir2d", "vectorstrength",
]  # fmt: skip
