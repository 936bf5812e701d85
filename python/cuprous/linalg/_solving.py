"""Linear equations, inverses, rank and condition numbers of matrices in the last two axes."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, array, broadcast_shapes, ndarray
from cuprous._common.casting import astype
from cuprous._functions.complex_parts import real
from cuprous._functions.counting import count_nonzero
from cuprous._functions.matrices import eye
from cuprous._functions.reductions import all as all_
from cuprous._functions.reductions import any as any_
from cuprous._functions.reductions import max as max_
from cuprous.linalg._decompositions import adjoint, inexact, linalg_error, results, stacked
from cuprous.linalg._norms import norm
from cuprous.linalg._svd import svd, svdvals

_EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}
_SINGULAR = "Singular matrix"
_UNSET: Any = object()


def solve(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Returns X with A X = B, by LU with partial pivoting.

    Parameters
    ----------
    a : array_like
        Matrices of N x N.
    b : array_like
        Matrices of N x K, or one vector (1-d); batch axes broadcast.

    Returns
    -------
    ndarray
        An array of the shape of `b`.

    Raises
    ------
    LinAlgError
        For matrices that are singular or not square.
    ValueError
        Where shapes do not fit.

    See Also
    --------
    linalg.cholesky, linalg.qr, linalg.svd, linalg.eigh, linalg.lstsq

    Examples
    --------
    >>> cp.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])
    array([1. , 0.5])
    """
    a, b = array(a), array(b)
    stacked(a)
    a, b = inexact(a, b)
    n = a.shape[-1]
    vector = b.ndim == 1
    rows = b.shape[-1 if vector else -2] if b.ndim else 0
    if b.ndim == 0 or rows != n:
        name, signature = ("solve1", "(m,m),(m)->(m)") if vector else ("solve", "(m,m),(m,n)->(m,n)")
        if b.ndim == 0:
            raise ValueError(
                f"{name}: Input operand 1 does not have enough dimensions (has 0, gufunc core with signature "
                f"{signature} requires 2)"
            )
        raise ValueError(
            f"{name}: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature {signature} "
            f"(size {rows} is different from {n})"
        )
    x = _solution(a, b[:, None] if vector else b, _SINGULAR)
    return x[..., 0] if vector else x


def _solution(a: ndarray, b: ndarray, error: str | None) -> ndarray:
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (_core.broadcast_to(x, batch + x.shape[-2:]) if x.shape[:-2] != batch else x for x in (a, b))
    return results("solve", a, [b.shape[-2:]], error, b)[0]


def _inverse(a: ndarray, error: str | None) -> ndarray:
    return _solution(a, eye(a.shape[-1], dtype=a.dtype_name), error)


def inv(a: ArrayLike) -> ndarray:
    """Returns the inverse.

    Parameters
    ----------
    a : array_like
        Matrices of shape (..., N, N).

    Returns
    -------
    ndarray
        An array of the shape of `a`.

    Raises
    ------
    LinAlgError
        For matrices that are singular or not square.

    See Also
    --------
    cuprous.linalg.cond, cuprous.linalg.svd

    Examples
    --------
    >>> cp.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    a = array(a)
    stacked(a)
    (a,) = inexact(a)
    return _inverse(a, _SINGULAR)


def _double(*arrays: ArrayLike) -> tuple[str, list[ndarray]]:
    """Returns the dtype of the result, and the arrays in double precision, which NumPy's cutoffs for singular values
    assume."""
    converted = inexact(*arrays)
    name = converted[0].dtype_name
    wide = "complex128" if dtypes.kind(name) == "c" else "float64"
    return name, [astype(a, wide) for a in converted]


def pinv(a: ArrayLike, rcond: ArrayLike = None, hermitian: bool = False, *, rtol: ArrayLike = _UNSET) -> ndarray:
    """Returns the Moore-Penrose pseudoinverse, by singular values, in double precision.

    Parameters
    ----------
    a : array_like
        Matrices of M x N.
    rcond : array_like, optional
        Singular values up to this times the largest count as zero; by default 1e-15.
    hermitian : bool, default False
        Computes the singular values with `eigh`.
    rtol : array_like, optional
        Another name for `rcond`, whose value None means max(M, N) times the dtype's epsilon.

    Returns
    -------
    ndarray
        An array of shape (..., N, M).

    Raises
    ------
    LinAlgError
        For fewer than two axes, infinity or NaN.
    ValueError
        For both `rcond` and `rtol`.

    See Also
    --------
    linalg.tensorsolve, linalg.solve, linalg.lstsq, linalg.inv, linalg.matrix_rank

    Examples
    --------
    >>> cp.linalg.pinv([[2.0, 0.0], [0.0, 0.0]]).round(6)
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    given = array(a)
    name, (a,) = _double(given)
    stacked(a, square=False)
    m, n = a.shape[-2:]
    if rcond is None:
        epsilon = _EPSILON[dtypes.component(name)]
        rcond = 1e-15 if rtol is _UNSET else max(m, n) * epsilon if rtol is None else rtol
    elif rtol is not _UNSET:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if not a.size:
        # As in NumPy, empty matrices keep an integer dtype, and an empty batch does not.
        return _core.full((*a.shape[:-2], n, m), 0, given.dtype_name if 0 in (m, n) else name)
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    inverse = _inverses(s, array(rcond)[..., None] * max_(s, -1, keepdims=True))
    return astype(adjoint(vh) @ (inverse[..., None] * adjoint(u)), name)


def _inverses(s: ndarray, cutoff: ndarray) -> ndarray:
    """Returns 1 / s for singular values above the cutoff, and 0 for others."""
    large = s > cutoff
    return _core.map("where", large, 1.0 / _core.map("where", large, s, 1.0), 0.0)


def lstsq(a: ArrayLike, b: ArrayLike, rcond: float | None = None) -> tuple[ndarray, ndarray, int, ndarray]:
    """Returns the X of least norm among those that minimize the norm of B - A X, by singular values, in double
    precision.

    Parameters
    ----------
    a : array_like
        A matrix of M x N.
    b : array_like
        M x K, or one vector.
    rcond : float, optional
        Singular values up to this times the largest count as zero; by default max(M, N) times the epsilon of float64. A
        negative number means that epsilon alone.

    Returns
    -------
    tuple (ndarray, ndarray, int, ndarray)
        X; the squared norms of the columns of B - A X (none unless M > N and the rank is N); the rank, which is copied
        to the host; the singular values.

    Raises
    ------
    LinAlgError
        Where shapes do not fit, or there is infinity or NaN.

    See Also
    --------
    linalg.inv, linalg.pinv, linalg.tensorsolve, linalg.solve, linalg.matrix_rank

    Examples
    --------
    >>> x, residuals, rank, s = cp.linalg.lstsq([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0])
    >>> x.round(6)
    array([1., 2.])
    """
    name, (a, b) = _double(a, b)
    vector = b.ndim == 1
    b = b[:, None] if vector else b
    for x in (a, b):
        if x.ndim != 2:
            raise linalg_error(f"{x.ndim}-dimensional array given. Array must be two-dimensional")
    m, n = a.shape
    if b.shape[0] != m:
        raise linalg_error("Incompatible dimensions")
    if rcond is None:
        rcond = _EPSILON["float64"] * max(m, n)
    elif rcond < 0:
        rcond = _EPSILON["float64"]
    component = dtypes.component(name)
    if a.size:
        k = min(m, n)
        s, u, vh = results("svd", a, [(k,), (m, k), (k, n)], "SVD did not converge in Linear Least Squares")
        s = real(s)
        cutoff = max_(s) * rcond
        rank = int(count_nonzero(s > cutoff))
        x = adjoint(vh) @ (_inverses(s, cutoff)[:, None] * (adjoint(u) @ b))
    else:
        s, rank, x = _core.full((0,), 0, "float64"), 0, _core.full((n, b.shape[1]), 0, b.dtype_name)
    residuals = _core.full((0,), 0, component)
    if rank == n and m > n:
        residuals = astype(norm(b - a @ x, axis=0) ** 2, component)
    x = astype(x, name)
    return x[:, 0] if vector else x, residuals, rank, astype(s, component)


def matrix_rank(A: ArrayLike, tol: ArrayLike = None, hermitian: bool = False, *, rtol: ArrayLike = None) -> Any:
    """Returns the number of singular values above `tol`, or above `rtol` (by default max(M, N) times the dtype's
    epsilon) times the largest. Arrays of fewer than two axes have rank 0 or 1 (an int).

    Parameters
    ----------
    A : array_like
        Matrices of shape (..., M, N).
    tol : array_like, optional
        The absolute tolerance.
    hermitian : bool, default False
        Computes the singular values of Hermitian matrices with `eigh`.
    rtol : array_like, optional
        The tolerance relative to the largest singular value.

    Returns
    -------
    ndarray
        An array of integers of shape (...).

    Raises
    ------
    ValueError
        For both `tol` and `rtol`.

    See Also
    --------
    linalg.pinv, linalg.inv, linalg.lstsq, linalg.svdvals, linalg.svd

    Examples
    --------
    >>> cp.linalg.matrix_rank(cp.asarray([[1.0, 2.0], [2.0, 4.0]]))
    array(1)
    """
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    A = array(A)
    if A.ndim < 2:
        return int(not bool(all_(A == 0)))
    s = svd(A, compute_uv=False, hermitian=hermitian)
    if tol is not None:
        return count_nonzero(s > array(tol)[..., None], axis=-1)
    factor = max(A.shape[-2:]) * _EPSILON[s.dtype_name] if rtol is None else array(rtol)[..., None]
    return count_nonzero(s > max_(s, -1, keepdims=True, initial=0) * factor, axis=-1)


def cond(x: ArrayLike, p: Any = None) -> ndarray:
    """Returns the condition number: norm of the matrix times norm of its inverse, by singular values for p = None, 2
    and -2; infinity for singular matrices.

    Parameters
    ----------
    x : array_like
        Matrices of shape (..., M, N).
    p : float or str, optional
        The norm, an order of `norm`; None (the default) is the same as 2.

    Returns
    -------
    ndarray
        A real array of shape (...).

    Raises
    ------
    LinAlgError
        For arrays without elements, or norms other than those that are not of square matrices.

    See Also
    --------
    cuprous.linalg.norm

    Examples
    --------
    >>> cp.linalg.cond([[4.0, 0.0], [0.0, 2.0]])
    array(2.)
    """
    x = array(x)
    if x.ndim >= 2 and not math.prod(x.shape[-2:]) and all(x.shape[:-2]):
        raise linalg_error("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        s = svdvals(x)
        r = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        stacked(x)
        (x,) = inexact(x)
        r = norm(x, p, axis=(-2, -1)) * norm(_inverse(x, None), p, axis=(-2, -1))
    unknown = _core.map("logical_and", _core.map("isnan", r), ~any_(_core.map("isnan", x), axis=(-2, -1)))
    return _core.map("where", unknown, math.inf, r)


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Any = None) -> ndarray:
    """Returns X with tensordot(a, X, X.ndim) = b. First moves `axes` of `a` to the end.

    Parameters
    ----------
    a : array_like
        An array of shape (*b.shape, *Q), where both have the same number of elements.
    b : array_like
        The right side, of any shape.
    axes : sequence of ints, optional
        The axes of `a` to move to its end first.

    Returns
    -------
    ndarray
        An array of shape Q.

    Raises
    ------
    LinAlgError
        Unless `a` is square in that sense.

    See Also
    --------
    tensordot, tensorinv, cuprous.einsum

    Examples
    --------
    >>> a = cp.eye(6).reshape(6, 2, 3)
    >>> cp.linalg.tensorsolve(a, cp.arange(6.0))
    array([[0., 1., 2.],
           [3., 4., 5.]])
    """
    a, b = array(a), array(b)
    if axes is not None:
        order = list(range(a.ndim))
        for k in axes:
            order.remove(k)
            order.insert(a.ndim, k)
        a = a.transpose(*order)
    shape = a.shape[-(a.ndim - b.ndim) :]
    n = math.prod(shape)
    if a.size != n**2:
        raise linalg_error(
            "Input arrays must satisfy the requirement             prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return solve(a.reshape(n, n), b.reshape(-1)).reshape(shape)


def tensorinv(a: ArrayLike, ind: int = 2) -> ndarray:
    """Returns the inverse with respect to tensordot(·, ·, ind).

    Parameters
    ----------
    a : array_like
        An array whose first `ind` extents have the same product as the others.
    ind : int, default 2
        The number of first axes.

    Returns
    -------
    ndarray
        An array of shape (*a.shape[ind:], *a.shape[:ind]).

    Raises
    ------
    LinAlgError
        Unless `a` is square in that sense.
    ValueError
        For `ind` that is not positive.

    See Also
    --------
    tensordot, tensorsolve

    Examples
    --------
    >>> cp.linalg.tensorinv(cp.eye(6).reshape(2, 3, 6), ind=2).shape
    (6, 2, 3)
    """
    a = array(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    n = math.prod(a.shape[ind:])
    return inv(a.reshape(n, -1)).reshape(a.shape[ind:] + a.shape[:ind])


__all__ = ["cond", "inv", "lstsq", "matrix_rank", "pinv", "solve", "tensorinv", "tensorsolve"]
