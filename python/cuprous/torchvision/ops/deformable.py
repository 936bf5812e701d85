"""Convolutions whose samples are shifted by offsets (Dai et al., 2017, Zhu et al., 2019)."""

from __future__ import annotations

import math
from typing import Any

import cuprous.torch as torch
from cuprous._core import Tensor
from cuprous.torch import nn


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[-1])


def _corner(maps: Any, y: Any, x: Any, weight: Any) -> Any:
    """Returns the elements at whole positions times a weight; 0 outside. `maps`: (N, groups, channels, H, W), positions
    and weights: (N, groups, samples)."""
    height, width = maps.shape[-2:]
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    at = (y.clamp(0, height - 1) * width + x.clamp(0, width - 1)).long()[:, :, None]
    flat = maps.reshape(*maps.shape[:3], height * width)
    picked = flat.gather(3, at.expand(-1, -1, maps.shape[2], -1))
    return picked * torch.where(inside, weight, torch.zeros_like(weight))[:, :, None]


def _sampled(maps: Any, y: Any, x: Any) -> Any:
    """Returns bilinear samples of maps that are surrounded by zeros."""
    top, left = y.detach().floor(), x.detach().floor()
    down, right = y - top, x - left
    return (
        _corner(maps, top, left, (1 - down) * (1 - right)) + _corner(maps, top, left + 1, (1 - down) * right)
        + _corner(maps, top + 1, left, down * (1 - right)) + _corner(maps, top + 1, left + 1, down * right)
    )  # fmt: skip


def deform_conv2d(input: Any, offset: Any, weight: Any, bias: Any = None, stride: Any = (1, 1),
                  padding: Any = (0, 0), dilation: Any = (1, 1), mask: Any = None) -> Tensor:  # fmt: skip
    """Returns a convolution of which each sample is shifted by an offset, and scaled by a mask. Samples between pixels
    are bilinear.

    Parameters
    ----------
    input : Tensor
        Images (N, C, H, W).
    offset : Tensor
        (N, 2 * groups * kh * kw, height, width of the result), the shifts down and right of each sample. The channels
        are divided among the groups.
    weight : Tensor
        (out, C / groups of the convolution, kh, kw).
    bias : Tensor, optional
        (out,), or None.
    stride : int or pair of ints, default (1, 1)
        The distance of the results, or a pair.
    padding : int or pair of ints, default (0, 0)
        The number of zeros around the images, or a pair.
    dilation : int or pair of ints, default (1, 1)
        The distance of the samples, or a pair.
    mask : Tensor, optional
        (N, groups * kh * kw, height, width of the result), or None.

    Returns
    -------
    Tensor
        A tensor (N, out, height, width of the result).

    Raises
    ------
    RuntimeError
        For offsets and masks of other shapes.

    See Also
    --------
    torchvision.ops.DeformConv2d

    Examples
    --------
    >>> image, offset = torch.arange(9.0).reshape(1, 1, 3, 3), torch.zeros(1, 2, 3, 3)
    >>> offset[:, 1] = 0.5
    >>> ops.deform_conv2d(image, offset, torch.ones(1, 1, 1, 1))[0, 0, 0]
    tensor([0.5000, 1.5000, 1.0000])
    """
    steps, zeros, rates = _pair(stride), _pair(padding), _pair(dilation)
    out, each, kh, kw = weight.shape
    count, channels, height, width = input.shape
    groups = offset.shape[1] // (2 * kh * kw)
    rows, columns = (
        (n + 2 * p - r * (k - 1) - 1) // s + 1
        for n, p, r, k, s in zip((height, width), zeros, rates, (kh, kw), steps, strict=True)
    )
    if groups == 0 or offset.shape[1] % (2 * kh * kw):
        raise RuntimeError(
            "the shape of the offset tensor at dimension 1 is not valid. It should be a multiple of 2 * weight.size[2] "
            f"* weight.size[3].\nGot offset.shape[1]={offset.shape[1]}, while 2 * weight.size[2] * weight.size[3]="
            f"{2 * kh * kw}"
        )
    if offset.shape[0] != count or tuple(offset.shape[2:]) != (rows, columns):
        raise RuntimeError(f"offset output dims: ({offset.shape[2]}, {offset.shape[3]}) - output dims: "
                           f"({rows}, {columns})")  # fmt: skip
    if mask is not None and tuple(mask.shape) != (count, groups * kh * kw, rows, columns):
        raise RuntimeError(f"mask must have the shape {(count, groups * kh * kw, rows, columns)}, not "
                           f"{tuple(mask.shape)}")  # fmt: skip
    shifts = offset.reshape(count, groups, kh, kw, 2, rows, columns)
    along = {"dtype": input.dtype, "device": input.device}
    y = torch.arange(kh, **along)[:, None, None, None] * rates[0] + torch.arange(rows, **along)[:, None] * steps[0]
    x = torch.arange(kw, **along)[:, None, None] * rates[1] + torch.arange(columns, **along) * steps[1]
    y, x = y - zeros[0] + shifts[:, :, :, :, 0], x - zeros[1] + shifts[:, :, :, :, 1]
    maps = input.reshape(count, groups, channels // groups, height, width)
    samples = _sampled(maps, y.reshape(count, groups, -1), x.reshape(count, groups, -1))
    if mask is not None:
        samples = samples * mask.reshape(count, groups, 1, -1)
    parts = channels // each
    samples = samples.reshape(count, parts, each * kh * kw, rows * columns)
    result = torch.matmul(weight.reshape(parts, out // parts, each * kh * kw), samples)
    result = result.reshape(count, out, rows, columns)
    return result if bias is None else result + bias.reshape(-1, 1, 1)


class DeformConv2d(nn.Module):
    """`deform_conv2d` as a layer.

    Parameters
    ----------
    in_channels : int
        The channels of the images.
    out_channels : int
        The channels of the result.
    kernel_size : int or tuple of ints
        The extents of the kernel, or one for both.
    stride : int or pair of ints, default 1
        The distance of the results, or a pair.
    padding : int or pair of ints, default 0
        The number of zeros around the images, or a pair.
    dilation : int or pair of ints, default 1
        The distance of the samples, or a pair.
    groups : int, default 1
        The number of groups of channels that are convolved by themselves.
    bias : bool, default True
        Whether there is a bias.

    Raises
    ------
    ValueError
        For channels that are not divisible by `groups`.

    See Also
    --------
    torchvision.ops.deform_conv2d

    Examples
    --------
    >>> ops.DeformConv2d(2, 4, 3)(torch.ones(1, 2, 5, 5), torch.zeros(1, 18, 3, 3)).shape
    torch.Size([1, 4, 3, 3])
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1, bias: bool = True) -> None:  # fmt: skip
        super().__init__()
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = _pair(kernel_size), _pair(stride)
        self.padding, self.dilation = _pair(padding), _pair(dilation)
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels // groups, *self.kernel_size))
        self.bias: Any = nn.Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new parameters."""
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(math.prod(self.weight.shape[1:]))
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Any, offset: Any, mask: Any = None) -> Any:
        """Returns the convolution.

        Parameters
        ----------
        input : Tensor
            Images (N, C, H, W).
        offset : Tensor
            The shifts of the samples.
        mask : Tensor, optional
            Their factors, or None.
        """
        return deform_conv2d(
            input, offset, self.weight, self.bias, self.stride, self.padding, self.dilation, mask
        )  # fmt: skip

    def __repr__(self) -> str:
        text = f"{type(self).__name__}({self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", stride={self.stride}"
        for name, default in (("padding", (0, 0)), ("dilation", (1, 1)), ("groups", 1)):
            value = getattr(self, name)
            text += f", {name}={value}" if value != default else ""
        return text + (", bias=False)" if self.bias is None else ")")


__all__ = ["DeformConv2d", "deform_conv2d"]
