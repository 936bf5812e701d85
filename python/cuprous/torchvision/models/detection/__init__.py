"""Networks that find objects in images, under torchvision's names."""

from __future__ import annotations

from cuprous.torchvision.models._task_weights import OF_DETECTORS
from cuprous.torchvision.models.detection import (
    anchor_utils,
    backbone_utils,
    faster_rcnn,
    fcos,
    keypoint_rcnn,
    retinanet,
    roi_heads,
    rpn,
    ssd,
    ssdlite,
    transform,
)
from cuprous.torchvision.models.detection import faster_rcnn as mask_rcnn
from cuprous.torchvision.models.detection.anchor_utils import AnchorGenerator
from cuprous.torchvision.models.detection.faster_rcnn import FasterRCNN, MaskRCNN
from cuprous.torchvision.models.detection.fcos import FCOS
from cuprous.torchvision.models.detection.keypoint_rcnn import KeypointRCNN
from cuprous.torchvision.models.detection.retinanet import RetinaNet

BUILDERS = {
    name: create
    for family in (faster_rcnn, fcos, keypoint_rcnn, retinanet, ssd, ssdlite)
    for name, create in family.BUILDERS.items()
}
globals().update(BUILDERS)
globals().update({weights.__name__: weights for weights in OF_DETECTORS.values()})

__all__ = [
    "FCOS", "AnchorGenerator", "FasterRCNN", "KeypointRCNN", "MaskRCNN", "RetinaNet", "anchor_utils",
    "backbone_utils", "faster_rcnn", "fcos", "keypoint_rcnn", "mask_rcnn", "retinanet", "roi_heads", "rpn", "ssd",
    "ssdlite", "transform", *BUILDERS,
]  # fmt: skip
