"""Views and rearrangements."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from cuprous import _core
from cuprous._common.arguments import broadcast_shapes as common
from cuprous._core import Tensor
from cuprous.torch._args import astype, by_name, sizes, wrap_dim, write_out
from cuprous.torch._creation import from_numpy
from cuprous.torch._memory_format import in_format
from cuprous.torch._types import Size, dtype_name
from cuprous.torch._types import dtype as dtype_class

_strided = _core.t_strided


def reshape(input: Tensor, *shape: Any) -> Tensor:
    """Returns the elements in another shape: a view if strides can express it, otherwise a copy.

    Args:
        input: a tensor of any shape and dtype.
        *shape: the extents, as integers or as one sequence; one of them may be -1.

    Returns:
        A tensor of the given extents.

    Raises:
        RuntimeError: if the shape has another number of elements.

    Examples:
        >>> torch.arange(6).reshape(2, -1)
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    return _core.t_reshape(input, sizes(shape), False)


def _view(array: Any, name: str) -> Any:
    return array.view(name)


def view(self: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """Returns a view with another shape, or of the same bytes with another dtype.

    Args:
        *shape: the extents, as integers or as one sequence, one of which may be -1; or a dtype.
        dtype: the dtype to read the same bytes as.

    Returns:
        A tensor on the same memory.

    Raises:
        RuntimeError: if strides cannot express the shape, or the bytes are no whole elements.
        NotImplementedError: for another dtype of a tensor that requires gradients.

    Examples:
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

    Args:
        other: the tensor whose shape the view gets.

    Returns:
        A tensor on the same memory.

    Examples:
        >>> torch.arange(4).view_as(torch.ones(2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    return _core.t_reshape(self, list(other.dims), True)


def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """Returns the elements in another tensor's shape.

    Args:
        other: the tensor whose shape the result gets.

    Returns:
        A tensor.

    Examples:
        >>> torch.arange(4).reshape_as(torch.ones(2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    return _core.t_reshape(self, list(other.dims), False)


def permute(input: Tensor, *dims: Any) -> Tensor:
    """Returns a view with the dimensions in another order.

    Args:
        input: a tensor of any shape and dtype.
        *dims: the dimensions in their new order, as integers or as one sequence.

    Returns:
        A tensor on the same memory.

    Examples:
        >>> torch.ones(2, 3, 4).permute(2, 0, 1).shape
        torch.Size([4, 2, 3])
    """
    return _core.t_permute(input, sizes(dims))


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Returns a view with two dimensions swapped.

    Args:
        input: a tensor of any shape and dtype.
        dim0: a dimension.
        dim1: another dimension.

    Returns:
        A tensor on the same memory.

    Examples:
        >>> torch.transpose(torch.tensor([[1, 2], [3, 4]]), 0, 1)
        tensor([[1, 3],
                [2, 4]])
    """
    n = input.ndim
    a, b = wrap_dim(dim0, n), wrap_dim(dim1, n)
    order = list(range(n))
    if n:
        order[a], order[b] = b, a
    return _core.t_permute(input, order)


def t(input: Tensor) -> Tensor:
    """Returns a transposed matrix. A vector is returned as it is.

    Args:
        input: a tensor of at most two dimensions.

    Returns:
        A tensor on the same memory.

    Raises:
        RuntimeError: for more than two dimensions.

    Examples:
        >>> torch.t(torch.tensor([[1, 2], [3, 4]]))
        tensor([[1, 3],
                [2, 4]])
    """
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input.T


def adjoint(input: Tensor) -> Tensor:
    """Returns the conjugate transpose of matrices.

    Args:
        input: a tensor of at least two dimensions.

    Returns:
        A tensor with the last two dimensions swapped.

    Examples:
        >>> torch.adjoint(torch.tensor([[1 + 1j, 2 + 0j]]))
        tensor([[1.-1.j],
                [2.-0.j]])
    """
    from cuprous.torch._pointwise import conj  # which imports this module

    return conj(input.mT)


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Returns a view without dimensions of extent 1: all of them, or those given.

    Args:
        input: a tensor of any shape and dtype.
        dim: a dimension or several; None for all.

    Returns:
        A tensor on the same memory.

    Examples:
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

    Args:
        input: a tensor of any shape and dtype.
        dim: the position of the new dimension.

    Returns:
        A tensor on the same memory.

    Examples:
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

    Args:
        input: a tensor of any shape and dtype.
        start_dim: the first dimension of the range.
        end_dim: the last dimension of the range.

    Returns:
        A tensor: a view if strides can express it, otherwise a copy.

    Examples:
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

    Args:
        input: a tensor of any shape and dtype.

    Returns:
        A tensor of one dimension: a view if strides can express it, otherwise a copy.

    Examples:
        >>> torch.ravel(torch.tensor([[1, 2], [3, 4]]))
        tensor([1, 2, 3, 4])
    """
    return _core.t_reshape(input, [input.numel()], False)


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Returns a view with one dimension split into several.

    Args:
        input: a tensor of any shape and dtype.
        dim: the dimension to split.
        sizes: the extents of its parts, one of which may be -1.

    Returns:
        A tensor on the same memory.

    Examples:
        >>> torch.unflatten(torch.ones(6, 2), 0, (2, 3)).shape
        torch.Size([2, 3, 2])
    """
    dim = wrap_dim(dim, input.ndim)
    parts = list(sizes)
    if -1 in parts:
        known = math.prod(n for n in parts if n != -1)
        parts[parts.index(-1)] = input.dims[dim] // known if known else 0
    return _core.t_reshape(input, [*input.dims[:dim], *parts, *input.dims[dim + 1 :]], False)


def expand(self: Tensor, *shape: Any) -> Tensor:
    """Returns a view in which dimensions of extent 1 are repeated.

    Args:
        *shape: the extents, as integers or as one sequence; -1 keeps an extent.

    Returns:
        A tensor on the same memory.

    Examples:
        >>> torch.tensor([[1], [2]]).expand(2, 3)
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    return _core.t_expand(self, sizes(shape))


def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Returns `expand` to another tensor's shape.

    Args:
        other: the tensor whose shape the view gets.

    Returns:
        A tensor on the same memory.

    Examples:
        >>> torch.tensor([1, 2]).expand_as(torch.ones(2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    return _core.t_expand(self, list(other.dims))


def broadcast_to(input: Tensor, *shape: Any) -> Tensor:
    """Returns a view in which dimensions of extent 1 are repeated, as `Tensor.expand` does.

    Args:
        input: a tensor of any shape and dtype.
        *shape: the extents, as integers or as one sequence.

    Returns:
        A tensor on the same memory.

    Examples:
        >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    return _core.t_expand(input, sizes(shape))


def broadcast_shapes(*shapes: Any) -> Any:
    """Returns the shape to which all given shapes broadcast.

    Args:
        *shapes: sequences of extents.

    Returns:
        A `torch.Size`.

    Raises:
        RuntimeError: for shapes that do not broadcast.

    Examples:
        >>> torch.broadcast_shapes((2, 1), (3,))
        torch.Size([2, 3])
    """
    try:
        return Size(common(*(tuple(s) if not isinstance(s, int) else (s,) for s in shapes)))
    except ValueError:
        raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape") from None


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Returns the tensors broadcast to one shape.

    Args:
        *tensors: tensors whose shapes broadcast.

    Returns:
        A tuple of views.

    Examples:
        >>> a, b = torch.broadcast_tensors(torch.ones(2, 1), torch.ones(3))
        >>> a.shape, b.shape
        (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    shape = list(broadcast_shapes(*(x.dims for x in tensors)))
    return tuple(_core.t_expand(x, shape) for x in tensors)


def _common(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns the tensors cast to one dtype."""
    names = {x.dtype_name for x in tensors}
    if len(names) <= 1:
        return list(tensors)
    name = functools.reduce(_core.t_promote_types, names)
    return [astype(x, name) for x in tensors]


def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenates tensors along a dimension. An empty tensor of one dimension is ignored.

    Args:
        tensors: tensors of shapes that are equal except for the dimension.
        dim: the dimension; a negative one counts from the end.
        out: a tensor of the result's shape to write to.

    Returns:
        A tensor of the dtype that those of the tensors promote to.

    Raises:
        RuntimeError: for shapes that do not fit.

    Examples:
        >>> torch.cat([torch.tensor([1, 2]), torch.tensor([3])])
        tensor([1, 2, 3])
    """
    parts = [x for x in tensors if x.dims != (0,)] or list(tensors)
    return write_out(out, _core.t_cat(_common(parts), dim))


def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Stacks tensors of one shape along a new dimension.

    Args:
        tensors: tensors of one shape.
        dim: the position of the new dimension.
        out: a tensor of the result's shape to write to.

    Returns:
        A tensor with one more dimension.

    Raises:
        RuntimeError: for different shapes.

    Examples:
        >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]
    for k, x in enumerate(tensors):
        if x.dims != first.dims:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first.dims)} at entry 0 and "
                               f"{list(x.dims)} at entry {k}")  # fmt: skip
    return cat([unsqueeze(x, dim) for x in tensors], dim, out=out)


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenates tensors along the second dimension. Vectors are concatenated along the first one.

    Args:
        tensors: tensors of shapes that are equal except for the dimension.

    Returns:
        A tensor.

    Examples:
        >>> torch.hstack([torch.tensor([1, 2]), torch.tensor([3])])
        tensor([1, 2, 3])
    """
    tensors = [x if x.ndim else x.reshape(1) for x in tensors]
    return cat(tensors, 0 if tensors[0].ndim < 2 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenates tensors along the first dimension. Vectors become rows.

    Args:
        tensors: tensors of shapes that are equal except for the first dimension.

    Returns:
        A tensor of at least two dimensions.

    Examples:
        >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    return cat([x.reshape(1, -1) if x.ndim < 2 else x for x in tensors], 0)


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Returns a view of `length` elements along a dimension, starting at `start`.

    Args:
        input: a tensor of any shape and dtype.
        dim: the dimension; a negative one counts from the end.
        start: the first index.
        length: the number of indices.

    Returns:
        A tensor on the same memory.

    Examples:
        >>> torch.narrow(torch.arange(5), 0, 1, 3)
        tensor([1, 2, 3])
    """
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

    Args:
        input: a tensor of any shape and dtype.
        dim: the dimension; a negative one counts from the end.
        index: the index; a negative one counts from the end.

    Returns:
        A tensor on the same memory.

    Examples:
        >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 1, 0)
        tensor([1, 3])
    """
    dim = wrap_dim(dim, input.ndim)
    return input[(slice(None),) * dim + (operator.index(index),)]


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Returns views of consecutive parts of one size, or of several sizes.

    Args:
        tensor: a tensor of at least one dimension.
        split_size_or_sections: the extent of each part, or a list of extents.
        dim: the dimension; a negative one counts from the end.

    Returns:
        A tuple of tensors; the last one may be smaller.

    Examples:
        >>> torch.split(torch.arange(5), 2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    dim = wrap_dim(dim, tensor.ndim)
    n = tensor.dims[dim]
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size <= 0 and n:
            raise RuntimeError(f"split expects split_size be positive, but got split_size={size}")
        parts = [min(size, n - at) for at in range(0, n, size)] if n else [0]
    else:
        parts = list(split_size_or_sections)
        if sum(parts) != n:
            raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
                               f"dimension {dim}), but got split_sizes={parts}")  # fmt: skip
    starts = accumulate(parts, initial=0)
    return tuple(narrow(tensor, dim, at, length) for at, length in zip(starts, parts, strict=False))


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Returns at most `chunks` views of one size (the last may be smaller).

    Args:
        input: a tensor of any shape and dtype.
        chunks: the greatest number of parts.
        dim: the dimension; a negative one counts from the end.

    Returns:
        A tuple of tensors on the same memory.

    Examples:
        >>> torch.chunk(torch.arange(5), 2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input.dims[wrap_dim(dim, input.ndim)]
    return split(input, max(-(-n // chunks), 1), dim)


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Returns views of the parts between indices, or of a number of parts of nearly one size.

    Args:
        input: a tensor of any shape and dtype.
        indices_or_sections: the number of parts, or the indices where parts begin.
        dim: the dimension; a negative one counts from the end.

    Returns:
        A tuple of tensors on the same memory.

    Examples:
        >>> torch.tensor_split(torch.arange(5), [1, 3])
        (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    n = input.dims[wrap_dim(dim, input.ndim)]
    if isinstance(indices_or_sections, int):
        each, more = divmod(n, indices_or_sections)
        return split(input, [each + (k < more) for k in range(indices_or_sections)], dim)
    marks = [0, *(min(max(i + n if i < 0 else i, 0), n) for i in indices_or_sections), n]
    return tuple(narrow(input, dim, a, max(b - a, 0)) for a, b in pairwise(marks))


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Returns a view for each index of a dimension.

    Args:
        input: a tensor of any shape and dtype.
        dim: the dimension; a negative one counts from the end.

    Returns:
        A tuple of tensors on the same memory.

    Examples:
        >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
    dim = wrap_dim(dim, input.ndim)
    return tuple(select(input, dim, k) for k in range(input.dims[dim]))


def repeat(self: Tensor, *repeats: Any) -> Tensor:
    """Returns a copy repeated along each dimension.

    Args:
        *repeats: how often each dimension is repeated, as integers or as one sequence.

    Returns:
        A tensor.

    Examples:
        >>> torch.tensor([1, 2]).repeat(2, 2)
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
    """
    times = sizes(repeats)
    lead = len(times) - self.ndim
    if lead < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = [1] * lead + list(self.dims)
    doubled = [n for pair in zip([1] * len(shape), shape, strict=True) for n in pair]
    wide = [n for pair in zip(times, shape, strict=True) for n in pair]
    spread = _core.t_expand(_core.t_reshape(self, doubled, False), wide)
    return _core.t_reshape(
        _core.t_cast(spread, self.dtype_name), [a * b for a, b in zip(times, shape, strict=True)], False
    )


def tile(input: Tensor, *dims: Any) -> Tensor:
    """Returns a copy repeated along each dimension. Missing leading repetitions count as 1.

    Args:
        input: a tensor of any shape and dtype.
        *dims: how often each dimension is repeated, as integers or as one sequence.

    Returns:
        A tensor.

    Examples:
        >>> torch.tile(torch.tensor([1, 2]), (2,))
        tensor([1, 2, 1, 2])
    """
    times = sizes(dims)
    return repeat(input, *([1] * (input.ndim - len(times)) + times))


def repeat_interleave(input: Tensor, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Returns a copy in which each element along a dimension is repeated.

    Args:
        input: a tensor of any shape and dtype.
        repeats: how often an element is repeated: an integer, or an int64 tensor with one for each.
        dim: the dimension; None for the flattened tensor.
        output_size: the extent of the result, which saves reading `repeats` on the host.

    Returns:
        A tensor.

    Raises:
        RuntimeError: if `output_size` is given and is not the extent of the result.

    Examples:
        >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
        tensor([1, 1, 2, 2])
    """
    if dim is None:
        input, dim = ravel(input), 0
    dim = wrap_dim(dim, input.ndim)
    if isinstance(repeats, Tensor) and repeats.numel() == 1:
        repeats = repeats.item()

    def check(size: int) -> None:
        if output_size is not None and output_size != size:
            raise RuntimeError(f"repeat_interleave: expected output_size {size}, got {output_size}")

    if not isinstance(repeats, int):
        import numpy as np

        from cuprous.torch._indexing import index_select  # which imports this module

        counts = repeats.tolist() if isinstance(repeats, Tensor) else list(repeats)
        index = from_numpy(np.repeat(np.arange(input.dims[dim]), counts)).to(input.device)
        check(index.numel())
        return index_select(input, dim, index)
    check(input.dims[dim] * repeats)
    spread = unsqueeze(input, dim + 1)
    wide = [*input.dims[: dim + 1], repeats, *input.dims[dim + 1 :]]
    return flatten(_core.t_cast(_core.t_expand(spread, wide), input.dtype_name), dim, dim + 1)


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Returns a view with some dimensions moved to other positions.

    Args:
        input: a tensor of any shape and dtype.
        source: a dimension or several.
        destination: their new positions.

    Returns:
        A tensor on the same memory.

    Examples:
        >>> torch.movedim(torch.ones(2, 3, 4), 0, -1).shape
        torch.Size([3, 4, 2])
    """
    a = [wrap_dim(d, input.ndim) for d in (source if isinstance(source, (tuple, list)) else (source,))]
    b = [wrap_dim(d, input.ndim) for d in (destination if isinstance(destination, (tuple, list)) else (destination,))]
    order = [k for k in range(input.ndim) if k not in a]
    for position, dim in sorted(zip(b, a, strict=True)):
        order.insert(position, dim)
    return _core.t_permute(input, order)


def flip(input: Tensor, *dims: Any) -> Tensor:
    """Returns a copy with some dimensions reversed.

    Args:
        input: a tensor of any shape and dtype.
        *dims: the dimensions, as integers or as one sequence.

    Returns:
        A tensor of the shape of `input`.

    Examples:
        >>> torch.flip(torch.tensor([1, 2, 3]), (0,))
        tensor([3, 2, 1])
    """
    flipped = {wrap_dim(d, input.ndim) for d in sizes(dims)}
    if not input.numel():
        return input.clone()
    shape, strides = list(input.dims), list(input.stride_tuple())
    offset = sum((shape[k] - 1) * strides[k] for k in flipped)
    strides = [-s if k in flipped else s for k, s in enumerate(strides)]
    return _core.t_cast(_strided(input, shape, strides, offset), input.dtype_name)


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Returns a copy with elements shifted along dimensions. Those shifted past the end continue at the front.

    Args:
        input: a tensor of any shape and dtype.
        shifts: the distance, or one for each dimension.
        dims: a dimension or several; None for the flattened tensor.

    Returns:
        A tensor of the shape of `input`.

    Examples:
        >>> torch.roll(torch.tensor([1, 2, 3]), 1)
        tensor([3, 1, 2])
    """
    if dims is None:
        return roll(ravel(input), shifts, 0).reshape(input.dims)
    shifts = shifts if isinstance(shifts, (tuple, list)) else (shifts,)
    dims = dims if isinstance(dims, (tuple, list)) else (dims,)
    for shift, dim in zip(shifts, dims, strict=True):
        n = input.dims[wrap_dim(dim, input.ndim)]
        by = shift % n if n else 0
        if by:
            input = cat([narrow(input, dim, n - by, by), narrow(input, dim, 0, n - by)], dim)
    return input.clone()


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

    Args:
        input: a tensor of at least two dimensions.
        diagonal: the diagonal that bounds the triangle; 0 is the main one, positive ones are above it.
        out: a tensor of the result's shape to write to.

    Returns:
        A tensor of the shape of `input`.

    Examples:
        >>> torch.tril(torch.ones(2, 2))
        tensor([[1., 0.],
                [1., 1.]])
    """
    return write_out(out, _triangle(input, diagonal, True))


def triu(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Returns the upper triangle, with zeros elsewhere.

    Args:
        input: a tensor of at least two dimensions.
        diagonal: the diagonal that bounds the triangle; 0 is the main one, positive ones are above it.
        out: a tensor of the result's shape to write to.

    Returns:
        A tensor of the shape of `input`.

    Examples:
        >>> torch.triu(torch.ones(2, 2))
        tensor([[1., 1.],
                [0., 1.]])
    """
    return write_out(out, _triangle(input, diagonal, False))


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Returns a view of diagonals, along the last dimension.

    Args:
        input: a tensor of at least two dimensions.
        offset: the diagonal; 0 is the main one, positive ones are above it.
        dim1: the dimension of the rows.
        dim2: the dimension of the columns.

    Returns:
        A tensor on the same memory, without the two dimensions and with a new last one.

    Examples:
        >>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    a, b = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    shape, strides = input.dims, input.stride_tuple()
    length = max(min(shape[a] + min(offset, 0), shape[b] - max(offset, 0)), 0)
    start = (offset * strides[b] if offset > 0 else -offset * strides[a]) if length else 0
    rest = [k for k in range(input.ndim) if k not in (a, b)]
    return _strided(
        input, [*(shape[k] for k in rest), length], [*(strides[k] for k in rest), strides[a] + strides[b]], start
    )


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Returns the diagonal of a matrix, or a matrix with a vector on its diagonal.

    Args:
        input: a vector or a matrix.
        diagonal: the diagonal; 0 is the main one, positive ones are above it.

    Returns:
        A vector for a matrix, and a matrix for a vector.

    Examples:
        >>> torch.diag(torch.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """
    if input.ndim == 2:
        return _core.t_cast(globals()["diagonal"](input, diagonal), input.dtype_name)
    return diag_embed(input, diagonal)


def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Returns matrices with the elements of the last dimension on their diagonals.

    Args:
        input: a tensor of at least one dimension.
        offset: the diagonal; 0 is the main one, positive ones are above it.
        dim1: the dimension of the rows.
        dim2: the dimension of the columns.

    Returns:
        A tensor with one more dimension.

    Examples:
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


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Returns the coordinates of a grid, one tensor for each dimension.

    Args:
        *tensors: vectors, or one sequence of them.
        indexing: "ij" for the order of the vectors, "xy" for the first two swapped.

    Returns:
        A tuple of views, one for each vector.

    Examples:
        >>> rows, columns = torch.meshgrid(torch.tensor([0, 1]), torch.tensor([5, 6]))
        >>> columns
        tensor([[5, 6],
                [5, 6]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    shape = [x.numel() for x in tensors]
    grids = [
        _core.t_expand(_core.t_reshape(x, [-1 if k == i else 1 for i in range(len(shape))], False), shape)
        for k, x in enumerate(tensors)
    ]
    return tuple(transpose(g, 0, 1) for g in grids) if indexing == "xy" and len(shape) > 1 else tuple(grids)


def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """Returns a view of the memory with the given strides.

    Args:
        input: a tensor of any shape and dtype.
        size: the extents.
        stride: the strides in elements.
        storage_offset: the index of the first element, by default that of the tensor.

    Returns:
        A tensor on the same memory.

    Raises:
        RuntimeError: if the view would not be within the memory.

    Examples:
        >>> torch.as_strided(torch.arange(4), (2, 2), (1, 1))
        tensor([[0, 1],
                [1, 2]])
    """
    start = 0 if storage_offset is None else storage_offset - input.storage_offset()
    return _strided(input, list(size), list(stride), start)


def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Returns a view of all windows along a dimension. The elements of a window are the last dimension.

    Args:
        dimension: the dimension.
        size: the extent of a window.
        step: the distance of two windows.

    Returns:
        A tensor on the same memory.

    Raises:
        RuntimeError: for a window larger than the extent, or a step that is not positive.

    Examples:
        >>> torch.arange(4).unfold(0, 2, 1)
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
    """
    dim = wrap_dim(dimension, self.ndim)
    n = self.dims[dim]
    if size < 0 or step <= 0:
        raise RuntimeError(f"size is {size} but must be >= 0" if size < 0 else f"step is {step} but must be > 0")
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {n} but size is {size}")
    shape, strides = list(self.dims), list(self.stride_tuple())
    own = strides[dim]
    shape[dim], strides[dim] = (n - size) // step + 1, own * step
    return _strided(self, [*shape, size], [*strides, own])


def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """Returns a copy.

    Args:
        input: a tensor of any shape and dtype.
        memory_format: the order of dimensions in memory, by default that of the tensor.

    Returns:
        A tensor of the shape and dtype of `input`.

    Examples:
        >>> x = torch.tensor([1, 2])
        >>> y = torch.clone(x)
        >>> y[0] = 9
        >>> x
        tensor([1, 2])
    """
    return in_format(_core.t_cast(input, input.dtype_name), memory_format)


_BOTH = by_name(
    reshape, permute, transpose, t, adjoint, squeeze, unsqueeze, flatten, ravel, unflatten, broadcast_to, narrow,
    select, chunk, tensor_split, unbind, tile, repeat_interleave, movedim, flip, roll, tril, triu, diagonal, diag,
    diag_embed, as_strided, clone, split
) | {"swapaxes": transpose, "swapdims": transpose, "moveaxis": movedim}  # fmt: skip
METHODS = _BOTH | by_name(view, view_as, reshape_as, expand, expand_as, repeat, unfold)
FUNCTIONS = _BOTH | {"concat": cat, "concatenate": cat} | by_name(
    broadcast_shapes, broadcast_tensors, cat, stack, hstack, vstack, meshgrid
)  # fmt: skip
