"""FCOS (Z. Tian et al., "Fully convolutional one-stage object detection", ICCV 2019), under torchvision's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import cuprous.torch as torch
from cuprous.torch import nn
from cuprous.torch.nn import functional as F
from cuprous.torchvision.models.detection._matching import BoxLinearCoder
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
from cuprous.torchvision.ops.losses import generalized_box_iou_loss
from cuprous.torchvision.ops.misc import sigmoid_focal_loss


def _convolutions(channels: int, count: int, norm_layer: Any) -> nn.Sequential:
    norm = partial(nn.GroupNorm, 32) if norm_layer is None else norm_layer
    layers = [part for _ in range(count)
              for part in (nn.Conv2d(channels, channels, 3, 1, 1), norm(channels), nn.ReLU())]  # fmt: skip
    found = nn.Sequential(*layers)
    initialized(found)
    return found


class FCOSClassificationHead(nn.Module):
    """The scores of classes for each element of feature maps.

    Parameters
    ----------
    in_channels : int
        The channels of feature maps.
    num_anchors : int
        The anchors at each element.
    num_classes : int
        The classes.
    num_convs : int, default 4
        The convolutions before the last one.
    prior_probability : float, default 0.01
        The probability of an object before training.
    norm_layer : Module, optional
        The layer that normalizes, by default groups of channels.
    """

    def __init__(self, in_channels: int, num_anchors: int, num_classes: int, num_convs: int = 4,
                 prior_probability: float = 0.01, norm_layer: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.num_classes, self.num_anchors = num_classes, num_anchors
        self.conv = _convolutions(in_channels, num_convs, norm_layer)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, 1, 1)
        initialized(self.cls_logits)
        nn.init.constant_(self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability))

    def forward(self, x: list[Any]) -> Any:
        """Returns the scores (N, elements, classes)."""
        return by_anchor([self.cls_logits(self.conv(features)) for features in x], self.num_classes)


class FCOSRegressionHead(nn.Module):
    """The distances of boxes' sides from each element, and how near it is to the center.

    Parameters
    ----------
    in_channels : int
        The channels of feature maps.
    num_anchors : int
        The anchors at each element.
    num_convs : int, default 4
        The convolutions before the last one.
    norm_layer : Module, optional
        The layer that normalizes, by default groups of channels.
    """

    def __init__(self, in_channels: int, num_anchors: int, num_convs: int = 4, norm_layer: Any = None) -> None:
        super().__init__()
        self.conv = _convolutions(in_channels, num_convs, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, 1, 1)
        self.bbox_ctrness = nn.Conv2d(in_channels, num_anchors, 3, 1, 1)
        for layer in (self.bbox_reg, self.bbox_ctrness):
            initialized(layer)

    def forward(self, x: list[Any]) -> tuple[Any, Any]:
        """Returns the distances (N, elements, 4) and the nearness (N, elements, 1)."""
        features = [self.conv(one) for one in x]
        boxes = by_anchor([F.relu(self.bbox_reg(one)) for one in features], 4)
        return boxes, by_anchor([self.bbox_ctrness(one) for one in features], 1)


class FCOSHead(nn.Module):
    """The scores of classes, distances of sides and nearness for each element.

    Parameters
    ----------
    in_channels : int
        The channels of feature maps.
    num_anchors : int
        The anchors at each element.
    num_classes : int
        The classes.
    num_convs : int, default 4
        The convolutions before the last ones.
    """

    def __init__(self, in_channels: int, num_anchors: int, num_classes: int, num_convs: int = 4) -> None:
        super().__init__()
        self.box_coder = BoxLinearCoder(normalize_by_size=True)
        self.classification_head = FCOSClassificationHead(in_channels, num_anchors, num_classes, num_convs)
        self.regression_head = FCOSRegressionHead(in_channels, num_anchors, num_convs)

    def compute_loss(self, targets: Any, head_outputs: Any, anchors: list[Any], matched_idxs: list[Any]) -> Any:
        """Returns the losses by name."""
        scores, codes = head_outputs["cls_logits"], head_outputs["bbox_regression"]
        labels, boxes = [], []
        for target, index in zip(targets, matched_idxs, strict=True):
            if len(target["labels"]):
                labels.append(torch.where(index < 0, -1, target["labels"][index.clamp(min=0)]))
                boxes.append(target["boxes"][index.clamp(min=0)])
            else:
                labels.append(torch.full_like(index, -1))
                boxes.append(target["boxes"].new_zeros((index.shape[0], 4)))
        every, known, around = torch.cat(labels), torch.cat(boxes), torch.cat(list(anchors))
        found = torch.where(every >= 0)[0]
        wanted = torch.zeros_like(scores).flatten(0, 1)
        wanted[found, every[found]] = 1.0
        predicted = self.box_coder.decode(codes.flatten(0, 1)[found], around[found])
        sides = self.box_coder.encode(around[found], known[found])
        pairs = sides.reshape(-1, 2, 2)  # from left and top, then from right and bottom
        near = (pairs.amin(1) / pairs.amax(1)).prod(-1).sqrt()
        nearness = head_outputs["bbox_ctrness"].flatten()[found]
        losses = {
            "classification": sigmoid_focal_loss(scores.flatten(0, 1), wanted, reduction="sum"),
            "bbox_regression": generalized_box_iou_loss(predicted, known[found], reduction="sum"),
            "bbox_ctrness": F.binary_cross_entropy_with_logits(nearness, near, reduction="sum"),
        }
        return {name: loss / max(1, found.numel()) for name, loss in losses.items()}

    def forward(self, x: list[Any]) -> dict[str, Any]:
        """Returns all three by name."""
        boxes, nearness = self.regression_head(x)
        return {"cls_logits": self.classification_head(x), "bbox_regression": boxes, "bbox_ctrness": nearness}


class FCOS(OneStage):
    """FCOS.

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
        What creates the anchors, one at each element, as large as the step between elements.
    head : Tensor, optional
        What computes scores and boxes.
    center_sampling_radius : float, default 1.5
        The distance from a box's center, in steps, within which elements belong to it.
    score_thresh : float, default 0.2
        Options of detections.
    nms_thresh : float, default 0.6
        Options of detections.
    detections_per_img : int, default 100
        Options of detections.
    topk_candidates : int, default 1000
        Options of detections.
    **kwargs : any
        Further options of `GeneralizedRCNNTransform`.

    Raises
    ------
    TypeError
        For anchors of another class.
    ValueError
        For a backbone without `out_channels`, and for several anchors at an element.
    """

    def __init__(self, backbone: Any, num_classes: int, min_size: Any = 800, max_size: int = 1333,
                 image_mean: Any = None, image_std: Any = None, anchor_generator: Any = None, head: Any = None,
                 center_sampling_radius: float = 1.5, score_thresh: float = 0.2, nms_thresh: float = 0.6,
                 detections_per_img: int = 100, topk_candidates: int = 1000, **kwargs: Any) -> None:  # fmt: skip
        checked_parts(backbone, anchor_generator)
        super().__init__(backbone, min_size, max_size, image_mean, image_std, score_thresh, nms_thresh,
                         detections_per_img, topk_candidates, **kwargs)  # fmt: skip
        one = AnchorGenerator(((8,), (16,), (32,), (64,), (128,)), ((1.0,),) * 5)
        self.anchor_generator = anchor_generator or one
        count = self.anchor_generator.num_anchors_per_location()[0]
        if count != 1:
            raise ValueError(f"anchor_generator.num_anchors_per_location()[0] should be 1 instead of {count}")
        self.head = head or FCOSHead(backbone.out_channels, count, num_classes)
        self.box_coder = BoxLinearCoder(normalize_by_size=True)
        self.center_sampling_radius = center_sampling_radius

    def _losses(self, targets: Any, outputs: Any, anchors: list[Any], counts: list[int]) -> dict[str, Any]:
        def match(boxes: Any, own: Any) -> Any:
            """Returns the smallest box in which an element lies near the center, if its level is for its size."""
            centers, sizes = (own[:, :2] + own[:, 2:]) / 2, own[:, 2] - own[:, 0]
            away = (centers[:, None] - ((boxes[:, :2] + boxes[:, 2:]) / 2)[None]).abs().amax(2)
            sides = torch.cat((centers[:, None] - boxes[None, :, :2], boxes[None, :, 2:] - centers[:, None]), 2)
            least, most = sizes * 4, sizes * 8
            least[: counts[0]] = 0
            most[-counts[-1] :] = float("inf")
            far = sides.amax(2)
            inside = (away < self.center_sampling_radius * sizes[:, None]) & (sides.amin(2) > 0)
            inside &= (far > least[:, None]) & (far < most[:, None])
            areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
            best = (inside.float() * (1e8 - areas[None])).max(dim=1)
            return torch.where(best.values < 1e-5, -1, best.indices)

        matched = matched_boxes(anchors, targets, match)
        found: dict[str, Any] = self.head.compute_loss(targets, outputs, anchors, matched)
        return found

    def _scores(self, outputs: dict[str, Any]) -> Any:
        return (outputs["cls_logits"].sigmoid() * outputs["bbox_ctrness"].sigmoid()).sqrt()

    def _decoded(self, codes: Any, anchors: Any) -> Any:
        return self.box_coder.decode(codes, anchors)


def _create(weights: Any, classes: int, layers: int | None, progress: bool, trained: bool, **options: Any) -> FCOS:
    return FCOS(pyramid_backbone(weights, layers, progress, trained), classes, **options)


BUILDERS: dict[str, Callable[..., Any]] = {
    "fcos_resnet50_fpn": detector_builder(
        "fcos_resnet50_fpn", _create, "Returns FCOS on ResNet-50 with a feature pyramid.", "FCOS"),
}  # fmt: skip
globals().update(BUILDERS)

__all__ = ["FCOS", *BUILDERS]
