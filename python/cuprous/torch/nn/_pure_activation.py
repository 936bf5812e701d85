"""Activations that have no in-place form."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _autocast, _joining, _random_numbers
from cuprous.torch._args import wrap_dim
from cuprous.torch._comparisons import clamp
from cuprous.torch._softmax import log_softmax, softmax

_map = _core.t_map


@_autocast.policy
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Returns x if it is positive, otherwise x times a weight.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...), of a floating dtype.
    weight : Tensor
        A vector of one element, or of one for each channel.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    RuntimeError
        If the number of weights is neither one nor that of the channels.

    See Also
    --------
    torch.nn.functional.leaky_relu, torch.nn.functional.rrelu

    Examples
    --------
    >>> F.prelu(torch.tensor([-1.0, 2.0]), torch.tensor([0.25]))
    tensor([-0.2500,  2.0000])
    """
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.numel() > 1:
        channels = input.dims[1] if input.ndim > 1 else input.numel()
        if weight.numel() != channels:
            raise RuntimeError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                               f"{weight.numel()} and channel size = {channels}.")  # fmt: skip
        weight = weight.reshape([-1 if k == 1 else 1 for k in range(max(input.ndim, 2))]) if input.ndim > 1 else weight
    weight = weight if input.ndim else weight.reshape(())
    return _map("where", _map("greater", input, 0), input, _map("multiply", input, weight))


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Returns x times the normal distribution function of x.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    approximate : str, default "none"
        "none", or "tanh" for an approximation.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    RuntimeError
        For another `approximate`.

    See Also
    --------
    torch.nn.functional.selu, torch.nn.functional.elu, torch.nn.functional.relu, torch.nn.functional.leaky_relu,
    torch.nn.functional.silu

    Examples
    --------
    >>> F.gelu(torch.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """
    if approximate == "none" and input.is_floating_point():
        return _core.t_gelu(input)
    if approximate == "none":
        return _map("multiply", input, _map("ndtr", input))
    if approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    cube = _map("multiply", _map("square", input), input)
    inner = _map("multiply", _map("add", input, _map("multiply", cube, 0.044715)), math.sqrt(2 / math.pi))
    return _map("multiply", _map("multiply", input, 0.5), _map("add", _map("tanh", inner), 1.0))


@_autocast.policy
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Returns `log(1 + exp(beta * x)) / beta`, and x if `beta * x` is above the threshold.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    beta : float, default 1.0
        The factor.
    threshold : float, default 20.0
        The threshold.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.softsign

    Examples
    --------
    >>> F.softplus(torch.tensor([-1.0, 2.0]))
    tensor([0.3133, 2.1269])
    """
    scaled = input if beta == 1 else _map("multiply", input, beta)
    high = _map("greater", scaled, threshold)
    soft = _map("log1p", _map("exp", _map("where", high, 0, scaled)))
    return _map("where", high, input, soft if beta == 1 else _map("divide", soft, beta))


def softsign(input: Tensor) -> Tensor:
    """Returns `x / (1 + |x|)`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.softplus

    Examples
    --------
    >>> F.softsign(torch.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return _map("divide", input, _map("add", _map("absolute", input), 1))


def logsigmoid(input: Tensor) -> Tensor:
    """Returns the logarithm of the sigmoid, computed without overflow.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.hardsigmoid, torch.nn.functional.sigmoid

    Examples
    --------
    >>> F.logsigmoid(torch.tensor([-1.0, 2.0]))
    tensor([-1.3133, -0.1269])
    """
    low = _map("minimum", input, 0)  # whose gradient at 0 is 1/2, that of the whole
    return _map("subtract", low, _map("log1p", _map("exp", _map("negative", _map("absolute", input)))))


def sigmoid(input: Tensor) -> Tensor:
    """Returns `1 / (1 + exp(-x))`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.logsigmoid, torch.nn.functional.hardsigmoid

    Examples
    --------
    >>> F.sigmoid(torch.tensor([-1.0, 0.0]))
    tensor([0.2689, 0.5000])
    """
    return _map("expit", input)


def tanh(input: Tensor) -> Tensor:
    """Returns the hyperbolic tangent.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.relu6, torch.nn.functional.hardtanh

    Examples
    --------
    >>> F.tanh(torch.tensor([-1.0, 0.0]))
    tensor([-0.7616,  0.0000])
    """
    return _map("tanh", input)


@_autocast.policy
def softmin(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Returns `softmax(-x)`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    dim : int, optional
        The dimension along which results sum to 1.
    dtype : dtype, optional
        The dtype to compute in, by default that of the input.

    Returns
    -------
    Tensor
        A tensor of the shape of `input`.

    See Also
    --------
    torch.nn.functional.log_softmax, torch.nn.functional.softmax

    Examples
    --------
    >>> F.softmin(torch.tensor([1.0, 2.0]), dim=0)
    tensor([0.7311, 0.2689])
    """
    return softmax(_map("negative", input), dim, dtype)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Returns the first half along a dimension times the sigmoid of the second.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    dim : int, default -1
        The dimension, of an even extent.

    Returns
    -------
    Tensor
        A tensor with half the extent along the dimension.

    Raises
    ------
    RuntimeError
        For an odd extent.

    See Also
    --------
    torch.nn.functional.gumbel_softmax, torch.nn.functional.softmax

    Examples
    --------
    >>> F.glu(torch.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """
    extent = input.dims[wrap_dim(dim, input.ndim)]
    if extent % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {extent}")
    a, b = _joining.chunk(input, 2, dim)
    return _map("multiply", a, _map("expit", b))


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Returns x, but 0 from `-lambd` to `lambd`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    lambd : float, default 0.5
        The bound.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.softshrink, torch.nn.functional.tanhshrink, torch.nn.functional.threshold

    Examples
    --------
    >>> F.hardshrink(torch.tensor([-1.0, 0.25]))
    tensor([-1.,  0.])
    """
    return _map("where", _map("less_equal", _map("absolute", input), lambd), 0, input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Returns x moved toward 0 by `lambd`, and 0 from `-lambd` to `lambd`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    lambd : float, default 0.5
        The distance.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.tanhshrink, torch.nn.functional.threshold, torch.nn.functional.hardshrink

    Examples
    --------
    >>> F.softshrink(torch.tensor([-1.0, 0.25]))
    tensor([-0.5000,  0.0000])
    """
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return _map("subtract", input, clamp(input, -lambd, lambd))


def tanhshrink(input: Tensor) -> Tensor:
    """Returns `x - tanh(x)`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.threshold, torch.nn.functional.hardshrink, torch.nn.functional.softshrink

    Examples
    --------
    >>> F.tanhshrink(torch.tensor([-1.0, 2.0]))
    tensor([-0.2384,  1.0360])
    """
    return _map("subtract", input, _map("tanh", input))


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Returns a sample of the Gumbel-softmax distribution (Jang et al., 2017).

    Parameters
    ----------
    logits : Tensor
        Unnormalized log-probabilities of any shape.
    tau : float, default 1
        The temperature.
    hard : bool, default False
        Whether to return a one-hot vector with the gradient of the soft sample.
    eps : float, default 1e-10
        For PyTorch's signature; it has no effect.
    dim : int, default -1
        The dimension along which results sum to 1.

    Returns
    -------
    Tensor
        A tensor of the shape of `logits`.

    See Also
    --------
    torch.nn.functional.softmax, torch.nn.functional.glu

    Examples
    --------
    >>> F.gumbel_softmax(torch.zeros(2, 3), hard=True).sum(dim=1)
    tensor([1., 1.])
    """
    unit = _random_numbers.draw_unit(logits)
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


__all__ = [
    "gelu", "glu", "gumbel_softmax", "hardshrink", "log_softmax", "logsigmoid", "prelu", "sigmoid", "softmax",
    "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink",
]  # fmt: skip
