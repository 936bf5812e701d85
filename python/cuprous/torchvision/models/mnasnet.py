"""MNASNets (Tan et al., 2019)."""

from __future__ import annotations

from functools import partial
from typing import Any

from cuprous.torch import nn
from cuprous.torchvision.models._build import builder, divisible

_MOMENTUM = 1 - 0.9997
#: Stages: channels, kernel, stride, factor of the channels, number of blocks.
_STAGES = [(24, 3, 2, 3, 3), (40, 5, 2, 3, 3), (80, 5, 2, 6, 3), (96, 3, 1, 6, 2), (192, 5, 2, 6, 4), (320, 3, 1, 6, 1)]


def _norm(channels: int) -> nn.Module:
    return nn.BatchNorm2d(channels, momentum=_MOMENTUM)


class _InvertedResidual(nn.Module):
    """A depthwise convolution between two 1x1 ones."""

    def __init__(self, channels: int, out: int, kernel: int, stride: int, factor: int) -> None:
        super().__init__()
        wide, self.apply_residual = channels * factor, channels == out and stride == 1
        self.layers = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False), _norm(wide), nn.ReLU(inplace=True),
            nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False), _norm(wide),
            nn.ReLU(inplace=True), nn.Conv2d(wide, out, 1, bias=False), _norm(out),
        )  # fmt: skip

    def forward(self, input: Any) -> Any:
        """Returns the result, with the input added where the shapes are equal."""
        return self.layers(input) + input if self.apply_residual else self.layers(input)


class MNASNet(nn.Module):
    """A network whose shape was found by a search; `alpha` is the factor of its channels.

    See Also
    --------
    torchvision.models.mnasnet0_5, torchvision.models.mnasnet1_0
    """

    def __init__(self, alpha: float, num_classes: int = 1000, dropout: float = 0.2) -> None:
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"alpha should be greater than 0.0 instead of {alpha}")
        self.alpha, self.num_classes = alpha, num_classes
        first, channels = divisible(32 * alpha), divisible(16 * alpha)
        layers: list[nn.Module] = [
            nn.Conv2d(3, first, 3, 2, 1, bias=False), _norm(first), nn.ReLU(inplace=True),
            nn.Conv2d(first, first, 3, 1, 1, groups=first, bias=False), _norm(first), nn.ReLU(inplace=True),
            nn.Conv2d(first, channels, 1, bias=False), _norm(channels),
        ]  # fmt: skip
        for width, kernel, stride, factor, count in _STAGES:
            out, blocks = divisible(width * alpha), []
            for k in range(count):
                blocks.append(_InvertedResidual(channels, out, kernel, 1 if k else stride, factor))
                channels = out
            layers.append(nn.Sequential(*blocks))
        layers += [nn.Conv2d(channels, 1280, 1, bias=False), _norm(1280), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(dropout, inplace=True), nn.Linear(1280, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.Linear):
                nn.init.kaiming_uniform_(module.weight, mode="fan_out", nonlinearity="sigmoid")
                nn.init.zeros_(module.bias)

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W)."""
        return self.classifier(self.layers(x).mean([2, 3]))


BUILDERS = {
    f"mnasnet{alpha.replace('.', '_')}": builder(
        f"mnasnet{alpha.replace('.', '_')}", partial(MNASNet, float(alpha)), f"Returns an MNASNet of width {alpha}.")
    for alpha in ("0.5", "0.75", "1.0", "1.3")
}  # fmt: skip
globals().update(BUILDERS)

__all__ = ["MNASNet", *BUILDERS]
