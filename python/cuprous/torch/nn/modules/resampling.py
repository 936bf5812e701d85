"""Layers that resample or rearrange grids, and layers that compute distances."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch.nn import functional as F
from cuprous.torch.nn.modules.module import Module, names_layer


class Upsample(Module):
    """A layer that resamples the spatial dimensions to a size, or by a factor.

    Parameters
    ----------
    size : int or sequence of ints, optional
        The new extents, one number or one for each dimension.
    scale_factor : number or sequence of numbers, optional
        The ratio of new to old extents, in place of `size`.
    mode : str, default "nearest"
        The mode of `interpolate`.
    align_corners : bool, optional
        Whether the centers of the corner points are aligned, rather than their outer edges.
    recompute_scale_factor : bool, optional
        Whether the factor is computed from the rounded extents.

    Shapes
    ------
    input
        (N, C, ...), of a floating dtype.
    result
        (N, C, ...), of the same dtype.

    See Also
    --------
    torch.nn.UpsamplingBilinear2d, torch.nn.UpsamplingNearest2d

    Examples
    --------
    >>> nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

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
        first = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{first}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """A layer that resamples images by their nearest points.

    Parameters
    ----------
    size : int or pair of ints, optional
        The new extents, one number or a pair.
    scale_factor : number or sequence of numbers, optional
        The ratio of new to old extents, in place of `size`.

    Shapes
    ------
    input
        (N, C, H, W), of a floating dtype.
    result
        (N, C, H, W), of the same dtype.

    See Also
    --------
    torch.nn.Upsample, torch.nn.UpsamplingBilinear2d

    Examples
    --------
    >>> nn.UpsamplingNearest2d(scale_factor=2)(torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """A layer that resamples images linearly, with aligned corners.

    Parameters
    ----------
    size : int or pair of ints, optional
        The new extents, one number or a pair.
    scale_factor : number or sequence of numbers, optional
        The ratio of new to old extents, in place of `size`.

    Shapes
    ------
    input
        (N, C, H, W), of a floating dtype.
    result
        (N, C, H, W), of the same dtype.

    See Also
    --------
    torch.nn.UpsamplingNearest2d, torch.nn.Upsample

    Examples
    --------
    >>> nn.UpsamplingBilinear2d(scale_factor=2)(torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)


class PixelShuffle(Module):
    """A layer that rearranges channels to finer images (Shi et al., 2016).

    Parameters
    ----------
    upscale_factor : int
        The factor r.

    Shapes
    ------
    input
        (*, C · r², H, W).
    result
        (*, C, H · r, W · r), of the same dtype.

    See Also
    --------
    torch.nn.PixelUnshuffle, torch.nn.ChannelShuffle

    Examples
    --------
    >>> nn.PixelShuffle(2)(torch.ones(1, 4, 3, 3)).shape
    torch.Size([1, 1, 6, 6])
    """

    _repr = "upscale_factor={self.upscale_factor}"

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    @names_layer
    def forward(self, input: Tensor) -> Tensor:
        """Returns the finer images."""
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    """A layer that rearranges images to coarser ones with more channels.

    Parameters
    ----------
    downscale_factor : int
        The factor r.

    Shapes
    ------
    input
        (*, C, H · r, W · r).
    result
        (*, C · r², H, W), of the same dtype.

    See Also
    --------
    torch.nn.ChannelShuffle, torch.nn.PixelShuffle

    Examples
    --------
    >>> nn.PixelUnshuffle(2)(torch.ones(1, 1, 4, 4)).shape
    torch.Size([1, 4, 2, 2])
    """

    _repr = "downscale_factor={self.downscale_factor}"

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    @names_layer
    def forward(self, input: Tensor) -> Tensor:
        """Returns the coarser images."""
        return F.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Module):
    """A layer that interleaves the channels of groups (Zhang et al., 2018).

    Parameters
    ----------
    groups : int
        The number of groups, a divisor of C.

    Shapes
    ------
    input
        (N, C, ...).
    result
        Of the same shape and dtype.

    See Also
    --------
    torch.nn.PixelShuffle, torch.nn.PixelUnshuffle

    Examples
    --------
    >>> nn.ChannelShuffle(2)(torch.arange(4).reshape(1, 4, 1)).flatten()
    tensor([0, 2, 1, 3])
    """

    _repr = "groups={self.groups}"

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    @names_layer
    def forward(self, input: Tensor) -> Tensor:
        """Returns the input with its channels interleaved."""
        return F.channel_shuffle(input, self.groups)


class Unfold(Module):
    """A layer that returns the windows of images as columns.

    Parameters
    ----------
    kernel_size : int or pair of ints
        The extents of a window, a number or a pair.
    dilation : int or pair of ints, default 1
        The distance of the elements of a window, a number or a pair.
    padding : int or pair of ints, default 0
        Zeros on both sides, a number or a pair.
    stride : int or pair of ints, default 1
        The distance of windows, a number or a pair.

    Shapes
    ------
    input
        (N, C, H, W) or (C, H, W).
    result
        (N, C · elements of a window, windows), of the same dtype.

    See Also
    --------
    torch.nn.Fold

    Examples
    --------
    >>> nn.Unfold(2)(torch.ones(1, 3, 4, 4)).shape
    torch.Size([1, 12, 9])
    """

    _repr = "kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    @names_layer
    def forward(self, input: Tensor) -> Tensor:
        """Returns the columns."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Module):
    """A layer that sums columns of windows into images, the adjoint of `Unfold`.

    Parameters
    ----------
    output_size : int or pair of ints
        The extents of the images, a number or a pair.
    kernel_size : int or pair of ints
        The extents of a window, a number or a pair.
    dilation : int or pair of ints, default 1
        The distance of the elements of a window, a number or a pair.
    padding : int or pair of ints, default 0
        Zeros on both sides of the images, a number or a pair.
    stride : int or pair of ints, default 1
        The distance of windows, a number or a pair.

    Shapes
    ------
    input
        (N, C · elements of a window, windows).
    result
        (N, C, H, W), of the same dtype.

    See Also
    --------
    torch.nn.Unfold

    Examples
    --------
    >>> nn.Fold(4, 2)(torch.ones(1, 12, 9)).shape
    torch.Size([1, 3, 4, 4])
    """

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
    """A layer that returns the cosine of the angle between vectors along a dimension.

    Parameters
    ----------
    dim : int, default 1
        The dimension of the vectors.
    eps : float, default 1e-08
        The least product of norms that is divided by.

    Shapes
    ------
    x1
        Any shape, of a floating dtype.
    x2
        Broadcastable with `x1`.
    result
        Without the dimension.

    See Also
    --------
    torch.nn.PairwiseDistance

    Examples
    --------
    >>> nn.CosineSimilarity()(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    @names_layer
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Returns the cosines."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """A layer that returns the p-norm of the difference of vectors in the last dimension.

    Parameters
    ----------
    p : float, default 2.0
        The order of the norm.
    eps : float, default 1e-06
        What is added to each difference.
    keepdim : bool, default False
        Whether to keep the last dimension with extent 1.

    Shapes
    ------
    x1
        (N, D) or (D), of a floating dtype.
    x2
        Broadcastable with `x1`.
    result
        Without the last dimension.

    See Also
    --------
    torch.nn.CosineSimilarity

    Examples
    --------
    >>> nn.PairwiseDistance()(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """

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
