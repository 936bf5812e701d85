"""Vision transformers (Dosovitskiy et al., 2021)."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

from cuprous.torch import _creation, nn
from cuprous.torch._joining import cat
from cuprous.torchvision.models._build import builder
from cuprous.torchvision.ops.misc import MLP


class EncoderBlock(nn.Module):
    """Self-attention and two linear layers, each after a layer norm and added to its input."""

    def __init__(self, num_heads: int, hidden_dim: int, mlp_dim: int, dropout: float, attention_dropout: float,
                 norm_layer: Callable[..., nn.Module]) -> None:  # fmt: skip
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLP(hidden_dim, [mlp_dim, hidden_dim], activation_layer=nn.GELU, dropout=dropout)
        for module in self.mlp.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.normal_(module.bias, std=1e-6)

    def forward(self, input: Any) -> Any:
        """Returns the sequences."""
        x = self.ln_1(input)
        x = self.dropout(self.self_attention(x, x, x, need_weights=False)[0]) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Embeddings of positions, the blocks and a layer norm."""

    def __init__(self, seq_length: int, num_layers: int, num_heads: int, hidden_dim: int, mlp_dim: int, dropout: float,
                 attention_dropout: float, norm_layer: Callable[..., nn.Module]) -> None:  # fmt: skip
        super().__init__()
        self.pos_embedding = nn.Parameter(_creation.empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential(OrderedDict(
            (f"encoder_layer_{k}", EncoderBlock(num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer))
            for k in range(num_layers)
        ))  # fmt: skip
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: Any) -> Any:
        """Returns the encoded sequences."""
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """A transformer of patches of images, whose first token is that of the class.

    See Also
    --------
    torchvision.models.vit_b_16, torchvision.models.vit_l_16
    """

    def __init__(self, image_size: int, patch_size: int, num_layers: int, num_heads: int, hidden_dim: int, mlp_dim: int,
                 dropout: float = 0.0, attention_dropout: float = 0.0, num_classes: int = 1000,
                 representation_size: int | None = None, norm_layer: Callable[..., nn.Module] | None = None,
                 conv_stem_configs: Any = None) -> None:  # fmt: skip
        super().__init__()
        if conv_stem_configs is not None:
            raise NotImplementedError("[VisionTransformer] conv_stem_configs is not supported; replace conv_proj")
        if image_size % patch_size:
            raise ValueError("Input shape indivisible by patch size!")
        self.image_size, self.patch_size, self.hidden_dim = image_size, patch_size, hidden_dim
        self.conv_proj = nn.Conv2d(3, hidden_dim, patch_size, patch_size)
        self.class_token = nn.Parameter(_creation.zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        norm = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        self.encoder = Encoder(self.seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout,
                               norm)  # fmt: skip
        heads: OrderedDict[str, nn.Module] = OrderedDict()
        width = hidden_dim if representation_size is None else representation_size
        if representation_size is not None:
            heads["pre_logits"], heads["act"] = nn.Linear(hidden_dim, width), nn.Tanh()
            nn.init.trunc_normal_(heads["pre_logits"].weight, std=math.sqrt(1 / hidden_dim))
            nn.init.zeros_(heads["pre_logits"].bias)
        heads["head"] = nn.Linear(width, num_classes)
        nn.init.zeros_(heads["head"].weight)
        nn.init.zeros_(heads["head"].bias)
        self.heads = nn.Sequential(heads)
        fan_in = 3 * patch_size * patch_size
        nn.init.trunc_normal_(self.conv_proj.weight, std=math.sqrt(1 / fan_in))
        nn.init.zeros_(self.conv_proj.bias)

    def _process_input(self, x: Any) -> Any:
        for extent in x.shape[2:]:
            if extent != self.image_size:
                raise ValueError(f"Wrong image size! Expected {self.image_size} but got {extent}!")
        return self.conv_proj(x).flatten(2).permute(0, 2, 1)

    def forward(self, x: Any) -> Any:
        """Returns logits (N, classes) for images (N, 3, H, W)."""
        x = self._process_input(x)
        token = self.class_token.expand(x.shape[0], -1, -1)
        return self.heads(self.encoder(cat([token, x], 1))[:, 0])


#: Networks: extent of patches, layers, heads, width, width of the hidden layers.
_ROWS = {"vit_b_16": (16, 12, 12, 768, 3072), "vit_b_32": (32, 12, 12, 768, 3072),
         "vit_l_16": (16, 24, 16, 1024, 4096), "vit_l_32": (32, 24, 16, 1024, 4096),
         "vit_h_14": (14, 32, 16, 1280, 5120)}  # fmt: skip


def _network(name: str, **options: Any) -> VisionTransformer:
    return VisionTransformer(options.pop("image_size", 224), *_ROWS[name], **options)


BUILDERS = {name: builder(name, partial(_network, name), "Returns a vision transformer.") for name in _ROWS}
globals().update(BUILDERS)

__all__ = ["VisionTransformer", *BUILDERS]
