"""Collectives with PyTorch's signatures. All ranks of a group call the same ones in the same order.

A collective computes its inputs, runs outside of the engine, and writes to memory. Operations on its tensors wait for
it: on the CPU until it has ended, on a GPU by the order of its streams. The ranks may differ in everything else: what
they print, save or plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from operator import index
from typing import Any

from cuprous._core import Tensor
from cuprous.torch.autograd import no_grad
from cuprous.torch.distributed._groups import ProcessGroup, get_group_rank, member_of
from cuprous.torch.distributed._options import ReduceOp, check_tensor, check_tensors, seconds
from cuprous.torch.distributed._work import Work


def _reduction(op: Any) -> str:
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op must be a ReduceOp, such as ReduceOp.SUM, got {op!r}")
    return str(op.value)


def _root(group: ProcessGroup, given: int | None, in_group: int | None, name: str, default: int | None = None) -> int:
    """Returns a rank in the group from PyTorch's two ways to give it. `default` is a rank of the job."""
    if given is not None and in_group is not None:
        raise ValueError(f"Can't specify both group_{name} and {name}")
    if in_group is not None:
        if not 0 <= index(in_group) < group.size():
            raise ValueError(f"group_{name}={in_group} is not a rank of a group of {group.size()}")
        return in_group
    rank = default if given is None else index(given)
    if rank is None:
        raise ValueError(f"Must specify global_rank or group_rank: pass {name}= or group_{name}=")
    return get_group_rank(group, rank)


def run(group: ProcessGroup, name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], op: str | None = None,
        root: int | None = None, async_op: bool = False, timeout: float | None = None,
        device: str | None = None) -> Work | None:  # fmt: skip
    """Performs a collective. Tensors that are not contiguous are copied, unless it is asynchronous."""
    native = group.native(name, [*outputs, *inputs], device)
    if async_op:
        work = native.collective(name, list(inputs), list(outputs), op, root, True, timeout)
        assert work is not None
        return Work(work, list(outputs))
    if all(x.is_contiguous() for x in outputs) and all(x.is_contiguous() for x in inputs):
        native.collective(name, list(inputs), list(outputs), op, root, False, timeout)
        return None
    staged = [out if out.is_contiguous() else out.contiguous() for out in outputs]
    given = [staged[k] if (k := _index(outputs, x)) is not None else x.contiguous() for x in inputs]
    native.collective(name, given, staged, op, root, False, timeout)
    with no_grad():
        for out, part in zip(outputs, staged, strict=True):
            if part is not out:
                out.detach().copy_(part)
    return None


def _index(tensors: Sequence[Tensor], wanted: Tensor) -> int | None:
    return next((k for k, t in enumerate(tensors) if t is wanted), None)


def _rows(whole: Tensor, n: int) -> list[Tensor]:
    """Returns `n` equal parts of a contiguous tensor, as views."""
    flat = whole.detach().view(-1)
    size = flat.numel() // n
    return [flat[k * size : (k + 1) * size] for k in range(n)]


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Combines a tensor of all ranks. All get the result in place, with the same bits.

    Raises
    ------
    DistBackendError
        If a rank died, left or calls something else.
    ValueError
        If the reduction does not exist for complex numbers.
    RuntimeError
        If the reduction does not exist for the dtype, or the group does not move tensors of that device.

    See Also
    --------
    torch.distributed.reduce, torch.distributed.reduce_scatter, torch.distributed.all_gather,
    torch.distributed.broadcast

    Examples
    --------
    >>> dist.all_reduce(loss, op=dist.ReduceOp.AVG)  # doctest: +SKIP
    """
    check_tensor(tensor, "tensor")
    member = member_of(group, "all_reduce")
    if member is None:
        return None
    return run(member, "all_reduce", [tensor], [tensor], _reduction(op), None, async_op)


def reduce(tensor: Tensor, dst: int | None = None, op: ReduceOp = ReduceOp.SUM, group: Any = None,
           async_op: bool = False, group_dst: int | None = None) -> Work | None:  # fmt: skip
    """Combines a tensor of all ranks. Rank `dst` gets the result in place.

    See Also
    --------
    torch.distributed.reduce_scatter, torch.distributed.all_gather, torch.distributed.broadcast,
    torch.distributed.all_reduce

    Examples
    --------
    >>> x = torch.ones(2)
    >>> dist.reduce(x, dst=0)
    >>> x
    tensor([1., 1.])
    """
    check_tensor(tensor, "tensor")
    member = member_of(group, "reduce")
    if member is None:
        return None
    root = _root(member, dst, group_dst, "dst")
    outputs = [tensor] if member.rank() == root else []
    return run(member, "reduce", [tensor], outputs, _reduction(op), root, async_op)


def broadcast(tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False,
              group_src: int | None = None) -> Work | None:  # fmt: skip
    """Copies the tensor of rank `src` to that of all others.

    See Also
    --------
    torch.distributed.all_reduce, torch.distributed.reduce, torch.distributed.reduce_scatter,
    torch.distributed.all_gather

    Examples
    --------
    >>> x = torch.ones(2)
    >>> dist.broadcast(x, src=0)
    >>> x
    tensor([1., 1.])
    """
    check_tensor(tensor, "tensor")
    member = member_of(group, "broadcast")
    if member is None:
        return None
    root = _root(member, src, group_src, "src")
    inputs, outputs = ([tensor], []) if member.rank() == root else ([], [tensor])
    return run(member, "broadcast", inputs, outputs, None, root, async_op)


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Copies the tensor of each rank into the list of every rank. All have the same size.

    See Also
    --------
    torch.distributed.broadcast, torch.distributed.all_reduce, torch.distributed.reduce,
    torch.distributed.reduce_scatter, torch.distributed.all_gather_into_tensor

    Examples
    --------
    >>> x = torch.ones(2)
    >>> parts = [torch.empty(2)]
    >>> dist.all_gather(parts, x)
    >>> parts
    [tensor([1., 1.])]
    """
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    member = member_of(group, "all_gather")
    if member is None:
        return None
    return run(member, "all_gather", [tensor], tensor_list, None, None, async_op)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: Any = None,
                           async_op: bool = False) -> Work | None:  # fmt: skip
    """Copies the tensors of all ranks, one after another, into one.

    Raises
    ------
    RuntimeError
        If the output does not have as many elements as all inputs; `ValueError` on a GPU.
    ValueError
        If the output is not contiguous.

    See Also
    --------
    torch.distributed.all_gather_object, torch.distributed.gather, torch.distributed.all_gather

    Examples
    --------
    >>> x = torch.ones(2)
    >>> out = torch.empty(2)
    >>> dist.all_gather_into_tensor(out, x)
    >>> out
    tensor([1., 1.])
    """
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    member = member_of(group, "all_gather_into_tensor")
    if member is None:
        return None
    if output_tensor.numel() != input_tensor.numel() * member.size():
        raise _size_error(output_tensor)("output tensor size must be equal to world_size times input tensor size")
    _check_contiguous("all_gather_into_tensor", output_tensor)
    return run(member, "all_gather", [input_tensor], _rows(output_tensor, member.size()), None, None, async_op)


def _size_error(tensor: Tensor) -> type[Exception]:
    """Returns the class of errors about sizes: gloo's for tensors on the CPU, NCCL's for those on GPUs."""
    return RuntimeError if tensor.device_name == "cpu" else ValueError


def _check_contiguous(function: str, *tensors: Tensor) -> None:
    if not all(tensor.is_contiguous() for tensor in tensors):
        raise ValueError(f"[{function}] Tensors must be contiguous; pass x.contiguous()")


def gather(tensor: Tensor, gather_list: list[Tensor] | None = None, dst: int | None = None, group: Any = None,
           async_op: bool = False, group_dst: int | None = None) -> Work | None:  # fmt: skip
    """Copies the tensor of each rank into the list of rank `dst`.

    Raises
    ------
    ValueError
        If `gather_list` is given on another rank, or not on `dst`.

    See Also
    --------
    torch.distributed.all_gather, torch.distributed.all_gather_into_tensor, torch.distributed.all_gather_object

    Examples
    --------
    >>> x = torch.ones(2)
    >>> parts = [torch.empty(2)]
    >>> dist.gather(x, parts, dst=0)
    >>> parts
    [tensor([1., 1.])]
    """
    check_tensor(tensor, "tensor")
    member = member_of(group, "gather")
    if member is None:
        return None
    root = _root(member, dst, group_dst, "dst", 0)
    outputs = _list_of_root("gather_list", gather_list, member, root, "dst")
    return run(member, "gather", [tensor], outputs, None, root, async_op)


def _list_of_root(name: str, given: list[Tensor] | None, group: ProcessGroup, root: int, role: str) -> list[Tensor]:
    if group.rank() != root:
        if given:
            raise ValueError(
                f"Argument ``{name}`` must NOT be specified on {'non-destination' if role == 'dst' else 'non-source'} "
                "ranks."
            )
        return []
    if not given:
        where = "destination" if role == "dst" else "source"
        raise ValueError(f"Argument ``{name}`` must be specified on {where} rank.")
    check_tensors(given, name)
    return list(given)


def scatter(tensor: Tensor, scatter_list: list[Tensor] | None = None, src: int | None = None, group: Any = None,
            async_op: bool = False, group_src: int | None = None) -> Work | None:  # fmt: skip
    """Copies the tensors in the list of rank `src` to the ranks, one to each.

    Raises
    ------
    ValueError
        If `scatter_list` is given on another rank, or not on `src`.

    See Also
    --------
    torch.distributed.all_to_all, torch.distributed.all_to_all_single, torch.distributed.reduce_scatter,
    torch.distributed.reduce_scatter_tensor

    Examples
    --------
    >>> x = torch.ones(2)
    >>> out = torch.empty(2)
    >>> dist.scatter(out, [x], src=0)
    >>> out
    tensor([1., 1.])
    """
    check_tensor(tensor, "tensor")
    member = member_of(group, "scatter")
    if member is None:
        return None
    root = _root(member, src, group_src, "src", 0)
    inputs = _list_of_root("scatter_list", scatter_list, member, root, "src")
    return run(member, "scatter", inputs, [tensor], None, root, async_op)


def reduce_scatter(output: Tensor, input_list: list[Tensor], op: ReduceOp = ReduceOp.SUM, group: Any = None,
                   async_op: bool = False) -> Work | None:  # fmt: skip
    """Combines the k-th tensors of all ranks' lists for rank k.

    See Also
    --------
    torch.distributed.all_gather, torch.distributed.broadcast, torch.distributed.all_reduce, torch.distributed.reduce,
    torch.distributed.reduce_scatter_tensor

    Examples
    --------
    >>> x = torch.ones(2)
    >>> out = torch.empty(2)
    >>> dist.reduce_scatter(out, [x])
    >>> out
    tensor([1., 1.])
    """
    check_tensor(output, "output")
    check_tensors(input_list, "input_list")
    member = member_of(group, "reduce_scatter")
    if member is None:
        return None
    return run(member, "reduce_scatter", input_list, [output], _reduction(op), None, async_op)


def reduce_scatter_tensor(output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM, group: Any = None,
                          async_op: bool = False) -> Work | None:  # fmt: skip
    """Combines the k-th parts of a tensor of all ranks for rank k.

    Raises
    ------
    RuntimeError
        If the input does not have as many elements as all outputs; `ValueError` on a GPU.

    See Also
    --------
    torch.distributed.scatter, torch.distributed.reduce_scatter

    Examples
    --------
    >>> x = torch.ones(2)
    >>> out = torch.empty(2)
    >>> dist.reduce_scatter_tensor(out, x)
    >>> out
    tensor([1., 1.])
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    member = member_of(group, "reduce_scatter_tensor")
    if member is None:
        return None
    if input.numel() != output.numel() * member.size():
        raise _size_error(input)("input tensor must be the same size as output size times world size")
    parts = _rows(input.contiguous(), member.size())
    return run(member, "reduce_scatter", parts, [output], _reduction(op), None, async_op)


def all_to_all(output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None,
               async_op: bool = False) -> Work | None:  # fmt: skip
    """Copies the k-th tensor of each rank's list to rank k. Sizes may differ.

    See Also
    --------
    torch.distributed.all_to_all_single, torch.distributed.scatter

    Examples
    --------
    >>> x = torch.ones(2)
    >>> out = [torch.empty(2)]
    >>> dist.all_to_all(out, [x])
    >>> out
    [tensor([1., 1.])]
    """
    check_tensors(output_tensor_list, "output_tensor_list")
    check_tensors(input_tensor_list, "input_tensor_list")
    member = member_of(group, "all_to_all")
    if member is None:
        return None
    return run(member, "all_to_all", input_tensor_list, output_tensor_list, None, None, async_op)


def _split(function: str, whole: Tensor, sizes: list[int] | None, n: int) -> list[Tensor]:
    """Returns the parts of a tensor along its first dimension."""
    rows = whole.shape[0] if whole.dim() else 1
    if not sizes:
        if rows % n:
            raise RuntimeError(f"[{function}] {rows} rows cannot be divided equally among {n} ranks; give split sizes")
        sizes = [rows // n] * n
    if len(sizes) != n or sum(sizes) != rows or min(sizes) < 0:
        raise RuntimeError(f"[{function}] split sizes {sizes} must be {n} sizes whose sum is {rows}")
    width = whole.numel() // rows if rows else 0
    flat, at, parts = whole.detach().view(-1), 0, []
    for size in sizes:
        parts.append(flat[at : at + size * width])
        at += size * width
    return parts


def all_to_all_single(output: Tensor, input: Tensor, output_split_sizes: list[int] | None = None,
                      input_split_sizes: list[int] | None = None, group: Any = None,
                      async_op: bool = False) -> Work | None:  # fmt: skip
    """Copies the k-th part of each rank's tensor, along the first dimension, to rank k.

    Raises
    ------
    RuntimeError
        If the sizes do not add up.
    ValueError
        If the output is not contiguous.

    See Also
    --------
    torch.distributed.scatter, torch.distributed.all_to_all

    Examples
    --------
    >>> x = torch.ones(2)
    >>> out = torch.empty(2)
    >>> dist.all_to_all_single(out, x)
    >>> out
    tensor([1., 1.])
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    member = member_of(group, "all_to_all_single")
    if member is None:
        return None
    _check_contiguous("all_to_all_single", output)
    outputs = _split("all_to_all_single", output, output_split_sizes, member.size())
    inputs = _split("all_to_all_single", input.contiguous(), input_split_sizes, member.size())
    return run(member, "all_to_all", inputs, outputs, None, None, async_op)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Waits until all ranks have called it. On GPUs, waits until they have come to it.

    Parameters
    ----------
    group : ProcessGroup, optional
        The ranks.
    async_op : bool, default False
        Returns work to wait for.
    device_ids : list of ints, optional
        A list with this rank's GPU, whose backend the barrier uses.

    See Also
    --------
    torch.distributed.monitored_barrier

    Examples
    --------
    >>> dist.barrier()
    """
    if device_ids is not None and not (isinstance(device_ids, list) and device_ids):
        raise TypeError("Invalid function argument: device_ids type should be List[int]")
    member = member_of(group, "barrier")
    if member is None:
        return None
    return run(member, "barrier", [], [], None, None, async_op, device=member.barrier_device(device_ids))


def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """Waits until all ranks have called it, and names those that have not within `timeout`. All of them are named,
    whether `wait_all_ranks` or not.

    Raises
    ------
    DistBackendError
        If ranks are missing. The job has then failed.

    See Also
    --------
    torch.distributed.barrier

    Examples
    --------
    >>> dist.monitored_barrier()
    """
    member = member_of(group, "monitored_barrier")
    if member is not None:
        run(member.host, "barrier", [], [], timeout=None if timeout is None else seconds(timeout))
