"""What is done with all gradients or parameters at once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _reductions, _shape


def _tensors(parameters: Any) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                    foreach: bool | None = None) -> Tensor:  # fmt: skip
    """Scales all gradients so that their norm together is at most `max_norm`; the norm before.

    Nothing is read on the host (unless `error_if_nonfinite`): the factor is a recorded value like any other.
    """
    gradients = [p.grad.detach() for p in _tensors(parameters) if p.grad is not None]
    if not gradients:
        return _core.t_full([], 0.0, _core.t_default_dtype(), "cpu")
    norms = _shape.stack([_reductions.norm(g, norm_type) for g in gradients])
    total = _reductions.norm(norms, norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients is non-finite, so it cannot be clipped.")
    factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for g in gradients:
        _core.t_overwrite("multiply", g, factor)
    return total


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Brings each gradient's elements into [-clip_value, clip_value]."""
    for p in _tensors(parameters):
        if p.grad is not None:
            p.grad.detach().clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters in one vector."""
    return _shape.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Writes a vector's parts into the parameters."""
    at = 0
    for p in parameters:
        p.data = vec[at : at + p.numel()].reshape(p.dims).detach().clone()
        at += p.numel()
