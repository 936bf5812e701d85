"""Histograms."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _creation, _extremes, _indexing, _ordering, _ranges, _reductions
from cuprous.torch._args import by_name
from cuprous.torch._comparisons import clamp

_map = _core.t_map

histogram_result = namedtuple("histogram_result", ("hist", "bin_edges"))


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Returns the number of elements in each of equal parts of a range.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    bins : int, default 100
        The number of parts.
    min : float, default 0
        The lower end of the range.
    max : float, default 0
        The upper end; if both are 0, the range is that of the elements.

    Returns
    -------
    Tensor
        A vector of `bins` elements, of the dtype of `input`.

    See Also
    --------
    torch.histogram, torch.bincount, torch.bucketize

    Examples
    --------
    >>> torch.histc(torch.tensor([0.5, 1.5, 1.7]), bins=2, min=0, max=2)
    tensor([1., 2.])
    """
    x = input.detach().reshape(-1)
    low, high = float(min), float(max)
    if low == high:
        low, high = (float(_extremes.amin(x)), float(_extremes.amax(x))) if x.numel() else (0.0, 1.0)
        low, high = (low - 1, high + 1) if low == high else (low, high)
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    inside = _map("logical_and", _map("greater_equal", x, low), _map("less_equal", x, high))
    bucket = clamp(_core.t_cast(_map("floor", (_map("where", inside, x, low) - low) * (bins / (high - low))), "int64"),
                  0, bins - 1)  # fmt: skip
    zeros = _core.t_full([bins], 0, input.dtype_name, input.device_name)
    return _indexing.index_add(zeros, 0, bucket, _core.t_cast(inside, input.dtype_name))


def histogram(input: Tensor, bins: Any, *, range: tuple[float, float] | None = None, weight: Tensor | None = None,
              density: bool = False, out: Any = None) -> histogram_result:  # fmt: skip
    """Returns the number of elements, or the sum of their weights, in each part of a range. The last part includes both
    of its ends, the others only their left end.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of dtype float32 or float64.
    bins : int or Tensor
        The number of equal parts, or the increasing edges of the parts as a vector of the dtype of `input`.
    range : pair of floats, optional
        The first and the last edge, by default those of the elements. It is for a number of parts only.
    weight : Tensor, optional
        The weight of each element, a tensor of the shape and dtype of `input`.
    density : bool, default False
        Whether to divide by the total and by the widths of the parts, so that the integral is 1.
    out : tuple of Tensors, optional
        A pair of tensors to write to.

    Returns
    -------
    histogram_result
        The named tuple `(hist, bin_edges)`.

    Raises
    ------
    RuntimeError
        For other dtypes, wrong edges or a wrong range.

    See Also
    --------
    torch.histc, torch.histogramdd, torch.bucketize

    Examples
    --------
    >>> torch.histogram(torch.tensor([0.5, 1.5, 1.7, 2.0]), bins=2, range=(0, 2))
    histogram_result(hist=tensor([1., 3.]), bin_edges=tensor([0., 1., 2.]))
    """
    if input.dtype_name not in ("float32", "float64"):
        raise RuntimeError(f"histogram(): not implemented for {input.dtype}; cast the input to torch.float32")
    if weight is not None and (weight.dims != input.dims or weight.dtype_name != input.dtype_name):
        raise RuntimeError("torch.histogram: if weight tensor is provided it should have the same shape and dtype as "
                           f"the input tensor, but got {list(weight.dims)} and {weight.dtype}")  # fmt: skip
    x = input.detach().reshape(-1)
    edges = _edges(x, bins, range)
    count = edges.dims[0] - 1
    inside = _map("logical_and", _map("greater_equal", x, edges[0]), _map("less_equal", x, edges[-1]))
    part = clamp(_ordering.searchsorted(edges, x, right=True) - 1, 0, count - 1)
    values = _core.t_cast(inside, input.dtype_name)
    if weight is not None:
        values = _map("where", inside, weight.detach().reshape(-1), 0)
    hist = _indexing.index_add(_creation.zeros(count, dtype=input.dtype, device=input.device), 0, part, values)
    if density:
        hist = hist / (_reductions.sum(hist) * (edges[1:] - edges[:-1]))
    if out is not None:
        for target, result in zip(out, (hist, edges), strict=True):
            _core.t_update(target, result)
        return histogram_result(*out)
    return histogram_result(hist, edges)


def _edges(x: Tensor, bins: Any, range: tuple[float, float] | None) -> Tensor:
    if isinstance(bins, Tensor):
        if range is not None:
            raise TypeError("histogram(): got both edges and range; leave range out")
        if bins.ndim != 1 or bins.numel() < 2 or bins.dtype_name != x.dtype_name:
            raise RuntimeError("torch.histogram: bins must be a vector of at least two edges of the input's dtype, but "
                               f"got {list(bins.dims)} and {bins.dtype}")  # fmt: skip
        return bins.detach()
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins}")
    if range is not None:
        low, high = map(float, range)
    else:
        low, high = (float(_extremes.amin(x)), float(_extremes.amax(x))) if x.numel() else (0.0, 1.0)
    if low > high:
        raise RuntimeError(f"torch.histogram: min ({low}) must not exceed max ({high})")
    if not low - high > float("-inf"):
        raise RuntimeError(f"torch.histogram: range of [{low}, {high}] is not finite")
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    return _ranges.linspace(low, high, bins + 1, dtype=x.dtype, device=x.device)


METHODS = by_name(histc, histogram)
FUNCTIONS = METHODS
