"""Responses of filters, and filters for given responses, by SciPy."""

from __future__ import annotations

import math
from typing import Any

from cuprous.scipy.signal._by_scipy import by_scipy
from cuprous.scipy.signal._parameters import documented


@documented
def freqs(b: Any, a: Any, worN: Any = 200, plot: Any = None) -> Any:
    """Returns the response of an analog filter.

    Parameters
    ----------
    plot : callable, optional
        A function that is called with the frequencies and the response.

    Returns
    -------
    ndarray
        The frequencies and the complex response.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    freqz

    Examples
    --------
    >>> w, h = cp.scipy.signal.freqs([1.0], [1.0, 1.0], worN=[0.0, 1.0])
    >>> abs(h).round(6)
    array([1.      , 0.707107])
    """
    return by_scipy("freqs", b, a, worN, plot)


@documented
def freqs_zpk(z: Any, p: Any, k: Any, worN: Any = 200) -> Any:
    """Returns the response of an analog filter of zeros, poles and gain.

    Returns
    -------
    ndarray
        The frequencies and the complex response.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    freqs, freqz, freqz_zpk

    Examples
    --------
    >>> w, h = cp.scipy.signal.freqs_zpk([], [-1.0], 1.0, worN=[0.0, 1.0])
    >>> abs(h).round(6)
    array([1.      , 0.707107])
    """
    return by_scipy("freqs_zpk", z, p, k, worN)


def findfreqs(num: Any, den: Any, N: Any, kind: str = "ba") -> Any:
    """Returns frequencies that show the response of an analog filter.

    Parameters
    ----------
    num : array_like
        The numerator's coefficients.
    den : array_like
        The denominator's coefficients.
    N : int
        The number of frequencies.
    kind : {"ba", "zp"}, default "ba"
        "ba" or "zp".

    Returns
    -------
    ndarray
        The frequencies.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    scipy.signal.freqs

    Examples
    --------
    >>> cp.scipy.signal.findfreqs([1.0], [1.0, 1.0], 3).round(6)
    array([ 0.01    ,  0.316228, 10.      ])
    """
    return by_scipy("findfreqs", num, den, N, kind)


@documented
def freqz(
    b: Any,
    a: Any = 1,
    worN: Any = 512,
    whole: bool = False,
    plot: Any = None,
    fs: float = 2 * math.pi,
    include_nyquist: bool = False,
) -> Any:
    """Returns the response of a digital filter.

    Parameters
    ----------
    plot : callable, optional
        A function that is called with the frequencies and the response.
    include_nyquist : bool, default False
        Whether the Nyquist frequency is the last.

    Returns
    -------
    ndarray
        The frequencies and the complex response.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    freqz_zpk, freqz_sos

    Examples
    --------
    >>> w, h = cp.scipy.signal.freqz([0.5, 0.5], worN=[0.0, 1.0])
    >>> abs(h).round(6)
    array([1.      , 0.877583])
    """
    return by_scipy("freqz", b, a, worN, whole, plot, fs, include_nyquist)


@documented
def freqz_zpk(z: Any, p: Any, k: Any, worN: Any = 512, whole: bool = False, fs: float = 2 * math.pi) -> Any:
    """Returns the response of a digital filter of zeros, poles and gain.

    Returns
    -------
    ndarray
        The frequencies and the complex response.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    freqs, freqs_zpk, freqz

    Examples
    --------
    >>> w, h = cp.scipy.signal.freqz_zpk([-1.0], [], 0.5, worN=[0.0, 1.0])
    >>> abs(h).round(6)
    array([1.      , 0.877583])
    """
    return by_scipy("freqz_zpk", z, p, k, worN, whole, fs)


@documented
def freqz_sos(sos: Any, worN: Any = 512, whole: bool = False, fs: float = 2 * math.pi) -> Any:
    """Returns the response of a digital filter of second-order sections.

    Parameters
    ----------
    sos : array_like
        Second-order sections (sections x 6).

    Returns
    -------
    ndarray
        The frequencies and the complex response.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    freqz, sosfilt, sosfreqz

    Examples
    --------
    >>> w, h = cp.scipy.signal.freqz_sos([[0.5, 0.5, 0, 1, 0, 0]], worN=[0.0, 1.0])
    >>> abs(h).round(6)
    array([1.      , 0.877583])
    """
    return by_scipy("freqz_sos", sos, worN, whole, fs)


@documented
def sosfreqz(sos: Any, worN: Any = 512, whole: bool = False, fs: float = 2 * math.pi) -> Any:
    """Returns the response of a digital filter of second-order sections; an older name of `freqz_sos`.

    Parameters
    ----------
    sos : array_like
        Second-order sections (sections x 6).

    Returns
    -------
    ndarray
        The frequencies and the complex response.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    scipy.signal.freqz, scipy.signal.freqz_sos

    Examples
    --------
    >>> w, h = cp.scipy.signal.sosfreqz([[0.5, 0.5, 0, 1, 0, 0]], worN=[0.0, 1.0])
    >>> abs(h).round(6)
    array([1.      , 0.877583])
    """
    return by_scipy("freqz_sos", sos, worN, whole, fs)


@documented
def group_delay(system: Any, w: Any = 512, whole: bool = False, fs: float = 2 * math.pi) -> Any:
    """Returns the delay of a digital filter by frequency.

    Parameters
    ----------
    system : tuple
        The coefficients (b, a), zeros, poles and gain, or state-space matrices.
    w : int or array_like, default 512
        The number of frequencies, or the frequencies.

    Returns
    -------
    tuple of ndarrays
        The frequencies, and the delays in samples.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    freqz

    Examples
    --------
    >>> w, delay = cp.scipy.signal.group_delay(([0.5, 0.5], [1.0]), w=[0.5, 1.0])
    >>> delay.round(6)
    array([0.5, 0.5])
    """
    return by_scipy("group_delay", system, w, whole, fs)


def firls(numtaps: Any, bands: Any, desired: Any, *, weight: Any = None, fs: Any = None) -> Any:
    """Designs a filter of finite length by least squares.

    Parameters
    ----------
    numtaps : int
        The number of coefficients.
    bands : array_like
        The edges of the bands, in pairs.
    desired : array_like
        The gains at the edges.
    weight : array_like, optional
        The bands' weights.
    fs : float, optional
        The sampling frequency.

    Returns
    -------
    ndarray
        The coefficients.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    firwin, firwin2, minimum_phase

    Examples
    --------
    >>> cp.scipy.signal.firls(3, [0, 0.4, 0.6, 1], [1, 1, 0, 0]).round(6)
    array([0.306688, 0.5     , 0.306688])
    """
    return by_scipy("firls", numtaps, bands, desired, weight=weight, fs=fs)


def firwin2(
    numtaps: Any,
    freq: Any,
    gain: Any,
    *,
    nfreqs: Any = None,
    window: Any = "hamming",
    antisymmetric: bool = False,
    fs: Any = None,
) -> Any:
    """Designs a filter of finite length from gains at frequencies.

    Parameters
    ----------
    numtaps : int
        The number of coefficients.
    freq : array_like
        The frequencies, ascending from 0.
    gain : array_like
        The gains at the frequencies.
    nfreqs : int, optional
        The number of points of the interpolation.
    window : str, float or tuple, default "hamming"
        The window's name or its parameters.
    antisymmetric : bool, default False
        Whether the coefficients are antisymmetric.
    fs : float, optional
        The sampling frequency.

    Returns
    -------
    ndarray
        The coefficients.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    firls, firwin, minimum_phase

    Examples
    --------
    >>> cp.scipy.signal.firwin2(3, [0.0, 0.5, 1.0], [1.0, 1.0, 0.0]).round(6)
    array([0.017071, 0.75    , 0.017071])
    """
    return by_scipy("firwin2", numtaps, freq, gain, nfreqs=nfreqs, window=window, antisymmetric=antisymmetric, fs=fs)


def kaiserord(ripple: Any, width: Any) -> Any:
    """Returns the length and the parameter of a Kaiser window for a specification.

    Parameters
    ----------
    ripple : scalar
        The greatest deviation, in decibels.
    width : float
        The width of the transition, as a fraction of the Nyquist frequency.

    Returns
    -------
    tuple (int, float)
        The length and beta.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    kaiser_beta, kaiser_atten

    Examples
    --------
    >>> cp.scipy.signal.kaiserord(60.0, 0.1)[0]
    74
    """
    return by_scipy("kaiserord", ripple, width)


def minimum_phase(h: Any, method: str = "homomorphic", n_fft: Any = None, *, half: bool = True) -> Any:
    """Turns a filter of linear phase into one of least phase.

    Parameters
    ----------
    h : array_like
        The coefficients.
    method : {"homomorphic", "hilbert"}, default "homomorphic"
        "homomorphic" or "hilbert".
    n_fft : int, optional
        The length of the transforms.
    half : bool, default True
        Whether the result has half of the order, and the response's square root.

    Returns
    -------
    ndarray
        The coefficients.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    firwin, firwin2

    Examples
    --------
    >>> cp.scipy.signal.minimum_phase(cp.asarray([1.0, 2.0, 3.0, 2.0, 1.0])).shape
    (3,)
    """
    return by_scipy("minimum_phase", h, method, n_fft, half=half)


__all__ = [
    "findfreqs",
    "firls",
    "firwin2",
    "freqs",
    "freqs_zpk",
    "freqz",
    "freqz_sos",
    "freqz_zpk",
    "group_delay",
    "kaiserord",
    "minimum_phase",
    "sosfreqz",
]
