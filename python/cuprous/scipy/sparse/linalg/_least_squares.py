"""Sparse least squares."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray
from cuprous._common.casting import astype
from cuprous.scipy.sparse._base import on_data_device
from cuprous.scipy.sparse.linalg._interface import aslinearoperator
from cuprous.scipy.sparse.linalg._iterative import _norm


def _unit(x: ndarray) -> tuple[ndarray, float]:
    """Returns a vector normalized to length one (zero stays zero), and its length."""
    length = float(_norm(x))
    return (x / length if length > 0 else x), length


@on_data_device
def lsqr(A: Any, b: Any, damp: float = 0.0, atol: float = 1e-6, btol: float = 1e-6, conlim: float = 1e8,
         iter_lim: int | None = None, show: bool = False, calc_var: bool = False, x0: Any = None
         ) -> tuple[ndarray, int, int, float, float, float, float, float, float, ndarray]:  # fmt: skip
    """Minimizes |A x - b|² + damp² |x - x0|², or solves A x = b (Paige and Saunders, 1982).

    Parameters
    ----------
    A : array_like, sparse matrix or LinearOperator
        A matrix or operator (m x n) whose adjoint can be multiplied too.
    b : array_like
        The right-hand side (m or m x 1).
    damp : float, default 0.0
        The damping factor.
    atol, btol : float, default 1e-06
        The relative errors of A and b, which bound the attainable accuracy.
    conlim : float, default 100000000.0
        Stops when the estimated condition number of A exceeds it; 0 means no limit.
    iter_lim : int, optional
        The greatest number of iterations; 2 n by default.
    show : bool, default False
        Not supported.
    calc_var : bool, default False
        Whether to estimate the diagonal of (AᴴA + damp² I)⁻¹.
    x0 : array_like, optional
        The start vector; zero by default.

    Returns
    -------
    tuple
        x; the reason for stopping (0: x0 solves the system, 1: solved, 2: least-squares solution, 3: conlim, 4 to 6:
        like 1 to 3, at the limit of the dtype's precision, 7: iter_lim); the number of iterations; |r|; sqrt(|r|² +
        damp² |x|²); estimates of |A|, of its condition number, and of |Aᴴr|; |x|; the diagonal (zeros unless
        requested).

    Raises
    ------
    ValueError
        For right-hand sides of the wrong shape.
    NotImplementedError
        For `show`.

    See Also
    --------
    scipy.sparse.linalg.spsolve, scipy.sparse.linalg.lsmr

    Examples
    --------
    >>> a = cp.scipy.sparse.csr_matrix([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> cp.scipy.sparse.linalg.lsqr(a, cp.asarray([1.0, 3.0, 5.0]))[0].round(4)
    array([1., 2.])
    """
    import numpy as np

    if show:
        raise NotImplementedError("[lsqr] show= is not supported; use the estimates that it returns")
    a, side = aslinearoperator(A), array(b)
    m, n = a.shape
    if side.shape not in ((m,), (m, 1)):
        raise ValueError(f"shapes of A {a.shape} and b {side.shape} are incompatible")
    name = _dtypes.inexact(_core.promote_types(a.dtype.name, side.dtype_name))
    side = astype(side, name).reshape(-1)
    x = _core.full((n,), 0, name) if x0 is None else astype(array(x0), name).reshape(-1)
    variance = _core.full((n,), 0, _dtypes.component(name))
    limit = 2 * n if iter_lim is None else int(iter_lim)
    tiny, condition_limit = float(np.finfo(name).eps), 1 / conlim if conlim > 0 else 0.0
    b_norm = float(_norm(side))
    u, beta = _unit(side if x0 is None else side - a.matvec(x))
    v, alpha = _unit(a.rmatvec(u)) if beta > 0 else (x * 0, 0.0)
    a_norm = condition = x_norm = x_squares = d_squares = damped = z = 0.0
    cosine, sine = -1.0, 0.0
    rho_bar, phi_bar, r_norm = alpha, beta, beta
    w, at_norm = v, alpha * beta
    if at_norm == 0:
        return x, 0, 0, beta, beta, a_norm, condition, at_norm, x_norm, variance
    stop = count = 0
    r1_norm = r_norm
    while stop == 0 and count < limit:
        count += 1
        # The next vectors of the bidiagonalization.
        u, beta = _unit(a.matvec(v) - u * alpha)
        a_norm = math.sqrt(a_norm**2 + alpha**2 + beta**2 + damp**2)
        v_next, alpha_next = _unit(a.rmatvec(u) - v * beta) if beta > 0 else (v, 0.0)
        # Rotations that eliminate the damping and the subdiagonal.
        rho_damped = math.hypot(rho_bar, damp)
        psi, phi_bar = damp / rho_damped * phi_bar, rho_bar / rho_damped * phi_bar
        rho = math.hypot(rho_damped, beta)
        c, s = rho_damped / rho, beta / rho
        theta, rho_bar = s * alpha_next, -c * alpha_next
        phi, phi_bar = c * phi_bar, s * phi_bar
        direction = w / rho
        x, w = x + w * (phi / rho), v_next - w * (theta / rho)
        d_squares += float(_norm(direction)) ** 2
        if calc_var:
            magnitude = _core.map("absolute", direction)
            variance = variance + magnitude * magnitude
        # Estimates of norms from scalars alone, without the vectors.
        rest, gamma_bar = phi - sine * rho * z, -cosine * rho
        x_norm = math.sqrt(x_squares + (rest / gamma_bar) ** 2)
        gamma = math.hypot(gamma_bar, theta)
        cosine, sine, z = gamma_bar / gamma, theta / gamma, rest / gamma
        x_squares += z**2
        condition = a_norm * math.sqrt(d_squares)
        damped += psi**2
        r_norm = math.sqrt(phi_bar**2 + damped)
        at_norm = alpha_next * abs(s * phi)
        r1_squared = r_norm**2 - damp**2 * x_squares
        r1_norm = math.copysign(math.sqrt(abs(r1_squared)), r1_squared)
        v, alpha = v_next, alpha_next
        relative = r_norm / b_norm if b_norm else 0.0
        scaled = a_norm * x_norm / b_norm if b_norm else 0.0
        stop = _verdict(
            (relative, btol + atol * scaled, relative / (1 + scaled)), (at_norm / (a_norm * r_norm + tiny), atol),
            (1 / (condition + tiny), condition_limit), count >= limit,
        )  # fmt: skip
    return x, stop, count, r1_norm, r_norm, a_norm, condition, at_norm, x_norm, variance


def _rotation(a: float, b: float) -> tuple[float, float, float]:
    """Returns the cosine, the sine and the length of the rotation that turns (a, b) onto the first axis."""
    length = math.hypot(a, b)
    return (a / length, b / length, length) if length else (1.0, 0.0, 0.0)


@on_data_device
def lsmr(A: Any, b: Any, damp: float = 0.0, atol: float = 1e-6, btol: float = 1e-6, conlim: float = 1e8,
         maxiter: int | None = None, show: bool = False, x0: Any = None
         ) -> tuple[ndarray, int, int, float, float, float, float, float]:  # fmt: skip
    """Minimizes |A x - b|² + damp² |x|², or solves A x = b, with a residual Aᴴr that decreases in every iteration (Fong
    and Saunders, 2011). It computes in double precision, as SciPy.

    Parameters
    ----------
    A : array_like, sparse matrix or LinearOperator
        A matrix or operator (m x n) whose adjoint can be multiplied too.
    b : array_like
        The right-hand side (m or m x 1).
    damp : float, default 0.0
        The damping factor.
    atol, btol : float, default 1e-06
        The relative errors of A and b, which bound the attainable accuracy.
    conlim : float, default 100000000.0
        Stops when the estimated condition number of A exceeds it; 0 means no limit.
    maxiter : int, optional
        The greatest number of iterations; min(m, n) by default.
    show : bool, default False
        Not supported.
    x0 : array_like, optional
        The start vector; zero by default.

    Returns
    -------
    tuple
        x; the reason for stopping (0: x0 solves the system, 1: solved, 2: least-squares solution, 3: conlim, 4 to 6:
        like 1 to 3, at the limit of the dtype's precision, 7: maxiter); the number of iterations; |r|; |Aᴴr|;
        estimates of |A| and of its condition number; |x|.

    Raises
    ------
    ValueError
        For vectors of the wrong shape.
    NotImplementedError
        For `show`.

    See Also
    --------
    scipy.sparse.linalg.lsqr, scipy.sparse.linalg.spsolve

    Examples
    --------
    >>> a = cp.scipy.sparse.csr_matrix([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> cp.scipy.sparse.linalg.lsmr(a, cp.asarray([1.0, 3.0, 5.0]))[0].round(4)
    array([1., 2.])
    """
    if show:
        raise NotImplementedError("[lsmr] show= is not supported; use the estimates that it returns")
    a, side = aslinearoperator(A), array(b)
    m, n = a.shape
    if side.shape not in ((m,), (m, 1)):
        raise ValueError(f"shapes of A {a.shape} and b {side.shape} are incompatible")
    name = _core.promote_types(_core.promote_types(a.dtype.name, side.dtype_name), "float64")
    start = None if x0 is None else array(x0)
    if start is not None and start.shape not in ((n,), (n, 1)):
        raise ValueError(f"shapes of A {a.shape} and x0 {start.shape} are incompatible")
    side = astype(side, name).reshape(-1)
    x = _core.full((n,), 0, name) if start is None else astype(start, name).reshape(-1)
    limit = min(m, n) if maxiter is None else int(maxiter)
    b_norm = float(_norm(side))
    u, beta = _unit(side if start is None else side - a.matvec(x))
    v, alpha = _unit(a.rmatvec(u)) if beta > 0 else (x * 0, 0.0)
    zeta_bar, alpha_bar = alpha * beta, alpha
    rho = rho_bar = c_bar = 1.0
    s_bar = 0.0
    h, h_bar = v, x * 0
    # The residual's estimate.
    beta_dd, beta_d, rho_d, tau, theta_tilde, zeta, squares = beta, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0
    # The estimates of the norm and the condition number of A.
    a_squares, greatest, smallest = alpha**2, 0.0, 1e100
    a_norm, condition, x_norm, r_norm, at_norm = alpha, 1.0, 0.0, beta, alpha * beta
    condition_limit = 1 / conlim if conlim > 0 else 0.0
    stop = count = 0
    if at_norm == 0 or b_norm == 0:
        return (x if b_norm else x * 0), 0, 0, r_norm, at_norm, a_norm, condition, x_norm
    while stop == 0 and count < limit:
        count += 1
        # The next vectors of the bidiagonalization.
        u, beta = _unit(a.matvec(v) - u * alpha)
        if beta > 0:
            v, alpha = _unit(a.rmatvec(u) - v * beta)
        # Rotations of the damping, of the bidiagonal matrix and of its square.
        c_hat, s_hat, alpha_hat = _rotation(alpha_bar, damp)
        rho_old, (c, s, rho) = rho, _rotation(alpha_hat, beta)
        theta, alpha_bar = s * alpha, c * alpha
        rho_bar_old, zeta_old = rho_bar, zeta
        theta_bar, rho_last = s_bar * rho, c_bar * rho
        c_bar, s_bar, rho_bar = _rotation(rho_last, theta)
        zeta, zeta_bar = c_bar * zeta_bar, -s_bar * zeta_bar
        h_bar = h - h_bar * (theta_bar * rho / (rho_old * rho_bar_old))
        x = x + h_bar * (zeta / (rho * rho_bar))
        h = v - h * (theta / rho)
        # Estimates from scalars.
        beta_hat, beta_check = c * c_hat * beta_dd, -s_hat * beta_dd
        beta_dd = -s * c_hat * beta_dd
        theta_tilde_old = theta_tilde
        c_tilde, s_tilde, rho_tilde = _rotation(rho_d, theta_bar)
        theta_tilde, rho_d = s_tilde * rho_bar, c_tilde * rho_bar
        beta_d = -s_tilde * beta_d + c_tilde * beta_hat
        tau = (zeta_old - theta_tilde_old * tau) / rho_tilde
        squares += beta_check**2
        r_norm = math.sqrt(squares + (beta_d - (zeta - theta_tilde * tau) / rho_d) ** 2 + beta_dd**2)
        a_norm = math.sqrt(a_squares + beta**2)
        a_squares += beta**2 + alpha**2
        greatest = max(greatest, rho_bar_old)
        if count > 1:
            smallest = min(smallest, rho_bar_old)
        condition = max(greatest, rho_last) / min(smallest, rho_last)
        at_norm, x_norm = abs(zeta_bar), float(_norm(x))
        scaled = a_norm * x_norm / b_norm
        product = a_norm * r_norm
        stop = _verdict(
            (r_norm / b_norm, btol + atol * scaled, r_norm / b_norm / (1 + scaled)),
            (at_norm / product if product else math.inf, atol), (1 / condition, condition_limit), count >= limit,
        )  # fmt: skip
    return x, stop, count, r_norm, at_norm, a_norm, condition, x_norm


def _verdict(residual: tuple[float, float, float], least: tuple[float, float], condition: tuple[float, float],
             last: bool) -> int:  # fmt: skip
    """Returns the reason to stop, or 0. Each pair is a measure and its limit; a measure m with 1 + m == 1 is below
    rounding."""
    if residual[0] <= residual[1]:
        return 1
    if least[0] <= least[1]:
        return 2
    if condition[0] <= condition[1]:
        return 3
    for reason, measure in ((4, residual[2]), (5, least[0]), (6, condition[0])):
        if 1 + measure <= 1:
            return reason
    return 7 if last else 0
