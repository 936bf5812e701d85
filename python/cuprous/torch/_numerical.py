"""Differences along dimensions, reductions of segments, and sparse indices in two forms."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _joining
from cuprous.torch._args import by_name
from cuprous.torch._creation import tensor as _tensor
from cuprous.torch._info import get_default_dtype

_map = _core.t_map


def detach(input: Tensor) -> Tensor:
    """Returns a view that is not part of the autograd graph.

    Parameters
    ----------
    input : Tensor
        The tensor.

    Returns
    -------
    Tensor
        A view of `input`.

    See Also
    --------
    torch.no_grad

    Examples
    --------
    >>> torch.detach(torch.ones(2, requires_grad=True)).requires_grad
    False
    """
    return input.detach()


def expand_copy(input: Tensor, size: Sequence[int], *, implicit: bool = False) -> Tensor:
    """Returns the tensor repeated along dimensions of length 1, with memory of its own.

    Parameters
    ----------
    input : Tensor
        The tensor.
    size : sequence of ints
        The new shape.
    implicit : bool, default False
        Has no effect.

    Returns
    -------
    Tensor

    See Also
    --------
    torch.Tensor.expand, torch.broadcast_to, torch.Tensor.clone

    Examples
    --------
    >>> torch.expand_copy(torch.tensor([[1.0], [2.0]]), (2, 2))
    tensor([[1., 1.],
            [2., 2.]])
    """
    return input.expand(list(size)).clone()


def _steps(spacing: Any, dims: Sequence[int]) -> list[Any]:
    """Returns the distance of neighbors, or their coordinates, along each of the dimensions.

    Raises
    ------
    RuntimeError
        For a number of distances that is not the number of dimensions.
    """
    if isinstance(spacing, Tensor):
        raise TypeError("gradient(): spacing must be a number or a sequence, not a Tensor")
    if not isinstance(spacing, (list, tuple)):
        return [1 if spacing is None else spacing] * len(dims)
    if len(spacing) != len(dims):
        raise RuntimeError(f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
                           f"{len(dims)}, but got a list of length {len(spacing)}")  # fmt: skip
    return list(spacing)


def _along(x: Tensor, dim: int, step: Any, edge_order: int) -> Tensor:
    """Returns the derivative along a dimension."""
    n = x.dims[dim]
    if n < edge_order + 1:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    part = lambda start, length: x.narrow(dim, start, length)  # noqa: E731
    shape = [-1 if k == dim else 1 for k in range(x.ndim)]
    if isinstance(step, Tensor):
        if step.ndim != 1 or step.dims[0] != n:
            raise RuntimeError("torch.gradient expected spacing tensors to be 1D and as long as the dimension")
        distance = step.diff().reshape(shape)
    else:
        kind = _map("real", x).dtype_name if x.is_complex() else x.dtype_name
        distance = _core.t_full([n - 1], step, kind, x.device_name).reshape(shape)
    before = distance.narrow(dim, 0, n - 2) if n > 2 else distance
    after = distance.narrow(dim, 1, n - 2) if n > 2 else distance
    first, last = distance.narrow(dim, 0, 1), distance.narrow(dim, n - 2, 1)
    slope_first, slope_last = (part(1, 1) - part(0, 1)) / first, (part(n - 1, 1) - part(n - 2, 1)) / last
    if edge_order == 2:
        next_first, next_last = distance.narrow(dim, 1, 1), distance.narrow(dim, n - 3, 1)
        second = (part(2, 1) - part(1, 1)) / next_first
        slope_first = slope_first + (slope_first - second) * first / (first + next_first)
        second = (part(n - 2, 1) - part(n - 3, 1)) / next_last
        slope_last = slope_last + (slope_last - second) * last / (last + next_last)
    if n == 2:
        return _joining.cat([slope_first, slope_last], dim)
    left, right = (part(1, n - 2) - part(0, n - 2)) / before, (part(2, n - 2) - part(1, n - 2)) / after
    inner = (left * after + right * before) / (before + after)
    return _joining.cat([slope_first, inner, slope_last], dim)


def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> list[Tensor]:
    """Returns derivatives along dimensions by second-order differences, one-sided at the ends.

    Parameters
    ----------
    input : Tensor
        The values.
    spacing : number or sequence, default 1
        The distance of neighbors, or a sequence of distances or of 1-d tensors of coordinates, one for each dimension.
    dim : int or sequence of ints, optional
        A dimension or several, by default all.
    edge_order : int, default 1
        The order of the differences at the ends, 1 or 2.

    Returns
    -------
    list of Tensors
        A list of tensors, one for each dimension.

    Raises
    ------
    RuntimeError
        For dimensions that are too short, and for spacings of other lengths.

    See Also
    --------
    torch.diff

    Examples
    --------
    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0, 16.0]))
    [tensor([3., 4., 6., 7.])]
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = range(input.ndim) if dim is None else dim if isinstance(dim, (list, tuple)) else [dim]
    dims = [cp.lib.array_utils.normalize_axis_index(d, input.ndim) for d in dims]
    if len(set(dims)) < len(dims):
        raise RuntimeError("dim appears multiple times in the list of dims")
    if not (input.is_floating_point() or input.is_complex()):
        input = input.to(get_default_dtype())
    return [_along(input, d, s, edge_order) for d, s in zip(dims, _steps(spacing, dims), strict=True)]


_IDENTITIES = {"sum": 0.0, "prod": 1.0, "mean": float("nan"), "max": float("-inf"), "min": float("inf")}


def segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None,
                   offsets: Tensor | None = None, axis: int = 0, unsafe: bool = False,
                   initial: float | None = None) -> Tensor:  # fmt: skip
    """Returns the reductions of consecutive rows. The lengths are read by the host.

    Parameters
    ----------
    data : Tensor
        The rows.
    reduce : {"sum", "mean", "max", "min", "prod"}
        "sum", "mean", "max", "min" or "prod".
    lengths : Tensor, optional
        The number of rows of each segment.
    indices : Tensor, optional
        Not supported, as in PyTorch.
    offsets : Tensor, optional
        The first row of each segment, and the number of all rows, instead of `lengths`.
    axis : int, default 0
        The dimension of the rows; only 0.
    unsafe : bool, default False
        Whether the lengths are not checked.
    initial : float, optional
        The result of a segment without rows, with which others begin.

    Returns
    -------
    Tensor
        A tensor with a row for each segment.

    Raises
    ------
    RuntimeError
        Without lengths and offsets, and if lengths do not add up to the number of rows.
    NotImplementedError
        For other axes, and for indices.

    See Also
    --------
    torch.scatter_reduce

    Examples
    --------
    >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 3.0]), "max", lengths=torch.tensor([2, 1]))
    tensor([2., 3.])
    """
    if reduce not in _IDENTITIES:
        raise RuntimeError(f"unsupported reduction given: {reduce}")
    if axis or indices is not None:
        raise NotImplementedError("[segment_reduce] is supported along dimension 0, by lengths or offsets")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if lengths is not None:
        counts = lengths.tolist()
    else:
        starts = offsets.tolist()  # type: ignore[union-attr]
        counts = [end - start for start, end in itertools.pairwise(starts)]
    if not unsafe and (min(counts, default=0) < 0 or sum(counts) != data.dims[0]):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1)"
        )
    start = _IDENTITIES[reduce] if initial is None else initial
    rows, found = data.split(counts) if counts else (), []
    for part, count in zip(rows, counts, strict=True):
        if count == 0:
            found.append(_core.t_full(list(data.dims[1:]), start, data.dtype_name, data.device_name))
            continue
        if reduce in ("max", "min"):
            value = part.amax(0) if reduce == "max" else part.amin(0)
            value = value if initial is None else _map("maximum" if reduce == "max" else "minimum", value, initial)
        elif reduce == "prod":
            value = part.prod(0) if initial is None else part.prod(0) * initial
        else:
            value = part.sum(0) if initial is None else part.sum(0) + initial
            value = value / count if reduce == "mean" else value
        found.append(value)
    if not found:
        return _core.t_full([0, *data.dims[1:]], 0, data.dtype_name, data.device_name)
    return _joining.stack(found)


def dsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Returns the product of a sparse and a dense matrix.

    Parameters
    ----------
    input : SparseTensor
        The sparse matrix.
    mat2 : Tensor
        The dense matrix.

    Returns
    -------
    Tensor
        A dense matrix.

    See Also
    --------
    torch.mm, torch.spmm, torch.sparse.mm

    Examples
    --------
    >>> torch.dsmm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return input @ mat2


def _shape_as_tensor(input: Tensor) -> Tensor:
    """Returns the shape as a tensor."""
    return _tensor(list(input.dims))


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Returns the first entry of each row, and the number of entries, for their sorted rows."""
    rows = input.as_array()
    found = cp.searchsorted(rows, cp.arange(size + 1), side="left")
    return _core.t_wrap(found.astype("int32" if out_int32 else "int64"))


def _convert_indices_from_csr_to_coo(crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False,
                                     transpose: bool = False) -> Tensor:  # fmt: skip
    """Returns the rows and columns of entries."""
    rows, columns = (t.as_array() for t in (crow_indices, col_indices))
    of_entry = cp.searchsorted(rows, cp.arange(columns.shape[0]), side="right") - 1
    pair = (columns, of_entry) if transpose else (of_entry, columns)
    return _core.t_wrap(cp.stack([part.astype("int32" if out_int32 else "int64") for part in pair]))


FUNCTIONS = by_name(
    detach, dsmm, expand_copy, gradient, segment_reduce, _shape_as_tensor, _convert_indices_from_coo_to_csr,
    _convert_indices_from_csr_to_coo,
) | {"_segment_reduce": segment_reduce}  # fmt: skip
