"""Pseudoinverses and least squares."""

from __future__ import annotations

from typing import Any, NamedTuple

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import write_out
from cuprous.torch._info import finfo
from cuprous.torch._reductions import sum as total
from cuprous.torch._shape import adjoint
from cuprous.torch.autograd import Function
from cuprous.torch.linalg._common import engine, matrices
from cuprous.torch.linalg._decompositions import svdvals
from cuprous.torch.linalg._solving import _is_vector

_wrap, _map = _core.t_wrap, _core.t_map


class lstsq_result(NamedTuple):
    """A least-squares solution."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


class _PseudoInverse(Function):
    """The pseudoinverse, with the derivative of Golub and Pereyra (1973) for a constant rank."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, cutoff: Any, hermitian: bool) -> Tensor:
        p = _wrap(engine.pinv(a.as_array(), rcond=cutoff, hermitian=hermitian))
        ctx.save_for_backward(a, p)
        return p

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, p = ctx.saved_tensors
        gh, ph = adjoint(g), adjoint(p)
        ga = -(ph @ g @ ph)
        m, n = a.dims[-2:]
        if m > n:  # otherwise A has a right inverse, and I - A P is zero unless the rank is smaller
            ga = ga + (gh - a @ (p @ gh)) @ p @ ph
            ga = ga + ph @ (p @ (gh - (gh @ p) @ a))
        else:
            ga = ga + (gh @ p - a @ (p @ gh @ p)) @ ph
            ga = ga + ph @ (p @ gh - (p @ gh @ p) @ a)
        return ga, None, None


def pinv(
    A: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False, out: Tensor | None = None
) -> Tensor:
    """Returns the Moore-Penrose pseudoinverse. Small singular values count as zero.

    Parameters
    ----------
    A : Tensor
        A matrix or a batch of matrices, of a floating or complex dtype.
    atol : float, optional
        For PyTorch's signature; only None.
    rtol : number, optional
        The tolerance relative to the largest singular value, by default the larger extent times the dtype's epsilon.
    hermitian : bool, default False
        Whether the matrices are Hermitian.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of shape (..., n, m).

    Raises
    ------
    NotImplementedError
        For `atol`.

    See Also
    --------
    torch.linalg.solve, torch.linalg.inv, torch.linalg.inv_ex

    Examples
    --------
    >>> torch.linalg.pinv(torch.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    matrices("linalg.pinv", A, square=hermitian)
    if atol is not None:
        raise NotImplementedError(f"[linalg.pinv] atol={atol!r} is not supported; use rtol")

    cutoff = max(A.dims[-2:]) * finfo(A.dtype).eps if rtol is None else rtol
    result: Tensor = _PseudoInverse.apply(A, cutoff, hermitian)
    return write_out(out, result)


def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """Returns the X that minimizes the norm of A X - B, the one of least norm if there are several.

    Parameters
    ----------
    A : Tensor
        A tensor of shape (..., m, n), of a floating or complex dtype.
    B : Tensor
        A tensor of shape (..., m) or (..., m, k), of the same dtype.
    rcond : float, optional
        Singular values below `rcond` times the largest count as zero.
    driver : str, optional
        The LAPACK routine whose results are given: "gels" has no rank, "gelsy" no residuals, and only "gelsd" and
        "gelss" have singular values; by default "gelsy", on a GPU "gels". The solution is the same.

    Returns
    -------
    tuple
        The named tuple `(solution, residuals, rank, singular_values)`: the residuals are squared, and empty unless
        there are more rows than columns and the rank is full.

    Raises
    ------
    RuntimeError
        For shapes or dtypes that do not match.

    See Also
    --------
    torch.linalg.solve_triangular, torch.linalg.lu_solve, torch.linalg.solve, torch.linalg.solve_ex

    Examples
    --------
    >>> A = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> torch.linalg.lstsq(A, torch.tensor([[1.0], [3.0], [5.0]])).solution.round(decimals=3)
    tensor([[1.],
            [2.]])
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss) but got " + str(driver)
        )
    vector = _is_vector(A, B)
    b = B.unsqueeze(-1) if vector else B
    matrices("torch.linalg.lstsq", A, b)
    if b.dims[-2] != A.dims[-2]:
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    solution = pinv(A, rtol=rcond) @ b
    values = svdvals(A.detach())
    m, n = A.dims[-2:]

    least = values.amax(-1, True) * (max(m, n) * finfo(values.dtype).eps if rcond is None else rcond)
    rank = total(values > least, -1)
    driver = driver or ("gelsy" if A.device_name == "cpu" else "gels")
    residuals = values.new_empty(0)
    if driver != "gelsy" and m > n and bool((rank == n).all()):
        residuals = total(_map("square", _map("absolute", A @ solution - b)), -2)
    rank = rank.new_empty(0) if driver == "gels" else rank
    values = values if driver in ("gelsd", "gelss") else values.new_empty(0)
    return lstsq_result(solution.squeeze(-1) if vector else solution, residuals, rank, values)
