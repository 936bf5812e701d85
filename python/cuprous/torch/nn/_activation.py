"""Activation functions."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common.naming import named, split_sections
from cuprous._core import Tensor
from cuprous.torch import _random_numbers
from cuprous.torch.nn._pure_activation import softplus

_map = _core.t_map


def written(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    if not inplace:
        return result
    _core.t_update(input, result)
    return input


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Returns `max(x, 0)`. The gradient at 0 is 0.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.leaky_relu, torch.nn.functional.gelu, torch.nn.functional.selu, torch.nn.functional.elu

    Examples
    --------
    >>> F.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return written(input, _core.t_relu(input), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Returns `min(max(x, 0), 6)`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.hardtanh, torch.nn.functional.tanh

    Examples
    --------
    >>> F.relu6(torch.tensor([-1.0, 2.0, 9.0]))
    tensor([0., 2., 6.])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Returns `min(max(x, min_val), max_val)`. The gradient at the bounds is 0.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    min_val : float, default -1.0
        The lower bound.
    max_val : float, default 1.0
        The upper bound.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    ValueError
        If `min_val` is greater than `max_val`.

    See Also
    --------
    torch.nn.functional.tanh, torch.nn.functional.relu6

    Examples
    --------
    >>> F.hardtanh(torch.tensor([-3.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if not input.is_floating_point():
        min_val, max_val = int(min_val), int(max_val)
    low = _map("where", _map("less_equal", input, min_val), min_val, input)
    return written(input, _map("where", _map("greater_equal", input, max_val), max_val, low), inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Returns x if it is positive, otherwise x times a slope.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    negative_slope : float, default 0.01
        The slope for negative numbers.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.gelu, torch.nn.functional.selu, torch.nn.functional.elu, torch.nn.functional.relu,
    torch.nn.functional.rrelu

    Examples
    --------
    >>> F.leaky_relu(torch.tensor([-1.0, 2.0]))
    tensor([-0.0100,  2.0000])
    """
    return written(
        input, _map("where", _map("greater", input, 0), input, _map("multiply", input, negative_slope)), inplace
    )


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Returns x if it is positive, otherwise `alpha * (exp(x) - 1)`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    alpha : float, default 1.0
        The limit for large negative numbers, negated.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.relu, torch.nn.functional.leaky_relu, torch.nn.functional.gelu, torch.nn.functional.selu

    Examples
    --------
    >>> F.elu(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return written(input, _exponential(input, alpha, 1.0, 1.0), inplace)


def _exponential(x: Tensor, alpha: float, scale: float, inner: float) -> Tensor:
    positive = _map("greater", x, 0)
    # The branch that is not selected must stay finite, because its gradient would otherwise be 0 times infinity.
    low = _map("expm1", _map("where", positive, 0, x if inner == 1 else _map("multiply", x, inner)))
    low = low if alpha == 1 else _map("multiply", low, alpha)
    result = _map("where", positive, x, low)
    return result if scale == 1 else _map("multiply", result, scale)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Returns the scaled ELU, which preserves mean 0 and variance 1 (Klambauer et al., 2017).

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.elu, torch.nn.functional.relu, torch.nn.functional.leaky_relu, torch.nn.functional.gelu

    Examples
    --------
    >>> F.selu(torch.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return written(input, _exponential(input, 1.6732632423543772, 1.0507009873554805, 1.0), inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Returns x if it is positive, otherwise `alpha * (exp(x / alpha) - 1)`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    alpha : float, default 1.0
        The limit for large negative numbers, negated.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.selu, torch.prelu, torch.relu

    Examples
    --------
    >>> F.celu(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return written(input, _exponential(input, alpha, 1.0, 1.0 / alpha), inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Returns `x * sigmoid(x)`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.mish, torch.nn.functional.hardswish, torch.nn.functional.gelu

    Examples
    --------
    >>> F.silu(torch.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """
    if input.is_complex():
        return written(input, _map("divide", input, _map("exp", _map("negative", input)) + 1), inplace)
    return written(input, _map("multiply", input, _map("expit", input)), inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Returns `x * tanh(softplus(x))`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.hardswish, torch.nn.functional.gelu, torch.nn.functional.silu

    Examples
    --------
    >>> F.mish(torch.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """
    return written(input, _map("multiply", input, _map("tanh", softplus(input))), inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Returns `min(max(x / 6 + 1/2, 0), 1)`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.sigmoid, torch.nn.functional.logsigmoid

    Examples
    --------
    >>> F.hardsigmoid(torch.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return written(input, _map("divide", hardtanh(_map("add", input, 3), 0.0, 6.0), 6.0), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Returns `x * hardsigmoid(x)`.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.gelu, torch.nn.functional.silu, torch.nn.functional.mish

    Examples
    --------
    >>> F.hardswish(torch.tensor([-4.0, 1.0, 4.0]))
    tensor([-0.0000, 0.6667, 4.0000])
    """
    return written(input, _map("multiply", input, hardsigmoid(input)), inplace)


# --- shrinkage and thresholds


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Returns x if it is above a threshold, otherwise a value.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    threshold : float
        The threshold.
    value : float
        What replaces elements up to the threshold.
    inplace : bool, default False
        Whether to write the result to the input.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.hardshrink, torch.nn.functional.softshrink, torch.nn.functional.tanhshrink

    Examples
    --------
    >>> F.threshold(torch.tensor([-1.0, 2.0]), 0.0, 5.0)
    tensor([5., 2.])
    """
    return written(input, _map("where", _map("less_equal", input, threshold), value, input), inplace)


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
          inplace: bool = False, *, generator: Any = None) -> Tensor:  # fmt: skip
    """Returns x if it is positive, otherwise x times a slope.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    lower : float, optional
        The lower bound of the slope.
    upper : float, optional
        The upper bound of the slope.
    training : bool, default False
        Whether slopes are drawn from the range; they are the mean of its bounds otherwise.
    inplace : bool, default False
        Whether to write the result to the input.
    generator : Generator, optional
        The generator of random numbers, by default the one that `torch.manual_seed` seeds.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.prelu, torch.nn.functional.leaky_relu

    Examples
    --------
    >>> F.rrelu(torch.tensor([-1.0, 2.0]), 0.2, 0.4)
    tensor([-0.3000,  2.0000])
    """
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    scaled = _map("multiply", _random_numbers.draw_unit(input, generator=generator), upper - lower)
    slope = _core.t_cast(_map("add", scaled, lower), input.dtype_name)
    return written(input, _map("where", _map("greater", input, 0), input, _map("multiply", input, slope)), inplace)


def _in_place(function: Any) -> Any:
    def act(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return function(input, *args, inplace=True, **kwargs)

    name = function.__name__
    call, result = split_sections(function.__doc__)[1]["Examples"].split("\n")[:2]
    return named(
        act,
        f"{name}_",
        f"""Writes the result of `{name}` to the input.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    *args : any
        The arguments of `{name}` after the first.
    **kwargs : any
        The keywords of `{name}`.

    Returns
    -------
    Tensor
        The tensor itself.

    See Also
    --------
    torch.nn.functional.{name}

    Examples
    --------
    {call.strip().replace(name, name + "_")}
    {result.strip()}
    """,
    )


relu_, leaky_relu_, elu_, selu_, celu_, hardtanh_, threshold_, rrelu_ = map(
    _in_place, (relu, leaky_relu, elu, selu, celu, hardtanh, threshold, rrelu)
)

__all__ = [
    "celu", "celu_", "elu", "elu_", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_",
    "mish", "relu", "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "silu", "threshold", "threshold_",
]  # fmt: skip
