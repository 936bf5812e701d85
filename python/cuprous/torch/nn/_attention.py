"""Attention: means of values, weighted by the similarity of keys and queries."""

from __future__ import annotations

import math

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _autocast, _broadcasting, _info, _joining, _shape
from cuprous.torch._softmax import softmax
from cuprous.torch.backends import cuda as _switches
from cuprous.torch.nn._cudnn_hint import prefer_cudnn
from cuprous.torch.nn._dropout import dropout
from cuprous.torch.nn._padding import pad

_map, _reduce = _core.t_map, _core.t_reduce


def _weights(scores: Tensor) -> Tensor:
    """Returns the softmax over the last dimension, and 0 in rows that are masked entirely."""
    top = _reduce("max", scores.detach(), [-1], True)
    powers = _map("exp", _map("subtract", scores, _map("where", _map("equal", top, -math.inf), 0, top)))
    total = _reduce("sum", powers, [-1], True)
    return _map("divide", powers, _map("where", _map("equal", total, 0), 1, total))


def causal(rows: int, columns: int, device_name: str) -> Tensor:
    """Returns a causal mask (bool): True where the column is not after the row."""
    return _core.t_iota([rows, columns], [-1, 1], 0, device_name) <= 0


def _factor(query: Tensor, scale: float | None) -> float:
    return 1.0 / math.sqrt(query.dims[-1]) if scale is None else scale


def _check_operands(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raises RuntimeError for operands of attention that do not fit together."""
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.ndim < 2 or x.dtype_name != query.dtype_name:
            raise RuntimeError(
                f"[scaled_dot_product_attention] {name} has shape {list(x.dims)} and dtype "
                f"{x.dtype_name}: at least two dimensions, and one dtype for all, are needed"
            )
    if query.dims[-1] != key.dims[-1] or key.dims[-2] != value.dims[-2]:
        raise RuntimeError(
            f"[scaled_dot_product_attention] query {list(query.dims)} and key {list(key.dims)} must "
            f"agree in the last dimension, key and value {list(value.dims)} in the one before it"
        )


def _check_mask(query: Tensor, key: Tensor, mask: Tensor) -> None:
    """Raises RuntimeError for a mask that is neither bool nor a number to be added to scores, or has other shapes."""
    if mask.dtype_name not in ("bool", "float32", query.dtype_name):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{mask.dtype_name} and query.dtype: {query.dtype_name} instead."
        )
    batch = _broadcasting.broadcast_shapes(query.dims[:-2], key.dims[:-2])
    scores = (*batch, query.dims[-2], key.dims[-2])
    if tuple(_broadcasting.broadcast_shapes(scores, mask.dims)) != scores:
        raise RuntimeError(
            f"[scaled_dot_product_attention] the mask of shape {list(mask.dims)} does not broadcast to the scores' "
            f"shape {list(scores)}"
        )


@_autocast.policy
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:  # fmt: skip
    """Returns `softmax(query @ key.T * scale + mask) @ value`.

    Inputs with four dimensions, without dropout, use a routine that does not store the scores: without mask, unless a
    gradient is needed, on the CPU always, and on a GPU for up to four queries or 2^18 scores; on a GPU in half
    precision otherwise one of cuDNN, with a mask too unless that needs a gradient. All other cases, and those that
    `torch.nn.attention.sdpa_kernel` selects, use the formula. Half precision is computed in float32 and rounded once,
    except that the formula on a GPU rounds scores and weights.

    Parameters
    ----------
    query : Tensor
        A tensor of shape (..., heads, L, E), of a floating dtype.
    key : Tensor
        A tensor of shape (..., heads, S, E).
    value : Tensor
        A tensor of shape (..., heads, S, Ev).
    attn_mask : Tensor, optional
        bool (True takes part) or float (added), broadcastable to (..., L, S).
    dropout_p : float, default 0.0
        The probability with which weights are dropped, also outside of training.
    is_causal : bool, default False
        Whether query i attends to keys up to i only, and of them to those that `attn_mask` allows.
    scale : float, optional
        The factor of the scores, 1/√E by default.
    enable_gqa : bool, default False
        Whether there are fewer heads of keys and values than of queries, each of which serves several.

    Returns
    -------
    Tensor
        A tensor of shape (..., heads, L, Ev).

    Raises
    ------
    RuntimeError
        For shapes that do not fit, masks of other dtypes than bool, float32 and that of `query`, or where the formula
        is needed and not allowed.

    See Also
    --------
    torch.nn.functional.multi_head_attention_forward

    Examples
    --------
    >>> x = torch.ones(1, 1, 3, 2)
    >>> F.scaled_dot_product_attention(x, x, x, is_causal=True).shape
    torch.Size([1, 1, 3, 2])
    """
    if enable_gqa:
        _check_operands(query, key, value)
        heads, of_keys, of_values = (x.dims[-3] for x in (query, key, value))
        if heads % of_keys or heads % of_values:
            raise RuntimeError(f"[scaled_dot_product_attention] enable_gqa: {heads} heads of queries: no multiple of "
                               f"{of_keys} of keys and {of_values} of values")  # fmt: skip
        if attn_mask is None and dropout_p == 0 and not is_causal and query.ndim == 4 and of_keys == of_values:
            # All queries of a head of keys are rows of that head, so that keys and values are not repeated.
            batch, _, rows, width = query.dims
            grouped = query.reshape(batch, of_keys, heads // of_keys * rows, width)
            result = scaled_dot_product_attention(grouped, key, value, scale=scale)
            return result.reshape(batch, heads, rows, value.dims[-1])
        key = _joining.repeat_interleave(key, heads // of_keys, -3)
        value = _joining.repeat_interleave(value, heads // of_values, -3)
    if attn_mask is not None:
        _check_operands(query, key, value)
        _check_mask(query, key, attn_mask)
    if query.dtype_name in ("float16", "bfloat16") and not query.is_cuda:
        return _in_float32(query, key, value, attn_mask, dropout_p, is_causal, scale)
    return _attend(query, key, value, attn_mask, dropout_p, is_causal, scale)


def _in_float32(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float,
                is_causal: bool, scale: float | None) -> Tensor:  # fmt: skip
    """Returns attention of half precision whose scores and weights are not rounded."""
    _check_operands(query, key, value)
    q, k, v = (_core.t_cast(x, "float32") for x in (query, key, value))
    previous = _core.set_autocast_dtype("cpu", None)
    try:
        return _core.t_cast(_attend(q, k, v, attn_mask, dropout_p, is_causal, scale), query.dtype_name)
    finally:
        _core.set_autocast_dtype("cpu", previous)


def _fused(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool,
           factor: float) -> Tensor | None:  # fmt: skip
    """Returns attention by a routine of the device, or None if it has none for these operands."""
    if attn_mask is None:
        return _core.t_attention(query, key, value, None, is_causal, factor)
    half = query.dtype_name in ("float16", "bfloat16") and query.is_cuda
    if not half or attn_mask.requires_grad or attn_mask.ndim > 4 or key.ndim != 4 or not _core.has_cudnn():
        return None
    rows, columns = query.dims[-2], key.dims[-2]
    if is_causal:
        lower = causal(rows, columns, query.device_name)
        is_bool = attn_mask.dtype_name == "bool"
        attn_mask = _map("logical_and", attn_mask, lower) if is_bool else _map("where", lower, attn_mask, -math.inf)
    # The routine needs finite masks. A row that is masked entirely gives zeros.
    lowest = _info.finfo(query.dtype).min
    if attn_mask.dtype_name == "bool":
        takes_part = attn_mask
        added = _map("where", attn_mask, _core.t_full([], 0.0, query.dtype_name, query.device_name), lowest)
    else:
        takes_part = _map("greater", attn_mask, -math.inf)
        added = _map("maximum", attn_mask, lowest)
    batch, heads = ([1] * (4 - attn_mask.ndim) + list(attn_mask.dims))[:2]
    added = _broadcasting.broadcast_to(added, [batch, heads, rows, columns])
    mixed = _core.t_attention(query, key, value, added, False, factor)
    return None if mixed is None else _map("where", _reduce("max", takes_part, [-1], True), mixed, 0)


def _attend(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool,
            scale: float | None) -> Tensor:  # fmt: skip
    """Returns attention by a routine of the device, or by the formula."""
    if attn_mask is not None and attn_mask.dtype_name != "bool":
        attn_mask = _core.t_cast(attn_mask, query.dtype_name)
    if dropout_p == 0 and query.ndim == 4 and _switches.fused_sdp_enabled():
        mixed = _fused(query, key, value, attn_mask, is_causal, _factor(query, scale))
        if mixed is not None:
            return mixed
        if query.dtype_name in ("float16", "bfloat16"):
            prefer_cudnn(query)
    _check_operands(query, key, value)
    if not _switches.math_sdp_enabled():
        raise RuntimeError(
            "No available kernel. Aborting execution. [scaled_dot_product_attention] the math backend is not allowed, "
            "and no fused backend supports these tensors"
        )
    if is_causal:  # before the product, so that the product and the softmax can be fused
        lower = causal(query.dims[-2], key.dims[-2], query.device_name)
        if attn_mask is None:
            attn_mask = lower
        elif attn_mask.dtype_name == "bool":
            attn_mask = _map("logical_and", attn_mask, lower)
        else:
            attn_mask = _map("where", lower, attn_mask, -math.inf)
        is_causal = attn_mask is lower
    scores = _map("multiply", query @ _shape.transpose(key, -2, -1), _factor(query, scale))
    if attn_mask is not None:
        if attn_mask.dtype_name == "bool":
            scores = _map("where", attn_mask, scores, -math.inf)
        else:
            scores = _map("add", scores, attn_mask)
    if not scores.numel():
        return scores @ value  # zeros where there are no keys
    # Calls the engine directly, because `autocast` would cast the function to float32; the engine computes in float32
    # and rounds once.
    weights = _core.t_softmax(scores, -1, False) if attn_mask is None or is_causal else _weights(scores)
    return dropout(weights, dropout_p, dropout_p > 0) @ value


def additive_mask(mask: Tensor | None, name: str, dtype: str) -> Tensor | None:
    """Returns a mask as floats to be added to scores: -inf where a bool mask is True.

    Raises
    ------
    AssertionError
        For dtypes other than bool and floats.
    """
    if mask is None or (mask.is_floating_point() and mask.dtype_name == dtype):
        return mask
    if mask.dtype_name == "bool":
        zero = _core.t_full(list(mask.dims), 0.0, dtype, mask.device_name)
        return _map("where", mask, -math.inf, zero)
    if not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported, not {mask.dtype_name}")
    return _core.t_cast(mask, dtype)


def _project(query: Tensor, key: Tensor, value: Tensor, weights: list[Tensor], bias: Tensor | None) -> list[Tensor]:
    """Returns the projections of queries, keys and values by separate weights; equal inputs share one product."""
    linear = _core.t_linear
    if len(weights) == 1:
        (weight,) = weights
        if query is key and key is value:
            return list(_joining.chunk(linear(query, weight, bias), 3, -1))
        weights = list(_joining.chunk(weight, 3, 0))
    biases = [None] * 3 if bias is None else list(_joining.chunk(bias, 3, 0))
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]


def _check_attention(query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_heads: int) -> bool:
    """Returns True if there is a batch dimension.

    Raises
    ------
    AssertionError
        For shapes that do not match.
    """
    shapes = f"query {list(query.dims)}, key {list(key.dims)}, value {list(value.dims)}"
    if query.ndim not in (2, 3) or not query.ndim == key.ndim == value.ndim:
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor and key and value alike, but got {shapes}"
        )
    if query.dims[-1] != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {query.dims[-1]}: {shapes}")
    if embed_dim % num_heads:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if key.dims[:-1] != value.dims[:-1]:
        raise AssertionError(f"key's sequence and batch dims do not match value's: {shapes}")
    return query.ndim == 3


def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
                                 in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None,
                                 bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor,
                                 out_proj_bias: Tensor | None, training: bool = True,
                                 key_padding_mask: Tensor | None = None, need_weights: bool = True,
                                 attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False,
                                 q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
                                 v_proj_weight: Tensor | None = None, static_k: Tensor | None = None,
                                 static_v: Tensor | None = None, average_attn_weights: bool = True,
                                 is_causal: bool = False) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Computes `nn.MultiheadAttention` with its parameters as arguments.

    Parameters
    ----------
    query : Tensor
        A tensor of shape (L, N, E).
    key : Tensor
        A tensor of shape (S, N, E).
    value : Tensor
        A tensor of shape (S, N, E).
    embed_dim_to_check : int
        E.
    num_heads : int
        The number of heads, a divisor of E.
    in_proj_weight : Tensor or None
        The weights of all three projections, (3 E, E), or None.
    in_proj_bias : Tensor or None
        The biases of all three projections, (3 E), or None.
    bias_k : Tensor or None
        A key that is appended, or None.
    bias_v : Tensor or None
        A value that is appended, or None.
    add_zero_attn : bool
        Whether a key and a value of zeros are appended.
    dropout_p : float
        The probability with which weights are dropped in training.
    out_proj_weight : Tensor
        The weights of the output's projection, (E, E).
    out_proj_bias : Tensor or None
        Its biases, (E).
    training : bool, default True
        Whether weights are dropped.
    key_padding_mask : Tensor, optional
        A mask of keys, (N, S): True or -inf for keys that take no part.
    need_weights : bool, default True
        Whether to return the weights.
    attn_mask : Tensor, optional
        A mask, (L, S) or (N · heads, L, S): True or -inf where a key takes no part.
    use_separate_proj_weight : bool, default False
        Whether the projections have weights of their own.
    q_proj_weight : Tensor, optional
        The weights of the queries' projection.
    k_proj_weight : Tensor, optional
        The weights of the keys' projection.
    v_proj_weight : Tensor, optional
        The weights of the values' projection.
    static_k : Tensor, optional
        For PyTorch's signature; only None.
    static_v : Tensor, optional
        For PyTorch's signature; only None.
    average_attn_weights : bool, default True
        Whether weights are averaged over heads.
    is_causal : bool, default False
        Whether `attn_mask` is a causal mask.

    Returns
    -------
    tuple
        The outputs (L, N, E), and the weights: (N, L, S), or (N, heads, L, S) unless averaged; None if not needed.

    See Also
    --------
    torch.nn.functional.scaled_dot_product_attention

    Examples
    --------
    >>> x, weight = torch.ones(3, 1, 2), torch.ones(6, 2)
    >>> out, weights = F.multi_head_attention_forward(
    ...     x, x, x, 2, 1, weight, torch.zeros(6), None, None, False, 0.0, torch.eye(2), torch.zeros(2))
    >>> out.shape, weights.shape
    (torch.Size([3, 1, 2]), torch.Size([1, 3, 3]))
    """
    if static_k is not None or static_v is not None:
        raise NotImplementedError("[multi_head_attention_forward] static_k and static_v are not supported")
    batched = _check_attention(query, key, value, embed_dim_to_check, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    alone = is_causal and key_padding_mask is None and not need_weights
    separate = [q_proj_weight, k_proj_weight, v_proj_weight] if use_separate_proj_weight else [in_proj_weight]
    weights = [w for w in separate if w is not None]
    q, k, v = _project(query, key, value, weights, in_proj_bias)
    if not batched:
        q, k, v = (x.unsqueeze(1) for x in (q, k, v))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    steps, n, width = q.dims
    size, head = k.dims[0], width // num_heads
    mask = additive_mask(attn_mask, "attn_mask", q.dtype_name)
    padding = additive_mask(key_padding_mask, "key_padding_mask", q.dtype_name)
    if mask is not None and mask.dims not in ((steps, size), (n * num_heads, steps, size)):
        raise RuntimeError(f"The shape of the attn_mask is {list(mask.dims)}, but should be {(steps, size)} or "
                           f"{(n * num_heads, steps, size)}.")  # fmt: skip
    if padding is not None and padding.dims != (n, size):
        raise AssertionError(f"expecting key_padding_mask shape of {(n, size)}, but got {list(padding.dims)}")
    extra = 0
    if bias_k is not None and bias_v is not None:
        k = _joining.cat([k, _core.t_expand(bias_k, [1, n, width])])
        v = _joining.cat([v, _core.t_expand(bias_v, [1, n, width])])
        extra += 1

    def heads(x: Tensor) -> Tensor:
        return x.reshape(x.dims[0], n, num_heads, head).permute(1, 2, 0, 3)

    q, k, v = heads(q), heads(k), heads(v)
    if add_zero_attn:
        zero = _core.t_full([n, num_heads, 1, head], 0, q.dtype_name, q.device_name)
        k, v = _joining.cat([k, zero], 2), _joining.cat([v, zero], 2)
        extra += 1
    p = dropout_p if training else 0.0
    if alone and not extra:
        mixed, shown = scaled_dot_product_attention(q, k, v, None, p, True), None
    else:
        total = _combine_masks(mask, padding, n, num_heads, extra)
        if need_weights:
            scores = _map("multiply", q, 1.0 / math.sqrt(head)) @ _shape.transpose(k, -2, -1)
            shown = dropout(softmax(scores if total is None else _map("add", scores, total), -1), p, p > 0)
            mixed = shown @ v
        else:
            mixed, shown = scaled_dot_product_attention(q, k, v, total, p), None
    out = _core.t_linear(mixed.permute(2, 0, 1, 3).reshape(steps, n, width), out_proj_weight, out_proj_bias)
    if shown is not None and average_attn_weights:
        shown = shown.mean(1)
    if not batched:
        out, shown = out.squeeze(1), None if shown is None else shown.squeeze(0)
    return out, shown


def _combine_masks(mask: Tensor | None, padding: Tensor | None, n: int, heads: int, extra: int) -> Tensor | None:
    """Returns both masks combined, of shape (N or 1, heads or 1, L or 1, S), with zeros for added keys."""
    parts = []
    if mask is not None:
        parts.append(mask if mask.ndim == 2 else mask.reshape(n, heads, *mask.dims[1:]))
    if padding is not None:
        parts.append(padding.reshape(n, 1, 1, -1))
    parts = [pad(part, (0, extra)) if extra else part for part in parts]
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else _map("add", parts[0], parts[1])


__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]
