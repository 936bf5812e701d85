"""Decompositions under PyTorch's older names, which return other things than those of `torch.linalg`."""

from __future__ import annotations

from collections import namedtuple

from cuprous._core import Tensor
from cuprous.torch import _creation
from cuprous.torch._args import by_name
from cuprous.torch.linalg import cholesky as _cholesky
from cuprous.torch.linalg import qr as _qr
from cuprous.torch.linalg import svd as _svd
from cuprous.torch.linalg import svdvals

svd_result = namedtuple("svd_result", ("U", "S", "V"))
qr_result = namedtuple("qr_result", ("Q", "R"))


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> svd_result:
    """Returns `U`, `S` and `V` with `input = U @ diag(S) @ V.mT`. `torch.linalg.svd` returns the adjoint of V.

    Args:
        input: matrices.
        some: whether `U` and `V` have as many columns as there are singular values.
        compute_uv: whether to compute `U` and `V`; they are zeros otherwise.
    """
    if not compute_uv:
        values = svdvals(input)
        *batch, rows, columns = input.dims
        zeros = [_creation.zeros((*batch, n, n), dtype=input.dtype, device=input.device) for n in (rows, columns)]
        return svd_result(zeros[0], values, zeros[1])
    u, s, vh = _svd(input, full_matrices=not some)
    return svd_result(u, s, vh.mT.conj())


def qr(input: Tensor, some: bool = True) -> qr_result:
    """Returns `Q` and `R` with `input = Q @ R`; with `some=False` Q is square."""
    return qr_result(*_qr(input, "reduced" if some else "complete"))


def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """Returns the Cholesky factor, lower triangular unless `upper`."""
    return _cholesky(input, upper=upper)


FUNCTIONS = METHODS = by_name(svd, qr, cholesky)
