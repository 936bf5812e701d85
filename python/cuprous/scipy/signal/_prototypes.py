"""Analog prototypes of recursive filters and their changes of frequency, by SciPy."""

from __future__ import annotations

from typing import Any

from cuprous.scipy.signal._by_scipy import by_scipy
from cuprous.scipy.signal._parameters import documented


def buttap(N: Any) -> Any:
    """Returns the analog prototype of a Butterworth filter.

    Parameters
    ----------
    N : int
        The order.

    Returns
    -------
    tuple of ndarrays
        Zeros, poles and gain of the prototype.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    butter

    Examples
    --------
    >>> z, p, k = cp.scipy.signal.buttap(1)
    >>> p.round(6)
    array([-1.-0.j])
    """
    return by_scipy("buttap", N)


@documented
def cheb1ap(N: Any, rp: Any) -> Any:
    """Returns the analog prototype of a Chebyshev type I filter.

    Returns
    -------
    tuple of ndarrays
        Zeros, poles and gain of the prototype.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    cheby1

    Examples
    --------
    >>> z, p, k = cp.scipy.signal.cheb1ap(2, 1.0)
    >>> p.round(6)
    array([-0.548867+0.895129j, -0.548867-0.895129j])
    """
    return by_scipy("cheb1ap", N, rp)


@documented
def cheb2ap(N: Any, rs: Any) -> Any:
    """Returns the analog prototype of a Chebyshev type II filter.

    Returns
    -------
    tuple of ndarrays
        Zeros, poles and gain of the prototype.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    cheby2

    Examples
    --------
    >>> z, p, k = cp.scipy.signal.cheb2ap(2, 40.0)
    >>> p.round(6)
    array([-0.099499-0.100499j, -0.099499+0.100499j])
    """
    return by_scipy("cheb2ap", N, rs)


@documented
def ellipap(N: Any, rp: Any, rs: Any) -> Any:
    """Returns the analog prototype of an elliptic filter.

    Returns
    -------
    tuple of ndarrays
        Zeros, poles and gain of the prototype.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    ellip

    Examples
    --------
    >>> z, p, k = cp.scipy.signal.ellipap(2, 1.0, 40.0)
    >>> p.round(6)
    array([-0.545754-0.900121j, -0.545754+0.900121j])
    """
    return by_scipy("ellipap", N, rp, rs)


def besselap(N: Any, norm: str = "phase") -> Any:
    """Returns the analog prototype of a Bessel filter.

    Parameters
    ----------
    N : int
        The order.
    norm : str, default "phase"
        The meaning of the critical frequencies: "phase", "delay" or "mag".

    Returns
    -------
    tuple of ndarrays
        Zeros, poles and gain of the prototype.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    bessel

    Examples
    --------
    >>> z, p, k = cp.scipy.signal.besselap(2)
    >>> p.round(6)
    array([-0.866025+0.5j, -0.866025-0.5j])
    """
    return by_scipy("besselap", N, norm)


@documented
def lp2lp(b: Any, a: Any, wo: float = 1.0) -> Any:
    """Moves the critical frequency of an analog lowpass.

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
    lp2hp, lp2bp, lp2bs, bilinear, lp2lp_zpk

    Examples
    --------
    >>> b, a = cp.scipy.signal.lp2lp([1.0], [1.0, 1.0], 2.0)
    >>> a
    array([1., 2.])
    """
    return by_scipy("lp2lp", b, a, wo)


@documented
def lp2hp(b: Any, a: Any, wo: float = 1.0) -> Any:
    """Turns an analog lowpass into a highpass.

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
    lp2lp, lp2bp, lp2bs, bilinear, lp2hp_zpk

    Examples
    --------
    >>> b, a = cp.scipy.signal.lp2hp([1.0], [1.0, 1.0], 2.0)
    >>> b
    array([1., 0.])
    """
    return by_scipy("lp2hp", b, a, wo)


@documented
def lp2bp(b: Any, a: Any, wo: float = 1.0, bw: float = 1.0) -> Any:
    """Turns an analog lowpass into a bandpass.

    Parameters
    ----------
    bw : float, default 1.0
        The width of the band.

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
    lp2lp, lp2hp, lp2bs, bilinear, lp2bp_zpk

    Examples
    --------
    >>> b, a = cp.scipy.signal.lp2bp([1.0], [1.0, 1.0], 2.0, 0.5)
    >>> a
    array([1. , 0.5, 4. ])
    """
    return by_scipy("lp2bp", b, a, wo, bw)


@documented
def lp2bs(b: Any, a: Any, wo: float = 1.0, bw: float = 1.0) -> Any:
    """Turns an analog lowpass into a bandstop.

    Parameters
    ----------
    bw : float, default 1.0
        The width of the band.

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
    lp2lp, lp2hp, lp2bp, bilinear, lp2bs_zpk

    Examples
    --------
    >>> b, a = cp.scipy.signal.lp2bs([1.0], [1.0, 1.0], 2.0, 0.5)
    >>> a
    array([1. , 0.5, 4. ])
    """
    return by_scipy("lp2bs", b, a, wo, bw)


@documented
def lp2lp_zpk(z: Any, p: Any, k: Any, wo: float = 1.0) -> Any:
    """Moves the critical frequency of an analog lowpass of zeros, poles and gain.

    Returns
    -------
    tuple of ndarrays
        Zeros, poles and gain.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    lp2hp_zpk, lp2bp_zpk, lp2bs_zpk, bilinear, lp2lp

    Examples
    --------
    >>> z, p, k = cp.scipy.signal.lp2lp_zpk([], [-1.0], 1.0, 2.0)
    >>> p
    array([-2.])
    """
    return by_scipy("lp2lp_zpk", z, p, k, wo)


@documented
def lp2hp_zpk(z: Any, p: Any, k: Any, wo: float = 1.0) -> Any:
    """Turns an analog lowpass of zeros, poles and gain into a highpass.

    Returns
    -------
    tuple of ndarrays
        Zeros, poles and gain.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    lp2lp_zpk, lp2bp_zpk, lp2bs_zpk, bilinear, lp2hp

    Examples
    --------
    >>> z, p, k = cp.scipy.signal.lp2hp_zpk([], [-1.0], 1.0, 2.0)
    >>> p
    array([-2.])
    """
    return by_scipy("lp2hp_zpk", z, p, k, wo)


@documented
def lp2bp_zpk(z: Any, p: Any, k: Any, wo: float = 1.0, bw: float = 1.0) -> Any:
    """Turns an analog lowpass of zeros, poles and gain into a bandpass.

    Parameters
    ----------
    bw : float, default 1.0
        The width of the band.

    Returns
    -------
    tuple of ndarrays
        Zeros, poles and gain.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    lp2lp_zpk, lp2hp_zpk, lp2bs_zpk, bilinear, lp2bp

    Examples
    --------
    >>> z, p, k = cp.scipy.signal.lp2bp_zpk([], [-1.0], 1.0, 2.0)
    >>> len(p)
    2
    """
    return by_scipy("lp2bp_zpk", z, p, k, wo, bw)


@documented
def lp2bs_zpk(z: Any, p: Any, k: Any, wo: float = 1.0, bw: float = 1.0) -> Any:
    """Turns an analog lowpass of zeros, poles and gain into a bandstop.

    Parameters
    ----------
    bw : float, default 1.0
        The width of the band.

    Returns
    -------
    tuple of ndarrays
        Zeros, poles and gain.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    lp2lp_zpk, lp2hp_zpk, lp2bp_zpk, bilinear, lp2bs

    Examples
    --------
    >>> z, p, k = cp.scipy.signal.lp2bs_zpk([], [-1.0], 1.0, 2.0)
    >>> len(p)
    2
    """
    return by_scipy("lp2bs_zpk", z, p, k, wo, bw)


__all__ = [
    "besselap",
    "buttap",
    "cheb1ap",
    "cheb2ap",
    "ellipap",
    "lp2bp",
    "lp2bp_zpk",
    "lp2bs",
    "lp2bs_zpk",
    "lp2hp",
    "lp2hp_zpk",
    "lp2lp",
    "lp2lp_zpk",
]
