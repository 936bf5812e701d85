"""Activation functions."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _autocast, _creation, _shape
from cuprous.torch._args import named
from cuprous.torch._pointwise import clamp
from cuprous.torch._reductions import log_softmax, softmax

_map = _core.t_map


def written(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    if not inplace:
        return result
    _core.t_update(input, result)
    return input


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Returns `max(x, 0)`; the gradient at 0 is 0."""
    return written(input, _core.t_relu(input), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`min(max(x, 0), 6)`."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Returns `min(max(x, min_val), max_val)`; the gradient at the bounds is 0."""
    low = _map("where", _map("less_equal", input, min_val), min_val, input)
    return written(input, _map("where", _map("greater_equal", input, max_val), max_val, low), inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Returns x if it is positive, otherwise x times a slope."""
    return written(
        input, _map("where", _map("greater", input, 0), input, _map("multiply", input, negative_slope)), inplace
    )


@_autocast.policy
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Returns x if it is positive, otherwise x times a weight (one for all elements, or one for each channel).

    Raises:
        RuntimeError: if the number of weights is neither one nor that of the channels.
    """
    if weight.numel() > 1:
        channels = input.dims[1] if input.ndim > 1 else input.numel()
        if weight.numel() != channels:
            raise RuntimeError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                               f"{weight.numel()} and channel size = {channels}.")  # fmt: skip
        weight = weight.reshape([-1 if k == 1 else 1 for k in range(max(input.ndim, 2))]) if input.ndim > 1 else weight
    return _map("where", _map("greater", input, 0), input, _map("multiply", input, weight))


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Returns x if it is positive, otherwise `alpha (exp(x) - 1)`."""
    return written(input, _exponential(input, alpha, 1.0, 1.0), inplace)


def _exponential(x: Tensor, alpha: float, scale: float, inner: float) -> Tensor:
    positive = _map("greater", x, 0)
    # The branch that is not selected must stay finite, because its gradient would otherwise be 0 times infinity.
    low = _map("expm1", _map("where", positive, 0, x if inner == 1 else _map("multiply", x, inner)))
    low = low if alpha == 1 else _map("multiply", low, alpha)
    result = _map("where", positive, x, low)
    return result if scale == 1 else _map("multiply", result, scale)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Returns the scaled ELU, which preserves mean 0 and variance 1."""
    return written(input, _exponential(input, 1.6732632423543772, 1.0507009873554805, 1.0), inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Returns x if it is positive, otherwise `alpha (exp(x / alpha) - 1)`."""
    return written(input, _exponential(input, alpha, 1.0, 1.0 / alpha), inplace)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Returns x times the normal distribution function of x; "tanh" selects an approximation."""
    if approximate == "none" and input.is_floating_point():
        return _core.t_gelu(input)
    if approximate == "none":
        return _map("multiply", input, _map("ndtr", input))
    if approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    cube = _map("multiply", _map("square", input), input)
    inner = _map("multiply", _map("add", input, _map("multiply", cube, 0.044715)), math.sqrt(2 / math.pi))
    return _map("multiply", _map("multiply", input, 0.5), _map("add", _map("tanh", inner), 1.0))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * sigmoid(x)`."""
    return written(input, _map("multiply", input, _map("expit", input)), inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * tanh(softplus(x))`."""
    return written(input, _map("multiply", input, _map("tanh", softplus(input))), inplace)


@_autocast.policy
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Returns `log(1 + exp(beta x)) / beta`, and x if beta x is above the threshold."""
    scaled = input if beta == 1 else _map("multiply", input, beta)
    high = _map("greater", scaled, threshold)
    soft = _map("log1p", _map("exp", _map("where", high, 0, scaled)))
    return _map("where", high, input, soft if beta == 1 else _map("divide", soft, beta))


def softsign(input: Tensor) -> Tensor:
    """`x / (1 + |x|)`."""
    return _map("divide", input, _map("add", _map("absolute", input), 1))


def logsigmoid(input: Tensor) -> Tensor:
    """Returns the logarithm of the sigmoid."""
    return _map("subtract", clamp(input, max=0), _map("log1p", _map("exp", _map("negative", _map("absolute", input)))))


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """`min(max(x / 6 + 1/2, 0), 1)`."""
    return written(input, _map("divide", hardtanh(_map("add", input, 3), 0.0, 6.0), 6.0), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * hardsigmoid(x)`."""
    return written(input, _map("multiply", input, hardsigmoid(input)), inplace)


def sigmoid(input: Tensor) -> Tensor:
    """`1 / (1 + exp(-x))`."""
    return _map("expit", input)


def tanh(input: Tensor) -> Tensor:
    """Returns the hyperbolic tangent."""
    return _map("tanh", input)


@_autocast.policy
def softmin(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """`softmax(-x)`."""
    return softmax(_map("negative", input), dim, dtype)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Returns the first half along a dimension times the sigmoid of the second."""
    a, b = _shape.chunk(input, 2, dim)
    return _map("multiply", a, _map("expit", b))


# --- shrinkage and thresholds


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Returns x if it is above a threshold, otherwise a value."""
    return written(input, _map("where", _map("greater", input, threshold), input, value), inplace)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Returns 0 within [-lambd, lambd], otherwise x."""
    return _map("where", _map("less_equal", _map("absolute", input), lambd), 0, input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Returns 0 within [-lambd, lambd], otherwise x moved toward 0 by lambd."""
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return _map("subtract", input, clamp(input, -lambd, lambd))


def tanhshrink(input: Tensor) -> Tensor:
    """`x - tanh(x)`."""
    return _map("subtract", input, _map("tanh", input))


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
          inplace: bool = False) -> Tensor:  # fmt: skip
    """Returns x if it is positive, otherwise x times a slope: drawn from [lower, upper) in training, else the mean of
    the two."""
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    scaled = _map("multiply", _creation.draw_unit(input), upper - lower)
    slope = _core.t_cast(_map("add", scaled, lower), input.dtype_name)
    return written(input, _map("where", _map("greater", input, 0), input, _map("multiply", input, slope)), inplace)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Returns a sample of the Gumbel-softmax distribution (Jang et al., 2017); with `hard`, a one-hot vector with the
    gradient of the soft sample."""
    unit = _creation.draw_unit(logits)
    # An exponential random number from 1 - u, which is never 0.
    variate = _map("negative", _map("log1p", _map("negative", unit))) + 1e-37
    noise = _core.t_cast(_map("negative", _map("log", variate)), logits.dtype_name)
    soft = softmax(_map("divide", _map("add", logits, noise), tau), dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, True)
    strides = [0] * soft.ndim
    strides[dim] = 1
    positions = _core.t_iota(list(soft.dims), strides, 0, soft.device_name)
    one = _core.t_cast(_map("equal", positions, index), soft.dtype_name)
    return _map("add", _map("subtract", one, soft.detach()), soft)


def _in_place(function: Any) -> Any:
    def act(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return function(input, *args, inplace=True, **kwargs)

    return named(act, f"{function.__name__}_", f"Applies `{function.__name__}` in place.")


relu_, leaky_relu_, elu_, selu_, celu_, hardtanh_, threshold_, rrelu_ = map(
    _in_place, (relu, leaky_relu, elu, selu, celu, hardtanh, threshold, rrelu)
)

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6",
    "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink",
    "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
]  # fmt: skip
