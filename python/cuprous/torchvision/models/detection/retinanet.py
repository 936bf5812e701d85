"""RetinaNet (T.-Y. Lin et al., "Focal loss for dense object detection", ICCV 2017), under torchvision's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import cuprous.torch as torch
from cuprous.torch import nn
from cuprous.torch.nn import functional as F
from cuprous.torchvision.models.detection._matching import BoxCoder, Matcher
from cuprous.torchvision.models.detection._one_stage import (
    OneStage,
    checked_parts,
    detector_builder,
    initialized,
    matched_boxes,
    pyramid_backbone,
)
from cuprous.torchvision.models.detection.anchor_utils import AnchorGenerator
from cuprous.torchvision.models.detection.rpn import by_anchor
from cuprous.torchvision.ops import boxes as box_ops
from cuprous.torchvision.ops.losses import (
    complete_box_iou_loss,
    distance_box_iou_loss,
    generalized_box_iou_loss,
)
from cuprous.torchvision.ops.misc import Conv2dNormActivation, sigmoid_focal_loss

_Norm = Callable[..., nn.Module] | None
_BOX_LOSSES = {"ciou": complete_box_iou_loss, "diou": distance_box_iou_loss, "giou": generalized_box_iou_loss}


def _anchors() -> AnchorGenerator:
    sizes = tuple((x, int(x * 2 ** (1 / 3)), int(x * 2 ** (2 / 3))) for x in (32, 64, 128, 256, 512))
    return AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * 5)


def box_loss(kind: str, coder: BoxCoder, anchors: Any, boxes: Any, codes: Any) -> Any:
    """Returns the loss of boxes: "l1" or "smooth_l1" of differences, or one of overlaps."""
    if kind in ("l1", "smooth_l1"):
        goals = coder.encode_single(boxes, anchors)
        return F.l1_loss(codes, goals, reduction="sum") if kind == "l1" else F.smooth_l1_loss(
            codes, goals, reduction="sum", beta=1.0
        )  # fmt: skip
    if kind not in _BOX_LOSSES:
        raise ValueError(f"Unsupported loss {kind}")
    return _BOX_LOSSES[kind](coder.decode_single(codes, anchors), boxes, reduction="sum", eps=1e-7)


class _Branch(nn.Module):
    """Four convolutions, and one that gives numbers for each anchor."""

    _version = 2

    def __init__(self, in_channels: int, norm_layer: _Norm) -> None:
        super().__init__()
        self.conv = nn.Sequential(
            *(Conv2dNormActivation(in_channels, in_channels, norm_layer=norm_layer) for _ in range(4))
        )
        initialized(self.conv)

    def _before_load(self, state: dict[str, Any], prefix: str, version: int | None) -> None:
        """Accepts the keys of files that were written when activations were layers of their own."""
        for k in range(4) if version is None or version < 2 else ():
            for kind in ("weight", "bias"):
                if f"{prefix}conv.{2 * k}.{kind}" in state:
                    state[f"{prefix}conv.{k}.0.{kind}"] = state.pop(f"{prefix}conv.{2 * k}.{kind}")
        super()._before_load(state, prefix, version)


class RetinaNetClassificationHead(_Branch):
    """The scores of classes for each anchor.

    Parameters
    ----------
    in_channels : int
        The channels of feature maps.
    num_anchors : int
        The anchors at each element.
    num_classes : int
        The classes.
    prior_probability : float, default 0.01
        The probability of an object before training.
    norm_layer : callable, optional
        The layer that normalizes, or None.
    """

    def __init__(self, in_channels: int, num_anchors: int, num_classes: int, prior_probability: float = 0.01,
                 norm_layer: _Norm = None) -> None:  # fmt: skip
        super().__init__(in_channels, norm_layer)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, 1, 1)
        initialized(self.cls_logits)
        nn.init.constant_(self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability))
        self.num_classes, self.num_anchors = num_classes, num_anchors

    def compute_loss(self, targets: Any, head_outputs: Any, matched_idxs: list[Any]) -> Any:
        """Returns the focal loss of classes."""
        total: Any = 0
        for target, scores, index in zip(targets, head_outputs["cls_logits"], matched_idxs, strict=True):
            found = torch.where(index >= 0)[0]
            wanted = torch.zeros_like(scores)
            wanted[found, target["labels"][index[found]]] = 1.0
            used = torch.where(index != Matcher.BETWEEN_THRESHOLDS)[0]
            loss = sigmoid_focal_loss(scores[used], wanted[used], reduction="sum")
            total = total + loss / max(1, found.numel())
        return total / len(targets)

    def forward(self, x: list[Any]) -> Any:
        """Returns the scores (N, anchors, classes)."""
        return by_anchor([self.cls_logits(self.conv(features)) for features in x], self.num_classes)


class RetinaNetRegressionHead(_Branch):
    """The differences of boxes from each anchor.

    Parameters
    ----------
    in_channels : int
        The channels of feature maps.
    num_anchors : int
        The anchors at each element.
    norm_layer : callable, optional
        The layer that normalizes, or None.
    """

    def __init__(self, in_channels: int, num_anchors: int, norm_layer: _Norm = None) -> None:
        super().__init__(in_channels, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, 1, 1)
        initialized(self.bbox_reg)
        self.box_coder = BoxCoder((1.0, 1.0, 1.0, 1.0))
        self._loss_type = "l1"

    def compute_loss(self, targets: Any, head_outputs: Any, anchors: list[Any], matched_idxs: list[Any]) -> Any:
        """Returns the loss of boxes."""
        total: Any = 0
        every = zip(targets, head_outputs["bbox_regression"], anchors, matched_idxs, strict=True)
        for target, codes, own, index in every:
            found = torch.where(index >= 0)[0]
            loss = box_loss(self._loss_type, self.box_coder, own[found], target["boxes"][index[found]], codes[found])
            total = total + loss / max(1, found.numel())
        return total / max(1, len(targets))

    def forward(self, x: list[Any]) -> Any:
        """Returns the differences (N, anchors, 4)."""
        return by_anchor([self.bbox_reg(self.conv(features)) for features in x], 4)


class RetinaNetHead(nn.Module):
    """The scores of classes and the differences of boxes for each anchor.

    Parameters
    ----------
    in_channels : int
        The channels of feature maps.
    num_anchors : int
        The anchors at each element.
    num_classes : int
        The classes.
    norm_layer : callable, optional
        The layer that normalizes, or None.
    """

    def __init__(self, in_channels: int, num_anchors: int, num_classes: int, norm_layer: _Norm = None) -> None:
        super().__init__()
        self.classification_head = RetinaNetClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer=norm_layer
        )
        self.regression_head = RetinaNetRegressionHead(in_channels, num_anchors, norm_layer)

    def compute_loss(self, targets: Any, head_outputs: Any, anchors: list[Any], matched_idxs: list[Any]) -> Any:
        """Returns the losses by name."""
        return {
            "classification": self.classification_head.compute_loss(targets, head_outputs, matched_idxs),
            "bbox_regression": self.regression_head.compute_loss(targets, head_outputs, anchors, matched_idxs),
        }

    def forward(self, x: list[Any]) -> dict[str, Any]:
        """Returns both by name."""
        return {"cls_logits": self.classification_head(x), "bbox_regression": self.regression_head(x)}


class RetinaNet(OneStage):
    """RetinaNet.

    Parameters
    ----------
    backbone : Tensor
        Images to feature maps by name, with the attribute `out_channels`.
    num_classes : int
        The classes, of which the first is the background.
    min_size, max_size : int, optional
        The sides of resized images.
    image_mean, image_std : sequence of floats, optional
        The means and standard deviations of the channels.
    anchor_generator : Module, optional
        What creates the anchors.
    head : Tensor, optional
        What computes scores and differences of boxes.
    proposal_matcher : Tensor, optional
        What assigns true boxes to anchors.
    score_thresh : float, default 0.05
        Options of detections.
    nms_thresh : float, default 0.5
        Options of detections.
    detections_per_img : int, default 300
        Options of detections.
    topk_candidates : int, default 1000
        Options of detections.
    fg_iou_thresh : float, default 0.5
        The overlap from which an anchor is an object in training.
    bg_iou_thresh : float, default 0.4
        The overlap below which it is background.
    **kwargs : any
        Further options of `GeneralizedRCNNTransform`.

    Raises
    ------
    TypeError
        For anchors of another class.
    ValueError
        For a backbone without `out_channels`.
    """

    def __init__(self, backbone: Any, num_classes: int, min_size: Any = 800, max_size: int = 1333,
                 image_mean: Any = None, image_std: Any = None, anchor_generator: Any = None, head: Any = None,
                 proposal_matcher: Any = None, score_thresh: float = 0.05, nms_thresh: float = 0.5,
                 detections_per_img: int = 300, fg_iou_thresh: float = 0.5, bg_iou_thresh: float = 0.4,
                 topk_candidates: int = 1000, **kwargs: Any) -> None:  # fmt: skip
        checked_parts(backbone, anchor_generator)
        super().__init__(backbone, min_size, max_size, image_mean, image_std, score_thresh, nms_thresh,
                         detections_per_img, topk_candidates, **kwargs)  # fmt: skip
        self.anchor_generator = anchor_generator or _anchors()
        self.head = head or RetinaNetHead(
            backbone.out_channels, self.anchor_generator.num_anchors_per_location()[0], num_classes
        )
        self.proposal_matcher = proposal_matcher or Matcher(fg_iou_thresh, bg_iou_thresh, True)
        self.box_coder = BoxCoder((1.0, 1.0, 1.0, 1.0))

    def _losses(self, targets: Any, outputs: Any, anchors: list[Any], counts: list[int]) -> dict[str, Any]:
        matched = matched_boxes(anchors, targets, lambda boxes, own: self.proposal_matcher(box_ops.box_iou(boxes, own)))
        found: dict[str, Any] = self.head.compute_loss(targets, outputs, anchors, matched)
        return found

    def _scores(self, outputs: dict[str, Any]) -> Any:
        return outputs["cls_logits"].sigmoid()

    def _decoded(self, codes: Any, anchors: Any) -> Any:
        return self.box_coder.decode_single(codes, anchors)


def _first(weights: Any, classes: int, layers: int | None, progress: bool, trained: bool, **options: Any) -> RetinaNet:
    return RetinaNet(pyramid_backbone(weights, layers, progress, trained), classes, **options)


def _second(weights: Any, classes: int, layers: int | None, progress: bool, trained: bool,
            **options: Any) -> RetinaNet:  # fmt: skip
    backbone, anchors = pyramid_backbone(weights, layers, progress, trained, False, 2048), _anchors()
    head = RetinaNetHead(backbone.out_channels, anchors.num_anchors_per_location()[0], classes,
                         partial(nn.GroupNorm, 32))  # fmt: skip
    head.regression_head._loss_type = "giou"
    return RetinaNet(backbone, classes, anchor_generator=anchors, head=head, **options)


BUILDERS: dict[str, Callable[..., Any]] = {
    "retinanet_resnet50_fpn": detector_builder(
        "retinanet_resnet50_fpn", _first, "Returns RetinaNet on ResNet-50 with a feature pyramid.", "RetinaNet"),
    "retinanet_resnet50_fpn_v2": detector_builder(
        "retinanet_resnet50_fpn_v2", _second,
        "Returns RetinaNet with normalized heads and a loss of overlaps (Zhang et al., CVPR 2020).", "RetinaNet"),
}  # fmt: skip
globals().update(BUILDERS)

__all__ = ["RetinaNet", *BUILDERS]
