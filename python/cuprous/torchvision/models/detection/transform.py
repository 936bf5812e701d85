"""Images of any sizes as one batch, and detections in the images' own coordinates."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

import cuprous.torch as torch
from cuprous.torch import nn
from cuprous.torch.nn import functional as F
from cuprous.torchvision.models.detection.anchor_utils import ImageList


def _resized_boxes(boxes: Any, old: Any, new: Any) -> Any:
    height, width = (torch.tensor(float(n)) / torch.tensor(float(o)) for n, o in zip(new, old, strict=True))
    factors = torch.stack((width, height, width, height)).to(boxes.device)
    return boxes * factors


def paste_masks_in_image(masks: Any, boxes: Any, img_shape: tuple[int, int], padding: int = 1) -> Any:
    """Returns masks (N, 1, M, M) of boxes in an image of this shape. The boxes are copied to the host.

    Parameters
    ----------
    masks : Tensor
        Masks of the boxes.
    boxes : Tensor
        Boxes (N, 4).
    img_shape : pair of ints
        (height, width).
    padding : int, default 1
        The zeros around each mask, by which its box is enlarged.
    """
    size = masks.shape[-1]
    wide = F.pad(masks, (padding,) * 4)
    half = (boxes[:, 2:] - boxes[:, :2]) * 0.5 * ((size + 2 * padding) / size)
    middle = (boxes[:, 2:] + boxes[:, :2]) * 0.5
    height, width = img_shape
    pasted = []
    for mask, (x0, y0, x1, y1) in zip(wide, torch.cat((middle - half, middle + half), 1).long().tolist(), strict=True):
        extents = max(y1 - y0 + 1, 1), max(x1 - x0 + 1, 1)
        large = F.interpolate(mask[None], size=extents, mode="bilinear", align_corners=False)[0, 0]
        left, top, right, bottom = max(x0, 0), max(y0, 0), min(x1 + 1, width), min(y1 + 1, height)
        image = torch.zeros((height, width), dtype=masks.dtype, device=masks.device)
        image[top:bottom, left:right] = large[top - y0 : bottom - y0, left - x0 : right - x0]
        pasted.append(image)
    if not pasted:
        return torch.zeros((0, 1, height, width), dtype=masks.dtype, device=masks.device)
    return torch.stack(pasted)[:, None]


#: The means and standard deviations of the channels of ImageNet.
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def resize_keypoints(keypoints: Any, original_size: Any, new_size: Any) -> Any:
    """Returns keypoints (..., 3) of an image of another size.

    Parameters
    ----------
    keypoints : Tensor
        x, y and visibility of each.
    original_size : int or sequence of ints
        (height, width) of their image.
    new_size : int or sequence of ints
        That of the other one.
    """
    height, width = (torch.tensor(float(n)) / torch.tensor(float(o))
                     for n, o in zip(new_size, original_size, strict=True))  # fmt: skip
    return keypoints * torch.stack((width, height, torch.tensor(1.0))).to(keypoints.device)


def checked_batch(detector: Any, images: list[Any], targets: Any) -> tuple[ImageList, Any]:
    """Returns the images of a detector as a batch, and the targets in its coordinates.

    Raises
    ------
    AssertionError
        Without targets in training, and for boxes of other shapes or without area.
    """
    if detector.training:
        if targets is None:
            raise AssertionError("targets should not be none when in training mode")
        for target in targets:
            shape = tuple(target["boxes"].shape)
            if len(shape) != 2 or shape[-1] != 4:
                raise AssertionError(f"Expected target boxes to be a tensor of shape [N, 4], got {shape}.")
    batch, targets = detector.transform(images, targets)
    for number, target in enumerate(targets or ()):
        boxes = target["boxes"]
        flat = (boxes[:, 2:] <= boxes[:, :2]).any(1)
        if flat.any():
            raise AssertionError("All bounding boxes should have positive height and width. Found invalid box "
                                 f"{boxes[flat][0].tolist()} for target at index {number}.")  # fmt: skip
    return batch, targets


def named_features(features: Any) -> Any:
    """Returns feature maps by name; a single one is "0"."""
    return OrderedDict([("0", features)]) if isinstance(features, torch.Tensor) else features


class GeneralizedRCNNTransform(nn.Module):
    """Normalizes and resizes images, and puts them into one batch.

    Parameters
    ----------
    min_size : int or sequence of ints
        The shorter side, or several of which one is chosen in training.
    max_size : int
        The longest side.
    image_mean : list of floats
        The means of the channels.
    image_std : list of floats
        The standard deviations of the channels.
    size_divisible : int, default 32
        What the batch's extents are divisible by.
    fixed_size : pair of ints, optional
        The (width, height) of all images, or None.
    **kwargs : any
        `_skip_resize`: whether images keep their size in training.
    """

    def __init__(self, min_size: Any, max_size: int, image_mean: list[float], image_std: list[float],
                 size_divisible: int = 32, fixed_size: tuple[int, int] | None = None,
                 **kwargs: Any) -> None:  # fmt: skip
        super().__init__()
        self.min_size = tuple(min_size) if isinstance(min_size, (list, tuple)) else (min_size,)
        self.max_size, self.size_divisible, self.fixed_size = max_size, size_divisible, fixed_size
        self.image_mean, self.image_std = image_mean, image_std
        self._skip_resize = kwargs.pop("_skip_resize", False)
        if kwargs:
            raise TypeError(f"unexpected keyword arguments: {', '.join(kwargs)}")

    def forward(self, images: list[Any], targets: Any = None) -> tuple[ImageList, Any]:
        """Returns the batch, and the targets in its coordinates.

        Parameters
        ----------
        images : list
            Images (C, H, W) in the range 0 to 1.
        targets : Tensor, optional
            For each image a dict with "boxes" and possibly "masks", or None.

        Raises
        ------
        TypeError
            For images of integers.
        ValueError
            For images of other shapes.
        """
        targets = None if targets is None else [dict(target) for target in targets]
        ready = []
        for k, image in enumerate(images):
            if image.dim() != 3:
                raise ValueError(f"images is expected to be a list of 3d tensors of shape [C, H, W], got {image.shape}")
            target = None if targets is None else targets[k]
            ready.append(self._resized(self._normalized(image), target))
        return self._batched(ready), targets

    def _normalized(self, image: Any) -> Any:
        if not image.is_floating_point():
            raise TypeError("Expected input images to be of floating type (in range [0, 1]), but found type "
                            f"{image.dtype} instead")  # fmt: skip
        mean, std = (torch.tensor(list(v), dtype=image.dtype, device=image.device)[:, None, None]
                     for v in (self.image_mean, self.image_std))  # fmt: skip
        return (image - mean) / std

    def _size(self, extents: tuple[int, int]) -> tuple[int, int]:
        if self.fixed_size is not None:
            return self.fixed_size[1], self.fixed_size[0]
        shorter = self.min_size[-1]
        if self.training:
            shorter = self.min_size[int(torch.empty(1).uniform_(0.0, float(len(self.min_size))))]
        scale = min(shorter / min(extents), self.max_size / max(extents))
        return int(extents[0] * scale), int(extents[1] * scale)

    def _resized(self, image: Any, target: Any) -> Any:
        if self.training and self._skip_resize:
            return image
        old = tuple(image.shape[-2:])
        size = self._size(old)
        image = F.interpolate(image[None], size=size, mode="bilinear", align_corners=False)[0]
        if target is not None:
            target["boxes"] = _resized_boxes(target["boxes"], old, size)
            if "masks" in target:
                target["masks"] = F.interpolate(target["masks"][:, None].float(), size=size)[:, 0].byte()
            if "keypoints" in target:
                target["keypoints"] = resize_keypoints(target["keypoints"], old, size)
        return image

    def _batched(self, images: list[Any]) -> ImageList:
        step = self.size_divisible
        extents = [math.ceil(max(image.shape[k] for image in images) / step) * step for k in (1, 2)]
        batch = torch.zeros((len(images), images[0].shape[0], *extents), dtype=images[0].dtype, device=images[0].device)
        for k, image in enumerate(images):
            batch[k, :, : image.shape[1], : image.shape[2]] = image
        return ImageList(batch, [tuple(image.shape[-2:]) for image in images])

    def postprocess(
        self, result: list[dict[str, Any]], image_shapes: list[Any], original_image_sizes: list[Any]
    ) -> Any:
        """Returns detections in the coordinates of the original images.

        Parameters
        ----------
        result : list of dicts
            The detections in each image.
        image_shapes : list
            The (height, width) of the resized images.
        original_image_sizes : list
            Those of the original ones.
        """
        if self.training:
            return result
        for found, shape, original in zip(result, image_shapes, original_image_sizes, strict=True):
            found["boxes"] = _resized_boxes(found["boxes"], shape, original)
            if "masks" in found:
                found["masks"] = paste_masks_in_image(found["masks"], found["boxes"], original)
            if "keypoints" in found:
                found["keypoints"] = resize_keypoints(found["keypoints"], shape, original)
        return result

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(\n    Normalize(mean={self.image_mean}, std={self.image_std})"
            f"\n    Resize(min_size={self.min_size}, max_size={self.max_size}, mode='bilinear')\n)"
        )


__all__ = ["GeneralizedRCNNTransform", "paste_masks_in_image"]
