"""Determinants and their logarithms."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import write_out
from cuprous.torch._pointwise import conj
from cuprous.torch._shape import adjoint
from cuprous.torch.autograd import Function
from cuprous.torch.linalg._common import engine, eye, matrices
from cuprous.torch.linalg._decompositions import svd
from cuprous.torch.linalg._solving import inv

_wrap, _map = _core.t_wrap, _core.t_map


class slogdet_result(NamedTuple):
    """The sign of a determinant, and the logarithm of its absolute value."""

    sign: Tensor
    logabsdet: Tensor


class _Slogdet(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> tuple[Tensor, Tensor]:
        sign, log = (_wrap(x) for x in engine.slogdet(a.as_array()))
        ctx.save_for_backward(a, sign)
        if not a.is_complex():
            ctx.mark_non_differentiable(sign)
        return sign, log

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        a, sign = ctx.saved_tensors
        factor = gs[-1]
        if a.is_complex():
            phase = _map("imag", _map("multiply", conj(gs[0]), sign))
            factor = _map("make_complex", factor, -phase)
        return factor.unsqueeze(-1).unsqueeze(-1) * adjoint(inv(a))


class _Det(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        value = _wrap(engine.det(a.as_array()))
        ctx.save_for_backward(a, value)
        return value

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        a, value = ctx.saved_tensors
        if bool((value == 0).any()):
            return g.unsqueeze(-1).unsqueeze(-1) * _cofactors(a)
        return (g * conj(value)).unsqueeze(-1).unsqueeze(-1) * adjoint(inv(a))


def _cofactors(a: Tensor) -> Tensor:
    """Returns the conjugate of the derivative of the determinant, also of singular matrices, from singular values:
    det(U) det(Vᴴ) times the products of all singular values but one."""
    u, s, vh = svd(a)
    n = s.dims[-1]
    others = s.unsqueeze(-2) * (1 - eye(n, s)) + eye(n, s)
    products = _core.t_reduce("prod", others, [-1], False)
    sign = det(u) * det(vh)
    return conj(sign).unsqueeze(-1).unsqueeze(-1) * ((u * products.unsqueeze(-2)) @ vh)


def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the determinant.

    Parameters
    ----------
    A : Tensor
        A square matrix or a batch of them, of a floating or complex dtype.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of the batch.

    See Also
    --------
    torch.logdet, torch.slogdet, torch.inverse

    Examples
    --------
    >>> torch.linalg.det(torch.tensor([[2.0, 1.0], [0.0, 3.0]]))
    tensor(6.)
    """
    matrices("linalg.det", A, square=True)
    result: Tensor = _Det.apply(A)
    return write_out(out, result)


def slogdet(A: Tensor) -> Any:
    """Returns the sign of the determinant, or its phase for complex matrices, and the logarithm of its absolute value.

    Parameters
    ----------
    A : Tensor
        A square matrix or a batch of them, of a floating or complex dtype.

    Returns
    -------
    tuple
        The named tuple `(sign, logabsdet)`.

    See Also
    --------
    torch.logdet, torch.det

    Examples
    --------
    >>> torch.linalg.slogdet(torch.tensor([[-1.0, 0.0], [0.0, 1.0]])).sign
    tensor(-1.)
    """
    matrices("linalg.slogdet", A, square=True)
    return slogdet_result(*_Slogdet.apply(A))


def logdet(input: Tensor) -> Tensor:
    """Returns the logarithm of the determinant, which is NaN if the determinant is negative.

    Parameters
    ----------
    input : Tensor
        A square matrix or a batch of them, of a floating dtype.

    Returns
    -------
    Tensor
        A tensor of the shape of the batch.

    See Also
    --------
    torch.det, torch.slogdet

    Examples
    --------
    >>> torch.logdet(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    tensor(0.)
    """
    sign, log = slogdet(input)
    if input.is_complex():
        return _map("log", sign) + log
    return _map("where", sign < 0, math.nan, log)
