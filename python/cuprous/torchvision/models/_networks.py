"""ResNets, VGGs and AlexNet, with torchvision's names of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous.torch import nn
from cuprous.torch._args import unsupported
from cuprous.torch._shape import flatten
from cuprous.torchvision.models._build import named_network, with_weights
from cuprous.torchvision.models._weights import chosen


def _conv(channels: int, out: int, size: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Module:
    return nn.Conv2d(channels, out, size, stride, size // 2 * dilation, dilation, groups, bias=False)


class _Residual(nn.Module):
    """A residual block: convolutions whose result is added to the input, which is projected if its shape differs."""

    expansion = 1
    relu: nn.Module
    downsample: nn.Module | None

    def _project(self, channels: int, out: int, stride: int, norm: Callable[[int], nn.Module]) -> None:
        same = stride == 1 and channels == out
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None if same else nn.Sequential(_conv(channels, out, 1, stride), norm(out))

    def _added(self, result: Any, x: Any) -> Any:
        return self.relu(result + (x if self.downsample is None else self.downsample(x)))


class BasicBlock(_Residual):
    """The residual block with two 3x3 convolutions.

    See Also
    --------
    torchvision.models.Bottleneck, torchvision.models.ResNet
    """

    def __init__(self, channels: int, width: int, stride: int = 1, groups: int = 1, base_width: int = 64,
                 dilation: int = 1, norm_layer: Callable[[int], nn.Module] = nn.BatchNorm2d) -> None:  # fmt: skip
        super().__init__()
        unsupported("BasicBlock", groups=(groups, 1), base_width=(base_width, 64), dilation=(dilation, 1))
        self.conv1, self.bn1 = _conv(channels, width, 3, stride), norm_layer(width)
        self.conv2, self.bn2 = _conv(width, width, 3), norm_layer(width)
        self._project(channels, width, stride, norm_layer)

    def forward(self, x: Any) -> Any:
        """Returns the sum after a ReLU."""
        return self._added(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))), x)


class Bottleneck(_Residual):
    """The residual block with a 3x3 convolution between two 1x1 ones; the 3x3 one carries the stride.

    See Also
    --------
    torchvision.models.BasicBlock, torchvision.models.ResNet
    """

    expansion = 4

    def __init__(self, channels: int, width: int, stride: int = 1, groups: int = 1, base_width: int = 64,
                 dilation: int = 1, norm_layer: Callable[[int], nn.Module] = nn.BatchNorm2d) -> None:  # fmt: skip
        super().__init__()
        inner, out = width * base_width // 64 * groups, width * self.expansion
        self.conv1, self.bn1 = _conv(channels, inner, 1), norm_layer(inner)
        self.conv2, self.bn2 = _conv(inner, inner, 3, stride, groups, dilation), norm_layer(inner)
        self.conv3, self.bn3 = _conv(inner, out, 1), norm_layer(out)
        self._project(channels, out, stride, norm_layer)

    def forward(self, x: Any) -> Any:
        """Returns the sum after a ReLU."""
        y = self.relu(self.bn1(self.conv1(x)))
        return self._added(self.bn3(self.conv3(self.relu(self.bn2(self.conv2(y))))), x)


class ResNet(nn.Module):
    """A residual network (He et al., 2016); `layers` has the number of blocks in each of the four stages.

    See Also
    --------
    torchvision.models.resnet18, torchvision.models.resnet50, torchvision.models.BasicBlock,
    torchvision.models.Bottleneck
    """

    def __init__(self, block: type[_Residual], layers: list[int], num_classes: int = 1000,
                 zero_init_residual: bool = False, groups: int = 1, width_per_group: int = 64,
                 replace_stride_with_dilation: list[bool] | None = None,
                 norm_layer: Callable[[int], nn.Module] | None = None) -> None:  # fmt: skip
        super().__init__()
        norm = norm_layer or nn.BatchNorm2d
        dilated = [False, *(replace_stride_with_dilation or [False] * 3)]
        if len(dilated) != 4:
            raise ValueError(
                f"replace_stride_with_dilation should be None or a 3-element tuple, got {replace_stride_with_dilation}"
            )
        dilation = 1
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), norm(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        make: Callable[..., _Residual] = block
        channels = 64
        for stage, count in enumerate(layers):
            blocks = []
            for k in range(count):
                stride = 2 if stage and not k and not dilated[stage] else 1
                blocks.append(make(channels, 64 << stage, stride, groups, width_per_group, dilation, norm))
                if dilated[stage] and not k:
                    dilation *= 2
                channels = (64 << stage) * block.expansion
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.inplanes = channels
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif zero_init_residual and isinstance(module, _Residual):
                nn.init.zeros_((module.bn3 if isinstance(module, Bottleneck) else module.bn2).weight)

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W)."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(flatten(self.avgpool(x), 1))


def _classifier(inputs: int, classes: int, first: bool, p: float) -> nn.Sequential:
    """Returns two wide layers and the logits layer, with dropout before (AlexNet) or after (VGG) each wide one."""
    layers: list[nn.Module] = []
    for width in (inputs, 4096):
        layer = [nn.Linear(width, 4096), nn.ReLU(inplace=True)]
        layers += [nn.Dropout(p), *layer] if first else [*layer, nn.Dropout(p)]
    return nn.Sequential(*layers, nn.Linear(4096, classes))


class VGG(nn.Module):
    """3x3 convolutions and pooling, then three wide layers (Simonyan and Zisserman, 2015).

    See Also
    --------
    torchvision.models.vgg11, torchvision.models.vgg16
    """

    def __init__(self, features: nn.Module, num_classes: int = 1000, init_weights: bool = True,
                 dropout: float = 0.5) -> None:  # fmt: skip
        super().__init__()
        self.features, self.avgpool = features, nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = _classifier(512 * 7 * 7, num_classes, False, dropout)
        for module in self.modules() if init_weights else ():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W)."""
        return self.classifier(flatten(self.avgpool(self.features(x)), 1))


class AlexNet(nn.Module):
    """Five convolutions and three wide layers (Krizhevsky, 2014).

    See Also
    --------
    torchvision.models.alexnet
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for channels, out, size, stride, pool in ((3, 64, 11, 4, True), (64, 192, 5, 1, True), (192, 384, 3, 1, False),
                                                  (384, 256, 3, 1, False), (256, 256, 3, 1, True)):  # fmt: skip
            layers += [nn.Conv2d(channels, out, size, stride, 2 if size > 3 else 1), nn.ReLU(inplace=True)]
            layers += [nn.MaxPool2d(3, 2)] if pool else []
        self.features, self.avgpool = nn.Sequential(*layers), nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = _classifier(256 * 6 * 6, num_classes, True, dropout)

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W)."""
        return self.classifier(flatten(self.avgpool(self.features(x)), 1))


#: ResNets: the block class, the number of blocks in each stage, and other differing options.
_RESNETS: dict[str, tuple[type[_Residual], list[int], dict[str, int]]] = {
    "resnet18": (BasicBlock, [2, 2, 2, 2], {}),
    "resnet34": (BasicBlock, [3, 4, 6, 3], {}),
    "resnet50": (Bottleneck, [3, 4, 6, 3], {}),
    "resnet101": (Bottleneck, [3, 4, 23, 3], {}),
    "resnet152": (Bottleneck, [3, 8, 36, 3], {}),
    "resnext50_32x4d": (Bottleneck, [3, 4, 6, 3], {"groups": 32, "width_per_group": 4}),
    "resnext101_32x8d": (Bottleneck, [3, 4, 23, 3], {"groups": 32, "width_per_group": 8}),
    "resnext101_64x4d": (Bottleneck, [3, 4, 23, 3], {"groups": 64, "width_per_group": 4}),
    "wide_resnet50_2": (Bottleneck, [3, 4, 6, 3], {"width_per_group": 128}),
    "wide_resnet101_2": (Bottleneck, [3, 4, 23, 3], {"width_per_group": 128}),
}

#: VGGs: the number of convolutions with 64, 128, 256, 512 and 512 channels; each group ends with pooling.
#: VGGs and their configurations under torchvision's names: channels of convolutions, and "M" for pooling.
_VGGS = {"vgg11": "A", "vgg13": "B", "vgg16": "D", "vgg19": "E"}
_COUNTS = {"A": (1, 1, 2, 2, 2), "B": (2, 2, 2, 2, 2), "D": (2, 2, 3, 3, 3), "E": (2, 2, 4, 4, 4)}
cfgs: dict[str, list[Any]] = {
    key: [x for n, out in zip(counts, (64, 128, 256, 512, 512), strict=True) for x in (*[out] * n, "M")]
    for key, counts in _COUNTS.items()
}


def _resnet(name: str) -> Callable[..., ResNet]:
    block, layers, more = _RESNETS[name]

    def make(*, weights: Any = None, progress: bool = True, pretrained: bool = False, **options: Any) -> ResNet:
        return with_weights(ResNet(block, layers, **(more | options)), chosen(name, weights, pretrained), progress)

    return named_network(make, name, f"Returns a ResNet with {layers} blocks in its stages.")


def make_layers(cfg: list[Any], batch_norm: bool = False) -> nn.Sequential:
    """Returns convolutions and pooling.

    Parameters
    ----------
    cfg : list
        The channels of convolutions, and "M" for pooling.
    batch_norm : bool, default False
        Whether results are normalized.

    Examples
    --------
    >>> len(models.vgg.make_layers([8, "M"]))
    3
    """
    features: list[nn.Module] = []
    channels = 3
    for out in cfg:
        if out == "M":
            features.append(nn.MaxPool2d(2, 2))
            continue
        features.append(nn.Conv2d(channels, out, 3, padding=1))
        features += [nn.BatchNorm2d(out)] if batch_norm else []
        features.append(nn.ReLU(inplace=True))
        channels = out
    return nn.Sequential(*features)


def _vgg(name: str, normalized: bool) -> Callable[..., VGG]:
    full = name + ("_bn" if normalized else "")

    def make(*, weights: Any = None, progress: bool = True, pretrained: bool = False, **options: Any) -> VGG:
        wanted = chosen(full, weights, pretrained)
        return with_weights(VGG(make_layers(cfgs[_VGGS[name]], normalized), **options), wanted, progress)

    doc = f"Returns a VGG of {sum(_COUNTS[_VGGS[name]]) + 3} layers{' with batch norm' if normalized else ''}."
    return named_network(make, full, doc)


def alexnet(*, weights: Any = None, progress: bool = True, pretrained: bool = False, **options: Any) -> AlexNet:
    """Returns an AlexNet.

    Parameters
    ----------
    weights : Weights or str, optional
        Weights to load: a member of `AlexNet_Weights`, or the name of one.
    progress : bool, default True
        Whether a download of weights shows how far it is.
    pretrained : bool, default False
        The older name of `weights`; True loads the first ones.
    **options : any
        Arguments of `AlexNet`, such as `num_classes`.

    Returns
    -------
    AlexNet
        The network.

    See Also
    --------
    torchvision.models.AlexNet, torchvision.models.get_model, torchvision.models.list_models

    Examples
    --------
    >>> model = models.alexnet(num_classes=10)
    >>> list(model.parameters())[-1].shape
    torch.Size([10])
    """
    return with_weights(AlexNet(**options), chosen("alexnet", weights, pretrained), progress)


for _name in _RESNETS:
    globals()[_name] = _resnet(_name)
for _name in _VGGS:
    globals()[_name], globals()[_name + "_bn"] = _vgg(_name, False), _vgg(_name, True)

__all__ = ["VGG", "AlexNet", "BasicBlock", "Bottleneck", "ResNet", "alexnet", *_RESNETS]
__all__ += [_name + _suffix for _name in _VGGS for _suffix in ("", "_bn")]
