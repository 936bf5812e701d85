"""EfficientNets (Tan and Le, 2019 and 2021)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from cuprous.torch import nn
from cuprous.torch._shape import flatten
from cuprous.torchvision.models._build import builder, divisible
from cuprous.torchvision.ops.misc import Conv2dNormActivation, SqueezeExcitation, StochasticDepth


class _Stage(NamedTuple):
    """A stage of blocks; the convolutions of fused ones are one."""

    is_fused: bool
    factor: int
    kernel: int
    stride: int
    channels: int
    out: int
    layers: int


class _Block(nn.Module):
    """Convolutions whose result is added to the input where the shapes are equal."""

    block: nn.Module

    def __init__(self, channels: int, out: int, stride: int, drop: float) -> None:
        super().__init__()
        if not 1 <= stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = stride == 1 and channels == out
        self.stochastic_depth, self.out_channels = StochasticDepth(drop, "row"), out

    def forward(self, input: Any) -> Any:
        """Returns the result."""
        result = self.block(input)
        return self.stochastic_depth(result) + input if self.use_res_connect else result


class MBConv(_Block):
    """A depthwise convolution between two 1x1 ones, with factors for channels."""

    def __init__(self, stage: _Stage, drop: float, norm: Callable[..., nn.Module]) -> None:
        super().__init__(stage.channels, stage.out, stage.stride, drop)
        part = partial(Conv2dNormActivation, norm_layer=norm)
        wide = divisible(stage.channels * stage.factor)
        layers: list[nn.Module] = []
        if wide != stage.channels:
            layers.append(part(stage.channels, wide, kernel_size=1, activation_layer=nn.SiLU))
        layers.append(part(wide, wide, kernel_size=stage.kernel, stride=stage.stride, groups=wide,
                           activation_layer=nn.SiLU))  # fmt: skip
        squeezed = max(1, stage.channels // 4)
        layers.append(SqueezeExcitation(wide, squeezed, activation=partial(nn.SiLU, inplace=True)))
        layers.append(part(wide, stage.out, kernel_size=1, activation_layer=None))
        self.block = nn.Sequential(*layers)


class FusedMBConv(_Block):
    """A convolution, and a 1x1 one after it if the first multiplies the channels."""

    def __init__(self, stage: _Stage, drop: float, norm: Callable[..., nn.Module]) -> None:
        super().__init__(stage.channels, stage.out, stage.stride, drop)
        part = partial(Conv2dNormActivation, norm_layer=norm)
        wide = divisible(stage.channels * stage.factor)
        first = partial(part, stage.channels, kernel_size=stage.kernel, stride=stage.stride, activation_layer=nn.SiLU)
        if wide == stage.channels:
            self.block = nn.Sequential(first(stage.out))
        else:
            self.block = nn.Sequential(first(wide), part(wide, stage.out, kernel_size=1, activation_layer=None))


class EfficientNet(nn.Module):
    """A network of `MBConv` and `FusedMBConv` blocks.

    See Also
    --------
    torchvision.models.efficientnet_b0, torchvision.models.efficientnet_v2_s
    """

    def __init__(self, inverted_residual_setting: Sequence[Any], dropout: float, stochastic_depth_prob: float = 0.2,
                 num_classes: int = 1000, norm_layer: Callable[..., nn.Module] | None = None,
                 last_channel: int | None = None) -> None:  # fmt: skip
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        norm = norm_layer or nn.BatchNorm2d
        part = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.SiLU)
        layers: list[nn.Module] = [part(3, inverted_residual_setting[0].channels, stride=2)]
        total, done = sum(stage.layers for stage in inverted_residual_setting), 0
        for stage in inverted_residual_setting:
            blocks: list[nn.Module] = []
            make = FusedMBConv if stage.is_fused else MBConv
            for k in range(stage.layers):
                own = stage._replace(channels=stage.out, stride=1) if k else stage
                blocks.append(make(own, stochastic_depth_prob * done / total, norm))
                done += 1
            layers.append(nn.Sequential(*blocks))
        width = inverted_residual_setting[-1].out
        last = last_channel if last_channel is not None else 4 * width
        self.features = nn.Sequential(*layers, part(width, last, kernel_size=1))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(dropout, inplace=True), nn.Linear(last, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                bound = 1 / math.sqrt(module.out_features)
                nn.init.uniform_(module.weight, -bound, bound)
                nn.init.zeros_(module.bias)

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W)."""
        return self.classifier(flatten(self.avgpool(self.features(x)), 1))


#: The stages of B0: factor of the channels, kernel, stride, channels before and after, number of blocks.
_B0 = [(1, 3, 1, 32, 16, 1), (6, 3, 2, 16, 24, 2), (6, 5, 2, 24, 40, 2), (6, 3, 2, 40, 80, 3), (6, 5, 1, 80, 112, 3),
       (6, 5, 2, 112, 192, 4), (6, 3, 1, 192, 320, 1)]  # fmt: skip
#: B0 to B7: factors of width and depth, and dropout.
_SCALES = [(1.0, 1.0, 0.2), (1.0, 1.1, 0.2), (1.1, 1.2, 0.3), (1.2, 1.4, 0.3), (1.4, 1.8, 0.4), (1.6, 2.2, 0.4),
           (1.8, 2.6, 0.5), (2.0, 3.1, 0.5)]  # fmt: skip
#: Version 2: dropout, and the stages; the first three are fused.
_V2: dict[str, tuple[float, list[tuple[int, ...]]]] = {
    "s": (0.2, [(1, 3, 1, 24, 24, 2), (4, 3, 2, 24, 48, 4), (4, 3, 2, 48, 64, 4), (4, 3, 2, 64, 128, 6),
                (6, 3, 1, 128, 160, 9), (6, 3, 2, 160, 256, 15)]),
    "m": (0.3, [(1, 3, 1, 24, 24, 3), (4, 3, 2, 24, 48, 5), (4, 3, 2, 48, 80, 5), (4, 3, 2, 80, 160, 7),
                (6, 3, 1, 160, 176, 14), (6, 3, 2, 176, 304, 18), (6, 3, 1, 304, 512, 5)]),
    "l": (0.4, [(1, 3, 1, 32, 32, 4), (4, 3, 2, 32, 64, 7), (4, 3, 2, 64, 96, 7), (4, 3, 2, 96, 192, 10),
                (6, 3, 1, 192, 224, 19), (6, 3, 2, 224, 384, 25), (6, 3, 1, 384, 640, 7)]),
}  # fmt: skip


def _first_version(k: int, **options: Any) -> EfficientNet:
    width, depth, dropout = _SCALES[k]
    stages = [
        _Stage(False, factor, kernel, stride, divisible(channels * width), divisible(out * width),
               math.ceil(count * depth))
        for factor, kernel, stride, channels, out, count in _B0
    ]  # fmt: skip
    defaults: dict[str, Any] = {"dropout": dropout}
    if k > 4:
        defaults["norm_layer"] = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
    return EfficientNet(stages, **(defaults | options))


def _second_version(size: str, **options: Any) -> EfficientNet:
    dropout, rows = _V2[size]
    stages = [_Stage(k < 3, *row) for k, row in enumerate(rows)]
    norm = partial(nn.BatchNorm2d, eps=1e-3)
    defaults: dict[str, Any] = {"dropout": dropout, "norm_layer": norm, "last_channel": 1280}
    return EfficientNet(stages, **(defaults | options))


BUILDERS = {
    **{
        f"efficientnet_b{k}": builder(f"efficientnet_b{k}", partial(_first_version, k), "Returns an EfficientNet.")
        for k in range(8)
    },
    **{
        f"efficientnet_v2_{size}": builder(
            f"efficientnet_v2_{size}", partial(_second_version, size), f"Returns an EfficientNetV2-{size.upper()}."
        )
        for size in _V2
    },
}
globals().update(BUILDERS)

__all__ = ["EfficientNet", *BUILDERS]
