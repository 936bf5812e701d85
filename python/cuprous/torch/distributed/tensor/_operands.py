"""Operands of an operation on DTensors: what they have in common, and the parts that an operation computes with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from cuprous._core import Tensor
from cuprous.torch.distributed.device_mesh import DeviceMesh
from cuprous.torch.distributed.tensor import _redistribute
from cuprous.torch.distributed.tensor._dtensor import DTensor
from cuprous.torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard


def refuse(name: str, operands: Iterable[Any], why: str) -> NoReturn:
    """Raises for operands that need a redistribution."""
    texts = " and ".join(x._text() for x in operands if type(x) is DTensor)
    raise RuntimeError(
        f"[{name}] {texts}: {why}. Redistribute first, for example with x.redistribute(placements=[Replicate()])"
    )


def common_mesh(name: str, operands: Sequence[Any]) -> DeviceMesh:
    """Returns the mesh of the DTensors among operands.

    Raises
    ------
    RuntimeError
        For a mix with plain tensors (except those of one element and no dimension), or of meshes.
    """
    tensors = [x for x in operands if type(x) is DTensor]
    mesh = tensors[0].device_mesh
    for x in operands:
        if type(x) is not DTensor and isinstance(x, Tensor) and x.ndim:
            raise RuntimeError(
                f"[{name}] got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before "
                "calling distributed operators! Use distribute_tensor, or DTensor.from_local for parts"
            )
        if type(x) is DTensor and x.device_mesh != mesh:
            refuse(name, tensors, "they are on different meshes")
    return mesh


def part(x: Any, targets: Sequence[Placement], result: Sequence[Placement]) -> Any:
    """Returns this rank's part of an operand with placements that take no communication. Where it is a replica and the
    result is not, its gradient is summed over the ranks."""
    if type(x) is not DTensor:
        return x
    mesh = x.device_mesh
    local = _redistribute.redistribute(x._local, x.dims, mesh, x.placements, tuple(targets))
    groups = [mesh.get_group(k) for k, (own, out) in enumerate(zip(targets, result, strict=True))
              if isinstance(own, Replicate) and not isinstance(out, Replicate)]  # fmt: skip
    return _redistribute.vary(local, groups)


def wrapped(local: Tensor, mesh: DeviceMesh, placements: Sequence[Placement], shape: Sequence[int]) -> DTensor:
    """Returns the result of an operation."""
    return DTensor(local, mesh, placements, shape)


def broadcast_shape(name: str, shapes: Sequence[Sequence[int]]) -> list[int]:
    """Returns the shape of an elementwise result.

    Raises
    ------
    RuntimeError
        If the shapes do not fit.
    """
    ndim = max(map(len, shapes))
    out = [1] * ndim
    for shape in shapes:
        for k, extent in enumerate(shape, ndim - len(shape)):
            if extent != 1 and out[k] not in (1, extent):
                raise RuntimeError(f"[{name}] shapes {[list(s) for s in shapes]} cannot be broadcast together")
            out[k] = extent if extent != 1 else out[k]
    return out


#: How a Partial operand goes through an elementwise function: both operands ("sum": a + b), the first alone ("scale":
#: a / b), either one ("product": a * b), or the only one ("unary": -a).
LINEAR = {"add": "sum", "sub": "sum", "subtract": "sum", "mul": "product", "multiply": "product", "div": "scale",
          "divide": "scale", "true_divide": "scale", "neg": "unary", "negative": "unary", "clone": "unary",
          "to": "unary"}  # fmt: skip


def elementwise(name: str, operands: Sequence[Any]) -> tuple[list[Any], DeviceMesh, list[Placement], list[int]]:
    """Returns the parts of the operands of an elementwise function, and mesh, placements and shape of its result.

    Sharded operands must be sharded along the same dimension of the result. A replica beside them is cut, which takes
    no communication, or broadcast.

    Raises
    ------
    RuntimeError
        For other placements.
    """
    mesh = common_mesh(name, operands)
    tensors = [x for x in operands if type(x) is DTensor]
    shape = broadcast_shape(name, [x.dims for x in operands if isinstance(x, Tensor)])
    targets: list[list[Placement]] = [[] for _ in tensors]
    result: list[Placement] = []
    for k in range(mesh.ndim):
        own = [x.placements[k] for x in tensors]
        partial = [p for p in own if isinstance(p, Partial)]
        if partial:
            out = _partial_result(name, operands, tensors, own)
            for target, p in zip(targets, own, strict=True):
                target.append(p)
            result.append(out)
            continue
        dims = {p.dim + len(shape) - x.ndim for x, p in zip(tensors, own, strict=True) if isinstance(p, Shard)}
        if len(dims) > 1:
            refuse(name, tensors, "they are sharded along different dimensions")
        if not dims:
            result.append(Replicate())
            for target in targets:
                target.append(Replicate())
            continue
        (dim,) = dims
        for x, p, target in zip(tensors, own, targets, strict=True):
            at = dim - (len(shape) - x.ndim)
            if isinstance(p, Shard) and x.dims[at] != shape[dim]:
                refuse(name, tensors, "a sharded dimension of size 1 would be broadcast")
            target.append(Shard(at) if at >= 0 and x.dims[at] == shape[dim] else Replicate())
        result.append(Shard(dim))
    ready = iter(targets)
    parts = [part(x, next(ready), result) if type(x) is DTensor else x for x in operands]
    return parts, mesh, result, shape


def _partial_result(name: str, operands: Sequence[Any], tensors: list[DTensor], own: list[Placement]) -> Placement:
    kind = LINEAR.get(name)
    partial = [p for p in own if isinstance(p, Partial)]
    first = partial[0]
    is_first = type(operands[0]) is DTensor and isinstance(own[0], Partial)
    fits = first.reduce_op in ("sum", "avg") and not any(isinstance(p, Shard) for p in own)
    if kind == "unary":
        fits = first.reduce_op in ("sum", "avg") or name in ("clone", "to")
    elif kind == "sum":
        fits = fits and len(partial) == len(operands) and len(set(partial)) == 1
    elif kind == "product":
        fits = fits and len(partial) == 1
    elif kind == "scale":
        fits = fits and len(partial) == 1 and is_first
    else:
        fits = False
    if not fits:
        refuse(name, tensors, f"the function of a {first!r} is not that of its parts")
    return first
