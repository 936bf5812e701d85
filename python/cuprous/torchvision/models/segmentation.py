"""Networks that label each pixel: FCN, DeepLabV3 and LR-ASPP, under torchvision's names.

Sources: J. Long et al., "Fully Convolutional Networks for Semantic Segmentation", CVPR 2015; L.-C. Chen et al.,
"Rethinking Atrous Convolution for Semantic Image Segmentation", 2017; A. Howard et al., "Searching for MobileNetV3",
ICCV 2019, section 6.4.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from cuprous._common.naming import named
from cuprous.torch import nn
from cuprous.torch._joining import cat
from cuprous.torch.nn.functional import interpolate
from cuprous.torchvision.models import _networks, mobilenetv3
from cuprous.torchvision.models._task_weights import OF_SEGMENTATION, chosen, loaded
from cuprous.torchvision.models._utils import IntermediateLayerGetter


def _resized(x: Any, size: Sequence[int]) -> Any:
    return interpolate(x, size=tuple(size), mode="bilinear", align_corners=False)


def _block(channels: int, out: int, size: int = 1, rate: int = 1) -> list[nn.Module]:
    padding = rate if size > 1 else 0
    return [nn.Conv2d(channels, out, size, padding=padding, dilation=rate, bias=False), nn.BatchNorm2d(out), nn.ReLU()]


class FCNHead(nn.Sequential):
    """The classifier of an FCN."""

    def __init__(self, in_channels: int, channels: int) -> None:
        inner = in_channels // 4
        super().__init__(*_block(in_channels, inner, 3), nn.Dropout(0.1), nn.Conv2d(inner, channels, 1))


class ASPPPooling(nn.Sequential):
    """The mean of the whole image, at each pixel."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(nn.AdaptiveAvgPool2d(1), *_block(in_channels, out_channels))

    def forward(self, x: Any) -> Any:
        """Returns the means."""
        return _resized(super().forward(x), x.shape[-2:])


class ASPP(nn.Module):
    """Dilated convolutions at several rates, beside the image's mean."""

    def __init__(self, in_channels: int, atrous_rates: Sequence[int], out_channels: int = 256) -> None:
        super().__init__()
        self.convs = nn.ModuleList([
            nn.Sequential(*_block(in_channels, out_channels)),
            *(nn.Sequential(*_block(in_channels, out_channels, 3, rate)) for rate in atrous_rates),
            ASPPPooling(in_channels, out_channels),
        ])  # fmt: skip
        self.project = nn.Sequential(*_block(len(self.convs) * out_channels, out_channels), nn.Dropout(0.5))

    def forward(self, x: Any) -> Any:
        """Returns the features."""
        return self.project(cat([conv(x) for conv in self.convs], dim=1))


class DeepLabHead(nn.Sequential):
    """The classifier of DeepLabV3."""

    def __init__(self, in_channels: int, num_classes: int, atrous_rates: Sequence[int] = (12, 24, 36)) -> None:
        super().__init__(ASPP(in_channels, atrous_rates), *_block(256, 256, 3), nn.Conv2d(256, num_classes, 1))


class _SimpleSegmentationModel(nn.Module):
    """A backbone with a classifier, and one for the features of an earlier layer."""

    def __init__(self, backbone: nn.Module, classifier: nn.Module, aux_classifier: nn.Module | None = None) -> None:
        super().__init__()
        self.backbone, self.classifier, self.aux_classifier = backbone, classifier, aux_classifier

    def forward(self, x: Any) -> Any:
        """Returns the scores of each pixel as "out", and those of the earlier layer as "aux"."""
        features = self.backbone(x)
        found = OrderedDict(out=_resized(self.classifier(features["out"]), x.shape[-2:]))
        if self.aux_classifier is not None:
            found["aux"] = _resized(self.aux_classifier(features["aux"]), x.shape[-2:])
        return found


class FCN(_SimpleSegmentationModel):
    """A fully convolutional network."""


class DeepLabV3(_SimpleSegmentationModel):
    """DeepLabV3."""


class LRASPPHead(nn.Module):
    """The classifier of LR-ASPP."""

    def __init__(self, low_channels: int, high_channels: int, num_classes: int, inter_channels: int) -> None:
        super().__init__()
        self.cbr = nn.Sequential(*_block(high_channels, inter_channels))
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(high_channels, inter_channels, 1, bias=False), nn.Sigmoid()
        )
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input: Any) -> Any:
        """Returns the scores for features of two layers, "low" and "high"."""
        low, high = input["low"], input["high"]
        x = _resized(self.cbr(high) * self.scale(high), low.shape[-2:])
        return self.low_classifier(low) + self.high_classifier(x)


class LRASPP(nn.Module):
    """Lite R-ASPP."""

    def __init__(
        self, backbone: nn.Module, low_channels: int, high_channels: int, num_classes: int, inter_channels: int = 128
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input: Any) -> Any:
        """Returns the scores of each pixel as "out"."""
        return OrderedDict(out=_resized(self.classifier(self.backbone(input)), input.shape[-2:]))


#: Networks: the class, the classifier, and the backbone.
_NETWORKS: dict[str, tuple[type[_SimpleSegmentationModel], Callable[..., nn.Module], str]] = {
    "fcn_resnet50": (FCN, FCNHead, "resnet50"),
    "fcn_resnet101": (FCN, FCNHead, "resnet101"),
    "deeplabv3_resnet50": (DeepLabV3, DeepLabHead, "resnet50"),
    "deeplabv3_resnet101": (DeepLabV3, DeepLabHead, "resnet101"),
    "deeplabv3_mobilenet_v3_large": (DeepLabV3, DeepLabHead, "mobilenet_v3_large"),
}
#: Backbones: the layers whose results are used, the last one first, and their channels.
_LAYERS = {
    "resnet50": (("layer4", 2048), ("layer3", 1024)),
    "resnet101": (("layer4", 2048), ("layer3", 1024)),
    "mobilenet_v3_large": (("16", 960), ("4", 40)),
}
_BACKBONE = "IMAGENET1K_V1"


def _backbone(name: str, weights: Any, progress: bool) -> nn.Module:
    if name.startswith("resnet"):
        options: dict[str, Any] = {"replace_stride_with_dilation": [False, True, True]}
        whole: nn.Module = getattr(_networks, name)(weights=weights, progress=progress, **options)
        return whole
    features: nn.Module = mobilenetv3.BUILDERS[name](weights=weights, progress=progress, dilated=True).features
    return features


def _network(name: str) -> Callable[..., _SimpleSegmentationModel]:
    kind, head, base = _NETWORKS[name]

    def make(
        *, weights: Any = None, progress: bool = True, num_classes: int | None = None, aux_loss: bool | None = None,
        weights_backbone: Any = _BACKBONE,
    ) -> _SimpleSegmentationModel:  # fmt: skip
        member, of_backbone, classes = chosen(name, weights, weights_backbone, num_classes, 21)
        if member is not None and aux_loss is False:
            raise ValueError("The parameter 'aux_loss' expected value True but got False instead.")
        auxiliary = aux_loss or member is not None
        (last, channels), (earlier, fewer) = _LAYERS[base]
        wanted = {last: "out", **({earlier: "aux"} if auxiliary else {})}
        backbone = IntermediateLayerGetter(_backbone(base, of_backbone, progress), wanted)
        network = kind(backbone, head(channels, classes), FCNHead(fewer, classes) if auxiliary else None)
        return loaded(name, network, member, progress)

    return named(make, name, f"Returns {kind.__name__} with {base} as its backbone.")


def lraspp_mobilenet_v3_large(
    *, weights: Any = None, progress: bool = True, num_classes: int | None = None, weights_backbone: Any = _BACKBONE
) -> LRASPP:
    """Returns LR-ASPP with mobilenet_v3_large as its backbone."""
    name = "lraspp_mobilenet_v3_large"
    member, of_backbone, classes = chosen(name, weights, weights_backbone, num_classes, 21)
    (last, channels), (earlier, fewer) = _LAYERS["mobilenet_v3_large"]
    backbone = IntermediateLayerGetter(
        _backbone("mobilenet_v3_large", of_backbone, progress), {earlier: "low", last: "high"}
    )
    return loaded(name, LRASPP(backbone, fewer, channels, classes), member, progress)


BUILDERS: dict[str, Callable[..., Any]] = {name: _network(name) for name in _NETWORKS}
globals().update(BUILDERS)
globals().update({weights.__name__: weights for weights in OF_SEGMENTATION.values()})

__all__ = ["FCN", "LRASPP", "DeepLabV3", "lraspp_mobilenet_v3_large", *BUILDERS]
