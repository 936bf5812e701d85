"""ConvNeXts (Liu et al., 2022)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from cuprous.torch import _creation, nn
from cuprous.torchvision.models._build import builder, probabilities
from cuprous.torchvision.ops.misc import Conv2dNormActivation, Permute, StochasticDepth


class LayerNorm2d(nn.LayerNorm):
    """Layer norm over the channels of images."""

    def forward(self, x: Any) -> Any:
        """Returns the normalized images."""
        x = nn.functional.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """A depthwise 7x7 convolution and two linear layers over the channels."""

    def __init__(self, dim: int, layer_scale: float, stochastic_depth_prob: float,
                 norm_layer: Callable[..., nn.Module] | None = None) -> None:  # fmt: skip
        super().__init__()
        norm = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, 7, padding=3, groups=dim), Permute([0, 2, 3, 1]), norm(dim), nn.Linear(dim, 4 * dim),
            nn.GELU(), nn.Linear(4 * dim, dim), Permute([0, 3, 1, 2]),
        )  # fmt: skip
        self.layer_scale = nn.Parameter(_creation.full((dim, 1, 1), layer_scale))
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input: Any) -> Any:
        """Returns the sum of the input and the scaled result."""
        return input + self.stochastic_depth(self.layer_scale * self.block(input))


class CNBlockConfig(NamedTuple):
    """A stage: its channels, those of the next one, and the number of blocks."""

    input_channels: int
    out_channels: int | None
    num_layers: int


class ConvNeXt(nn.Module):
    """A network of `CNBlock`s.

    See Also
    --------
    torchvision.models.convnext_tiny, torchvision.models.convnext_base
    """

    def __init__(self, block_setting: list[CNBlockConfig], stochastic_depth_prob: float = 0.0,
                 layer_scale: float = 1e-6, num_classes: int = 1000, block: Callable[..., nn.Module] | None = None,
                 norm_layer: Callable[..., nn.Module] | None = None) -> None:  # fmt: skip
        super().__init__()
        if not block_setting:
            raise ValueError("The block_setting should not be empty")
        make, norm = block or CNBlock, norm_layer or partial(LayerNorm2d, eps=1e-6)
        stem = Conv2dNormActivation(3, block_setting[0].input_channels, 4, 4, 0, norm_layer=norm,
                                    activation_layer=None, bias=True)  # fmt: skip
        layers: list[nn.Module] = [stem]
        drops = probabilities(sum(stage.num_layers for stage in block_setting), stochastic_depth_prob)
        for channels, out, count in block_setting:
            layers.append(nn.Sequential(*(make(channels, layer_scale, next(drops)) for _ in range(count))))
            if out is not None:
                layers.append(nn.Sequential(norm(channels), nn.Conv2d(channels, out, 2, 2)))
        self.features, self.avgpool = nn.Sequential(*layers), nn.AdaptiveAvgPool2d(1)
        last = block_setting[-1].out_channels or block_setting[-1].input_channels
        self.classifier = nn.Sequential(norm(last), nn.Flatten(1), nn.Linear(last, num_classes))
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W)."""
        return self.classifier(self.avgpool(self.features(x)))


#: Networks: channels of the first stage, blocks of the third one, and the last probability of stochastic depth.
_ROWS = {"tiny": (96, 9, 0.1), "small": (96, 27, 0.4), "base": (128, 27, 0.5), "large": (192, 27, 0.5)}


def _network(size: str, **options: Any) -> ConvNeXt:
    width, third, drop = _ROWS[size]
    counts = (3, 3, third, 3)
    stages = [CNBlockConfig(width << k, width << k + 1 if k < 3 else None, counts[k]) for k in range(4)]
    return ConvNeXt(stages, **({"stochastic_depth_prob": drop} | options))


BUILDERS = {
    f"convnext_{size}": builder(f"convnext_{size}", partial(_network, size), f"Returns a {size} ConvNeXt.")
    for size in _ROWS
}
globals().update(BUILDERS)

__all__ = ["ConvNeXt", *BUILDERS]
