"""Diagonals and triangles of matrices."""

from __future__ import annotations

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import by_name, wrap_dim, write_out
from cuprous.torch._shape import movedim


def _triangle(input: Tensor, diagonal: int, lower: bool) -> Tensor:
    if input.ndim < 2:
        raise RuntimeError("tril/triu: input tensor must have at least 2 dimensions")
    rows, columns = input.dims[-2:]
    row = _core.t_iota([rows, columns], [1, 0], 0, input.device_name)
    column = _core.t_iota([rows, columns], [0, 1], 0, input.device_name)
    away = column - row
    keep = away <= diagonal if lower else away >= diagonal
    return _core.t_map("where", keep, input, 0, dtype=input.dtype_name)


def tril(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Returns the lower triangle, with zeros elsewhere.

    Parameters
    ----------
    input : Tensor
        A tensor of at least two dimensions.
    diagonal : int, default 0
        The diagonal that bounds the triangle; 0 is the main one, positive ones are above it.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.triu, torch.tril_indices, torch.triu_indices

    Examples
    --------
    >>> torch.tril(torch.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return write_out(out, _triangle(input, diagonal, True))


def triu(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Returns the upper triangle, with zeros elsewhere.

    Parameters
    ----------
    input : Tensor
        A tensor of at least two dimensions.
    diagonal : int, default 0
        The diagonal that bounds the triangle; 0 is the main one, positive ones are above it.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.tril_indices, torch.triu_indices, torch.tril

    Examples
    --------
    >>> torch.triu(torch.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return write_out(out, _triangle(input, diagonal, False))


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Returns a view of diagonals, along the last dimension.

    Parameters
    ----------
    input : Tensor
        A tensor of at least two dimensions.
    offset : int, default 0
        The diagonal; 0 is the main one, positive ones are above it.
    dim1 : int, default 0
        The dimension of the rows.
    dim2 : int, default 1
        The dimension of the columns.

    Returns
    -------
    Tensor
        A tensor on the same memory, without the two dimensions and with a new last one.

    See Also
    --------
    torch.diag, torch.diag_embed, torch.diagonal_scatter

    Examples
    --------
    >>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    a, b = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    shape, strides = input.dims, input.stride_tuple()
    length = max(min(shape[a] + min(offset, 0), shape[b] - max(offset, 0)), 0)
    start = (offset * strides[b] if offset > 0 else -offset * strides[a]) if length else 0
    rest = [k for k in range(input.ndim) if k not in (a, b)]
    return _core.t_strided(
        input, [*(shape[k] for k in rest), length], [*(strides[k] for k in rest), strides[a] + strides[b]], start
    )


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Returns the diagonal of a matrix, or a matrix with a vector on its diagonal.

    Parameters
    ----------
    input : Tensor
        A vector or a matrix.
    diagonal : int, default 0
        The diagonal; 0 is the main one, positive ones are above it.

    Returns
    -------
    Tensor
        A vector for a matrix, and a matrix for a vector.

    See Also
    --------
    torch.block_diag

    Examples
    --------
    >>> torch.diag(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    if input.ndim == 2:
        return _core.t_cast(globals()["diagonal"](input, diagonal), input.dtype_name)
    return diag_embed(input, diagonal)


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Returns matrices with the elements of the last dimension on their diagonals.

    Parameters
    ----------
    input : Tensor
        A tensor of at least one dimension.
    offset : int, default 0
        The diagonal; 0 is the main one, positive ones are above it.
    dim1 : int, default -2
        The dimension of the rows.
    dim2 : int, default -1
        The dimension of the columns.

    Returns
    -------
    Tensor
        A tensor with one more dimension.

    See Also
    --------
    torch.diagonal, torch.diag, torch.diagflat

    Examples
    --------
    >>> torch.diag_embed(torch.tensor([[1, 2], [3, 4]])).shape
    torch.Size([2, 2, 2])
    """
    n = input.dims[-1] + abs(offset)
    out = _core.t_full([*input.dims[:-1], n, n], 0, input.dtype_name, input.device_name)
    _core.t_update(diagonal(out, offset, -2, -1), input)
    first, second = wrap_dim(dim1, out.ndim), wrap_dim(dim2, out.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return movedim(out, (-2, -1), (first, second))


METHODS = FUNCTIONS = by_name(tril, triu, diagonal, diag, diag_embed)
