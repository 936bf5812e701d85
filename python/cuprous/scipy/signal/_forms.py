"""Forms of linear systems (coefficients, zeros and poles, sections, state spaces) and their transforms, by SciPy."""

from __future__ import annotations

from typing import Any

from cuprous.scipy.signal._by_scipy import by_scipy
from cuprous.scipy.signal._parameters import documented


@documented
def tf2zpk(b: Any, a: Any) -> Any:
    """Returns zeros, poles and gain for coefficients.

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
    scipy.signal.zpk2tf, scipy.signal.tf2sos, scipy.signal.sos2tf, scipy.signal.sos2zpk, scipy.signal.normalize

    Examples
    --------
    >>> z, p, k = cp.scipy.signal.tf2zpk([1.0, 0.0], [1.0, -0.5])
    >>> p
    array([0.5])
    """
    return by_scipy("tf2zpk", b, a)


@documented
def zpk2tf(z: Any, p: Any, k: Any) -> Any:
    """Returns coefficients for zeros, poles and gain.

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
    scipy.signal.tf2sos, scipy.signal.sos2tf, scipy.signal.sos2zpk, scipy.signal.tf2zpk

    Examples
    --------
    >>> b, a = cp.scipy.signal.zpk2tf([0.0], [0.5], 2.0)
    >>> b
    array([2., 0.])
    """
    return by_scipy("zpk2tf", z, p, k)


@documented
def tf2sos(b: Any, a: Any, pairing: Any = None, *, analog: bool = False) -> Any:
    """Returns second-order sections for coefficients.

    Parameters
    ----------
    pairing : {"nearest", "keep_odd", "minimal"}, optional
        How poles and zeros are paired: "nearest", "keep_odd" or "minimal".

    Returns
    -------
    ndarray
        The sections.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    zpk2sos, sosfilt

    Examples
    --------
    >>> cp.scipy.signal.tf2sos([1.0, 0.0], [1.0, -0.5]).shape
    (1, 6)
    """
    return by_scipy("tf2sos", b, a, pairing, analog=analog)


def sos2tf(sos: Any) -> Any:
    """Returns coefficients for second-order sections.

    Parameters
    ----------
    sos : array_like
        Second-order sections (sections x 6).

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
    scipy.signal.sos2zpk, scipy.signal.tf2zpk, scipy.signal.zpk2tf, scipy.signal.tf2sos

    Examples
    --------
    >>> b, a = cp.scipy.signal.sos2tf(cp.asarray([[1.0, 0, 0, 1, -0.5, 0]]))
    >>> a
    array([ 1. , -0.5,  0. ])
    """
    return by_scipy("sos2tf", sos)


@documented
def zpk2sos(z: Any, p: Any, k: Any, pairing: Any = None, *, analog: bool = False) -> Any:
    """Returns second-order sections for zeros, poles and gain.

    Parameters
    ----------
    pairing : {"nearest", "keep_odd", "minimal"}, optional
        How poles and zeros are paired: "nearest", "keep_odd" or "minimal".

    Returns
    -------
    ndarray
        The sections.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    sosfilt

    Examples
    --------
    >>> cp.scipy.signal.zpk2sos([0.0], [0.5], 2.0).shape
    (1, 6)
    """
    return by_scipy("zpk2sos", z, p, k, pairing, analog=analog)


def sos2zpk(sos: Any) -> Any:
    """Returns zeros, poles and gain for second-order sections.

    Parameters
    ----------
    sos : array_like
        Second-order sections (sections x 6).

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
    scipy.signal.tf2zpk, scipy.signal.zpk2tf, scipy.signal.tf2sos, scipy.signal.sos2tf

    Examples
    --------
    >>> z, p, k = cp.scipy.signal.sos2zpk(cp.asarray([[1.0, 0, 0, 1, -0.5, 0]]))
    >>> float(k)
    1.0
    """
    return by_scipy("sos2zpk", sos)


def tf2ss(num: Any, den: Any) -> Any:
    """Returns a state space for coefficients.

    Parameters
    ----------
    num : array_like
        The numerator's coefficients.
    den : array_like
        The denominator's coefficients.

    Returns
    -------
    ndarray
        The matrices A, B, C and D.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    scipy.signal.zpk2ss, scipy.signal.ss2zpk, scipy.signal.cont2discrete, scipy.signal.ss2tf

    Examples
    --------
    >>> A, B, C, D = cp.scipy.signal.tf2ss([1.0], [1.0, 0.5])
    >>> A
    array([[-0.5]])
    """
    return by_scipy("tf2ss", num, den)


def ss2tf(A: Any, B: Any, C: Any, D: Any, input: int = 0) -> Any:
    """Returns coefficients for a state space.

    Parameters
    ----------
    A : array_like
        The state matrix.
    B : array_like
        The input matrix.
    C : array_like
        The output matrix.
    D : array_like
        The feedthrough matrix.
    input : int, default 0
        The input whose transfer function is wanted.

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
    scipy.signal.tf2ss, scipy.signal.zpk2ss, scipy.signal.ss2zpk, scipy.signal.cont2discrete

    Examples
    --------
    >>> b, a = cp.scipy.signal.ss2tf([[-0.5]], [[1.0]], [[1.0]], [[0.0]])
    >>> a
    array([1. , 0.5])
    """
    return by_scipy("ss2tf", A, B, C, D, input)


@documented
def zpk2ss(z: Any, p: Any, k: Any) -> Any:
    """Returns a state space for zeros, poles and gain.

    Returns
    -------
    ndarray
        The matrices A, B, C and D.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    scipy.signal.ss2zpk, scipy.signal.cont2discrete, scipy.signal.ss2tf, scipy.signal.tf2ss

    Examples
    --------
    >>> A, B, C, D = cp.scipy.signal.zpk2ss([], [-0.5], 1.0)
    >>> A
    array([[-0.5]])
    """
    return by_scipy("zpk2ss", z, p, k)


def ss2zpk(A: Any, B: Any, C: Any, D: Any, input: int = 0) -> Any:
    """Returns zeros, poles and gain for a state space.

    Parameters
    ----------
    A : array_like
        The state matrix.
    B : array_like
        The input matrix.
    C : array_like
        The output matrix.
    D : array_like
        The feedthrough matrix.
    input : int, default 0
        The input whose transfer function is wanted.

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
    scipy.signal.cont2discrete, scipy.signal.ss2tf, scipy.signal.tf2ss, scipy.signal.zpk2ss

    Examples
    --------
    >>> z, p, k = cp.scipy.signal.ss2zpk([[-0.5]], [[1.0]], [[1.0]], [[0.0]])
    >>> p
    array([-0.5])
    """
    return by_scipy("ss2zpk", A, B, C, D, input)


def abcd_normalize(A: Any = None, B: Any = None, C: Any = None, D: Any = None) -> Any:
    """Returns the matrices of a state space with the shapes that belong together; missing ones are zeros.

    Parameters
    ----------
    A : array_like, optional
        The state matrix.
    B : array_like, optional
        The input matrix.
    C : array_like, optional
        The output matrix.
    D : array_like, optional
        The feedthrough matrix.

    Returns
    -------
    ndarray
        The matrices A, B, C and D.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    StateSpace, dlti, tf2ss, ss2tf, ss2zpk, cont2discrete

    Examples
    --------
    >>> A, B, C, D = cp.scipy.signal.abcd_normalize([[1.0]], [[1.0]], [[1.0]])
    >>> D
    array([[0.]])
    """
    return by_scipy("abcd_normalize", A, B, C, D)


@documented
def bilinear(b: Any, a: Any, fs: float = 1.0) -> Any:
    """Turns an analog filter into a digital one, by the bilinear transform.

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
    lp2lp, lp2hp, lp2bp, lp2bs, bilinear_zpk

    Examples
    --------
    >>> b, a = cp.scipy.signal.bilinear([1.0], [1.0, 1.0])
    >>> a.round(6)
    array([ 1.      , -0.333333])
    """
    return by_scipy("bilinear", b, a, fs)


@documented
def bilinear_zpk(z: Any, p: Any, k: Any, fs: Any) -> Any:
    """Turns an analog filter of zeros, poles and gain into a digital one, by the bilinear transform.

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
    lp2lp_zpk, lp2hp_zpk, lp2bp_zpk, lp2bs_zpk, bilinear

    Examples
    --------
    >>> z, p, k = cp.scipy.signal.bilinear_zpk([], [-1.0], 1.0, 1.0)
    >>> p.round(6)
    array([0.333333])
    """
    return by_scipy("bilinear_zpk", z, p, k, fs)


@documented
def normalize(b: Any, a: Any) -> Any:
    """Returns coefficients with a denominator that starts with 1.

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
    scipy.signal.tf2zpk

    Examples
    --------
    >>> b, a = cp.scipy.signal.normalize([1.0], [2.0, 1.0])
    >>> a
    array([1. , 0.5])
    """
    return by_scipy("normalize", b, a)


def cont2discrete(system: Any, dt: Any, method: str = "zoh", alpha: Any = None) -> Any:
    """Turns a continuous system into a discrete one.

    Parameters
    ----------
    system : tuple
        The coefficients (b, a), zeros, poles and gain, or state-space matrices.
    dt : float
        The time between samples.
    method : {"zoh", "foh", "impulse", "gbt", "bilinear", "euler", "backward_diff"}, default "zoh"
        "zoh", "foh", "impulse", "gbt", "bilinear", "euler" or "backward_diff".
    alpha : float, optional
        The weight of "gbt".

    Returns
    -------
    tuple
        The discrete system in the given form, and `dt`.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    scipy.signal.ss2tf, scipy.signal.tf2ss, scipy.signal.zpk2ss, scipy.signal.ss2zpk

    Examples
    --------
    >>> b, a, dt = cp.scipy.signal.cont2discrete(([1.0], [1.0, 1.0]), 0.5)
    >>> a.round(6)
    array([ 1.      , -0.606531])
    """
    return by_scipy("cont2discrete", system, dt, method, alpha)


__all__ = [
    "abcd_normalize",
    "bilinear",
    "bilinear_zpk",
    "cont2discrete",
    "normalize",
    "sos2tf",
    "sos2zpk",
    "ss2tf",
    "ss2zpk",
    "tf2sos",
    "tf2ss",
    "tf2zpk",
    "zpk2sos",
    "zpk2ss",
    "zpk2tf",
]
