"""Tensors joined, divided, repeated and rearranged."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import astype, by_name, sizes, wrap_dim, write_out
from cuprous.torch._creation import from_numpy
from cuprous.torch._indexing import index_select
from cuprous.torch._shape import flatten, narrow, ravel, transpose, unsqueeze


def _common(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns the tensors cast to one dtype."""
    names = {x.dtype_name for x in tensors}
    if len(names) <= 1:
        return list(tensors)
    name = functools.reduce(_core.t_promote_types, names)
    return [astype(x, name) for x in tensors]


def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Concatenates tensors along a dimension. An empty tensor of one dimension is ignored.

    Parameters
    ----------
    tensors : sequence of Tensors
        Tensors of shapes that are equal except for the dimension.
    dim : int, default 0
        The dimension; a negative one counts from the end.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the dtype that those of the tensors promote to.

    Raises
    ------
    RuntimeError
        For shapes that do not fit.
    ValueError
        Without tensors.

    See Also
    --------
    torch.stack

    Examples
    --------
    >>> torch.cat([torch.tensor([1, 2]), torch.tensor([3])])
    tensor([1, 2, 3])
    """
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    parts = [x for x in tensors if x.dims != (0,)] or list(tensors)
    return write_out(out, _core.t_cat(_common(parts), dim))


def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Stacks tensors of one shape along a new dimension.

    Parameters
    ----------
    tensors : sequence of Tensors
        Tensors of one shape.
    dim : int, default 0
        The position of the new dimension.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor with one more dimension.

    Raises
    ------
    RuntimeError
        For different shapes.

    See Also
    --------
    torch.concat, torch.concatenate, torch.cat

    Examples
    --------
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

    Parameters
    ----------
    tensors : sequence of Tensors
        Tensors of shapes that are equal except for the dimension.

    Returns
    -------
    Tensor

    See Also
    --------
    torch.vstack, torch.dstack, torch.column_stack, torch.row_stack

    Examples
    --------
    >>> torch.hstack([torch.tensor([1, 2]), torch.tensor([3])])
    tensor([1, 2, 3])
    """
    tensors = [x if x.ndim else x.reshape(1) for x in tensors]
    if not tensors:
        raise RuntimeError("hstack expects a non-empty TensorList")
    return cat(tensors, 0 if tensors[0].ndim < 2 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenates tensors along the first dimension. Vectors become rows.

    Parameters
    ----------
    tensors : sequence of Tensors
        Tensors of shapes that are equal except for the first dimension.

    Returns
    -------
    Tensor
        A tensor of at least two dimensions.

    See Also
    --------
    torch.hstack, torch.dstack, torch.column_stack

    Examples
    --------
    >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    if not tensors:
        raise RuntimeError("vstack expects a non-empty TensorList")
    return cat([x.reshape(1, -1) if x.ndim < 2 else x for x in tensors], 0)


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Returns views of consecutive parts of one size, or of several sizes.

    Parameters
    ----------
    tensor : Tensor
        A tensor of at least one dimension.
    split_size_or_sections : int or sequence of ints
        The extent of each part, or a list of extents.
    dim : int, default 0
        The dimension; a negative one counts from the end.

    Returns
    -------
    tuple of Tensors
        A tuple of tensors; the last one may be smaller.

    See Also
    --------
    torch.chunk, torch.tensor_split, torch.split_with_sizes, torch.cat

    Examples
    --------
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
    before = (slice(None),) * dim
    return tuple([tensor[(*before, slice(at, at + length))] for at, length in zip(starts, parts, strict=False)])


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Returns at most `chunks` views of one size (the last may be smaller).

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    chunks : int
        The greatest number of parts.
    dim : int, default 0
        The dimension; a negative one counts from the end.

    Returns
    -------
    tuple of Tensors
        A tuple of tensors on the same memory.

    See Also
    --------
    torch.split, torch.tensor_split, torch.cat

    Examples
    --------
    >>> torch.chunk(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input.dims[wrap_dim(dim, input.ndim)]
    return split(input, max(-(-n // chunks), 1), dim)


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Returns views of the parts between indices, or of a number of parts of nearly one size.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    indices_or_sections : int or array_like
        The number of parts, or the indices where parts begin.
    dim : int, default 0
        The dimension; a negative one counts from the end.

    Returns
    -------
    tuple of Tensors
        A tuple of tensors on the same memory.

    See Also
    --------
    torch.split, torch.chunk, torch.hsplit, torch.vsplit

    Examples
    --------
    >>> torch.tensor_split(torch.arange(5), [1, 3])
    (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    n = input.dims[wrap_dim(dim, input.ndim)]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        each, more = divmod(n, indices_or_sections)
        return split(input, [each + (k < more) for k in range(indices_or_sections)], dim)
    marks = [0, *(min(max(i + n if i < 0 else i, 0), n) for i in indices_or_sections), n]
    return tuple(narrow(input, dim, a, max(b - a, 0)) for a, b in pairwise(marks))


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Returns a view for each index of a dimension.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int, default 0
        The dimension; a negative one counts from the end.

    Returns
    -------
    tuple of Tensors
        A tuple of tensors on the same memory.

    See Also
    --------
    torch.stack, torch.chunk, torch.split

    Examples
    --------
    >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    dim = wrap_dim(dim, input.ndim)
    before = (slice(None),) * dim
    return tuple([input[(*before, k)] for k in range(input.dims[dim])])


def repeat(self: Tensor, *repeats: Any) -> Tensor:
    """Returns a copy repeated along each dimension.

    Parameters
    ----------
    *repeats : int or sequence of ints
        How often each dimension is repeated, as integers or as one sequence.

    Returns
    -------
    Tensor

    Examples
    --------
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

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    *dims : int or sequence of ints
        How often each dimension is repeated, as integers or as one sequence.

    Returns
    -------
    Tensor

    See Also
    --------
    torch.repeat_interleave, torch.Tensor.repeat, torch.Tensor.expand

    Examples
    --------
    >>> torch.tile(torch.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    times = sizes(dims)
    return repeat(input, *([1] * (input.ndim - len(times)) + times))


def repeat_interleave(input: Tensor, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Tensor:
    """Returns a copy in which each element along a dimension is repeated.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    repeats : int or Tensor
        How often an element is repeated: an integer, or an int64 tensor with one for each.
    dim : int, optional
        The dimension; None for the flattened tensor.
    output_size : int, optional
        The extent of the result, which saves reading `repeats` on the host.

    Returns
    -------
    Tensor

    Raises
    ------
    RuntimeError
        If `output_size` is given and is not the extent of the result.

    See Also
    --------
    torch.tile, torch.Tensor.repeat

    Examples
    --------
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

        counts = repeats.tolist() if isinstance(repeats, Tensor) else list(repeats)
        index = from_numpy(np.repeat(np.arange(input.dims[dim]), counts)).to(input.device)
        check(index.numel())
        return index_select(input, dim, index)
    check(input.dims[dim] * repeats)
    spread = unsqueeze(input, dim + 1)
    wide = [*input.dims[: dim + 1], repeats, *input.dims[dim + 1 :]]
    return flatten(_core.t_cast(_core.t_expand(spread, wide), input.dtype_name), dim, dim + 1)


def flip(input: Tensor, *dims: Any) -> Tensor:
    """Returns a copy with some dimensions reversed.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    *dims : int or sequence of ints
        The dimensions, as integers or as one sequence.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.fliplr, torch.flipud, torch.rot90, torch.roll

    Examples
    --------
    >>> torch.flip(torch.tensor([1, 2, 3]), (0,))
    tensor([3, 2, 1])
    """
    flipped = {wrap_dim(d, input.ndim) for d in sizes(dims)}
    if not input.numel():
        return input.clone()
    shape, strides = list(input.dims), list(input.stride_tuple())
    offset = sum((shape[k] - 1) * strides[k] for k in flipped)
    strides = [-s if k in flipped else s for k, s in enumerate(strides)]
    return _core.t_cast(_core.t_strided(input, shape, strides, offset), input.dtype_name)


def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Returns a copy with elements shifted along dimensions. Those shifted past the end continue at the front.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    shifts : int or sequence of ints
        The distance, or one for each dimension.
    dims : int or sequence of ints, optional
        A dimension or several; None for the flattened tensor.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    Raises
    ------
    RuntimeError
        For numbers of shifts and of dimensions that differ.

    See Also
    --------
    torch.flip, torch.rot90

    Examples
    --------
    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    if dims is None:
        return roll(ravel(input), shifts, 0).reshape(input.dims)
    shifts = shifts if isinstance(shifts, (tuple, list)) else (shifts,)
    dims = dims if isinstance(dims, (tuple, list)) else (dims,)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims: {len(dims)}")
    for shift, dim in zip(shifts, dims, strict=True):
        n = input.dims[wrap_dim(dim, input.ndim)]
        by = shift % n if n else 0
        if by:
            input = cat([narrow(input, dim, n - by, by), narrow(input, dim, 0, n - by)], dim)
    return input.clone()


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Returns the coordinates of a grid, one tensor for each dimension.

    Parameters
    ----------
    *tensors : Tensor or sequence of Tensors
        Vectors, or one sequence of them.
    indexing : str, default "ij"
        "ij" for the order of the vectors, "xy" for the first two swapped.

    Returns
    -------
    tuple of Tensors
        A tuple of views, one for each vector.

    See Also
    --------
    torch.cartesian_prod, torch.combinations

    Examples
    --------
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


def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Returns `torch.chunk`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    chunks : int
        The number of parts.
    dim : int, default 0
        The dimension.

    Returns
    -------
    tuple of Tensors

    See Also
    --------
    torch.chunk, torch.unsafe_split

    Examples
    --------
    >>> torch.unsafe_chunk(torch.tensor([1, 2]), 2)
    (tensor([1]), tensor([2]))
    """
    return chunk(input, chunks, dim)


def unsafe_split(tensor: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Returns `torch.split`.

    Parameters
    ----------
    tensor : Tensor
        A tensor of any shape and dtype.
    split_size : int
        The extent of each part.
    dim : int, default 0
        The dimension.

    Returns
    -------
    tuple of Tensors

    See Also
    --------
    torch.split, torch.unsafe_chunk

    Examples
    --------
    >>> torch.unsafe_split(torch.tensor([1, 2]), 1)
    (tensor([1]), tensor([2]))
    """
    return split(tensor, split_size, dim)


def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Returns `torch.split` with an extent for each part.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    split_sizes : sequence of ints
        The extents.
    dim : int, default 0
        The dimension.

    Returns
    -------
    tuple of Tensors

    See Also
    --------
    torch.split_with_sizes, torch.unsafe_split

    Examples
    --------
    >>> torch.unsafe_split_with_sizes(torch.tensor([1, 2, 3]), [1, 2])
    (tensor([1]), tensor([2, 3]))
    """
    return split(input, list(split_sizes), dim)


_BOTH = by_name(chunk, tensor_split, unbind, tile, repeat_interleave, flip, roll, split,
                unsafe_chunk, unsafe_split, unsafe_split_with_sizes)  # fmt: skip
METHODS = _BOTH | by_name(repeat)
FUNCTIONS = _BOTH | {"concat": cat, "concatenate": cat} | by_name(cat, stack, hstack, vstack, meshgrid)
