"""Gradients by PyTorch's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch.autograd import _function as function
from cuprous.torch.autograd._function import Function
from cuprous.torch.autograd._modes import enable_grad, inference_mode, no_grad, set_grad_enabled


def _list(given: Any) -> list[Any]:
    return [given] if isinstance(given, Tensor) or given is None else list(given)


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:  # fmt: skip
    """Sums up the gradients of leaves from those of `tensors`."""
    if grad_variables is not None:
        raise NotImplementedError("[backward] grad_variables is not supported; use grad_tensors")
    tensors = _list(tensors)
    gradients = [None] * len(tensors) if grad_tensors is None else _list(grad_tensors)
    _core.t_backward(tensors, gradients, retain_graph, create_graph, None if inputs is None else _list(inputs))


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of `inputs`, which are not summed up anywhere.

    Raises:
        RuntimeError: for an input that was not used, unless `allow_unused` says that it may be None.
    """
    if not only_inputs or is_grads_batched:
        raise NotImplementedError("[grad] only_inputs=False and is_grads_batched=True are not supported")
    outputs, inputs = _list(outputs), _list(inputs)
    gradients = [None] * len(outputs) if grad_outputs is None else _list(grad_outputs)
    found = _core.t_grad(outputs, inputs, gradients, retain_graph, create_graph)
    if materialize_grads:
        found = [_zeros(x) if g is None else g for g, x in zip(found, inputs, strict=True)]
    elif not allow_unused and any(g is None for g in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
            "this is the desired behavior."
        )
    return tuple(found)


def _zeros(x: Tensor) -> Tensor:
    return _core.t_full(list(x.dims), 0, x.dtype_name, x.device_name)


def Variable(data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Tensor:
    """The tensor: what PyTorch's variables have become."""
    if requires_grad:
        data.requires_grad = True
    return data


def gradcheck(func: Any, inputs: Sequence[Tensor], *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
              raise_exception: bool = True) -> bool:  # fmt: skip
    """Compares the gradients of a function of float64 tensors with central differences.

    Raises:
        RuntimeError: where they differ, unless `raise_exception` is False.
    """
    inputs = list(inputs)
    wanted = [k for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]

    def outputs() -> list[Tensor]:
        return [y for y in _list(func(*inputs)) if isinstance(y, Tensor) and y.requires_grad]

    for place, output in enumerate(outputs()):
        for weight in range(output.numel()):
            seed = _zeros(output).reshape(-1)
            seed[weight] = 1
            found = grad(outputs()[place], [inputs[k] for k in wanted], seed.reshape(output.dims), allow_unused=True)
            for k, g in zip(wanted, found, strict=True):
                x = inputs[k]
                exact = (_zeros(x) if g is None else g).reshape(-1).tolist()
                flat = x.detach().to_numpy().reshape(-1)
                for at in range(x.numel()):
                    ends = []
                    for by in (eps, -eps):
                        moved = flat.copy()
                        moved[at] += by
                        shifted = [*inputs]
                        shifted[k] = _core.t_wrap(_core.from_numpy(moved.reshape(x.dims), x.device_name))
                        shifted[k].requires_grad = True  # for functions that take derivatives themselves
                        y = [y for y in _list(func(*shifted)) if isinstance(y, Tensor) and y.requires_grad]
                        ends.append(float(y[place].reshape(-1)[weight]))
                    slope = (ends[0] - ends[1]) / (2 * eps)
                    if not abs(slope - exact[at]) <= atol + rtol * abs(slope):
                        if raise_exception:
                            raise RuntimeError(
                                f"Jacobian mismatch for output {place} with respect to input {k}: element {at} of the "
                                f"input and {weight} of the output: numerical {slope}, analytical {exact[at]}"
                            )
                        return False
    return True


__all__ = [
    "Function", "Variable", "backward", "enable_grad", "function", "grad", "gradcheck", "inference_mode", "no_grad",
    "set_grad_enabled",
]  # fmt: skip
