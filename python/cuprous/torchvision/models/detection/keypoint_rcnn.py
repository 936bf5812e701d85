"""Keypoint R-CNN (K. He et al., "Mask R-CNN", ICCV 2017, section 5), under torchvision's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous.torch import nn
from cuprous.torch.nn import functional as F
from cuprous.torchvision.models import _networks
from cuprous.torchvision.models.detection._one_stage import detector_builder
from cuprous.torchvision.models.detection.backbone_utils import resnet_fpn
from cuprous.torchvision.models.detection.faster_rcnn import FasterRCNN, initialized_rectified, trainable
from cuprous.torchvision.ops.misc import FrozenBatchNorm2d
from cuprous.torchvision.ops.pyramid import MultiScaleRoIAlign


class KeypointRCNNHeads(nn.Sequential):
    """Convolutions of regions.

    Parameters
    ----------
    in_channels : int
        The channels of a region.
    layers : list of ints
        The channels of the convolutions.
    """

    def __init__(self, in_channels: int, layers: Any) -> None:
        blocks: list[nn.Module] = []
        for out in layers:
            blocks += [nn.Conv2d(in_channels, out, 3, 1, 1), nn.ReLU(inplace=True)]
            in_channels = out
        super().__init__(*blocks)
        initialized_rectified(self)


class KeypointRCNNPredictor(nn.Module):
    """Scores of keypoints of four times the size.

    Parameters
    ----------
    in_channels : int
        The channels of a region.
    num_keypoints : int
        The keypoints.
    """

    def __init__(self, in_channels: int, num_keypoints: int) -> None:
        super().__init__()
        self.kps_score_lowres = nn.ConvTranspose2d(in_channels, num_keypoints, 4, stride=2, padding=1)
        nn.init.kaiming_normal_(self.kps_score_lowres.weight, mode="fan_out", nonlinearity="relu")
        nn.init.zeros_(self.kps_score_lowres.bias)
        self.up_scale, self.out_channels = 2, num_keypoints

    def forward(self, x: Any) -> Any:
        """Returns the scores of each element of regions."""
        return F.interpolate(self.kps_score_lowres(x), scale_factor=float(self.up_scale), mode="bilinear",
                             align_corners=False, recompute_scale_factor=False)  # fmt: skip


class KeypointRCNN(FasterRCNN):
    """Keypoint R-CNN.

    Parameters
    ----------
    backbone : Tensor
        Images to feature maps by name, with the attribute `out_channels`.
    num_classes : int, optional
        The classes, of which the first is the background; None with a `box_predictor`.
    min_size : int or sequence of ints, optional
        The shorter sides of resized images; several by default.
    max_size : int, default 1333
        The longest side.
    keypoint_roi_pool, keypoint_head, keypoint_predictor : Module, optional
        Parts of the network that finds keypoints.
    num_keypoints : int, optional
        The keypoints of an object, 17 by default; None with a `keypoint_predictor`.
    **kwargs : any
        Options of `FasterRCNN`.

    Raises
    ------
    TypeError
        For parts of other classes.
    ValueError
        For what `FasterRCNN` refuses, and keypoints beside a `keypoint_predictor`.
    """

    def __init__(self, backbone: Any, num_classes: int | None = None, min_size: Any = None, max_size: int = 1333, *,
                 keypoint_roi_pool: Any = None, keypoint_head: Any = None, keypoint_predictor: Any = None,
                 num_keypoints: int | None = None, **kwargs: Any) -> None:  # fmt: skip
        if not isinstance(keypoint_roi_pool, (MultiScaleRoIAlign, type(None))):
            raise TypeError("keypoint_roi_pool should be of type MultiScaleRoIAlign or None instead of "
                            f"{type(keypoint_roi_pool)}")  # fmt: skip
        if num_keypoints is not None and keypoint_predictor is not None:
            raise ValueError("num_keypoints should be None when keypoint_predictor is specified")
        sizes = (640, 672, 704, 736, 768, 800) if min_size is None else min_size
        super().__init__(backbone, num_classes, sizes, max_size, **kwargs)
        heads: Any = self.roi_heads
        heads.keypoint_roi_pool = keypoint_roi_pool or MultiScaleRoIAlign(["0", "1", "2", "3"], 14, 2)
        heads.keypoint_head = keypoint_head or KeypointRCNNHeads(backbone.out_channels, (512,) * 8)
        count = 17 if num_keypoints is None else num_keypoints
        heads.keypoint_predictor = keypoint_predictor or KeypointRCNNPredictor(512, count)


def _create(weights: Any, classes: int, layers: int | None, progress: bool, trained: bool,
            num_keypoints: int | None = None, **options: Any) -> KeypointRCNN:  # fmt: skip
    norm = FrozenBatchNorm2d if trained else nn.BatchNorm2d
    base = _networks._resnet("resnet50")(weights=weights, progress=progress, norm_layer=norm)
    backbone = resnet_fpn(base, trainable(layers, trained, 5))
    return KeypointRCNN(backbone, classes, num_keypoints=num_keypoints, **options)


BUILDERS: dict[str, Callable[..., Any]] = {
    "keypointrcnn_resnet50_fpn": detector_builder(
        "keypointrcnn_resnet50_fpn", _create, "Returns Keypoint R-CNN on ResNet-50 with a feature pyramid.",
        "KeypointRCNN", classes=2),
}  # fmt: skip
globals().update(BUILDERS)

__all__ = ["KeypointRCNN", *BUILDERS]
