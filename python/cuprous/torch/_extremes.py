"""Extremes of tensors and their positions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from cuprous import _core
from cuprous._common.naming import named
from cuprous._core import Tensor
from cuprous.torch._args import dims_of, wrap_dim, write_out, write_outs
from cuprous.torch._indexing import take_along_dim

_map = _core.t_map
_reduce = _core.t_reduce


#: Named tuples returned by functions with two results.
class values_indices(NamedTuple):
    """The values that a function chose, and their positions."""

    values: Tensor
    indices: Tensor


class min_max(NamedTuple):
    """The smallest and the largest values."""

    min: Tensor
    max: Tensor


def count(input: Tensor, dim: Any) -> int:
    """Returns the number of elements that a reduction over some dimensions combines."""
    dims = dims_of(dim)
    if dims is None or not input.ndim:
        return input.numel()
    return math.prod(input.dims[wrap_dim(d, input.ndim)] for d in dims)


def amax(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Returns the maximum. Equal maxima share the gradient.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions.

    Raises
    ------
    RuntimeError
        For a tensor without elements.

    See Also
    --------
    torch.amin, torch.max, torch.aminmax, torch.argmax

    Examples
    --------
    >>> torch.amax(torch.tensor([[1, 5], [7, 3]]), dim=1)
    tensor([5, 7])
    """
    return write_out(out, _extreme("max", input, dim, keepdim))


def amin(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Returns the minimum. Equal minima share the gradient.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor without the reduced dimensions.

    Raises
    ------
    RuntimeError
        For a tensor without elements.

    See Also
    --------
    torch.amax, torch.min, torch.aminmax, torch.argmin

    Examples
    --------
    >>> torch.amin(torch.tensor([[1, 5], [7, 3]]), dim=1)
    tensor([1, 3])
    """
    return write_out(out, _extreme("min", input, dim, keepdim))


def _extreme(op: str, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    if not count(input, dim):
        raise RuntimeError(f"{op}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                           "reduction dim with the 'dim' argument.")  # fmt: skip
    return _reduce(op, input, dims_of(dim), keepdim)


def aminmax(input: Tensor, *, dim: Any = None, keepdim: bool = False) -> min_max:
    """Returns the minimum and the maximum.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    dim : int or sequence of ints, optional
        One dimension or several; None for all.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.

    Returns
    -------
    min_max
        The named tuple `(min, max)`.

    Raises
    ------
    RuntimeError
        For a tensor without elements.

    See Also
    --------
    torch.amin, torch.amax, torch.min, torch.max

    Examples
    --------
    >>> torch.aminmax(torch.tensor([3, 1, 2])).max
    tensor(3)
    """
    return min_max(amin(input, dim, keepdim), amax(input, dim, keepdim))


def _index_of(op: str, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    if dim is None:
        flat = _reduce("arg" + op, input.detach().reshape(-1), None, False)
        return flat.reshape((1,) * input.ndim) if keepdim else flat
    return _reduce("arg" + op, input.detach(), [dim], keepdim)


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Returns the index of the first maximum.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    dim : int, optional
        The dimension; None for all elements.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.

    Returns
    -------
    Tensor
        An int64 tensor; without `dim` an index of the flattened tensor.

    See Also
    --------
    torch.argmin, torch.max, torch.amax

    Examples
    --------
    >>> torch.argmax(torch.tensor([1, 9, 9]))
    tensor(1)
    """
    return _index_of("max", input, dim, keepdim)


def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Returns the index of the first minimum.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    dim : int, optional
        The dimension; None for all elements.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.

    Returns
    -------
    Tensor
        An int64 tensor; without `dim` an index of the flattened tensor.

    See Also
    --------
    torch.argmax, torch.min, torch.amin

    Examples
    --------
    >>> torch.argmin(torch.tensor([[4, 1], [0, 2]]), dim=1)
    tensor([1, 0])
    """
    return _index_of("min", input, dim, keepdim)


def _min_or_max(op: str, which: str, *example: str) -> Callable[..., Any]:
    def pick(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
        if isinstance(dim, Tensor):
            return write_out(out, _map(op + "imum", input, dim))
        if dim is None:
            return write_out(out, _extreme(op, input, None, False))
        index = _index_of(op, input, dim, True) if input.ndim else None
        return write_outs(out, only(input) if index is None else picked(input, index, dim, keepdim))

    return named(
        pick,
        op,
        f"""Returns the {op}imum of all elements or along a dimension, or the {which} of each pair.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    dim : int or Tensor, optional
        The dimension; None for all elements; or a tensor, which is compared with `input` element by element.
    keepdim : bool, default False
        Whether to keep the reduced dimension with extent 1.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor; with a dimension the named tuple `(values, indices)`, with the int64 index of the first {op}imum.

    Raises
    ------
    RuntimeError
        For a tensor without elements if no dimension is given.

    See Also
    --------
    torch.a{op}, torch.arg{op}, torch.{op}imum, torch.aminmax

    Examples
    --------
    >>> x = torch.tensor([[1, 5], [7, 3]])
    >>> torch.{op}(x)
    {example[0]}
    >>> values, indices = x.{op}(dim=1)
    >>> values, indices
    {example[1]}
    """,
    )


max: Callable[..., Any] = _min_or_max("max", "larger", "tensor(7)", "(tensor([5, 7]), tensor([1, 0]))")


min: Callable[..., Any] = _min_or_max("min", "smaller", "tensor(1)", "(tensor([1, 3]), tensor([0, 1]))")


def only(input: Tensor) -> values_indices:
    """Returns the element of a tensor without dimensions, and its index."""
    return values_indices(input.clone(), _core.t_full([], 0, "int64", input.device_name))


def picked(input: Tensor, index: Tensor, dim: int, keepdim: bool) -> values_indices:
    """Returns the elements at indices of extent 1 along a dimension, and the indices; the dimension can be dropped."""
    values = take_along_dim(input, index, dim)
    return values_indices(values, index) if keepdim else values_indices(values.squeeze(dim), index.squeeze(dim))
