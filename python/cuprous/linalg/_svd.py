"""Singular values and vectors of matrices in the last two axes."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, overload

from cuprous import _core
from cuprous._common.arguments import ArrayLike, ndarray
from cuprous._functions.joining import stack
from cuprous._functions.reductions import all as all_
from cuprous._functions.selection import take_along_axis
from cuprous.linalg import _polar
from cuprous.linalg._decompositions import adjoint, eigh, eigvalsh, inexact, linalg_error, real_part, results, stacked

_NO_SVD = "SVD did not converge"
#: On a GPU, `_polar` is faster than the library for matrices whose shorter side exceeds this.
_LIBRARY_LIMIT = 512


class SVDResult(NamedTuple):
    """The result of `svd`."""

    U: ndarray
    S: ndarray
    Vh: ndarray


@overload
def svd(
    a: ArrayLike, full_matrices: bool = ..., compute_uv: Literal[True] = ..., hermitian: bool = ...
) -> SVDResult: ...
@overload
def svd(a: ArrayLike, full_matrices: bool = ..., *, compute_uv: Literal[False], hermitian: bool = ...) -> ndarray: ...
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Returns U, S and Vᴴ with A = U diag(S) Vᴴ, orthonormal columns in U and V, and S ≥ 0 descending.

    Parameters
    ----------
    a : array_like
        Matrices of M x N; K = min(M, N).
    full_matrices : bool, default True
        Returns U of M x M and Vᴴ of N x N instead of M x K and K x N.
    compute_uv : bool, default True
        If false, returns S alone.
    hermitian : bool, default False
        Computes the decomposition with `eigh`.

    Returns
    -------
    tuple
        A named tuple of `U`, `S` of shape (..., K), and `Vh`; or `S` alone.

    Raises
    ------
    LinAlgError
        For fewer than two axes, infinity or NaN.

    See Also
    --------
    cuprous.linalg.svdvals

    Examples
    --------
    >>> u, s, vh = cp.linalg.svd([[3.0, 0.0], [0.0, 4.0]])
    >>> s.round(6)
    array([4., 3.])
    """
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    (a,) = inexact(a)
    stacked(a, square=False)
    m, n = a.shape[-2:]
    k = min(m, n)
    rows, columns = (m, n) if full_matrices else (k, k)
    shapes: list[tuple[int, ...]] = [(k,), (m, rows), (columns, n)] if compute_uv else [(k,)]
    if k > _LIBRARY_LIMIT and a.size and a.device_name != "cpu":
        parts = _large_svd(a, full_matrices, compute_uv)
        return SVDResult(*parts) if compute_uv else parts[0]
    name = "svdvals" if not compute_uv else "svd_full" if full_matrices else "svd"
    s, *vectors = results(name, a, shapes, _NO_SVD)
    s = real_part(s)
    return SVDResult(vectors[0], s, vectors[1]) if compute_uv else s


def _large_svd(a: ndarray, full: bool, vectors: bool) -> tuple[ndarray, ...]:
    if not bool(all_(_core.map("isfinite", a))):
        raise linalg_error(_NO_SVD)
    decompose: Any = (lambda x: _polar.svd(x, full)) if vectors else (lambda x: (_polar.values(x),))
    if a.ndim == 2:
        return tuple(decompose(a))
    batch = a.shape[:-2]
    matrices = a.reshape((math.prod(batch), *a.shape[-2:]))
    parts = zip(*(decompose(matrices[i]) for i in range(matrices.shape[0])), strict=True)
    return tuple(stack(part).reshape(batch + part[0].shape) for part in parts)


def _hermitian_svd(a: ArrayLike, vectors: bool) -> Any:
    if not vectors:
        return _core.sort(_core.map("absolute", eigvalsh(a)))[..., ::-1]
    w, u = eigh(a)
    order = _core.argsort(_core.map("absolute", w))[..., ::-1]
    w = take_along_axis(w, order, axis=-1)
    u = take_along_axis(u, order[..., None, :], axis=-1)
    signs = _core.map("copysign", 1.0, w)
    return SVDResult(u, _core.map("absolute", w), adjoint(u * signs[..., None, :]))


def svdvals(x: ArrayLike, /) -> ndarray:
    """Returns the singular values in descending order.

    Parameters
    ----------
    x : array_like
        Matrices of shape (..., M, N).

    Returns
    -------
    ndarray
        A real array of shape (..., min(M, N)).

    Raises
    ------
    LinAlgError
        For fewer than two axes, infinity or NaN.

    See Also
    --------
    linalg.svd, linalg.cond, linalg.matrix_rank

    Examples
    --------
    >>> cp.linalg.svdvals(cp.asarray([[3.0, 0.0], [0.0, 4.0]])).round(6)
    array([4., 3.])
    """
    return svd(x, compute_uv=False)


__all__ = ["SVDResult", "svd", "svdvals"]
