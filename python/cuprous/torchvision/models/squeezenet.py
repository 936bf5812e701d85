"""SqueezeNets (Iandola et al., 2016)."""

from __future__ import annotations

from typing import Any

from cuprous.torch import nn
from cuprous.torch._joining import cat
from cuprous.torch._shape import flatten
from cuprous.torchvision.models._build import builder


class Fire(nn.Module):
    """A 1x1 convolution, and after it a 1x1 and a 3x3 one side by side."""

    def __init__(self, inplanes: int, squeeze_planes: int, expand1x1_planes: int, expand3x3_planes: int) -> None:
        super().__init__()
        self.inplanes = inplanes
        self.squeeze, self.squeeze_activation = nn.Conv2d(inplanes, squeeze_planes, 1), nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, 1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, 3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Any) -> Any:
        """Returns the channels of both convolutions."""
        x = self.squeeze_activation(self.squeeze(x))
        one, three = self.expand1x1(x), self.expand3x3(x)
        return cat([self.expand1x1_activation(one), self.expand3x3_activation(three)], 1)


#: Versions: the first convolution, and blocks (channels of the squeezed and of each expanded part) or None for pooling.
_VERSIONS: dict[str, tuple[tuple[int, int], list[tuple[int, int] | None]]] = {
    "1_0": ((96, 7), [None, (16, 64), (16, 64), (32, 128), None, (32, 128), (48, 192), (48, 192), (64, 256), None,
                      (64, 256)]),
    "1_1": ((64, 3), [None, (16, 64), (16, 64), None, (32, 128), (32, 128), None, (48, 192), (48, 192), (64, 256),
                      (64, 256)]),
}  # fmt: skip


class SqueezeNet(nn.Module):
    """A network of `Fire` blocks; `version` is "1_0" or "1_1".

    See Also
    --------
    torchvision.models.squeezenet1_0, torchvision.models.squeezenet1_1
    """

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        if version not in _VERSIONS:
            raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
        self.num_classes = num_classes
        (channels, size), blocks = _VERSIONS[version]
        layers: list[nn.Module] = [nn.Conv2d(3, channels, size, 2), nn.ReLU(inplace=True)]
        for block in blocks:
            if block is None:
                layers.append(nn.MaxPool2d(3, 2, ceil_mode=True))
            else:
                layers.append(Fire(channels, block[0], block[1], block[1]))
                channels = 2 * block[1]
        self.features = nn.Sequential(*layers)
        last = nn.Conv2d(512, num_classes, 1)
        pool = nn.AdaptiveAvgPool2d((1, 1))
        self.classifier = nn.Sequential(nn.Dropout(dropout), last, nn.ReLU(inplace=True), pool)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.normal_(module.weight, 0, 0.01) if module is last else nn.init.kaiming_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W)."""
        return flatten(self.classifier(self.features(x)), 1)


BUILDERS = {
    f"squeezenet{version}": builder(
        f"squeezenet{version}", lambda _version=version, **options: SqueezeNet(_version, **options),
        f"Returns a SqueezeNet {version.replace('_', '.')}.",
    )
    for version in _VERSIONS
}  # fmt: skip
globals().update(BUILDERS)

__all__ = ["Fire", "SqueezeNet", *BUILDERS]
