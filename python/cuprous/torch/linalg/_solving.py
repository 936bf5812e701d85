"""Inverses, systems of linear equations, determinants."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from cuprous import _core
from cuprous._core import Tensor
from cuprous.linalg import _decompositions
from cuprous.linalg._products import chained, power
from cuprous.torch import _broadcasting, _diagonals, _shape
from cuprous.torch._args import write_out
from cuprous.torch._shape import adjoint
from cuprous.torch.autograd import Function
from cuprous.torch.linalg._common import LinAlgError, arrays, checked, engine, eye, has_nan, matrices

_wrap, _map = _core.t_wrap, _core.t_map


class inv_ex_result(NamedTuple):
    """An inverse, and nonzero where the matrix is singular."""

    inverse: Tensor
    info: Tensor


class solve_ex_result(NamedTuple):
    """A solution, and nonzero where the matrix is singular."""

    result: Tensor
    info: Tensor


class _Solve(Function):
    """Solves A X = B for batches of one shape."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        x = _wrap(engine.solve(*arrays(a, b)))
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, x = ctx.saved_tensors
        gb = _Solve.apply(adjoint(a), g)
        return -(gb @ adjoint(x)) if ctx.needs_input_grad[0] else None, gb


class _Inverse(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        y = _wrap(engine.inv(a.as_array()))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        y = adjoint(ctx.saved_tensors[0])
        return -(y @ g @ y)


def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the inverse.

    Parameters
    ----------
    A : Tensor
        A square matrix or a batch of them, of a floating or complex dtype.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `A`.

    Raises
    ------
    LinAlgError
        For singular matrices.
    RuntimeError
        For matrices that are not square.

    See Also
    --------
    torch.linalg.inv_ex, torch.linalg.pinv, torch.linalg.solve

    Examples
    --------
    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    with checked("linalg.inv", A, square=True):
        result: Tensor = _Inverse.apply(A)
    return write_out(out, result)


def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """Returns the inverse without an error, and whether it exists.

    Parameters
    ----------
    A : Tensor
        A square matrix or a batch of them, of a floating or complex dtype.
    check_errors : bool, default False
        Whether to raise an error for singular matrices.

    Returns
    -------
    tuple
        The named tuple `(inverse, info)`: info is int32, 0 or for a singular matrix 1, with NaN in the inverse.

    Raises
    ------
    LinAlgError
        With `check_errors`, for singular matrices.

    See Also
    --------
    torch.linalg.pinv, torch.linalg.solve, torch.linalg.inv

    Examples
    --------
    >>> torch.linalg.inv_ex(torch.zeros(1, 1)).info
    tensor(1, dtype=torch.int32)
    """
    matrices("linalg.inv_ex", A, square=True)
    result = _wrap(_decompositions.results("solve", A.as_array(), [A.dims[-2:]], None, _identities(A).as_array())[0])
    info = _core.t_cast(has_nan(result), "int32")
    if check_errors and bool(info.any()):
        raise LinAlgError("linalg.inv_ex: The input matrix is singular.")
    return inv_ex_result(inv(A) if A.requires_grad and not bool(info.any()) else result, info)


def _identities(a: Tensor) -> Tensor:
    return _core.t_expand(eye(a.dims[-1], a), list(a.dims))


def _broadcast(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Returns two batches of matrices broadcast to one shape."""
    batch = list(_broadcasting.broadcast_shapes(a.dims[:-2], b.dims[:-2]))
    return tuple(_core.t_expand(x, [*batch, *x.dims[-2:]]) for x in (a, b))  # type: ignore[return-value]


def _is_vector(a: Tensor, b: Tensor) -> bool:
    return b.ndim == 1 or (b.ndim == a.ndim - 1 and b.dims == a.dims[:-1])


def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """Returns X with A X = B, by LU decomposition with partial pivoting.

    Parameters
    ----------
    A : Tensor
        A square matrix or a batch of them, of a floating or complex dtype.
    B : Tensor
        A tensor of shape (..., n) or (..., n, k), of the dtype of `A`.
    left : bool, default True
        Whether A is on the left; with False X A = B.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `B`.

    Raises
    ------
    LinAlgError
        For singular matrices.
    RuntimeError
        For shapes or dtypes that do not match.

    See Also
    --------
    torch.linalg.qr, torch.linalg.cholesky, torch.linalg.cholesky_ex, torch.linalg.inv, torch.linalg.inv_ex

    Examples
    --------
    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    vector = _is_vector(A, B)
    b = B.unsqueeze(-1) if vector else B
    matrices("linalg.solve", A, b, square=False)
    matrices("linalg.solve", A, square=True)
    if vector and not left:
        raise RuntimeError("linalg.solve: Vector broadcasting of the left hand side is not supported for left=False.")
    rows = b.dims[-2 if left else -1]
    if rows != A.dims[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({A.dims[-2]}x{A.dims[-1]} and {b.dims[-2]}x{b.dims[-1]})"
        )
    a, b = _broadcast(A if left else A.mT, b if left else b.mT)
    with checked("torch.linalg.solve"):
        x: Tensor = _Solve.apply(a, b) if b.numel() else b.clone()
    x = x if left else x.mT
    return write_out(out, x.squeeze(-1) if vector else x)


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """Returns `solve` without an error, and whether there is a solution.

    Parameters
    ----------
    A : Tensor
        A square matrix or a batch of them, of a floating or complex dtype.
    B : Tensor
        A tensor of shape (..., n) or (..., n, k), of the dtype of `A`.
    left : bool, default True
        Whether A is on the left; with False X A = B.
    check_errors : bool, default False
        Whether to raise an error for singular matrices.

    Returns
    -------
    tuple
        The named tuple `(result, info)`: info is int32, 0 or for a singular matrix 1, with NaN in the result.

    Raises
    ------
    LinAlgError
        With `check_errors`, for singular matrices.

    See Also
    --------
    torch.linalg.lstsq, torch.linalg.solve_triangular, torch.linalg.lu_solve, torch.linalg.solve

    Examples
    --------
    >>> torch.linalg.solve_ex(torch.zeros(1, 1), torch.ones(1)).info
    tensor(1, dtype=torch.int32)
    """
    try:
        result = solve(A, B, left=left)
    except LinAlgError:
        if check_errors:
            raise
    else:
        return solve_ex_result(result, _core.t_full(list(A.dims[:-2]), 0, "int32", A.device_name))
    info = inv_ex(A.detach()).info
    singular = _map("not_equal", info, 0).unsqueeze(-1)
    result = solve(_map("where", singular.unsqueeze(-1), eye(A.dims[-1], A), A), B, left=left)
    return solve_ex_result(
        _map("where", singular if _is_vector(A, B) else singular.unsqueeze(-1), math.nan, result), info
    )


def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False,
                     out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns X with A X = B for triangular A, of which only the triangle is read.

    Parameters
    ----------
    A : Tensor
        A square matrix or a batch of them, of a floating or complex dtype.
    B : Tensor
        A tensor of shape (..., n, k), of the dtype of `A`.
    upper : bool
        Whether A is upper triangular; it is lower triangular otherwise.
    left : bool, default True
        Whether A is on the left; with False X A = B.
    unitriangular : bool, default False
        Whether the diagonal of A counts as 1.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `B`.

    See Also
    --------
    torch.linalg.lu_solve, torch.linalg.solve, torch.linalg.solve_ex, torch.linalg.lstsq

    Examples
    --------
    >>> A = torch.tensor([[2.0, 0.0], [1.0, 1.0]])
    >>> torch.linalg.solve_triangular(A, torch.tensor([[2.0], [3.0]]), upper=False)
    tensor([[1.],
            [2.]])
    """
    matrices("linalg.solve_triangular", A, B)
    matrices("linalg.solve_triangular", A, square=True)
    triangle = _diagonals.triu(A, int(unitriangular)) if upper else _diagonals.tril(A, -int(unitriangular))
    triangle = triangle + eye(A.dims[-1], A) if unitriangular else triangle
    a, b = _broadcast(triangle, B)
    if not left:
        a, b = a.mT, b.mT
    lower = upper != left
    if lower:  # reversed, it is an upper triangle, whose rows are never exchanged: the solution is that of substitution
        a, b = a.flip(-2, -1), b.flip(-2)
    with checked("linalg.solve_triangular"):
        x: Tensor = _Solve.apply(a, b)
    x = x.flip(-2) if lower else x
    return write_out(out, x if left else x.mT)


def matrix_power(A: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """Returns the n-th power of matrices.

    Parameters
    ----------
    A : Tensor
        A square matrix or a batch of them, of a floating or complex dtype.
    n : int
        The exponent; the inverse is multiplied for negative ones.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `A`.

    Raises
    ------
    LinAlgError
        For a negative exponent of singular matrices.

    See Also
    --------
    torch.matrix_exp, torch.linalg.multi_dot, torch.linalg.inv

    Examples
    --------
    >>> torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    matrices("linalg.matrix_power", A, square=True)
    if n == 0:
        return write_out(out, _identities(A).clone())
    result = power(inv(A) if n < 0 else A, abs(n))
    return write_out(out, result.clone() if result is A else result)


def matrix_exp(A: Tensor) -> Tensor:
    """Returns the exponential of matrices.

    The matrix is halved until its norm is below 1/2, and a Taylor polynomial of it is squared as often (Moler and
    Van Loan, 2003).

    Parameters
    ----------
    A : Tensor
        A square matrix or a batch of them, of a floating or complex dtype.

    Returns
    -------
    Tensor
        A tensor of the shape of `A`.

    See Also
    --------
    torch.matrix_power, torch.linalg.eigh

    Examples
    --------
    >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    matrices("linalg.matrix_exp", A, square=True)
    if not A.numel():
        return A.clone()
    wide = {"complex64": "complex128"}.get(A.dtype_name, "float64")
    if A.dtype_name not in ("float64", "complex128"):  # the squares below double relative errors
        return _core.t_cast(matrix_exp(_core.t_cast(A, wide)), A.dtype_name)
    size = float(_map("absolute", A.detach()).sum(-2).amax())
    if not math.isfinite(size):
        return A * math.nan
    halved = max(0, math.ceil(math.log2(size)) + 1) if size else 0
    x = A * 0.5**halved
    identity = _identities(A)
    result = identity
    for k in range(18, 0, -1):  # Horner's scheme
        result = identity + x @ result / k
    for _ in range(halved):
        result = result @ result
    return result


def multi_dot(tensors: Any, *, out: Tensor | None = None) -> Tensor:
    """Returns the product of several matrices, in the cheapest order.

    Parameters
    ----------
    tensors : sequence of Tensors
        Matrices whose neighbors fit; the first and the last may be vectors.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A matrix; a vector or a number where vectors are at the ends.

    See Also
    --------
    torch.chain_matmul, torch.linalg.cross, torch.linalg.vecdot

    Examples
    --------
    >>> torch.linalg.multi_dot([torch.ones(1, 2), torch.ones(2, 3), torch.ones(3, 1)])
    tensor([[6.]])
    """
    parts = list(tensors)
    if len(parts) < 2:
        raise RuntimeError("linalg.multi_dot: expected at least 2 tensors")
    first, last = parts[0].ndim == 1, parts[-1].ndim == 1
    parts[0] = parts[0].unsqueeze(0) if first else parts[0]
    parts[-1] = parts[-1].unsqueeze(1) if last else parts[-1]
    result = chained(parts, [parts[0].dims[0], *(p.dims[1] for p in parts)])
    result = result.squeeze(0) if first else result
    return write_out(out, result.squeeze(-1) if last else result)


def tensorinv(A: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """Returns the inverse with respect to `tensordot(·, ·, ind)`.

    Parameters
    ----------
    A : Tensor
        A tensor whose first `ind` extents have the product of the others.
    ind : int, default 2
        The number of dimensions of the inverse's last part.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of shape A.shape[ind:] + A.shape[:ind].

    See Also
    --------
    torch.linalg.tensorsolve

    Examples
    --------
    >>> torch.linalg.tensorinv(torch.eye(4).reshape(2, 2, 4), ind=2).shape
    torch.Size([4, 2, 2])
    """
    head, tail = A.dims[:ind], A.dims[ind:]
    if ind <= 0 or math.prod(head) != math.prod(tail):
        raise RuntimeError(f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]),"
                           f" but got {math.prod(tail)} != {math.prod(head)}")  # fmt: skip
    return write_out(out, inv(A.reshape(math.prod(head), -1)).reshape([*tail, *head]))


def tensorsolve(A: Tensor, B: Tensor, dims: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Returns X with `tensordot(A, X, X.ndim) = B`.

    Parameters
    ----------
    A : Tensor
        A tensor whose extents have the product of those of `B` twice.
    B : Tensor
        A tensor, of the dtype of `A`.
    dims : int or sequence of ints, optional
        Dimensions of A that are moved to its end first.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor

    See Also
    --------
    torch.linalg.tensorinv

    Examples
    --------
    >>> torch.linalg.tensorsolve(torch.eye(4).reshape(2, 2, 4), torch.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """
    if dims is not None:
        A = _shape.movedim(A, list(dims), list(range(A.ndim - len(dims), A.ndim)))
    rest = A.dims[B.ndim :]
    return write_out(out, solve(A.reshape(-1, math.prod(rest)), B.reshape(-1)).reshape(list(rest)))
