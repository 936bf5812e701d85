"""Automatic differentiation with PyTorch's API."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import zeros_like
from cuprous.torch.autograd import _function as function
from cuprous.torch.autograd._anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from cuprous.torch.autograd._function import Function
from cuprous.torch.autograd._modes import enable_grad, inference_mode, no_grad, set_grad_enabled


def _list(given: Any) -> list[Any]:
    return [given] if isinstance(given, Tensor) or given is None else list(given)


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:  # fmt: skip
    """Accumulates the gradients of `tensors` into the leaves."""
    if grad_variables is not None:
        raise NotImplementedError("[backward] grad_variables is not supported; use grad_tensors")
    tensors = _list(tensors)
    gradients = [None] * len(tensors) if grad_tensors is None else _list(grad_tensors)
    _core.t_backward(tensors, gradients, retain_graph, create_graph, None if inputs is None else _list(inputs))


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Any, ...]:  # fmt: skip
    """Returns the gradients with respect to `inputs`, without accumulating them in `.grad`.

    Raises:
        RuntimeError: for an input that was not used, unless `allow_unused` is True, which gives None.
    """
    if not only_inputs or is_grads_batched:
        raise NotImplementedError("[grad] only_inputs=False and is_grads_batched=True are not supported")
    outputs, inputs = _list(outputs), _list(inputs)
    gradients = [None] * len(outputs) if grad_outputs is None else _list(grad_outputs)
    found = _core.t_grad(outputs, inputs, gradients, retain_graph, create_graph)
    if materialize_grads:
        found = [zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]
    elif not allow_unused and any(g is None for g in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
            "this is the desired behavior."
        )
    return tuple(found)


def Variable(data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Tensor:
    """Returns the tensor. PyTorch merged variables and tensors."""
    if requires_grad:
        data.requires_grad = True
    return data


from cuprous.torch.autograd import functional  # noqa: E402
from cuprous.torch.autograd._gradcheck import gradcheck, gradgradcheck  # noqa: E402

#: PyTorch's module of `Variable`.
variable = sys.modules[__name__]


def __getattr__(name: str) -> Any:
    """Imports modules on first use."""
    if name in ("graph", "profiler"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.autograd' has no attribute {name!r}")


__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "function", "functional", "grad", "gradcheck",
    "gradgradcheck", "inference_mode", "is_anomaly_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip
