"""Views, and other shapes of the same elements."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import by_name, sizes, wrap_dim
from cuprous.torch._broadcasting import broadcast_shapes, broadcast_tensors, broadcast_to, expand, expand_as
from cuprous.torch._memory_format import in_format
from cuprous.torch._strided_views import as_strided, unfold
from cuprous.torch._types import dtype as dtype_class
from cuprous.torch._types import dtype_name

_strided = _core.t_strided


def reshape(input: Tensor, *shape: Any) -> Tensor:
    """Returns the elements in another shape: a view if strides can express it, otherwise a copy.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    *shape : int or sequence of ints
        The extents, as integers or as one sequence; one of them may be -1.

    Returns
    -------
    Tensor
        A tensor of the given extents.

    Raises
    ------
    RuntimeError
        If the shape has another number of elements.

    See Also
    --------
    torch.Tensor.view, torch.flatten, torch.unflatten, torch.squeeze

    Examples
    --------
    >>> torch.arange(6).reshape(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    return _core.t_reshape(input, sizes(shape), False)


def _view(array: Any, name: str) -> Any:
    return array.view(name)


def view(self: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """Returns a view with another shape, or of the same bytes with another dtype.

    Parameters
    ----------
    *shape : int, sequence of ints or dtype
        The extents, as integers or as one sequence, one of which may be -1; or a dtype.
    dtype : dtype, optional
        The dtype to read the same bytes as.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    Raises
    ------
    RuntimeError
        If strides cannot express the shape, or the bytes are no whole elements.
    NotImplementedError
        For another dtype of a tensor that requires gradients.

    Examples
    --------
    >>> x = torch.arange(4)
    >>> x.view(2, 2)[0, 0] = 9
    >>> x
    tensor([9, 1, 2, 3])
    """
    if len(shape) == 1 and isinstance(shape[0], dtype_class):
        dtype = shape[0]
    if dtype is None:
        return _core.t_reshape(self, sizes(shape), True)
    name = dtype_name(dtype)
    if name == self.dtype_name:
        return self
    if self.requires_grad:
        raise NotImplementedError("[view] bytes have no gradient: use view(dtype) on a detached tensor")
    try:
        return _core.t_wrap(_view(self.as_array(), name))
    except (ValueError, TypeError) as error:
        raise RuntimeError(f"[view] {self.dtype} elements cannot be seen as {dtype}: {error}") from None


def view_as(self: Tensor, other: Tensor) -> Tensor:
    """Returns a view with another tensor's shape.

    Parameters
    ----------
    other : Tensor
        The tensor whose shape the view gets.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    Examples
    --------
    >>> torch.arange(4).view_as(torch.ones(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return _core.t_reshape(self, list(other.dims), True)


def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Returns the elements in another tensor's shape.

    Parameters
    ----------
    other : Tensor
        The tensor whose shape the result gets.

    Returns
    -------
    Tensor

    Examples
    --------
    >>> torch.arange(4).reshape_as(torch.ones(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return _core.t_reshape(self, list(other.dims), False)


def permute(input: Tensor, *dims: Any) -> Tensor:
    """Returns a view with the dimensions in another order.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    *dims : int or sequence of ints
        The dimensions in their new order, as integers or as one sequence.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    See Also
    --------
    torch.transpose, torch.movedim, torch.t

    Examples
    --------
    >>> torch.ones(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """
    return _core.t_permute(input, sizes(dims))


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Returns a view with two dimensions swapped.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim0 : int
        A dimension.
    dim1 : int
        Another dimension.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    See Also
    --------
    torch.movedim, torch.permute

    Examples
    --------
    >>> torch.transpose(torch.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([[1, 3],
            [2, 4]])
    """
    order = list(range(input.ndim))
    try:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    except IndexError:  # raised anew with PyTorch's text, unless there are no dimensions
        wrap_dim(dim0, len(order)), wrap_dim(dim1, len(order))
    return _core.t_permute(input, order)


def t(input: Tensor) -> Tensor:
    """Returns a transposed matrix. A vector is returned as it is.

    Parameters
    ----------
    input : Tensor
        A tensor of at most two dimensions.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    Raises
    ------
    RuntimeError
        For more than two dimensions.

    See Also
    --------
    torch.transpose, torch.adjoint, torch.permute

    Examples
    --------
    >>> torch.t(torch.tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input.T


def adjoint(input: Tensor) -> Tensor:
    """Returns the conjugate transpose of matrices.

    Parameters
    ----------
    input : Tensor
        A tensor of at least two dimensions.

    Returns
    -------
    Tensor
        A tensor with the last two dimensions swapped.

    See Also
    --------
    torch.t, torch.transpose, torch.conj

    Examples
    --------
    >>> torch.adjoint(torch.tensor([[1 + 1j, 2 + 0j]]))
    tensor([[1.-1.j],
            [2.-0.j]])
    """
    return _core.t_map("conjugate", input.mT) if input.is_complex() else input.mT


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Returns a view without dimensions of extent 1: all of them, or those given.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int or sequence of ints, optional
        A dimension or several; None for all.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    See Also
    --------
    torch.unsqueeze, torch.reshape, torch.flatten

    Examples
    --------
    >>> torch.ones(1, 2, 1).squeeze().shape
    torch.Size([2])
    """
    if dim is None:
        removed = {k for k, n in enumerate(input.dims) if n == 1}
    else:
        named = dim if isinstance(dim, (tuple, list)) else (dim,)
        removed = {k for k in (wrap_dim(d, input.ndim) for d in named) if input.ndim and input.dims[k] == 1}
    kept = [k for k in range(input.ndim) if k not in removed]
    strides = input.stride_tuple()
    return _strided(input, [input.dims[k] for k in kept], [strides[k] for k in kept])


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Returns a view with a new dimension of extent 1.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int
        The position of the new dimension.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    See Also
    --------
    torch.squeeze, torch.Tensor.expand, torch.reshape

    Examples
    --------
    >>> torch.unsqueeze(torch.tensor([1, 2]), 1)
    tensor([[1],
            [2]])
    """
    dim = wrap_dim(dim, input.ndim + 1)
    shape, strides = list(input.dims), list(input.stride_tuple())
    step = shape[dim] * strides[dim] if dim < len(shape) else 1
    shape.insert(dim, 1)
    strides.insert(dim, step)
    return _strided(input, shape, strides)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Returns the tensor with a range of dimensions merged into one.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    start_dim : int, default 0
        The first dimension of the range.
    end_dim : int, default -1
        The last dimension of the range.

    Returns
    -------
    Tensor
        A tensor: a view if strides can express it, otherwise a copy.

    See Also
    --------
    torch.unflatten, torch.ravel, torch.reshape

    Examples
    --------
    >>> torch.flatten(torch.ones(2, 3, 4), start_dim=1).shape
    torch.Size([2, 12])
    """
    if not input.ndim:
        return input.reshape(1)
    start, end = wrap_dim(start_dim, input.ndim), wrap_dim(end_dim, input.ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    size = math.prod(input.dims[start : end + 1])
    return _core.t_reshape(input, [*input.dims[:start], size, *input.dims[end + 1 :]], False)


def ravel(input: Tensor) -> Tensor:
    """Returns all elements in one dimension.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.

    Returns
    -------
    Tensor
        A tensor of one dimension: a view if strides can express it, otherwise a copy.

    See Also
    --------
    torch.flatten, torch.reshape

    Examples
    --------
    >>> torch.ravel(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    return _core.t_reshape(input, [input.numel()], False)


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Returns a view with one dimension split into several.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int
        The dimension to split.
    sizes : sequence of ints
        The extents of its parts, one of which may be -1.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    See Also
    --------
    torch.flatten, torch.reshape

    Examples
    --------
    >>> torch.unflatten(torch.ones(6, 2), 0, (2, 3)).shape
    torch.Size([2, 3, 2])
    """
    dim = wrap_dim(dim, input.ndim)
    parts = list(sizes)
    if -1 in parts:
        known = math.prod(n for n in parts if n != -1)
        parts[parts.index(-1)] = input.dims[dim] // known if known else 0
    return _core.t_reshape(input, [*input.dims[:dim], *parts, *input.dims[dim + 1 :]], False)


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Returns a view of `length` elements along a dimension, starting at `start`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int
        The dimension; a negative one counts from the end.
    start : int
        The first index.
    length : int
        The number of indices.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    See Also
    --------
    torch.narrow_copy, torch.select, torch.index_select, torch.split

    Examples
    --------
    >>> torch.narrow(torch.arange(5), 0, 1, 3)
    tensor([1, 2, 3])
    """
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, input.ndim)
    n = input.dims[dim]
    start = operator.index(start)
    begin = start + n if start < 0 else start
    if not (begin >= 0 and length >= 0 and begin + length <= n):
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    shape, strides = list(input.dims), input.stride_tuple()
    shape[dim] = length
    return _strided(input, shape, list(strides), begin * strides[dim] if length else 0)


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Returns a view at one index of a dimension, without that dimension.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int
        The dimension; a negative one counts from the end.
    index : int
        The index; a negative one counts from the end.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    See Also
    --------
    torch.narrow, torch.index_select, torch.select_scatter

    Examples
    --------
    >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    dim = wrap_dim(dim, input.ndim)
    return input[(slice(None),) * dim + (operator.index(index),)]


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Returns a view with some dimensions moved to other positions.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    source : int or sequence of ints
        A dimension or several.
    destination : int or sequence of ints
        Their new positions.

    Returns
    -------
    Tensor
        A tensor on the same memory.

    Raises
    ------
    RuntimeError
        For numbers of dimensions that differ, or a dimension that is named twice.

    See Also
    --------
    torch.permute, torch.transpose

    Examples
    --------
    >>> torch.movedim(torch.ones(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    a = [wrap_dim(d, input.ndim) for d in (source if isinstance(source, (tuple, list)) else (source,))]
    b = [wrap_dim(d, input.ndim) for d in (destination if isinstance(destination, (tuple, list)) else (destination,))]
    if len(a) != len(b):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({source} dims) should contain the "
                           f"same number of dims as destination ({destination} dims)")  # fmt: skip
    for name, given, dims in (("source", source, a), ("destination", destination, b)):
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({given})")
    order = [k for k in range(input.ndim) if k not in a]
    for position, dim in sorted(zip(b, a, strict=True)):
        order.insert(position, dim)
    return _core.t_permute(input, order)


def unfold_copy(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Returns all windows along a dimension as `unfold` does, in memory of their own.

    Parameters
    ----------
    input : Tensor
        A tensor of at least one dimension.
    dimension : int
        The dimension.
    size : int
        The extent of a window.
    step : int
        The distance of two windows.

    Returns
    -------
    Tensor

    Raises
    ------
    RuntimeError
        For a window larger than the extent, or a step that is not positive.

    See Also
    --------
    torch.Tensor.unfold, torch.as_strided

    Examples
    --------
    >>> torch.unfold_copy(torch.arange(4), 0, 2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    return clone(unfold(input, dimension, size, step))


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """Returns a copy.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    memory_format : memory_format, optional
        The order of dimensions in memory, by default that of the tensor.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.Tensor.detach, torch.Tensor.copy_, torch.empty_like

    Examples
    --------
    >>> x = torch.tensor([1, 2])
    >>> y = torch.clone(x)
    >>> y[0] = 9
    >>> x
    tensor([1, 2])
    """
    return in_format(_core.t_cast(input, input.dtype_name), memory_format)


def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Returns a copy of a part of a dimension.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int
        The dimension.
    start : int
        The first index.
    length : int
        The extent of the part.

    Returns
    -------
    Tensor
        A tensor with memory of its own.

    See Also
    --------
    torch.narrow, torch.select

    Examples
    --------
    >>> torch.narrow_copy(torch.tensor([1, 2, 3]), 0, 1, 2)
    tensor([2, 3])
    """
    return narrow(input, dim, start, length).clone()


_BOTH = by_name(
    reshape, permute, transpose, t, adjoint, squeeze, unsqueeze, flatten, ravel, unflatten, broadcast_to, narrow,
    narrow_copy, select, movedim, as_strided, clone,
) | {"swapaxes": transpose, "swapdims": transpose, "moveaxis": movedim}  # fmt: skip
METHODS = _BOTH | by_name(view, view_as, reshape_as, expand, expand_as, unfold)
FUNCTIONS = _BOTH | by_name(broadcast_shapes, broadcast_tensors, unfold_copy)
