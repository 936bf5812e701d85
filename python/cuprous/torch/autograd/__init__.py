"""Automatic differentiation with PyTorch's API."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _placeholders
from cuprous.torch._args import zeros_like
from cuprous.torch.autograd import _anomaly, _modes
from cuprous.torch.autograd import _function as function
from cuprous.torch.autograd._anomaly import detect_anomaly, is_anomaly_enabled, set_detect_anomaly
from cuprous.torch.autograd._function import Function
from cuprous.torch.autograd._modes import enable_grad, inference_mode, no_grad, set_grad_enabled


def _list(given: Any) -> list[Any]:
    return [given] if isinstance(given, Tensor) or given is None else list(given)


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:  # fmt: skip
    """Computes the gradients of the leaves that tensors depend on, and adds them to their `grad`.

    Parameters
    ----------
    tensors : Tensor or sequence of Tensors
        The tensors, or one tensor.
    grad_tensors : Tensor or sequence of Tensors, optional
        The gradient of each; it may be left out for tensors of one element.
    retain_graph : bool, optional
        Whether the graph is kept for another pass, by default what `create_graph` says.
    create_graph : bool, default False
        Whether operations of the pass are recorded for gradients.
    grad_variables : Tensor or sequence of Tensors, optional
        The older name of `grad_tensors`.
    inputs : Tensor or sequence of Tensors, optional
        The leaves whose gradients are wanted, by default all.

    See Also
    --------
    torch.autograd.grad, torch.autograd.gradcheck, torch.autograd.gradgradcheck

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> torch.autograd.backward([(x * x).sum()])
    >>> x.grad
    tensor([6.])
    """
    if grad_variables is not None:
        raise NotImplementedError("[backward] grad_variables is not supported; use grad_tensors")
    tensors = _list(tensors)
    gradients = [None] * len(tensors) if grad_tensors is None else _list(grad_tensors)
    _core.t_backward(tensors, gradients, retain_graph, create_graph, None if inputs is None else _list(inputs))


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Any, ...]:  # fmt: skip
    """Returns the gradients with respect to some tensors, without adding them to their `grad`.

    Parameters
    ----------
    outputs : Tensor or sequence of Tensors
        The tensors to differentiate, or one tensor.
    inputs : Tensor or sequence of Tensors
        The tensors to differentiate by, or one tensor.
    grad_outputs : Tensor or sequence of Tensors, optional
        The gradient of each output; it may be left out for tensors of one element.
    retain_graph : bool, optional
        Whether the graph is kept for another pass, by default what `create_graph` says.
    create_graph : bool, default False
        Whether operations of the pass are recorded for gradients.
    only_inputs : bool, default True
        For PyTorch's signature; only True.
    allow_unused : bool, optional
        Whether an input that no output depends on gets None.
    is_grads_batched : bool, default False
        For PyTorch's signature; only False.
    materialize_grads : bool, default False
        Whether such an input gets zeros.

    Returns
    -------
    tuple
        A tuple of gradients.

    Raises
    ------
    RuntimeError
        For an input that was not used, unless `allow_unused` is True, which gives None.

    See Also
    --------
    torch.autograd.gradcheck, torch.autograd.gradgradcheck, torch.autograd.backward

    Examples
    --------
    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> torch.autograd.grad((x * x).sum(), x)
    (tensor([6.]),)
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
    """Returns the tensor. PyTorch has merged variables and tensors.

    Parameters
    ----------
    data : Tensor
        The tensor.
    requires_grad : bool, default False
        Whether operations on it are recorded for gradients.
    volatile : bool, default False
        Has no effect.

    Returns
    -------
    Tensor

    See Also
    --------
    torch.tensor, torch.Tensor.requires_grad_

    Examples
    --------
    >>> torch.autograd.Variable(torch.ones(2), requires_grad=True).requires_grad
    True
    """
    if requires_grad:
        data.requires_grad = True
    return data


from cuprous.torch.autograd._gradcheck import gradcheck, gradgradcheck  # noqa: E402

#: PyTorch's modules of these functions and classes.
variable = sys.modules[__name__]
grad_mode, anomaly_mode = _modes, _anomaly


def _profiler_enabled() -> bool:
    """Returns False: PyTorch's old profiler does not run."""
    return False


if TYPE_CHECKING:
    from cuprous.torch.autograd import functional as functional
    from cuprous.torch.autograd import graph as graph
    from cuprous.torch.autograd import profiler as profiler
else:

    def __getattr__(name: str) -> Any:
        """Imports modules on first use."""
        if name in ("functional", "graph", "profiler"):
            return importlib.import_module(f"{__name__}.{name}")
        return _placeholders.get("autograd", name)


__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "function", "functional", "grad", "gradcheck",
    "gradgradcheck", "inference_mode", "is_anomaly_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip
