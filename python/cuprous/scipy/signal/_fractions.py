"""Partial fractions, roots, and other small algebra of signals, by SciPy."""

from __future__ import annotations

from typing import Any

from cuprous.scipy.signal._by_scipy import by_scipy
from cuprous.scipy.signal._parameters import documented


@documented
def residue(b: Any, a: Any, tol: float = 0.001, rtype: str = "avg") -> Any:
    """Returns the partial fractions of b(s) / a(s).

    Returns:
        The residues, the poles and the polynomial part.

    Raises:
        ValueError: for arguments that SciPy refuses.
        ImportError: if SciPy is not installed.

    See Also:
        invres, residuez, cuprous.poly, unique_roots

    Examples:
        >>> r, p, k = cp.scipy.signal.residue([1.0], [1.0, 3.0, 2.0])
        >>> r.round(6)
        array([ 1., -1.])
    """
    return by_scipy("residue", b, a, tol, rtype)


@documented
def residuez(b: Any, a: Any, tol: float = 0.001, rtype: str = "avg") -> Any:
    """Returns the partial fractions of b(z) / a(z) in powers of 1 / z.

    Returns:
        The residues, the poles and the polynomial part.

    Raises:
        ValueError: for arguments that SciPy refuses.
        ImportError: if SciPy is not installed.

    See Also:
        invresz, residue, unique_roots

    Examples:
        >>> r, p, k = cp.scipy.signal.residuez([1.0], [1.0, -0.75, 0.125])
        >>> r.round(6)
        array([-1.,  2.])
    """
    return by_scipy("residuez", b, a, tol, rtype)


@documented
def invres(r: Any, p: Any, k: Any, tol: float = 0.001, rtype: str = "avg") -> Any:
    """Returns b(s) / a(s) for partial fractions.

    Args:
        r: the residues.
        k: the polynomial part.

    Returns:
        The coefficients `b` and `a`.

    Raises:
        ValueError: for arguments that SciPy refuses.
        ImportError: if SciPy is not installed.

    See Also:
        residue, invresz, unique_roots

    Examples:
        >>> b, a = cp.scipy.signal.invres([-1.0, 1.0], [-2.0, -1.0], [])
        >>> a
        array([1., 3., 2.])
    """
    return by_scipy("invres", r, p, k, tol, rtype)


@documented
def invresz(r: Any, p: Any, k: Any, tol: float = 0.001, rtype: str = "avg") -> Any:
    """Returns b(z) / a(z) for partial fractions in powers of 1 / z.

    Args:
        r: the residues.
        k: the polynomial part.

    Returns:
        The coefficients `b` and `a`.

    Raises:
        ValueError: for arguments that SciPy refuses.
        ImportError: if SciPy is not installed.

    See Also:
        residuez, unique_roots, invres

    Examples:
        >>> b, a = cp.scipy.signal.invresz([-1.0, 2.0], [0.25, 0.5], [])
        >>> a
        array([ 1.   , -0.75 ,  0.125])
    """
    return by_scipy("invresz", r, p, k, tol, rtype)


@documented
def unique_roots(p: Any, tol: float = 0.001, rtype: str = "min") -> Any:
    """Returns the distinct ones of roots, and how often each occurs.

    Args:
        p: the roots.

    Returns:
        The roots and their multiplicities.

    Raises:
        ValueError: for arguments that SciPy refuses.
        ImportError: if SciPy is not installed.

    Examples:
        >>> roots, counts = cp.scipy.signal.unique_roots([1.0, 1.0, 2.0])
        >>> counts
        array([2, 1])
    """
    return by_scipy("unique_roots", p, tol, rtype)


def max_len_seq(nbits: Any, state: Any = None, length: Any = None, taps: Any = None) -> Any:
    """Returns a sequence of bits of the greatest period of a shift register.

    Args:
        nbits: the number of bits of the register.
        state: the register's first state.
        length: the number of elements; 2**nbits - 1 by default.
        taps: the register's taps.

    Returns:
        The bits in int8, and the register's last state.

    Raises:
        ValueError: for arguments that SciPy refuses.
        ImportError: if SciPy is not installed.

    Examples:
        >>> cp.scipy.signal.max_len_seq(3)[0]
        array([1, 1, 1, 0, 1, 0, 0], dtype=int8)
    """
    return by_scipy("max_len_seq", nbits, state, length, taps)


def place_poles(A: Any, B: Any, poles: Any, method: str = "YT", rtol: float = 0.001, maxiter: int = 30) -> Any:
    """Returns a gain matrix that gives a system wanted poles.

    Args:
        A: the state matrix.
        B: the input matrix.
        poles: the poles wanted.
        method: "YT" or "KNV0".
        rtol: the change at which the iteration stops.
        maxiter: the greatest number of iterations.

    Returns:
        An object with `gain_matrix`, `computed_poles`, `requested_poles`, `X`, `rtol` and `nb_iter`.

    Raises:
        ValueError: for arguments that SciPy refuses.
        ImportError: if SciPy is not installed.

    Examples:
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
