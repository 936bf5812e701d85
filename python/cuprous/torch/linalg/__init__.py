"""Linear algebra: `torch.linalg`, for batches of matrices in the last two dimensions."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _products, _reductions
from cuprous.torch._joining import stack
from cuprous.torch._keywords import complete as _complete
from cuprous.torch._pointwise import conj
from cuprous.torch._products import matmul
from cuprous.torch.linalg._common import LinAlgError
from cuprous.torch.linalg._decompositions import (
    cholesky,
    cholesky_ex,
    cholesky_inverse,
    cholesky_solve,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)
from cuprous.torch.linalg._determinants import det, logdet, slogdet
from cuprous.torch.linalg._least_squares import lstsq, pinv
from cuprous.torch.linalg._lu import FUNCTIONS as _LU
from cuprous.torch.linalg._lu import METHODS as _LU_METHODS
from cuprous.torch.linalg._lu import householder_product, lu, lu_factor, lu_factor_ex, lu_solve
from cuprous.torch.linalg._norms import cond, matrix_norm, matrix_rank, norm, vector_norm
from cuprous.torch.linalg._solving import (
    inv,
    inv_ex,
    matrix_exp,
    matrix_power,
    multi_dot,
    solve,
    solve_ex,
    solve_triangular,
    tensorinv,
    tensorsolve,
)


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Returns the cross product of vectors of three elements.

    Parameters
    ----------
    input : Tensor
        A tensor with extent 3 along the dimension.
    other : Tensor
        A tensor that broadcasts with `input`.
    dim : int, default -1
        The dimension; a negative one counts from the end.

    Returns
    -------
    Tensor
        A tensor of the shape that the operands broadcast to.

    Raises
    ------
    RuntimeError
        For another extent, or different numbers of dimensions.

    See Also
    --------
    torch.linalg.vecdot, torch.linalg.multi_dot

    Examples
    --------
    >>> torch.linalg.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if input.dims[dim] != 3 or other.dims[dim] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.dims[dim]} and "
                           f"{other.dims[dim]}")  # fmt: skip
    return _products.cross(input, other, dim)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Returns the dot product along a dimension, with the first operand conjugated.

    Parameters
    ----------
    x : Tensor
        A tensor of a floating or complex dtype.
    y : Tensor
        A tensor that broadcasts with `x`.
    dim : int, default -1
        The dimension; a negative one counts from the end.

    Returns
    -------
    Tensor
        A tensor without the dimension.

    See Also
    --------
    torch.linalg.multi_dot, torch.linalg.cross

    Examples
    --------
    >>> torch.linalg.vecdot(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([11.])
    """
    return _reductions.sum(conj(x) * y, dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Returns a view of diagonals, along the last dimension.

    Parameters
    ----------
    A : Tensor
        A tensor of at least two dimensions.
    offset : int, default 0
        The diagonal; 0 is the main one, positive ones are above it.
    dim1 : int, default -2
        The dimension of the rows.
    dim2 : int, default -1
        The dimension of the columns.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    See Also
    --------
    torch.linalg.vander

    Examples
    --------
    >>> torch.linalg.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return A.diagonal(offset, dim1, dim2)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Returns the powers of elements, from 0 to N - 1, along a new last dimension.

    Parameters
    ----------
    x : Tensor
        A tensor of shape (..., n).
    N : int, optional
        The number of powers, by default n.

    Returns
    -------
    Tensor
        A tensor of shape (..., n, N).

    See Also
    --------
    torch.vander, torch.linalg.diagonal

    Examples
    --------
    >>> torch.linalg.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    x = x if x.ndim else x.reshape(1)
    if not (x.is_floating_point() or x.is_complex()):
        x = x.long()
    n = x.dims[-1] if N is None else N
    powers = [x * 0 + 1]
    for _ in range(1, n):
        powers.append(powers[-1] * x)
    return stack(powers[:n], -1)


#: The functions that `torch` and tensors provide as well, under their own names.
METHODS: dict[str, Any] = {
    "cholesky_inverse": cholesky_inverse, "cholesky_solve": cholesky_solve, "det": det, "inverse": inv,
    "logdet": logdet, "matrix_exp": matrix_exp, "matrix_power": matrix_power, "pinverse": pinv, "slogdet": slogdet,
    **_LU_METHODS,
}  # fmt: skip
FUNCTIONS: dict[str, Any] = METHODS | _LU

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals",
    "eigvalsh", "householder_product", "inv", "inv_ex", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve",
    "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr",
    "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander",
    "vecdot", "vector_norm",
]  # fmt: skip

globals().update(_complete({name: globals()[name] for name in __all__}))
