"""Decompositions under PyTorch's older names, which return other things than those of `torch.linalg`."""

from __future__ import annotations

from typing import NamedTuple

from cuprous._core import Tensor
from cuprous.torch import _creation
from cuprous.torch._args import by_name
from cuprous.torch.linalg import cholesky as _cholesky
from cuprous.torch.linalg import qr as _qr
from cuprous.torch.linalg import svd as _svd
from cuprous.torch.linalg import svdvals


class svd_result(NamedTuple):
    """The factors of a singular value decomposition."""

    U: Tensor
    S: Tensor
    V: Tensor


class qr_result(NamedTuple):
    """The factors of a QR decomposition."""

    Q: Tensor
    R: Tensor


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> svd_result:
    """Returns `U`, `S` and `V` with `input = U @ diag(S) @ V.mT`. `torch.linalg.svd` returns the adjoint of V.

    Parameters
    ----------
    input : Tensor
        A matrix or a batch of matrices, of a floating or complex dtype.
    some : bool, default True
        Whether `U` and `V` have as many columns as there are singular values.
    compute_uv : bool, default True
        Whether to compute `U` and `V`; they are zeros otherwise.

    Returns
    -------
    svd_result
        The named tuple `(U, S, V)`.

    See Also
    --------
    torch.linalg.svd, torch.linalg.svdvals, torch.pca_lowrank, torch.svd_lowrank

    Examples
    --------
    >>> torch.svd(torch.tensor([[3.0, 0.0], [0.0, 2.0]])).S
    tensor([3., 2.])
    """
    if not compute_uv:
        values = svdvals(input)
        *batch, rows, columns = input.dims
        zeros = [_creation.zeros((*batch, n, n), dtype=input.dtype, device=input.device) for n in (rows, columns)]
        return svd_result(zeros[0], values, zeros[1])
    u, s, vh = _svd(input, full_matrices=not some)
    return svd_result(u, s, vh.mT.conj())


def qr(input: Tensor, some: bool = True) -> qr_result:
    """Returns `Q`, whose columns are orthonormal, and the upper triangular `R` with `input = Q @ R`.

    Parameters
    ----------
    input : Tensor
        A matrix or a batch of matrices, of a floating or complex dtype.
    some : bool, default True
        Whether `Q` has as many columns as there are in the smaller extent; it is square otherwise.

    Returns
    -------
    qr_result
        The named tuple `(Q, R)`.

    See Also
    --------
    torch.linalg.qr, torch.geqrf, torch.orgqr

    Examples
    --------
    >>> q, r = torch.qr(torch.tensor([[3.0, 0.0], [4.0, 5.0]]))
    >>> torch.allclose(q @ r, torch.tensor([[3.0, 0.0], [4.0, 5.0]]), atol=1e-5)
    True
    """
    return qr_result(*_qr(input, "reduced" if some else "complete"))


def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """Returns the Cholesky factor of positive definite matrices.

    Parameters
    ----------
    input : Tensor
        A Hermitian matrix or a batch of them, of a floating or complex dtype.
    upper : bool, default False
        Whether to return the upper triangular factor; it is the lower one otherwise.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    Raises
    ------
    torch.linalg.LinAlgError
        For a matrix that is not positive definite.

    See Also
    --------
    torch.linalg.cholesky, torch.cholesky_solve, torch.cholesky_inverse

    Examples
    --------
    >>> torch.cholesky(torch.tensor([[4.0, 2.0], [2.0, 2.0]]))
    tensor([[2., 0.],
            [1., 1.]])
    """
    return _cholesky(input, upper=upper)


FUNCTIONS = METHODS = by_name(svd, qr, cholesky)
