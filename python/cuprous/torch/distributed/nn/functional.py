"""Collectives with gradients. All ranks of the group also take part in the backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuprous._core import Tensor
from cuprous.torch._creation import empty, empty_like, zeros_like
from cuprous.torch._joining import stack
from cuprous.torch.autograd import Function
from cuprous.torch.distributed import _collectives
from cuprous.torch.distributed._groups import get_rank, get_world_size
from cuprous.torch.distributed._groups import group as _group
from cuprous.torch.distributed._options import ReduceOp

#: The shapes of the parts that a rank exchanges with the others.
_Shapes = list[tuple[int, ...]]


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


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = tensor.clone()
        _collectives.broadcast(result, src, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, total if get_rank() == ctx.src else zeros_like(total)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        result = tensor.clone()
        _collectives.reduce(result, dst, op=op, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> Any:
        ctx.dst, ctx.group = dst, group
        parts = [zeros_like(tensor) for _ in range(get_world_size(group))]
        _collectives.gather(tensor, parts if get_rank() == dst else None, dst, group=group)
        return tuple(parts)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        result = zeros_like(tensors[0])
        _collectives.scatter(result, list(tensors) if get_rank() == src else None, src, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return (None, None, *_Gather.apply(ctx.src, ctx.group, grad))


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, like: Tensor, *tensors: Tensor) -> Tensor:
        ctx.group = group
        result = empty_like(like)
        _collectives.reduce_scatter(result, [each.contiguous() for each in tensors], op=op, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return (None, None, None, *_AllGather.apply(ctx.group, grad))


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shapes: _Shapes, *tensors: Tensor) -> Any:
        ctx.group, ctx.shapes = group, [tuple(each.shape) for each in tensors]
        like = tensors[0]
        results = [empty(shape, dtype=like.dtype, device=like.device) for shape in shapes]
        _collectives.all_to_all(results, [each.contiguous() for each in tensors], group=group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return (None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads))


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, like: Tensor, received: Any, sent: Any, tensor: Tensor) -> Tensor:
        ctx.group, ctx.received, ctx.sent, ctx.like = group, received, sent, tensor
        result = empty_like(like)
        _collectives.all_to_all_single(result, tensor.contiguous(), received, sent, group=group)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, None, _AllToAllSingle.apply(ctx.group, ctx.like, ctx.sent, ctx.received, grad)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Returns the tensor of rank `src`, whose gradient is the sum of all ranks' gradients; that of others is 0.

    See Also
    --------
    torch.distributed.nn.functional.gather, torch.distributed.nn.functional.reduce,
    torch.distributed.nn.functional.scatter

    Examples
    --------
    >>> x = torch.ones(2, requires_grad=True)
    >>> functional.broadcast(x, 0).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    return _Broadcast.apply(src, group, tensor)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """Returns the tensors of all ranks on rank `dst`, and zeros on others. A rank's gradient is what `dst` has for its
    tensor.

    See Also
    --------
    torch.distributed.nn.functional.reduce, torch.distributed.nn.functional.scatter,
    torch.distributed.nn.functional.broadcast

    Examples
    --------
    >>> functional.gather(torch.ones(2))
    (tensor([1., 1.]),)
    """
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Returns this rank's tensor of those of rank `src`, which gets the gradients of all ranks. Others give tensors of
    the same shape.

    See Also
    --------
    torch.distributed.nn.functional.broadcast, torch.distributed.nn.functional.gather,
    torch.distributed.nn.functional.reduce

    Examples
    --------
    >>> functional.scatter([torch.ones(2)])
    tensor([1., 1.])
    """
    return _Scatter.apply(src, group, *tensors)


def reduce(tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Returns the reduction of the ranks' tensors on rank `dst`, whose gradient all ranks get.

    See Also
    --------
    torch.distributed.nn.functional.scatter, torch.distributed.nn.functional.broadcast,
    torch.distributed.nn.functional.gather

    Examples
    --------
    >>> functional.reduce(torch.ones(2), 0)
    tensor([1., 1.])
    """
    return _Reduce.apply(dst, op, group, tensor)


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM,
                   group: Any = None) -> Tensor:  # fmt: skip
    """Returns the reduction of the ranks' tensors for this rank, whose gradient all ranks get. `output` has its shape.

    See Also
    --------
    torch.distributed.nn.functional.all_gather, torch.distributed.nn.functional.all_reduce,
    torch.distributed.nn.functional.all_to_all

    Examples
    --------
    >>> functional.reduce_scatter(torch.empty(2), [torch.ones(2)])
    tensor([1., 1.])
    """
    return _ReduceScatter.apply(op, group, output, *input_list)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Returns the tensors of all ranks; a rank's gradient is the sum of what all ranks have for its tensor.

    See Also
    --------
    torch.distributed.nn.functional.all_reduce, torch.distributed.nn.functional.all_to_all,
    torch.distributed.nn.functional.reduce_scatter

    Examples
    --------
    >>> functional.all_gather(torch.ones(2))
    (tensor([1., 1.]),)
    """
    return _AllGather.apply(group, tensor)


def all_to_all(output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor],
               group: Any = None) -> tuple[Tensor, ...]:  # fmt: skip
    """Returns what each rank has for this one; gradients go back the same way. `output_tensor_list` has the shapes.

    See Also
    --------
    torch.distributed.nn.functional.reduce_scatter, torch.distributed.nn.functional.all_gather,
    torch.distributed.nn.functional.all_reduce

    Examples
    --------
    >>> functional.all_to_all([torch.empty(2)], [torch.ones(2)])
    (tensor([1., 1.]),)
    """
    return _AllToAll.apply(group, [tuple(each.shape) for each in output_tensor_list], *input_tensor_list)


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: list[int] | None = None,
                      input_split_sizes: list[int] | None = None, group: Any = None) -> Tensor:  # fmt: skip
    """Returns the parts of each rank's tensor for this one, along the first dimension; gradients go back the same way.
    `output` has the result's shape.

    See Also
    --------
    torch.distributed.all_to_all_single, torch.distributed.nn.functional.all_to_all

    Examples
    --------
    >>> functional.all_to_all_single(torch.empty(2), torch.ones(2))
    tensor([1., 1.])
    """
    return _AllToAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Returns the reduction of the ranks' tensors; its gradient is reduced in the same way.

    See Also
    --------
    torch.distributed.nn.functional.all_to_all, torch.distributed.nn.functional.reduce_scatter,
    torch.distributed.nn.functional.all_gather

    Examples
    --------
    >>> functional.all_reduce(torch.ones(2))
    tensor([1., 1.])
    """
    return _AllReduce.apply(op, group, tensor)


group = _group

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter",
    "scatter",
]  # fmt: skip
