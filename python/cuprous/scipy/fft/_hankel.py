"""The fast Hankel transform of logarithmically spaced values (FFTLog; A. J. S. Hamilton, 2000): a multiplication in the
Fourier space by ratios of gamma functions, which are computed on the host."""

from __future__ import annotations

import math
import warnings
from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import ArrayLike, array, ndarray
from cuprous._common.casting import astype
from cuprous._common.operands import on_array_device
from cuprous._functions.rearrangement import flip
from cuprous.scipy.fft._spectra import FUNCTIONS

#: The first coefficients of Stirling's series, B(2 k) / (2 k (2 k - 1)).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
#: The real part from which the series is exact in double precision.
_FAR = 12


def _log_gamma(z: Any) -> Any:
    """Returns the logarithm of the gamma function of complex numbers, on the host."""
    import numpy as np

    z = np.asarray(z, dtype=np.complex128)
    steps = max(0, math.ceil(_FAR - z.real.min()))
    with np.errstate(divide="ignore", invalid="ignore"):  # at the poles
        down = sum((np.log(z + k) for k in range(steps)), np.zeros_like(z))
    far = z + steps
    series = sum(c / far ** (2 * k + 1) for k, c in enumerate(_STIRLING))
    return (far - 0.5) * np.log(far) - far + 0.5 * math.log(2 * math.pi) + series - down


def _coefficients(n: int, dln: float, mu: float, offset: float, bias: float, inverse: bool) -> Any:
    """Returns the kernel of the transform at the frequencies of `rfft`, on the host."""
    import numpy as np

    plus, minus = (mu + 1 + bias) / 2, (mu + 1 - bias) / 2
    y = np.linspace(0, math.pi * (n // 2) / (n * dln), n // 2 + 1)
    above, below = _log_gamma(plus + 1j * y), _log_gamma(minus + 1j * y)
    phase = above.imag + below.imag + 2 * (math.log(2) - offset) * y
    with np.errstate(over="ignore", invalid="ignore"):
        u = np.exp(above.real - below.real + math.log(2) * bias + 1j * phase)
    if n % 2 == 0:
        u[-1] = u[-1].real
    if not np.isfinite(u[0]):  # gamma functions at their poles
        u[0] = 2.0**bias * _gamma_ratio(plus, minus)
    if np.isinf(u[0]) and not inverse:
        warnings.warn("singular transform; consider changing the bias", stacklevel=4)
        u[0] = 0
    elif u[0] == 0 and inverse:
        warnings.warn("singular inverse transform; consider changing the bias", stacklevel=4)
        u[0] = np.inf
    return u


def _gamma_ratio(above: float, below: float) -> float:
    """Returns gamma(above) / gamma(below), where one or both are at a pole."""
    poles = [x <= 0 and x == math.floor(x) for x in (above, below)]
    if all(poles):  # both grow alike: the ratio of their residues
        sign = (-1.0) ** (below - above)
        return sign * math.exp(math.lgamma(1 - below) - math.lgamma(1 - above))
    return math.inf if poles[0] else 0.0


def _powers(a: ndarray, dln: float, bias: float, offset: float, sign: float) -> ndarray:
    """Returns exp(sign * bias * ((j - center) dln + offset)) for the places j of a line."""
    n = a.shape[-1]
    return _core.map("exp", (_core.iota((n,), (1,), 0) - (n - 1) / 2) * (sign * bias * dln) + sign * bias * offset)


def _filtered(a: ndarray, u: Any, inverse: bool) -> ndarray:
    spectrum = FUNCTIONS["rfft"](a)
    kernel = astype(_core.from_numpy(1 / u.conj() if inverse else u, a.device_name), spectrum.dtype_name)
    return flip(FUNCTIONS["irfft"](spectrum * kernel, a.shape[-1]), -1)


def _line(a: ArrayLike) -> ndarray:
    a = array(a)
    if not a.ndim:
        raise IndexError("at least 1 axis must be transformed")
    if _dtypes.kind(a.dtype_name) == "c":
        raise TypeError("x must be a real sequence")
    return a


@on_array_device
def fht(a: ArrayLike, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> ndarray:
    """Returns the Hankel transform of logarithmically spaced values, along the last axis.

    Parameters
    ----------
    a : array_like
        The real values.
    dln : float
        The logarithm of the ratio between neighboring places.
    mu : float
        The order of the Bessel function.
    offset : float, default 0.0
        The logarithm of the product of the centers of both sequences of places.
    bias : float, default 0.0
        The exponent of the power law that is taken out of the values.

    Returns
    -------
    ndarray
        A real array of the same shape.

    Raises
    ------
    TypeError
        For complex values.
    IndexError
        For an array without axes.

    See Also
    --------
    ifht, fhtoffset

    Examples
    --------
    >>> values = cp.scipy.fft.fht(cp.asarray([0.0, 1.0, 0.0]), 0.5, mu=0.0)
    >>> values.shape
    (3,)
    """
    a = _line(a)
    dln = float(dln)
    u = _coefficients(a.shape[-1], dln, mu, offset, bias, False)
    if not bias:
        return _filtered(a, u, False)
    return _filtered(a * _powers(a, dln, bias, 0.0, -1.0), u, False) * _powers(a, dln, bias, offset, -1.0)


@on_array_device
def ifht(A: ArrayLike, dln: float, mu: float, offset: float = 0.0, bias: float = 0.0) -> ndarray:
    """Returns the values whose Hankel transform by `fht` is given.

    Parameters
    ----------
    A : array_like
        The real values of the transform.
    dln : float
        The logarithm of the ratio between neighboring places.
    mu : float
        The order of the Bessel function.
    offset : float, default 0.0
        The logarithm of the product of the centers of both sequences of places.
    bias : float, default 0.0
        The exponent of the power law that is taken out of the values.

    Returns
    -------
    ndarray
        A real array of the same shape.

    Raises
    ------
    TypeError
        For complex values.
    IndexError
        For an array without axes.

    See Also
    --------
    fht, fhtoffset

    Examples
    --------
    >>> a = cp.asarray([0.0, 1.0, 0.0])
    >>> cp.scipy.fft.ifht(cp.scipy.fft.fht(a, 0.5, mu=0.0), 0.5, mu=0.0).round(6) + 0
    array([0., 1., 0.])
    """
    a = _line(A)
    dln = float(dln)
    u = _coefficients(a.shape[-1], dln, mu, offset, bias, True)
    if not bias:
        return _filtered(a, u, True)
    return _filtered(a * _powers(a, dln, bias, offset, 1.0), u, True) * _powers(a, dln, bias, 0.0, 1.0)


def fhtoffset(dln: float, mu: float, initial: float = 0.0, bias: float = 0.0) -> float:
    """Returns the offset nearest to `initial` with which `fht` rings least.

    Parameters
    ----------
    dln : float
        The logarithm of the ratio between neighboring places.
    mu : float
        The order of the Bessel function.
    initial : float, default 0.0
        The wanted offset.
    bias : float, default 0.0
        The exponent of the power law that is taken out of the values.

    Returns
    -------
    float
        A number.

    See Also
    --------
    fht

    Examples
    --------
    >>> round(cp.scipy.fft.fhtoffset(0.1, 0.5), 6)
    -0.027643
    """
    y = math.pi / (2 * dln)
    phase = sum(float(_log_gamma((mu + 1 + sign * bias) / 2 + 1j * y).imag) for sign in (1, -1))
    turns = (math.log(2) - initial) / dln + phase / math.pi
    return initial + (turns - round(turns)) * dln


__all__ = ["fht", "fhtoffset", "ifht"]
