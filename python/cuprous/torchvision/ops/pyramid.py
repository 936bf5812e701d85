"""Feature maps of several scales: their network (Lin et al., 2017), and pooling of regions from the map whose scale
fits."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import cuprous.torch as torch
from cuprous.torch import nn
from cuprous.torch.nn import functional as F
from cuprous.torchvision.ops.boxes import box_area
from cuprous.torchvision.ops.misc import Conv2dNormActivation
from cuprous.torchvision.ops.regions import roi_align


class ExtraFPNBlock(nn.Module):
    """The base class of what adds maps to a pyramid."""

    def forward(self, results: list[Any], x: list[Any], names: list[str]) -> tuple[list[Any], list[str]]:
        """Returns the pyramid's maps and their names with more of them.

        Parameters
        ----------
        results : list
            The maps of the pyramid.
        x : list
            The maps that it was made of.
        names : list of str
            The names of the maps.
        """
        raise NotImplementedError


class LastLevelMaxPool(ExtraFPNBlock):
    """Adds every second pixel of the last map.

    Examples
    --------
    >>> maps, names = ops.feature_pyramid_network.LastLevelMaxPool()([torch.ones(1, 1, 4, 4)], [], ["0"])
    >>> names, maps[1].shape
    (['0', 'pool'], torch.Size([1, 1, 2, 2]))
    """

    def forward(self, results: list[Any], x: list[Any], names: list[str]) -> tuple[list[Any], list[str]]:
        """Returns the maps and names with one more."""
        return [*results, F.max_pool2d(results[-1], kernel_size=1, stride=2, padding=0)], [*names, "pool"]


class LastLevelP6P7(ExtraFPNBlock):
    """Adds two convolutions of the last map, as RetinaNet has.

    Parameters
    ----------
    in_channels : int
        The channels of the map that is convolved.
    out_channels : int
        The channels of the results.
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for layer in (self.p6, self.p7):
            nn.init.kaiming_uniform_(layer.weight, a=1)
            nn.init.constant_(layer.bias, 0)
        self.use_P5 = in_channels == out_channels

    def forward(self, results: list[Any], x: list[Any], names: list[str]) -> tuple[list[Any], list[str]]:
        """Returns the maps and names with two more."""
        six = self.p6(results[-1] if self.use_P5 else x[-1])
        return [*results, six, self.p7(F.relu(six))], [*names, "p6", "p7"]


class FeaturePyramidNetwork(nn.Module):
    """Adds to each map the enlarged ones of the coarser scales.

    Parameters
    ----------
    in_channels_list : list of ints
        The channels of the maps, the finest first.
    out_channels : int
        The channels of all results.
    extra_blocks : Module, optional
        What adds coarser maps, or None.
    norm_layer : callable, optional
        The layer that normalizes, or None.

    Raises
    ------
    ValueError
        For a map without channels.

    See Also
    --------
    torchvision.ops.MultiScaleRoIAlign

    Examples
    --------
    >>> network = ops.FeaturePyramidNetwork([4, 8], 2)
    >>> maps = network({"fine": torch.ones(1, 4, 8, 8), "coarse": torch.ones(1, 8, 4, 4)})
    >>> {name: tuple(found.shape) for name, found in maps.items()}
    {'fine': (1, 2, 8, 8), 'coarse': (1, 2, 4, 4)}
    """

    def __init__(self, in_channels_list: list[int], out_channels: int, extra_blocks: Any = None,
                 norm_layer: Callable[..., nn.Module] | None = None) -> None:  # fmt: skip
        super().__init__()
        if 0 in in_channels_list:
            raise ValueError("in_channels=0 is currently not supported")
        self.inner_blocks, self.layer_blocks = nn.ModuleList(), nn.ModuleList()
        for channels in in_channels_list:
            more: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": None}
            self.inner_blocks.append(Conv2dNormActivation(channels, out_channels, 1, padding=0, **more))
            self.layer_blocks.append(Conv2dNormActivation(out_channels, out_channels, 3, **more))
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_uniform_(layer.weight, a=1)
                if layer.bias is not None:
                    nn.init.constant_(layer.bias, 0)
        if extra_blocks is not None and not isinstance(extra_blocks, ExtraFPNBlock):
            raise TypeError(f"extra_blocks should be of type ExtraFPNBlock not {type(extra_blocks)}")
        self.extra_blocks = extra_blocks

    def _before_load(self, state: dict[str, Any], prefix: str, version: int | None) -> None:
        """Accepts the keys of files that were written when a block was one convolution."""
        for blocks in ("inner_blocks", "layer_blocks"):
            for k in range(len(getattr(self, blocks))):
                for kind in ("weight", "bias"):
                    old = f"{prefix}{blocks}.{k}.{kind}"
                    if old in state:
                        state[f"{prefix}{blocks}.{k}.0.{kind}"] = state.pop(old)
        super()._before_load(state, prefix, version)

    def forward(self, x: dict[str, Any]) -> dict[str, Any]:
        """Returns the pyramid by the names of the maps.

        Parameters
        ----------
        x : dict
            The maps by name, the finest first.
        """
        names, maps = list(x), list(x.values())
        last = self.inner_blocks[-1](maps[-1])
        results = [self.layer_blocks[-1](last)]
        for k in range(len(maps) - 2, -1, -1):
            side = self.inner_blocks[k](maps[k])
            last = side + F.interpolate(last, size=side.shape[-2:], mode="nearest")
            results.insert(0, self.layer_blocks[k](last))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, maps, names)
        return OrderedDict(zip(names, results, strict=True))


class MultiScaleRoIAlign(nn.Module):
    """`roi_align` of each region on the map whose scale fits its size (Lin et al., 2017, equation 1).

    Parameters
    ----------
    featmap_names : list of str
        The names of the maps, the finest first.
    output_size : int or sequence of ints
        The numbers of bins, or one for both axes.
    sampling_ratio : int
        The number of samples in a bin along each axis.
    canonical_scale : int, default 224
        The size of a region that belongs to the canonical level.
    canonical_level : int, default 4
        That level, as the logarithm of the map's scale.

    See Also
    --------
    torchvision.ops.RoIAlign, torchvision.ops.RoIPool, torchvision.ops.PSRoIAlign, torchvision.ops.PSRoIPool

    Examples
    --------
    >>> pool = ops.MultiScaleRoIAlign(["0", "1"], 2, 2)
    >>> maps = {"0": torch.ones(1, 3, 16, 16), "1": torch.ones(1, 3, 8, 8)}
    >>> pool(maps, [torch.tensor([[0.0, 0.0, 16.0, 16.0]])], [(64, 64)]).shape
    torch.Size([1, 3, 2, 2])
    """

    def __init__(self, featmap_names: list[str], output_size: Any, sampling_ratio: int, *,
                 canonical_scale: int = 224, canonical_level: int = 4) -> None:  # fmt: skip
        super().__init__()
        self.featmap_names, self.sampling_ratio = featmap_names, sampling_ratio
        self.output_size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
        self.scales: list[float] | None = None
        self.canonical_scale, self.canonical_level = canonical_scale, canonical_level

    def _levels(self, boxes: Any, scales: list[float]) -> Any:
        """Returns the number of the map for each region."""
        least, most = (int(-math.log2(scale)) for scale in (scales[0], scales[-1]))
        level = torch.floor(self.canonical_level + torch.log2(box_area(boxes).sqrt() / self.canonical_scale) + 1e-6)
        return (level.clamp(least, most) - least).long()

    def forward(self, x: dict[str, Any], boxes: list[Any], image_shapes: list[tuple[int, int]]) -> Any:
        """Returns the pooled regions. Which map each belongs to is copied to the host.

        Parameters
        ----------
        x : dict
            The maps by name.
        boxes : list of Tensors
            The regions of each image (L, 4), in pixels of the images.
        image_shapes : list of pairs of ints
            The (height, width) of each image, from which the maps' scales are determined once.

        Raises
        ------
        ValueError
            Without images.
        """
        maps = [found for name, found in x.items() if name in self.featmap_names]
        if self.scales is None:
            if not image_shapes:
                raise ValueError("images list should not be empty")
            height = max(shape[0] for shape in image_shapes)
            self.scales = [2.0 ** round(math.log2(found.shape[-2] / height)) for found in maps]
        every = torch.cat(list(boxes))
        rows = torch.cat([torch.full_like(own[:, :1], k) for k, own in enumerate(boxes)])
        regions = torch.cat([rows, every], dim=1)
        options = (self.output_size, self.scales, self.sampling_ratio)
        if len(maps) == 1:
            return roi_align(maps[0], regions, options[0], options[1][0], options[2])
        levels = self._levels(every, self.scales)
        parts, order = [], []
        for k, found in enumerate(maps):
            own = torch.where(levels == k)[0]
            order.append(own)
            parts.append(roi_align(found, regions[own], options[0], options[1][k], options[2]).to(maps[0].dtype))
        return torch.cat(parts)[torch.argsort(torch.cat(order))]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(featmap_names={self.featmap_names}, output_size={self.output_size}, "
            f"sampling_ratio={self.sampling_ratio})"
        )


__all__ = ["FeaturePyramidNetwork", "MultiScaleRoIAlign"]
