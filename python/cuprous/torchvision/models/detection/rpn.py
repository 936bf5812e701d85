"""The network that proposes regions (S. Ren et al., "Faster R-CNN", NeurIPS 2015, section 3.1)."""

from __future__ import annotations

from typing import Any

import cuprous.torch as torch
from cuprous.torch import nn
from cuprous.torch.nn import functional as F
from cuprous.torchvision.models.detection._matching import BalancedPositiveNegativeSampler, BoxCoder, Matcher, matched
from cuprous.torchvision.models.detection.anchor_utils import AnchorGenerator, ImageList
from cuprous.torchvision.ops import boxes as box_ops
from cuprous.torchvision.ops.misc import Conv2dNormActivation


class RPNHead(nn.Module):
    """Convolutions that give the score and the differences of each anchor.

    Parameters
    ----------
    in_channels : int
        The channels of the feature maps.
    num_anchors : int
        The anchors at each element.
    conv_depth : int, default 1
        The convolutions before the results.
    """

    def __init__(self, in_channels: int, num_anchors: int, conv_depth: int = 1) -> None:
        super().__init__()
        convs = [Conv2dNormActivation(in_channels, in_channels, 3, norm_layer=None) for _ in range(conv_depth)]
        self.conv = nn.Sequential(*convs)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors, 1)
        self.bbox_pred = nn.Conv2d(in_channels, num_anchors * 4, 1)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=0.01)
                nn.init.constant_(layer.bias, 0)

    def _before_load(self, state: dict[str, Any], prefix: str, version: int | None) -> None:
        """Accepts the keys of files that were written when there was one convolution."""
        for kind in ("weight", "bias"):
            if f"{prefix}conv.{kind}" in state:
                state[f"{prefix}conv.0.0.{kind}"] = state.pop(f"{prefix}conv.{kind}")
        super()._before_load(state, prefix, version)

    def forward(self, x: list[Any]) -> tuple[list[Any], list[Any]]:
        """Returns the scores and the differences for each feature map."""
        found = [self.conv(feature) for feature in x]
        return [self.cls_logits(t) for t in found], [self.bbox_pred(t) for t in found]


def by_anchor(maps: list[Any], columns: int) -> Any:
    """Returns maps (N, anchors * columns, H, W) as (N, all anchors, columns), in the order of the anchors."""
    parts = []
    for found in maps:
        count, _, height, width = found.shape
        parts.append(
            found.reshape(count, -1, columns, height, width).permute(0, 3, 4, 1, 2).reshape(count, -1, columns)
        )
    return torch.cat(parts, dim=1)


class RegionProposalNetwork(nn.Module):
    """Proposes regions that may contain an object.

    Parameters
    ----------
    anchor_generator : AnchorGenerator
        What creates the anchors.
    head : Module
        What scores them.
    fg_iou_thresh : float
        The overlap from which an anchor is an object in training.
    bg_iou_thresh : float
        The overlap below which it is background.
    batch_size_per_image : int
        The anchors that are chosen for the loss.
    positive_fraction : float
        The greatest part of these that are objects.
    pre_nms_top_n : dict of str to int
        The proposals before overlapping ones are removed, in "training" and "testing".
    post_nms_top_n : dict of str to int
        The proposals afterwards.
    nms_thresh : float
        The overlap from which proposals are removed.
    score_thresh : float, default 0.0
        The least probability.
    """

    def __init__(self, anchor_generator: AnchorGenerator, head: nn.Module, fg_iou_thresh: float, bg_iou_thresh: float,
                 batch_size_per_image: int, positive_fraction: float, pre_nms_top_n: dict[str, int],
                 post_nms_top_n: dict[str, int], nms_thresh: float, score_thresh: float = 0.0) -> None:  # fmt: skip
        super().__init__()
        self.anchor_generator, self.head = anchor_generator, head
        self.box_coder = BoxCoder((1.0, 1.0, 1.0, 1.0))
        self.box_similarity = box_ops.box_iou
        self.proposal_matcher = Matcher(fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True)
        self.fg_bg_sampler = BalancedPositiveNegativeSampler(batch_size_per_image, positive_fraction)
        self._pre_nms_top_n, self._post_nms_top_n = pre_nms_top_n, post_nms_top_n
        self.nms_thresh, self.score_thresh, self.min_size = nms_thresh, score_thresh, 1e-3

    def _filtered(self, proposals: Any, scores: Any, shapes: list[Any], counts: list[int]) -> list[Any]:
        """Returns the best proposals of each image that do not overlap, each level by itself."""
        phase = "training" if self.training else "testing"
        order, level, start = [], [], 0
        for number, part in enumerate(scores.split(counts, 1)):
            top = part.topk(min(self._pre_nms_top_n[phase], part.shape[1]), dim=1).indices
            order.append(top + start)
            level.append(torch.full_like(top, number))
            start += part.shape[1]
        chosen, levels = torch.cat(order, 1), torch.cat(level, 1)
        boxes = proposals.gather(1, chosen[..., None].expand(-1, -1, 4))
        likely = scores.gather(1, chosen).sigmoid()
        found = []
        for own, score, number, shape in zip(boxes, likely, levels, shapes, strict=True):
            clipped = box_ops.clip_boxes_to_image(own, shape)
            sides = clipped[:, 2:] - clipped[:, :2]
            kept = torch.where((sides >= self.min_size).all(1) & (score >= self.score_thresh))[0]
            best = box_ops.batched_nms(clipped[kept], score[kept], number[kept], self.nms_thresh)
            found.append(clipped[kept[best[: self._post_nms_top_n[phase]]]])
        return found

    def _losses(self, scores: Any, differences: Any, anchors: list[Any], targets: Any) -> dict[str, Any]:
        labels, wanted = [], []
        for own, target in zip(anchors, targets, strict=True):
            boxes = target["boxes"]
            index, background, ignored = matched(own, boxes, self.proposal_matcher, self.box_similarity)
            objects = torch.where(background, 0.0, 1.0)
            labels.append(torch.where(ignored, -1.0, objects))
            wanted.append(boxes[index] if boxes.numel() else torch.zeros_like(own))
        goals = torch.cat(self.box_coder.encode(wanted, anchors))
        positive, negative = (torch.where(torch.cat(masks))[0] for masks in self.fg_bg_sampler(labels))
        both = torch.cat([positive, negative])
        box_loss = F.smooth_l1_loss(differences[positive], goals[positive], beta=1 / 9, reduction="sum")
        every = torch.cat(labels)
        return {
            "loss_objectness": F.binary_cross_entropy_with_logits(scores[both], every[both]),
            "loss_rpn_box_reg": box_loss / both.numel(),
        }

    def forward(self, images: ImageList, features: dict[str, Any], targets: Any = None) -> tuple[list[Any], Any]:
        """Returns the proposed boxes of each image, and in training the losses.

        Parameters
        ----------
        images : ImageList
            The images.
        features : dict
            The feature maps by name.
        targets : Tensor, optional
            The true boxes, in training.

        Raises
        ------
        ValueError
            Without targets in training.
        """
        maps = list(features.values())
        scores, differences = self.head(maps)
        anchors = self.anchor_generator(images, maps)
        counts = [found.shape[1] * found.shape[2] * found.shape[3] for found in scores]
        flat_scores, flat = by_anchor(scores, 1)[..., 0], by_anchor(differences, 4)
        proposals = self.box_coder.decode(flat.detach().reshape(-1, 4), anchors).reshape(len(anchors), -1, 4)
        boxes = self._filtered(proposals, flat_scores.detach(), images.image_sizes, counts)
        if not self.training:
            return boxes, {}
        if targets is None:
            raise ValueError("targets should not be None")
        return boxes, self._losses(flat_scores.flatten(), flat.reshape(-1, 4), anchors, targets)


__all__ = ["RPNHead", "RegionProposalNetwork"]
