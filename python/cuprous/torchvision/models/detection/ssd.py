"""SSD (W. Liu et al., "Single shot multibox detector", ECCV 2016), under torchvision's names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import cuprous.torch as torch
from cuprous.torch import nn
from cuprous.torch.nn import functional as F
from cuprous.torchvision.models import _networks
from cuprous.torchvision.models.detection._matching import BoxCoder, SSDMatcher
from cuprous.torchvision.models.detection._one_stage import OneStage, detector_builder, matched_boxes
from cuprous.torchvision.models.detection.anchor_utils import DefaultBoxGenerator
from cuprous.torchvision.models.detection.rpn import by_anchor
from cuprous.torchvision.models.detection.transform import named_features
from cuprous.torchvision.ops import boxes as box_ops


def _xavier(module: nn.Module) -> None:
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def out_channels_of(backbone: nn.Module, size: tuple[int, int]) -> list[int]:
    """Returns the channels of a backbone's feature maps, which it computes for an image of zeros."""
    training = backbone.training
    backbone.eval()
    with torch.no_grad():
        device = next(backbone.parameters()).device
        found = named_features(backbone(torch.zeros((1, 3, size[1], size[0]), device=device)))
    backbone.train(training)
    return [features.shape[1] for features in found.values()]


class SSDScoringHead(nn.Module):
    """A layer for each feature map, which gives numbers for each anchor.

    Parameters
    ----------
    module_list : ModuleList
        The layers.
    num_columns : int
        The numbers.
    """

    def __init__(self, module_list: nn.ModuleList, num_columns: int) -> None:
        super().__init__()
        self.module_list, self.num_columns = module_list, num_columns

    def forward(self, x: list[Any]) -> Any:
        """Returns the numbers (N, anchors, columns)."""
        maps = [layer(features) for layer, features in zip(self.module_list, x, strict=True)]
        return by_anchor(maps, self.num_columns)


class _Convolutions(SSDScoringHead):
    def __init__(self, in_channels: list[int], num_anchors: list[int], columns: int) -> None:
        pairs = zip(in_channels, num_anchors, strict=True)
        layers = nn.ModuleList([nn.Conv2d(channels, columns * n, 3, padding=1) for channels, n in pairs])
        _xavier(layers)
        super().__init__(layers, columns)


class SSDClassificationHead(_Convolutions):
    """The scores of classes for each anchor.

    Parameters
    ----------
    in_channels : list of ints
        The channels of each feature map.
    num_anchors : list of ints
        The anchors at each element of it.
    num_classes : int
        The classes.
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int) -> None:
        super().__init__(in_channels, num_anchors, num_classes)


class SSDRegressionHead(_Convolutions):
    """The differences of boxes from each anchor.

    Parameters
    ----------
    in_channels : list of ints
        The channels of each feature map.
    num_anchors : list of ints
        The anchors at each element of it.
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int]) -> None:
        super().__init__(in_channels, num_anchors, 4)


class SSDHead(nn.Module):
    """The scores of classes and the differences of boxes for each anchor.

    Parameters
    ----------
    in_channels : list of ints
        The channels of each feature map.
    num_anchors : list of ints
        The anchors at each element of it.
    num_classes : int
        The classes.
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int) -> None:
        super().__init__()
        self.classification_head: nn.Module = SSDClassificationHead(in_channels, num_anchors, num_classes)
        self.regression_head: nn.Module = SSDRegressionHead(in_channels, num_anchors)

    def forward(self, x: list[Any]) -> dict[str, Any]:
        """Returns both by name."""
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


class SSD(OneStage):
    """SSD.

    Parameters
    ----------
    backbone : Module
        Images to feature maps by name.
    anchor_generator : DefaultBoxGenerator
        What creates the anchors.
    size : pair of ints
        The (width, height) of all images.
    num_classes : int
        The classes, of which the first is the background.
    image_mean, image_std : sequence of floats, optional
        The means and standard deviations of the channels.
    head : Tensor, optional
        What computes scores and differences of boxes.
    score_thresh : float, default 0.01
        Options of detections.
    nms_thresh : float, default 0.45
        Options of detections.
    detections_per_img : int, default 200
        Options of detections.
    iou_thresh : float, default 0.5
        The overlap from which an anchor is an object in training.
    topk_candidates : int, default 400
        The detections of each class before overlapping ones are removed.
    positive_fraction : float, default 0.25
        The part of anchors in the loss that are objects.
    **kwargs : any
        Further options of `GeneralizedRCNNTransform`.

    Raises
    ------
    ValueError
        If the numbers of feature maps and of anchors' ratios differ.
    """

    def __init__(self, backbone: nn.Module, anchor_generator: DefaultBoxGenerator, size: tuple[int, int],
                 num_classes: int, image_mean: Any = None, image_std: Any = None, head: Any = None,
                 score_thresh: float = 0.01, nms_thresh: float = 0.45, detections_per_img: int = 200,
                 iou_thresh: float = 0.5, topk_candidates: int = 400, positive_fraction: float = 0.25,
                 **kwargs: Any) -> None:  # fmt: skip
        super().__init__(backbone, min(size), max(size), image_mean, image_std, score_thresh, nms_thresh,
                         detections_per_img, topk_candidates, size_divisible=1, fixed_size=size, **kwargs)  # fmt: skip
        self.anchor_generator = anchor_generator
        self.box_coder = BoxCoder((10.0, 10.0, 5.0, 5.0))
        if head is None:
            known: Any = getattr(backbone, "out_channels", None)
            channels = out_channels_of(backbone, size) if known is None else known
            ratios = len(anchor_generator.aspect_ratios)
            if len(channels) != ratios:
                raise ValueError(f"The length of the output channels from the backbone ({len(channels)}) do not match "
                                 f"the length of the anchor generator aspect ratios ({ratios})")  # fmt: skip
            head = SSDHead(channels, anchor_generator.num_anchors_per_location(), num_classes)
        self.head = head
        self.proposal_matcher = SSDMatcher(iou_thresh)
        self.neg_to_pos_ratio = (1.0 - positive_fraction) / positive_fraction

    def _losses(self, targets: Any, outputs: Any, anchors: list[Any], counts: list[int]) -> dict[str, Any]:
        """Returns the losses: of boxes, and of the objects' classes and of the background that is taken for objects."""
        matched = matched_boxes(anchors, targets, lambda boxes, own: self.proposal_matcher(box_ops.box_iou(boxes, own)))
        boxes: Any = 0
        labels, objects = [], 0
        for target, codes, own, index in zip(targets, outputs["bbox_regression"], anchors, matched, strict=True):
            found = torch.where(index >= 0)[0]
            objects += found.numel()
            goals = self.box_coder.encode_single(target["boxes"][index[found]], own[found])
            boxes = boxes + F.smooth_l1_loss(codes[found], goals, reduction="sum")
            classes = torch.zeros_like(index)
            classes[found] = target["labels"][index[found]]
            labels.append(classes)
        every, scores = torch.stack(labels), outputs["cls_logits"]
        losses = F.cross_entropy(scores.flatten(0, 1), every.flatten(), reduction="none").reshape(every.shape)
        positive = every > 0
        hardest = torch.where(positive, float("-inf"), losses.detach()).argsort(dim=1, descending=True)
        negative = hardest.argsort(dim=1) < self.neg_to_pos_ratio * positive.sum(1, keepdim=True)
        total = torch.where(positive, losses, 0).sum() + torch.where(negative, losses, 0).sum()
        return {"bbox_regression": boxes / max(1, objects), "classification": total / max(1, objects)}

    def _of_image(self, outputs: dict[str, Any], anchors: Any, counts: list[int], shape: Any) -> list[Any]:
        """Returns the best detections of each class."""
        scores = outputs["cls_logits"].softmax(-1)
        boxes = box_ops.clip_boxes_to_image(self.box_coder.decode_single(outputs["bbox_regression"], anchors), shape)
        found = []
        for label in range(1, scores.shape[-1]):
            kept = torch.where(scores[:, label] > self.score_thresh)[0]
            best = scores[kept, label].topk(min(self.topk_candidates, kept.numel()))
            found.append((boxes[kept[best.indices]], best.values, torch.full_like(best.indices, label)))
        return found


def _block(in_channels: int, middle: int, out: int, kernel: int, **options: Any) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(in_channels, middle, 1), nn.ReLU(inplace=True),
                         nn.Conv2d(middle, out, kernel, **options), nn.ReLU(inplace=True))  # fmt: skip


def feature_maps(x: Any, blocks: Iterable[nn.Module], begin: list[Any]) -> Any:
    """Returns the results of blocks that are called one after the other, after other results, by their numbers."""
    for block in blocks:
        x = block(x)
        begin.append(x)
    return OrderedDict((str(k), found) for k, found in enumerate(begin))


class SSDFeatureExtractorVGG(nn.Module):
    """The feature maps of SSD from a VGG.

    Parameters
    ----------
    backbone : Module
        The convolutions of the VGG.
    highres : bool
        Whether images have 512 pixels, which takes one map more.
    """

    def __init__(self, backbone: nn.Module, highres: bool) -> None:
        super().__init__()
        layers: list[Any] = list(backbone.children())
        _, _, third, fourth, _ = (k for k, layer in enumerate(layers) if isinstance(layer, nn.MaxPool2d))
        layers[third].ceil_mode = True
        self.scale_weight = nn.Parameter(torch.ones(512) * 20)
        self.features = nn.Sequential(*layers[:fourth])
        half = {"padding": 1, "stride": 2}
        extra = nn.ModuleList([
            _block(1024, 256, 512, 3, **half), _block(512, 128, 256, 3, **half), _block(256, 128, 256, 3),
            _block(256, 128, 256, 3), *([_block(256, 128, 256, 4)] if highres else []),
        ])  # fmt: skip
        _xavier(extra)
        last = nn.Sequential(
            nn.MaxPool2d(3, 1, 1), nn.Conv2d(512, 1024, 3, padding=6, dilation=6), nn.ReLU(inplace=True),
            nn.Conv2d(1024, 1024, 1), nn.ReLU(inplace=True),
        )  # fmt: skip
        _xavier(last)
        extra.insert(0, nn.Sequential(*layers[fourth:-1], last))
        self.extra = extra

    def forward(self, x: Any) -> Any:
        """Returns the feature maps by number."""
        x = self.features(x)
        return feature_maps(x, self.extra, [self.scale_weight.view(1, -1, 1, 1) * F.normalize(x)])


def _create(weights: Any, classes: int, layers: int | None, progress: bool, trained: bool, **options: Any) -> SSD:
    count = 5 if not trained else 4 if layers is None else layers
    backbone: Any = _networks.vgg16(weights=weights, progress=progress).features  # type: ignore[attr-defined]
    stages = [0, *(k for k, layer in enumerate(backbone) if isinstance(layer, nn.MaxPool2d))][:-1]
    if not 0 <= count <= len(stages):
        raise AssertionError(f"trainable_layers should be in the range [0, {len(stages)}]. Instead got {count}")
    for layer in list(backbone)[: len(backbone) if count == 0 else stages[len(stages) - count]]:
        for parameter in layer.parameters():
            parameter.requires_grad_(False)
    anchors = DefaultBoxGenerator([[2], [2, 3], [2, 3], [2, 3], [2], [2]], steps=[8, 16, 32, 64, 100, 300],
                                  scales=[0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05])  # fmt: skip
    defaults = {"image_mean": [0.48235, 0.45882, 0.40784], "image_std": [1.0 / 255.0] * 3}
    return SSD(SSDFeatureExtractorVGG(backbone, False), anchors, (300, 300), classes, **{**defaults, **options})


BUILDERS: dict[str, Callable[..., Any]] = {
    "ssd300_vgg16": detector_builder(
        "ssd300_vgg16", _create, "Returns SSD on VGG-16 for images of 300 pixels.", "SSD",
        weights_of="IMAGENET1K_FEATURES"),
}  # fmt: skip
globals().update(BUILDERS)

__all__ = ["SSD", *BUILDERS]
