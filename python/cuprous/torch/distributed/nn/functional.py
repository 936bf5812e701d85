"""Collectives with gradients."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch._creation import empty_like
from cuprous.torch._joining import stack
from cuprous.torch.autograd import Function
from cuprous.torch.distributed import _collectives
from cuprous.torch.distributed._groups import get_rank, get_world_size
from cuprous.torch.distributed._groups import group as _group
from cuprous.torch.distributed._options import ReduceOp


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        result = tensor.clone()
        _collectives.all_reduce(result, op=op, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Any:
        ctx.group = group
        parts = [empty_like(tensor) for _ in range(get_world_size(group))]
        _collectives.all_gather(parts, tensor.contiguous(), group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        total = stack(list(grads))
        _collectives.all_reduce(total, op=ReduceOp.SUM, group=ctx.group)
        return None, total[get_rank(ctx.group)]


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Returns the reduction of the ranks' tensors; its gradient is reduced in the same way."""
    return _AllReduce.apply(op, group, tensor)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Returns the tensors of all ranks; a rank's gradient is the sum of what all ranks have for its tensor."""
    return _AllGather.apply(group, tensor)


group = _group

__all__ = ["all_gather", "all_reduce"]
