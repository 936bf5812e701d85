"""Cumulative reductions along a dimension."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _determinism
from cuprous.torch._args import wrap_dim, write_out
from cuprous.torch._extremes import values_indices
from cuprous.torch._indexing import take_along_dim
from cuprous.torch._types import dtype_name

_map = _core.t_map
_operand = _core.t_operand


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Returns the cumulative sum.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int
        The dimension; a negative one counts from the end.
    dtype : dtype, optional
        The dtype to sum in, by default that of the input.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`; integers and bools are summed as int64.

    See Also
    --------
    torch.cumprod, torch.sum, torch.logcumsumexp, torch.diff

    Examples
    --------
    >>> torch.cumsum(torch.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    return write_out(out, _running("sum", _operand(input, dtype and dtype_name(dtype), True, False), dim))


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Returns the cumulative product.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int
        The dimension; a negative one counts from the end.
    dtype : dtype, optional
        The dtype to multiply in, by default that of the input.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`; integers and bools are multiplied as int64.

    See Also
    --------
    torch.cumsum, torch.prod

    Examples
    --------
    >>> torch.cumprod(torch.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
    """
    return write_out(out, _running("prod", _operand(input, dtype and dtype_name(dtype), True, False), dim))


def _running(op: str, x: Tensor, dim: int) -> Tensor:
    dim = wrap_dim(dim, x.ndim)
    _determinism.alert(f"cum{op}", x)
    return _core.t_scan(op, x, dim) if x.ndim else x.clone()


def _running_extreme(op: str, input: Tensor, dim: int) -> values_indices:
    dim = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return values_indices(input.clone(), _core.t_full([], 0, "int64", input.device_name))
    plain = input.detach()
    strides = [0] * input.ndim
    strides[dim] = 1
    positions = _core.t_iota(list(input.dims), strides, 0, input.device_name)
    running = _core.t_scan(op, plain, dim)
    same = _map("equal", plain, running)
    if plain.is_floating_point():
        same = _map("logical_or", same, _map("isnan", plain))
    index = _core.t_scan("max", _map("where", same, positions, 0), dim)

    return values_indices(take_along_dim(input, index, dim), index)


def cummax(input: Tensor, dim: int) -> values_indices:
    """Returns the cumulative maximum and the index where it was last reached.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    dim : int
        The dimension; a negative one counts from the end.

    Returns
    -------
    values_indices
        The named tuple `(values, indices)` of the shape of `input`, with int64 indices.

    See Also
    --------
    torch.cummin, torch.max, torch.cumsum

    Examples
    --------
    >>> torch.cummax(torch.tensor([1, 3, 2]), 0).values
    tensor([1, 3, 3])
    """
    return _running_extreme("max", input, dim)


def cummin(input: Tensor, dim: int) -> values_indices:
    """Returns the cumulative minimum and the index where it was last reached.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    dim : int
        The dimension; a negative one counts from the end.

    Returns
    -------
    values_indices
        The named tuple `(values, indices)` of the shape of `input`, with int64 indices.

    See Also
    --------
    torch.cummax, torch.min, torch.cumsum

    Examples
    --------
    >>> torch.cummin(torch.tensor([3, 1, 2]), 0).values
    tensor([3, 1, 1])
    """
    return _running_extreme("min", input, dim)
