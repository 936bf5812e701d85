"""Functions of all gradients or parameters together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _reductions, _shape
from cuprous.torch._sharded import Sharded, local_parts

_NONFINITE = "The total norm of order {} for gradients is non-finite, so it cannot be clipped."


def _tensors(parameters: Any) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                    foreach: bool | None = None) -> Tensor:  # fmt: skip
    """Scales all gradients so that their joint norm is at most `max_norm`; returns the norm before.

    Nothing is read on the host (unless `error_if_nonfinite` is set): the factor is a recorded value like any other.
    """
    parameters = _tensors(parameters)
    gradients = [p.grad for p in parameters if p.grad is not None]
    total = get_total_norm(gradients, norm_type, error_if_nonfinite)
    if gradients:
        clip_grads_with_norm_(parameters, max_norm, total)
    return total


def get_total_norm(tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:  # fmt: skip
    """Returns the joint norm of all tensors: a DTensor that all ranks have, if one of them is a DTensor."""
    found = [t.detach() for t in _tensors(tensors)]
    if not found:
        return _core.t_full([], 0.0, _core.t_default_dtype(), "cpu")
    sharded: Any = next((t for t in found if isinstance(t, Sharded)), None)
    if sharded is not None:
        total: Tensor = sharded.joint_norm(found, norm_type)
        if error_if_nonfinite and not math.isfinite(total.item()):
            raise RuntimeError(_NONFINITE.format(norm_type))
        return total
    total = _reductions.norm(_shape.stack([_reductions.norm(t, norm_type) for t in found]), norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(_NONFINITE.format(norm_type))
    return total


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Tensor, foreach: bool | None = None) -> None:
    """Scales all gradients by the factor that reduces `total_norm` to `max_norm`, if it is larger."""
    (norm,) = local_parts([total_norm])
    factor = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    for p in local_parts(_tensors(parameters)):
        if p.grad is not None:
            _core.t_map_inplace("multiply", p.grad.detach(), factor)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clamps the elements of each gradient to [-clip_value, clip_value]."""
    for p in local_parts(_tensors(parameters)):
        if p.grad is not None:
            p.grad.detach().clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Returns all parameters concatenated to one vector."""
    return _shape.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Writes the parts of a vector into the parameters."""
    at = 0
    for p in parameters:
        p.data = vec[at : at + p.numel()].reshape(p.dims).detach().clone()
        at += p.numel()


__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector",
    "vector_to_parameters",
]  # fmt: skip
