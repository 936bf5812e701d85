"""Krylov solvers for square systems. Each checks for convergence after an iteration (gmres: after a cycle), which waits
for the device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import ndarray
from cuprous.scipy.sparse._base import on_data_device
from cuprous.scipy.sparse.linalg._interface import system


def _norm(x: ndarray) -> ndarray:
    squares = _core.map("absolute", x)
    return _core.map("sqrt", _core.reduce("sum", squares * squares, None))


def _dot(x: ndarray, y: ndarray) -> ndarray:
    """Returns the inner product, with the first vector conjugated."""
    first = _core.map("conjugate", x) if _dtypes.kind(x.dtype_name) == "c" else x
    return _core.reduce("sum", first * y, None)


class _Solve:
    """The state that the solvers share: a system, its tolerance and the greatest number of iterations."""

    def __init__(self, A: Any, b: Any, x0: Any, M: Any, rtol: float, atol: float, maxiter: Any, default: int) -> None:
        self.a, before, self.x, self.b = system(A, M, x0, b)
        self.before: Callable[[ndarray], ndarray] = (lambda r: r) if before is None else before.matvec
        if isinstance(atol, str) or atol < 0:
            raise ValueError(f"'atol' must be nonnegative, not {atol!r}")
        self.size = float(_norm(self.b))
        self.goal = max(float(atol), float(rtol) * self.size)
        self.limit = default * self.b.size if maxiter is None else int(maxiter)

    def residual(self, shift: float = 0.0) -> ndarray:
        """Returns b - (A - shift · I) x."""
        r = self.b - self.a.matvec(self.x)
        return r + self.x * shift if shift else r

    def nothing_to_do(self) -> bool:
        """Returns true if the right-hand side is zero, so that the solution is zero."""
        if self.size == 0:
            self.x = _core.full(self.x.shape, 0, self.x.dtype_name)
        return self.size == 0

    def done(self, r: ndarray) -> bool:
        return float(_norm(r)) <= self.goal


def _call(callback: Any, x: ndarray) -> None:
    if callback is not None:
        callback(x.copy())


@on_data_device
def cg(A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None,
       M: Any = None, callback: Any = None) -> tuple[ndarray, int]:  # fmt: skip
    """Solves A x = b for a Hermitian positive definite A by conjugate gradients (Hestenes and Stiefel, 1952).

    Parameters
    ----------
    A : array_like, sparse matrix or LinearOperator
        A matrix or operator (n x n).
    b : array_like
        The right-hand side (n or n x 1).
    x0 : array_like, optional
        The start vector; zero by default.
    rtol : float, default 1e-05
        Stops when the residual's norm is at most max(rtol · |b|, atol).
    atol : float, default 0.0
        See `rtol`.
    maxiter : int, optional
        The greatest number of iterations; 10 n by default.
    M : array_like, sparse matrix or LinearOperator, optional
        An approximation of the inverse of A.
    callback : callable, optional
        Called with the current solution after each iteration.

    Returns
    -------
    tuple (ndarray, int)
        The solution, and 0 if it converged, otherwise the number of iterations.

    See Also
    --------
    scipy.sparse.linalg.bicgstab, scipy.sparse.linalg.cgs, scipy.sparse.linalg.gmres, scipy.sparse.linalg.minres

    Examples
    --------
    >>> a = cp.scipy.sparse.diags([[2.0, 4.0]], [0])
    >>> x, info = cp.scipy.sparse.linalg.cg(a, cp.asarray([2.0, 2.0]))
    >>> x.round(4), info
    (array([1. , 0.5]), 0)
    """
    s = _Solve(A, b, x0, M, rtol, atol, maxiter, 10)
    if s.nothing_to_do():
        return s.x, 0
    r = s.residual()
    rho_before: ndarray | None = None
    p = r
    for _ in range(s.limit):
        if s.done(r):
            return s.x, 0
        z = s.before(r)
        rho = _dot(r, z)
        p = z if rho_before is None else z + p * (rho / rho_before)
        q = s.a.matvec(p)
        step = rho / _dot(p, q)
        s.x, r, rho_before = s.x + p * step, r - q * step, rho
        _call(callback, s.x)
    return s.x, 0 if s.done(r) else s.limit


@on_data_device
def cgs(A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None,
        M: Any = None, callback: Any = None) -> tuple[ndarray, int]:  # fmt: skip
    """Solves A x = b by conjugate gradients squared (Sonneveld, 1989).

    Parameters
    ----------
    A : array_like, sparse matrix or LinearOperator
        A matrix or operator (n x n).
    b : array_like
        The right-hand side (n or n x 1).
    x0 : array_like, optional
        The start vector; zero by default.
    rtol : float, default 1e-05
        Stops when the residual's norm is at most max(rtol · |b|, atol).
    atol : float, default 0.0
        See `rtol`.
    maxiter : int, optional
        The greatest number of iterations; 10 n by default.
    M : array_like, sparse matrix or LinearOperator, optional
        An approximation of the inverse of A.
    callback : callable, optional
        Called with the current solution after each iteration.

    Returns
    -------
    tuple (ndarray, int)
        The solution, and 0 if it converged, otherwise the number of iterations; -10 means breakdown.

    See Also
    --------
    scipy.sparse.linalg.gmres, scipy.sparse.linalg.minres, scipy.sparse.linalg.cg, scipy.sparse.linalg.bicgstab

    Examples
    --------
    >>> a = cp.scipy.sparse.diags([[2.0, 4.0]], [0])
    >>> x, info = cp.scipy.sparse.linalg.cgs(a, cp.asarray([2.0, 2.0]))
    >>> x.round(4), info
    (array([1. , 0.5]), 0)
    """
    s = _Solve(A, b, x0, M, rtol, atol, maxiter, 10)
    if s.nothing_to_do():
        return s.x, 0
    r = s.residual()
    shadow, p, q = r, r, r
    rho_before: ndarray | None = None
    for _ in range(s.limit):
        if s.done(r):
            return s.x, 0
        rho = _dot(shadow, r)
        if complex(rho) == 0:
            return s.x, -10
        if rho_before is None:
            u = p = r
        else:
            beta = rho / rho_before
            u = r + q * beta
            p = u + (q + p * beta) * beta
        v = s.a.matvec(s.before(p))
        step = rho / _dot(shadow, v)
        q = u - v * step
        both = s.before(u + q)
        s.x = s.x + both * step
        r, rho_before = r - s.a.matvec(both) * step, rho
        _call(callback, s.x)
    return s.x, 0 if s.done(r) else s.limit


@on_data_device
def bicgstab(A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: int | None = None,
             M: Any = None, callback: Any = None) -> tuple[ndarray, int]:  # fmt: skip
    """Solves A x = b by stabilized biconjugate gradients (van der Vorst, 1992).

    Parameters
    ----------
    A : array_like, sparse matrix or LinearOperator
        A matrix or operator (n x n).
    b : array_like
        The right-hand side (n or n x 1).
    x0 : array_like, optional
        The start vector; zero by default.
    rtol : float, default 1e-05
        Stops when the residual's norm is at most max(rtol · |b|, atol).
    atol : float, default 0.0
        See `rtol`.
    maxiter : int, optional
        The greatest number of iterations; 10 n by default.
    M : array_like, sparse matrix or LinearOperator, optional
        An approximation of the inverse of A.
    callback : callable, optional
        Called with the current solution after each iteration.

    Returns
    -------
    tuple (ndarray, int)
        The solution, and 0 if it converged, otherwise the number of iterations; -10 and -11 mean breakdown.

    See Also
    --------
    scipy.sparse.linalg.cgs, scipy.sparse.linalg.gmres, scipy.sparse.linalg.minres, scipy.sparse.linalg.cg

    Examples
    --------
    >>> a = cp.scipy.sparse.diags([[2.0, 4.0]], [0])
    >>> x, info = cp.scipy.sparse.linalg.bicgstab(a, cp.asarray([2.0, 2.0]))
    >>> x.round(4), info
    (array([1. , 0.5]), 0)
    """
    s = _Solve(A, b, x0, M, rtol, atol, maxiter, 10)
    if s.nothing_to_do():
        return s.x, 0
    r = s.residual()
    shadow, p, v = r, r, r
    rho_before: ndarray | None = None
    alpha = omega = _core.full((), 1, s.x.dtype_name)
    for _ in range(s.limit):
        if s.done(r):
            return s.x, 0
        rho = _dot(shadow, r)
        if complex(rho) == 0:
            return s.x, -10
        if rho_before is not None:
            if complex(omega) == 0:
                return s.x, -11
            p = r + (p - v * omega) * (rho / rho_before) * (alpha / omega)
        p_hat = s.before(p)
        v = s.a.matvec(p_hat)
        alpha = rho / _dot(shadow, v)
        half = r - v * alpha
        if s.done(half):
            s.x = s.x + p_hat * alpha
            _call(callback, s.x)
            return s.x, 0
        s_hat = s.before(half)
        t = s.a.matvec(s_hat)
        omega = _dot(t, half) / _dot(t, t)
        s.x = s.x + p_hat * alpha + s_hat * omega
        r, rho_before = half - t * omega, rho
        _call(callback, s.x)
    return s.x, 0 if s.done(r) else s.limit


@on_data_device
def gmres(A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, restart: int | None = None,
          maxiter: int | None = None, M: Any = None, callback: Any = None, callback_type: str | None = None
          ) -> tuple[ndarray, int]:  # fmt: skip
    """Solves A x = b by generalized minimal residuals (Saad and Schultz, 1986), preconditioned on the right.

    A cycle runs on the device without waiting: its vectors are orthogonalized by two passes of classical Gram-Schmidt,
    and its small least-squares problem is solved on the host.

    Parameters
    ----------
    A : array_like, sparse matrix or LinearOperator
        A matrix or operator (n x n).
    b : array_like
        The right-hand side (n or n x 1).
    x0 : array_like, optional
        The start vector; zero by default.
    rtol : float, default 1e-05
        Stops when the residual's norm is at most max(rtol · |b|, atol).
    atol : float, default 0.0
        See `rtol`.
    restart : int, optional
        The number of iterations in a cycle; 20 by default.
    maxiter : int, optional
        The greatest number of cycles; 10 n by default.
    M : array_like, sparse matrix or LinearOperator, optional
        An approximation of the inverse of A.
    callback : callable, optional
        Called after each cycle.
    callback_type : str, optional
        "x" passes it the solution, "pr_norm" the residual's norm relative to the right-hand side's.

    Returns
    -------
    tuple (ndarray, int)
        The solution, and 0 if it converged, otherwise the number of iterations.

    Raises
    ------
    ValueError
        For an unknown `callback_type`.

    See Also
    --------
    LinearOperator

    Examples
    --------
    >>> a = cp.scipy.sparse.diags([[2.0, 4.0]], [0])
    >>> x, info = cp.scipy.sparse.linalg.gmres(a, cp.asarray([2.0, 2.0]))
    >>> x.round(4), info
    (array([1. , 0.5]), 0)
    """
    if callback_type not in (None, "x", "pr_norm", "legacy"):
        raise ValueError(f"Unknown callback_type: {callback_type!r}")
    s = _Solve(A, b, x0, M, rtol, atol, maxiter, 10)
    if s.nothing_to_do():
        return s.x, 0
    n = s.b.size
    cycle = min(20 if restart is None else int(restart), n)
    for _ in range(s.limit):
        r = s.residual()
        size = float(_norm(r))
        if size <= s.goal:
            return s.x, 0
        basis, hessenberg = _arnoldi(s, r / size, cycle)
        weights = _least(hessenberg, size)
        s.x = s.x + s.before(basis[: weights.size].T @ weights)
        if callback_type == "x":
            _call(callback, s.x)
        elif callback is not None:
            callback(float(_norm(s.residual())) / s.size)
    return s.x, 0 if s.done(s.residual()) else s.limit * cycle


def _arnoldi(s: _Solve, first: ndarray, cycle: int) -> tuple[ndarray, ndarray]:
    """Returns an orthonormal basis (rows) of the Krylov space, and the Hessenberg matrix (each row holds one
    column)."""
    n, name = first.size, first.dtype_name
    basis = _core.full((cycle + 1, n), 0, name)
    hessenberg = _core.full((cycle, cycle + 1), 0, name)
    _core.update(basis[0], first)
    is_complex = _dtypes.kind(name) == "c"
    for k in range(cycle):
        w = s.a.matvec(s.before(basis[k]))
        # Basis rows that are still zero contribute nothing, so all iterations share one program.
        for _ in range(2):
            parts = (_core.map("conjugate", basis) if is_complex else basis) @ w
            w = w - parts @ basis
            hessenberg[k] = hessenberg[k] + parts
        length = _norm(w)
        hessenberg[k, k + 1] = length
        zero = _core.full((), 0, name)
        _core.update(basis[k + 1], _core.map("where", length > 0, w / length, zero))
    return basis, hessenberg


def _least(hessenberg: ndarray, size: float) -> ndarray:
    """Returns the combination of basis vectors with the least residual."""
    import numpy as np

    matrix = _core.to_numpy(hessenberg).T
    lengths = np.abs(np.diagonal(matrix, -1))
    # If the Krylov space is invariant, it ends where the next vector's norm becomes negligible.
    limits = np.finfo(matrix.dtype)
    small = np.flatnonzero(lengths <= limits.eps * max(np.abs(matrix).max(), limits.tiny))
    k = int(small[0]) + 1 if small.size else matrix.shape[1]
    side = np.zeros(k + 1, matrix.dtype)
    side[0] = size
    weights = np.linalg.lstsq(matrix[: k + 1, :k], side, rcond=None)[0]
    return _core.from_numpy(weights.astype(matrix.dtype))


def _length(r: ndarray, z: ndarray) -> float:
    """Returns the length of a residual r, where z is r times the preconditioner.

    Raises
    ------
    ValueError
        If the preconditioner is not positive definite.
    """
    squared = float(_core.map("real", _dot(r, z)))
    if squared < 0:
        raise ValueError("indefinite preconditioner")
    return math.sqrt(squared)


@on_data_device
def minres(A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, shift: float = 0.0, maxiter: int | None = None,
           M: Any = None, callback: Any = None, show: bool = False, check: bool = False
           ) -> tuple[ndarray, int]:  # fmt: skip
    """Solves (A - shift · I) x = b for a Hermitian A by minimal residuals (Paige and Saunders, 1975).

    Parameters
    ----------
    A : array_like, sparse matrix or LinearOperator
        A matrix or operator (n x n).
    b : array_like
        The right-hand side (n or n x 1).
    x0 : array_like, optional
        The start vector; zero by default.
    rtol : float, default 1e-05
        Stops when the residual's norm is at most rtol · |b|.
    shift : float, default 0.0
        The number that is subtracted from the diagonal.
    maxiter : int, optional
        The greatest number of iterations; 5 n by default.
    M : array_like, sparse matrix or LinearOperator, optional
        An approximation of the inverse of A, positive definite.
    callback : callable, optional
        Called with the current solution after each iteration.
    show, check : bool, default False
        Not supported.

    Returns
    -------
    tuple (ndarray, int)
        The solution, and 0 if it converged, otherwise the number of iterations.

    Raises
    ------
    NotImplementedError
        For `show` and `check`.
    ValueError
        For a preconditioner that is not positive definite.

    See Also
    --------
    scipy.sparse.linalg.cg, scipy.sparse.linalg.bicgstab, scipy.sparse.linalg.cgs, scipy.sparse.linalg.gmres

    Examples
    --------
    >>> a = cp.scipy.sparse.diags([[2.0, 4.0]], [0])
    >>> x, info = cp.scipy.sparse.linalg.minres(a, cp.asarray([2.0, 2.0]))
    >>> x.round(4), info
    (array([1. , 0.5]), 0)
    """
    if show or check:
        raise NotImplementedError(f"[minres] {'show' if show else 'check'}= is not supported; use callback=")
    s = _Solve(A, b, x0, M, rtol, 0.0, maxiter, 5)
    if s.nothing_to_do():
        return s.x, 0
    r = s.residual(shift)
    if s.done(r):
        return s.x, 0
    y = s.before(r)
    beta = _length(r, y)
    v_before, v, z = r * 0, r, y
    d_before, d = r * 0, r * 0
    eta = beta
    cosine, sine, cosine_before, sine_before = 1.0, 0.0, 1.0, 0.0
    for _ in range(s.limit):
        v, z = v / beta, z / beta
        w = s.a.matvec(z)
        if shift:
            w = w - z * shift
        alpha = float(_core.map("real", _dot(z, w)))
        following = w - v * alpha - v_before * beta
        z_next = s.before(following)
        beta_next = _length(following, z_next)
        # Givens rotations that make the tridiagonal matrix upper triangular.
        diagonal = cosine * alpha - cosine_before * sine * beta
        above = sine * alpha + cosine_before * cosine * beta
        far = sine_before * beta
        pivot = math.hypot(diagonal, beta_next)
        if pivot == 0:
            break
        cosine_before, sine_before = cosine, sine
        cosine, sine = diagonal / pivot, beta_next / pivot
        d_before, d = d, (z - d_before * far - d * above) / pivot
        s.x = s.x + d * (cosine * eta)
        eta = -sine * eta
        _call(callback, s.x)
        if s.done(s.residual(shift)):
            return s.x, 0
        if beta_next == 0:
            break
        v_before, v, z, beta = v, following, z_next, beta_next
    return s.x, 0 if s.done(s.residual(shift)) else s.limit
