"""Faster R-CNN and Mask R-CNN (S. Ren et al., NeurIPS 2015; K. He et al., ICCV 2017), under torchvision's names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from cuprous.torch import nn
from cuprous.torch.nn import functional as F
from cuprous.torchvision.models import _networks
from cuprous.torchvision.models._task_weights import detector_creator
from cuprous.torchvision.models.detection.anchor_utils import AnchorGenerator
from cuprous.torchvision.models.detection.backbone_utils import mobilenet_fpn, resnet_fpn
from cuprous.torchvision.models.detection.roi_heads import RoIHeads
from cuprous.torchvision.models.detection.rpn import RegionProposalNetwork, RPNHead
from cuprous.torchvision.models.detection.transform import (
    MEAN,
    STD,
    GeneralizedRCNNTransform,
    checked_batch,
    named_features,
)
from cuprous.torchvision.ops.misc import Conv2dNormActivation, FrozenBatchNorm2d
from cuprous.torchvision.ops.pyramid import MultiScaleRoIAlign

#: The names of the feature maps of which regions are pooled.
_LEVELS = ("0", "1", "2", "3")
_RATIOS = (0.5, 1.0, 2.0)


def _anchors() -> AnchorGenerator:
    return AnchorGenerator(tuple((size,) for size in (32, 64, 128, 256, 512)), (_RATIOS,) * 5)


class GeneralizedRCNN(nn.Module):
    """A detector of two stages: regions are proposed, then it is found what they contain.

    Parameters
    ----------
    backbone : Module
        Images to feature maps by name.
    rpn : Module
        What proposes regions.
    roi_heads : Module
        What finds objects in them.
    transform : callable
        What makes a batch of images.
    """

    def __init__(self, backbone: nn.Module, rpn: nn.Module, roi_heads: nn.Module, transform: Any) -> None:
        super().__init__()
        self.transform, self.backbone, self.rpn, self.roi_heads = transform, backbone, rpn, roi_heads

    def forward(self, images: list[Any], targets: Any = None) -> Any:
        """Returns the detections in each image (a list of dicts with "boxes", "labels", "scores" and perhaps "masks"),
        or in training the losses by name.

        Parameters
        ----------
        images : list
            Images (C, H, W) of any sizes.
        targets : Tensor, optional
            For each image a dict with the true "boxes", "labels" and perhaps "masks", in training.

        Raises
        ------
        AssertionError
            Without targets in training, and for boxes of other shapes or without area.
        """
        sizes = [tuple(image.shape[-2:]) for image in images]
        batch, targets = checked_batch(self, images, targets)
        features = named_features(self.backbone(batch.tensors))
        proposals, losses = self.rpn(batch, features, targets)
        detections, more = self.roi_heads(features, proposals, batch.image_sizes, targets)
        if self.training:
            return {**more, **losses}
        return self.transform.postprocess(detections, batch.image_sizes, sizes)


class TwoMLPHead(nn.Module):
    """Two linear layers.

    Parameters
    ----------
    in_channels : int
        The numbers of a region.
    representation_size : int
        The numbers of the result.
    """

    def __init__(self, in_channels: int, representation_size: int) -> None:
        super().__init__()
        self.fc6, self.fc7 = (nn.Linear(n, representation_size) for n in (in_channels, representation_size))

    def forward(self, x: Any) -> Any:
        """Returns the features of regions."""
        return F.relu(self.fc7(F.relu(self.fc6(x.flatten(1)))))


def initialized_rectified(module: nn.Module) -> None:
    """Initializes convolutions that ReLU follows."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


class FastRCNNConvFCHead(nn.Sequential):
    """Convolutions, and linear layers.

    Parameters
    ----------
    input_size : tuple of ints
        Channels, height and width of a region.
    conv_layers : list of ints
        The channels of the convolutions.
    fc_layers : list of ints
        The numbers of the linear layers.
    norm_layer : callable, optional
        The layer that normalizes, or None.
    """

    def __init__(self, input_size: tuple[int, int, int], conv_layers: list[int], fc_layers: list[int],
                 norm_layer: Callable[..., nn.Module] | None = None) -> None:  # fmt: skip
        channels, height, width = input_size
        blocks: list[nn.Module] = []
        for out in conv_layers:
            blocks.append(Conv2dNormActivation(channels, out, norm_layer=norm_layer))
            channels = out
        blocks.append(nn.Flatten())
        channels *= height * width
        for out in fc_layers:
            blocks += [nn.Linear(channels, out), nn.ReLU(inplace=True)]
            channels = out
        super().__init__(*blocks)
        initialized_rectified(self)


class FastRCNNPredictor(nn.Module):
    """Scores of classes, and differences of boxes.

    Parameters
    ----------
    in_channels : int
        The numbers of a region.
    num_classes : int
        The classes, of which the first is the background.
    """

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.cls_score, self.bbox_pred = nn.Linear(in_channels, num_classes), nn.Linear(in_channels, num_classes * 4)

    def forward(self, x: Any) -> Any:
        """Returns the scores and the differences of regions."""
        flat = x.flatten(1)
        return self.cls_score(flat), self.bbox_pred(flat)


class FasterRCNN(GeneralizedRCNN):
    """Faster R-CNN.

    Parameters
    ----------
    backbone : Tensor
        Images to feature maps by name, with the attribute `out_channels`.
    num_classes : int, optional
        The classes, of which the first is the background; None with a `box_predictor`.
    min_size, max_size : int, optional
        The sides of resized images.
    image_mean, image_std : sequence of floats, optional
        The means and standard deviations of the channels.
    rpn_anchor_generator, rpn_head : Module, optional
        Parts of the network that proposes regions.
    rpn_pre_nms_top_n_train, rpn_pre_nms_top_n_test, rpn_post_nms_top_n_train, rpn_post_nms_top_n_test : int, optional
        The numbers of proposals.
    rpn_nms_thresh, rpn_fg_iou_thresh : float, default 0.7
        Options of `RegionProposalNetwork`.
    rpn_bg_iou_thresh : float, default 0.3
        Options of `RegionProposalNetwork`.
    rpn_batch_size_per_image : int, default 256
        Options of `RegionProposalNetwork`.
    rpn_positive_fraction : float, default 0.5
        Options of `RegionProposalNetwork`.
    rpn_score_thresh : float, default 0.0
        Options of `RegionProposalNetwork`.
    box_roi_pool, box_head, box_predictor : Module, optional
        Parts of the network that finds objects.
    box_score_thresh : float, default 0.05
        Options of `RoIHeads`.
    box_nms_thresh : float, default 0.5
        Options of `RoIHeads`.
    box_detections_per_img : int, default 100
        Options of `RoIHeads`.
    box_fg_iou_thresh, box_bg_iou_thresh : float, default 0.5
        Options of `RoIHeads`.
    box_batch_size_per_image : int, default 512
        Options of `RoIHeads`.
    box_positive_fraction : float, default 0.25
        Options of `RoIHeads`.
    bbox_reg_weights : dict, optional
        Options of `RoIHeads`.
    **kwargs : any
        Further options of `GeneralizedRCNNTransform`.

    Raises
    ------
    TypeError
        For parts of other classes.
    ValueError
        For a backbone without `out_channels`, and unless one of classes and predictor is given.
    """

    def __init__(self, backbone: Any, num_classes: int | None = None, min_size: Any = 800, max_size: int = 1333,
                 image_mean: Any = None, image_std: Any = None, rpn_anchor_generator: Any = None, rpn_head: Any = None,
                 rpn_pre_nms_top_n_train: int = 2000, rpn_pre_nms_top_n_test: int = 1000,
                 rpn_post_nms_top_n_train: int = 2000, rpn_post_nms_top_n_test: int = 1000,
                 rpn_nms_thresh: float = 0.7, rpn_fg_iou_thresh: float = 0.7, rpn_bg_iou_thresh: float = 0.3,
                 rpn_batch_size_per_image: int = 256, rpn_positive_fraction: float = 0.5,
                 rpn_score_thresh: float = 0.0, box_roi_pool: Any = None, box_head: Any = None,
                 box_predictor: Any = None, box_score_thresh: float = 0.05, box_nms_thresh: float = 0.5,
                 box_detections_per_img: int = 100, box_fg_iou_thresh: float = 0.5, box_bg_iou_thresh: float = 0.5,
                 box_batch_size_per_image: int = 512, box_positive_fraction: float = 0.25,
                 bbox_reg_weights: Any = None, **kwargs: Any) -> None:  # fmt: skip
        if not hasattr(backbone, "out_channels"):
            raise ValueError("backbone should contain an attribute out_channels specifying the number of output "
                             "channels (assumed to be the same for all the levels)")  # fmt: skip
        for name, part, kind in (("rpn_anchor_generator", rpn_anchor_generator, AnchorGenerator),
                                 ("box_roi_pool", box_roi_pool, MultiScaleRoIAlign)):  # fmt: skip
            if not isinstance(part, (kind, type(None))):
                raise TypeError(f"{name} should be of type {kind.__name__} or None instead of {type(part)}")
        if (num_classes is None) == (box_predictor is None):
            word = (
                "should not be None when box_predictor is not"
                if num_classes is None
                else "should be None when box_predictor is"
            )
            raise ValueError(f"num_classes {word} specified")
        channels = backbone.out_channels
        anchors = rpn_anchor_generator or _anchors()
        head = rpn_head or RPNHead(channels, anchors.num_anchors_per_location()[0])
        rpn = RegionProposalNetwork(
            anchors, head, rpn_fg_iou_thresh, rpn_bg_iou_thresh, rpn_batch_size_per_image, rpn_positive_fraction,
            {"training": rpn_pre_nms_top_n_train, "testing": rpn_pre_nms_top_n_test},
            {"training": rpn_post_nms_top_n_train, "testing": rpn_post_nms_top_n_test}, rpn_nms_thresh,
            rpn_score_thresh,
        )  # fmt: skip
        pool = box_roi_pool or MultiScaleRoIAlign(list(_LEVELS), 7, 2)
        box_head = box_head or TwoMLPHead(channels * pool.output_size[0] ** 2, 1024)
        if box_predictor is None:
            box_predictor = FastRCNNPredictor(1024, num_classes or 0)
        heads = RoIHeads(
            pool, box_head, box_predictor, box_fg_iou_thresh, box_bg_iou_thresh, box_batch_size_per_image,
            box_positive_fraction, bbox_reg_weights, box_score_thresh, box_nms_thresh, box_detections_per_img,
        )  # fmt: skip
        mean = MEAN if image_mean is None else image_mean
        std = STD if image_std is None else image_std
        super().__init__(backbone, rpn, heads, GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs))


class MaskRCNNHeads(nn.Sequential):
    """Convolutions of regions.

    Parameters
    ----------
    in_channels : int
        The channels of a region.
    layers : list of ints
        The channels of the convolutions.
    dilation : int
        The distance of their samples.
    norm_layer : callable, optional
        The layer that normalizes, or None.
    """

    def __init__(self, in_channels: int, layers: Any, dilation: int,
                 norm_layer: Callable[..., nn.Module] | None = None) -> None:  # fmt: skip
        blocks = []
        for out in layers:
            blocks.append(
                Conv2dNormActivation(in_channels, out, 3, 1, dilation, dilation=dilation, norm_layer=norm_layer)
            )
            in_channels = out
        super().__init__(*blocks)
        initialized_rectified(self)

    def _before_load(self, state: dict[str, Any], prefix: str, version: int | None) -> None:
        """Accepts the keys of files that were written when the layers had names."""
        for k in range(len(self)):
            for kind in ("weight", "bias"):
                old = f"{prefix}mask_fcn{k + 1}.{kind}"
                if old in state:
                    state[f"{prefix}{k}.0.{kind}"] = state.pop(old)
        super()._before_load(state, prefix, version)


class MaskRCNNPredictor(nn.Sequential):
    """Scores of masks of twice the size.

    Parameters
    ----------
    in_channels : int
        The channels of a region.
    dim_reduced : int
        The channels in between.
    num_classes : int
        The classes.
    """

    def __init__(self, in_channels: int, dim_reduced: int, num_classes: int) -> None:
        super().__init__(OrderedDict(
            conv5_mask=nn.ConvTranspose2d(in_channels, dim_reduced, 2, 2, 0), relu=nn.ReLU(inplace=True),
            mask_fcn_logits=nn.Conv2d(dim_reduced, num_classes, 1),
        ))  # fmt: skip
        for name, parameter in self.named_parameters():
            if "weight" in name:
                nn.init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")


class MaskRCNN(FasterRCNN):
    """Mask R-CNN.

    Parameters
    ----------
    backbone : Tensor
        Images to feature maps by name, with the attribute `out_channels`.
    num_classes : int, optional
        The classes, of which the first is the background; None with predictors.
    mask_roi_pool, mask_head, mask_predictor : Module, optional
        Parts of the network that finds masks.
    **kwargs : any
        Options of `FasterRCNN`.

    Raises
    ------
    TypeError
        For parts of other classes.
    ValueError
        For what `FasterRCNN` refuses, and classes beside a `mask_predictor`.
    """

    def __init__(self, backbone: Any, num_classes: int | None = None, *, mask_roi_pool: Any = None,
                 mask_head: Any = None, mask_predictor: Any = None, **kwargs: Any) -> None:  # fmt: skip
        if not isinstance(mask_roi_pool, (MultiScaleRoIAlign, type(None))):
            raise TypeError("mask_roi_pool should be of type MultiScaleRoIAlign or None instead of "
                            f"{type(mask_roi_pool)}")  # fmt: skip
        if num_classes is not None and mask_predictor is not None:
            raise ValueError("num_classes should be None when mask_predictor is specified")
        super().__init__(backbone, num_classes, **kwargs)
        heads: Any = self.roi_heads
        heads.mask_roi_pool = mask_roi_pool or MultiScaleRoIAlign(list(_LEVELS), 14, 2)
        heads.mask_head = mask_head or MaskRCNNHeads(backbone.out_channels, (256, 256, 256, 256), 1)
        if mask_predictor is None:
            mask_predictor = MaskRCNNPredictor(256, 256, num_classes or 0)
        heads.mask_predictor = mask_predictor


BACKBONE = "IMAGENET1K_V1"


def trainable(layers: int | None, trained: bool, most: int) -> int:
    """Returns the number of layers of a backbone that are trained: all, unless it has weights."""
    if not trained:
        return most
    return 3 if layers is None else layers


def _detector(second: bool, kind: type[FasterRCNN], weights_backbone: Any, classes: int, layers: int | None,
              progress: bool, trained: bool, **options: Any) -> Any:  # fmt: skip
    """Returns a detector on ResNet-50; those of the second version have normalized heads."""
    norm = FrozenBatchNorm2d if trained and not second else nn.BatchNorm2d
    base = _networks._resnet("resnet50")(weights=weights_backbone, progress=progress, norm_layer=norm)
    backbone = resnet_fpn(base, trainable(layers, trained, 5), norm_layer=nn.BatchNorm2d if second else None)
    if second:
        anchors = _anchors()
        options = {
            "rpn_anchor_generator": anchors,
            "rpn_head": RPNHead(backbone.out_channels, anchors.num_anchors_per_location()[0], conv_depth=2),
            "box_head": FastRCNNConvFCHead((backbone.out_channels, 7, 7), [256] * 4, [1024], nn.BatchNorm2d),
            **options,
        }
        if kind is MaskRCNN:
            options = {"mask_head": MaskRCNNHeads(backbone.out_channels, [256] * 4, 1, nn.BatchNorm2d), **options}
    return kind(backbone, classes, **options)


def _builder(name: str, kind: type[FasterRCNN], summary: str) -> Callable[..., Any]:
    create = detector_creator(name, partial(_detector, name.endswith("v2"), kind), 91)

    def make(*, weights: Any = None, progress: bool = True, num_classes: int | None = None,
             weights_backbone: Any = BACKBONE, trainable_backbone_layers: int | None = None,
             **kwargs: Any) -> Any:  # fmt: skip
        return create(weights, progress, num_classes, weights_backbone, trainable_backbone_layers, **kwargs)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""{summary}

    Parameters
    ----------
    weights : Weights or str, optional
        Weights of the whole network, such as "DEFAULT", from a local file: see `torch.hub.load_state_dict_from_url`.
    progress : bool, default True
        Whether a download of weights shows how far it is.
    num_classes : int, optional
        The classes, of which the first is the background; 91 by default.
    weights_backbone : Tensor, optional
        Weights of the ResNet, or None.
    trainable_backbone_layers : int, optional
        The number of its layers that are trained, 0 to 5; 3 by default with weights.
    **kwargs : any
        Options of `{kind.__name__}`.

    Returns
    -------
    Module
        The network.

    Raises
    ------
    ValueError
        For unknown weights, or for `num_classes` that they do not have.

    Examples
    --------
    >>> model = models.detection.{name}(weights_backbone=None, num_classes=2)
    >>> model.roi_heads.box_predictor.cls_score.out_features
    2
    """
    return make


def _on_mobilenet(defaults: dict[str, Any], weights_backbone: Any, classes: int, layers: int | None, progress: bool,
                  trained: bool, **options: Any) -> FasterRCNN:  # fmt: skip
    """Returns a detector on MobileNetV3-Large."""
    norm = FrozenBatchNorm2d if trained else nn.BatchNorm2d
    backbone = mobilenet_fpn(weights_backbone, trainable(layers, trained, 6), norm, progress)
    anchors = AnchorGenerator(((32, 64, 128, 256, 512),) * 3, (_RATIOS,) * 3)
    return FasterRCNN(backbone, classes, rpn_anchor_generator=anchors, **{**defaults, **options})


def _mobilenet(name: str, summary: str, defaults: dict[str, Any]) -> Callable[..., Any]:
    create = detector_creator(name, partial(_on_mobilenet, defaults), 91)

    def make(*, weights: Any = None, progress: bool = True, num_classes: int | None = None,
             weights_backbone: Any = BACKBONE, trainable_backbone_layers: int | None = None,
             **kwargs: Any) -> Any:  # fmt: skip
        return create(weights, progress, num_classes, weights_backbone, trainable_backbone_layers, **kwargs)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""{summary}

    Parameters
    ----------
    weights : Weights or str, optional
        Weights of the whole network, such as "DEFAULT", from a local file: see `torch.hub.load_state_dict_from_url`.
    progress : bool, default True
        Whether a download of weights shows how far it is.
    num_classes : int, optional
        The classes, of which the first is the background; 91 by default.
    weights_backbone : Tensor, optional
        Weights of the MobileNet, or None.
    trainable_backbone_layers : int, optional
        The number of its stages that are trained, 0 to 6; 3 by default with weights.
    **kwargs : any
        Options of `FasterRCNN`.

    Returns
    -------
    Module
        The network.

    Raises
    ------
    ValueError
        For unknown weights, or for `num_classes` that they do not have.

    Examples
    --------
    >>> model = models.detection.{name}(weights_backbone=None, num_classes=2)
    >>> model.roi_heads.box_predictor.cls_score.out_features
    2
    """
    return make


BUILDERS: dict[str, Callable[..., Any]] = {
    "fasterrcnn_resnet50_fpn": _builder(
        "fasterrcnn_resnet50_fpn", FasterRCNN, "Returns Faster R-CNN on ResNet-50 with a feature pyramid."),
    "fasterrcnn_resnet50_fpn_v2": _builder(
        "fasterrcnn_resnet50_fpn_v2", FasterRCNN, "Returns Faster R-CNN with normalized heads (Li et al., 2021)."),
    "maskrcnn_resnet50_fpn": _builder(
        "maskrcnn_resnet50_fpn", MaskRCNN, "Returns Mask R-CNN on ResNet-50 with a feature pyramid."),
    "maskrcnn_resnet50_fpn_v2": _builder(
        "maskrcnn_resnet50_fpn_v2", MaskRCNN, "Returns Mask R-CNN with normalized heads (Li et al., 2021)."),
    "fasterrcnn_mobilenet_v3_large_fpn": _mobilenet(
        "fasterrcnn_mobilenet_v3_large_fpn", "Returns Faster R-CNN on MobileNetV3-Large.", {"rpn_score_thresh": 0.05}),
    "fasterrcnn_mobilenet_v3_large_320_fpn": _mobilenet(
        "fasterrcnn_mobilenet_v3_large_320_fpn", "Returns Faster R-CNN on MobileNetV3-Large for small images.",
        {"min_size": 320, "max_size": 640, "rpn_pre_nms_top_n_test": 150, "rpn_post_nms_top_n_test": 150,
         "rpn_score_thresh": 0.05}),
}  # fmt: skip
globals().update(BUILDERS)

__all__ = ["FasterRCNN", "MaskRCNN", *BUILDERS]
