"""Layers that resample or rearrange grids, and layers that compute distances."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch.nn import functional as F
from cuprous.torch.nn.modules.module import Module, names_layer


class Upsample(Module):
    """Resamples the spatial dimensions to a size, or by a factor."""

    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                 align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> None:  # fmt: skip
        super().__init__()
        self.size, self.mode, self.align_corners = size, mode, align_corners
        if isinstance(scale_factor, (tuple, list)):
            self.scale_factor: Any = tuple(float(f) for f in scale_factor)
        else:
            self.scale_factor = None if scale_factor is None else float(scale_factor)
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """Returns the resampled input."""
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners,
                             self.recompute_scale_factor)  # fmt: skip

    def extra_repr(self) -> str:
        """Returns the size or factor, and the mode."""
        first = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{first}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resamples images by their nearest points."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Resamples images linearly, with aligned corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


class PixelShuffle(Module):
    """Rearranges channels to finer images: (*, C·r², H, W) to (*, C, H·r, W·r)."""

    _repr = "upscale_factor={self.upscale_factor}"

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    @names_layer
    def forward(self, input: Tensor) -> Tensor:
        """Returns the finer images."""
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    """Rearranges images to coarser ones with more channels: (*, C, H·r, W·r) to (*, C·r², H, W)."""

    _repr = "downscale_factor={self.downscale_factor}"

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    @names_layer
    def forward(self, input: Tensor) -> Tensor:
        """Returns the coarser images."""
        return F.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Module):
    """Interleaves the channels of groups."""

    _repr = "groups={self.groups}"

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    @names_layer
    def forward(self, input: Tensor) -> Tensor:
        """Returns the input with its channels interleaved."""
        return F.channel_shuffle(input, self.groups)


class Unfold(Module):
    """Extracts windows of images as columns."""

    _repr = "kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    @names_layer
    def forward(self, input: Tensor) -> Tensor:
        """Returns the columns."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Module):
    """Sums columns of windows into images, the adjoint of `Unfold`."""

    _repr = ("output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
             "padding={self.padding}, stride={self.stride}")  # fmt: skip

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    @names_layer
    def forward(self, input: Tensor) -> Tensor:
        """Returns the images."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along a dimension."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    @names_layer
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Returns the cosines."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of the difference of vectors in the last dimension."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    @names_layer
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Returns the distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


__all__ = [
    "ChannelShuffle", "CosineSimilarity", "Fold", "PairwiseDistance", "PixelShuffle", "PixelUnshuffle", "Unfold",
    "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d",
]  # fmt: skip
