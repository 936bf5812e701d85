"""Convolutions and transposed convolutions. The classes for each number of dimensions are generated from one table."""

from __future__ import annotations

import math
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _creation
from cuprous.torch.nn import functional as F
from cuprous.torch.nn import init
from cuprous.torch.nn.modules._generated import documented
from cuprous.torch.nn.modules.module import Module, names_layer
from cuprous.torch.nn.parameter import Parameter

_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}


def _each(given: Any, n: int) -> tuple[int, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,) * n


class _ConvNd(Module):
    """Base class with parameters `weight` and `bias`, which are initialized uniformly on ±1/√(inputs of one output)."""

    _rank, _transposed = 0, False

    def _build(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
               output_padding: Any, groups: int, bias: bool, padding_mode: str, device: Any,
               dtype: Any) -> None:  # fmt: skip
        n = self._rank
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups: {channels} and {groups}")
        if isinstance(padding, str):
            if padding not in ("same", "valid") or self._transposed:
                raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
            if padding == "same" and any(s != 1 for s in _each(stride, n)):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {sorted(_MODES)}, but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = _each(kernel_size, n), _each(stride, n), _each(dilation, n)
        self.padding: Any = padding if isinstance(padding, str) else _each(padding, n)
        self.output_padding, self.padding_mode = _each(output_padding, n), padding_mode
        self.transposed = self._transposed
        first, second = (in_channels, out_channels) if self._transposed else (out_channels, in_channels)
        shape = (first, second // groups, *self.kernel_size)
        self.weight = Parameter(_creation.empty(shape, device=device, dtype=dtype))
        shift = Parameter(_creation.empty(out_channels, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", shift)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initializes the parameters at random."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            inputs = math.prod(self.weight.dims[1:])
            if inputs:
                init.uniform_(self.bias, -1 / math.sqrt(inputs), 1 / math.sqrt(inputs))

    def _pad_arguments(self) -> list[int]:
        """Returns the arguments of `F.pad` for padding modes other than zeros."""
        widths = []
        for k in range(self._rank - 1, -1, -1):
            if self.padding == "same":
                total = self.dilation[k] * (self.kernel_size[k] - 1)
                widths += [total // 2, total - total // 2]
            else:
                widths += [0, 0] if self.padding == "valid" else [self.padding[k]] * 2
        return widths

    def extra_repr(self) -> str:
        n = self._rank
        usual = {"padding": (0,) * n, "dilation": (1,) * n, "output_padding": (0,) * n, "groups": 1}
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        text += "".join(f", {name}={getattr(self, name)}" for name, v in usual.items() if getattr(self, name) != v)
        text += "" if self.bias is not None else ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


class _Conv(_ConvNd):
    """A convolution (cross-correlation) over the last dimensions.

    Parameters
    ----------
    in_channels : int
        The number of channels of the input.
    out_channels : int
        The number of channels of the result.
    kernel_size : int or sequence of ints
        The extents of a window, a number or one for each dimension.
    stride : int or sequence of ints, default 1
        The distance of windows, a number or one for each dimension.
    padding : int, sequence of ints or str, default 0
        The elements added on both sides; or "valid", or "same" for a result of the input's extents.
    dilation : int or sequence of ints, default 1
        The distance of the elements of a window, a number or one for each dimension.
    groups : int, default 1
        The number of groups of channels that are convolved separately.
    bias : bool, default True
        Whether a bias for each channel is added.
    padding_mode : str, default "zeros"
        What is added: "zeros", "reflect", "replicate" or "circular".
    device : device or str, optional
        The device of the parameters, by default the default device.
    dtype : dtype, optional
        The dtype of the parameters, by default the default dtype.

    Shapes
    ------
    input
        (N, in_channels, ...) or (in_channels, ...), of the dtype of the parameters.
    result
        (N, out_channels, ...) or (out_channels, ...), of the same dtype.

    Raises
    ------
    ValueError
        If the numbers of channels are not divisible by that of groups, or for another padding.

    See Also
    --------
    torch.nn.functional.conv{n}d, torch.nn.ConvTranspose{n}d

    Examples
    --------
    >>> nn.Conv{n}d(3, 8, kernel_size=3)(torch.ones(1, 3{four})).shape
    torch.Size([1, 8{two}])
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self._build(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias, padding_mode,
                    device, dtype)  # fmt: skip

    @names_layer
    def forward(self, input: Tensor) -> Tensor:
        """Returns the convolution of the input.

        Raises
        ------
        RuntimeError
            If the input does not match; the message contains the layer and both shapes.
        """
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._pad_arguments(), _MODES[self.padding_mode]), 0
        function = getattr(F, f"conv{self._rank}d")
        return function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class _ConvTranspose(_ConvNd):
    """A transposed convolution over the last dimensions.

    Parameters
    ----------
    in_channels : int
        The number of channels of the input.
    out_channels : int
        The number of channels of the result.
    kernel_size : int or sequence of ints
        The extents of a window, a number or one for each dimension.
    stride : int or sequence of ints, default 1
        The distance of windows of the result, a number or one for each dimension.
    padding : int or sequence of ints, default 0
        The number of elements removed from both sides of the result.
    output_padding : int or sequence of ints, default 0
        The number of elements added at the end of the result.
    groups : int, default 1
        The number of groups of channels that are convolved separately.
    bias : bool, default True
        Whether a bias for each channel is added.
    dilation : int or sequence of ints, default 1
        The distance of the elements of a window, a number or one for each dimension.
    padding_mode : str, default "zeros"
        Only "zeros".
    device : device or str, optional
        The device of the parameters, by default the default device.
    dtype : dtype, optional
        The dtype of the parameters, by default the default dtype.

    Shapes
    ------
    input
        (N, in_channels, ...) or (in_channels, ...), of the dtype of the parameters.
    output_size
        The extents of the result, to select one of several possible ones.
    result
        (N, out_channels, ...) or (out_channels, ...), of the same dtype.

    Raises
    ------
    ValueError
        If the numbers of channels are not divisible by that of groups, or for another padding mode.

    See Also
    --------
    torch.nn.functional.conv_transpose{n}d, torch.nn.Conv{n}d

    Examples
    --------
    >>> nn.ConvTranspose{n}d(3, 8, kernel_size=3)(torch.ones(1, 3{two})).shape
    torch.Size([1, 8{four}])
    """

    _transposed = True

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1,
                 padding_mode: str = "zeros", device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._build(in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding, groups, bias,
                    padding_mode, device, dtype)  # fmt: skip

    @names_layer
    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """Returns the transposed convolution of the input; `output_size` selects one of several possible extents.

        Raises
        ------
        RuntimeError
            If the input does not match; the message contains the layer and both shapes.
        ValueError
            For an impossible output size.
        """
        more = self.output_padding if output_size is None else self._output_padding(input, list(output_size))
        function = getattr(F, f"conv_transpose{self._rank}d")
        return function(input, self.weight, self.bias, self.stride, self.padding, more, self.groups,
                        self.dilation)  # fmt: skip

    def _output_padding(self, input: Tensor, size: list[int]) -> list[int]:
        n = self._rank
        if len(size) == input.ndim:
            size = size[-n:]
        if len(size) != n:
            raise ValueError(f"{type(self).__name__}: for {input.ndim}D input, output_size must have {n} or "
                             f"{input.ndim} elements (got {len(size)})")  # fmt: skip
        found = []
        for k, wanted in enumerate(size):
            step, extent = self.stride[k], input.dims[input.ndim - n + k]
            least = (extent - 1) * step - 2 * self.padding[k] + self.dilation[k] * (self.kernel_size[k] - 1) + 1
            if not least <= wanted < least + step:
                raise ValueError(
                    f"requested an output size of {size}, but valid sizes of dimension {k} range from "
                    f"{least} to {least + step - 1} (for an input of {list(input.dims[-n:])})"
                )
            found.append(wanted - least)
        return found


__all__: list[str] = []
for _base in (_Conv, _ConvTranspose):
    for _n in (1, 2, 3):
        _name = f"{_base.__name__[1:]}{_n}d"
        globals()[_name] = type(
            _name, (_base,), {"_rank": _n, "__doc__": documented(_base, _n), "__module__": __name__}
        )
        __all__.append(_name)
