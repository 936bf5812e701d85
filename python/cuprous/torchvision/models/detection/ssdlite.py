"""SSDlite: SSD with depthwise convolutions (A. Howard et al., "Searching for MobileNetV3", ICCV 2019)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

from cuprous.torch import nn
from cuprous.torchvision.models import mobilenetv3
from cuprous.torchvision.models.detection._one_stage import detector_builder, initialized
from cuprous.torchvision.models.detection.anchor_utils import DefaultBoxGenerator
from cuprous.torchvision.models.detection.backbone_utils import trained_stages
from cuprous.torchvision.models.detection.ssd import SSD, SSDHead, SSDScoringHead, feature_maps, out_channels_of
from cuprous.torchvision.ops.misc import Conv2dNormActivation

_Norm = Callable[..., nn.Module]


def _prediction(in_channels: int, out: int, norm_layer: _Norm) -> nn.Sequential:
    depthwise = Conv2dNormActivation(in_channels, in_channels, kernel_size=3, groups=in_channels,
                                     norm_layer=norm_layer, activation_layer=nn.ReLU6)  # fmt: skip
    return nn.Sequential(depthwise, nn.Conv2d(in_channels, out, 1))


def _extra(in_channels: int, out: int, norm_layer: _Norm) -> nn.Sequential:
    block = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.ReLU6)
    half = out // 2
    return nn.Sequential(block(in_channels, half, kernel_size=1),
                         block(half, half, kernel_size=3, stride=2, groups=half),
                         block(half, out, kernel_size=1))  # fmt: skip


class _Predictions(SSDScoringHead):
    def __init__(self, in_channels: list[int], num_anchors: list[int], columns: int, norm_layer: _Norm) -> None:
        pairs = zip(in_channels, num_anchors, strict=True)
        layers = nn.ModuleList([_prediction(channels, columns * n, norm_layer) for channels, n in pairs])
        initialized(layers, 0.03)
        super().__init__(layers, columns)


class SSDLiteClassificationHead(_Predictions):
    """The scores of classes for each anchor.

    Parameters
    ----------
    in_channels : list of ints
        The channels of each feature map.
    num_anchors : list of ints
        The anchors at each element of it.
    num_classes : int
        The classes.
    norm_layer : callable
        The layer that normalizes.
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int, norm_layer: _Norm) -> None:
        super().__init__(in_channels, num_anchors, num_classes, norm_layer)


class SSDLiteRegressionHead(_Predictions):
    """The differences of boxes from each anchor.

    Parameters
    ----------
    in_channels : list of ints
        The channels of each feature map.
    num_anchors : list of ints
        The anchors at each element of it.
    norm_layer : callable
        The layer that normalizes.
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int], norm_layer: _Norm) -> None:
        super().__init__(in_channels, num_anchors, 4, norm_layer)


class SSDLiteHead(SSDHead):
    """The scores of classes and the differences of boxes for each anchor.

    Parameters
    ----------
    in_channels : list of ints
        The channels of each feature map.
    num_anchors : list of ints
        The anchors at each element of it.
    num_classes : int
        The classes.
    norm_layer : callable
        The layer that normalizes.
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int, norm_layer: _Norm) -> None:
        nn.Module.__init__(self)
        self.classification_head = SSDLiteClassificationHead(in_channels, num_anchors, num_classes, norm_layer)
        self.regression_head = SSDLiteRegressionHead(in_channels, num_anchors, norm_layer)


class SSDLiteFeatureExtractorMobileNet(nn.Module):
    """The feature maps of SSDlite from a MobileNet.

    Parameters
    ----------
    backbone : Module
        The blocks of the MobileNet.
    c4_pos : int
        The number of the block whose expanded input is the first map.
    norm_layer : callable
        The layer that normalizes.
    width_mult : float, default 1.0
        The factor of the channels of further maps.
    min_depth : int, default 16
        The least of these.

    Raises
    ------
    ValueError
        If that block adds its input.
    """

    def __init__(self, backbone: Any, c4_pos: int, norm_layer: _Norm, width_mult: float = 1.0,
                 min_depth: int = 16) -> None:  # fmt: skip
        super().__init__()
        blocks = list(backbone)
        if blocks[c4_pos].use_res_connect:
            raise ValueError("backbone[c4_pos].use_res_connect should be False")
        layers = blocks[c4_pos].block
        self.features = nn.Sequential(
            nn.Sequential(*blocks[:c4_pos], layers[0]), nn.Sequential(layers[1:], *blocks[c4_pos + 1 :])
        )
        channels = [blocks[-1].out_channels, *(max(min_depth, int(n * width_mult)) for n in (512, 256, 256, 128))]
        self.extra = nn.ModuleList([_extra(n, out, norm_layer) for n, out in itertools.pairwise(channels)])
        initialized(self.extra, 0.03)

    def forward(self, x: Any) -> Any:
        """Returns the feature maps by number."""
        return feature_maps(x, [*self.features, *self.extra], [])


def _create(weights: Any, classes: int, layers: int | None, progress: bool, trained: bool, norm_layer: Any = None,
            **options: Any) -> SSD:  # fmt: skip
    norm = partial(nn.BatchNorm2d, eps=0.001, momentum=0.03) if norm_layer is None else norm_layer
    network = mobilenetv3.BUILDERS["mobilenet_v3_large"](
        weights=weights, progress=progress, norm_layer=norm, reduced_tail=weights is None
    )
    if weights is None:
        initialized(network, 0.03)
    stages = trained_stages(network.features, 6 if not trained or layers is None else layers)
    backbone, size = SSDLiteFeatureExtractorMobileNet(network.features, stages[-2], norm), (320, 320)
    anchors = DefaultBoxGenerator([[2, 3] for _ in range(6)], min_ratio=0.2, max_ratio=0.95)
    head = SSDLiteHead(out_channels_of(backbone, size), anchors.num_anchors_per_location(), classes, norm)
    defaults = {"score_thresh": 0.001, "nms_thresh": 0.55, "detections_per_img": 300, "topk_candidates": 300,
                "image_mean": [0.5] * 3, "image_std": [0.5] * 3}  # fmt: skip
    return SSD(backbone, anchors, size, classes, head=head, **{**defaults, **options})


BUILDERS: dict[str, Callable[..., Any]] = {
    "ssdlite320_mobilenet_v3_large": detector_builder(
        "ssdlite320_mobilenet_v3_large", _create, "Returns SSDlite on MobileNetV3-Large for images of 320 pixels.",
        "SSD", 6),
}  # fmt: skip
globals().update(BUILDERS)

__all__ = [*BUILDERS]
