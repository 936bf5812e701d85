"""MaxViT: convolutions, attention within windows, and attention across them (Tu et al., ECCV 2022)."""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from cuprous.torch import _creation, _ranges, nn
from cuprous.torch._joining import meshgrid
from cuprous.torchvision.models._build import builder, probabilities
from cuprous.torchvision.ops.misc import Conv2dNormActivation, SqueezeExcitation, StochasticDepth

_Layer = Callable[..., nn.Module]


def _halved(extents: tuple[int, int]) -> tuple[int, int]:
    """Returns the extents after a convolution with a stride of 2."""
    return (extents[0] - 1) // 2 + 1, (extents[1] - 1) // 2 + 1


class MBConv(nn.Module):
    """Channels that are enlarged, convolved one by one, scaled by their means, and made fewer, added to the input.

    Parameters
    ----------
    in_channels, out_channels : int
        The channels.
    expansion_ratio, squeeze_ratio : float
        The channels in between, in terms of the result's.
    stride : int
        The stride.
    activation_layer, norm_layer : callable
        Layers after convolutions.
    p_stochastic_dropout : float, default 0.0
        The probability with which the block is left out in training.
    """

    def __init__(self, in_channels: int, out_channels: int, expansion_ratio: float, squeeze_ratio: float, stride: int,
                 activation_layer: _Layer, norm_layer: _Layer, p_stochastic_dropout: float = 0.0) -> None:  # fmt: skip
        super().__init__()
        self.proj: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            pool = [nn.AvgPool2d(3, stride, 1)] if stride == 2 else []
            self.proj = nn.Sequential(*pool, nn.Conv2d(in_channels, out_channels, 1))
        middle = int(out_channels * expansion_ratio)
        drop = StochasticDepth(p_stochastic_dropout, mode="row") if p_stochastic_dropout else nn.Identity()
        self.stochastic_depth: nn.Module = drop
        block = partial(Conv2dNormActivation, activation_layer=activation_layer, norm_layer=norm_layer, inplace=None)
        self.layers = nn.Sequential(OrderedDict(
            pre_norm=norm_layer(in_channels),
            conv_a=block(in_channels, middle, kernel_size=1, stride=1, padding=0),
            conv_b=block(middle, middle, kernel_size=3, stride=stride, padding=1, groups=middle),
            squeeze_excitation=SqueezeExcitation(middle, int(out_channels * squeeze_ratio), activation=nn.SiLU),
            conv_c=nn.Conv2d(middle, out_channels, 1),
        ))  # fmt: skip

    def forward(self, x: Any) -> Any:
        """Returns the images (N, C, H / stride, W / stride)."""
        return self.proj(x) + self.stochastic_depth(self.layers(x))


class RelativePositionalMultiHeadAttention(nn.Module):
    """Attention with a bias for each relative position in a square.

    Parameters
    ----------
    feat_dim : int
        The channels.
    head_dim : int
        Those of a head.
    max_seq_len : int
        The elements of the square.

    Raises
    ------
    ValueError
        For channels that are no multiple of a head's.
    """

    def __init__(self, feat_dim: int, head_dim: int, max_seq_len: int) -> None:
        super().__init__()
        if feat_dim % head_dim:
            raise ValueError(f"feat_dim: {feat_dim} must be divisible by head_dim: {head_dim}")
        self.n_heads, self.head_dim, self.max_seq_len = feat_dim // head_dim, head_dim, max_seq_len
        self.size = math.isqrt(max_seq_len)
        self.to_qkv, self.scale_factor = nn.Linear(feat_dim, feat_dim * 3), feat_dim**-0.5
        self.merge = nn.Linear(feat_dim, feat_dim)
        wide = 2 * self.size - 1
        self.relative_position_bias_table = nn.Parameter(_creation.empty(wide * wide, self.n_heads))
        rows, columns = (g.flatten() for g in meshgrid(*(_ranges.arange(self.size),) * 2, indexing="ij"))
        down, right = (g[:, None] - g[None, :] + self.size - 1 for g in (rows, columns))
        self.register_buffer("relative_position_index", down * wide + right)
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def get_relative_positional_bias(self) -> Any:
        """Returns the bias of each head, query and key, (1, heads, n, n)."""
        index: Any = self.relative_position_index
        table = self.relative_position_bias_table[index.flatten()].view(self.max_seq_len, self.max_seq_len, -1)
        return table.permute(2, 0, 1).contiguous().unsqueeze(0)

    def forward(self, x: Any) -> Any:
        """Returns groups (N, G, P, C) after attention within each of them."""
        qkv = self.to_qkv(x).reshape(*x.shape[:-1], 3, self.n_heads, self.head_dim)
        query, key, value = qkv.permute(3, 0, 1, 4, 2, 5).unbind(0)
        scores = query @ (key * self.scale_factor).transpose(-2, -1) + self.get_relative_positional_bias()
        return self.merge((scores.softmax(-1) @ value).transpose(2, 3).reshape(x.shape))


class PartitionAttentionLayer(nn.Module):
    """Attention within windows, or among the elements at the same place of all windows, and two linear layers.

    Parameters
    ----------
    in_channels : int
        The channels.
    head_dim : int
        Those of a head.
    partition_size : int
        The side of a window, or the number of windows along a side.
    partition_type : {"window", "grid"}
        "window" or "grid".
    grid_size : pair of ints
        The extents of the images.
    mlp_ratio : int
        The channels between the linear layers, in terms of `in_channels`.
    activation_layer, norm_layer : callable
        Further layers.
    attention_dropout, mlp_dropout : float
        Probabilities with which elements are set to 0 in training.
    p_stochastic_dropout : float
        The probability with which a part is left out.

    Raises
    ------
    ValueError
        For another type.
    """

    def __init__(self, in_channels: int, head_dim: int, partition_size: int, partition_type: str,
                 grid_size: tuple[int, int], mlp_ratio: int, activation_layer: _Layer, norm_layer: _Layer,
                 attention_dropout: float, mlp_dropout: float, p_stochastic_dropout: float) -> None:  # fmt: skip
        super().__init__()
        if partition_type not in ("grid", "window"):
            raise ValueError("partition_type must be either 'grid' or 'window'")
        self.n_heads, self.head_dim = in_channels // head_dim, head_dim
        self.n_partitions, self.partition_type = grid_size[0] // partition_size, partition_type
        self.grid_size = grid_size
        sides = (partition_size, self.n_partitions)
        self.p, self.g = sides if partition_type == "window" else sides[::-1]
        self.attn_layer = nn.Sequential(
            norm_layer(in_channels), RelativePositionalMultiHeadAttention(in_channels, head_dim, partition_size**2),
            nn.Dropout(attention_dropout),
        )  # fmt: skip
        self.mlp_layer = nn.Sequential(
            nn.LayerNorm(in_channels), nn.Linear(in_channels, in_channels * mlp_ratio), activation_layer(),
            nn.Linear(in_channels * mlp_ratio, in_channels), nn.Dropout(mlp_dropout),
        )  # fmt: skip
        self.stochastic_dropout = StochasticDepth(p_stochastic_dropout, mode="row")

    def forward(self, x: Any) -> Any:
        """Returns the images (N, C, H, W) after attention.

        Raises
        ------
        AssertionError
            For extents that are no multiple of a window's.
        """
        if any(extent % self.p for extent in self.grid_size):
            raise AssertionError("Grid size must be divisible by partition size. Got grid size of "
                                 f"{self.grid_size} and partition size of {self.p}")  # fmt: skip
        batch, channels, height, width = x.shape
        high, wide = height // self.p, width // self.p
        x = x.reshape(batch, channels, high, self.p, wide, self.p).permute(0, 2, 4, 3, 5, 1)
        x = x.reshape(batch, high * wide, self.p * self.p, channels)
        x = x.transpose(1, 2) if self.partition_type == "grid" else x
        x = x + self.stochastic_dropout(self.attn_layer(x))
        x = x + self.stochastic_dropout(self.mlp_layer(x))
        x = x.transpose(1, 2) if self.partition_type == "grid" else x
        x = x.reshape(batch, high, wide, self.p, self.p, channels).permute(0, 5, 1, 3, 2, 4)
        return x.reshape(batch, channels, height, width)


class MaxVitLayer(nn.Module):
    """A block of convolutions, attention within windows, and attention across them.

    Parameters
    ----------
    in_channels, out_channels : int
        Options of the convolutions.
    squeeze_ratio, expansion_ratio : float
        Options of the convolutions.
    stride : int
        Options of the convolutions.
    norm_layer, activation_layer : callable
        Further layers.
    head_dim, mlp_ratio : int
        Options of attention.
    mlp_dropout, attention_dropout : float
        Options of attention.
    partition_size : int
        Options of attention.
    grid_size : pair of ints
        Options of attention.
    p_stochastic_dropout : float
        The probability with which a part is left out.
    """

    def __init__(self, in_channels: int, out_channels: int, squeeze_ratio: float, expansion_ratio: float, stride: int,
                 norm_layer: _Layer, activation_layer: _Layer, head_dim: int, mlp_ratio: int, mlp_dropout: float,
                 attention_dropout: float, p_stochastic_dropout: float, partition_size: int,
                 grid_size: tuple[int, int]) -> None:  # fmt: skip
        super().__init__()
        attention = partial(
            PartitionAttentionLayer, in_channels=out_channels, head_dim=head_dim, partition_size=partition_size,
            grid_size=grid_size, mlp_ratio=mlp_ratio, activation_layer=activation_layer, norm_layer=nn.LayerNorm,
            attention_dropout=attention_dropout, mlp_dropout=mlp_dropout, p_stochastic_dropout=p_stochastic_dropout,
        )  # fmt: skip
        self.layers = nn.Sequential(OrderedDict(
            MBconv=MBConv(in_channels, out_channels, expansion_ratio, squeeze_ratio, stride, activation_layer,
                          norm_layer, p_stochastic_dropout),
            window_attention=attention(partition_type="window"), grid_attention=attention(partition_type="grid"),
        ))  # fmt: skip

    def forward(self, x: Any) -> Any:
        """Returns the images."""
        return self.layers(x)


class MaxVitBlock(nn.Module):
    """Layers of one size, of which the first halves the extents.

    Parameters
    ----------
    in_channels, out_channels : int
        Options of `MaxVitLayer`.
    squeeze_ratio, expansion_ratio : float
        Options of `MaxVitLayer`.
    norm_layer, activation_layer : callable
        Options of `MaxVitLayer`.
    head_dim, mlp_ratio : int
        Options of `MaxVitLayer`.
    mlp_dropout, attention_dropout : float
        Options of `MaxVitLayer`.
    partition_size : int
        Options of `MaxVitLayer`.
    input_grid_size : pair of ints
        The extents of the input.
    n_layers : int
        The layers.
    p_stochastic : list of floats
        For each the probability with which a part is left out.

    Raises
    ------
    ValueError
        For another number of probabilities.
    """

    def __init__(self, in_channels: int, out_channels: int, squeeze_ratio: float, expansion_ratio: float,
                 norm_layer: _Layer, activation_layer: _Layer, head_dim: int, mlp_ratio: int, mlp_dropout: float,
                 attention_dropout: float, partition_size: int, input_grid_size: tuple[int, int], n_layers: int,
                 p_stochastic: list[float]) -> None:  # fmt: skip
        super().__init__()
        if len(p_stochastic) != n_layers:
            raise ValueError(f"p_stochastic must have length n_layers={n_layers}, got p_stochastic={p_stochastic}.")
        self.grid_size = _halved(input_grid_size)
        self.layers = nn.ModuleList([
            MaxVitLayer(in_channels if k == 0 else out_channels, out_channels, squeeze_ratio, expansion_ratio,
                        2 if k == 0 else 1, norm_layer, activation_layer, head_dim, mlp_ratio, mlp_dropout,
                        attention_dropout, p, partition_size, self.grid_size)
            for k, p in enumerate(p_stochastic)
        ])  # fmt: skip

    def forward(self, x: Any) -> Any:
        """Returns the images."""
        for layer in self.layers:
            x = layer(x)
        return x


class MaxVit(nn.Module):
    """MaxViT.

    Parameters
    ----------
    input_size : pair of ints
        The extents of images.
    stem_channels : int
        The channels after the first convolutions.
    partition_size : int
        The side of a window, and the number of windows along a side.
    block_channels, block_layers : list of ints
        The channels and the layers of each block.
    head_dim : int
        The channels of a head.
    stochastic_depth_prob : float
        The probability with which parts of the last layer are left out.
    norm_layer, activation_layer : callable, optional
        Options of the layers.
    squeeze_ratio : float, default 0.25
        Options of the layers.
    expansion_ratio : float, default 4
        Options of the layers.
    mlp_ratio : int, default 4
        Options of the layers.
    mlp_dropout, attention_dropout : float, default 0.0
        Options of the layers.
    num_classes : int, default 1000
        The classes.

    Raises
    ------
    ValueError
        For images whose extents in a block are no multiple of a window's.

    See Also
    --------
    torchvision.models.maxvit_t
    """

    def __init__(self, input_size: tuple[int, int], stem_channels: int, partition_size: int, block_channels: list[int],
                 block_layers: list[int], head_dim: int, stochastic_depth_prob: float,
                 norm_layer: _Layer | None = None, activation_layer: _Layer = nn.GELU, squeeze_ratio: float = 0.25,
                 expansion_ratio: float = 4, mlp_ratio: int = 4, mlp_dropout: float = 0.0,
                 attention_dropout: float = 0.0, num_classes: int = 1000) -> None:  # fmt: skip
        super().__init__()
        norm = partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01) if norm_layer is None else norm_layer
        size = _halved(input_size)
        for k, extents in enumerate(self._extents(size, len(block_channels))):
            if extents[0] % partition_size or extents[1] % partition_size:
                raise ValueError(f"Input size {extents} of block {k} is not divisible by partition size "
                                 f"{partition_size}. Consider changing the partition size or the input size."
                                 )  # fmt: skip
        self.partition_size = partition_size
        self.stem = nn.Sequential(
            Conv2dNormActivation(3, stem_channels, 3, stride=2, norm_layer=norm, activation_layer=activation_layer,
                                 bias=False, inplace=None),
            Conv2dNormActivation(stem_channels, stem_channels, 3, stride=1, norm_layer=None, activation_layer=None,
                                 bias=True),
        )  # fmt: skip
        chances = iter(probabilities(sum(block_layers), stochastic_depth_prob))
        self.blocks = nn.ModuleList()
        for before, out, count in zip([stem_channels, *block_channels[:-1]], block_channels, block_layers, strict=True):
            block = MaxVitBlock(before, out, squeeze_ratio, expansion_ratio, norm, activation_layer, head_dim,
                                mlp_ratio, mlp_dropout, attention_dropout, partition_size, size, count,
                                list(itertools.islice(chances, count)))  # fmt: skip
            self.blocks.append(block)
            size = block.grid_size
        last = block_channels[-1]
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(last), nn.Linear(last, last), nn.Tanh(),
            nn.Linear(last, num_classes, bias=False),
        )  # fmt: skip
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    @staticmethod
    def _extents(size: tuple[int, int], count: int) -> list[tuple[int, int]]:
        found = itertools.accumulate(range(count), lambda extents, _: _halved(extents), initial=size)
        return list(found)[1:]

    def forward(self, x: Any) -> Any:
        """Returns the scores of classes."""
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.classifier(x)


def _tiny(**options: Any) -> MaxVit:
    size = options.pop("input_size", (224, 224))
    return MaxVit(size, 64, 7, [64, 128, 256, 512], [2, 2, 5, 2], 32, 0.2, **options)


maxvit_t = builder("maxvit_t", _tiny, "Returns the tiny MaxViT.")
BUILDERS = {"maxvit_t": maxvit_t}

__all__ = ["MaxVit", "maxvit_t"]
