"""Swin transformers (Liu et al., 2021 and 2022)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from cuprous.torch import _creation, _ranges, nn
from cuprous.torch._joining import cat, meshgrid
from cuprous.torchvision.models._build import builder, probabilities
from cuprous.torchvision.ops.misc import MLP, Permute, StochasticDepth

F = nn.functional


def _neighbors(x: Any) -> Any:
    """Returns the channels of each 2 x 2 pixels together."""
    x = F.pad(x, (0, 0, 0, x.shape[-2] % 2, 0, x.shape[-3] % 2))
    rows = (x[..., 0::2, 0::2, :], x[..., 1::2, 0::2, :], x[..., 0::2, 1::2, :], x[..., 1::2, 1::2, :])
    return cat(list(rows), -1)


class PatchMerging(nn.Module):
    """Halves the extents and doubles the channels."""

    def __init__(self, dim: int, norm_layer: Callable[..., nn.Module] = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction, self.norm = nn.Linear(4 * dim, 2 * dim, bias=False), norm_layer(4 * dim)

    def forward(self, x: Any) -> Any:
        """Returns the merged patches."""
        return self.reduction(self.norm(_neighbors(x)))


class PatchMergingV2(nn.Module):
    """Halves the extents and doubles the channels, and normalizes afterwards."""

    def __init__(self, dim: int, norm_layer: Callable[..., nn.Module] = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction, self.norm = nn.Linear(4 * dim, 2 * dim, bias=False), norm_layer(2 * dim)

    def forward(self, x: Any) -> Any:
        """Returns the merged patches."""
        return self.norm(self.reduction(_neighbors(x)))


class ShiftedWindowAttention(nn.Module):
    """Attention within windows of images (N, H, W, C), with a bias for each relative position."""

    def __init__(self, dim: int, window_size: list[int], shift_size: list[int], num_heads: int, qkv_bias: bool = True,
                 proj_bias: bool = True, attention_dropout: float = 0.0, dropout: float = 0.0) -> None:  # fmt: skip
        super().__init__()
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size, self.shift_size, self.num_heads = window_size, shift_size, num_heads
        self.attention_dropout, self.dropout = attention_dropout, dropout
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=qkv_bias), nn.Linear(dim, dim, bias=proj_bias)
        self._define_biases()
        rows, columns = (_ranges.arange(n) for n in window_size)
        grid = [g.flatten() for g in meshgrid(rows, columns, indexing="ij")]
        down, right = (g[:, None] - g[None, :] + n - 1 for g, n in zip(grid, window_size, strict=True))
        self.register_buffer("relative_position_index", (down * (2 * window_size[1] - 1) + right).flatten())

    def _define_biases(self) -> None:
        count = (2 * self.window_size[0] - 1) * (2 * self.window_size[1] - 1)
        self.relative_position_bias_table = nn.Parameter(_creation.zeros(count, self.num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def get_relative_position_bias(self) -> Any:
        """Returns the bias of each head, query and key, (1, heads, n, n)."""
        return self._bias_of(self.relative_position_bias_table)

    def _bias_of(self, table: Any) -> Any:
        n = self.window_size[0] * self.window_size[1]
        index: Any = self.relative_position_index
        return table[index].view(n, n, -1).permute(2, 0, 1).contiguous().unsqueeze(0)

    def _scores(self, query: Any, key: Any) -> Any:
        return (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)

    def _projected(self, windows: Any) -> Any:
        return F.linear(windows, self.qkv.weight, self.qkv.bias)

    def forward(self, x: Any) -> Any:
        """Returns the images after attention."""
        batch, height, width, channels = x.shape
        size = self.window_size
        x = F.pad(x, (0, 0, 0, -width % size[1], 0, -height % size[0]))
        high, wide = x.shape[1:3]
        shift = [0 if n >= extent else s for n, extent, s in zip(size, (high, wide), self.shift_size, strict=True)]
        if sum(shift):
            x = x.roll((-shift[0], -shift[1]), (1, 2))
        counts = (high // size[0], wide // size[1])
        total, n = counts[0] * counts[1], size[0] * size[1]
        windows = x.view(batch, counts[0], size[0], counts[1], size[1], channels).permute(0, 1, 3, 2, 4, 5)
        windows = windows.reshape(batch * total, n, channels)
        qkv = self._projected(windows).reshape(batch * total, n, 3, self.num_heads, channels // self.num_heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        scores = self._scores(query, key) + self.get_relative_position_bias()
        if sum(shift):
            mask = self._mask(high, wide, shift, counts, x)
            scores = scores.view(batch, total, self.num_heads, n, n) + mask.unsqueeze(1).unsqueeze(0)
            scores = scores.view(-1, self.num_heads, n, n)
        weights = F.dropout(scores.softmax(-1), self.attention_dropout, self.training)
        found = (weights @ value).transpose(1, 2).reshape(batch * total, n, channels)
        found = F.dropout(self.proj(found), self.dropout, self.training)
        found = found.view(batch, counts[0], counts[1], size[0], size[1], channels).permute(0, 1, 3, 2, 4, 5)
        found = found.reshape(batch, high, wide, channels)
        if sum(shift):
            found = found.roll((shift[0], shift[1]), (1, 2))
        return found[:, :height, :width, :].contiguous()

    def _mask(self, high: int, wide: int, shift: list[int], counts: tuple[int, int], x: Any) -> Any:
        """Returns -100 for each query and key of a window that come from different sides of the image."""
        sides = []
        for extent, size, s in zip((high, wide), self.window_size, shift, strict=True):
            position = _ranges.arange(extent, device=x.device)
            sides.append((position >= extent - size).to(x.dtype) + (position >= extent - s).to(x.dtype))
        regions = 3 * sides[0][:, None] + sides[1][None, :]
        window = self.window_size
        regions = regions.view(counts[0], window[0], counts[1], window[1]).permute(0, 2, 1, 3)
        regions = regions.reshape(counts[0] * counts[1], window[0] * window[1])
        return (regions.unsqueeze(1) != regions.unsqueeze(2)).to(x.dtype) * -100.0


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """Attention by the cosine of queries and keys, with biases that two layers compute from relative positions."""

    def _define_biases(self) -> None:
        self.logit_scale = nn.Parameter((10 * _creation.ones((self.num_heads, 1, 1))).log())
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512, bias=True), nn.ReLU(inplace=True), nn.Linear(512, self.num_heads, bias=False)
        )
        if self.qkv.bias is not None:
            width = self.qkv.bias.shape[0] // 3
            nn.init.zeros_(self.qkv.bias[width : 2 * width].detach())
        sides = [_ranges.arange(1 - n, n, dtype=self.qkv.weight.dtype) / (n - 1) for n in self.window_size]
        table = 8 * _stacked(*meshgrid(*sides, indexing="ij"))
        self.register_buffer("relative_coords_table", table.sign() * (table.abs() + 1.0).log2() / 3.0)

    def get_relative_position_bias(self) -> Any:
        """Returns the bias of each head, query and key, (1, heads, n, n)."""
        coordinates: Any = self.relative_coords_table
        return 16 * self._bias_of(self.cpb_mlp(coordinates).view(-1, self.num_heads)).sigmoid()

    def _scores(self, query: Any, key: Any) -> Any:
        cosine = F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).transpose(-2, -1)
        return cosine * self.logit_scale.clamp(max=math.log(100.0)).exp()

    def _projected(self, windows: Any) -> Any:
        bias = self.qkv.bias
        if bias is None:
            return F.linear(windows, self.qkv.weight)
        width = bias.shape[0] // 3
        keyless = cat([bias[:width], bias[width : 2 * width] * 0, bias[2 * width :]])  # keys have no bias
        return F.linear(windows, self.qkv.weight, keyless)


def _stacked(rows: Any, columns: Any) -> Any:
    """Returns the coordinates of a grid, (1, rows, columns, 2)."""
    return cat([rows[..., None], columns[..., None]], -1).unsqueeze(0)


class SwinTransformerBlock(nn.Module):
    """Attention within windows and two linear layers, each after a layer norm and added to its input."""

    attention: Callable[..., nn.Module] = ShiftedWindowAttention

    def __init__(self, dim: int, num_heads: int, window_size: list[int], shift_size: list[int], mlp_ratio: float = 4.0,
                 dropout: float = 0.0, attention_dropout: float = 0.0, stochastic_depth_prob: float = 0.0,
                 norm_layer: Callable[..., nn.Module] = nn.LayerNorm) -> None:  # fmt: skip
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = type(self).attention(dim, window_size, shift_size, num_heads, attention_dropout=attention_dropout,
                                         dropout=dropout)  # fmt: skip
        self.stochastic_depth, self.norm2 = StochasticDepth(stochastic_depth_prob, "row"), norm_layer(dim)
        self.mlp = MLP(dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        for module in self.mlp.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.normal_(module.bias, std=1e-6)

    def forward(self, x: Any) -> Any:
        """Returns the images."""
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class SwinTransformerBlockV2(SwinTransformerBlock):
    """The block with its layer norms after attention and linear layers."""

    attention = ShiftedWindowAttentionV2

    def forward(self, x: Any) -> Any:
        """Returns the images."""
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


class SwinTransformer(nn.Module):
    """A transformer of patches of images, with attention within windows that are shifted in every second block.

    See Also
    --------
    torchvision.models.swin_t, torchvision.models.swin_v2_t
    """

    def __init__(self, patch_size: list[int], embed_dim: int, depths: list[int], num_heads: list[int],
                 window_size: list[int], mlp_ratio: float = 4.0, dropout: float = 0.0, attention_dropout: float = 0.0,
                 stochastic_depth_prob: float = 0.1, num_classes: int = 1000,
                 norm_layer: Callable[..., nn.Module] | None = None, block: Callable[..., nn.Module] | None = None,
                 downsample_layer: Callable[..., nn.Module] = PatchMerging) -> None:  # fmt: skip
        super().__init__()
        norm, make = norm_layer or partial(nn.LayerNorm, eps=1e-5), block or SwinTransformerBlock
        stem = nn.Conv2d(3, embed_dim, (patch_size[0], patch_size[1]), (patch_size[0], patch_size[1]))
        layers: list[nn.Module] = [nn.Sequential(stem, Permute([0, 2, 3, 1]), norm(embed_dim))]
        drops = probabilities(sum(depths), stochastic_depth_prob)
        for stage, (depth, heads) in enumerate(zip(depths, num_heads, strict=True)):
            dim, blocks = embed_dim << stage, []
            for k in range(depth):
                shift = [n // 2 if k % 2 else 0 for n in window_size]
                blocks.append(make(dim, heads, window_size=window_size, shift_size=shift, mlp_ratio=mlp_ratio,
                                   dropout=dropout, attention_dropout=attention_dropout,
                                   stochastic_depth_prob=next(drops), norm_layer=norm))  # fmt: skip
            layers.append(nn.Sequential(*blocks))
            if stage < len(depths) - 1:
                layers.append(downsample_layer(dim, norm))
        self.features = nn.Sequential(*layers)
        width = embed_dim << len(depths) - 1
        self.norm, self.permute = norm(width), Permute([0, 3, 1, 2])
        self.avgpool, self.flatten, self.head = nn.AdaptiveAvgPool2d(1), nn.Flatten(1), nn.Linear(width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W)."""
        return self.head(self.flatten(self.avgpool(self.permute(self.norm(self.features(x))))))


#: Networks: width, blocks of the third stage, heads of the first one, stochastic depth of both versions.
_ROWS = {"t": (96, 6, 3, 0.2, 0.2), "s": (96, 18, 3, 0.3, 0.3), "b": (128, 18, 4, 0.5, 0.5)}


def _network(size: str, second: bool, **options: Any) -> SwinTransformer:
    width, third, heads, *drops = _ROWS[size]
    more: dict[str, Any] = {"stochastic_depth_prob": drops[second]}
    if second:
        more |= {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2}
    window = [8, 8] if second else [7, 7]
    return SwinTransformer([4, 4], width, [2, 2, third, 2], [heads << k for k in range(4)], window, **(more | options))


BUILDERS = {
    f"swin_{version}{size}": builder(f"swin_{version}{size}", partial(_network, size, bool(version)),
                                     f"Returns a Swin transformer {version.upper()}{size.upper()}.")
    for version in ("", "v2_") for size in _ROWS
}  # fmt: skip
globals().update(BUILDERS)

__all__ = ["SwinTransformer", *BUILDERS]
