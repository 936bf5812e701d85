"""Activation layers."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _creation
from cuprous.torch.nn import functional as F
from cuprous.torch.nn.modules._generated import REQUIRED, LayerDocumentation, LayerSignature
from cuprous.torch.nn.modules.module import Module, bound
from cuprous.torch.nn.parameter import Parameter

#: Activations without parameters: the function, its settings with their defaults, and the settings that repr() shows
#: (those that differ from "" in this template).
_ACTIVATIONS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "ReLU": (F.relu, {"inplace": False}, "{inplace}"),
    "ReLU6": (F.relu6, {"inplace": False}, "{inplace}"),
    "Sigmoid": (F.sigmoid, {}, ""),
    "Tanh": (F.tanh, {}, ""),
    "GELU": (F.gelu, {"approximate": "none"}, "approximate={approximate!r}"),
    "SiLU": (F.silu, {"inplace": False}, "{inplace}"),
    "Mish": (F.mish, {"inplace": False}, "{inplace}"),
    "ELU": (F.elu, {"alpha": 1.0, "inplace": False}, "alpha={alpha}{inplace}"),
    "CELU": (F.celu, {"alpha": 1.0, "inplace": False}, "alpha={alpha}{inplace}"),
    "SELU": (F.selu, {"inplace": False}, "{inplace}"),
    "LeakyReLU": (F.leaky_relu, {"negative_slope": 0.01, "inplace": False}, "negative_slope={negative_slope}{inplace}"),
    "Hardtanh": (F.hardtanh, {"min_val": -1.0, "max_val": 1.0, "inplace": False},
                 "min_val={min_val}, max_val={max_val}{inplace}"),
    "Hardsigmoid": (F.hardsigmoid, {"inplace": False}, ""),
    "Hardswish": (F.hardswish, {"inplace": False}, ""),
    "Softplus": (F.softplus, {"beta": 1.0, "threshold": 20.0}, "beta={beta}, threshold={threshold}"),
    "Softsign": (F.softsign, {}, ""),
    "LogSigmoid": (F.logsigmoid, {}, ""),
    "Softmax": (F.softmax, {"dim": None}, "dim={dim}"),
    "LogSoftmax": (F.log_softmax, {"dim": None}, "dim={dim}"),
    "Softmin": (F.softmin, {"dim": None}, "dim={dim}"),
    "GLU": (F.glu, {"dim": -1}, "dim={dim}"),
    "Threshold": (F.threshold, {"threshold": REQUIRED, "value": REQUIRED, "inplace": False},
                  "threshold={threshold}, value={value}{inplace}"),
    "Hardshrink": (F.hardshrink, {"lambd": 0.5}, "{lambd}"),
    "Softshrink": (F.softshrink, {"lambd": 0.5}, "{lambd}"),
    "Tanhshrink": (F.tanhshrink, {}, ""),
}  # fmt: skip

#: Examples of layers whose function's example has other settings than the defaults.
_EXAMPLES = {
    "Softmax": "    >>> nn.Softmax(dim=0)(torch.tensor([0.0, 0.0]))\n    tensor([0.5000, 0.5000])",
    "LogSoftmax": "    >>> nn.LogSoftmax(dim=0)(torch.tensor([0.0, 0.0]))\n    tensor([-0.6931, -0.6931])",
    "Softmin": "    >>> nn.Softmin(dim=0)(torch.tensor([1.0, 2.0]))\n    tensor([0.7311, 0.2689])",
    "Threshold": "    >>> nn.Threshold(0.0, 5.0)(torch.tensor([-1.0, 2.0]))\n    tensor([5., 2.])",
}


def _activation(name: str, function: Any, settings: dict[str, Any], shown: str) -> type[Module]:
    called = function.__name__

    def __init__(self: Module, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        values = bound(name, settings, args, kwargs)
        missing = [setting for setting, value in values.items() if value is REQUIRED]
        if missing:
            raise TypeError(f"{name}() needs the arguments {', '.join(missing)}")
        for setting, value in values.items():
            setattr(self, setting, value)

    def forward(self: Module, input: Tensor) -> Tensor:
        """Returns the activation."""
        if not settings:
            return getattr(F, called)(input)
        return getattr(F, called)(input, **{setting: getattr(self, setting) for setting in settings})

    def extra_repr(self: Module) -> str:
        inplace = getattr(self, "inplace", False)
        text = shown.format(
            **{**{s: getattr(self, s) for s in settings}, "inplace": ", inplace=True" if inplace else ""}
        )
        return text.removeprefix(", ")

    extra_repr.__doc__ = Module.extra_repr.__doc__
    doc = LayerDocumentation(function, settings, _EXAMPLES.get(name))
    body = {"__init__": __init__, "forward": forward, "extra_repr": extra_repr, "__doc__": doc,
            "__signature__": LayerSignature(settings), "__module__": __name__}  # fmt: skip
    return type(name, (Module,), body)


for _name, (_function, _settings, _shown) in _ACTIVATIONS.items():
    globals()[_name] = _activation(_name, _function, _settings, _shown)


class PReLU(Module):
    """A layer that returns x if it is positive, otherwise x times a learned weight.

    Parameters
    ----------
    num_parameters : int, default 1
        The number of weights: one, or one for each channel.
    init : float, default 0.25
        The first value of the weights.
    device : device or str, optional
        The device of the parameters, by default the default device.
    dtype : dtype, optional
        The dtype of the parameters, by default the default dtype.

    Shapes
    ------
    input
        (N, C, ...), of the dtype of the weights.
    result
        Of the same shape and dtype.

    See Also
    --------
    torch.nn.RReLU, torch.nn.LeakyReLU

    Examples
    --------
    >>> nn.PReLU()(torch.tensor([-1.0, 2.0])).detach()
    tensor([-0.2500,  2.0000])
    """

    _repr = "num_parameters={self.num_parameters}"

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(_creation.full((num_parameters,), init, device=device, dtype=dtype))

    def forward(self, input: Tensor) -> Tensor:
        """Returns the activation."""
        return F.prelu(input, self.weight)


class RReLU(Module):
    """A layer that returns x if it is positive, otherwise x times a slope that is drawn at random in training.

    Parameters
    ----------
    lower : float, optional
        The lower bound of the slope.
    upper : float, optional
        The upper bound of the slope.
    inplace : bool, default False
        Whether to write the result to the input.

    Shapes
    ------
    input
        Any shape, of a floating dtype.
    result
        Of the same shape and dtype.

    See Also
    --------
    torch.nn.LeakyReLU, torch.nn.PReLU

    Examples
    --------
    >>> nn.RReLU(0.2, 0.4).eval()(torch.tensor([-1.0, 2.0]))
    tensor([-0.3000,  2.0000])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Returns the activation."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}{', inplace=True' if self.inplace else ''}"


class Softmax2d(Module):
    """The softmax over the channels of images.

    Shapes
    ------
    input
        (N, C, H, W) or (C, H, W), of a floating dtype.
    result
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        When called, for another number of dimensions.

    See Also
    --------
    torch.nn.Softmax, torch.nn.LogSoftmax

    Examples
    --------
    >>> nn.Softmax2d()(torch.zeros(1, 2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Returns the activation."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


__all__ = [*_ACTIVATIONS, "PReLU", "RReLU", "Softmax2d"]
