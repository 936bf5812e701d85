"""Weights of networks that find objects or segment images, as enumerations under torchvision's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous.torch import float32, nn
from cuprous.torchvision import transforms
from cuprous.torchvision.models._weights import URL, Weights, WeightsEnum, enumeration
from cuprous.torchvision.ops.misc import FrozenBatchNorm2d

F = transforms.functional

#: The names of COCO's classes by their numbers; some numbers are not used.
COCO = [
    "__background__",
    "person",
    "bicycle",
    "car",
    "motorcycle",
    "airplane",
    "bus",
    "train",
    "truck",
    "boat",
    "traffic light",
    "fire hydrant",
    "N/A",
    "stop sign",
    "parking meter",
    "bench",
    "bird",
    "cat",
    "dog",
    "horse",
    "sheep",
    "cow",
    "elephant",
    "bear",
    "zebra",
    "giraffe",
    "N/A",
    "backpack",
    "umbrella",
    "N/A",
    "N/A",
    "handbag",
    "tie",
    "suitcase",
    "frisbee",
    "skis",
    "snowboard",
    "sports ball",
    "kite",
    "baseball bat",
    "baseball glove",
    "skateboard",
    "surfboard",
    "tennis racket",
    "bottle",
    "N/A",
    "wine glass",
    "cup",
    "fork",
    "knife",
    "spoon",
    "bowl",
    "banana",
    "apple",
    "sandwich",
    "orange",
    "broccoli",
    "carrot",
    "hot dog",
    "pizza",
    "donut",
    "cake",
    "chair",
    "couch",
    "potted plant",
    "bed",
    "N/A",
    "dining table",
    "N/A",
    "N/A",
    "toilet",
    "N/A",
    "tv",
    "laptop",
    "mouse",
    "remote",
    "keyboard",
    "cell phone",
    "microwave",
    "oven",
    "toaster",
    "sink",
    "refrigerator",
    "N/A",
    "book",
    "clock",
    "vase",
    "scissors",
    "teddy bear",
    "hair drier",
    "toothbrush",
]
VOC = [
    "__background__",
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
]
KEYPOINTS = ["nose", *(f"{side}_{part}" for part in ("eye", "ear", "shoulder", "elbow", "wrist", "hip", "knee", "ankle")
                       for side in ("left", "right"))]  # fmt: skip

#: Detectors: the name of the enumeration, and the files of its members.
DETECTORS = {
    "fasterrcnn_resnet50_fpn": ("FasterRCNN_ResNet50_FPN", "COCO_V1=fasterrcnn_resnet50_fpn_coco-258fb6c6.pth"),
    "fasterrcnn_resnet50_fpn_v2": (
        "FasterRCNN_ResNet50_FPN_V2", "COCO_V1=fasterrcnn_resnet50_fpn_v2_coco-dd69338a.pth"),
    "fasterrcnn_mobilenet_v3_large_fpn": (
        "FasterRCNN_MobileNet_V3_Large_FPN", "COCO_V1=fasterrcnn_mobilenet_v3_large_fpn-fb6a3cc7.pth"),
    "fasterrcnn_mobilenet_v3_large_320_fpn": (
        "FasterRCNN_MobileNet_V3_Large_320_FPN", "COCO_V1=fasterrcnn_mobilenet_v3_large_320_fpn-907ea3f9.pth"),
    "fcos_resnet50_fpn": ("FCOS_ResNet50_FPN", "COCO_V1=fcos_resnet50_fpn_coco-99b0c9b7.pth"),
    "keypointrcnn_resnet50_fpn": (
        "KeypointRCNN_ResNet50_FPN",
        "COCO_LEGACY=keypointrcnn_resnet50_fpn_coco-9f466800.pth COCO_V1=keypointrcnn_resnet50_fpn_coco-fc266e95.pth"),
    "maskrcnn_resnet50_fpn": ("MaskRCNN_ResNet50_FPN", "COCO_V1=maskrcnn_resnet50_fpn_coco-bf2d0c1e.pth"),
    "maskrcnn_resnet50_fpn_v2": ("MaskRCNN_ResNet50_FPN_V2", "COCO_V1=maskrcnn_resnet50_fpn_v2_coco-73cbd019.pth"),
    "retinanet_resnet50_fpn": ("RetinaNet_ResNet50_FPN", "COCO_V1=retinanet_resnet50_fpn_coco-eeacb38b.pth"),
    "retinanet_resnet50_fpn_v2": ("RetinaNet_ResNet50_FPN_V2", "COCO_V1=retinanet_resnet50_fpn_v2_coco-5905b1c5.pth"),
    "ssd300_vgg16": ("SSD300_VGG16", "COCO_V1=ssd300_vgg16_coco-b556d3b4.pth"),
    "ssdlite320_mobilenet_v3_large": (
        "SSDLite320_MobileNet_V3_Large", "COCO_V1=ssdlite320_mobilenet_v3_large_coco-a79551df.pth"),
}  # fmt: skip
#: The same for segmentation.
SEGMENTATION = {
    "deeplabv3_mobilenet_v3_large": ("DeepLabV3_MobileNet_V3_Large", "deeplabv3_mobilenet_v3_large-fc3c493d.pth"),
    "deeplabv3_resnet50": ("DeepLabV3_ResNet50", "deeplabv3_resnet50_coco-cd0a2569.pth"),
    "deeplabv3_resnet101": ("DeepLabV3_ResNet101", "deeplabv3_resnet101_coco-586e9e4e.pth"),
    "fcn_resnet50": ("FCN_ResNet50", "fcn_resnet50_coco-1167a1af.pth"),
    "fcn_resnet101": ("FCN_ResNet101", "fcn_resnet101_coco-7ecb50ca.pth"),
    "lraspp_mobilenet_v3_large": ("LRASPP_MobileNet_V3_Large", "lraspp_mobilenet_v3_large-d234d4ea.pth"),
}
#: Detectors whose files were made when frozen norms added nothing to the variance.
_WITHOUT_EPS = (
    "fasterrcnn_resnet50_fpn", "keypointrcnn_resnet50_fpn", "maskrcnn_resnet50_fpn", "retinanet_resnet50_fpn"
)  # fmt: skip


def _to_float(image: Any) -> Any:
    """Returns an image as a float tensor in [0, 1]."""
    return F.convert_image_dtype(image if hasattr(image, "dtype") else F.pil_to_tensor(image), float32)


def _detection() -> transforms.Compose:
    """Returns the transforms of a detector's images."""
    return transforms.Compose([_to_float])


def _segmentation() -> transforms.Compose:
    """Returns the transforms with which the networks were evaluated."""
    normalize = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    return transforms.Compose([transforms.Resize(520), _to_float, normalize])


def _detector_weights(model: str) -> type[WeightsEnum]:
    name, files = DETECTORS[model]
    meta: dict[str, Any] = {"categories": COCO, "min_size": (1, 1)}
    if model.startswith("keypoint"):
        meta |= {"categories": ["no person", "person"], "keypoint_names": KEYPOINTS}
    entries = (entry.split("=") for entry in files.split())
    members = {member: Weights(URL + file, _detection, dict(meta)) for member, file in entries}
    return enumeration(f"{name}_Weights", {**members, "DEFAULT": members["COCO_V1"]}, "models.detection")


def _segmentation_weights(model: str) -> type[WeightsEnum]:
    name, file = SEGMENTATION[model]
    weights = Weights(URL + file, _segmentation, {"categories": VOC, "min_size": (1, 1)})
    members = {"COCO_WITH_VOC_LABELS_V1": weights, "DEFAULT": weights}
    return enumeration(f"{name}_Weights", members, "models.segmentation")


OF_DETECTORS = {model: _detector_weights(model) for model in DETECTORS}
OF_SEGMENTATION = {model: _segmentation_weights(model) for model in SEGMENTATION}
WEIGHTS = OF_DETECTORS | OF_SEGMENTATION


def chosen(model: str, weights: Any, weights_backbone: Any, classes: int | None,
           default: int) -> tuple[Any, Any, int]:  # fmt: skip
    """Returns the member of the model's weights that is requested, the weights of the backbone, which the former
    include, and the number of classes.

    Raises
    ------
    ValueError
        For unknown weights, or for other classes than the weights have.
    """
    member = WEIGHTS[model].verify(weights)
    if member is None:
        return None, weights_backbone, default if classes is None else classes
    own = len(member.meta["categories"])
    if classes not in (None, own):
        raise ValueError(f"The parameter 'num_classes' expected value {own} but got {classes} instead.")
    return member, None, own


def loaded(model: str, network: nn.Module, member: Any, progress: bool) -> Any:
    """Returns a network with the weights that `chosen` returned."""
    if member is not None:
        network.load_state_dict(member.get_state_dict(progress=progress))
        if model in _WITHOUT_EPS and member.name == "COCO_V1":
            for layer in network.modules():
                if isinstance(layer, FrozenBatchNorm2d):
                    layer.eps = 0.0
    return network


def detector_creator(model: str, create: Callable[..., nn.Module], default: int) -> Callable[..., Any]:
    """Returns a function that creates a detector. `create` gets the weights of the backbone, the number of classes, of
    the backbone's trained layers (or None), whether progress is shown, and whether anything is trained already."""

    def make(weights: Any, progress: bool, num_classes: int | None, weights_backbone: Any, layers: int | None,
             **options: Any) -> Any:  # fmt: skip
        member, backbone, classes = chosen(model, weights, weights_backbone, num_classes, default)
        trained = member is not None or backbone is not None
        return loaded(model, create(backbone, classes, layers, progress, trained, **options), member, progress)

    return make
