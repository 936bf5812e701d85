"""Eigenvalues of Hermitian matrices and singular values, a few at a time, by the thick-restart Lanczos method."""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray
from cuprous._common.casting import astype
from cuprous.scipy.sparse._base import on_data_device
from cuprous.scipy.sparse.linalg._interface import LinearOperator, aslinearoperator
from cuprous.scipy.sparse.linalg._iterative import _norm


class ArpackError(RuntimeError):
    """An error in an eigenvalue iteration.

    See Also
    --------
    scipy.sparse.linalg.ArpackNoConvergence, scipy.sparse.linalg.eigsh

    Examples
    --------
    >>> issubclass(cp.scipy.sparse.linalg.ArpackError, RuntimeError)
    True
    """


class ArpackNoConvergence(ArpackError):
    """Not all eigenvalues converged within the allowed iterations.

    `eigenvalues` and `eigenvectors` hold those that did.

    Parameters
    ----------
    msg : str
        The message.
    eigenvalues : ndarray
        The eigenvalues that converged.
    eigenvectors : ndarray
        Their eigenvectors.

    See Also
    --------
    scipy.sparse.linalg.ArpackError, scipy.sparse.linalg.eigsh

    Examples
    --------
    >>> issubclass(cp.scipy.sparse.linalg.ArpackNoConvergence, cp.scipy.sparse.linalg.ArpackError)
    True
    """

    def __init__(self, msg: str, eigenvalues: ndarray, eigenvectors: ndarray) -> None:
        super().__init__(msg)
        self.eigenvalues, self.eigenvectors = eigenvalues, eigenvectors


def _order(values: Any, which: str, k: int) -> Any:
    """Returns the indices of the wanted eigenvalues among ascending ones."""
    import numpy as np

    n = values.size
    if which == "LM":
        return np.argsort(-np.abs(values), kind="stable")[:k]
    if which == "SM":
        return np.argsort(np.abs(values), kind="stable")[:k]
    if which == "LA":
        return np.arange(n - k, n)
    if which == "SA":
        return np.arange(k)
    low = k // 2
    return np.concatenate([np.arange(low), np.arange(n - (k - low), n)])


@on_data_device
def eigsh(A: Any, k: int = 6, M: Any = None, sigma: Any = None, which: str = "LM", v0: Any = None,
          ncv: int | None = None, maxiter: int | None = None, tol: float = 0, return_eigenvectors: bool = True,
          Minv: Any = None, OPinv: Any = None, mode: str = "normal", rng: Any = None) -> Any:  # fmt: skip
    """Returns k eigenvalues, ascending, and eigenvectors of a Hermitian matrix, by thick-restart Lanczos (Wu and Simon,
    2000) with full orthogonalization. The vectors stay on the device; the projected problem is solved on the host.

    Parameters
    ----------
    A : array_like, sparse matrix or LinearOperator
        A matrix or operator (n x n).
    k : int, default 6
        The number of eigenvalues, less than n.
    M : array_like or LinearOperator, optional
        Not supported.
    sigma : float or sequence of floats, optional
        Not supported.
    Minv, OPinv : array_like or LinearOperator, optional
        Not supported.
    mode : str, default "normal"
        Not supported.
    which : {"LM", "SM", "LA", "SA", "BE"}, default "LM"
        "LM" (largest magnitude), "SM", "LA" (largest), "SA" or "BE" (half from each end).
    v0 : array_like, optional
        The start vector; random by default.
    ncv : int, optional
        The number of vectors kept at a time; min(n, max(2 k + 1, 20)) by default.
    maxiter : int, optional
        The greatest number of restarts; 10 n by default.
    tol : float, default 0
        The relative accuracy; 0 means the dtype's precision.
    return_eigenvectors : bool, default True
        Whether to return the eigenvectors too.
    rng : int or Generator, optional
        A seed, or a generator of `cuprous.random`, for the start vector.

    Returns
    -------
    ndarray
        The eigenvalues (k), and the eigenvectors as columns (n x k).

    Raises
    ------
    ValueError
        For matrices that are not square, and invalid `k`, `which` and `ncv`.
    NotImplementedError
        For generalized and shift-inverted problems.
    ArpackNoConvergence
        With the pairs that converged.

    See Also
    --------
    svds

    Examples
    --------
    >>> a = cp.scipy.sparse.diags([[1.0, 2.0, 3.0, 4.0]], [0])
    >>> values, vectors = cp.scipy.sparse.linalg.eigsh(a, k=2, rng=1)
    >>> values.round(6)
    array([3., 4.])
    """
    for name, value in (("M", M), ("sigma", sigma), ("Minv", Minv), ("OPinv", OPinv)):
        if value is not None:
            raise NotImplementedError(f"[eigsh] {name}= is not supported; use linalg.eigh of A.toarray()")
    if mode != "normal":
        raise NotImplementedError(f"[eigsh] mode={mode!r} is not supported; use 'normal'")
    a = aslinearoperator(A)
    n = a.shape[0]
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"expected square matrix (shape={a.shape})")
    if k <= 0:
        raise ValueError(f"k={k} must be greater than 0.")
    if k >= n:
        raise ValueError(f"k={k} must be less than n={n}; use linalg.eigh of A.toarray()")
    if which == "BE" and _dtypes.kind(a.dtype.name) == "c":
        raise ValueError("which='BE' cannot be used with complex matrix A")
    if which not in ("LM", "SM", "LA", "SA", "BE"):
        raise ValueError("which must be one of LM, SM, LA, SA, BE")
    kept = min(n, max(2 * k + 1, 20)) if ncv is None else int(ncv)
    if not k < kept <= n:
        raise ValueError(f"ncv must be k<ncv<=n, ncv={kept}")
    dtype = _dtypes.inexact(a.dtype.name)
    values, vectors, found = _lanczos(a, n, k, which, _start(v0, n, dtype, rng), kept, maxiter or 10 * n, tol)
    if found < k:
        raise ArpackNoConvergence(
            f"ARPACK error -1: No convergence ({maxiter or 10 * n} iterations, {found}/{k} eigenvectors converged)",
            values[:found], vectors[:, :found],
        )  # fmt: skip
    return (values, vectors) if return_eigenvectors else values


def _start(v0: Any, n: int, dtype: str, rng: Any) -> ndarray:
    if v0 is not None:
        return astype(array(v0), dtype).reshape(-1)
    generator = rng if hasattr(rng, "standard_normal") else cp.random.default_rng(0 if rng is None else rng)
    return astype(generator.standard_normal(n), dtype)


def _lanczos(a: LinearOperator, n: int, k: int, which: str, start: ndarray, size: int, limit: int, tol: float
             ) -> tuple[ndarray, ndarray, int]:  # fmt: skip
    import numpy as np

    dtype = start.dtype_name
    is_complex = _dtypes.kind(dtype) == "c"
    eps = float(np.finfo(dtype).eps)
    basis = _core.full((size, n), 0, dtype)
    following = start / _norm(start)
    projected = np.zeros((size, size), dtype)
    locked = 0
    while True:
        columns = _core.full((size, size), 0, dtype)
        for j in range(locked, size):
            basis[j] = following
            w = a.matvec(following)
            total = _core.full((size,), 0, dtype)
            for _ in range(2):  # twice is enough (Kahan and Parlett)
                parts = (_core.map("conjugate", basis) if is_complex else basis) @ w
                w = w - parts @ basis
                total = total + parts
            columns[j] = total
            length = _norm(w)
            following = _core.map("where", length > 0, w / length, _core.full((), 0, dtype))
        rest = float(length)
        # Each column was computed before the next vector existed, so the upper triangle is the valid one.
        projected[:, locked:] = _core.to_numpy(columns).T[:, locked:]
        projected = np.triu(projected) + np.triu(projected, 1).conj().T
        ritz, combination = np.linalg.eigh(projected)
        chosen = np.sort(_order(ritz, which, k))
        errors = rest * np.abs(combination[-1, chosen])
        # Errors below the rounding of the matrix itself cannot be resolved.
        good = errors <= np.maximum(tol * np.abs(ritz[chosen]), 4 * eps * np.abs(ritz).max())
        limit -= 1
        if good.all() or limit <= 0 or rest <= eps * max(np.abs(ritz).max(), 1e-300) or size == n:
            picked = chosen if limit > 0 or good.all() else chosen[good]
            vectors = (_core.from_numpy(np.ascontiguousarray(combination[:, picked].T)) @ basis).T
            return _core.from_numpy(ritz[picked].copy()), vectors, picked.size
        # Restart with more vectors than wanted: half of the rest as well (Wu and Simon).
        locked = min(k + (size - k) // 2, size - 1)
        again = np.sort(_order(ritz, which, locked))
        old = _core.from_numpy(np.ascontiguousarray(combination[:, again].T)) @ basis
        basis = _core.full((size, n), 0, dtype)
        _core.update(basis[:locked], old)
        projected = np.zeros((size, size), dtype)
        projected[:locked, :locked] = np.diag(ritz[again])


@on_data_device
def svds(A: Any, k: int = 6, ncv: int | None = None, tol: float = 0, which: str = "LM", v0: Any = None,
         maxiter: int | None = None, return_singular_vectors: Any = True, solver: str = "arpack", rng: Any = None,
         options: Any = None, *, random_state: Any = None) -> Any:  # fmt: skip
    """Returns k singular values, ascending, and singular vectors, by `eigsh` of AᴴA or AAᴴ, whichever is smaller. Small
    singular values have half of the digits.

    Parameters
    ----------
    A : array_like, sparse matrix or LinearOperator
        A matrix or operator (m x n).
    k : int, default 6
        The number of singular values, less than min(m, n).
    ncv : int, optional
        As for `eigsh`.
    tol : float, default 0
        As for `eigsh`.
    v0 : array_like, optional
        As for `eigsh`.
    maxiter : int, optional
        As for `eigsh`.
    rng : int or Generator, optional
        As for `eigsh`.
    which : {"LM", "SM"}, default "LM"
        "LM" or "SM".
    return_singular_vectors : bool, default True
        True, False, "u" or "vh".
    solver : str, default "arpack"
        Only the solver "arpack" without options is supported.
    options : dict, optional
        Only the solver "arpack" without options is supported.
    random_state : int or Generator, optional
        An older name of `rng`.

    Returns
    -------
    ndarray
        U (m x k), the singular values (k) and Vᴴ (k x n), or only the values.

    Raises
    ------
    NotImplementedError
        For other solvers, and for options.
    ValueError
        For an unknown `which` or `return_singular_vectors`.

    See Also
    --------
    scipy.sparse.linalg.lobpcg, scipy.sparse.linalg.eigsh

    Examples
    --------
    >>> a = cp.scipy.sparse.diags([[1.0, 2.0, 3.0, 4.0]], [0])
    >>> u, s, vh = cp.scipy.sparse.linalg.svds(a, k=2, rng=1)
    >>> s.round(6)
    array([3., 4.])
    """
    if solver != "arpack":
        raise NotImplementedError(f"[svds] solver={solver!r} is not supported; use 'arpack'")
    if options is not None:
        raise NotImplementedError("[svds] options= is not supported")
    if which not in ("LM", "SM"):
        raise ValueError("`which` must be in {'LM', 'SM'}.")
    if return_singular_vectors not in (True, False, "u", "vh"):
        raise ValueError("`return_singular_vectors` must be in {True, False, 'u', 'vh'}.")
    a = aslinearoperator(A)
    m, n = a.shape
    if not 0 < k < min(m, n):
        raise ValueError("`k` must be an integer satisfying `0 < k < min(A.shape)`.")
    wide = m < n
    product = (lambda x: a.matvec(a.rmatvec(x))) if wide else (lambda x: a.rmatvec(a.matvec(x)))
    dtype = _dtypes.inexact(a.dtype.name)
    small = LinearOperator((min(m, n),) * 2, product, product, None, dtype)
    squares, vectors = eigsh(small, k, which="LA" if which == "LM" else "SA", v0=v0, ncv=ncv, maxiter=maxiter, tol=tol,
                             rng=rng if random_state is None else random_state)  # fmt: skip
    values = _core.map("sqrt", _core.map("maximum", squares, 0))
    if return_singular_vectors is False:
        return values
    conj = (lambda x: _core.map("conjugate", x)) if _dtypes.kind(dtype) == "c" else (lambda x: x)
    other = (a.rmatmat(vectors) if wide else a.matmat(vectors)) / astype(values, dtype)
    u, v = (vectors, other) if wide else (other, vectors)
    left = None if return_singular_vectors == "vh" else u
    right = None if return_singular_vectors == "u" else conj(v).T
    return left, values, right
