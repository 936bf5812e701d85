"""Detectors of one stage: what their maps say of each anchor is the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cuprous.torch as torch
from cuprous._common.naming import named
from cuprous.torch import nn
from cuprous.torchvision.models import _networks
from cuprous.torchvision.models._task_weights import detector_creator
from cuprous.torchvision.models.detection.anchor_utils import AnchorGenerator
from cuprous.torchvision.models.detection.backbone_utils import resnet_fpn
from cuprous.torchvision.models.detection.faster_rcnn import BACKBONE, trainable
from cuprous.torchvision.models.detection.transform import (
    MEAN,
    STD,
    GeneralizedRCNNTransform,
    checked_batch,
    named_features,
)
from cuprous.torchvision.ops import boxes as box_ops
from cuprous.torchvision.ops.misc import FrozenBatchNorm2d
from cuprous.torchvision.ops.pyramid import LastLevelP6P7


def initialized(module: nn.Module, std: float = 0.01) -> None:
    """Gives convolutions normal random numbers, and biases of 0."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.weight, std=std)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def pyramid_backbone(weights: Any, layers: int | None, progress: bool, trained: bool, norm: bool = True,
                     channels: int = 256) -> Any:  # fmt: skip
    """Returns ResNet-50 with a pyramid of its last three stages and two more maps."""
    options = {"norm_layer": FrozenBatchNorm2d if trained else nn.BatchNorm2d} if norm else {}
    base = _networks._resnet("resnet50")(weights=weights, progress=progress, **options)
    return resnet_fpn(base, trainable(layers, trained, 5), [2, 3, 4], LastLevelP6P7(channels, 256))


class OneStage(nn.Module):
    """A detector of one stage. A subclass has `anchor_generator`, `head`, `_losses`, `_scores` and `_decoded`.

    Parameters
    ----------
    backbone : Tensor
        Images to feature maps by name.
    min_size : int or sequence of ints
        The sides of resized images.
    max_size : int
        The sides of resized images.
    image_mean, image_std : sequence of floats
        The means and standard deviations of the channels.
    score_thresh : float
        The least score of a detection.
    nms_thresh : float
        The overlap from which detections of a class are removed.
    detections_per_img : int
        The greatest number of detections.
    topk_candidates : int
        The detections of each level before overlapping ones are removed.
    **kwargs : any
        Further options of `GeneralizedRCNNTransform`.
    """

    anchor_generator: Any
    head: Any

    def __init__(self, backbone: Any, min_size: Any, max_size: int, image_mean: Any, image_std: Any,
                 score_thresh: float, nms_thresh: float, detections_per_img: int, topk_candidates: int,
                 **kwargs: Any) -> None:  # fmt: skip
        super().__init__()
        self.backbone = backbone
        mean, std = MEAN if image_mean is None else image_mean, STD if image_std is None else image_std
        self.transform = GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs)
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.detections_per_img, self.topk_candidates = detections_per_img, topk_candidates

    def _losses(self, targets: Any, outputs: Any, anchors: list[Any], counts: list[int]) -> dict[str, Any]:
        """Returns the losses by name. `counts` are the anchors of each level."""
        raise NotImplementedError

    def _scores(self, outputs: dict[str, Any]) -> Any:
        """Returns the score of each class for each anchor of an image."""
        raise NotImplementedError

    def _decoded(self, codes: Any, anchors: Any) -> Any:
        """Returns the boxes for differences from anchors."""
        raise NotImplementedError

    def _best(self, scores: Any, codes: Any, anchors: Any, shape: Any) -> tuple[Any, Any, Any]:
        """Returns the boxes, scores and classes of the best detections of a level of an image."""
        flat = scores.flatten()
        kept = torch.where(flat > self.score_thresh)[0]
        best = flat[kept].topk(min(self.topk_candidates, kept.numel()))
        kept = kept[best.indices]
        at = kept // scores.shape[-1]
        boxes = box_ops.clip_boxes_to_image(self._decoded(codes[at], anchors[at]), shape)
        return boxes, best.values, kept % scores.shape[-1]

    def _of_image(self, outputs: dict[str, Any], anchors: Any, counts: list[int], shape: Any) -> list[Any]:
        parts = (self._scores(outputs).split(counts), outputs["bbox_regression"].split(counts), anchors.split(counts))
        return [self._best(*level, shape) for level in zip(*parts, strict=True)]

    def _detections(self, outputs: dict[str, Any], anchors: list[Any], counts: list[int], shapes: list[Any]) -> Any:
        found = []
        for number, (own, shape) in enumerate(zip(anchors, shapes, strict=True)):
            levels = self._of_image({key: value[number] for key, value in outputs.items()}, own, counts, shape)
            boxes, scores, labels = (torch.cat(parts) for parts in zip(*levels, strict=True))
            kept = box_ops.batched_nms(boxes, scores, labels, self.nms_thresh)[: self.detections_per_img]
            found.append({"boxes": boxes[kept], "scores": scores[kept], "labels": labels[kept]})
        return found

    def forward(self, images: list[Any], targets: Any = None) -> Any:
        """Returns the detections in each image (a list of dicts with "boxes", "labels" and "scores"), or in training
        the losses by name.

        Parameters
        ----------
        images : list
            Images (C, H, W) of any sizes.
        targets : Tensor, optional
            For each image a dict with the true "boxes" and "labels", in training.

        Raises
        ------
        AssertionError
            Without targets in training, and for boxes of other shapes or without area.
        """
        sizes = [tuple(image.shape[-2:]) for image in images]
        batch, targets = checked_batch(self, images, targets)
        features = list(named_features(self.backbone(batch.tensors)).values())
        outputs, anchors = self.head(features), self.anchor_generator(batch, features)
        areas = [found.shape[2] * found.shape[3] for found in features]
        each = self.anchor_generator.num_anchors_per_location()
        each = each if len(each) == len(areas) else each * len(areas)
        counts = [area * n for area, n in zip(areas, each, strict=True)]
        if self.training:
            return self._losses(targets, outputs, anchors, counts)
        detections = self._detections(outputs, anchors, counts, batch.image_sizes)
        return self.transform.postprocess(detections, batch.image_sizes, sizes)


def checked_parts(backbone: Any, anchor_generator: Any) -> None:
    """Raises for a backbone without `out_channels`, and for another class of anchors."""
    if not hasattr(backbone, "out_channels"):
        raise ValueError("backbone should contain an attribute out_channels specifying the number of output channels "
                         "(assumed to be the same for all the levels)")  # fmt: skip
    if not isinstance(anchor_generator, (AnchorGenerator, type(None))):
        raise TypeError("anchor_generator should be of type AnchorGenerator or None instead of "
                        f"{type(anchor_generator)}")  # fmt: skip


def matched_boxes(anchors: list[Any], targets: Any, match: Callable[[Any, Any], Any]) -> list[Any]:
    """Returns for each anchor of each image the number of its true box, or a negative number."""
    none = (torch.full((own.shape[0],), -1, dtype=torch.int64, device=own.device) for own in anchors)
    return [match(target["boxes"], own) if target["boxes"].numel() else empty
            for own, target, empty in zip(anchors, targets, none, strict=True)]  # fmt: skip


def detector_builder(name: str, create: Callable[..., Any], summary: str, kind: str, stages: int = 5,
                     weights_of: Any = BACKBONE, classes: int = 91) -> Callable[..., Any]:  # fmt: skip
    """Returns the public function that creates a detector."""
    inner = detector_creator(name, create, classes)

    def make(*, weights: Any = None, progress: bool = True, num_classes: int | None = None,
             weights_backbone: Any = weights_of, trainable_backbone_layers: int | None = None,
             **kwargs: Any) -> Any:  # fmt: skip
        return inner(weights, progress, num_classes, weights_backbone, trainable_backbone_layers, **kwargs)

    return named(
        make,
        name,
        f"""{summary}

    Parameters
    ----------
    weights : Weights or str, optional
        Weights of the whole network, such as "DEFAULT", from a local file: see `torch.hub.load_state_dict_from_url`.
    progress : bool, default True
        Whether a download of weights shows how far it is.
    num_classes : int, optional
        The classes, of which the first is the background; {classes} by default.
    weights_backbone : Tensor, optional
        Weights of the backbone, or None.
    trainable_backbone_layers : int, optional
        The number of its stages that are trained, 0 to {stages}.
    **kwargs : any
        Options of `{kind}`.

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
    >>> with torch.device("meta"):
    ...     model = models.detection.{name}(weights_backbone=None, num_classes=2)
    >>> type(model).__name__
    '{kind}'
    """,
    )
