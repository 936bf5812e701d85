"""Losses of boxes, and dropout of blocks."""

from __future__ import annotations

import math
from typing import Any

import cuprous.torch as torch
from cuprous._common.naming import documented
from cuprous._core import Tensor
from cuprous.torch import nn
from cuprous.torch.nn import functional as F
from cuprous.torchvision.ops.boxes import aspect_penalty, distance_penalty, hull_and_sides

_documented = documented({
    "boxes1 : Tensor": "Boxes (N, 4), or one.",
    "boxes2 : Tensor": "As many boxes.",
    "reduction : str": '"none", "mean" or "sum".',
    "eps : float": "What is added to divisors.",
    "p : float": "The probability that an element is dropped.",
    "block_size : int": "The extent of the blocks, odd.",
    "inplace : bool": "Whether the input is written to.",
})  # fmt: skip


def _floats(boxes: Any) -> Any:
    return boxes if boxes.is_floating_point() else boxes.float()


def _overlap(first: Any, second: Any, eps: float) -> tuple[Any, Any]:
    """Returns the intersections over the unions, and the unions, of boxes in pairs."""
    low, high = torch.maximum(first[..., :2], second[..., :2]), torch.minimum(first[..., 2:], second[..., 2:])
    sides = (high - low).clamp(min=0)
    shared = sides[..., 0] * sides[..., 1]
    areas = [(b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1]) for b in (first, second)]
    union = areas[0] + areas[1] - shared
    return shared / (union + eps), union


def _reduced(loss: Any, reduction: str) -> Tensor:
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid Value for arg 'reduction': '{reduction} \\n Supported reduction modes: 'none', "
                         "'mean', 'sum'")  # fmt: skip
    if reduction == "mean":
        return loss.mean() if loss.numel() else 0.0 * loss.sum()
    return loss.sum() if reduction == "sum" else loss


@_documented
def generalized_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """Returns 1 minus the generalized intersection over union of boxes in pairs (Rezatofighi et al., 2019).

    Returns
    -------
    Tensor
        A tensor of N losses, or their reduction.

    Raises
    ------
    ValueError
        For another reduction.

    See Also
    --------
    torchvision.ops.sigmoid_focal_loss, torchvision.ops.complete_box_iou_loss, torchvision.ops.distance_box_iou_loss

    Examples
    --------
    >>> box = torch.tensor([[0.0, 0.0, 2.0, 2.0]])
    >>> ops.generalized_box_iou_loss(box, box + 1)
    tensor([1.0794])
    """
    first, second = _floats(boxes1), _floats(boxes2)
    iou, union = _overlap(first, second, eps)
    hull, _ = hull_and_sides(first, second)
    return _reduced(1 - (iou - (hull - union) / (hull + eps)), reduction)


@_documented
def distance_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """Returns 1 minus the distance intersection over union of boxes in pairs (Zheng et al., 2020).

    Returns
    -------
    Tensor
        A tensor of N losses, or their reduction.

    Raises
    ------
    ValueError
        For another reduction.

    See Also
    --------
    torchvision.ops.generalized_box_iou_loss, torchvision.ops.sigmoid_focal_loss,
    torchvision.ops.complete_box_iou_loss

    Examples
    --------
    >>> box = torch.tensor([[0.0, 0.0, 2.0, 2.0]])
    >>> ops.distance_box_iou_loss(box, box + 1)
    tensor([0.9683])
    """
    first, second = _floats(boxes1), _floats(boxes2)
    return _reduced(1 - _overlap(first, second, eps)[0] + distance_penalty(first, second, eps), reduction)


@_documented
def complete_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """Returns 1 minus the complete intersection over union of boxes in pairs (Zheng et al., 2020).

    Returns
    -------
    Tensor
        A tensor of N losses, or their reduction.

    Raises
    ------
    ValueError
        For another reduction.

    See Also
    --------
    torchvision.ops.distance_box_iou_loss, torchvision.ops.generalized_box_iou_loss,
    torchvision.ops.sigmoid_focal_loss

    Examples
    --------
    >>> box = torch.tensor([[0.0, 0.0, 2.0, 2.0]])
    >>> ops.complete_box_iou_loss(box, box + 1)
    tensor([0.9683])
    """
    first, second = _floats(boxes1), _floats(boxes2)
    iou, _ = _overlap(first, second, eps)
    loss = 1 - iou + distance_penalty(first, second, eps) + aspect_penalty(first, second, iou, eps)
    return _reduced(loss, reduction)


def _dropped(input: Any, p: float, block_size: int, inplace: bool, eps: float, training: bool, ndim: int) -> Any:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}.")
    if input.ndim != ndim + 2:
        raise ValueError(f"input should be {ndim + 2} dimensional. Got {input.ndim} dimensions.")
    if not training or p == 0.0:
        return input
    extents = input.shape[2:]
    size = min(block_size, *extents)
    if size % 2 == 0:
        raise ValueError(f"block size should be odd. Got {size} which is even.")
    room = [n - size + 1 for n in extents]
    rate = p * math.prod(extents) / (size**ndim * math.prod(room))
    centers = torch.empty((*input.shape[:2], *room), dtype=input.dtype, device=input.device).bernoulli_(rate)
    centers = F.pad(centers, [size // 2] * (2 * ndim), value=0)
    pool = F.max_pool2d if ndim == 2 else F.max_pool3d
    kept = 1 - pool(centers, kernel_size=(size,) * ndim, stride=(1,) * ndim, padding=size // 2)
    scale = kept.numel() / (eps + kept.sum())
    return input.mul_(kept).mul_(scale) if inplace else input * kept * scale


@_documented
def drop_block2d(input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-06,
                 training: bool = True) -> Tensor:  # fmt: skip
    """Sets random blocks of images to zero, and scales the rest (Ghiasi et al., 2018).

    Parameters
    ----------
    input : Tensor
        Images (N, C, H, W).
    training : bool, default True
        Whether anything is dropped.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        For other shapes, a probability out of range, and an even extent.

    See Also
    --------
    torchvision.ops.drop_block3d, torchvision.ops.stochastic_depth

    Examples
    --------
    >>> ops.drop_block2d(torch.ones(1, 1, 2, 2), 0.5, 1, training=False).sum()
    tensor(4.)
    """
    result: Tensor = _dropped(input, p, block_size, inplace, eps, training, 2)
    return result


@_documented
def drop_block3d(input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-06,
                 training: bool = True) -> Tensor:  # fmt: skip
    """Sets random blocks of volumes to zero, and scales the rest (Ghiasi et al., 2018).

    Parameters
    ----------
    input : Tensor
        Volumes (N, C, D, H, W).
    training : bool, default True
        Whether anything is dropped.

    Returns
    -------
    Tensor

    Raises
    ------
    ValueError
        For other shapes, a probability out of range, and an even extent.

    See Also
    --------
    torchvision.ops.stochastic_depth, torchvision.ops.drop_block2d

    Examples
    --------
    >>> ops.drop_block3d(torch.ones(1, 1, 2, 2, 2), 0.5, 1, training=False).sum()
    tensor(8.)
    """
    result: Tensor = _dropped(input, p, block_size, inplace, eps, training, 3)
    return result


@_documented
class DropBlock2d(nn.Module):
    """`drop_block2d` as a layer, which drops in training alone.

    See Also
    --------
    torchvision.ops.DropBlock3d, torchvision.ops.StochasticDepth

    Examples
    --------
    >>> ops.DropBlock2d(0.5, 1).eval()(torch.ones(1, 1, 2, 2)).sum()
    tensor(4.)
    """

    _ndim = 2

    def __init__(self, p: float, block_size: int, inplace: bool = False, eps: float = 1e-06) -> None:
        super().__init__()
        self.p, self.block_size, self.inplace, self.eps = p, block_size, inplace, eps

    def forward(self, input: Any) -> Any:
        """Returns the input, of which blocks may be zero."""
        return _dropped(input, self.p, self.block_size, self.inplace, self.eps, self.training, self._ndim)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p}, block_size={self.block_size}, inplace={self.inplace})"


@_documented
class DropBlock3d(DropBlock2d):
    """`drop_block3d` as a layer, which drops in training alone.

    See Also
    --------
    torchvision.ops.StochasticDepth, torchvision.ops.DropBlock2d

    Examples
    --------
    >>> ops.DropBlock3d(0.5, 1).eval()(torch.ones(1, 1, 2, 2, 2)).sum()
    tensor(8.)
    """

    _ndim = 3


__all__ = ["DropBlock2d", "DropBlock3d", "complete_box_iou_loss", "distance_box_iou_loss", "drop_block2d",
           "drop_block3d", "generalized_box_iou_loss"]  # fmt: skip
