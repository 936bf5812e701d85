"""Derivatives, integrals and other convolutions of periodic sequences, by their Fourier coefficients.

Each multiplies the k-th coefficient by a function of k, which is computed on the host.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous import fft as _fft
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import ArrayLike, array, ndarray
from cuprous._common.naming import documented
from cuprous._common.operands import on_array_device

_documented = documented(
    {
        "x : array_like": "A vector, real or complex.",
        "period : float": "The period; by default 2 pi.",
        "h : float": "The parameter of the transform.",
        "a : float": "The factor of k in the numerator.",
        "b : float": "The factor of k in the denominator.",
    },
    Returns="ndarray\n    A vector in double precision.",
    Raises="ValueError\n    For arrays of other dimensions.\nZeroDivisionError\n    For an empty vector.",
)


def _multiplied(x: ArrayLike, factors: Callable[[Any], Any], nyquist: Callable[[int], float] | None = None) -> ndarray:
    """Multiplies the coefficients by `factors(k)`, k from 0 to the half of the length. The last one of an even length
    has a factor of its own, zero by default.

    Raises
    ------
    ValueError
        For arrays of other dimensions.
    ZeroDivisionError
        For an empty vector.
    """
    import numpy as np

    a = array(x)
    if a.ndim != 1:
        raise ValueError(f"Buffer has wrong number of dimensions (expected 1, got {a.ndim})")
    n = a.size
    if n == 0:
        raise ZeroDivisionError("float division")
    with np.errstate(all="ignore"):
        weights = np.asarray(factors(np.arange(n // 2 + 1)), np.complex128)
    if n % 2 == 0:
        weights[-1] = nyquist(n // 2) if nyquist is not None else 0.0
    table = _core.from_numpy(weights)

    def real(part: ndarray) -> ndarray:
        spectrum: ndarray = _fft.rfft(_core.cast(part, "float64")) * table
        found: ndarray = _fft.irfft(spectrum, n)
        return found

    return real(a.real) + real(a.imag) * 1j if _dtypes.kind(a.dtype_name) == "c" else real(a)


def _nonzero(values: Any, first: float = 0.0) -> Any:
    """Replaces the factor of the mean."""
    values[0] = first
    return values


def _scale(period: float | None) -> float:
    return 1.0 if period is None else 2.0 * math.pi / period


@on_array_device
@_documented
def diff(x: ArrayLike, order: int = 1, period: float | None = None) -> ndarray:
    """Returns a derivative of a periodic sequence, or for negative orders an integral.

    The k-th coefficient is multiplied by (2 pi i k / period)^order, and that of the mean by zero.

    Parameters
    ----------
    order : int, default 1
        The order of the derivative. Zero returns the sequence.

    See Also
    --------
    shift, hilbert

    Examples
    --------
    >>> angles = cp.arange(4) * (cp.pi / 2)
    >>> cp.scipy.fftpack.diff(cp.sin(angles)).round(6)
    array([ 1.,  0., -1.,  0.])
    """
    import numpy as np

    order = operator.index(order)
    if order == 0:
        return array(x)
    c = _scale(period)
    return _multiplied(x, lambda k: _nonzero((c * k) ** np.float64(order)) * (1, 1j, -1, -1j)[order % 4])


@on_array_device
@_documented
def tilbert(x: ArrayLike, h: float, period: float | None = None) -> ndarray:
    """Returns the h-Tilbert transform of a periodic sequence: the k-th coefficient is multiplied by
    i coth(2 pi h k / period), and that of the mean by zero.

    See Also
    --------
    itilbert, hilbert

    Examples
    --------
    >>> cp.scipy.fftpack.tilbert(cp.cos(cp.arange(4) * (cp.pi / 2)), 1.0).round(6)
    array([-0.      , -1.313035, -0.      ,  1.313035])
    """
    import numpy as np

    h = h * _scale(period)
    return _multiplied(x, lambda k: _nonzero(1j / np.tanh(h * k)))


@on_array_device
@_documented
def itilbert(x: ArrayLike, h: float, period: float | None = None) -> ndarray:
    """Computes the inverse of `tilbert`: the k-th coefficient is multiplied by -i tanh(2 pi h k / period).

    See Also
    --------
    tilbert, ihilbert

    Examples
    --------
    >>> wave = cp.cos(cp.arange(4) * (cp.pi / 2))
    >>> cp.scipy.fftpack.itilbert(cp.scipy.fftpack.tilbert(wave, 1.0), 1.0).round(6)
    array([ 1.,  0., -1.,  0.])
    """
    import numpy as np

    h = h * _scale(period)
    return _multiplied(x, lambda k: -1j * np.tanh(h * k))


@on_array_device
@_documented
def hilbert(x: ArrayLike) -> ndarray:
    """Returns the Hilbert transform of a periodic sequence: the k-th coefficient is multiplied by i sign(k).

    This is the negative of what signal processing calls so, of which `scipy.signal.hilbert` has the imaginary part.

    See Also
    --------
    ihilbert, tilbert, scipy.signal.hilbert

    Examples
    --------
    >>> cp.scipy.fftpack.hilbert(cp.cos(cp.arange(4) * (cp.pi / 2))).round(6)
    array([-0., -1., -0.,  1.])
    """
    return _multiplied(x, lambda k: 1j * (k > 0))


@on_array_device
@_documented
def ihilbert(x: ArrayLike) -> ndarray:
    """Computes the inverse of `hilbert` for sequences without a mean, which is its negative.

    See Also
    --------
    hilbert, itilbert

    Examples
    --------
    >>> cp.scipy.fftpack.ihilbert(cp.cos(cp.arange(4) * (cp.pi / 2))).round(6)
    array([ 0.,  1.,  0., -1.])
    """
    return -hilbert(x)


@on_array_device
@_documented
def cs_diff(x: ArrayLike, a: float, b: float, period: float | None = None) -> ndarray:
    """Convolves a periodic sequence: the k-th coefficient is multiplied by
    -i cosh(2 pi a k / period) / sinh(2 pi b k / period), and that of the mean by zero.

    See Also
    --------
    sc_diff, diff

    Examples
    --------
    >>> cp.scipy.fftpack.cs_diff(cp.cos(cp.arange(4) * (cp.pi / 2)), 1.0, 2.0).round(6)
    array([-0.      ,  0.425459,  0.      , -0.425459])
    """
    import numpy as np

    c = _scale(period)
    return _multiplied(x, lambda k: _nonzero(-1j * np.cosh(a * c * k) / np.sinh(b * c * k)))


@on_array_device
@_documented
def sc_diff(x: ArrayLike, a: float, b: float, period: float | None = None) -> ndarray:
    """Convolves a periodic sequence: the k-th coefficient is multiplied by
    i sinh(2 pi a k / period) / cosh(2 pi b k / period).

    See Also
    --------
    cs_diff, diff

    Examples
    --------
    >>> cp.scipy.fftpack.sc_diff(cp.cos(cp.arange(4) * (cp.pi / 2)), 1.0, 2.0).round(6)
    array([ 0.      , -0.312371, -0.      ,  0.312371])
    """
    import numpy as np

    c = _scale(period)
    return _multiplied(x, lambda k: 1j * np.sinh(a * c * k) / np.cosh(b * c * k))


@on_array_device
@_documented
def ss_diff(x: ArrayLike, a: float, b: float, period: float | None = None) -> ndarray:
    """Convolves a periodic sequence: the k-th coefficient is multiplied by
    sinh(2 pi a k / period) / sinh(2 pi b k / period), and that of the mean by a / b.

    See Also
    --------
    cc_diff, diff

    Examples
    --------
    >>> cp.scipy.fftpack.ss_diff(cp.cos(cp.arange(4) * (cp.pi / 2)), 1.0, 2.0).round(6)
    array([ 0.324027,  0.      , -0.324027, -0.      ])
    """
    import numpy as np

    c = _scale(period)
    return _multiplied(
        x,
        lambda k: _nonzero(np.sinh(a * c * k) / np.sinh(b * c * k), a / b),
        lambda k: float(np.sinh(a * c * k) / np.sinh(b * c * k)),
    )


@on_array_device
@_documented
def cc_diff(x: ArrayLike, a: float, b: float, period: float | None = None) -> ndarray:
    """Convolves a periodic sequence: the k-th coefficient is multiplied by
    cosh(2 pi a k / period) / cosh(2 pi b k / period).

    See Also
    --------
    ss_diff, diff

    Examples
    --------
    >>> cp.scipy.fftpack.cc_diff(cp.cos(cp.arange(4) * (cp.pi / 2)), 1.0, 2.0).round(6)
    array([ 0.410154,  0.      , -0.410154, -0.      ])
    """
    import numpy as np

    c = _scale(period)
    return _multiplied(
        x, lambda k: np.cosh(a * c * k) / np.cosh(b * c * k), lambda k: float(np.cosh(a * c * k) / np.cosh(b * c * k))
    )


@on_array_device
@_documented
def shift(x: ArrayLike, a: float, period: float | None = None) -> ndarray:
    """Shifts a periodic sequence, y(u) = x(u + a): the k-th coefficient is multiplied by exp(2 pi i a k / period).

    Parameters
    ----------
    a : float
        The distance, in the unit of the period.

    See Also
    --------
    diff

    Examples
    --------
    >>> cp.scipy.fftpack.shift([1.0, 2.0, 3.0, 2.0], cp.pi / 2).round(6)
    array([2., 3., 2., 1.])
    """
    import numpy as np

    a = a * _scale(period)
    # SciPy's factor of the highest frequency of an even length, whose sine has no sign.
    return _multiplied(x, lambda k: np.exp(1j * a * k), lambda k: math.cos(a * k) + math.sin(a * k))


__all__ = [
    "cc_diff", "cs_diff", "diff", "hilbert", "ihilbert", "itilbert", "sc_diff", "shift", "ss_diff", "tilbert",
]  # fmt: skip
