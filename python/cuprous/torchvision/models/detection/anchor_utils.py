"""Anchors: boxes of several sizes and ratios around each element of feature maps."""

from __future__ import annotations

import math
from typing import Any

import cuprous.torch as torch
from cuprous.torch import nn


class ImageList:
    """Images of several sizes in one tensor, which is larger than they.

    Parameters
    ----------
    tensors : Tensor
        The images, with zeros around them.
    image_sizes : list of pairs of ints
        The (height, width) of each.
    """

    def __init__(self, tensors: Any, image_sizes: list[tuple[int, int]]) -> None:
        self.tensors, self.image_sizes = tensors, image_sizes

    def to(self, device: Any) -> ImageList:
        """Returns the images on a device."""
        return ImageList(self.tensors.to(device), self.image_sizes)


class AnchorGenerator(nn.Module):
    """Boxes of several sizes and ratios (height to width) around each element of feature maps.

    Parameters
    ----------
    sizes : int or sequence of ints, optional
        The sizes for each feature map.
    aspect_ratios : int or sequence of ints, optional
        The ratios for each feature map.

    Examples
    --------
    >>> models.detection.AnchorGenerator(((32,), (64,)), ((0.5, 1.0, 2.0),) * 2).num_anchors_per_location()
    [3, 3]
    """

    def __init__(self, sizes: Any = ((128, 256, 512),), aspect_ratios: Any = ((0.5, 1.0, 2.0),)) -> None:
        super().__init__()
        self.sizes = sizes if isinstance(sizes[0], (list, tuple)) else tuple((size,) for size in sizes)
        listed = isinstance(aspect_ratios[0], (list, tuple))
        self.aspect_ratios = aspect_ratios if listed else (aspect_ratios,) * len(self.sizes)
        self.cell_anchors = [self.generate_anchors(*pair) for pair in zip(self.sizes, self.aspect_ratios, strict=False)]

    def generate_anchors(self, scales: Any, aspect_ratios: Any, dtype: Any = torch.float32, device: Any = "cpu") -> Any:
        """Returns the boxes around zero, the sizes of a ratio one after the other."""
        sizes = torch.tensor(list(scales), dtype=dtype, device=device)
        tall = torch.tensor(list(aspect_ratios), dtype=dtype, device=device).sqrt()
        width, height = ((r[:, None] * sizes).reshape(-1) for r in (1 / tall, tall))
        return (torch.stack([-width, -height, width, height], 1) / 2).round()

    def num_anchors_per_location(self) -> list[int]:
        """Returns the number of boxes at each element of the feature maps."""
        return [len(s) * len(a) for s, a in zip(self.sizes, self.aspect_ratios, strict=False)]

    def forward(self, image_list: ImageList, feature_maps: list[Any]) -> list[Any]:
        """Returns the boxes for each image.

        Parameters
        ----------
        image_list : ImageList
            The images.
        feature_maps : list
            Their feature maps.

        Raises
        ------
        AssertionError
            If the numbers of maps and of lists of sizes differ.
        """
        if len(feature_maps) != len(self.cell_anchors):
            raise AssertionError(
                f"There are {len(feature_maps)} feature maps, and sizes and aspect ratios for {len(self.cell_anchors)}"
            )
        first, boxes = feature_maps[0], []
        for cells, found in zip(self.cell_anchors, feature_maps, strict=True):
            steps = [size // n for size, n in zip(image_list.tensors.shape[-2:], found.shape[-2:], strict=True)]
            y, x = (torch.arange(n, device=first.device) * s for n, s in zip(found.shape[-2:], steps, strict=True))
            y, x = (t.reshape(-1) for t in torch.meshgrid(y, x, indexing="ij"))
            around = cells.to(dtype=first.dtype, device=first.device)
            boxes.append((torch.stack((x, y, x, y), 1)[:, None] + around).reshape(-1, 4))
        whole = torch.cat(boxes)
        return [whole for _ in image_list.image_sizes]


class DefaultBoxGenerator(nn.Module):
    """The boxes of SSD around each element of feature maps: two squares, and two boxes for each ratio.

    Parameters
    ----------
    aspect_ratios : list of lists of ints
        The ratios for each feature map.
    min_ratio, max_ratio : float, optional
        The sizes for the first and the last map, in parts of the image.
    scales : list of floats, optional
        The sizes for all maps and one more, instead of these.
    steps : list of ints, optional
        The pixels between elements of each map; by default the image's extent divided by the map's.
    clip : bool, default True
        Whether sizes are at most that of the image.

    Raises
    ------
    ValueError
        If the numbers of ratios and steps differ.

    Examples
    --------
    >>> models.detection.anchor_utils.DefaultBoxGenerator([[2], [2, 3]]).num_anchors_per_location()
    [4, 6]
    """

    def __init__(self, aspect_ratios: list[list[int]], min_ratio: float = 0.15, max_ratio: float = 0.9,
                 scales: list[float] | None = None, steps: list[int] | None = None,
                 clip: bool = True) -> None:  # fmt: skip
        super().__init__()
        if steps is not None and len(aspect_ratios) != len(steps):
            raise ValueError("aspect_ratios and steps should have the same length")
        self.aspect_ratios, self.steps, self.clip = aspect_ratios, steps, clip
        count = len(aspect_ratios)
        if scales is None and count > 1:
            scales = [*(min_ratio + (max_ratio - min_ratio) * k / (count - 1.0) for k in range(count)), 1.0]
        self.scales = [min_ratio, max_ratio] if scales is None else scales
        self._wh_pairs = [torch.tensor(self._sides(k)) for k in range(count)]

    def _sides(self, k: int) -> list[list[float]]:
        """Returns the widths and heights of the boxes of a map."""
        size, middle = self.scales[k], math.sqrt(self.scales[k] * self.scales[k + 1])
        wide = ([size * math.sqrt(ratio), size / math.sqrt(ratio)] for ratio in self.aspect_ratios[k])
        return [[size, size], [middle, middle], *(pair for w, h in wide for pair in ([w, h], [h, w]))]

    def num_anchors_per_location(self) -> list[int]:
        """Returns the number of boxes at each element of the feature maps."""
        return [2 + 2 * len(ratios) for ratios in self.aspect_ratios]

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(aspect_ratios={self.aspect_ratios}, clip={self.clip}, scales={self.scales}, "
                f"steps={self.steps})")  # fmt: skip

    def forward(self, image_list: ImageList, feature_maps: list[Any]) -> list[Any]:
        """Returns the boxes for each image.

        Parameters
        ----------
        image_list : ImageList
            The images.
        feature_maps : list
            Their feature maps.
        """
        first, boxes = feature_maps[0], []
        height, width = image_list.tensors.shape[-2:]
        whole = torch.tensor([width, height], device=first.device)
        for k, (found, pairs) in enumerate(zip(feature_maps, self._wh_pairs, strict=True)):
            counts = found.shape[-2:]
            units = counts if self.steps is None else (height / self.steps[k], width / self.steps[k])
            y, x = ((torch.arange(n) + 0.5) / unit for n, unit in zip(counts, units, strict=True))
            y, x = (t.reshape(-1) for t in torch.meshgrid(y, x, indexing="ij"))
            sides = pairs.clamp(min=0, max=1) if self.clip else pairs
            centers = torch.stack((x, y), 1)[:, None].expand(-1, len(sides), 2).reshape(-1, 2)
            half = 0.5 * sides.repeat(counts[0] * counts[1], 1)
            pair = (t.to(dtype=first.dtype, device=first.device) * whole for t in (centers - half, centers + half))
            boxes.append(torch.cat(list(pair), -1))
        every = torch.cat(boxes)
        return [every for _ in image_list.image_sizes]


__all__ = ["AnchorGenerator", "DefaultBoxGenerator", "ImageList"]
