"""Pooling of regions of feature maps.

Bilinear samples and bins are separable: each region has a matrix of weights of rows and one of columns, so that pooling
is two matrix products. Regions are worked on in parts of bounded size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cuprous.torch as torch
from cuprous._core import Tensor
from cuprous.torch import nn

#: Elements of an intermediate result that are computed at a time.
_PART = 1 << 24


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[-1])


def _by_image(boxes: Any) -> tuple[list[tuple[int, Tensor]], Tensor | None]:
    """Returns the boxes of each image, and the position of each of them in the result if these are not in order.

    Raises
    ------
    AssertionError
        For boxes of other shapes than a list of (L, 4), or (K, 5).
    """
    if isinstance(boxes, (list, tuple)):
        for one in boxes:
            if one.shape[1] != 4:
                raise AssertionError("The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]")
        return [(i, one.detach()) for i, one in enumerate(boxes)], None
    if not isinstance(boxes, Tensor):
        raise AssertionError("boxes is expected to be a Tensor[L, 5] or a List[Tensor[K, 4]]")
    if boxes.shape[1] != 5:
        raise AssertionError("The boxes tensor shape is not correct as Tensor[K, 5]")
    found: Any = boxes.detach()
    images = found[:, 0].long().tolist()
    if images == sorted(images):
        order = list(range(len(images)))
    else:
        order = sorted(range(len(images)), key=images.__getitem__)
        found = found[torch.tensor(order, device=found.device)]
    groups, start = [], 0
    images = [images[k] for k in order]
    for image in sorted(set(images)):
        count = images.count(image)
        groups.append((image, found[start : start + count, 1:]))
        start += count
    back = sorted(range(len(order)), key=order.__getitem__)
    return groups, None if back == order == list(range(len(order))) else torch.tensor(back, device=found.device)


def _pooled(input: Any, boxes: Any, channels: int, size: tuple[int, int], cost: int,
            pool: Callable[[Any, Any], Any]) -> Tensor:  # fmt: skip
    """Applies `pool` to an image and its boxes, in parts of at most `_PART` elements of `cost` a box."""
    groups, back = _by_image(boxes)
    step = max(1, _PART // max(cost, 1))
    results = [pool(input[image], part) for image, own in groups for part in _parts(own, step)]
    if not results:
        nothing = input.reshape(-1)[:0].sum()  # so that the input has a gradient
        return torch.zeros((0, channels, *size), dtype=input.dtype, device=input.device) + nothing
    result: Any = torch.cat(results)
    return result if back is None else result[back]


def _parts(boxes: Any, step: int) -> Iterator[Any]:
    for start in range(0, boxes.shape[0], step):
        yield boxes[start : start + step]


def _sampled(start: Any, extent: Any, bins: int, ratio: int, length: int) -> Any:
    """Returns the weights (regions, bins, length) of bilinear samples along an axis, averaged within each bin."""
    width = extent / bins
    counts = torch.ceil(width).clamp(min=0) if ratio <= 0 else torch.full_like(width, ratio)
    most = ratio if ratio > 0 else max(int(counts.max()), 1)
    step = torch.arange(most, dtype=start.dtype, device=start.device)
    bin_of = torch.arange(bins, dtype=start.dtype, device=start.device)
    inner = (step + 0.5) * (width / counts.clamp(min=1))[:, None]
    at = start[:, None, None] + (bin_of * width[:, None])[:, :, None] + inner[:, None, :]
    counted = (step < counts[:, None])[:, None, :] & (at >= -1.0) & (at <= length)
    grid = torch.arange(length, dtype=start.dtype, device=start.device)
    near = (1.0 - (at.clamp(0, length - 1)[..., None] - grid).abs()).clamp(min=0)
    return (near * counted[..., None]).sum(2) / counts.clamp(min=1)[:, None, None]


def _weights(boxes: Any, image: Any, size: tuple[int, int], scale: float, ratio: int, offset: float,
             least: float | None) -> tuple[Any, Any]:  # fmt: skip
    """Returns the weights of rows and columns for boxes (regions, 4)."""
    edges = boxes.to(image.dtype) * scale - offset
    extents = edges[:, 2:] - edges[:, :2]
    extents = extents if least is None else extents.clamp(min=least)
    height, width = image.shape[-2:]
    rows = _sampled(edges[:, 1], extents[:, 1], size[0], ratio, height)
    return rows, _sampled(edges[:, 0], extents[:, 0], size[1], ratio, width)


def roi_align(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0, sampling_ratio: int = -1,
              aligned: bool = False) -> Tensor:  # fmt: skip
    """Returns the means of bilinear samples in the bins of regions (He et al., 2017), (regions, channels, *size).

    Parameters
    ----------
    input : Tensor
        Feature maps (N, C, H, W).
    boxes : Tensor or list of Tensors
        Regions as rows of (number of the image, x1, y1, x2, y2), or a list with (L, 4) for each image.
    output_size : int or sequence of ints
        The numbers of bins, or one for both axes.
    spatial_scale : float, default 1.0
        The factor from the boxes' coordinates to those of the feature maps.
    sampling_ratio : int, default -1
        The number of samples in a bin along each axis; 0 and below: the size of the bin, rounded up, whose maximum is
        copied to the host.
    aligned : bool, default False
        Whether the coordinates are shifted by half a pixel, so that they agree with the pixels' centers.

    Returns
    -------
    Tensor
        A tensor. Boxes have no gradient, as in torchvision.

    Raises
    ------
    AssertionError
        For boxes of another shape.

    See Also
    --------
    torchvision.ops.roi_pool, torchvision.ops.ps_roi_align, torchvision.ops.ps_roi_pool

    Examples
    --------
    >>> image = torch.arange(16.0).reshape(1, 1, 4, 4)
    >>> ops.roi_align(image, [torch.tensor([[0.0, 0.0, 4.0, 4.0]])], 2, sampling_ratio=2, aligned=True)
    tensor([[[[ 2.5000,  4.5000],
              [10.5000, 12.5000]]]])
    """
    size = _pair(output_size)
    offset, least = (0.5, None) if aligned else (0.0, 1.0)

    def pool(image: Any, own: Any) -> Any:
        rows, columns = _weights(own, image, size, spatial_scale, sampling_ratio, offset, least)
        channels, height, width = image.shape
        by_column = torch.matmul(columns, image.reshape(-1, width).t())  # (regions, bins of columns, channels * height)
        by_column = by_column.reshape(-1, size[1], channels, height).permute(0, 2, 3, 1)
        return torch.matmul(rows[:, None], by_column)

    channels, height = input.shape[1:3]
    return _pooled(input, boxes, channels, size, size[1] * channels * height, pool)


def _rounded(x: Any) -> Any:
    """Rounds ties away from zero."""
    return x.sign() * (x.abs() + 0.5).floor()


def _bins(start: Any, width: Any, bins: int, length: int, end: int) -> Any:
    """Returns whether each of `length` elements, of which those from `end` on are left out, lies in each bin, (regions,
    bins, length)."""
    at = torch.arange(bins, dtype=start.dtype, device=start.device)
    low = ((at * width[:, None]).floor() + start[:, None]).clamp(0, end)
    high = (((at + 1) * width[:, None]).ceil() + start[:, None]).clamp(0, end)
    grid = torch.arange(length, dtype=start.dtype, device=start.device)
    return (grid >= low[..., None]) & (grid < high[..., None])


def roi_pool(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0) -> Tensor:
    """Returns the greatest elements in the bins of regions (Girshick, 2015), (regions, channels, *size); 0 for bins
    without elements.

    Parameters
    ----------
    input : Tensor
        Feature maps (N, C, H, W).
    boxes : Tensor or list of Tensors
        Regions as rows of (number of the image, x1, y1, x2, y2), or a list with (L, 4) for each image.
    output_size : int or sequence of ints
        The numbers of bins, or one for both axes.
    spatial_scale : float, default 1.0
        The factor from the boxes' coordinates to those of the feature maps.

    Returns
    -------
    Tensor
        A tensor. Boxes have no gradient.

    Raises
    ------
    AssertionError
        For boxes of another shape.

    See Also
    --------
    torchvision.ops.ps_roi_align, torchvision.ops.ps_roi_pool, torchvision.ops.roi_align

    Examples
    --------
    >>> image = torch.arange(16.0).reshape(1, 1, 4, 4)
    >>> ops.roi_pool(image, [torch.tensor([[0.0, 0.0, 3.0, 3.0]])], 2)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """
    size = _pair(output_size)

    def pool(image: Any, own: Any) -> Any:
        edges = _rounded(own.to(image.dtype) * spatial_scale)
        extents = (edges[:, 2:] - edges[:, :2] + 1).clamp(min=1)
        height, width = image.shape[-2:]
        rows = _bins(edges[:, 1], extents[:, 1] / size[0], size[0], height, height)
        columns = _bins(edges[:, 0], extents[:, 0] / size[1], size[1], width, width)
        least = torch.full((), -float("inf"), dtype=image.dtype, device=image.device)
        # (regions, bins of columns, channels, height), then (regions, bins of rows, bins of columns, channels)
        line = torch.where(columns[:, :, None, None, :], image, least).max(-1).values
        found = torch.where(rows[:, :, None, None, :], line[:, None], least).max(-1).values
        empty = ~(rows.any(-1)[:, :, None] & columns.any(-1)[:, None, :])
        return torch.where(empty[..., None], torch.zeros_like(found), found).permute(0, 3, 1, 2)

    channels, height, width = input.shape[1:]
    return _pooled(input, boxes, channels, size, size[1] * channels * height * max(width, size[0]), pool)


def _by_position(input: Any, boxes: Any, size: tuple[int, int],
                 weights: Callable[[Any, Any], tuple[Any, Any]]) -> Tensor:  # fmt: skip
    """Pools the channels of each bin in that bin alone, with weights of rows and columns.

    Raises
    ------
    RuntimeError
        If the number of channels is no multiple of the number of bins.
    """
    channels, height, width = input.shape[1:]
    if channels % (size[0] * size[1]):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    each = channels // (size[0] * size[1])

    def pool(image: Any, own: Any) -> Any:
        rows, columns = weights(own, image)
        maps = image.reshape(each, size[0], size[1], height, width)
        line = torch.einsum("cpqhw,kqw->kcpqh", maps, columns)
        return (line * rows[:, None, :, None, :]).sum(-1)

    return _pooled(input, boxes, each, size, channels * height, pool)


def ps_roi_align(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0,
                 sampling_ratio: int = -1) -> Tensor:  # fmt: skip
    """Returns the means of bilinear samples in the bins of regions, each from channels of its own (Li et al., 2017).

    Parameters
    ----------
    input : Tensor
        Feature maps (N, C, H, W) with C a multiple of the number of bins.
    boxes : Tensor or list of Tensors
        Regions as rows of (number of the image, x1, y1, x2, y2), or a list with (L, 4) for each image.
    output_size : int or sequence of ints
        The numbers of bins, or one for both axes.
    spatial_scale : float, default 1.0
        The factor from the boxes' coordinates to those of the feature maps.
    sampling_ratio : int, default -1
        The number of samples in a bin along each axis, as for `roi_align`.

    Returns
    -------
    Tensor
        A tensor (regions, C / bins, *size). Boxes have no gradient.

    Raises
    ------
    AssertionError
        For boxes of another shape.
    RuntimeError
        If C is not a multiple of the number of bins.

    See Also
    --------
    torchvision.ops.ps_roi_pool, torchvision.ops.roi_align, torchvision.ops.roi_pool

    Examples
    --------
    >>> image = torch.arange(64.0).reshape(1, 4, 4, 4)
    >>> ops.ps_roi_align(image, [torch.tensor([[0.0, 0.0, 4.0, 4.0]])], 2, sampling_ratio=2).shape
    torch.Size([1, 1, 2, 2])
    """
    size = _pair(output_size)
    return _by_position(
        input, boxes, size, lambda own, image: _weights(own, image, size, spatial_scale, sampling_ratio, 0.5, None)
    )


def ps_roi_pool(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0) -> Tensor:
    """Returns the means of the elements in the bins of regions, each from channels of its own (Dai et al., 2016).

    Parameters
    ----------
    input : Tensor
        Feature maps (N, C, H, W) with C a multiple of the number of bins.
    boxes : Tensor or list of Tensors
        Regions as rows of (number of the image, x1, y1, x2, y2), or a list with (L, 4) for each image.
    output_size : int or sequence of ints
        The numbers of bins, or one for both axes.
    spatial_scale : float, default 1.0
        The factor from the boxes' coordinates to those of the feature maps.

    Returns
    -------
    Tensor
        A tensor (regions, C / bins, *size). Boxes have no gradient.

    Raises
    ------
    AssertionError
        For boxes of another shape.
    RuntimeError
        If C is not a multiple of the number of bins.

    See Also
    --------
    torchvision.ops.roi_align, torchvision.ops.roi_pool, torchvision.ops.ps_roi_align

    Examples
    --------
    >>> image = torch.arange(64.0).reshape(1, 4, 4, 4)
    >>> ops.ps_roi_pool(image, [torch.tensor([[0.0, 0.0, 3.0, 3.0]])], 2)
    tensor([[[[ 2.5000, 19.5000],
              [38.5000, 55.5000]]]])
    """
    size = _pair(output_size)

    def weights(own: Any, image: Any) -> tuple[Any, Any]:
        edges = _rounded(own.to(image.dtype) * spatial_scale)
        extents = (edges[:, 2:] - edges[:, :2]).clamp(min=1)
        found = []
        for axis, bins, length in ((1, size[0], image.shape[-2]), (0, size[1], image.shape[-1])):
            # torchvision leaves out the last row and column
            inside = _bins(edges[:, axis], extents[:, axis] / bins, bins, length, length - 1).to(image.dtype)
            found.append(inside / inside.sum(-1, keepdim=True).clamp(min=1))
        return found[0], found[1]

    return _by_position(input, boxes, size, weights)


class _Pooling(nn.Module):
    """A layer that pools regions with fixed options."""

    _function: Callable[..., Tensor]
    #: Names of the options behind the size, with their values if these may be left out.
    _options: tuple[str, ...]

    def forward(self, input: Any, rois: Any) -> Any:
        """Returns the pooled regions: see the function of the same name.

        Parameters
        ----------
        input : Tensor
            Feature maps (N, C, H, W).
        rois : Tensor
            Regions.
        """
        return type(self)._function(input, rois, self.output_size, *(getattr(self, name) for name in self._options))

    def __repr__(self) -> str:
        named = ", ".join(f"{name}={getattr(self, name)}" for name in ("output_size", *self._options))
        return f"{type(self).__name__}({named})"


class RoIAlign(_Pooling):
    """`roi_align` as a layer.

    Parameters
    ----------
    output_size : int or sequence of ints
        The numbers of bins, or one for both axes.
    spatial_scale : float
        The factor from the boxes' coordinates to those of the feature maps.
    sampling_ratio : int
        The number of samples in a bin along each axis.
    aligned : bool, default False
        Whether the coordinates are shifted by half a pixel.

    See Also
    --------
    torchvision.ops.RoIPool, torchvision.ops.PSRoIAlign, torchvision.ops.PSRoIPool, torchvision.ops.MultiScaleRoIAlign

    Examples
    --------
    >>> ops.RoIAlign(2, 0.5, 2)(torch.ones(1, 3, 4, 4), [torch.tensor([[0.0, 0.0, 4.0, 4.0]])]).shape
    torch.Size([1, 3, 2, 2])
    """

    _function, _options = staticmethod(roi_align), ("spatial_scale", "sampling_ratio", "aligned")

    def __init__(self, output_size: Any, spatial_scale: float, sampling_ratio: int, aligned: bool = False) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale
        self.sampling_ratio, self.aligned = sampling_ratio, aligned


class RoIPool(_Pooling):
    """`roi_pool` as a layer.

    Parameters
    ----------
    output_size : int or sequence of ints
        The numbers of bins, or one for both axes.
    spatial_scale : float
        The factor from the boxes' coordinates to those of the feature maps.

    See Also
    --------
    torchvision.ops.PSRoIAlign, torchvision.ops.PSRoIPool, torchvision.ops.MultiScaleRoIAlign,
    torchvision.ops.RoIAlign

    Examples
    --------
    >>> ops.RoIPool(2, 0.5)(torch.ones(1, 3, 4, 4), [torch.tensor([[0.0, 0.0, 4.0, 4.0]])]).shape
    torch.Size([1, 3, 2, 2])
    """

    _function, _options = staticmethod(roi_pool), ("spatial_scale",)

    def __init__(self, output_size: Any, spatial_scale: float) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale


class PSRoIAlign(_Pooling):
    """`ps_roi_align` as a layer.

    Parameters
    ----------
    output_size : int or sequence of ints
        The numbers of bins, or one for both axes.
    spatial_scale : float
        The factor from the boxes' coordinates to those of the feature maps.
    sampling_ratio : int
        The number of samples in a bin along each axis.

    See Also
    --------
    torchvision.ops.PSRoIPool, torchvision.ops.MultiScaleRoIAlign, torchvision.ops.RoIAlign, torchvision.ops.RoIPool

    Examples
    --------
    >>> ops.PSRoIAlign(2, 0.5, 2)(torch.ones(1, 4, 4, 4), [torch.tensor([[0.0, 0.0, 4.0, 4.0]])]).shape
    torch.Size([1, 1, 2, 2])
    """

    _function, _options = staticmethod(ps_roi_align), ("spatial_scale", "sampling_ratio")

    def __init__(self, output_size: Any, spatial_scale: float, sampling_ratio: int) -> None:
        super().__init__()
        self.output_size, self.spatial_scale, self.sampling_ratio = output_size, spatial_scale, sampling_ratio


class PSRoIPool(_Pooling):
    """`ps_roi_pool` as a layer.

    Parameters
    ----------
    output_size : int or sequence of ints
        The numbers of bins, or one for both axes.
    spatial_scale : float
        The factor from the boxes' coordinates to those of the feature maps.

    See Also
    --------
    torchvision.ops.MultiScaleRoIAlign, torchvision.ops.RoIAlign, torchvision.ops.RoIPool, torchvision.ops.PSRoIAlign

    Examples
    --------
    >>> ops.PSRoIPool(2, 0.5)(torch.ones(1, 4, 4, 4), [torch.tensor([[0.0, 0.0, 4.0, 4.0]])]).shape
    torch.Size([1, 1, 2, 2])
    """

    _function, _options = staticmethod(ps_roi_pool), ("spatial_scale",)

    def __init__(self, output_size: Any, spatial_scale: float) -> None:
        super().__init__()
        self.output_size, self.spatial_scale = output_size, spatial_scale


__all__ = ["PSRoIAlign", "PSRoIPool", "RoIAlign", "RoIPool", "ps_roi_align", "ps_roi_pool", "roi_align", "roi_pool"]
