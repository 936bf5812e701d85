"""Sorting and related functions. The order is computed on arrays; values are then gathered by index."""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common.operands import on_array_device
from cuprous._core import Tensor
from cuprous.torch._args import by_name, wrap_dim
from cuprous.torch._extremes import only, picked, values_indices
from cuprous.torch._indexing import index_select, nonzero, take_along_dim
from cuprous.torch._joining import cat
from cuprous.torch._reductions import any as any_along
from cuprous.torch._shape import narrow, transpose


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Returns the indices that sort a tensor along a dimension. The sort is always stable.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    dim : int, default -1
        The dimension; a negative one counts from the end.
    descending : bool, default False
        Whether the largest element comes first.
    stable : bool, default False
        For PyTorch's signature; it has no effect.

    Returns
    -------
    Tensor
        An int64 tensor of the shape of `input`.

    See Also
    --------
    torch.sort, torch.topk, torch.msort

    Examples
    --------
    >>> torch.argsort(torch.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    if not input.ndim:
        return _core.t_full([], 0, "int64", input.device_name)
    dim = wrap_dim(dim, input.ndim)
    x = transpose(input.detach(), dim, -1)
    # Sorted in reverse and flipped, so that equal elements keep their order.
    order = _core.t_wrap(_core.argsort((_reversed(x) if descending else x).contiguous().as_array()))
    return transpose((x.dims[-1] - 1) - _reversed(order) if descending else order, dim, -1)


def _reversed(x: Tensor) -> Tensor:
    """Returns a view with the last dimension reversed."""
    (*strides, last), n = x.stride_tuple(), x.dims[-1]
    return _core.t_strided(x, list(x.dims), [*strides, -last], (n - 1) * last) if n else x


def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> values_indices:
    """Returns the sorted values along a dimension and their indices. The sort is always stable.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    dim : int, default -1
        The dimension; a negative one counts from the end.
    descending : bool, default False
        Whether the largest element comes first.
    stable : bool, default False
        For PyTorch's signature; it has no effect.

    Returns
    -------
    values_indices
        The named tuple `(values, indices)` of the shape of `input`, with int64 indices.

    See Also
    --------
    torch.argsort, torch.topk, torch.msort, torch.kthvalue

    Examples
    --------
    >>> values, indices = torch.sort(torch.tensor([3, 1, 2]))
    >>> values, indices
    (tensor([1, 2, 3]), tensor([1, 2, 0]))
    """
    index = argsort(input, dim, descending)
    return values_indices(take_along_dim(input, index, dim), index)


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> values_indices:
    """Returns the k largest or smallest values along a dimension, sorted, and their indices.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    k : int
        The number of values.
    dim : int, default -1
        The dimension; a negative one counts from the end.
    largest : bool, default True
        Whether the largest values are returned; the smallest otherwise.
    sorted : bool, default True
        For PyTorch's signature; the values are always sorted.

    Returns
    -------
    values_indices
        The named tuple `(values, indices)`, with int64 indices.

    See Also
    --------
    torch.sort, torch.kthvalue, torch.max

    Examples
    --------
    >>> torch.topk(torch.tensor([3, 1, 4, 2]), 2).values
    tensor([4, 3])
    """
    n = input.dims[wrap_dim(dim, input.ndim)] if input.ndim else 1
    if not 0 <= k <= n:
        raise RuntimeError("selected index k out of range")
    index = argsort(input, dim, largest)
    index = index.narrow(dim, 0, k) if input.ndim else index
    return values_indices(take_along_dim(input, index, dim), index)


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> values_indices:
    """Returns the k-th smallest value along a dimension and its index.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    k : int
        The rank, from 1.
    dim : int, default -1
        The dimension; a negative one counts from the end.
    keepdim : bool, default False
        Whether to keep reduced dimensions with extent 1.

    Returns
    -------
    values_indices
        The named tuple `(values, indices)`, with an int64 index.

    See Also
    --------
    torch.topk, torch.sort, torch.median

    Examples
    --------
    >>> torch.kthvalue(torch.tensor([3, 1, 2]), 2).values
    tensor(2)
    """
    if not 1 <= k <= (input.dims[dim] if input.ndim else 1):
        raise RuntimeError("kthvalue(): selected number k out of range for dimension")
    if not input.ndim:
        return only(input)
    return picked(input, argsort(input, dim).narrow(dim, k - 1, 1), dim, keepdim)


@on_array_device
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Returns the median. Of two middle elements it is the lower one.

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
        A tensor without dimensions; with `dim` the named tuple `(values, indices)`.

    See Also
    --------
    torch.nanmedian, torch.mean, torch.quantile, torch.kthvalue

    Examples
    --------
    >>> torch.median(torch.tensor([4, 1, 3, 2]))
    tensor(2)
    """
    if dim is None:
        flat = input.reshape(-1)
        order = argsort(flat)
        return take_along_dim(flat, order[(flat.numel() - 1) // 2 : (flat.numel() - 1) // 2 + 1], 0).reshape(())
    if not input.ndim:
        return only(input)
    n = input.dims[wrap_dim(dim, input.ndim)]
    return picked(input, argsort(input, dim).narrow(dim, (n - 1) // 2, 1), dim, keepdim)


def searchsorted(sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns the indices at which elements would be inserted into sorted sequences: a vector, or one for each row.

    Parameters
    ----------
    sorted_sequence : Tensor
        A vector, or a tensor with the leading dimensions of `input`.
    input : Tensor
        A tensor of any shape, of a real dtype.
    out_int32 : bool, default False
        Whether the result is int32.
    right : bool, default False
        Whether to insert behind equal elements.
    side : str, optional
        "left" or "right", as `right` says.
    sorter : Tensor, optional
        The order of the sequences, if they are not sorted.

    Returns
    -------
    Tensor
        An integer tensor of the shape of `input`.

    Raises
    ------
    RuntimeError
        For another side, one that contradicts `right`, or shapes that do not fit.

    See Also
    --------
    torch.bucketize, torch.isin

    Examples
    --------
    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))
    tensor([1, 2])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    if sorter is not None:
        sorted_sequence = _core.t_wrap(cp.take_along_axis(sorted_sequence.as_array(), sorter.as_array(), -1))
    where = "right" if right or side == "right" else "left"
    values = input.as_array() if isinstance(input, Tensor) else cp.asarray(input)
    sequence = sorted_sequence.as_array()
    if sequence.ndim == 1:
        found = cp.searchsorted(sequence, values, side=where)
    else:
        if values.shape[:-1] != sequence.shape[:-1]:
            raise RuntimeError(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
                "boundaries tensor and input value tensor must match, but we got boundaries tensor "
                f"{list(sequence.shape)} and input value tensor {list(values.shape)}"
            )
        compare = cp.less_equal if where == "right" else cp.less
        found = cp.sum(compare(sequence[..., None, :], values[..., None]), -1)
    return _core.t_wrap(cp.astype(found, "int32" if out_int32 else "int64"))


@on_array_device
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Returns how often each integer from 0 to the largest occurs.

    Parameters
    ----------
    input : Tensor
        A vector of nonnegative integers.
    weights : Tensor, optional
        What an occurrence counts, a vector of the same length; 1 by default.
    minlength : int, default 0
        The least length of the result.

    Returns
    -------
    Tensor
        A vector, of int64 without weights.

    Raises
    ------
    RuntimeError
        For negative integers, or other shapes.

    See Also
    --------
    torch.histc, torch.histogram, torch.unique

    Examples
    --------
    >>> torch.bincount(torch.tensor([0, 1, 1, 3]))
    tensor([1, 2, 0, 1])
    """
    try:
        counts = cp.bincount(input.as_array(), None if weights is None else weights.as_array(), minlength)
    except (TypeError, ValueError) as error:
        raise RuntimeError(f"bincount only supports 1-d non-negative integral inputs: {error}") from None
    return _core.t_wrap(counts)


def msort(input: Tensor) -> Tensor:
    """Returns the values sorted along the first dimension.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.sort, torch.argsort

    Examples
    --------
    >>> torch.msort(torch.tensor([[3, 1], [2, 4]]))
    tensor([[2, 1],
            [3, 4]])
    """
    return sort(input, 0).values


@on_array_device
def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any:  # fmt: skip
    """Returns the distinct elements in order. Their number is read on the host. Each NaN is distinct from the others.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    sorted : bool, default True
        For PyTorch's signature; the result is always sorted.
    return_inverse : bool, default False
        Whether to return, for each element, its index in the result.
    return_counts : bool, default False
        Whether to return how often each element occurs.
    dim : int, optional
        The dimension whose slices are compared, which are ordered like words; None for single elements.

    Returns
    -------
    Tensor
        A tensor, or a tuple of it with int64 inverse indices and counts.

    See Also
    --------
    torch.unique_consecutive, torch.bincount

    Examples
    --------
    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    axis = None if dim is None else wrap_dim(dim, input.ndim)
    found = cp.unique(
        input.as_array(), return_inverse=return_inverse, return_counts=return_counts, axis=axis, equal_nan=False
    )
    parts = [_core.t_wrap(part) for part in found] if isinstance(found, tuple) else [_core.t_wrap(found)]
    if axis is not None and return_inverse:
        parts[1] = parts[1].reshape(-1)
    return tuple(parts) if len(parts) > 1 else parts[0]


def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None) -> Any:  # fmt: skip
    """Returns the first element of each run of equal elements.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a real dtype.
    return_inverse : bool, default False
        Whether to return, for each element, the index of its run.
    return_counts : bool, default False
        Whether to return the lengths of the runs.
    dim : int, optional
        The dimension whose slices are compared; None for single elements.

    Returns
    -------
    Tensor
        A tensor, or a tuple of it with int64 inverse indices and lengths.

    See Also
    --------
    torch.unique

    Examples
    --------
    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    x, axis = (input.reshape(-1), 0) if dim is None else (input, wrap_dim(dim, input.ndim))
    n = x.dims[axis]
    first = _core.t_full([n], True, "bool", input.device_name)
    if n > 1:
        before, after = (narrow(x, axis, k, n - 1) for k in (0, 1))
        others = [k for k in range(x.ndim) if k != axis]
        differs = _core.t_map("not_equal", after, before)
        _core.t_update(first[1:], any_along(differs, others) if others else differs)
    starts = nonzero(first, as_tuple=True)[0]
    found = [index_select(x, axis, starts)]
    if return_inverse:
        inverse = _core.t_scan("sum", _core.t_cast(first, "int64"), 0) - 1
        found.append(inverse.reshape(input.dims) if dim is None else inverse)
    if return_counts:
        end = _core.t_full([1], n, "int64", input.device_name)
        found.append(cat([starts[1:], end if n else end[:0]]) - starts)
    return found[0] if len(found) == 1 else tuple(found)


METHODS = by_name(argsort, sort, msort, topk, kthvalue, median, bincount, unique, unique_consecutive)
FUNCTIONS = METHODS | by_name(searchsorted)
