"""The encoder-decoder Transformer (Vaswani et al., 2017) and its layers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common.naming import documented
from cuprous._core import Tensor
from cuprous.torch import _diagonals, _types
from cuprous.torch.nn import functional as F
from cuprous.torch.nn import init
from cuprous.torch.nn.modules.attention import MultiheadAttention
from cuprous.torch.nn.modules.container import ModuleList
from cuprous.torch.nn.modules.dropout import Dropout
from cuprous.torch.nn.modules.linear import Linear
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.modules.normalization import LayerNorm

_documented = documented({
    "d_model : int": "The width E of inputs and outputs.",
    "nhead : int": "The number of heads, a divisor of E.",
    "dim_feedforward : int": "The width of the feed-forward network.",
    "dropout : float": "The probability of dropout in training.",
    "activation : str or callable": 'The activation of the feed-forward network: "relu", "gelu" or a function.',
    "layer_norm_eps : float": "What normalizations add to the variance.",
    "batch_first : bool": "Whether the batch is the first dimension; the steps are otherwise.",
    "norm_first : bool": "Whether normalizations come before attention and the network rather than after.",
    "bias : bool": "Whether linear layers and normalizations have biases.",
    "device : device or str": "The device of the parameters, by default the default device.",
    "dtype : dtype": "The dtype of the parameters, by default the default dtype.",
})  # fmt: skip


Activation = str | Callable[[Tensor], Tensor]


def _activation(given: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    table: dict[str, Callable[..., Tensor]] = {"relu": F.relu, "gelu": F.gelu}
    return table[given]


_get_activation_fn = _activation


def _clones(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


class _Layer(Module):
    """Base class of layers with attention and a feed-forward network, each with a residual connection and normalization
    before or after it."""

    _attentions: tuple[str, ...] = ()

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        options = {"device": device, "dtype": dtype}
        super().__init__()
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **options))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **options)
        self.norm_first = norm_first
        count = len(self._attentions) + 1
        for k in range(1, count + 1):
            setattr(self, f"norm{k}", LayerNorm(d_model, layer_norm_eps, bias=bias, **options))
        for k in range(1, count + 1):
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _activation(activation)

    def _residual(self, x: Tensor, parts: list[Callable[[Tensor], Tensor]]) -> Tensor:
        for k, part in enumerate(parts, 1):
            norm, drop = self._modules[f"norm{k}"], self._modules[f"dropout{k}"]
            x = x + drop(part(norm(x))) if self.norm_first else norm(x + drop(part(x)))
        return x

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


@_documented
class TransformerEncoderLayer(_Layer):
    """A layer of self-attention and a feed-forward network (Vaswani et al., 2017).

    Shapes
    ------
    src
        (S, N, E), (N, S, E) if `batch_first`, or (S, E).
    src_mask
        The `attn_mask` of `MultiheadAttention`.
    src_key_padding_mask
        Its `key_padding_mask`.
    is_causal
        Whether `src_mask` masks all later steps.
    result
        Of the shape of `src`.

    See Also
    --------
    torch.nn.TransformerDecoderLayer, torch.nn.Transformer, torch.nn.TransformerEncoder, torch.nn.TransformerDecoder

    Examples
    --------
    >>> nn.TransformerEncoderLayer(d_model=8, nhead=2)(torch.ones(3, 2, 8)).shape
    torch.Size([3, 2, 8])
    """

    _attentions = ("self_attn",)

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool = False) -> Tensor:  # fmt: skip
        """Returns the encoded sequence; masks are as in `MultiheadAttention`."""

        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0]

        return self._residual(src, [attend, self._feed_forward])


@_documented
class TransformerDecoderLayer(_Layer):
    """A layer of self-attention, attention to the encoder's outputs, and a feed-forward network (Vaswani et al., 2017).

    Shapes
    ------
    tgt
        (T, N, E), (N, T, E) if `batch_first`, or (T, E).
    memory
        The outputs of the encoder, likewise with S steps.
    tgt_mask
        The `attn_mask` of self-attention.
    memory_mask
        The `attn_mask` of attention to the memory.
    tgt_key_padding_mask
        The `key_padding_mask` of self-attention.
    memory_key_padding_mask
        The `key_padding_mask` of attention to the memory.
    tgt_is_causal
        Whether `tgt_mask` masks all later steps.
    memory_is_causal
        Whether `memory_mask` masks all later steps.
    result
        Of the shape of `tgt`.

    See Also
    --------
    torch.nn.Transformer, torch.nn.TransformerEncoder, torch.nn.TransformerDecoder, torch.nn.TransformerEncoderLayer

    Examples
    --------
    >>> layer = nn.TransformerDecoderLayer(d_model=8, nhead=2)
    >>> layer(torch.ones(3, 2, 8), torch.ones(5, 2, 8)).shape
    torch.Size([3, 2, 8])
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:  # fmt: skip
        """Returns the decoded target sequence; masks are as in `MultiheadAttention`."""

        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]

        def attend_to_memory(x: Tensor) -> Tensor:
            return self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask,
                                       is_causal=memory_is_causal)[0]  # fmt: skip

        return self._residual(tgt, [attend, attend_to_memory, self._feed_forward])


class TransformerEncoder(Module):
    """A stack of copies of a layer, followed by an optional normalization.

    Parameters
    ----------
    encoder_layer : Module
        The layer, which is copied.
    num_layers : int
        The number of copies.
    norm : Module, optional
        The normalization.
    enable_nested_tensor : bool, default True
        Has no effect.
    mask_check : bool, default True
        Has no effect.

    Shapes
    ------
    src
        (S, N, E), (N, S, E) if `batch_first`, or (S, E).
    mask
        The `attn_mask` of all layers.
    src_key_padding_mask
        The `key_padding_mask` of all layers.
    is_causal
        Whether `mask` masks all later steps.
    result
        Of the shape of `src`.

    See Also
    --------
    torch.nn.TransformerDecoder, torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer,
    torch.nn.Transformer

    Examples
    --------
    >>> encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), num_layers=2)
    >>> encoder(torch.ones(3, 2, 8)).shape
    torch.Size([3, 2, 8])
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
                 enable_nested_tensor: bool = True, mask_check: bool = True) -> None:  # fmt: skip
        super().__init__()
        self.layers, self.num_layers, self.norm = _clones(encoder_layer, num_layers), num_layers, norm

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool | None = None) -> Tensor:  # fmt: skip
        """Returns the encoded sequence."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """A stack of copies of a layer, followed by an optional normalization.

    Parameters
    ----------
    decoder_layer : Module
        The layer, which is copied.
    num_layers : int
        The number of copies.
    norm : Module, optional
        The normalization.

    Shapes
    ------
    tgt
        (T, N, E), (N, T, E) if `batch_first`, or (T, E).
    memory
        The outputs of the encoder, likewise with S steps.
    tgt_mask
        The `attn_mask` of self-attention.
    memory_mask
        The `attn_mask` of attention to the memory.
    tgt_key_padding_mask
        The `key_padding_mask` of self-attention.
    memory_key_padding_mask
        The `key_padding_mask` of attention to the memory.
    tgt_is_causal
        Whether `tgt_mask` masks all later steps.
    memory_is_causal
        Whether `memory_mask` masks all later steps.
    result
        Of the shape of `tgt`.

    See Also
    --------
    torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer, torch.nn.Transformer,
    torch.nn.TransformerEncoder

    Examples
    --------
    >>> decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2), num_layers=2)
    >>> decoder(torch.ones(3, 2, 8), torch.ones(5, 2, 8)).shape
    torch.Size([3, 2, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers, self.num_layers, self.norm = _clones(decoder_layer, num_layers), num_layers, norm

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:  # fmt: skip
        """Returns the decoded target sequence."""
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                        bool(tgt_is_causal), memory_is_causal)  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


@_documented
class Transformer(Module):
    """An encoder and a decoder (Vaswani et al., 2017). Matrices are initialized as in Glorot and Bengio (2010).

    Parameters
    ----------
    num_encoder_layers : int, default 6
        The number of the encoder's layers.
    num_decoder_layers : int, default 6
        The number of the decoder's layers.
    custom_encoder : Module, optional
        An encoder in place of `TransformerEncoder`.
    custom_decoder : Module, optional
        A decoder in place of `TransformerDecoder`.

    Shapes
    ------
    src
        (S, N, E), (N, S, E) if `batch_first`, or (S, E).
    tgt
        Likewise, with T steps.
    src_mask
        The `attn_mask` of the encoder.
    tgt_mask
        The `attn_mask` of the decoder.
    memory_mask
        The `attn_mask` of attention to the encoder's outputs.
    src_key_padding_mask
        The `key_padding_mask` of the encoder.
    tgt_key_padding_mask
        The `key_padding_mask` of the decoder.
    memory_key_padding_mask
        The `key_padding_mask` of attention to the encoder's outputs.
    src_is_causal
        Whether `src_mask` masks all later steps.
    tgt_is_causal
        Whether `tgt_mask` masks all later steps.
    memory_is_causal
        Whether `memory_mask` masks all later steps.
    result
        Of the shape of `tgt`.

    See Also
    --------
    torch.nn.MultiheadAttention, torch.nn.TransformerEncoder, torch.nn.TransformerDecoder,
    torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer

    Examples
    --------
    >>> model = nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1)
    >>> model(torch.ones(5, 2, 8), torch.ones(3, 2, 8)).shape
    torch.Size([3, 2, 8])
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = F.relu,
                 custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias,
                 device, dtype)  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            custom_encoder = TransformerEncoder(TransformerEncoderLayer(*layer), num_encoder_layers, norm())
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(TransformerDecoderLayer(*layer), num_decoder_layers, norm())
        self.encoder, self.decoder = custom_encoder, custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
                memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                src_is_causal: bool | None = None, tgt_is_causal: bool | None = None,
                memory_is_causal: bool = False) -> Tensor:  # fmt: skip
        """Returns the target sequence decoded from the source: (T, N, E), or (N, T, E) if `batch_first`.

        Raises
        ------
        RuntimeError
            If batch sizes or widths do not match.
        """
        batch = 0 if self.batch_first else 1
        shapes = f"src {list(src.dims)}, tgt {list(tgt.dims)}"
        if src.ndim == 3 and src.dims[batch] != tgt.dims[batch]:
            raise RuntimeError(f"the batch number of src and tgt must be equal: {shapes}")
        if src.dims[-1] != self.d_model or tgt.dims[-1] != self.d_model:
            raise RuntimeError(f"the feature number of src and tgt must be equal to d_model={self.d_model}: {shapes}")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                            tgt_is_causal, memory_is_causal)  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Returns a mask with -inf above the diagonal and 0 elsewhere, which hides later steps.

        Parameters
        ----------
        sz : int
            The number of steps.
        device : device or str, optional
            The device, by default the default device.
        dtype : dtype, optional
            The dtype, by default the default dtype.

        Returns
        -------
        Tensor
            A tensor of shape (sz, sz).

        Examples
        --------
        >>> nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        name = _core.t_default_dtype() if dtype is None else _types.dtype_name(dtype)
        return _diagonals.triu(_core.t_full([sz, sz], -math.inf, name, _types.resolve_device(device)), 1)


__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"
]  # fmt: skip
