"""Networks that find objects in images: Faster R-CNN and Mask R-CNN, under torchvision's names."""

from __future__ import annotations

from cuprous._unsupported import unsupported_function
from cuprous.torchvision.models.detection import anchor_utils, backbone_utils, faster_rcnn, roi_heads, rpn, transform
from cuprous.torchvision.models.detection import faster_rcnn as mask_rcnn
from cuprous.torchvision.models.detection.anchor_utils import AnchorGenerator
from cuprous.torchvision.models.detection.faster_rcnn import BUILDERS, FasterRCNN, MaskRCNN

#: Networks of torchvision that are not supported.
ABSENT = (
    "FCOS", "KeypointRCNN", "RetinaNet", "SSD", "fcos_resnet50_fpn", "keypointrcnn_resnet50_fpn",
    "retinanet_resnet50_fpn", "retinanet_resnet50_fpn_v2", "ssd300_vgg16", "ssdlite320_mobilenet_v3_large",
)  # fmt: skip
globals().update(BUILDERS)
globals().update(
    {
        name: unsupported_function(name, "use fasterrcnn_resnet50_fpn", "torchvision.models.detection.")
        for name in ABSENT
    }
)

__all__ = [
    "AnchorGenerator", "FasterRCNN", "MaskRCNN", "anchor_utils", "backbone_utils", "faster_rcnn", "mask_rcnn",
    "roi_heads", "rpn", "transform", *BUILDERS,
]  # fmt: skip
