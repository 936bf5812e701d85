"""Linear and bilinear layers."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _creation
from cuprous.torch.nn import functional as F
from cuprous.torch.nn import init
from cuprous.torch.nn.modules.module import Module, names_layer
from cuprous.torch.nn.parameter import Parameter


def _empty(*size: int, device: Any = None, dtype: Any = None) -> Parameter:
    return Parameter(_creation.empty(*size, device=device, dtype=dtype))


class Identity(Module):
    """A layer that returns its input.

    Parameters
    ----------
    *args : any
        Have no effect.
    **kwargs : any
        Have no effect.

    Shapes
    ------
    input
        Anything.
    result
        The input.

    See Also
    --------
    torch.nn.LazyLinear, torch.nn.Linear, torch.nn.Bilinear

    Examples
    --------
    >>> nn.Identity()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Returns the input."""
        return input


class Linear(Module):
    """A layer that returns `input @ weight.T + bias`.

    Both parameters are initialized uniformly on ±1/√in_features.

    Parameters
    ----------
    in_features : int
        The extent of the input's last dimension.
    out_features : int
        The extent of the result's last dimension.
    bias : bool, default True
        Whether a bias is added.
    device : device or str, optional
        The device of the parameters, by default the default device.
    dtype : dtype, optional
        The dtype of the parameters, by default the default dtype.

    Shapes
    ------
    input
        (..., in_features), of the dtype of the parameters.
    result
        (..., out_features), of the same dtype.

    See Also
    --------
    torch.nn.Bilinear, torch.nn.Identity, torch.nn.LazyLinear

    Examples
    --------
    >>> nn.Linear(3, 2)(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = _empty(out_features, in_features, device=device, dtype=dtype)
        self.register_parameter("bias", _empty(out_features, device=device, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initializes the parameters at random.

        Examples
        --------
        >>> nn.Linear(3, 2).reset_parameters()
        """
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """Returns `input @ weight.T + bias`."""
        own = self._parameters
        try:
            if "weight" in own and "bias" in own:
                return _core.t_linear(input, own["weight"], own["bias"])
            return _core.t_linear(input, self.weight, self.bias)  # one is parametrized
        except TypeError:
            return F.linear(input, self.weight, self.bias)  # tensors that several ranks hold
        except RuntimeError as error:
            if "same dtype" in error.args[0]:
                raise RuntimeError(f"[{self!r}] {error}") from None
            if not error.args[0].startswith("mat1 and mat2"):
                raise
            raise RuntimeError(
                f"[{self!r}] {error}: the input has shape {list(input.dims)}, its last dimension must be "
                f"{self.in_features}"
            ) from None

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A linear layer. PyTorch has a separate class for the output projection of attention.

    Parameters
    ----------
    in_features : int
        The extent of the input's last dimension.
    out_features : int
        The extent of the result's last dimension.
    bias : bool, default True
        Whether a bias is added.
    device : device or str, optional
        The device of the parameters, by default the default device.
    dtype : dtype, optional
        The dtype of the parameters, by default the default dtype.

    Examples
    --------
    >>> isinstance(nn.modules.linear.NonDynamicallyQuantizableLinear(2, 2), nn.Linear)
    True
    """


class Bilinear(Module):
    """A layer that returns `input1 @ weight[k] @ input2 + bias[k]` for each k.

    Parameters
    ----------
    in1_features : int
        The extent of the first input's last dimension.
    in2_features : int
        The extent of the second input's last dimension.
    out_features : int
        The extent of the result's last dimension.
    bias : bool, default True
        Whether a bias is added.
    device : device or str, optional
        The device of the parameters, by default the default device.
    dtype : dtype, optional
        The dtype of the parameters, by default the default dtype.

    Shapes
    ------
    input1
        (..., in1_features), of the dtype of the parameters.
    input2
        (..., in2_features), of the same dtype.
    result
        (..., out_features), of the same dtype.

    See Also
    --------
    torch.nn.Identity, torch.nn.LazyLinear, torch.nn.Linear

    Examples
    --------
    >>> nn.Bilinear(3, 4, 2)(torch.ones(5, 3), torch.ones(5, 4)).shape
    torch.Size([5, 2])
    """

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = _empty(out_features, in1_features, in2_features, device=device, dtype=dtype)
        self.register_parameter("bias", _empty(out_features, device=device, dtype=dtype) if bias else None)
        bound = 1 / math.sqrt(in1_features)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    @names_layer
    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Returns the products."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
                f"out_features={self.out_features}, bias={self.bias is not None}")  # fmt: skip


__all__ = ["Bilinear", "Identity", "Linear"]
