"""Recursive (IIR) filters and their orders from specifications, by SciPy."""

from __future__ import annotations

from typing import Any

from cuprous.scipy.signal._by_scipy import by_scipy, to_host
from cuprous.scipy.signal._parameters import documented


@documented
def iirfilter(
    N: Any,
    Wn: Any,
    rp: Any = None,
    rs: Any = None,
    btype: str = "band",
    analog: bool = False,
    ftype: str = "butter",
    output: str = "ba",
    fs: Any = None,
) -> Any:
    """Designs a recursive filter of one of five kinds.

    Parameters
    ----------
    Wn : array_like
        The critical frequencies: between 0 and 1 (the Nyquist frequency), between 0 and fs / 2, or angular ones for
        analog filters.
    btype : str, default "band"
        "lowpass", "highpass", "bandpass" or "bandstop".
    ftype : {"butter", "cheby1", "cheby2", "ellip", "bessel"}, default "butter"
        "butter", "cheby1", "cheby2", "ellip" or "bessel".
    output : {"ba", "sos", "zpk"}, default "ba"
        "ba" (coefficients), "sos" (second-order sections) or "zpk" (zeros, poles and gain).

    Returns
    -------
    ndarray
        The coefficients `b` and `a`, the sections, or zeros, poles and gain, as `output` says.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    butter, cheby1, cheby2, ellip, bessel, buttord

    Examples
    --------
    >>> b, a = cp.scipy.signal.iirfilter(1, 0.5, btype="low")
    >>> b.round(6)
    array([0.5, 0.5])
    """
    return by_scipy("iirfilter", N, Wn, rp, rs, btype, analog, ftype, output, fs)


@documented
def ellip(
    N: Any, rp: Any, rs: Any, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: Any = None
) -> Any:
    """Designs an elliptic filter, with ripple in both bands and the narrowest transition.

    Parameters
    ----------
    Wn : array_like
        The critical frequencies: between 0 and 1 (the Nyquist frequency), between 0 and fs / 2, or angular ones for
        analog filters.
    btype : str, default "low"
        "lowpass", "highpass", "bandpass" or "bandstop".
    output : {"ba", "sos", "zpk"}, default "ba"
        "ba" (coefficients), "sos" (second-order sections) or "zpk" (zeros, poles and gain).

    Returns
    -------
    ndarray
        The coefficients `b` and `a`, the sections, or zeros, poles and gain, as `output` says.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    ellipord, ellipap

    Examples
    --------
    >>> b, a = cp.scipy.signal.ellip(2, 1.0, 40.0, 0.25)
    >>> b.round(6)
    array([0.109265, 0.194174, 0.109265])
    """
    return by_scipy("ellip", N, rp, rs, Wn, btype, analog, output, fs)


@documented
def bessel(
    N: Any, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", norm: str = "phase", fs: Any = None
) -> Any:
    """Designs a Bessel filter, with nearly constant delay.

    Parameters
    ----------
    Wn : array_like
        The critical frequencies: between 0 and 1 (the Nyquist frequency), between 0 and fs / 2, or angular ones for
        analog filters.
    btype : str, default "low"
        "lowpass", "highpass", "bandpass" or "bandstop".
    output : {"ba", "sos", "zpk"}, default "ba"
        "ba" (coefficients), "sos" (second-order sections) or "zpk" (zeros, poles and gain).
    norm : str, default "phase"
        The meaning of the critical frequencies: "phase", "delay" or "mag".

    Returns
    -------
    ndarray
        The coefficients `b` and `a`, the sections, or zeros, poles and gain, as `output` says.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    scipy.signal.butter, scipy.signal.cheby1, scipy.signal.ellip

    Examples
    --------
    >>> b, a = cp.scipy.signal.bessel(2, 0.25)
    >>> b.round(6)
    array([0.090827, 0.181654, 0.090827])
    """
    return by_scipy("bessel", N, Wn, btype, analog, output, norm, fs)


@documented
def iirdesign(
    wp: Any,
    ws: Any,
    gpass: Any,
    gstop: Any,
    analog: bool = False,
    ftype: str = "ellip",
    output: str = "ba",
    fs: Any = None,
) -> Any:
    """Designs a recursive filter from the edges of its bands and their gains.

    Parameters
    ----------
    ftype : {"butter", "cheby1", "cheby2", "ellip", "bessel"}, default "ellip"
        "butter", "cheby1", "cheby2", "ellip" or "bessel".
    output : {"ba", "sos", "zpk"}, default "ba"
        "ba" (coefficients), "sos" (second-order sections) or "zpk" (zeros, poles and gain).

    Returns
    -------
    ndarray
        The coefficients `b` and `a`, the sections, or zeros, poles and gain, as `output` says.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    butter, cheby1, cheby2, ellip, bessel, buttord

    Examples
    --------
    >>> b, a = cp.scipy.signal.iirdesign(0.2, 0.5, 1, 30, ftype="butter")
    >>> len(b)
    5
    """
    return by_scipy("iirdesign", wp, ws, gpass, gstop, analog, ftype, output, fs)


@documented
def buttord(wp: Any, ws: Any, gpass: Any, gstop: Any, analog: bool = False, fs: Any = None) -> Any:
    """Returns the least order of a Butterworth filter for a specification.

    Returns
    -------
    tuple of ndarrays
        The order, and the critical frequencies for the filter's function.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    butter, cheb1ord, cheb2ord, ellipord, iirfilter, iirdesign

    Examples
    --------
    >>> cp.scipy.signal.buttord(0.2, 0.5, 1, 30)[0]
    4
    """
    return by_scipy("buttord", wp, ws, gpass, gstop, analog, fs)


@documented
def cheb1ord(wp: Any, ws: Any, gpass: Any, gstop: Any, analog: bool = False, fs: Any = None) -> Any:
    """Returns the least order of a Chebyshev type I filter for a specification.

    Returns
    -------
    tuple of ndarrays
        The order, and the critical frequencies for the filter's function.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    cheby1, buttord, cheb2ord, ellipord, iirfilter, iirdesign

    Examples
    --------
    >>> cp.scipy.signal.cheb1ord(0.2, 0.5, 1, 30)[0]
    3
    """
    return by_scipy("cheb1ord", wp, ws, gpass, gstop, analog, fs)


@documented
def cheb2ord(wp: Any, ws: Any, gpass: Any, gstop: Any, analog: bool = False, fs: Any = None) -> Any:
    """Returns the least order of a Chebyshev type II filter for a specification.

    Returns
    -------
    tuple of ndarrays
        The order, and the critical frequencies for the filter's function.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    cheby2, buttord, cheb1ord, ellipord, iirfilter, iirdesign

    Examples
    --------
    >>> cp.scipy.signal.cheb2ord(0.2, 0.5, 1, 30)[0]
    3
    """
    return by_scipy("cheb2ord", wp, ws, gpass, gstop, analog, fs)


@documented
def ellipord(wp: Any, ws: Any, gpass: Any, gstop: Any, analog: bool = False, fs: Any = None) -> Any:
    """Returns the least order of an elliptic filter for a specification.

    Returns
    -------
    tuple of ndarrays
        The order, and the critical frequencies for the filter's function.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    ellip, buttord, cheb1ord, cheb2ord, iirfilter, iirdesign

    Examples
    --------
    >>> cp.scipy.signal.ellipord(0.2, 0.5, 1, 30)[0]
    3
    """
    return by_scipy("ellipord", wp, ws, gpass, gstop, analog, fs)


def iirnotch(w0: Any, Q: Any, fs: float = 2.0) -> Any:
    """Designs a filter that removes one frequency.

    Parameters
    ----------
    w0 : float
        The frequency.
    Q : float
        The quality: the frequency by the width at half of the power.
    fs : float, default 2.0
        The sampling frequency.

    Returns
    -------
    ndarray
        The coefficients `b` and `a`.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    iirpeak

    Examples
    --------
    >>> b, a = cp.scipy.signal.iirnotch(0.5, 10.0)
    >>> b.round(6)
    array([ 0.92704, -0.     ,  0.92704])
    """
    return by_scipy("iirnotch", w0, Q, fs)


def iirpeak(w0: Any, Q: Any, fs: float = 2.0) -> Any:
    """Designs a filter that passes one frequency.

    Parameters
    ----------
    w0 : float
        The frequency.
    Q : float
        The quality: the frequency by the width at half of the power.
    fs : float, default 2.0
        The sampling frequency.

    Returns
    -------
    ndarray
        The coefficients `b` and `a`.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    iirnotch

    Examples
    --------
    >>> b, a = cp.scipy.signal.iirpeak(0.5, 10.0)
    >>> b.round(6)
    array([ 0.07296,  0.     , -0.07296])
    """
    return by_scipy("iirpeak", w0, Q, fs)


def iircomb(w0: Any, Q: Any, ftype: str = "notch", fs: float = 2.0, *, pass_zero: bool = False) -> Any:
    """Designs a filter that removes or passes one frequency and its multiples.

    Parameters
    ----------
    w0 : float
        The frequency.
    Q : float
        The quality: the frequency by the width at half of the power.
    ftype : {"notch", "peak"}, default "notch"
        "notch" or "peak".
    fs : float, default 2.0
        The sampling frequency.
    pass_zero : bool, default False
        Whether the comb starts at 0.

    Returns
    -------
    ndarray
        The coefficients `b` and `a`.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    iirnotch, iirpeak

    Examples
    --------
    >>> b, a = cp.scipy.signal.iircomb(0.5, 10.0)
    >>> b.round(6)
    array([ 0.863271,  0.      ,  0.      ,  0.      , -0.863271])
    """
    return by_scipy("iircomb", w0, Q, ftype, fs, pass_zero=pass_zero)


def gammatone(freq: Any, ftype: Any, order: Any = None, numtaps: Any = None, fs: Any = None) -> Any:
    """Designs a gammatone filter, which models the ear's.

    Parameters
    ----------
    freq : float
        The frequency.
    ftype : {"fir", "iir"}
        "fir" or "iir".
    order : int, optional
        The order of the filter.
    numtaps : int, optional
        The number of coefficients.
    fs : float, optional
        The sampling frequency.

    Returns
    -------
    ndarray
        The coefficients `b` and `a`.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    firwin, iirfilter

    Examples
    --------
    >>> b, a = cp.scipy.signal.gammatone(440, "iir", fs=16000)
    >>> b.shape, a.shape
    ((5,), (9,))
    """
    return by_scipy("gammatone", freq, ftype, order, numtaps, fs)


def band_stop_obj(wp: float, ind: int, passb: Any, stopb: Any, gpass: float, gstop: float, type: str) -> float:
    """Returns the order, not rounded, that an analog filter of a stopband needs, by SciPy on the host.

    Parameters
    ----------
    wp : float
        The edge of the passband that is varied.
    ind : int
        Which edge that is, 0 or 1.
    passb : array_like
        Both edges of the passband.
    stopb : array_like
        Both edges of the stopband.
    gpass : float
        The greatest loss in the passband, in decibels.
    gstop : float
        The least attenuation in the stopband, in decibels.
    type : str
        "butter", "cheby" or "ellip".

    Returns
    -------
    float

    Raises
    ------
    ValueError
        For another type.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    buttord, cheb1ord, ellipord

    Examples
    --------
    >>> round(cp.scipy.signal.band_stop_obj(3.5, 1, [1.0, 4.0], [2.0, 3.0], 1.0, 10.0, "butter"), 4)
    5.7204
    """
    import numpy as np

    edges = (np.asarray(to_host(v), float) for v in (passb, stopb))
    return float(by_scipy("band_stop_obj", wp, ind, *edges, gpass, gstop, type))


__all__ = [
    "band_stop_obj",
    "bessel",
    "buttord",
    "cheb1ord",
    "cheb2ord",
    "ellip",
    "ellipord",
    "gammatone",
    "iircomb",
    "iirdesign",
    "iirfilter",
    "iirnotch",
    "iirpeak",
]
