"""MobileNetV3 (Howard et al., 2019)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from cuprous.torch import nn
from cuprous.torch._shape import flatten
from cuprous.torchvision.models._build import builder, divisible, initialize
from cuprous.torchvision.ops.misc import Conv2dNormActivation, SqueezeExcitation


class InvertedResidualConfig(NamedTuple):
    """The shape of a block; `activation` is "RE" (ReLU) or "HS" (Hardswish)."""

    input_channels: int
    kernel: int
    expanded_channels: int
    out_channels: int
    use_se: bool
    activation: str
    stride: int
    dilation: int = 1

    def scaled(self, width_mult: float) -> InvertedResidualConfig:
        """Returns the block with another number of channels."""
        channels = [divisible(n * width_mult) for n in (self[0], self[2], self[3])]
        return InvertedResidualConfig(channels[0], self.kernel, channels[1], channels[2], *self[4:])


class InvertedResidual(nn.Module):
    """A depthwise convolution between two 1x1 ones, with factors for channels."""

    def __init__(self, cnf: InvertedResidualConfig, norm_layer: Callable[..., nn.Module]) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        wide, activation = cnf.expanded_channels, nn.Hardswish if cnf.activation == "HS" else nn.ReLU
        part = partial(Conv2dNormActivation, norm_layer=norm_layer)
        layers: list[nn.Module] = []
        if wide != cnf.input_channels:
            layers.append(part(cnf.input_channels, wide, kernel_size=1, activation_layer=activation))
        layers.append(part(wide, wide, kernel_size=cnf.kernel, stride=1 if cnf.dilation > 1 else cnf.stride,
                           dilation=cnf.dilation, groups=wide, activation_layer=activation))  # fmt: skip
        if cnf.use_se:
            layers.append(SqueezeExcitation(wide, divisible(wide // 4), scale_activation=nn.Hardsigmoid))
        layers.append(part(wide, cnf.out_channels, kernel_size=1, activation_layer=None))
        self.block, self.out_channels = nn.Sequential(*layers), cnf.out_channels
        self._is_cn = cnf.stride > 1

    def forward(self, input: Any) -> Any:
        """Returns the result, with the input added where the shapes are equal."""
        return self.block(input) + input if self.use_res_connect else self.block(input)


class MobileNetV3(nn.Module):
    """A network of inverted residual blocks.

    See Also
    --------
    torchvision.models.mobilenet_v3_small, torchvision.models.mobilenet_v3_large
    """

    def __init__(self, inverted_residual_setting: list[InvertedResidualConfig], last_channel: int,
                 num_classes: int = 1000, block: Callable[..., nn.Module] | None = None,
                 norm_layer: Callable[..., nn.Module] | None = None, dropout: float = 0.2) -> None:  # fmt: skip
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        make = block or InvertedResidual
        norm = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        part = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=nn.Hardswish)
        first, last = inverted_residual_setting[0].input_channels, inverted_residual_setting[-1].out_channels
        blocks = [make(cnf, norm) for cnf in inverted_residual_setting]
        self.features = nn.Sequential(part(3, first, stride=2), *blocks, part(last, 6 * last, kernel_size=1))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * last, last_channel), nn.Hardswish(inplace=True), nn.Dropout(dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )  # fmt: skip
        initialize(self, lambda weight: nn.init.normal_(weight, 0, 0.01))

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W)."""
        return self.classifier(flatten(self.avgpool(self.features(x)), 1))


#: Networks: channels of the classifier, and the rows of the blocks: kernel, wide, out, factors, activation, stride.
_ROWS: dict[str, tuple[int, list[tuple[Any, ...]]]] = {
    "mobilenet_v3_large": (1280, [
        (3, 16, 16, False, "RE", 1), (3, 64, 24, False, "RE", 2), (3, 72, 24, False, "RE", 1),
        (5, 72, 40, True, "RE", 2), (5, 120, 40, True, "RE", 1), (5, 120, 40, True, "RE", 1),
        (3, 240, 80, False, "HS", 2), (3, 200, 80, False, "HS", 1), (3, 184, 80, False, "HS", 1),
        (3, 184, 80, False, "HS", 1), (3, 480, 112, True, "HS", 1), (3, 672, 112, True, "HS", 1),
        (5, 672, 160, True, "HS", 2), (5, 960, 160, True, "HS", 1), (5, 960, 160, True, "HS", 1),
    ]),
    "mobilenet_v3_small": (1024, [
        (3, 16, 16, True, "RE", 2), (3, 72, 24, False, "RE", 2), (3, 88, 24, False, "RE", 1),
        (5, 96, 40, True, "HS", 2), (5, 240, 40, True, "HS", 1), (5, 240, 40, True, "HS", 1),
        (5, 120, 48, True, "HS", 1), (5, 144, 48, True, "HS", 1), (5, 288, 96, True, "HS", 2),
        (5, 576, 96, True, "HS", 1), (5, 576, 96, True, "HS", 1),
    ]),
}  # fmt: skip


def _network(name: str, width_mult: float = 1.0, reduced_tail: bool = False, dilated: bool = False,
             **options: Any) -> MobileNetV3:  # fmt: skip
    last, rows = _ROWS[name]
    channels, settings = 16, []
    for k, (kernel, wide, out, factors, activation, stride) in enumerate(rows):
        tail = k >= len(rows) - 3
        wide_here = wide // 2 if reduced_tail and k > len(rows) - 3 else wide
        out_here = out // 2 if reduced_tail and tail else out
        row = InvertedResidualConfig(channels, kernel, wide_here, out_here, factors, activation, stride,
                                     2 if dilated and tail else 1)  # fmt: skip
        settings.append(row.scaled(width_mult))
        channels = out_here
    return MobileNetV3(settings, divisible(last // (2 if reduced_tail else 1) * width_mult), **options)


BUILDERS = {
    name: builder(name, partial(_network, name), f"Returns a {name.rpartition('_')[2]} MobileNetV3.") for name in _ROWS
}
globals().update(BUILDERS)

__all__ = ["MobileNetV3", *BUILDERS]
