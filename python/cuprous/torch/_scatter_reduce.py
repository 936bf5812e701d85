"""Reductions of elements with equal indices: `scatter_reduce` and `index_reduce`."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.arguments import spread
from cuprous._core import Tensor
from cuprous.torch import _determinism, _indexing
from cuprous.torch._args import by_name, in_place, wrap_dim
from cuprous.torch._info import iinfo
from cuprous.torch.autograd import Function

_map = _core.t_map

#: PyTorch's names of reductions, and the engine's names.
_REDUCTIONS = {"sum": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def _neutral(reduce: str, t: Tensor) -> Any:
    """Returns the neutral element of a reduction."""
    if reduce in ("sum", "mean", "prod"):
        return int(reduce == "prod")
    if t.is_floating_point():
        return float("-inf" if reduce == "amax" else "inf")
    if t.dtype_name == "bool":
        return reduce == "amin"

    return iinfo(t.dtype).min if reduce == "amax" else iinfo(t.dtype).max


def _reduced(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> Tensor:
    base = input.clone() if include_self else _indexing.scatter(input, dim, index, _neutral(reduce, input))
    _determinism.scatter(base, _indexing._offsets(base, dim, index), src, _REDUCTIONS[reduce])
    return base


class _ScatterReduction(Function):
    """The maximum, minimum or product of elements with equal indices. (`sum` is differentiable as an ordinary
    scatter.)"""

    @staticmethod
    def forward(ctx: Any, input: Tensor, src: Tensor, dim: int, index: Tensor, reduce: str, include: bool) -> Tensor:
        result = _reduced(input, dim, index, src, reduce, include)
        ctx.rest = dim, index, reduce, include
        ctx.save_for_backward(input, src, result)
        return result

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        input, src, result = ctx.saved_tensors
        dim, index, reduce, include = ctx.rest
        own, other = (_product if reduce == "prod" else _extreme)(g, input, src, result, dim, index, include)
        return (own if include else _indexing.scatter(own, dim, index, 0)), other, None, None, None, None


def _extreme(g: Tensor, input: Tensor, src: Tensor, result: Tensor, dim: int, index: Tensor,
             include: bool) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Divides the gradient equally among all extremes. The previous element counts only with `include_self`; in PyTorch
    it always counts."""
    own = _core.t_cast(_map("equal", input, result), g.dtype_name)
    own = own if include else _indexing.scatter(own, dim, index, 0)
    other = _core.t_cast(_map("equal", src, _indexing.gather(result, dim, index)), g.dtype_name)
    share = _map("divide", g, _indexing.scatter_add(own, dim, index, other))
    return _map("multiply", own, share), _map("multiply", other, _indexing.gather(share, dim, index))


def _product(g: Tensor, input: Tensor, src: Tensor, result: Tensor, dim: int, index: Tensor,
             include: bool) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Returns the product of all other elements, by division. Where the only zero would be the divisor, it is the
    product of the nonzero elements."""
    whole = _indexing.masked_fill(input, _map("equal", input, 0), 1)
    own = _map("divide", _map("multiply", g, _reduced(whole, dim, index, src, "prod", include)), whole)
    zero = _map("equal", src, 0)
    none = _core.t_full(list(input.dims), 0, "int64", input.device_name)
    zeros = _indexing.gather(_indexing.scatter_add(none, dim, index, _core.t_cast(zero, "int64")), dim, index)
    single_zero = _map("logical_and", zero, _map("equal", zeros, 1))
    rest = _reduced(input, dim, index, _indexing.masked_fill(src, single_zero, 1), "prod", include)
    without = _indexing.gather(_map("multiply", g, rest), dim, index)
    with_ = _indexing.gather(_map("multiply", g, result), dim, index)
    return own, _map("where", single_zero, without, _map("divide", with_, _indexing.masked_fill(src, zero, 1)))


def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Reduces elements of `src` with equal indices along a dimension, by default together with the present element.

    Parameters
    ----------
    input : Tensor
        Any shape.
    dim : int
        The dimension; a negative one counts from the end.
    index : Tensor
        int64, no larger than `src` in any dimension.
    src : Tensor
        Of the dtype of `input`.
    reduce : {"sum", "prod", "mean", "amax", "amin"}
        "sum", "prod", "mean", "amax" or "amin".
    include_self : bool, default True
        Whether the present element takes part.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    RuntimeError
        For another reduction, or another dtype.

    See Also
    --------
    torch.segment_reduce

    Examples
    --------
    >>> torch.scatter_reduce(torch.zeros(2), 0, torch.tensor([0, 1, 1]), torch.tensor([1.0, 2.0, 3.0]), "sum")
    tensor([1., 5.])
    """
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)  # PyTorch takes both
    if reduce not in (*_REDUCTIONS, "mean"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    if src.dtype_name != input.dtype_name:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    dim = wrap_dim(dim, input.ndim)
    if src.dims != index.dims:
        src = src[tuple(slice(0, n) for n in index.dims)]
    if reduce in ("prod", "amax", "amin"):
        result: Tensor = _ScatterReduction.apply(input, src, dim, index, reduce, include_self)
        return result
    base = input if include_self else _indexing.scatter(input, dim, index, 0)
    total = _indexing.scatter_add(base, dim, index, src)
    if reduce == "sum":
        return total
    ones = _core.t_full(list(index.dims), 1, input.dtype_name, input.device_name)
    start = _core.t_full(list(input.dims), 1, input.dtype_name, input.device_name)
    start = start if include_self else _indexing.scatter(start, dim, index, 0)
    counts = _indexing.scatter_add(start, dim, index, ones)
    return _map("divide" if input.is_floating_point() or input.is_complex() else "floor_divide", total, counts)


def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Reduces slices of `source` with equal indices along a dimension, by default together with the present slice.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape and dtype.
    dim : int
        The dimension; a negative one counts from the end.
    index : Tensor
        A vector of int64 indices.
    source : Tensor
        A tensor with a slice for each index, of the dtype of `input`.
    reduce : {"prod", "mean", "amax", "amin"}
        "prod", "mean", "amax" or "amin".
    include_self : bool, default True
        Whether the present slice takes part.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    RuntimeError
        For another reduction, or shapes that do not match.

    See Also
    --------
    torch.index_add, torch.scatter_reduce, torch.index_copy

    Examples
    --------
    >>> torch.index_reduce(torch.ones(2), 0, torch.tensor([0, 1, 1]), torch.tensor([1.0, 2.0, 3.0]), "amax")
    tensor([1., 3.])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    dim = wrap_dim(dim, input.ndim)
    if not input.ndim and not source.ndim and index.numel() == 1:
        whole = index_reduce(
            input.reshape(1), 0, index.reshape(1), source.reshape(1), reduce, include_self=include_self
        )
        return whole.reshape(())
    if index.ndim > 1 or source.ndim != input.ndim or source.dims[dim] != index.numel():
        raise RuntimeError(f"index_reduce(): Number of indices ({index.numel()}) should be equal to source.size(dim): "
                           f"({source.dims[dim] if source.ndim == input.ndim else list(source.dims)})")  # fmt: skip
    positions = _core.t_expand(spread(index, dim, source.ndim), list(source.dims))
    return scatter_reduce(input, dim, positions, source, reduce, include_self=include_self)


FUNCTIONS = by_name(scatter_reduce, index_reduce)
METHODS = FUNCTIONS | by_name(
    in_place(scatter_reduce, 'torch.ones(2).scatter_reduce_(0, torch.tensor([0, 0]), torch.ones(2), "sum") -> '
                             "tensor([3., 1.])"),
    in_place(index_reduce, 'torch.ones(2).index_reduce_(0, torch.tensor([0, 0]), torch.tensor([2.0, 3.0]), "prod") -> '
                           "tensor([6., 1.])"),
)  # fmt: skip
