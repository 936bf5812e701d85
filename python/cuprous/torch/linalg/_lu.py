"""The LU decomposition with partial pivoting, and its backward pass."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _diagonals, _indexing, _joining, _reductions, _shape
from cuprous.torch._args import write_out
from cuprous.torch._shape import adjoint
from cuprous.torch.autograd import Function
from cuprous.torch.linalg._common import LinAlgError, matrices
from cuprous.torch.linalg._solving import solve_triangular

_map = _core.t_map

lu_result = namedtuple("lu_result", ("P", "L", "U"))
lu_factor_result = namedtuple("lu_factor_result", ("LU", "pivots"))
lu_factor_ex_result = namedtuple("lu_factor_ex_result", ("LU", "pivots", "info"))


def _index(n: int, like: Tensor) -> Tensor:
    return _core.t_iota([n], [1], 0, like.device_name)


def _lower(lu: Tensor) -> Tensor:
    """Returns L, which has as many columns as the smaller extent."""
    k = min(lu.dims[-2:])
    rows, columns = _index(lu.dims[-2], lu).unsqueeze(1), _index(k, lu)
    below = _diagonals.tril(_shape.narrow(lu, -1, 0, k), -1)
    return _map("where", _map("equal", rows, columns), 1, below)


def _upper(lu: Tensor) -> Tensor:
    """Returns U, which has as many rows as the smaller extent."""
    return _diagonals.triu(_shape.narrow(lu, -2, 0, min(lu.dims[-2:])))


def _eliminate(a: Tensor, pivot: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Returns both factors in one matrix, for each step the row that it swapped with its own, and the first step with a
    zero pivot, counted from 1."""
    m, n = a.dims[-2:]
    rows, columns = _index(m, a), _index(n, a)
    info = _core.t_full(list(a.dims[:-2]), 0, "int32", a.device_name)
    pivots = []
    for j in range(min(m, n)):
        at = _core.t_full([*a.dims[:-2], 1], j, "int64", a.device_name)
        if pivot:
            column = _map("absolute", _shape.select(_shape.narrow(a, -2, j, m - j), -1, j))
            at = _reductions.argmax(column, -1, True) + j
            order = _map("where", _map("equal", rows, j), at, _map("where", _map("equal", rows, at), j, rows))
            a = _indexing.gather(a, -2, order.unsqueeze(-1).expand(a.dims))
        pivots.append(at)
        row, column = _shape.narrow(a, -2, j, 1), _shape.narrow(a, -1, j, 1)
        top = _shape.narrow(row, -1, j, 1)
        zero = _map("equal", top, 0)
        below, right = _map("greater", rows.unsqueeze(1), j), _map("greater", columns, j)
        factors = _map("where", below, _map("divide", column, _map("where", zero, 1, top)), 0)
        a = _map("subtract", a, _map("multiply", factors, _map("where", right, row, 0)))
        a = _map("where", _map("logical_and", below, _map("equal", columns, j)), factors, a)
        first = _map("logical_and", zero.reshape(info.dims), _map("equal", info, 0))
        info = _core.t_cast(_map("where", first, j + 1, info), "int32")
    swaps = _joining.cat(pivots, -1) + 1 if pivots else _core.t_full([*a.dims[:-2], 0], 0, "int64", a.device_name)
    return a, _core.t_cast(swaps, "int32"), info


def _order(pivots: Tensor, m: int) -> Tensor:
    """Returns the permutation that swaps rows one after the other: row k of the product is row `order[k]`."""
    rows = _index(m, pivots)
    order = rows.expand([*pivots.dims[:-1], m])
    for j in range(pivots.dims[-1]):
        at = _core.t_cast(_shape.narrow(pivots, -1, j, 1), "int64") - 1
        swap = _map("where", _map("equal", rows, j), at, _map("where", _map("equal", rows, at), j, rows))
        order = _indexing.gather(order, -1, swap)
    return order


def _permutation(pivots: Tensor, m: int, dtype: str) -> Tensor:
    """Returns P with A = P L U."""
    order = _order(pivots, m)
    rows = _index(m, pivots).unsqueeze(1)
    return _core.t_cast(_map("equal", rows, order.unsqueeze(-2)), dtype)


class _Factor(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, pivot: bool) -> tuple[Tensor, Tensor, Tensor]:
        lu, pivots, info = _eliminate(a, pivot)
        ctx.save_for_backward(lu, pivots)
        ctx.mark_non_differentiable(pivots, info)
        return lu, pivots, info

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        lu, pivots = ctx.saved_tensors
        m, n = lu.dims[-2:]
        k, g = min(m, n), gs[0]
        lower, upper = _lower(lu), _upper(lu)
        gl, gu = _diagonals.tril(_shape.narrow(g, -1, 0, k), -1), _diagonals.triu(_shape.narrow(g, -2, 0, k))
        # L and U of the leading square; what lies below it and to its right is solved for by them.
        square_l, square_u = _shape.narrow(lower, -2, 0, k), _shape.narrow(upper, -1, 0, k)
        inner_l = adjoint(square_l) @ _shape.narrow(gl, -2, 0, k)
        inner_u = _shape.narrow(gu, -1, 0, k) @ adjoint(square_u)
        if n > k:
            right = _shape.narrow(gu, -1, k, n - k)
            inner_l = inner_l - right @ adjoint(_shape.narrow(upper, -1, k, n - k))
        if m > k:
            below = _shape.narrow(gl, -2, k, m - k)
            inner_u = inner_u - adjoint(_shape.narrow(lower, -2, k, m - k)) @ below
        inner = _diagonals.tril(inner_l, -1) + _diagonals.triu(inner_u)
        inner = solve_triangular(adjoint(square_u), inner, upper=False, left=False)
        result = solve_triangular(adjoint(square_l), inner, upper=True, unitriangular=True)
        if n > k:
            more = solve_triangular(adjoint(square_l), right, upper=True, unitriangular=True)
            result = _joining.cat([result, more], -1)
        if m > k:
            more = solve_triangular(adjoint(square_u), below, upper=False, left=False)
            result = _joining.cat([result, more], -2)
        return _permutation(pivots, m, lu.dtype_name) @ result, None


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> lu_factor_ex_result:
    """Returns the LU decomposition of matrices in compact form, and whether a pivot is zero.

    Args:
        A: a matrix or a batch of them, of a floating or complex dtype.
        pivot: whether to swap rows, so that the largest element of a column is its pivot.
        check_errors: whether to raise an error for a zero pivot.
        out: three tensors to write to.

    Returns:
        The named tuple `(LU, pivots, info)`: U with L below its diagonal, the row that each step swapped with its own
        (int32, from 1), and the first step with a zero pivot (int32, from 1; 0 if there is none).

    Raises:
        RuntimeError: for tensors that are not matrices of floats.
        LinAlgError: for a zero pivot, with `check_errors`.

    Examples:
        >>> torch.linalg.lu_factor_ex(torch.tensor([[1.0, 2.0], [2.0, 4.0]])).info
        tensor(2, dtype=torch.int32)
    """
    matrices("torch.linalg.lu_factor_ex", A)
    lu, pivots, info = _Factor.apply(A, pivot)
    if check_errors:
        _raise_if_singular("torch.linalg.lu_factor_ex", info)
    return lu_factor_ex_result(*_written(out, lu, pivots, info))


def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> lu_factor_result:
    """Returns the LU decomposition of matrices in compact form, which `lu_solve` takes.

    Args:
        A: a matrix or a batch of them, of a floating or complex dtype.
        pivot: whether to swap rows, so that the largest element of a column is its pivot.
        out: two tensors to write to.

    Returns:
        The named tuple `(LU, pivots)`: U with L below its diagonal, and the row that each step swapped with its own
        (int32, from 1).

    Raises:
        RuntimeError: for tensors that are not matrices of floats.
        LinAlgError: for a zero pivot.

    Examples:
        >>> torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [4.0, 4.0]])).LU
        tensor([[4.0000, 4.0000],
                [0.2500, 1.0000]])
    """
    matrices("torch.linalg.lu_factor", A)
    lu, pivots, info = _Factor.apply(A, pivot)
    _raise_if_singular("torch.linalg.lu_factor", info)
    return lu_factor_result(*_written(out, lu, pivots))


def lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> lu_result:
    """Returns the LU decomposition of matrices: `A = P @ L @ U`.

    Args:
        A: a matrix or a batch of them, (..., m, n), of a floating or complex dtype.
        pivot: whether to swap rows; without, P is empty.
        out: three tensors to write to.

    Returns:
        The named tuple `(P, L, U)`: a permutation (..., m, m), a lower triangular matrix (..., m, k) with ones on the
        diagonal and an upper triangular one (..., k, n), where k is the smaller extent.

    Raises:
        RuntimeError: for tensors that are not matrices of floats.

    Examples:
        >>> torch.linalg.lu(torch.tensor([[1.0, 2.0], [4.0, 4.0]])).U
        tensor([[4., 4.],
                [0., 1.]])
    """
    matrices("torch.linalg.lu", A)
    both, pivots, _ = _Factor.apply(A, pivot)
    p = _permutation(pivots, A.dims[-2], A.dtype_name) if pivot else _core.t_full([0], 0, A.dtype_name, A.device_name)
    return lu_result(*_written(out, p, _lower(both), _upper(both)))


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False,
             out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns X with A X = B for a matrix that `lu_factor` has decomposed.

    Args:
        LU: the compact decomposition of square matrices.
        pivots: the swaps of its rows.
        B: a tensor of shape (..., n, k).
        left: whether A is on the left; with False X A = B.
        adjoint: whether to solve for the adjoint of A.
        out: a tensor of the result's shape to write to.

    Returns:
        A tensor of the shape of `B`.

    Raises:
        RuntimeError: for shapes or dtypes that do not match.

    Examples:
        >>> factors = torch.linalg.lu_factor(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
        >>> torch.linalg.lu_solve(*factors, torch.tensor([[2.0], [2.0]]))
        tensor([[1.0000],
                [0.5000]])
    """
    matrices("torch.linalg.lu_solve", LU, B)
    matrices("torch.linalg.lu_solve", LU, square=True)
    if not left:  # X A = B is A' X' = B'
        turned = lu_solve(LU, pivots, _shape.adjoint(B), adjoint=not adjoint)
        return write_out(out, _shape.adjoint(turned))
    permutation = _permutation(pivots, LU.dims[-1], LU.dtype_name)
    if adjoint:
        x = solve_triangular(_shape.adjoint(_upper(LU)), B, upper=False)
        x = permutation @ solve_triangular(_shape.adjoint(_lower(LU)), x, upper=True, unitriangular=True)
    else:
        x = solve_triangular(_lower(LU), permutation.mT @ B, upper=False, unitriangular=True)
        x = solve_triangular(_upper(LU), x, upper=True)
    return write_out(out, x)


def _raise_if_singular(name: str, info: Tensor) -> None:
    step = int(_reductions.amax(info)) if info.numel() else 0
    if step:
        raise LinAlgError(f"{name}: U[{step},{step}] is zero and using it on lu_solve would result in a division by "
                          "zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) "
                          "or linalg.lu_factor_ex(A, pivot)")  # fmt: skip


def _written(out: Any, *results: Tensor) -> tuple[Tensor, ...]:
    if out is None:
        return results
    return tuple(write_out(target, result) for target, result in zip(out, results, strict=True))
