"""DenseNets (Huang et al., 2017)."""

from __future__ import annotations

import re
from collections import OrderedDict
from functools import partial
from typing import Any

from cuprous.torch import nn
from cuprous.torch._joining import cat
from cuprous.torch._shape import flatten
from cuprous.torch.autograd._checkpoint import checkpoint
from cuprous.torchvision.models._build import builder

#: The keys of torchvision's files, which were written before its names of layers.
_OLD = re.compile(r"^(.*denselayer\d+\.(?:norm|relu|conv))\.((?:[12])\.(?:weight|bias|running_mean|running_var))$")


class _DenseLayer(nn.Module):
    """A 1x1 and a 3x3 convolution of all channels so far."""

    def __init__(self, channels: int, growth_rate: int, bn_size: int, drop_rate: float,
                 memory_efficient: bool = False) -> None:  # fmt: skip
        super().__init__()
        self.norm1, self.relu1 = nn.BatchNorm2d(channels), nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(channels, bn_size * growth_rate, 1, bias=False)
        self.norm2, self.relu2 = nn.BatchNorm2d(bn_size * growth_rate), nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(bn_size * growth_rate, growth_rate, 3, padding=1, bias=False)
        self.drop_rate, self.memory_efficient = float(drop_rate), memory_efficient

    def _narrow(self, *inputs: Any) -> Any:
        return self.conv1(self.relu1(self.norm1(cat(list(inputs), 1))))

    def forward(self, inputs: list[Any]) -> Any:
        """Returns the new channels."""
        recompute = self.memory_efficient and any(x.requires_grad for x in inputs)
        x = checkpoint(self._narrow, *inputs, use_reentrant=False) if recompute else self._narrow(*inputs)
        x = self.conv2(self.relu2(self.norm2(x)))
        return nn.functional.dropout(x, self.drop_rate, self.training) if self.drop_rate > 0 else x


class _DenseBlock(nn.ModuleDict):
    """Layers, each of which sees the channels of all before it."""

    def __init__(self, count: int, channels: int, bn_size: int, growth_rate: int, drop_rate: float,
                 memory_efficient: bool = False) -> None:  # fmt: skip
        super().__init__()
        for k in range(count):
            layer = _DenseLayer(channels + k * growth_rate, growth_rate, bn_size, drop_rate, memory_efficient)
            self.add_module(f"denselayer{k + 1}", layer)

    def forward(self, x: Any) -> Any:
        """Returns the channels of the input and of all layers."""
        features = [x]
        for layer in self.values():
            features.append(layer(features))
        return cat(features, 1)


def _transition(channels: int) -> nn.Sequential:
    """Returns a 1x1 convolution to half the channels, and pooling."""
    return nn.Sequential(OrderedDict(
        norm=nn.BatchNorm2d(channels), relu=nn.ReLU(inplace=True),
        conv=nn.Conv2d(channels, channels // 2, 1, bias=False), pool=nn.AvgPool2d(2, 2),
    ))  # fmt: skip


class DenseNet(nn.Module):
    """A network of dense blocks.

    See Also
    --------
    torchvision.models.densenet121, torchvision.models.densenet161
    """

    def __init__(self, growth_rate: int = 32, block_config: tuple[int, ...] = (6, 12, 24, 16),
                 num_init_features: int = 64, bn_size: int = 4, drop_rate: float = 0, num_classes: int = 1000,
                 memory_efficient: bool = False) -> None:  # fmt: skip
        super().__init__()
        channels = num_init_features
        self.features = nn.Sequential(OrderedDict(
            conv0=nn.Conv2d(3, channels, 7, 2, 3, bias=False), norm0=nn.BatchNorm2d(channels),
            relu0=nn.ReLU(inplace=True), pool0=nn.MaxPool2d(3, 2, 1),
        ))  # fmt: skip
        for k, count in enumerate(block_config):
            block = _DenseBlock(count, channels, bn_size, growth_rate, drop_rate, memory_efficient)
            self.features.add_module(f"denseblock{k + 1}", block)
            channels += count * growth_rate
            if k + 1 < len(block_config):
                self.features.add_module(f"transition{k + 1}", _transition(channels))
                channels //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(channels))
        self.classifier = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
        nn.init.zeros_(self.classifier.bias)

    def load_state_dict(self, state_dict: Any, *args: Any, **kwargs: Any) -> Any:
        """Loads parameters and buffers, also by the keys of torchvision's files, which have no counts of batches."""
        renamed = {_OLD.sub(lambda found: found[1] + found[2], key): value for key, value in state_dict.items()}
        if set(renamed) != set(state_dict):
            counts = {key: value for key, value in self.state_dict().items() if key.endswith("num_batches_tracked")}
            renamed = counts | renamed
        return super().load_state_dict(renamed, *args, **kwargs)

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W)."""
        x = nn.functional.relu(self.features(x), inplace=True)
        return self.classifier(flatten(nn.functional.adaptive_avg_pool2d(x, (1, 1)), 1))


#: Networks: growth rate, blocks, and channels of the first convolution.
_CONFIGURATIONS: dict[str, tuple[int, tuple[int, ...], int]] = {
    "densenet121": (32, (6, 12, 24, 16), 64), "densenet161": (48, (6, 12, 36, 24), 96),
    "densenet169": (32, (6, 12, 32, 32), 64), "densenet201": (32, (6, 12, 48, 32), 64),
}  # fmt: skip
BUILDERS = {
    name: builder(name, partial(DenseNet, *row), f"Returns a DenseNet of {name.removeprefix('densenet')} layers.")
    for name, row in _CONFIGURATIONS.items()
}
globals().update(BUILDERS)

__all__ = ["DenseNet", *BUILDERS]
