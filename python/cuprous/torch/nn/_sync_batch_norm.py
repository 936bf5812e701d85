"""Batch normalization by the statistics of all ranks."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _creation, _reductions, _types
from cuprous.torch import distributed as dist
from cuprous.torch.autograd import Function
from cuprous.torch.nn._normalization import (
    _affine,
    _channelwise,
    _check_channels,
    _map,
    _to_float32,
    _update_running,
)


def has_ranks(group: Any) -> bool:
    """Returns True if the group has other ranks than this one."""
    return dist.is_initialized() and dist.get_world_size(group) > 1


class _SumOverRanks(Function):
    """The sum of a tensor over all ranks. So is its gradient."""

    @staticmethod
    def forward(ctx: Any, group: Any, x: Tensor) -> Tensor:
        ctx.group = group
        total = _map("add", x.detach(), 0)
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        total = _map("add", gradient.detach(), 0)
        dist.all_reduce(total, group=ctx.group)
        return None, total


def sync_batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None,
                    bias: Tensor | None, momentum: Any, eps: float, group: Any) -> Tensor:  # fmt: skip
    """Normalizes each channel (dimension 1) to mean 0 and variance 1 over the batches of all ranks, which may differ in
    size, then scales and shifts it.

    Raises
    ------
    ValueError
        If there is one value for each channel.
    """
    _check_channels(
        "sync_batch_norm", input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    x, n = _to_float32(input), input.ndim
    dims = [0, *range(2, n)]
    own = _creation.tensor([input.numel() // max(input.dims[1], 1)], dtype=_types.DTYPES["int64"], device="cpu")
    dist.all_reduce(own, group=group)
    count = int(own.item())
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")

    def mean_of(values: Tensor) -> Tensor:
        total: Tensor = _SumOverRanks.apply(group, _reductions.FUNCTIONS["sum"](values, dims))
        return _map("divide", total, count)

    mean = mean_of(x)
    centred = _map("subtract", x, _channelwise(mean, n))
    variance = mean_of(_map("square", centred))
    scale = _channelwise(_map("rsqrt", _map("add", variance, eps)), n)
    _update_running(running_mean, mean, momentum)
    _update_running(running_var, _map("multiply", variance.detach(), count / max(count - 1, 1)), momentum)
    result = _map("multiply", centred, scale)
    return _affine(result, _channelwise(weight, n), _channelwise(bias, n), input.dtype_name)
