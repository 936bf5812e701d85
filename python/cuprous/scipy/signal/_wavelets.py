"""Wavelets and transforms by them, which SciPy had before 1.15 and CuPy has still."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray
from cuprous._common.operands import on_array_device
from cuprous.scipy.signal._convolution import convolve

_PEAK = math.pi**-0.25


def qmf(hk: Any) -> ndarray:
    """Returns the high-pass filter of a low-pass filter: its coefficients reversed, every second one negated.

    Parameters
    ----------
    hk : array_like
        The coefficients of the low-pass filter.

    Returns
    -------
    ndarray
        A vector of the same length.

    See Also
    --------
    morlet, cwt

    Examples
    --------
    >>> cp.scipy.signal.qmf([1.0, 2.0, 3.0])
    array([ 3., -2.,  1.])
    """
    import numpy as np

    low = array(hk)
    signs = _core.from_numpy(1 - 2 * (np.arange(low.size) % 2))
    return low[::-1] * _core.cast(signs, low.dtype_name if _dtypes.kind(low.dtype_name) in "ifc" else "int64")


def morlet(M: int, w: float = 5.0, s: float = 1.0, complete: bool = True) -> ndarray:
    """Returns a complex Morlet wavelet on the interval from -2 pi s to 2 pi s.

    Parameters
    ----------
    M : int
        The number of points.
    w : float, default 5.0
        The angular frequency.
    s : float, default 1.0
        The scale of the interval.
    complete : bool, default True
        Whether a constant is subtracted so that the mean is zero, which is noticeable for `w` below 5.

    Returns
    -------
    ndarray
        A complex128 vector.

    See Also
    --------
    morlet2, ricker, cwt

    Examples
    --------
    >>> cp.abs(cp.scipy.signal.morlet(3, complete=False)).round(6)
    array([0.      , 0.751126, 0.      ])
    """
    x = cp.linspace(-s * 2.0 * math.pi, s * 2.0 * math.pi, M)
    wave = cp.exp(x * (1j * w))
    if complete:
        wave = wave - math.exp(-0.5 * w * w)
    return wave * (cp.exp(x * x * -0.5) * _PEAK)


def ricker(points: int, a: float) -> ndarray:
    """Returns a Ricker wavelet (a Mexican hat), the negated second derivative of a Gaussian.

    Parameters
    ----------
    points : int
        The number of points.
    a : float
        The width.

    Returns
    -------
    ndarray
        A float64 vector.

    See Also
    --------
    morlet, morlet2, cwt

    Examples
    --------
    >>> cp.scipy.signal.ricker(5, 1.0).round(4)
    array([-0.3521, -0.    ,  0.8673, -0.    , -0.3521])
    """
    x = cp.arange(int(points)) - (int(points) - 1.0) / 2.0
    square = x * x * (1.0 / (a * a))
    return (1.0 - square) * cp.exp(square * -0.5) * (2.0 / math.sqrt(3.0 * a) * _PEAK)


def morlet2(M: int, s: float, w: float = 5) -> ndarray:
    """Returns a complex Morlet wavelet of a width, for `cwt`.

    Parameters
    ----------
    M : int
        The number of points.
    s : float
        The width.
    w : float, default 5
        The angular frequency.

    Returns
    -------
    ndarray
        A complex128 vector.

    See Also
    --------
    morlet, ricker, cwt

    Examples
    --------
    >>> cp.abs(cp.scipy.signal.morlet2(3, 1.0)).round(6)
    array([0.455581, 0.751126, 0.455581])
    """
    x = (cp.arange(int(M)) - (int(M) - 1.0) / 2.0) / s
    return cp.exp(x * (1j * w)) * (cp.exp(x * x * -0.5) * (_PEAK * math.sqrt(1.0 / s)))


@on_array_device
def cwt(data: Any, wavelet: Callable[..., Any], widths: Any, dtype: Any = None, **kwargs: Any) -> ndarray:
    """Returns the continuous wavelet transform: the convolutions of a vector with a wavelet of each width.

    Parameters
    ----------
    data : array_like
        The vector.
    wavelet : callable
        Called with a number of points and a width, it returns the wavelet.
    widths : sequence of floats
        The widths, read on the host.
    dtype : dtype, optional
        The result's dtype; by default complex128 if wavelets are complex, and float64 otherwise.
    **kwargs : any
        Further arguments of `wavelet`.

    Returns
    -------
    ndarray
        A matrix with a row for each width.

    Raises
    ------
    ValueError
        For arrays of other dimensions.

    See Also
    --------
    morlet2, ricker, find_peaks

    Examples
    --------
    >>> data = cp.asarray([0.0, 0.0, 1.0, 0.0, 0.0])
    >>> cp.scipy.signal.cwt(data, cp.scipy.signal.ricker, [1.0]).round(4)
    array([[-0.3521, -0.    ,  0.8673, -0.    , -0.3521]])
    """
    import numpy as np

    x = array(data)
    if x.ndim != 1:
        raise ValueError(f"data must be a vector, but its shape is {x.shape}")
    rows = []
    for width in np.asarray(cp.asnumpy(widths) if isinstance(widths, _core.ndarray) else widths).tolist():
        wave = array(wavelet(min(int(10 * width), x.size), width, **kwargs))
        rows.append(convolve(x, cp.conj(wave[::-1]), mode="same"))
    is_complex = any(_dtypes.kind(row.dtype_name) == "c" for row in rows)
    return cp.stack(rows).astype(dtype if dtype is not None else "complex128" if is_complex else "float64")


__all__ = ["cwt", "morlet", "morlet2", "qmf", "ricker"]
