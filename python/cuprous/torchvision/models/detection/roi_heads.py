"""What is in regions: classes, boxes and masks (S. Ren et al., 2015; K. He et al., "Mask R-CNN", ICCV 2017)."""

from __future__ import annotations

from typing import Any

import cuprous.torch as torch
from cuprous.torch import nn
from cuprous.torch.nn import functional as F
from cuprous.torchvision.models.detection._matching import BalancedPositiveNegativeSampler, BoxCoder, Matcher, matched
from cuprous.torchvision.ops import boxes as box_ops
from cuprous.torchvision.ops.regions import roi_align


def fastrcnn_loss(class_logits: Any, box_regression: Any, labels: list[Any], regression_targets: list[Any]) -> Any:
    """Returns the losses of classes and boxes.

    Parameters
    ----------
    class_logits : Tensor
        The scores (N, classes).
    box_regression : Tensor
        The differences (N, 4 classes).
    labels : list
        The true classes of each image.
    regression_targets : list
        The true differences of each image.
    """
    every, goals = torch.cat(labels), torch.cat(list(regression_targets))
    positive = torch.where(every > 0)[0]
    differences = box_regression.reshape(every.shape[0], -1, 4)
    box_loss = F.smooth_l1_loss(differences[positive, every[positive]], goals[positive], beta=1 / 9, reduction="sum")
    return F.cross_entropy(class_logits, every), box_loss / every.numel()


def maskrcnn_loss(mask_logits: Any, proposals: list[Any], gt_masks: list[Any], gt_labels: list[Any],
                  mask_matched_idxs: list[Any]) -> Any:  # fmt: skip
    """Returns the loss of masks.

    Parameters
    ----------
    mask_logits : Tensor
        The scores (N, classes, M, M).
    proposals : list
        The boxes of each image.
    gt_masks : list
        The true masks of each image.
    gt_labels : list
        The true classes of each image.
    mask_matched_idxs : list
        The number of the true object of each box.
    """
    labels = torch.cat([own[index] for own, index in zip(gt_labels, mask_matched_idxs, strict=True)])
    size, goals = mask_logits.shape[-1], []
    for masks, boxes, index in zip(gt_masks, proposals, mask_matched_idxs, strict=True):
        regions = torch.cat([index.to(boxes)[:, None], boxes], dim=1)
        goals.append(roi_align(masks[:, None].to(boxes.dtype), regions, (size, size), 1.0)[:, 0])
    wanted = torch.cat(goals)
    if not wanted.numel():
        return mask_logits.sum() * 0
    rows = torch.arange(labels.shape[0], device=labels.device)
    return F.binary_cross_entropy_with_logits(mask_logits[rows, labels], wanted)


def keypoints_to_heatmap(keypoints: Any, rois: Any, heatmap_size: int) -> tuple[Any, Any]:
    """Returns the number of each keypoint's element in the map of its region, and 1 if it lies there and is visible.

    Parameters
    ----------
    keypoints : Tensor
        Keypoints (N, K, 3).
    rois : Tensor
        Their regions (N, 4).
    heatmap_size : int
        The side of the maps.
    """
    places, ends = keypoints[..., :2], rois[:, None, 2:]
    scale = heatmap_size / (rois[:, 2:] - rois[:, :2])
    index = ((places - rois[:, None, :2]) * scale[:, None]).floor().long()
    index = torch.where(places == ends, heatmap_size - 1, index)
    valid = ((index >= 0) & (index < heatmap_size)).all(-1) & (keypoints[..., 2] > 0)
    return (index[..., 1] * heatmap_size + index[..., 0]) * valid, valid.long()


def heatmaps_to_keypoints(maps: Any, rois: Any) -> tuple[Any, Any]:
    """Returns keypoints (N, K, 3) and their scores (N, K). The regions are copied to the host.

    Parameters
    ----------
    maps : Tensor
        Scores (N, K, H, W) of each element of regions.
    rois : Tensor
        The regions (N, 4).
    """
    sides = (rois[:, 2:] - rois[:, :2]).clamp(min=1)
    count, found, scores = maps.shape[1], [], []
    for one, start, side, (width, height) in zip(maps, rois[:, :2], sides, sides.ceil().long().tolist(), strict=True):
        large = F.interpolate(one[:, None], size=(height, width), mode="bicubic", align_corners=False)[:, 0]
        best = large.reshape(count, -1).max(dim=1)
        place = torch.stack((best.indices % width, best.indices // width), 1)
        exact = (place.float() + 0.5) * (side / torch.tensor([width, height], device=side.device)) + start
        found.append(torch.cat((exact, torch.ones_like(exact[:, :1])), 1))
        scores.append(best.values)
    if not found:
        return torch.zeros((0, count, 3), device=maps.device), torch.zeros((0, count), device=maps.device)
    return torch.stack(found), torch.stack(scores)


def keypointrcnn_loss(keypoint_logits: Any, proposals: list[Any], gt_keypoints: list[Any],
                      keypoint_matched_idxs: list[Any]) -> Any:  # fmt: skip
    """Returns the loss of keypoints.

    Parameters
    ----------
    keypoint_logits : Tensor
        The scores (N, K, H, H).
    proposals : list
        The boxes of each image.
    gt_keypoints : list
        The true keypoints of each image.
    keypoint_matched_idxs : list
        The number of the true object of each box.

    Raises
    ------
    ValueError
        For maps that are not square.
    """
    rows, count, height, width = keypoint_logits.shape
    if height != width:
        raise ValueError("keypoint_logits height and width (last two elements of shape) should be equal. Instead got "
                         f"H = {height} and W = {width}")  # fmt: skip
    pairs = [keypoints_to_heatmap(known[index], boxes, height)
             for boxes, known, index in zip(proposals, gt_keypoints, keypoint_matched_idxs, strict=True)]  # fmt: skip
    goals, valid = (torch.cat([pair[k].reshape(-1) for pair in pairs]) for k in (0, 1))
    seen = torch.where(valid > 0)[0]
    if not seen.numel():
        return keypoint_logits.sum() * 0
    return F.cross_entropy(keypoint_logits.reshape(rows * count, -1)[seen], goals[seen])


class RoIHeads(nn.Module):
    """Finds the classes and boxes of regions, and their masks.

    Parameters
    ----------
    box_roi_pool : Tensor
        What pools regions for classes and boxes.
    box_head : Module
        What computes features of them.
    box_predictor : Tensor
        What computes scores and differences.
    fg_iou_thresh : float
        The overlap from which a region is an object in training.
    bg_iou_thresh : float
        The overlap below which it is background.
    batch_size_per_image : int
        The regions that are chosen for the loss.
    positive_fraction : float
        The greatest part of these that are objects.
    bbox_reg_weights : int or sequence of ints
        The factors of differences; (10, 10, 5, 5) by default.
    score_thresh : float
        The probability above which a detection is kept.
    nms_thresh : float
        The overlap from which detections of a class are removed.
    detections_per_img : int
        The greatest number of detections.
    mask_roi_pool : Module, optional
        What pools regions for masks, or None.
    mask_head : Module, optional
        What computes features of them.
    mask_predictor : Tensor, optional
        What computes the scores of masks.
    keypoint_roi_pool, keypoint_head, keypoint_predictor : Module, optional
        The same for keypoints.
    """

    def __init__(self, box_roi_pool: Any, box_head: Any, box_predictor: Any, fg_iou_thresh: float,
                 bg_iou_thresh: float, batch_size_per_image: int, positive_fraction: float, bbox_reg_weights: Any,
                 score_thresh: float, nms_thresh: float, detections_per_img: int, mask_roi_pool: Any = None,
                 mask_head: Any = None, mask_predictor: Any = None, keypoint_roi_pool: Any = None,
                 keypoint_head: Any = None, keypoint_predictor: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.box_similarity = box_ops.box_iou
        self.proposal_matcher = Matcher(fg_iou_thresh, bg_iou_thresh)
        self.fg_bg_sampler = BalancedPositiveNegativeSampler(batch_size_per_image, positive_fraction)
        self.box_coder = BoxCoder((10.0, 10.0, 5.0, 5.0) if bbox_reg_weights is None else bbox_reg_weights)
        self.box_roi_pool, self.box_head, self.box_predictor = box_roi_pool, box_head, box_predictor
        self.score_thresh, self.nms_thresh, self.detections_per_img = score_thresh, nms_thresh, detections_per_img
        self.mask_roi_pool, self.mask_head, self.mask_predictor = mask_roi_pool, mask_head, mask_predictor
        self.keypoint_roi_pool, self.keypoint_head = keypoint_roi_pool, keypoint_head
        self.keypoint_predictor = keypoint_predictor

    def has_mask(self) -> bool:
        """Returns whether there is all that masks need."""
        return None not in (self.mask_roi_pool, self.mask_head, self.mask_predictor)

    def has_keypoint(self) -> bool:
        """Returns whether there is all that keypoints need."""
        return None not in (self.keypoint_roi_pool, self.keypoint_head, self.keypoint_predictor)

    def _samples(self, proposals: list[Any], targets: Any) -> tuple[list[Any], list[Any], list[Any], Any]:
        """Returns the regions of each image that are used for the loss, and for each the number of the true object, its
        class, and the differences to its box."""
        dtype = proposals[0].dtype
        regions, objects, classes, wanted = [], [], [], []
        for own, target in zip(proposals, targets, strict=True):
            boxes = target["boxes"].to(dtype)
            every = torch.cat((own, boxes))
            index, background, ignored = matched(every, boxes, self.proposal_matcher, self.box_similarity)
            labels = target["labels"][index] if boxes.numel() else index
            labels = torch.where(ignored, -1, torch.where(background, 0, labels))
            positive, negative = self.fg_bg_sampler([labels])
            chosen = torch.where(positive[0] | negative[0])[0]
            regions.append(every[chosen])
            objects.append(index[chosen])
            classes.append(labels[chosen])
            known = boxes if boxes.numel() else torch.zeros((1, 4), dtype=dtype, device=own.device)
            wanted.append(known[index[chosen]])
        return regions, objects, classes, self.box_coder.encode(wanted, regions)

    def _detections(self, logits: Any, differences: Any, proposals: list[Any], shapes: list[Any]) -> list[Any]:
        counts = [own.shape[0] for own in proposals]
        every = self.box_coder.decode(differences, proposals).reshape(sum(counts), -1, 4)
        found = []
        for boxes, scores, shape in zip(every.split(counts), logits.softmax(-1).split(counts), shapes, strict=True):
            classes = torch.arange(logits.shape[-1], device=logits.device).expand(scores.shape[0], -1)
            flat = box_ops.clip_boxes_to_image(boxes, shape)[:, 1:].reshape(-1, 4)  # without the background
            score, label = scores[:, 1:].reshape(-1), classes[:, 1:].reshape(-1)
            sides = flat[:, 2:] - flat[:, :2]
            kept = torch.where((score > self.score_thresh) & (sides >= 1e-2).all(1))[0]
            best = box_ops.batched_nms(flat[kept], score[kept], label[kept], self.nms_thresh)
            kept = kept[best[: self.detections_per_img]]
            found.append({"boxes": flat[kept], "labels": label[kept], "scores": score[kept]})
        return found

    def _check(self, targets: Any) -> None:
        for target in targets:
            if not target["boxes"].is_floating_point():
                raise TypeError(f"target boxes must of float type, instead got {target['boxes'].dtype}")
            if target["labels"].dtype != torch.int64:
                raise TypeError(f"target labels must of int64 type, instead got {target['labels'].dtype}")
            if self.has_keypoint() and target["keypoints"].dtype != torch.float32:
                raise TypeError(f"target keypoints must of float type, instead got {target['keypoints'].dtype}")

    def _masks(self, features: Any, boxes: list[Any], shapes: list[Any]) -> Any:
        return self.mask_predictor(self.mask_head(self.mask_roi_pool(features, boxes, shapes)))

    def _keypoints(self, features: Any, boxes: list[Any], shapes: list[Any]) -> Any:
        return self.keypoint_predictor(self.keypoint_head(self.keypoint_roi_pool(features, boxes, shapes)))

    def forward(self, features: dict[str, Any], proposals: list[Any], image_shapes: list[Any],
                targets: Any = None) -> tuple[list[Any], dict[str, Any]]:  # fmt: skip
        """Returns the detections in each image, or in training the losses.

        Parameters
        ----------
        features : dict
            The feature maps by name.
        proposals : list
            The regions of each image.
        image_shapes : list
            The (height, width) of each image.
        targets : Tensor, optional
            The true boxes, classes and masks, in training.

        Raises
        ------
        TypeError
            For targets of other dtypes.
        ValueError
            Without targets in training.
        """
        if targets is not None:
            self._check(targets)
        if not self.training:
            logits, differences = self.box_predictor(
                self.box_head(self.box_roi_pool(features, proposals, image_shapes))
            )
            result = self._detections(logits, differences, proposals, image_shapes)
            if self.has_mask():
                scores = self._masks(features, [found["boxes"] for found in result], image_shapes).sigmoid()
                labels = torch.cat([found["labels"] for found in result])
                chosen = scores[torch.arange(labels.shape[0], device=labels.device), labels][:, None]
                for found, own in zip(result, chosen.split([len(f["labels"]) for f in result]), strict=True):
                    found["masks"] = own
            if self.has_keypoint():
                boxes = [found["boxes"] for found in result]
                maps = self._keypoints(features, boxes, image_shapes).split([len(own) for own in boxes])
                for found, own in zip(result, maps, strict=True):
                    found["keypoints"], found["keypoints_scores"] = heatmaps_to_keypoints(own, found["boxes"])
            return result, {}
        if targets is None:
            raise ValueError("targets should not be None")
        regions, objects, classes, goals = self._samples(proposals, targets)
        logits, differences = self.box_predictor(self.box_head(self.box_roi_pool(features, regions, image_shapes)))
        class_loss, box_loss = fastrcnn_loss(logits, differences, classes, goals)
        losses = {"loss_classifier": class_loss, "loss_box_reg": box_loss}
        if self.has_mask() or self.has_keypoint():
            positive = [torch.where(labels > 0)[0] for labels in classes]
            boxes = [own[where] for own, where in zip(regions, positive, strict=True)]
            index = [own[where] for own, where in zip(objects, positive, strict=True)]
        if self.has_mask():
            masks, own = ([target[key] for target in targets] for key in ("masks", "labels"))
            losses["loss_mask"] = maskrcnn_loss(self._masks(features, boxes, image_shapes), boxes, masks, own, index)
        if self.has_keypoint():
            maps, known = self._keypoints(features, boxes, image_shapes), [target["keypoints"] for target in targets]
            losses["loss_keypoint"] = keypointrcnn_loss(maps, boxes, known, index)
        return [], losses


__all__ = ["RoIHeads", "fastrcnn_loss", "maskrcnn_loss"]
