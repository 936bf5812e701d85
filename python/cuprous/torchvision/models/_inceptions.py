"""GoogLeNet (Szegedy et al., 2015) and Inception v3 (2016)."""

from __future__ import annotations

import warnings
from collections import namedtuple
from typing import Any

from cuprous.torch import nn
from cuprous.torch._joining import cat
from cuprous.torch._shape import flatten
from cuprous.torchvision.models._build import named_network, with_weights
from cuprous.torchvision.models._weights import chosen

F = nn.functional
GoogLeNetOutputs = namedtuple("GoogLeNetOutputs", ("logits", "aux_logits2", "aux_logits1"))
InceptionOutputs = namedtuple("InceptionOutputs", ("logits", "aux_logits"))


class BasicConv2d(nn.Module):
    """A convolution, batch norm and a ReLU."""

    def __init__(self, in_channels: int, out_channels: int, **kwargs: Any) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x: Any) -> Any:
        """Returns the activations."""
        return F.relu(self.bn(self.conv(x)), inplace=True)


def _conv(channels: int, out: int, size: Any = 1, stride: int = 1, padding: Any = None) -> BasicConv2d:
    """Returns a convolution that keeps the extents, unless a padding is given."""
    if padding is None:
        padding = tuple(n // 2 for n in size) if isinstance(size, tuple) else size // 2
    return BasicConv2d(channels, out, kernel_size=size, stride=stride, padding=padding)


def _initialize(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.trunc_normal_(module.weight, 0.0, getattr(module, "stddev", 0.1 if isinstance(
                model, Inception3) else 0.01), -2, 2)  # fmt: skip


def _normalized(x: Any) -> Any:
    """Returns images that were normalized as for other networks, normalized to [-1, 1] instead."""
    rows = ((0.229, 0.485), (0.224, 0.456), (0.225, 0.406))
    parts = [x[:, k : k + 1] * (std / 0.5) + (mean - 0.5) / 0.5 for k, (std, mean) in enumerate(rows)]
    return cat(parts, 1)


class _Inception(nn.Module):
    """Four branches of GoogLeNet side by side."""

    def __init__(self, channels: int, one: int, three_in: int, three: int, five_in: int, five: int, pool: int) -> None:
        super().__init__()
        self.branch1 = _conv(channels, one)
        self.branch2 = nn.Sequential(_conv(channels, three_in), _conv(three_in, three, 3))
        self.branch3 = nn.Sequential(_conv(channels, five_in), _conv(five_in, five, 3))  # as in torchvision's weights
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, 1, 1, ceil_mode=True), _conv(channels, pool))

    def forward(self, x: Any) -> Any:
        """Returns the channels of all branches."""
        return cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class _GoogLeNetAux(nn.Module):
    """A classifier of the channels in the middle of GoogLeNet."""

    def __init__(self, channels: int, num_classes: int, dropout: float) -> None:
        super().__init__()
        self.conv, self.fc1, self.fc2 = _conv(channels, 128), nn.Linear(2048, 1024), nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Any) -> Any:
        """Returns logits."""
        x = flatten(self.conv(F.adaptive_avg_pool2d(x, (4, 4))), 1)
        return self.fc2(self.dropout(F.relu(self.fc1(x), inplace=True)))


#: The blocks of GoogLeNet: channels of their branches; pooling is between the stages.
_BLOCKS = {
    "3a": (192, 64, 96, 128, 16, 32, 32), "3b": (256, 128, 128, 192, 32, 96, 64), "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64), "4c": (512, 128, 128, 256, 24, 64, 64),
    "4d": (512, 112, 144, 288, 32, 64, 64), "4e": (528, 256, 160, 320, 32, 128, 128),
    "5a": (832, 256, 160, 320, 32, 128, 128), "5b": (832, 384, 192, 384, 48, 128, 128),
}  # fmt: skip


class GoogLeNet(nn.Module):
    """A network of blocks with four branches. In training it returns the logits of three classifiers.

    See Also
    --------
    torchvision.models.googlenet, torchvision.models.GoogLeNetOutputs
    """

    def __init__(self, num_classes: int = 1000, aux_logits: bool = True, transform_input: bool = False,
                 init_weights: bool | None = None, dropout: float = 0.2, dropout_aux: float = 0.7) -> None:  # fmt: skip
        super().__init__()
        _warn_of_initialization("GoogLeNet", init_weights)
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.conv1, self.maxpool1 = _conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, ceil_mode=True)
        self.conv2, self.conv3, self.maxpool2 = _conv(64, 64), _conv(64, 192, 3), nn.MaxPool2d(3, 2, ceil_mode=True)
        for name, row in _BLOCKS.items():
            setattr(self, f"inception{name}", _Inception(*row))
        self.maxpool3, self.maxpool4 = nn.MaxPool2d(3, 2, ceil_mode=True), nn.MaxPool2d(2, 2, ceil_mode=True)
        self.aux1 = _GoogLeNetAux(512, num_classes, dropout_aux) if aux_logits else None
        self.aux2 = _GoogLeNetAux(528, num_classes, dropout_aux) if aux_logits else None
        self.avgpool, self.dropout = nn.AdaptiveAvgPool2d((1, 1)), nn.Dropout(dropout)
        self.fc = nn.Linear(1024, num_classes)
        if init_weights is not False:
            _initialize(self)

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W), in training with those of the middle."""
        x = _normalized(x) if self.transform_input else x
        x = self.maxpool2(self.conv3(self.conv2(self.maxpool1(self.conv1(x)))))
        x = self.inception4a(self.maxpool3(self.inception3b(self.inception3a(x))))
        training = self.training and self.aux1 is not None
        aux1 = self.aux1(x) if training and self.aux1 is not None else None
        x = self.inception4d(self.inception4c(self.inception4b(x)))
        aux2 = self.aux2(x) if training and self.aux2 is not None else None
        x = self.inception5b(self.inception5a(self.maxpool4(self.inception4e(x))))
        x = self.fc(self.dropout(flatten(self.avgpool(x), 1)))
        return GoogLeNetOutputs(x, aux2, aux1) if training else x


def _warn_of_initialization(name: str, init_weights: bool | None) -> None:
    if init_weights is None:
        warnings.warn(f"The default weight initialization of {name} will be changed in future releases of torchvision. "
                      "If you wish to keep the old behavior, please set init_weights=True.", FutureWarning,
                      stacklevel=3)  # fmt: skip


class _Branches(nn.Module):
    """A block of Inception v3: chains of convolutions by name, a pooled branch, and the order of all."""

    def __init__(self, channels: int, chains: dict[str, list[tuple[Any, ...]]], pool: int | None = None) -> None:
        super().__init__()
        self._chains: list[list[str]] = []
        for prefix, rows in chains.items():
            names, width = [], channels
            for k, row in enumerate(rows):
                name = prefix if len(rows) == 1 else f"{prefix}_{k + 1}"
                if isinstance(row[0], tuple):  # two convolutions of the same channels
                    for suffix, part in zip("ab", row, strict=True):
                        setattr(self, name + suffix, _conv(width, *part))
                    width = row[0][0] * 2
                else:
                    setattr(self, name, _conv(width, *row))
                    width = row[0]
                names.append(name)
            self._chains.append(names)
        self._has_pool = pool is not None
        if pool is not None:
            self.branch_pool = _conv(channels, pool)

    def forward(self, x: Any) -> Any:
        """Returns the channels of all branches."""
        found = []
        for names in self._chains:
            y = x
            for name in names:
                both = hasattr(self, name + "a")
                y = cat([getattr(self, name + s)(y) for s in "ab"], 1) if both else getattr(self, name)(y)
            found.append(y)
        pooled = self.branch_pool(F.avg_pool2d(x, 3, 1, 1)) if self._has_pool else F.max_pool2d(x, 3, 2)
        return cat([*found, pooled], 1)


def _block_a(channels: int, pool: int) -> _Branches:
    return _Branches(channels, {"branch1x1": [(64,)], "branch5x5": [(48,), (64, 5)],
                                "branch3x3dbl": [(64,), (96, 3), (96, 3)]}, pool)  # fmt: skip


def _block_b(channels: int) -> _Branches:
    return _Branches(channels, {"branch3x3": [(384, 3, 2, 0)], "branch3x3dbl": [(64,), (96, 3), (96, 3, 2, 0)]})


def _block_c(channels: int, c: int) -> _Branches:
    wide, high = (1, 7), (7, 1)
    return _Branches(channels, {
        "branch1x1": [(192,)], "branch7x7": [(c,), (c, wide), (192, high)],
        "branch7x7dbl": [(c,), (c, high), (c, wide), (c, high), (192, wide)],
    }, 192)  # fmt: skip


def _block_d(channels: int) -> _Branches:
    return _Branches(channels, {"branch3x3": [(192,), (320, 3, 2, 0)],
                                "branch7x7x3": [(192,), (192, (1, 7)), (192, (7, 1)), (192, 3, 2, 0)]})  # fmt: skip


def _block_e(channels: int) -> _Branches:
    both = ((384, (1, 3)), (384, (3, 1)))
    return _Branches(channels, {"branch1x1": [(320,)], "branch3x3": [(384,), both],
                                "branch3x3dbl": [(448,), (384, 3), both]}, 192)  # fmt: skip


class _InceptionAux(nn.Module):
    """A classifier of the channels in the middle of Inception v3."""

    def __init__(self, channels: int, num_classes: int) -> None:
        super().__init__()
        self.conv0, self.conv1 = _conv(channels, 128), _conv(128, 768, 5, 1, 0)
        self.conv1.stddev = 0.01
        self.fc = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x: Any) -> Any:
        """Returns logits."""
        x = self.conv1(self.conv0(F.avg_pool2d(x, 5, 3)))
        return self.fc(flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


class Inception3(nn.Module):
    """A network of blocks with factored convolutions. In training it returns the logits of two classifiers.

    See Also
    --------
    torchvision.models.inception_v3, torchvision.models.InceptionOutputs
    """

    def __init__(self, num_classes: int = 1000, aux_logits: bool = True, transform_input: bool = False,
                 init_weights: bool | None = None, dropout: float = 0.5) -> None:  # fmt: skip
        super().__init__()
        _warn_of_initialization("Inception3", init_weights)
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.Conv2d_1a_3x3, self.Conv2d_2a_3x3 = _conv(3, 32, 3, 2, 0), _conv(32, 32, 3, 1, 0)
        self.Conv2d_2b_3x3, self.maxpool1 = _conv(32, 64, 3), nn.MaxPool2d(3, 2)
        self.Conv2d_3b_1x1, self.Conv2d_4a_3x3 = _conv(64, 80), _conv(80, 192, 3, 1, 0)
        self.maxpool2 = nn.MaxPool2d(3, 2)
        self.Mixed_5b, self.Mixed_5c, self.Mixed_5d = _block_a(192, 32), _block_a(256, 64), _block_a(288, 64)
        self.Mixed_6a = _block_b(288)
        self.Mixed_6b, self.Mixed_6c = _block_c(768, 128), _block_c(768, 160)
        self.Mixed_6d, self.Mixed_6e = _block_c(768, 160), _block_c(768, 192)
        self.AuxLogits = _InceptionAux(768, num_classes) if aux_logits else None
        self.Mixed_7a, self.Mixed_7b, self.Mixed_7c = _block_d(768), _block_e(1280), _block_e(2048)
        self.avgpool, self.dropout = nn.AdaptiveAvgPool2d((1, 1)), nn.Dropout(dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights is not False:
            _initialize(self)

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W), in training with those of the middle."""
        x = _normalized(x) if self.transform_input else x
        x = self.maxpool1(self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x))))
        x = self.maxpool2(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)))
        x = self.Mixed_6a(self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(x))))
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(x))))
        training = self.training and self.AuxLogits is not None
        aux = self.AuxLogits(x) if training and self.AuxLogits is not None else None
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        x = self.fc(flatten(self.dropout(self.avgpool(x)), 1))
        return InceptionOutputs(x, aux) if training else x


def _builder(name: str, create: Any, doc: str) -> Any:
    """Returns the public function of a network whose weights come with classifiers in the middle."""

    def make(*, weights: Any = None, progress: bool = True, pretrained: bool = False, **options: Any) -> Any:
        wanted = chosen(name, weights, pretrained)
        if wanted is None:
            return create(**options)
        asked = options.pop("aux_logits", name == "inception_v3")
        model = with_weights(create(**({"transform_input": True, "init_weights": False} | options)), wanted, progress)
        if not asked:
            model.aux_logits = False
            for part in ("aux1", "aux2") if name == "googlenet" else ("AuxLogits",):
                setattr(model, part, None)
        return model

    return named_network(make, name, doc)


googlenet = _builder("googlenet", GoogLeNet, "Returns a GoogLeNet.")
inception_v3 = _builder("inception_v3", Inception3, "Returns an Inception v3, for images of 299 x 299.")
BUILDERS = {"googlenet": googlenet, "inception_v3": inception_v3}

__all__ = ["GoogLeNet", "GoogLeNetOutputs", "Inception3", "InceptionOutputs", "googlenet", "inception_v3"]
