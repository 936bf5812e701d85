"""Norms, condition numbers and ranks."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _reductions, _shape
from cuprous.torch._args import wrap_dim, write_out
from cuprous.torch._info import finfo
from cuprous.torch._types import dtype_name
from cuprous.torch.linalg._common import matrices
from cuprous.torch.linalg._decompositions import eigvalsh, svdvals
from cuprous.torch.linalg._solving import inv


def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
                out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns the norm `(Σ |x|**ord)**(1/ord)` over dimensions.

    Parameters
    ----------
    x : Tensor
        A tensor of any shape, of a floating or complex dtype.
    ord : number, default 2
        The order: a number; infinity for the largest magnitude, minus infinity for the smallest, 0 for the number of
        nonzero elements.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    dtype : dtype, optional
        The dtype to compute in, by default that of the input.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A real tensor without the reduced dimensions.

    See Also
    --------
    torch.linalg.matrix_norm, torch.linalg.cond, torch.linalg.norm

    Examples
    --------
    >>> torch.linalg.vector_norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype_name}"
        )
    return write_out(out, _reductions.norm(x, float(ord), dim, keepdim, dtype=dtype))


def matrix_norm(A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None,
                out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns the norm of matrices in two dimensions.

    Parameters
    ----------
    A : Tensor
        A tensor of at least two dimensions, of a floating or complex dtype.
    ord : number or str, default "fro"
        "fro", "nuc" for the sum of singular values, 2 or -2 for the largest or smallest one, 1 or -1 for the largest or
        smallest sum of magnitudes of a column, infinity or minus infinity for that of a row.
    dim : int or sequence of ints, default (-2, -1)
        The dimensions of rows and columns.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    dtype : dtype, optional
        The dtype to compute in, by default that of the input.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A real tensor without the two dimensions.

    Raises
    ------
    RuntimeError
        For another `ord`.

    See Also
    --------
    torch.linalg.cond, torch.linalg.norm, torch.linalg.vector_norm

    Examples
    --------
    >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    row, column = (wrap_dim(d, A.ndim) for d in dim)
    if row == column:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    a = A if dtype is None else _core.t_cast(A, dtype_name(dtype))
    if ord == "fro":
        return write_out(out, vector_norm(a, 2, (row, column), keepdim))
    if ord in (1, -1, math.inf, -math.inf):
        summed, rest = (row, column) if abs(ord) == 1 else (column, row)
        sums = _core.t_reduce("sum", _core.t_map("absolute", a), [summed], True)
        result = _core.t_reduce("max" if ord > 0 else "min", sums, [rest], True)
    elif ord in ("nuc", 2, -2):
        values = svdvals(_shape.movedim(a, (row, column), (-2, -1)))
        op = {"nuc": "sum", 2: "max", -2: "min"}[ord]
        flat = _core.t_reduce(op, values, [-1], False)
        kept = [1 if k in (row, column) else n for k, n in enumerate(a.dims)]
        return write_out(out, flat.reshape(kept) if keepdim else flat)
    else:
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    return write_out(out, result if keepdim else _shape.squeeze(result, (row, column)))


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None,
         dtype: Any = None) -> Tensor:  # fmt: skip
    """Returns `vector_norm` over one dimension or all, or `matrix_norm` over two.

    Parameters
    ----------
    A : Tensor
        A tensor of any shape, of a floating or complex dtype.
    ord : number or str, optional
        The order of the norm; None for the root of the sum of squares.
    dim : int or sequence of ints, optional
        One dimension or two; None for all.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    out : Tensor, optional
        A tensor of the result's shape to write to.
    dtype : dtype, optional
        The dtype to compute in, by default that of the input.

    Returns
    -------
    Tensor
        A real tensor without the reduced dimensions.

    See Also
    --------
    torch.linalg.vector_norm, torch.linalg.matrix_norm, torch.linalg.cond

    Examples
    --------
    >>> torch.linalg.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    dims = [dim] if isinstance(dim, int) else dim
    if ord is None:
        return vector_norm(A, 2, dims, keepdim, dtype=dtype, out=out)
    if dims is None:
        if A.ndim not in (1, 2):
            raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                               f"{A.ndim}D.")  # fmt: skip
        dims = list(range(A.ndim))
    if len(dims) == 1 and not isinstance(ord, str):
        return vector_norm(A, ord, dims, keepdim, dtype=dtype, out=out)
    if len(dims) == 2:
        return matrix_norm(A, ord, dims, keepdim, dtype=dtype, out=out)
    raise RuntimeError(f"linalg.norm: ord={ord!r} over {len(dims)} dimensions is not a norm of vectors or matrices")


def cond(A: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Returns the condition number: the norm of the matrix times that of its inverse.

    Parameters
    ----------
    A : Tensor
        A matrix or a batch of matrices, of a floating or complex dtype.
    p : float or str, optional
        The order of `matrix_norm`; None is 2, which is computed from singular values.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A real tensor of the shape of the batch.

    See Also
    --------
    torch.linalg.norm, torch.linalg.vector_norm, torch.linalg.matrix_norm, torch.linalg.matrix_rank,
    torch.linalg.svdvals

    Examples
    --------
    >>> torch.linalg.cond(torch.tensor([[4.0, 0.0], [0.0, 2.0]]))
    tensor(2.)
    """
    matrices("linalg.cond", A)
    if p in (None, 2, -2):
        values = svdvals(A)
        large, small = values[..., 0], values[..., -1]
        return write_out(out, small / large if p == -2 else large / small)
    return write_out(out, matrix_norm(A, p) * matrix_norm(inv(A), p))


def matrix_rank(A: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False,
                out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns the number of singular values above the larger of two tolerances.

    Parameters
    ----------
    A : Tensor
        A matrix or a batch of matrices, of a floating or complex dtype.
    atol : float, optional
        The absolute tolerance, by default 0.
    rtol : number, optional
        The tolerance relative to the largest singular value, by default the larger extent times the dtype's epsilon, or
        0 if `atol` is given.
    hermitian : bool, default False
        Whether the matrices are Hermitian.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        An int64 tensor of the shape of the batch.

    See Also
    --------
    torch.linalg.svdvals, torch.linalg.cond

    Examples
    --------
    >>> torch.linalg.matrix_rank(torch.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """
    matrices("linalg.matrix_rank", A, square=hermitian)

    plain = A.detach()
    values = _core.t_map("absolute", eigvalsh(plain)) if hermitian else svdvals(plain)
    if rtol is None:
        rtol = max(A.dims[-2:]) * finfo(A.dtype).eps if atol is None else 0.0
    if not values.dims[-1]:
        return write_out(out, _core.t_full(list(values.dims[:-1]), 0, "int64", values.device_name))
    least = values.amax(-1, True) * (rtol.unsqueeze(-1) if isinstance(rtol, Tensor) else rtol)
    if atol is not None:
        at = atol.unsqueeze(-1) if isinstance(atol, Tensor) else atol
        least = _core.t_map("maximum", least, at)
    return write_out(out, _reductions.sum(values > least, -1))
