"""Collectives that return their results."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch._creation import empty
from cuprous.torch.autograd import Function
from cuprous.torch.distributed import _collectives


def wait_tensor(tensor: Tensor) -> Tensor:
    """Returns the tensor: collectives have ended when they return."""
    return tensor


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, received: Any, sent: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.received, ctx.sent, ctx.group = received, sent, group
        rows = tensor.dims[0] if received is None else sum(received)
        result = empty((rows, *tensor.dims[1:]), dtype=tensor.dtype, device=tensor.device)
        _collectives.all_to_all_single(result, tensor.contiguous(), received, sent, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        back = _AllToAll.apply(ctx.sent, ctx.received, ctx.group, grad)
        return None, None, None, back


def all_to_all_single_autograd(self: Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any) -> Tensor:
    """Returns what the ranks send to this one; its gradient is sent in the opposite direction."""
    return _AllToAll.apply(output_split_sizes, input_split_sizes, group, self)


__all__ = ["all_to_all_single_autograd", "wait_tensor"]
