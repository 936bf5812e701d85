"""MobileNetV2 (Sandler et al., 2018)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cuprous.torch import nn
from cuprous.torch._shape import flatten
from cuprous.torchvision.models._build import builder, divisible, initialize
from cuprous.torchvision.ops.misc import Conv2dNormActivation


class InvertedResidual(nn.Module):
    """A depthwise convolution between two 1x1 ones, the first of which multiplies the channels."""

    def __init__(self, inp: int, oup: int, stride: int, expand_ratio: int,
                 norm_layer: Callable[..., nn.Module] = nn.BatchNorm2d) -> None:  # fmt: skip
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        hidden, self.use_res_connect = round(inp * expand_ratio), stride == 1 and inp == oup
        part = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.ReLU6)
        layers: list[nn.Module] = [part(inp, hidden, kernel_size=1)] if expand_ratio != 1 else []
        layers += [part(hidden, hidden, stride=stride, groups=hidden), nn.Conv2d(hidden, oup, 1, bias=False)]
        self.conv, self.out_channels = nn.Sequential(*layers, norm_layer(oup)), oup

    def forward(self, x: Any) -> Any:
        """Returns the result, with the input added where the shapes are equal."""
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


#: Stages: factor of the channels, channels, number of blocks, stride.
_STAGES = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1]]


class MobileNetV2(nn.Module):
    """A network of inverted residual blocks.

    See Also
    --------
    torchvision.models.mobilenet_v2
    """

    def __init__(self, num_classes: int = 1000, width_mult: float = 1.0,
                 inverted_residual_setting: list[list[int]] | None = None, round_nearest: int = 8,
                 block: Callable[..., nn.Module] | None = None, norm_layer: Callable[..., nn.Module] | None = None,
                 dropout: float = 0.2) -> None:  # fmt: skip
        super().__init__()
        make, norm = block or InvertedResidual, norm_layer or nn.BatchNorm2d
        channels = divisible(32 * width_mult, round_nearest)
        self.last_channel = divisible(1280 * max(1.0, width_mult), round_nearest)
        part = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.ReLU6)
        features: list[nn.Module] = [part(3, channels, stride=2)]
        for factor, width, count, stride in inverted_residual_setting or _STAGES:
            out = divisible(width * width_mult, round_nearest)
            for k in range(count):
                features.append(make(channels, out, 1 if k else stride, expand_ratio=factor, norm_layer=norm))
                channels = out
        features.append(part(channels, self.last_channel, kernel_size=1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(self.last_channel, num_classes))
        initialize(self, lambda weight: nn.init.normal_(weight, 0, 0.01))

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W)."""
        return self.classifier(flatten(nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1)), 1))


mobilenet_v2 = builder("mobilenet_v2", MobileNetV2, "Returns a MobileNetV2.")
BUILDERS = {"mobilenet_v2": mobilenet_v2}

__all__ = ["MobileNetV2", "mobilenet_v2"]
