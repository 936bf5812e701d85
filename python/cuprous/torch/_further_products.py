"""Further products of tensors: updates of rank one, sums of batches, chains."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _autocast, _products
from cuprous.torch.linalg import multi_dot

_map = _core.t_map


def vdot(input: Tensor, other: Tensor) -> Tensor:
    """Returns the product of the conjugate of a vector with a vector.

    Parameters
    ----------
    input : Tensor
        A vector of n elements.
    other : Tensor
        A vector of n elements and of the same dtype.

    Returns
    -------
    Tensor
        A tensor of shape ().

    See Also
    --------
    torch.dot, torch.inner, torch.linalg.vecdot

    Examples
    --------
    >>> torch.vdot(torch.tensor([1 + 1j]), torch.tensor([2 + 0j]))
    tensor(2.-2.j)
    """
    return _products.dot(_map("conjugate", input) if input.is_complex() else input, other)


def addr(input: Tensor, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Returns `beta * input + alpha * outer(vec1, vec2)`.

    Parameters
    ----------
    input : Tensor
        A tensor that broadcasts with (n, m).
    vec1 : Tensor
        A vector of n elements.
    vec2 : Tensor
        A vector of m elements.
    beta : number, default 1
        The factor of `input`.
    alpha : number, default 1
        The factor of the product.

    Returns
    -------
    Tensor
        A tensor of shape (n, m).

    See Also
    --------
    torch.outer, torch.addmm, torch.addmv

    Examples
    --------
    >>> torch.addr(torch.zeros(2, 2), torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    if input.dtype_name == vec1.dtype_name == vec2.dtype_name == "bool":
        product = _core.t_map("logical_and", vec1[:, None], vec2)
        kept = _core.t_expand(input, list(product.dims))
        chosen = product if alpha else _core.t_map("logical_and", product, False)
        return _core.t_map("logical_or", chosen, kept) if beta else chosen
    product = vec1[:, None] * vec2 * alpha
    return product if beta == 0 else product + input * beta


def addbmm(input: Tensor, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Returns `beta * input` plus `alpha` times the sum of the products of two batches of matrices.

    Parameters
    ----------
    input : Tensor
        A tensor that broadcasts with (n, p).
    batch1 : Tensor
        A tensor of shape (b, n, m).
    batch2 : Tensor
        A tensor of shape (b, m, p).
    beta : number, default 1
        The factor of `input`.
    alpha : number, default 1
        The factor of the sum.

    Returns
    -------
    Tensor
        A tensor of shape (n, p).

    See Also
    --------
    torch.bmm, torch.baddbmm, torch.addmm

    Examples
    --------
    >>> torch.addbmm(torch.zeros(1, 1), torch.ones(2, 1, 3), torch.ones(2, 3, 1))
    tensor([[6.]])
    """
    product = _products.matmul(batch1, batch2)
    product = product.sum(0, dtype=product.dtype)
    alpha, beta = (_products.factor(product, x) for x in (alpha, beta))
    product = product * alpha
    return product if beta == 0 else product + input * beta


@_autocast.policy
def chain_matmul(*matrices: Any) -> Tensor:
    """Returns the product of several matrices.

    Parameters
    ----------
    *matrices : Tensor
        Matrices whose neighbors fit.

    Returns
    -------
    Tensor
        A matrix.

    See Also
    --------
    torch.linalg.multi_dot

    Examples
    --------
    >>> torch.chain_matmul(torch.ones(1, 2), torch.ones(2, 3), torch.ones(3, 1))
    tensor([[6.]])
    """
    return multi_dot(matrices[0] if len(matrices) == 1 and not isinstance(matrices[0], Tensor) else matrices)


def _int_mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Returns the product of two int8 matrices, which is summed as int32.

    Parameters
    ----------
    input : Tensor
        A matrix (m, n) of dtype int8.
    mat2 : Tensor
        A matrix (n, p) of dtype int8.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A matrix (m, p) of dtype int32.

    Raises
    ------
    RuntimeError
        For other dtypes or numbers of dimensions.
    """
    if (input.dtype_name, mat2.dtype_name) != ("int8", "int8"):
        raise RuntimeError(f"_int_mm: expected two matrices of torch.int8, got {input.dtype} and {mat2.dtype}")
    return _products.mm(_core.t_cast(input, "int32"), _core.t_cast(mat2, "int32"), out=out)
