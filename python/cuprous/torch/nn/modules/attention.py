"""Multi-head attention."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _creation
from cuprous.torch.nn import functional as F
from cuprous.torch.nn import init
from cuprous.torch.nn.modules.linear import NonDynamicallyQuantizableLinear
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parameter import Parameter


class MultiheadAttention(Module):
    """Multi-head attention (Vaswani et al., 2017); each head attends to its part of the projected features.

    Parameters: `in_proj_weight` (3E, E), or `q_proj_weight`, `k_proj_weight`, `v_proj_weight` if keys or values have
    other widths; `in_proj_bias` (3E), `out_proj`, and with `add_bias_kv` `bias_k` and `bias_v` (1, 1, E).

    Parameters
    ----------
    embed_dim : int
        The width E of queries and outputs.
    num_heads : int
        The number of heads, a divisor of E.
    dropout : float, default 0.0
        The probability with which weights are dropped in training.
    bias : bool, default True
        Whether the projections have biases.
    add_bias_kv : bool, default False
        Whether a learned key and value are appended.
    add_zero_attn : bool, default False
        Whether a key and a value of zeros are appended.
    kdim : int, optional
        The width of keys, by default E.
    vdim : int, optional
        The width of values, by default E.
    batch_first : bool, default False
        Whether the batch is the first dimension; the steps are otherwise.
    device : device or str, optional
        The device of the parameters, by default the default device.
    dtype : dtype, optional
        The dtype of the parameters, by default the default dtype.

    See Also
    --------
    torch.nn.Transformer

    Examples
    --------
    >>> x = torch.ones(3, 2, 4)
    >>> out, weights = nn.MultiheadAttention(4, 2)(x, x, x)
    >>> out.shape, weights.shape
    (torch.Size([3, 2, 4]), torch.Size([2, 3, 3]))
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
                 vdim: int | None = None, batch_first: bool = False, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads="
                             f"{num_heads} instead")  # fmt: skip
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = kdim if kdim is not None else embed_dim, vdim if vdim is not None else embed_dim
        self.head_dim, self.add_zero_attn = embed_dim // num_heads, add_zero_attn
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim

        def made(*shape: int, wanted: bool = True) -> Parameter | None:
            return Parameter(_creation.empty(shape, device=device, dtype=dtype)) if wanted else None

        same = self._qkv_same_embed_dim
        self.register_parameter("in_proj_weight", made(3 * embed_dim, embed_dim, wanted=same))
        for name, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            self.register_parameter(f"{name}_proj_weight", made(embed_dim, width, wanted=not same))
        self.register_parameter("in_proj_bias", made(3 * embed_dim, wanted=bias))
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.bias_k = made(1, 1, embed_dim, wanted=add_bias_kv)
        self.bias_v = made(1, 1, embed_dim, wanted=add_bias_kv)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            if name == "in_proj_bias":
                init.zeros_(parameter)
            elif name.endswith("weight"):
                init.xavier_uniform_(parameter)
            else:
                init.xavier_normal_(parameter)
        if self.in_proj_bias is not None:
            init.zeros_(self.out_proj.bias)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
                need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Tensor, Any]:  # fmt: skip
        """Returns the outputs and the weights.

        Parameters
        ----------
        query : Tensor
            (L, N, E), (N, L, E) if `batch_first`, or (L, E).
        key : Tensor
            Likewise, with S steps.
        value : Tensor
            Likewise, with S steps.
        key_padding_mask : Tensor, optional
            (N, S): True where a key is ignored; or floats that are added.
        need_weights : bool, default True
            Whether to return the weights, (N, L, S).
        attn_mask : Tensor, optional
            (L, S) or (N · heads, L, S): True where a key is ignored; or floats that are added.
        average_attn_weights : bool, default True
            Whether weights are averaged over heads.
        is_causal : bool, default False
            Whether `attn_mask` masks all later keys.

        Returns
        -------
        tuple
            A pair of a tensor of the shape of `query`, and a tensor or None.

        Examples
        --------
        >>> x = torch.ones(3, 2, 4)
        >>> out, weights = nn.MultiheadAttention(4, 2)(x, x, x, need_weights=False)
        >>> weights is None
        True
        """
        transposed = self.batch_first and query.ndim == 3
        if transposed:  # equal inputs stay one object, because they share one product
            found = {id(x): x.transpose(0, 1) for x in (query, key, value)}
            query, key, value = (found[id(x)] for x in (query, key, value))
        try:
            out, weights = F.multi_head_attention_forward(
                query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
                self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training,
                key_padding_mask, need_weights, attn_mask, not self._qkv_same_embed_dim, self.q_proj_weight,
                self.k_proj_weight, self.v_proj_weight, average_attn_weights=average_attn_weights, is_causal=is_causal,
            )  # fmt: skip
        except AssertionError as error:
            name = f"MultiheadAttention(embed_dim={self.embed_dim}, num_heads={self.num_heads})"
            raise AssertionError(f"[{name}] {error}") from None
        return (out.transpose(0, 1) if transposed else out), weights


__all__ = ["MultiheadAttention"]
