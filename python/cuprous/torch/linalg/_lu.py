"""LU decomposition, and solutions of equations by it."""

from __future__ import annotations

import importlib
from collections import namedtuple
from typing import Any

from cuprous import _core
from cuprous._common.operands import on_array_device
from cuprous._core import Tensor
from cuprous.torch import _diagonals, _joining, _shape
from cuprous.torch._args import astype, by_name, zeros_like
from cuprous.torch._shape import adjoint
from cuprous.torch.autograd import Function
from cuprous.torch.linalg._common import LinAlgError, eye, matrices
from cuprous.torch.linalg._decompositions import qr, svd
from cuprous.torch.linalg._solving import solve_triangular

_wrap = _core.t_wrap

lu_result = namedtuple("lu_result", ("P", "L", "U"))
lu_factor_result = namedtuple("lu_factor_result", ("LU", "pivots"))
lu_factor_ex_result = namedtuple("lu_factor_ex_result", ("LU", "pivots", "info"))
triangular_solve_result = namedtuple("triangular_solve_result", ("solution", "cloned_coefficient"))
geqrf_result = namedtuple("geqrf_result", ("a", "tau"))


@on_array_device
def _factored(a: Any, pivot: bool) -> Any:
    """Returns the decomposition of arrays, whose module is imported when it is used."""
    return importlib.import_module("cuprous.linalg._lu").lu_factor(a, pivot)


@on_array_device
def _order(pivots: Any, m: int) -> Any:
    return importlib.import_module("cuprous.linalg._lu").order_of(pivots, m)


def _parts(lu: Tensor) -> tuple[Tensor, Tensor]:
    """Returns L, whose diagonal is 1, and U."""
    m, n = lu.dims[-2:]
    k = min(m, n)
    lower = _diagonals.tril(lu[..., :k], -1)
    one = eye(k, lu)
    if m > k:
        one = _joining.cat([one, lu.new_zeros((m - k, k))], 0)
    return lower + one, _diagonals.triu(lu[..., :k, :])


class _Lu(Function):
    """The gradient is that of the square part; what is right of it or below it depends on it by a triangular solve."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, pivot: bool) -> Any:
        lu, pivots, order, info = (_wrap(x) for x in _factored(a.as_array(), pivot))
        ctx.save_for_backward(lu, order)
        ctx.mark_non_differentiable(pivots, order, info)
        return lu, pivots, order, info

    @staticmethod
    def backward(ctx: Any, g: Any, *_: Any) -> Any:
        lu, order = ctx.saved_tensors
        m, n = lu.dims[-2:]
        k = min(m, n)
        lower, upper = _parts(lu)
        square_l, square_u = lower[..., :k, :], upper[..., :k]
        of_l, of_u = _diagonals.tril(g[..., :k, :k], -1), _diagonals.triu(g[..., :k, :k])
        if n > k:  # U2 = L⁻¹ A2
            right = solve_triangular(adjoint(square_l), g[..., k:], upper=True, unitriangular=True)
            of_l = of_l - _diagonals.tril(right @ adjoint(upper[..., k:]), -1)
        if m > k:  # L2 = A2 U⁻¹
            below = solve_triangular(adjoint(square_u), g[..., k:, :], upper=False, left=False)
            of_u = of_u - _diagonals.triu(adjoint(lower[..., k:, :]) @ below)
        inner = _diagonals.tril(adjoint(square_l) @ of_l, -1) + _diagonals.triu(of_u @ adjoint(square_u))
        found = solve_triangular(adjoint(square_l), inner, upper=True, unitriangular=True)
        found = solve_triangular(adjoint(square_u), found, upper=False, left=False)
        if n > k:
            found = _joining.cat([found, right], -1)
        if m > k:
            found = _joining.cat([found, below], -2)
        return zeros_like(found).scatter(-2, order.unsqueeze(-1).expand(found.dims), found), None


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """Returns `lu_factor` without an error for singular matrices, and where they are singular.

    Parameters
    ----------
    A : Tensor
        A matrix or a batch of matrices, of a floating or complex dtype.
    pivot : bool, default True
        Whether rows are swapped so that pivots are large.
    check_errors : bool, default False
        Whether to raise an error for singular matrices.
    out : tuple of Tensors, optional
        Three tensors to write to.

    Returns
    -------
    tuple
        The named tuple `(LU, pivots, info)`; `info` is int32, the number of the first pivot that is 0, or 0.

    Raises
    ------
    LinAlgError
        With `check_errors`, for a singular matrix.

    See Also
    --------
    torch.linalg.lu_solve, torch.linalg.lu, torch.linalg.lu_factor

    Examples
    --------
    >>> torch.linalg.lu_factor_ex(torch.tensor([[1.0, 2.0], [2.0, 4.0]])).info
    tensor(2, dtype=torch.int32)
    """
    matrices("linalg.lu_factor", A)
    lu, pivots, _, info = _Lu.apply(A, pivot)
    if check_errors and bool((info != 0).any()):
        first = int(info.max())
        raise LinAlgError(
            f"torch.linalg.lu_factor: U[{first},{first}] is zero and using it on lu_solve would result in a division "
            "by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )
    return _written(out, lu_factor_ex_result(lu, pivots + 1, info))


def _written(out: Any, result: Any) -> Any:
    if out is None:
        return result
    for target, value in zip(out, result, strict=True):
        target.copy_(value)
    return type(result)(*out)


def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """Returns the LU decomposition with L and U in one matrix, for `lu_solve`.

    Parameters
    ----------
    A : Tensor
        A matrix or a batch of matrices, of a floating or complex dtype.
    pivot : bool, default True
        Whether rows are swapped so that pivots are large.
    out : tuple of Tensors, optional
        Two tensors to write to.

    Returns
    -------
    tuple
        The named tuple `(LU, pivots)`: L below the diagonal and U, and for each row the one that it was swapped with,
        counted from 1 (int32).

    Raises
    ------
    LinAlgError
        For a singular matrix.

    See Also
    --------
    torch.lu_unpack, torch.linalg.lu, torch.linalg.lu_factor_ex, torch.linalg.lu_solve

    Examples
    --------
    >>> torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [2.0, 2.0]])).LU
    tensor([[2.0000, 2.0000],
            [0.5000, 1.0000]])
    """
    return _written(out, lu_factor_result(*lu_factor_ex(A, pivot=pivot, check_errors=True)[:2]))


def lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """Returns the LU decomposition A = P L U with partial pivoting.

    Parameters
    ----------
    A : Tensor
        A matrix or a batch of matrices, of a floating or complex dtype.
    pivot : bool, default True
        Whether rows are swapped so that pivots are large; P is empty otherwise.
    out : tuple of Tensors, optional
        Three tensors to write to.

    Returns
    -------
    tuple
        The named tuple `(P, L, U)`: a permutation, a lower triangular matrix whose diagonal is 1, and an upper
        triangular matrix.

    See Also
    --------
    torch.linalg.lu_factor, torch.lu_unpack, torch.linalg.lu_factor_ex, torch.linalg.lu_solve

    Examples
    --------
    >>> P, L, U = torch.linalg.lu(torch.tensor([[1.0, 2.0], [2.0, 2.0]]))
    >>> P @ L @ U
    tensor([[1., 2.],
            [2., 2.]])
    """
    matrices("linalg.lu", A)
    compact, _, order, _ = _Lu.apply(A, pivot)
    permutation = _permutation(order, A.dtype_name) if pivot else A.new_zeros((0,))
    return _written(out, lu_result(permutation, *_parts(compact)))


def _permutation(order: Tensor, dtype_name: str) -> Tensor:
    """Returns the matrix P with P[order[i], i] = 1."""
    row = _core.t_iota([order.dims[-1], 1], [1, 0], 0, order.device_name)
    return astype(_core.t_map("equal", row, order.unsqueeze(-2)), dtype_name)


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """Returns P, L and U of what `lu_factor` returns.

    Parameters
    ----------
    LU_data : Tensor
        L below the diagonal and U.
    LU_pivots : Tensor
        For each row the one that it was swapped with, counted from 1 (int32).
    unpack_data : bool, default True
        Whether to return L and U; they are empty otherwise.
    unpack_pivots : bool, default True
        Whether to return P; it is empty otherwise.

    Returns
    -------
    tuple
        The named tuple `(P, L, U)`.

    Raises
    ------
    RuntimeError
        For pivots of another dtype.

    See Also
    --------
    torch.linalg.lu, torch.linalg.lu_factor

    Examples
    --------
    >>> P, L, U = torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [2.0, 2.0]])))
    >>> P @ L @ U
    tensor([[1., 2.],
            [2., 2.]])
    """
    if unpack_pivots and LU_pivots.dtype_name != "int32":
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    empty = LU_data.new_zeros((0,))
    lower, upper = _parts(LU_data) if unpack_data else (empty, empty)
    permutation = empty
    if unpack_pivots:
        order = _wrap(_order((LU_pivots - 1).as_array(), LU_data.dims[-2]))
        permutation = _permutation(order, LU_data.dtype_name)
    return lu_result(permutation, lower, upper)


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False,
             out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns X with A X = B for the square matrix A whose decomposition `lu_factor` returned.

    Parameters
    ----------
    LU : Tensor
        L below the diagonal and U.
    pivots : Tensor
        For each row the one that it was swapped with, counted from 1 (int32).
    B : Tensor
        A tensor of shape (..., n, k).
    left : bool, default True
        Whether A is on the left; with False X A = B.
    adjoint : bool, default False
        Whether Aᴴ takes the place of A.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `B`, with the batch that it and `LU` broadcast to.

    Raises
    ------
    RuntimeError
        For shapes that do not fit.

    See Also
    --------
    torch.linalg.solve, torch.linalg.solve_ex, torch.linalg.lstsq, torch.linalg.solve_triangular, torch.linalg.lu

    Examples
    --------
    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[0.0, 2.0], [1.0, 0.0]]))
    >>> torch.linalg.lu_solve(LU, pivots, torch.tensor([[4.0], [3.0]]))
    tensor([[3.],
            [2.]])
    """
    if B.ndim < 2:
        raise RuntimeError("linalg.lu_solve: The input tensor B must have at least 2 dimensions.")
    matrices("linalg.lu_solve", LU, B, square=False)
    matrices("linalg.lu_solve", LU, square=True)
    if LU.dims[-1] != B.dims[-2 if left else -1]:
        sides = f"({LU.dims[-2]}x{LU.dims[-1]} and {B.dims[-2]}x{B.dims[-1]})"
        raise RuntimeError(f"linalg.lu_solve: Incompatible shapes of A and B for the equation "
                           f"{'AX = B' if left else 'XA = B'} {sides}")  # fmt: skip
    permutation, lower, upper = lu_unpack(LU, pivots)
    if not left:  # X A = B is Aᴴ Xᴴ = Bᴴ
        solution = _shape.adjoint(lu_solve(LU, pivots, _shape.adjoint(B), adjoint=not adjoint))
    elif adjoint:
        inner = solve_triangular(_shape.adjoint(upper), B, upper=False)
        solution = permutation @ solve_triangular(_shape.adjoint(lower), inner, upper=True, unitriangular=True)
    else:
        inner = solve_triangular(lower, permutation.mT @ B, upper=False, unitriangular=True)
        solution = solve_triangular(upper, inner, upper=True)
    return solution if out is None else out.copy_(solution)


def old_lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """Returns `torch.linalg.lu_factor`, or with `get_infos` `torch.linalg.lu_factor_ex`.

    Parameters
    ----------
    A : Tensor
        A matrix or a batch of matrices, of a floating or complex dtype.
    pivot : bool, default True
        Whether rows are swapped so that pivots are large.
    get_infos : bool, default False
        Whether to return the number of the first pivot that is 0 too.
    out : tuple of Tensors, optional
        Tensors to write to.

    Returns
    -------
    tuple
        The tuple `(LU, pivots)` or `(LU, pivots, info)`.

    See Also
    --------
    torch.lu_solve, torch.lu_unpack, torch.linalg.lu_factor, torch.linalg.lu

    Examples
    --------
    >>> torch.lu(torch.eye(2))[1]
    tensor([1, 2], dtype=torch.int32)
    """
    result = lu_factor_ex(A, pivot=pivot)
    return _written(out, result if get_infos else lu_factor_result(*result[:2]))


def old_lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns X with A X = b for the matrix A whose decomposition `torch.lu` returned.

    Parameters
    ----------
    b : Tensor
        A tensor of shape (..., n, k).
    LU_data : Tensor
        L below the diagonal and U.
    LU_pivots : Tensor
        For each row the one that it was swapped with, counted from 1 (int32).
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `b`.

    See Also
    --------
    torch.linalg.lu_factor, torch.lu_unpack, torch.linalg.solve

    Examples
    --------
    >>> torch.lu_solve(torch.tensor([[4.0], [3.0]]), *torch.lu(torch.tensor([[0.0, 2.0], [1.0, 0.0]])))
    tensor([[3.],
            [2.]])
    """
    return lu_solve(LU_data, LU_pivots, b, out=out)


old_lu.__name__ = old_lu.__qualname__ = "lu"
old_lu_solve.__name__ = old_lu_solve.__qualname__ = "lu_solve"


def triangular_solve(b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *,
                     out: Any = None) -> Any:  # fmt: skip
    """Returns X with A X = b for triangular A, and A; `torch.linalg.solve_triangular` is the present name.

    Parameters
    ----------
    b : Tensor
        A tensor of shape (..., n, k).
    A : Tensor
        A square matrix or a batch of them.
    upper : bool, default True
        Whether A is upper triangular.
    transpose : bool, default False
        Whether the transpose of A takes its place.
    unitriangular : bool, default False
        Whether the diagonal of A counts as 1.
    out : tuple of Tensors, optional
        Two tensors to write to.

    Returns
    -------
    tuple
        The named tuple `(solution, cloned_coefficient)`.

    See Also
    --------
    torch.linalg.solve_triangular, torch.linalg.solve, torch.cholesky_solve

    Examples
    --------
    >>> torch.triangular_solve(torch.tensor([[4.0]]), torch.tensor([[2.0]])).solution
    tensor([[2.]])
    """
    a = _diagonals.triu(A) if upper else _diagonals.tril(A)
    factor, is_upper = (a.mT, not upper) if transpose else (a, upper)
    solution = solve_triangular(factor, b, upper=is_upper, unitriangular=unitriangular)
    return _written(out, triangular_solve_result(solution, A.clone()))


def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the first columns of a product of Householder reflections.

    Parameters
    ----------
    A : Tensor
        A tensor of shape (..., m, n) with m at least n; column i below row i is the i-th vector.
    tau : Tensor
        The factors of the reflections, of shape (..., k) with k at most n.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `A`, whose columns are orthonormal.

    Raises
    ------
    RuntimeError
        For shapes that do not fit.

    See Also
    --------
    torch.linalg.qr

    Examples
    --------
    >>> torch.linalg.householder_product(torch.tensor([[1.0], [0.0]]), torch.tensor([2.0]))
    tensor([[-1.],
            [ 0.]])
    """
    m, n = A.dims[-2:]
    if m < n or tau.dims[-1] > n:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-2] must be greater than or equal to "
                           "input.shape[-1], which must be greater than or equal to tau.shape[-1]")  # fmt: skip
    found = _reflected(A, tau, eye(m, A)[:, :n].expand(A.dims), True, False)
    return found if out is None else out.copy_(found)


def _reflected(vectors: Tensor, tau: Tensor, other: Tensor, left: bool, transpose: bool) -> Tensor:
    """Returns Q @ other or other @ Q, with the adjoint of the product Q of reflections for `transpose`."""
    count = tau.dims[-1]
    below = _diagonals.tril(vectors[..., :count], -1)
    below = below + _eye_like(vectors.dims[-2], count, vectors)
    forward = left == transpose  # the first reflection is applied first
    for i in range(count) if forward else reversed(range(count)):
        v, factor = below[..., i : i + 1], tau[..., i : i + 1, None]
        factor = factor.conj() if transpose and factor.is_complex() else factor
        other = other - factor * (v @ (adjoint(v) @ other) if left else (other @ v) @ adjoint(v))
    return other


def _eye_like(m: int, n: int, like: Tensor) -> Tensor:
    return eye(max(m, n), like)[:m, :n]


def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """Returns `torch.linalg.householder_product`, under an older name.

    Parameters
    ----------
    input : Tensor
        A tensor whose columns have the vectors of the reflections.
    input2 : Tensor
        The factors of the reflections.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.geqrf, torch.ormqr, torch.linalg.qr

    Examples
    --------
    >>> torch.orgqr(torch.tensor([[1.0], [0.0]]), torch.tensor([2.0]))
    tensor([[-1.],
            [ 0.]])
    """
    return householder_product(input, input2)


def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False, *,
          out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns the product of a matrix and a product of Householder reflections.

    Parameters
    ----------
    input : Tensor
        A tensor whose columns have the vectors of the reflections.
    tau : Tensor
        The factors of the reflections.
    other : Tensor
        The matrix.
    left : bool, default True
        Whether the reflections are on the left.
    transpose : bool, default False
        Whether their adjoint takes their place.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `other`.

    See Also
    --------
    torch.geqrf, torch.orgqr

    Examples
    --------
    >>> torch.ormqr(torch.tensor([[1.0], [0.0]]), torch.tensor([2.0]), torch.ones(2, 1))
    tensor([[-1.],
            [ 1.]])
    """
    found = _reflected(input, tau, other, left, transpose)
    return found if out is None else out.copy_(found)


def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """Returns the QR decomposition as R and the vectors and factors of Householder reflections.

    Parameters
    ----------
    input : Tensor
        A matrix or a batch of matrices, of a floating or complex dtype.
    out : tuple of Tensors, optional
        Two tensors to write to.

    Returns
    -------
    tuple
        The named tuple `(a, tau)`: R, with the vectors of reflections below its diagonal, and their factors.

    See Also
    --------
    torch.orgqr, torch.ormqr, torch.linalg.qr

    Examples
    --------
    >>> a, tau = torch.geqrf(torch.tensor([[3.0], [4.0]]))
    >>> a[0], tau
    (tensor([-5.]), tensor([1.6000]))
    """
    m, n = input.dims[-2:]
    a, factors = input.detach(), []
    for k in range(min(m, n)):
        column = a[..., k:, k : k + 1]
        alpha, tail = column[..., :1, :], column[..., 1:, :]
        norm = (column.abs() ** 2).sum(-2, True).sqrt()
        real = alpha.real if alpha.is_complex() else alpha
        beta = -norm * _core.t_map("where", real < 0, -1.0, 1.0)
        is_plain = (tail.abs() ** 2).sum(-2, True) == 0
        if alpha.is_complex():
            is_plain = is_plain & (alpha.imag == 0)
        factor = _core.t_map("where", is_plain, 0.0, (beta - alpha) / _core.t_map("where", norm == 0, 1.0, beta))
        beta = _core.t_map("where", is_plain, alpha, beta)
        scale = _core.t_map("where", is_plain, 1.0, alpha - beta)
        v = _joining.cat([alpha * 0 + 1, tail / scale], -2)
        right = a[..., k:, k + 1 :]
        conjugate = factor.conj() if factor.is_complex() else factor
        right = right - conjugate * (v @ (adjoint(v) @ right))
        block = _joining.cat([_joining.cat([astype(beta, a.dtype_name), v[..., 1:, :]], -2), right], -1)
        a = _joining.cat([a[..., :k], _joining.cat([a[..., :k, k:], block], -2)], -1)
        factors.append(astype(factor[..., 0], a.dtype_name))
    return _written(out, geqrf_result(a, _joining.cat(factors, -1) if factors else a.new_zeros((*a.dims[:-2], 0))))


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> Any:
    """Returns an approximate singular value decomposition of low rank (Halko et al., 2009).

    Parameters
    ----------
    A : Tensor
        A matrix or a batch of matrices.
    q : int or None, default 6
        The number of singular values.
    niter : int or None, default 2
        The number of subspace iterations.
    M : Tensor, optional
        The mean that is subtracted from A.

    Returns
    -------
    tuple
        The tuple `(U, S, V)`.

    See Also
    --------
    torch.pca_lowrank

    Examples
    --------
    >>> U, S, V = torch.svd_lowrank(torch.diag(torch.tensor([3.0, 2.0, 0.0])), q=2)
    >>> torch.allclose(S, torch.tensor([3.0, 2.0]))
    True
    """
    matrix = A if M is None else A - M
    random = matrix.new_empty((*matrix.dims[:-2], matrix.dims[-1], 6 if q is None else q)).normal_()
    basis = qr(matrix @ random).Q
    for _ in range(niter or 0):
        basis = qr(matrix @ qr(adjoint(matrix) @ basis).Q).Q
    u, s, vh = svd(adjoint(basis) @ matrix, full_matrices=False)
    return basis @ u, s, adjoint(vh)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """Returns approximate principal components of rows.

    Parameters
    ----------
    A : Tensor
        A matrix or a batch of matrices.
    q : int, optional
        The number of components, by default 6 or the least extent.
    center : bool, default True
        Whether the mean of each column is subtracted.
    niter : int, default 2
        The number of subspace iterations.

    Returns
    -------
    tuple
        The tuple `(U, S, V)` of `svd_lowrank`.

    Raises
    ------
    ValueError
        For a number of components that the matrix does not have.

    See Also
    --------
    torch.svd_lowrank

    Examples
    --------
    >>> S = torch.pca_lowrank(torch.tensor([[1.0, 0.0], [3.0, 0.0]]), q=1)[1]
    >>> torch.allclose(S, torch.tensor([2.0]).sqrt())
    True
    """
    m, n = A.dims[-2:]
    q = min(6, m, n) if q is None else q
    if not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    return svd_lowrank(A, q, niter, M=A.mean(-2, True) if center else None)


FUNCTIONS = by_name(old_lu, old_lu_solve, lu_unpack, triangular_solve, orgqr, ormqr, geqrf, svd_lowrank, pca_lowrank)
METHODS = by_name(old_lu, old_lu_solve, triangular_solve, orgqr, ormqr, geqrf)

__all__ = ["FUNCTIONS", "METHODS", "householder_product", "lu", "lu_factor", "lu_factor_ex", "lu_solve"]
