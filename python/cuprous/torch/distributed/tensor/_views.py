"""Shapes of DTensors: views and parts along dimensions that each rank has whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuprous import _core
from cuprous.torch.distributed.tensor._dtensor import DTensor
from cuprous.torch.distributed.tensor._layout import local_part, part_sizes
from cuprous.torch.distributed.tensor._operands import common_mesh, refuse
from cuprous.torch.distributed.tensor.placement_types import Placement, Shard


def _permute(input: DTensor, *dims: Any) -> DTensor:
    order = [int(d) % input.ndim for d in (dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims)]
    placements: list[Placement] = [Shard(order.index(p.dim)) if isinstance(p, Shard) else p for p in input.placements]
    local = input._local.permute(order)
    return DTensor(local, input.device_mesh, placements, [input.dims[d] for d in order])


def _transpose(input: DTensor, dim0: int, dim1: int) -> DTensor:
    order = list(range(input.ndim))
    a, b = dim0 % input.ndim, dim1 % input.ndim
    order[a], order[b] = b, a
    return _permute(input, order)


def _t(input: DTensor) -> DTensor:
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return _transpose(input, 0, 1) if input.ndim == 2 else input


def _mt(input: DTensor) -> DTensor:
    return _transpose(input, -2, -1)


def _reversed(input: DTensor) -> DTensor:
    return _permute(input, list(reversed(range(input.ndim))))


def _unsqueeze(input: DTensor, dim: int) -> DTensor:
    at = dim % (input.ndim + 1)
    placements: list[Placement] = [
        Shard(p.dim + (p.dim >= at)) if isinstance(p, Shard) else p for p in input.placements
    ]
    return DTensor(input._local.unsqueeze(at), input.device_mesh, placements,
                   [*input.dims[:at], 1, *input.dims[at:]])  # fmt: skip


def _squeeze(input: DTensor, dim: int) -> DTensor:
    at = dim % input.ndim
    if input.dims[at] != 1:
        return input
    if any(p == Shard(at) for p in input.placements):
        refuse("squeeze", [input], f"dimension {at} is sharded")
    placements: list[Placement] = [Shard(p.dim - (p.dim > at)) if isinstance(p, Shard) else p for p in input.placements]
    return DTensor(input._local.squeeze(at), input.device_mesh, placements, [*input.dims[:at], *input.dims[at + 1 :]])


def _complete(shape: Sequence[int], numel: int) -> list[int]:
    known = 1
    for extent in shape:
        known *= extent if extent != -1 else 1
    full = [extent if extent != -1 else numel // max(known, 1) for extent in shape]
    count = 1
    for extent in full:
        count *= extent
    if count != numel or sum(extent == -1 for extent in shape) > 1:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return full


def _groups(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Returns which dimensions of two shapes have the same elements: the smallest runs of equal size."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        a, b = [], []
        m = n = 1
        if i < len(old):
            a, m, i = [i], old[i], i + 1
        if j < len(new):
            b, n, j = [j], new[j], j + 1
        while m != n:
            if m < n:
                m *= old[i]
                a.append(i)
                i += 1
            else:
                n *= new[j]
                b.append(j)
                j += 1
        groups.append((a, b))
    return groups


def _view(name: str) -> Callable[..., DTensor]:
    def function(input: DTensor, *shape: Any) -> DTensor:
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        full = _complete([int(n) for n in wanted], input.numel())
        if not any(isinstance(p, Shard) for p in input.placements):
            return DTensor(getattr(input._local, name)(full), input.device_mesh, input.placements, full)
        if input.numel() == 0:
            refuse(name, [input], "an empty tensor that is sharded has no rows to keep together")
        groups = _groups(input.dims, full)
        placements = list(input.placements)
        for k, p in enumerate(input.placements):
            if not isinstance(p, Shard):
                continue
            old, new = next(group for group in groups if p.dim in group[0])
            before = [d for d in old if d < p.dim and input.dims[d] != 1]
            after = [d for d in new if full[d] != 1]
            if old == [p.dim] and len(new) == 1:
                placements[k] = Shard(new[0])
                continue
            is_even = all(len(part_sizes(extent, input.device_mesh, input.placements, p.dim)) == 1
                          for extent in (input.dims[p.dim], full[after[0]] if after else 0))  # fmt: skip
            if before or not after or not is_even:
                refuse(name, [input], f"the view to {full} mixes the parts of different ranks")
            placements[k] = Shard(after[0])
        local, _ = local_part(full, input.device_mesh, placements)
        return DTensor(getattr(input._local, name)(local), input.device_mesh, placements, full)

    return function


def _flatten(input: DTensor, start_dim: int = 0, end_dim: int = -1) -> DTensor:
    start, end = start_dim % max(input.ndim, 1), end_dim % max(input.ndim, 1)
    return _view("reshape")(input, [*input.dims[:start], -1, *input.dims[end + 1 :]])


def _unflatten(input: DTensor, dim: int, sizes: Sequence[int]) -> DTensor:
    at = dim % input.ndim
    return _view("reshape")(input, [*input.dims[:at], *sizes, *input.dims[at + 1 :]])


def _whole(name: str, input: DTensor, dim: int) -> int:
    at = dim % input.ndim
    if any(p == Shard(at) for p in input.placements):
        refuse(name, [input], f"dimension {at} is sharded")
    return at


def _narrow(input: DTensor, dim: int, start: int, length: int) -> DTensor:
    at = _whole("narrow", input, dim)
    local = input._local.narrow(at, start, length)
    return DTensor(local, input.device_mesh, input.placements, [*input.dims[:at], length, *input.dims[at + 1 :]])


def _parts(name: str) -> Callable[..., tuple[DTensor, ...]]:
    def function(input: DTensor, count: Any, dim: int = 0) -> tuple[DTensor, ...]:
        at = _whole(name, input, dim)
        return tuple(
            DTensor(
                local, input.device_mesh, input.placements, [*input.dims[:at], local.dims[at], *input.dims[at + 1 :]]
            )
            for local in getattr(input._local, name)(count, at)
        )

    return function


def _cat(tensors: Sequence[DTensor], dim: int = 0) -> DTensor:
    mesh = common_mesh("cat", list(tensors))
    at = _whole("cat", tensors[0], dim)
    if any(x.placements != tensors[0].placements for x in tensors):
        refuse("cat", tensors, "they are not distributed alike")
    shape = list(tensors[0].dims)
    shape[at] = sum(x.dims[at] for x in tensors)
    return DTensor(_core.t_cat([x._local for x in tensors], at), mesh, tensors[0].placements, shape)


def getitem(self: DTensor, key: Any) -> DTensor:
    """Returns a part, by integers, slices, None and an ellipsis, along dimensions that are not sharded."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if not all(k is None or k is Ellipsis or isinstance(k, (int, slice)) for k in keys):
        raise NotImplementedError("indices of a DTensor must be integers, slices, None or an ellipsis")
    if Ellipsis not in keys:
        keys.append(Ellipsis)
    at = keys.index(Ellipsis)
    missing = self.ndim - sum(k is not None and k is not Ellipsis for k in keys)
    if missing < 0:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    keys[at : at + 1] = [slice(None)] * missing
    result, dim = self, 0
    for k in keys:
        if k is None:
            result, dim = _unsqueeze(result, dim), dim + 1
        elif isinstance(k, int):
            _whole("getitem", result, dim)
            if not -result.dims[dim] <= k < result.dims[dim]:
                raise IndexError(f"index {k} is out of bounds for dimension {dim} with size {result.dims[dim]}")
            result = _squeeze(_narrow(result, dim, k % result.dims[dim], 1), dim)
        else:
            start, stop, step = k.indices(result.dims[dim])
            if (start, stop, step) != (0, result.dims[dim], 1):
                if step != 1:
                    raise NotImplementedError("slices of a DTensor must have step 1")
                result = _narrow(result, dim, start, max(stop - start, 0))
            dim += 1
    return result


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "permute": _permute, "transpose": _transpose, "t": _t, "unsqueeze": _unsqueeze, "squeeze": _squeeze,
    "reshape": _view("reshape"), "flatten": _flatten, "unflatten": _unflatten, "narrow": _narrow,
    "chunk": _parts("chunk"), "split": _parts("split"), "cat": _cat, "concat": _cat,
}  # fmt: skip
METHODS: dict[str, Callable[..., Any]] = {
    **{name: f for name, f in FUNCTIONS.items() if name not in ("cat", "concat")}, "view": _view("view"),
    "T": _reversed, "mT": _mt,
}  # fmt: skip
