"""Changes of placements: which collectives they take, and their gradients.

A gradient has the placements of its tensor, with `Replicate` in place of `Partial`: the derivative with respect to a
sum is the derivative with respect to each of its terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _creation
from cuprous.torch.autograd import Function, no_grad
from cuprous.torch.distributed import _collectives
from cuprous.torch.distributed._groups import ProcessGroup
from cuprous.torch.distributed._options import ReduceOp
from cuprous.torch.distributed.device_mesh import DeviceMesh
from cuprous.torch.distributed.tensor._layout import chunk, coordinate, local_part
from cuprous.torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

Placements = tuple[Placement, ...]


def _empty(shape: Sequence[int], like: Tensor) -> Tensor:
    return _core.t_empty(list(shape), like.dtype_name, like.device_name)


def _first(x: Tensor, dim: int) -> Tensor:
    """Returns a tensor with a dimension moved to the front, in that order in memory."""
    order = [dim, *(k for k in range(x.ndim) if k != dim)]
    return x.permute(order).contiguous() if dim else x.contiguous()


def _back(x: Tensor, dim: int) -> Tensor:
    """Undoes `_first`."""
    return x.permute([*range(1, dim + 1), 0, *range(dim + 1, x.ndim)]).contiguous() if dim else x


def _padded(x: Tensor, rows: int) -> Tensor:
    """Returns a contiguous tensor with zeros appended up to a number of rows."""
    missing = rows - x.dims[0]
    if not missing:
        return x
    zeros = _core.t_full([missing, *x.dims[1:]], 0, x.dtype_name, x.device_name)
    return _core.t_cat([x, zeros], 0)


def gather(local: Tensor, dim: int, total: int, group: ProcessGroup) -> Tensor:
    """Returns the whole of a tensor that is divided along `dim` over a group."""
    n = group.size()
    most = -(-total // n)
    rows = _padded(_first(local, dim), most)
    out = _empty([n * most, *rows.dims[1:]], rows)
    _collectives.all_gather_into_tensor(out, rows, group)
    return _back(out[:total] if n * most > total else out, dim)


def own_part(whole: Tensor, dim: int, group: ProcessGroup) -> Tensor:
    """Returns a copy of this rank's part along `dim`."""
    start, size = chunk(whole.dims[dim], group.size(), group.rank())
    return whole.narrow(dim, start, size).clone()


def _reduce(local: Tensor, op: str, group: ProcessGroup) -> Tensor:
    total = local.contiguous().clone()
    _collectives.all_reduce(total, ReduceOp(op), group)
    return total


def scatter_sum(local: Tensor, dim: int, op: str, group: ProcessGroup) -> Tensor:
    """Returns this rank's part along `dim` of the reduction over a group."""
    n, total = group.size(), local.dims[dim]
    most = -(-total // n)
    rows = _padded(_first(local, dim), n * most)
    out = _empty([most, *rows.dims[1:]], rows)
    _collectives.reduce_scatter_tensor(out, rows, ReduceOp(op), group)
    _, size = chunk(total, n, group.rank())
    return _back(out[:size].clone() if size < most else out, dim)


def _exchange(local: Tensor, old: int, new: int, total: int, group: ProcessGroup) -> Tensor:
    """Returns this rank's part along `new` of a tensor that is divided along `old`, whose size is `total`."""
    n, rank = group.size(), group.rank()
    parts = [chunk(local.dims[new], n, k) for k in range(n)]
    sent = [local.narrow(new, start, size).contiguous().clone() for start, size in parts]
    shape = list(local.dims)
    shape[new] = parts[rank][1]
    received = []
    for k in range(n):
        shape[old] = chunk(total, n, k)[1]
        received.append(_empty(shape, local))
    _collectives.all_to_all(received, sent, group)
    return _core.t_cat(received, old)


def _step(local: Tensor, shape: Sequence[int], group: ProcessGroup, old: Placement, new: Placement) -> Tensor:
    """Changes the placement in one dimension of the mesh. `shape` is that of the tensor without it."""
    match old, new:
        case Shard(dim), Replicate():
            return gather(local, dim, shape[dim], group)
        case Shard(dim), Shard(other):
            return _exchange(local, dim, other, shape[dim], group)
        case Replicate(), Shard(dim):
            return own_part(local, dim, group)
        case Replicate(), Partial(op):
            # The other ranks have what does not change a sum. All ranks may have the same of an average or an extremum.
            if op == "product":
                return local if group.rank() == 0 else _creation.ones_like(local)
            return local if op != "sum" or group.rank() == 0 else _creation.zeros_like(local)
        case Partial(op), Replicate():
            return _reduce(local, op, group)
        case Partial(op), Shard(dim):
            return scatter_sum(local, dim, op, group)
    raise RuntimeError(f"redistribute from {old!r} to {new!r} is not supported; redistribute to Replicate() first")


def move(local: Tensor, shape: Sequence[int], mesh: DeviceMesh, old: Placements, new: Placements) -> Tensor:
    """Returns this rank's part of a tensor with other placements, without a gradient."""
    now = list(old)
    # A dimension that several dimensions of the mesh divide is put together from the inside to the outside.
    moved = [a != b for a, b in zip(old, new, strict=True)]
    for k, (a, b) in enumerate(zip(old, new, strict=True)):
        dims = {p.dim for p in (a, b) if isinstance(p, Shard)} if moved[k] else set()
        for j in range(k + 1, len(now)):
            moved[j] = moved[j] or (isinstance(p := old[j], Shard) and p.dim in dims)
    for k in reversed(range(len(now))):
        others = {p.dim for j in range(len(now)) if j != k for p in (old[j], new[j]) if isinstance(p, Shard)}
        shares = any(isinstance(p, Shard) and p.dim in others for p in (old[k], new[k]))
        if moved[k] and not isinstance(now[k], Replicate) and (shares or isinstance(new[k], Replicate)):
            without: list[Placement] = [*now[:k], Replicate(), *now[k + 1 :]]
            local = _step(local, local_part(shape, mesh, without)[0], mesh.get_group(k), now[k], Replicate())
            now = without
    for k in range(len(now)):
        if now[k] != new[k]:
            without = [*now[:k], Replicate(), *now[k + 1 :]]
            local = _step(local, local_part(shape, mesh, without)[0], mesh.get_group(k), now[k], new[k])
            now[k] = new[k]
    return local


def of_gradient(placements: Sequence[Placement]) -> Placements:
    """Returns the placements of a tensor's gradient."""
    return tuple(Replicate() if isinstance(p, Partial) else p for p in placements)


class _Redistribute(Function):
    """Moves a tensor; the backward pass moves the gradient back."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, shape: Sequence[int], mesh: DeviceMesh, old: Placements,
                new: Placements) -> Tensor:  # fmt: skip
        ctx.settings = shape, mesh, old, new
        result = move(local.detach(), shape, mesh, old, new)
        return result.permute(list(range(result.ndim))) if result.shares_storage(local) else result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        shape, mesh, old, new = ctx.settings
        with no_grad():
            back = move(gradient.detach(), shape, mesh, of_gradient(new), of_gradient(old))
            for k, (a, b) in enumerate(zip(old, new, strict=True)):
                if isinstance(a, Partial) and a.reduce_op == "avg" and a != b:
                    back = back / mesh.size(k)
                if isinstance(b, Partial) and b.reduce_op == "avg" and a != b:
                    back = back * mesh.size(k)
        return back, None, None, None, None


def redistribute(local: Tensor, shape: Sequence[int], mesh: DeviceMesh, old: Placements, new: Placements) -> Tensor:
    """Returns this rank's part of a tensor with other placements.

    Raises
    ------
    RuntimeError
        For `Shard` to `Partial`; for the gradient of an extremum or product over ranks.
    """
    if old == new:
        return local
    coordinate(mesh)
    for a, b in zip(old, new, strict=True):
        if local.requires_grad and a != b and isinstance(a, Partial) and a.reduce_op not in ("sum", "avg"):
            raise RuntimeError(
                f"{a!r} has no gradient; redistribute the operand of the reduction, or call detach() before"
            )
    result: Tensor = _Redistribute.apply(local, list(shape), mesh, old, new)
    return result


class _Vary(Function):
    """An operand that all ranks of some groups have, in an operation of which each rank computes a part: its gradient
    is the sum over the ranks."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, groups: list[ProcessGroup]) -> Tensor:
        ctx.groups = groups
        return local.permute(list(range(local.ndim)))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        with no_grad():
            total = gradient.detach().contiguous().clone()
            for group in ctx.groups:
                _collectives.all_reduce(total, ReduceOp.SUM, group)
        return total, None


def vary(local: Tensor, groups: list[ProcessGroup]) -> Tensor:
    """Returns an operand whose gradient is summed over groups."""
    if not groups or not local.requires_grad:
        return local
    result: Tensor = _Vary.apply(local, groups)
    return result


__all__ = ["gather", "move", "of_gradient", "own_part", "redistribute", "scatter_sum", "vary"]
