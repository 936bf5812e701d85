"""RegNets (Radosavovic et al., 2020)."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from cuprous.torch import nn
from cuprous.torchvision.models._build import builder, divisible
from cuprous.torchvision.ops.misc import Conv2dNormActivation, SqueezeExcitation


class BlockParams:
    """The stages of a network: widths that grow with the depth, rounded to powers of a factor."""

    def __init__(self, widths: list[int], depths: list[int], group_widths: list[int],
                 se_ratio: float | None = None) -> None:  # fmt: skip
        self.widths, self.depths, self.group_widths, self.se_ratio = widths, depths, group_widths, se_ratio

    @classmethod
    def from_init_params(cls, depth: int, w_0: int, w_a: float, w_m: float, group_width: int,
                         bottleneck_multiplier: float = 1.0, se_ratio: float | None = None) -> BlockParams:  # fmt: skip
        """Returns the stages of a network of `depth` blocks, whose widths are about w_0 + w_a * k."""
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8 != 0:
            raise ValueError("Invalid RegNet settings")
        if bottleneck_multiplier != 1.0:
            raise NotImplementedError("[RegNet] bottleneck_multiplier is not supported; use 1.0")
        widths = []
        for k in range(depth):
            power = round(math.log((w_0 + w_a * k) / w_0) / math.log(w_m))
            widths.append(int(round(w_0 * w_m**power / 8) * 8))
        stages = sorted(set(widths))
        depths = [widths.count(w) for w in stages]
        groups = [min(group_width, w) for w in stages]
        return cls([divisible(w, g) for w, g in zip(stages, groups, strict=True)], depths, groups, se_ratio)


class ResBottleneckBlock(nn.Module):
    """A 3x3 convolution in groups between two 1x1 ones."""

    def __init__(self, channels: int, out: int, stride: int, norm: Callable[..., nn.Module],
                 activation: Callable[..., nn.Module], group_width: int, se_ratio: float | None) -> None:  # fmt: skip
        super().__init__()
        part = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=activation)
        plain = partial(Conv2dNormActivation, norm_layer=norm, activation_layer=None, kernel_size=1)
        self.proj = plain(channels, out, stride=stride) if channels != out or stride != 1 else None
        layers: OrderedDict[str, nn.Module] = OrderedDict(a=part(channels, out, kernel_size=1))
        layers["b"] = part(out, out, stride=stride, groups=out // group_width)
        if se_ratio:
            layers["se"] = SqueezeExcitation(out, round(se_ratio * channels), activation=activation)
        layers["c"] = plain(out, out)
        self.f, self.activation = nn.Sequential(layers), activation(inplace=True)

    def forward(self, x: Any) -> Any:
        """Returns the sum after an activation."""
        return self.activation((x if self.proj is None else self.proj(x)) + self.f(x))


class RegNet(nn.Module):
    """A network of four stages of `ResBottleneckBlock`s.

    See Also
    --------
    torchvision.models.regnet_x_400mf, torchvision.models.regnet_y_400mf
    """

    def __init__(self, block_params: BlockParams, num_classes: int = 1000, stem_width: int = 32,
                 norm_layer: Callable[..., nn.Module] | None = None,
                 activation: Callable[..., nn.Module] | None = None) -> None:  # fmt: skip
        super().__init__()
        norm, act = norm_layer or nn.BatchNorm2d, activation or nn.ReLU
        self.stem = Conv2dNormActivation(3, stem_width, 3, 2, norm_layer=norm, activation_layer=act)
        channels = stem_width
        stages: OrderedDict[str, nn.Module] = OrderedDict()
        rows = zip(block_params.widths, block_params.depths, block_params.group_widths, strict=True)
        for stage, (width, depth, group) in enumerate(rows, 1):
            blocks: OrderedDict[str, nn.Module] = OrderedDict()
            for k in range(depth):
                block = ResBottleneckBlock(channels, width, 1 if k else 2, norm, act, group, block_params.se_ratio)
                blocks[f"block{stage}-{k}"] = block
                channels = width
            stages[f"block{stage}"] = nn.Sequential(blocks)
        self.trunk_output, self.avgpool = nn.Sequential(stages), nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
                nn.init.normal_(module.weight, 0.0, math.sqrt(2.0 / fan_out))
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0.0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W)."""
        return self.fc(self.avgpool(self.trunk_output(self.stem(x))).flatten(1))


#: Networks: depth, w_0, w_a, w_m, and channels of a group. Those of "y" have factors for channels.
_ROWS = {
    "y_400mf": (16, 48, 27.89, 2.09, 8), "y_800mf": (14, 56, 38.84, 2.4, 16), "y_1_6gf": (27, 48, 20.71, 2.65, 24),
    "y_3_2gf": (21, 80, 42.63, 2.66, 24), "y_8gf": (17, 192, 76.82, 2.19, 56), "y_16gf": (18, 200, 106.23, 2.48, 112),
    "y_32gf": (20, 232, 115.89, 2.53, 232), "y_128gf": (27, 456, 160.83, 2.52, 264),
    "x_400mf": (22, 24, 24.48, 2.54, 16), "x_800mf": (16, 56, 35.73, 2.28, 16), "x_1_6gf": (18, 80, 34.01, 2.25, 24),
    "x_3_2gf": (25, 88, 26.31, 2.25, 48), "x_8gf": (23, 80, 49.56, 2.88, 120), "x_16gf": (22, 216, 55.59, 2.1, 128),
    "x_32gf": (23, 320, 69.86, 2.0, 168),
}  # fmt: skip


def _network(name: str, **options: Any) -> RegNet:
    params = BlockParams.from_init_params(*_ROWS[name], se_ratio=0.25 if name.startswith("y") else None)
    norm = options.pop("norm_layer", partial(nn.BatchNorm2d, eps=1e-05, momentum=0.1))
    return RegNet(params, norm_layer=norm, **options)


BUILDERS = {
    f"regnet_{name}": builder(f"regnet_{name}", partial(_network, name), f"Returns a RegNet {name.upper()}.")
    for name in _ROWS
}
globals().update(BUILDERS)

__all__ = ["RegNet", *BUILDERS]
