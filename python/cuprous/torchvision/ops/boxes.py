"""Boxes given by two corners (x1, y1, x2, y2)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cuprous._core import Tensor
from cuprous.torch import _creation
from cuprous.torch._joining import stack
from cuprous.torch._pointwise import FUNCTIONS as _pointwise

_maximum, _minimum = _pointwise["maximum"], _pointwise["minimum"]


def box_area(boxes: Any, fmt: str = "xyxy") -> Tensor:
    """Returns the areas of boxes (..., 4).

    Parameters
    ----------
    boxes : Tensor
        Boxes.
    fmt : str, default "xyxy"
        Their format: "xyxy", "xywh" or "cxcywh".

    Raises
    ------
    ValueError
        For another format.

    See Also
    --------
    torchvision.ops.box_convert, torchvision.ops.box_iou, torchvision.ops.clip_boxes_to_image,
    torchvision.ops.remove_small_boxes

    Examples
    --------
    >>> boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0], [5.0, 5.0, 6.0, 6.0]])
    >>> ops.box_area(boxes)
    tensor([4., 2., 1.])
    """
    wide = _wide(boxes)
    if fmt not in ("xyxy", "xywh", "cxcywh"):
        raise ValueError(f"Unsupported Bounding Box area for given format {fmt}")
    sides = wide[..., 2:] - wide[..., :2] if fmt == "xyxy" else wide[..., 2:]
    result: Tensor = sides[..., 0] * sides[..., 1]
    return result


def _wide(boxes: Any) -> Any:
    """Returns boxes in a dtype in which areas do not overflow."""
    if boxes.is_floating_point():
        return boxes if boxes.itemsize > 2 else boxes.float()
    return boxes if boxes.itemsize > 2 else boxes.int()


def _pairs(boxes1: Any, boxes2: Any) -> tuple[Any, Any]:
    """Returns the boxes with axes by which each of the first meets each of the second."""
    return boxes1[..., :, None, :], boxes2[..., None, :, :]


def _intersection_and_union(boxes1: Any, boxes2: Any, fmt: str = "xyxy") -> tuple[Any, Any]:
    first, second = _pairs(*((b if fmt == "xyxy" else box_convert(b, fmt, "xyxy")) for b in (boxes1, boxes2)))
    sides = _wide(_minimum(first[..., 2:], second[..., 2:]) - _maximum(first[..., :2], second[..., :2])).clamp(min=0)
    shared = sides[..., 0] * sides[..., 1]
    return shared, box_area(boxes1, fmt)[..., :, None] + box_area(boxes2, fmt)[..., None, :] - shared


def box_iou(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> Tensor:
    """Returns the intersection over the union of each pair of boxes, (..., N, M).

    Parameters
    ----------
    boxes1 : Tensor
        Boxes (..., N, 4).
    boxes2 : Tensor
        Boxes (..., M, 4).
    fmt : str, default "xyxy"
        Their format: "xyxy", "xywh" or "cxcywh".

    Raises
    ------
    ValueError
        For another format.

    See Also
    --------
    torchvision.ops.clip_boxes_to_image, torchvision.ops.remove_small_boxes, torchvision.ops.box_area,
    torchvision.ops.box_convert, torchvision.ops.nms

    Examples
    --------
    >>> boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0], [5.0, 5.0, 6.0, 6.0]])
    >>> ops.box_iou(boxes[:1], boxes)
    tensor([[1.0000, 0.5000, 0.0000]])
    """
    shared, union = _intersection_and_union(boxes1, boxes2, fmt)
    result: Tensor = shared / union
    return result


def hull_and_sides(first: Any, second: Any) -> tuple[Any, Any]:
    """Returns the areas and sides of the smallest boxes around pairs of boxes."""
    low, high = _minimum(first[..., :2], second[..., :2]), _maximum(first[..., 2:], second[..., 2:])
    sides = _wide(high - low).clamp(min=0)
    return sides[..., 0] * sides[..., 1], sides


def distance_penalty(first: Any, second: Any, eps: float) -> Any:
    """Returns the squared distances of the centers of pairs of boxes, in terms of the squared diagonals around both."""
    _, sides = hull_and_sides(first, second)
    apart = _wide((first[..., :2] + first[..., 2:]) / 2 - (second[..., :2] + second[..., 2:]) / 2)
    return (apart**2).sum(-1) / ((sides**2).sum(-1) + eps)


def aspect_penalty(first: Any, second: Any, iou: Any, eps: float) -> Any:
    """Returns how far the ratios of sides of pairs of boxes differ, by a weight without a gradient."""
    angles = [((b[..., 2] - b[..., 0]) / (b[..., 3] - b[..., 1])).atan() for b in (first, second)]
    differ = (4 / math.pi**2) * (angles[0] - angles[1]) ** 2
    weight = differ.detach() / (1 - iou.detach() + differ.detach() + eps)
    return weight * differ


def generalized_box_iou(boxes1: Any, boxes2: Any) -> Tensor:
    """Returns the generalized intersection over union of each pair of boxes, (..., N, M) (Rezatofighi et al., 2019).

    See Also
    --------
    torchvision.ops.box_iou, torchvision.ops.complete_box_iou, torchvision.ops.distance_box_iou

    Examples
    --------
    >>> boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0], [5.0, 5.0, 6.0, 6.0]])
    >>> ops.generalized_box_iou(boxes[:1], boxes[1:2])
    tensor([[0.5000]])
    """
    shared, union = _intersection_and_union(boxes1, boxes2)
    hull, _ = hull_and_sides(*_pairs(boxes1, boxes2))
    result: Tensor = shared / union - (hull - union) / hull
    return result


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Returns the distance intersection over union of each pair of boxes, (..., N, M) (Zheng et al., 2020).

    Parameters
    ----------
    boxes1 : Tensor
        Boxes (..., N, 4).
    boxes2 : Tensor
        Boxes (..., M, 4).
    eps : float, default 1e-07
        What is added to divisors.

    See Also
    --------
    torchvision.ops.generalized_box_iou, torchvision.ops.box_iou, torchvision.ops.complete_box_iou

    Examples
    --------
    >>> boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0], [5.0, 5.0, 6.0, 6.0]])
    >>> ops.distance_box_iou(boxes[:1], boxes[1:2])
    tensor([[0.4688]])
    """
    first, second = _pairs(_wide(boxes1), _wide(boxes2))
    result: Tensor = box_iou(boxes1, boxes2) - distance_penalty(first, second, eps)
    return result


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Returns the complete intersection over union of each pair of boxes, (..., N, M) (Zheng et al., 2020).

    Parameters
    ----------
    boxes1 : Tensor
        Boxes (..., N, 4).
    boxes2 : Tensor
        Boxes (..., M, 4).
    eps : float, default 1e-07
        What is added to divisors.

    See Also
    --------
    torchvision.ops.distance_box_iou, torchvision.ops.generalized_box_iou, torchvision.ops.box_iou

    Examples
    --------
    >>> boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0], [5.0, 5.0, 6.0, 6.0]])
    >>> ops.complete_box_iou(boxes[:1], boxes[1:2])
    tensor([[0.4655]])
    """
    first, second = _pairs(_wide(boxes1), _wide(boxes2))
    iou = box_iou(boxes1, boxes2)
    result: Tensor = iou - distance_penalty(first, second, eps) - aspect_penalty(first, second, iou, eps)
    return result


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Returns boxes in another format: "xyxy" (corners), "xywh" (corner and sides) or "cxcywh" (center and sides).

    Raises
    ------
    ValueError
        For another format.

    See Also
    --------
    torchvision.ops.box_iou, torchvision.ops.clip_boxes_to_image, torchvision.ops.remove_small_boxes,
    torchvision.ops.box_area

    Examples
    --------
    >>> boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0], [5.0, 5.0, 6.0, 6.0]])
    >>> ops.box_convert(boxes, "xyxy", "cxcywh")[0]
    tensor([1., 1., 2., 2.])
    """
    for given in (in_fmt, out_fmt):
        if given not in ("xyxy", "xywh", "cxcywh"):
            raise ValueError(f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}")
    if in_fmt == out_fmt:
        return boxes.clone()
    a, b, c, d = (boxes[..., k] for k in range(4))
    if in_fmt == "xywh":
        a, b, c, d = a, b, a + c, b + d
    elif in_fmt == "cxcywh":
        a, b, c, d = a - 0.5 * c, b - 0.5 * d, a + 0.5 * c, b + 0.5 * d
    if out_fmt == "xywh":
        c, d = c - a, d - b
    elif out_fmt == "cxcywh":
        a, b, c, d = (a + c) / 2, (b + d) / 2, c - a, d - b
    return stack((a, b, c, d), -1)


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Returns boxes clipped to an image of a size (height, width).

    See Also
    --------
    torchvision.ops.remove_small_boxes, torchvision.ops.box_area, torchvision.ops.box_convert, torchvision.ops.box_iou

    Examples
    --------
    >>> boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0], [5.0, 5.0, 6.0, 6.0]])
    >>> ops.clip_boxes_to_image(boxes, (4, 4))[2]
    tensor([4., 4., 4., 4.])
    """
    height, width = size
    x, y = boxes[..., 0::2].clamp(min=0, max=width), boxes[..., 1::2].clamp(min=0, max=height)
    return stack((x, y), -1).reshape(boxes.shape)


def remove_small_boxes(boxes: Any, min_size: float) -> Tensor:
    """Returns the indices of boxes whose sides are both at least `min_size`.

    See Also
    --------
    torchvision.ops.box_area, torchvision.ops.box_convert, torchvision.ops.box_iou,
    torchvision.ops.clip_boxes_to_image

    Examples
    --------
    >>> boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0], [5.0, 5.0, 6.0, 6.0]])
    >>> ops.remove_small_boxes(boxes, 1.5)
    tensor([0])
    """
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    result: Tensor = ((width >= min_size) & (height >= min_size)).nonzero()[:, 0]
    return result


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Returns the indices of the boxes that remain, by falling score, if each box removes those with lower scores whose
    intersection over union with it is above a threshold. The choice is made on the host.

    See Also
    --------
    torchvision.ops.batched_nms, torchvision.ops.box_iou

    Examples
    --------
    >>> boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0], [5.0, 5.0, 6.0, 6.0]])
    >>> ops.nms(boxes, torch.tensor([0.5, 0.9, 0.8]), 0.4)
    tensor([1, 2])
    """
    order = scores.argsort(descending=True, stable=True)
    above = (box_iou(boxes.detach()[order], boxes.detach()[order]) > iou_threshold).cpu().numpy()
    alive = np.ones(len(above), bool)
    for k in range(len(above)):
        if alive[k]:
            alive[k + 1 :] &= ~above[k, k + 1 :]
    kept = _creation.from_numpy(np.flatnonzero(alive)).to(order.device)
    result: Tensor = order[kept]
    return result


def batched_nms(boxes: Any, scores: Tensor, idxs: Any, iou_threshold: float) -> Tensor:
    """`nms` among the boxes of each class alone.

    See Also
    --------
    torchvision.ops.box_iou, torchvision.ops.nms

    Examples
    --------
    >>> boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.0], [5.0, 5.0, 6.0, 6.0]])
    >>> ops.batched_nms(boxes, torch.tensor([0.5, 0.9, 0.8]), torch.tensor([0, 0, 1]), 0.4)
    tensor([1, 2])
    """
    if not boxes.numel():
        return _creation.empty((0,), dtype=idxs.dtype, device=boxes.device)
    offsets = idxs.to(boxes.dtype) * (boxes.max() + 1)
    return nms(boxes + offsets[:, None], scores, iou_threshold)


def masks_to_boxes(masks: Tensor) -> Tensor:
    """Returns the boxes around masks (N, height, width).

    See Also
    --------
    torchvision.ops.box_area, torchvision.ops.box_convert

    Examples
    --------
    >>> mask = torch.zeros(1, 4, 4)
    >>> mask[0, 1:3, 2:4] = 1
    >>> ops.masks_to_boxes(mask)
    tensor([[2., 1., 3., 2.]])
    """
    if not masks.numel():
        return _creation.zeros((0, 4), device=masks.device)
    boxes = []
    for mask in masks:
        y, x = (mask != 0).nonzero(as_tuple=True)
        boxes.append(stack([x.min(), y.min(), x.max(), y.max()]).float())
    return stack(boxes)


__all__ = ["batched_nms", "box_area", "box_convert", "box_iou", "clip_boxes_to_image", "complete_box_iou",
           "distance_box_iou", "generalized_box_iou",
           "masks_to_boxes", "nms", "remove_small_boxes"]  # fmt: skip
