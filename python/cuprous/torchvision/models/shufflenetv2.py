"""ShuffleNetV2 (Ma et al., 2018)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cuprous.torch import nn
from cuprous.torch._joining import cat
from cuprous.torchvision.models._build import builder


def _pointwise(channels: int, out: int) -> list[nn.Module]:
    return [nn.Conv2d(channels, out, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True)]


def _depthwise(channels: int, stride: int) -> list[nn.Module]:
    layer = nn.Conv2d(channels, channels, 3, stride, 1, groups=channels, bias=False)
    return [layer, nn.BatchNorm2d(channels)]


class InvertedResidual(nn.Module):
    """Two branches of half the channels each, which are then interleaved."""

    def __init__(self, inp: int, oup: int, stride: int) -> None:
        super().__init__()
        if not 1 <= stride <= 3:
            raise ValueError("illegal stride value")
        self.stride, half = stride, oup // 2
        if stride == 1 and inp != 2 * half:
            raise ValueError(f"a block of stride 1 keeps the number of channels, but got {inp} and {oup}")
        self.branch1 = nn.Sequential(*(_depthwise(inp, stride) + _pointwise(inp, half) if stride > 1 else []))
        layers = _pointwise(inp if stride > 1 else half, half) + _depthwise(half, stride) + _pointwise(half, half)
        self.branch2 = nn.Sequential(*layers)

    def forward(self, x: Any) -> Any:
        """Returns the interleaved channels of both branches."""
        first, second = x.chunk(2, 1) if self.stride == 1 else (self.branch1(x), x)
        return nn.functional.channel_shuffle(cat([first, self.branch2(second)], 1), 2)


class ShuffleNetV2(nn.Module):
    """A network of blocks that interleave their channels.

    See Also
    --------
    torchvision.models.shufflenet_v2_x0_5, torchvision.models.shufflenet_v2_x1_0
    """

    def __init__(self, stages_repeats: list[int], stages_out_channels: list[int], num_classes: int = 1000,
                 inverted_residual: Callable[..., nn.Module] = InvertedResidual) -> None:  # fmt: skip
        super().__init__()
        if len(stages_repeats) != 3 or len(stages_out_channels) != 5:
            raise ValueError("expected stages_repeats as list of 3 positive ints and stages_out_channels of 5")
        channels = stages_out_channels[0]
        self.conv1 = nn.Sequential(
            nn.Conv2d(3, channels, 3, 2, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(inplace=True)
        )
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        for stage, (count, out) in enumerate(zip(stages_repeats, stages_out_channels[1:], strict=False)):
            blocks = [inverted_residual(channels, out, 2)]
            blocks += [inverted_residual(out, out, 1) for _ in range(count - 1)]
            setattr(self, f"stage{stage + 2}", nn.Sequential(*blocks))
            channels = out
        self.conv5 = nn.Sequential(*_pointwise(channels, stages_out_channels[-1]))
        self.fc = nn.Linear(stages_out_channels[-1], num_classes)

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W)."""
        x = self.stage4(self.stage3(self.stage2(self.maxpool(self.conv1(x)))))
        return self.fc(self.conv5(x).mean([2, 3]))


_CHANNELS = {"0_5": [24, 48, 96, 192, 1024], "1_0": [24, 116, 232, 464, 1024], "1_5": [24, 176, 352, 704, 1024],
             "2_0": [24, 244, 488, 976, 2048]}  # fmt: skip
BUILDERS = {
    f"shufflenet_v2_x{width}": builder(f"shufflenet_v2_x{width}", partial(ShuffleNetV2, [4, 8, 4], channels),
                                       f"Returns a ShuffleNetV2 of width {width.replace('_', '.')}.")
    for width, channels in _CHANNELS.items()
}  # fmt: skip
globals().update(BUILDERS)

__all__ = ["ShuffleNetV2", *BUILDERS]
