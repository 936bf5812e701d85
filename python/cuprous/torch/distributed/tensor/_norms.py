"""The joint norm of tensors that several ranks hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _joining, _reductions
from cuprous.torch.distributed import _collectives
from cuprous.torch.distributed._options import ReduceOp
from cuprous.torch.distributed.device_mesh import DeviceMesh
from cuprous.torch.distributed.tensor._dtensor import DTensor
from cuprous.torch.distributed.tensor._operands import refuse
from cuprous.torch.distributed.tensor.placement_types import Partial, Replicate, Shard


def joint_norm(self: DTensor, tensors: Sequence[Any], order: float) -> DTensor:
    """Returns the joint norm, with replicas. One number is sent for each mesh and way to shard.

    Raises
    ------
    RuntimeError
        For a `Partial`.
    NotImplementedError
        For the order 0.
    """
    if order == 0:
        raise NotImplementedError("[clip_grad_norm_] norm_type=0 does not support DTensor")
    parts: dict[tuple[DeviceMesh | None, tuple[bool, ...]], list[Tensor]] = {}
    for t in tensors:
        if isinstance(t, DTensor):
            if any(isinstance(p, Partial) for p in t.placements):
                refuse("clip_grad_norm_", [t], "the norm of a Partial is not that of its parts")
            key = t.device_mesh, tuple(isinstance(p, Shard) for p in t.placements)
            parts.setdefault(key, []).append(t._local)
        else:
            parts.setdefault((None, ()), []).append(t)
    norms = []
    for (mesh, sharded), own in parts.items():
        norm = _norm([_norm_of(t, order) for t in own], order)
        groups = [mesh.get_group(k) for k, is_sharded in enumerate(sharded) if is_sharded] if mesh is not None else []
        if groups:
            # A power that is summed, or an extremum of norms.
            powered = norm if math.isinf(order) else norm**order
            powered = powered.reshape(1).contiguous().clone()
            op = ReduceOp.SUM if not math.isinf(order) else ReduceOp.MAX if order > 0 else ReduceOp.MIN
            for group in groups:
                _collectives.all_reduce(powered, op, group)
            norm = (powered if math.isinf(order) else powered ** (1 / order)).reshape(())
        norms.append(norm)
    total = norms[0] if len(norms) == 1 else _norm(norms, order)
    return DTensor(total, self.device_mesh, [Replicate()] * self.device_mesh.ndim, [])


def _norm_of(t: Tensor, order: float) -> Tensor:
    if t.numel() == 0:  # a rank beyond the last part
        return (t.sum() + (math.inf if order < 0 else 0.0)) if math.isinf(order) else t.sum()
    return _reductions.norm(t, order)


def _norm(norms: list[Tensor], order: float) -> Tensor:
    return norms[0] if len(norms) == 1 else _reductions.norm(_joining.stack(norms), order)
