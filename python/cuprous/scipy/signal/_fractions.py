"""Partial fractions, roots, and other small algebra of signals, by SciPy."""

from __future__ import annotations

from typing import Any

from cuprous.scipy.signal._by_scipy import by_scipy
from cuprous.scipy.signal._parameters import documented


@documented
def residue(b: Any, a: Any, tol: float = 0.001, rtype: str = "avg") -> Any:
    """Returns the partial fractions of b(s) / a(s).

    Returns
    -------
    tuple of ndarrays
        The residues, the poles and the polynomial part.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    invres, residuez, cuprous.poly, unique_roots

    Examples
    --------
    >>> r, p, k = cp.scipy.signal.residue([1.0], [1.0, 3.0, 2.0])
    >>> r.round(6)
    array([ 1., -1.])
    """
    return by_scipy("residue", b, a, tol, rtype)


@documented
def residuez(b: Any, a: Any, tol: float = 0.001, rtype: str = "avg") -> Any:
    """Returns the partial fractions of b(z) / a(z) in powers of 1 / z.

    Returns
    -------
    tuple of ndarrays
        The residues, the poles and the polynomial part.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    invresz, residue, unique_roots

    Examples
    --------
    >>> r, p, k = cp.scipy.signal.residuez([1.0], [1.0, -0.75, 0.125])
    >>> r.round(6)
    array([-1.,  2.])
    """
    return by_scipy("residuez", b, a, tol, rtype)


@documented
def invres(r: Any, p: Any, k: Any, tol: float = 0.001, rtype: str = "avg") -> Any:
    """Returns b(s) / a(s) for partial fractions.

    Parameters
    ----------
    r : array_like
        The residues.
    k : array_like
        The polynomial part.

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
    residue, invresz, unique_roots

    Examples
    --------
    >>> b, a = cp.scipy.signal.invres([-1.0, 1.0], [-2.0, -1.0], [])
    >>> a
    array([1., 3., 2.])
    """
    return by_scipy("invres", r, p, k, tol, rtype)


@documented
def invresz(r: Any, p: Any, k: Any, tol: float = 0.001, rtype: str = "avg") -> Any:
    """Returns b(z) / a(z) for partial fractions in powers of 1 / z.

    Parameters
    ----------
    r : array_like
        The residues.
    k : array_like
        The polynomial part.

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
    residuez, unique_roots, invres

    Examples
    --------
    >>> b, a = cp.scipy.signal.invresz([-1.0, 2.0], [0.25, 0.5], [])
    >>> a
    array([ 1.   , -0.75 ,  0.125])
    """
    return by_scipy("invresz", r, p, k, tol, rtype)


@documented
def unique_roots(p: Any, tol: float = 0.001, rtype: str = "min") -> Any:
    """Returns the distinct ones of roots, and how often each occurs.

    Parameters
    ----------
    p : array_like
        The roots.

    Returns
    -------
    tuple
        The roots and their multiplicities.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    scipy.signal.invres

    Examples
    --------
    >>> roots, counts = cp.scipy.signal.unique_roots([1.0, 1.0, 2.0])
    >>> counts
    array([2, 1])
    """
    return by_scipy("unique_roots", p, tol, rtype)


def max_len_seq(nbits: Any, state: Any = None, length: Any = None, taps: Any = None) -> Any:
    """Returns a sequence of bits of the greatest period of a shift register.

    Parameters
    ----------
    nbits : int
        The number of bits of the register.
    state : array_like, optional
        The register's first state.
    length : int, optional
        The number of elements; 2**nbits - 1 by default.
    taps : array_like, optional
        The register's taps.

    Returns
    -------
    tuple
        The bits in int8, and the register's last state.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    scipy.signal.chirp, scipy.signal.unit_impulse

    Examples
    --------
    >>> cp.scipy.signal.max_len_seq(3)[0]
    array([1, 1, 1, 0, 1, 0, 0], dtype=int8)
    """
    return by_scipy("max_len_seq", nbits, state, length, taps)


def place_poles(A: Any, B: Any, poles: Any, method: str = "YT", rtol: float = 0.001, maxiter: int = 30) -> Any:
    """Returns a gain matrix that gives a system wanted poles.

    Parameters
    ----------
    A : array_like
        The state matrix.
    B : array_like
        The input matrix.
    poles : array_like
        The poles wanted.
    method : {"YT", "KNV0"}, default "YT"
        "YT" or "KNV0".
    rtol : float, default 0.001
        The change at which the iteration stops.
    maxiter : int, default 30
        The greatest number of iterations.

    Returns
    -------
    object
        An object with `gain_matrix`, `computed_poles`, `requested_poles`, `X`, `rtol` and `nb_iter`.

    Raises
    ------
    ValueError
        For arguments that SciPy refuses.
    ImportError
        If SciPy is not installed.

    See Also
    --------
    scipy.signal.StateSpace

    Examples
    --------
    >>> cp.scipy.signal.place_poles(cp.eye(2), cp.eye(2), cp.asarray([0.5, 0.25])).gain_matrix.round(6)
    array([[ 0.75, -0.  ],
           [-0.  ,  0.5 ]])
    """
    return by_scipy("place_poles", A, B, poles, method, rtol, maxiter)


__all__ = [
    "invres",
    "invresz",
    "max_len_seq",
    "place_poles",
    "residue",
    "residuez",
    "unique_roots",
]
