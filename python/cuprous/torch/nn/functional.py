"""The functions behind the layers: activations, dropout, normalisation, embedding, losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _creation, _indexing, _reductions, _shape
from cuprous.torch._args import unsupported
from cuprous.torch._pointwise import clamp
from cuprous.torch._products import bilinear, linear
from cuprous.torch._reductions import log_softmax, softmax

_map = _core.t_map

# --- activations


def _written(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    if not inplace:
        return result
    _core.t_update(input, result)
    return input


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """`max(x, 0)`; the gradient at 0 is 0."""
    return _written(input, _map("where", _map("less_equal", input, 0), 0, input), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`min(max(x, 0), 6)`."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`min(max(x, min_val), max_val)`; the gradient at the bounds is 0."""
    low = _map("where", _map("less_equal", input, min_val), min_val, input)
    return _written(input, _map("where", _map("greater_equal", input, max_val), max_val, low), inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x above 0, otherwise x times a slope."""
    return _written(
        input, _map("where", _map("greater", input, 0), input, _map("multiply", input, negative_slope)), inplace
    )


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x above 0, otherwise x times a weight (one, or one a channel)."""
    if weight.numel() > 1:
        weight = weight.reshape([-1 if k == 1 else 1 for k in range(max(input.ndim, 2))]) if input.ndim > 1 else weight
    return _map("where", _map("greater", input, 0), input, _map("multiply", input, weight))


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x above 0, otherwise `alpha (exp(x) - 1)`."""
    return _written(input, _exponential(input, alpha, 1.0, 1.0), inplace)


def _exponential(x: Tensor, alpha: float, scale: float, inner: float) -> Tensor:
    positive = _map("greater", x, 0)
    # What is not taken must stay finite, or its gradient would be 0 times infinity.
    low = _map("expm1", _map("where", positive, 0, x if inner == 1 else _map("multiply", x, inner)))
    low = low if alpha == 1 else _map("multiply", low, alpha)
    result = _map("where", positive, x, low)
    return result if scale == 1 else _map("multiply", result, scale)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The scaled ELU that keeps mean 0 and variance 1."""
    return _written(input, _exponential(input, 1.6732632423543772, 1.0507009873554805, 1.0), inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x above 0, otherwise `alpha (exp(x / alpha) - 1)`."""
    return _written(input, _exponential(input, alpha, 1.0, 1.0 / alpha), inplace)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x, or with "tanh" nearly so."""
    if approximate == "none":
        return _map("multiply", input, _map("ndtr", input))
    if approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    cube = _map("multiply", _map("square", input), input)
    inner = _map("multiply", _map("add", input, _map("multiply", cube, 0.044715)), math.sqrt(2 / math.pi))
    return _map("multiply", _map("multiply", input, 0.5), _map("add", _map("tanh", inner), 1.0))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * sigmoid(x)`."""
    return _written(input, _map("multiply", input, _map("expit", input)), inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * tanh(softplus(x))`."""
    return _written(input, _map("multiply", input, _map("tanh", softplus(input))), inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """`log(1 + exp(beta x)) / beta`, and x where beta x is above the threshold."""
    scaled = input if beta == 1 else _map("multiply", input, beta)
    high = _map("greater", scaled, threshold)
    soft = _map("log1p", _map("exp", _map("where", high, 0, scaled)))
    return _map("where", high, input, soft if beta == 1 else _map("divide", soft, beta))


def softsign(input: Tensor) -> Tensor:
    """`x / (1 + |x|)`."""
    return _map("divide", input, _map("add", _map("absolute", input), 1))


def logsigmoid(input: Tensor) -> Tensor:
    """The logarithm of the sigmoid."""
    return _map("subtract", clamp(input, max=0), _map("log1p", _map("exp", _map("negative", _map("absolute", input)))))


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """`min(max(x / 6 + 1/2, 0), 1)`."""
    return _written(input, _map("divide", hardtanh(_map("add", input, 3), 0.0, 6.0), 6.0), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x * hardsigmoid(x)`."""
    return _written(input, _map("multiply", input, hardsigmoid(input)), inplace)


def sigmoid(input: Tensor) -> Tensor:
    """`1 / (1 + exp(-x))`."""
    return _map("expit", input)


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return _map("tanh", input)


def softmin(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """`softmax(-x)`."""
    return softmax(_map("negative", input), dim, dtype)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """One half times the sigmoid of the other."""
    a, b = _shape.chunk(input, 2, dim)
    return _map("multiply", a, _map("expit", b))


# --- dropout


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements set to 0 with probability p, the others divided by 1 - p; nothing unless training."""
    return _dropped(input, p, training, inplace, input.dims)


def _dropped(input: Tensor, p: float, training: bool, inplace: bool, shape: Sequence[int]) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    kind = "float64" if input.dtype_name == "float64" else "float32"
    keep = _map("greater_equal", _creation.draw_floats("unit", shape, kind, input.device_name), p)
    scaled = _map("multiply", input, 1.0 / (1.0 - p) if p < 1 else 0.0)
    return _written(input, _map("where", keep, scaled, 0), inplace)


def _channels(function: str, ndim: int) -> Callable[..., Tensor]:
    def drop(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        lead = 2 if input.ndim == ndim + 2 else 1
        return _dropped(input, p, training, inplace, [*input.dims[:lead], *(1 for _ in input.dims[lead:])])

    drop.__name__ = drop.__qualname__ = function
    drop.__doc__ = "Whole channels set to 0 with probability p, the others divided by 1 - p; nothing unless training."
    return drop


dropout1d, dropout2d, dropout3d = (_channels(f"dropout{n}d", n) for n in (1, 2, 3))

# --- normalisation


def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:  # fmt: skip
    """The last dimensions brought to mean 0 and variance 1, then scaled and shifted."""
    shape = tuple(normalized_shape)
    if input.dims[input.ndim - len(shape) :] != shape:
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape "
                           f"[*, {', '.join(map(str, shape))}], but got input of size{list(input.dims)}")  # fmt: skip
    dims = list(range(-len(shape), 0))
    mean = _reductions.mean(input, dims, True)
    centred = _map("subtract", input, mean)
    variance = _reductions.mean(_map("square", centred), dims, True)
    result = _map("multiply", centred, _map("rsqrt", _map("add", variance, eps)))
    result = result if weight is None else _map("multiply", result, weight)
    return result if bias is None else _map("add", result, bias)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The last dimensions divided by their root mean square, then scaled."""
    from cuprous.torch._info import finfo

    dims = list(range(-len(tuple(normalized_shape)), 0))
    square = _reductions.mean(_map("square", input), dims, True)
    result = _map("multiply", input, _map("rsqrt", _map("add", square, finfo(input.dtype).eps if eps is None else eps)))
    return result if weight is None else _map("multiply", result, weight)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """Divided by the p-norm along a dimension."""
    return _map("divide", input, clamp(_reductions.norm(input, p, dim, True), min=eps))


# --- embedding and similarity


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:  # fmt: skip
    """Rows of a table; that of `padding_idx` gets no gradient."""
    unsupported(
        "embedding", max_norm=(max_norm, None), scale_grad_by_freq=(scale_grad_by_freq, False), sparse=(sparse, False)
    )
    if input.is_floating_point():
        raise RuntimeError(
            f"Expected tensor for argument 'indices' to have scalar type Long; but got {input.dtype_name}"
        )
    result = _indexing.rows(weight, input)
    if padding_idx is not None and weight.requires_grad:
        padding_idx = padding_idx + weight.dims[0] if padding_idx < 0 else padding_idx
        padding = _map("equal", input, padding_idx).unsqueeze(-1)
        result = _map("where", padding, result.detach(), result)
    return result


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at each number's place, 0 elsewhere (int64)."""
    n = int(tensor.max()) + 1 if num_classes == -1 else num_classes
    places = _core.t_iota([n], [1], 0, tensor.device_name)
    return _core.t_cast(_map("equal", tensor.unsqueeze(-1), places), "int64")


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension."""
    top = _reductions.sum(x1 * x2, dim)
    return top / (clamp(_reductions.norm(x1, 2, dim), min=eps) * clamp(_reductions.norm(x2, 2, dim), min=eps))


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of the difference of vectors in the last dimension."""
    return _reductions.norm(x1 - x2 + eps, p, -1, keepdim)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Extended at its edges (the last dimension first) by a value; negative widths cut.

    Raises:
        NotImplementedError: for the modes reflect, replicate and circular.
    """
    if mode != "constant":
        raise NotImplementedError(f"[pad] mode={mode!r} is not supported")
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise RuntimeError("Padding length must be divisible by 2 and at most twice the number of dimensions")
    for k in range(len(pad) // 2):
        dim = input.ndim - 1 - k
        before, after = pad[2 * k], pad[2 * k + 1]
        begin, end = max(-before, 0), input.dims[dim] - max(-after, 0)
        if (begin, end) != (0, input.dims[dim]):
            input = _shape.narrow(input, dim, begin, end - begin)
        pieces = [input]
        for width, at in ((before, 0), (after, 1)):
            if width > 0:
                shape = [width if i == dim else n for i, n in enumerate(input.dims)]
                edge = _core.t_full(shape, value or 0, input.dtype_name, input.device_name)
                pieces.insert(0 if at == 0 else len(pieces), edge)
        input = _shape.cat(pieces, dim) if len(pieces) > 1 else input
    return input


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:  # fmt: skip
    """`softmax(query @ key.T * scale + mask) @ value`."""
    unsupported("scaled_dot_product_attention", enable_gqa=(enable_gqa, False))
    factor = 1.0 / math.sqrt(query.dims[-1]) if scale is None else scale
    scores = _map("multiply", query @ _shape.transpose(key, -2, -1), factor)
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        n, m = query.dims[-2], key.dims[-2]
        attn_mask = _core.t_iota([n, m], [-1, 1], 0, query.device_name) <= 0
    if attn_mask is not None:
        if attn_mask.dtype_name == "bool":
            scores = _map("where", attn_mask, scores, -math.inf)
        else:
            scores = _map("add", scores, attn_mask)
    return dropout(softmax(scores, -1), dropout_p, dropout_p > 0) @ value


# --- losses


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return _reductions.mean(loss)
    if reduction == "sum":
        return _reductions.sum(loss)
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def _legacy(size_average: Any, reduce: Any, reduction: str) -> str:
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def _alike(input: Tensor, target: Tensor) -> None:
    if input.dims != target.dims:
        import warnings

        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def mse_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
             weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """The squared difference."""
    _alike(input, target)
    loss = (input - target) ** 2
    loss = loss if weight is None else _map("multiply", loss, weight)
    return _reduced(loss, _legacy(size_average, reduce, reduction))


def l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
            weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """The absolute difference."""
    _alike(input, target)
    loss = _map("absolute", _map("subtract", input, target))
    loss = loss if weight is None else _map("multiply", loss, weight)
    return _reduced(loss, _legacy(size_average, reduce, reduction))


def _rounded(input: Tensor, target: Tensor, at: float, linear: float) -> Tensor:
    """Half the square below a distance, linear beyond; `linear` scales the latter's slope."""
    size = _map("absolute", _map("subtract", input, target))
    near = _map("multiply", _map("square", size), 0.5 * linear / at)
    return _map("where", _map("less", size, at), near, _map("multiply", _map("subtract", size, 0.5 * at), linear))


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:  # fmt: skip
    """Half the square over beta below beta, the absolute difference less beta/2 above."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, size_average, reduce, reduction)
    _alike(input, target)
    return _reduced(_rounded(input, target, beta, 1.0), _legacy(size_average, reduce, reduction))


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the square below delta, linear above."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _alike(input, target)
    loss = _rounded(input, target, delta, delta)
    return _reduced(loss if weight is None else _map("multiply", loss, weight), reduction)


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
                         reduce: Any = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """`-(t log p + (1 - t) log(1 - p))`, each logarithm no less than -100."""
    if input.dims != target.dims:
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
                         "deprecated. Please ensure they have the same size.")  # fmt: skip
    yes = _map("multiply", target, _log_from(input))
    no = _map("multiply", _map("subtract", 1, target), _log_from(_map("subtract", 1, input)))
    loss = _map("negative", _map("add", yes, no))
    loss = loss if weight is None else _map("multiply", loss, weight)
    return _reduced(loss, _legacy(size_average, reduce, reduction))


def _log_from(p: Tensor) -> Tensor:
    tiny = _map("less", p, math.exp(-100.0))
    return _map("where", tiny, -100.0, _map("log", _map("where", tiny, 1, p)))


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     size_average: Any = None, reduce: Any = None, reduction: str = "mean",
                                     pos_weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """The cross entropy of the sigmoid of the input."""
    if input.dims != target.dims:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    lower = logsigmoid(input)
    if pos_weight is None:
        loss = _map("subtract", _map("multiply", _map("subtract", 1, target), input), lower)
    else:
        factor = _map("add", _map("multiply", _map("subtract", pos_weight, 1), target), 1)
        loss = _map("subtract", _map("multiply", _map("subtract", 1, target), input), _map("multiply", factor, lower))
    loss = loss if weight is None else _map("multiply", loss, weight)
    return _reduced(loss, _legacy(size_average, reduce, reduction))


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
             ignore_index: int = -100, reduce: Any = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """The negative of each target class' value; classes are dimension 1 (0 of a vector)."""
    return _likelihood(input, target, weight, ignore_index, _legacy(size_average, reduce, reduction))[0]


def _likelihood(
    logs: Tensor, target: Tensor, weight: Tensor | None, ignore: int, reduction: str
) -> tuple[Tensor, Tensor]:
    """The loss, and the weight of each target."""
    if target.is_floating_point():
        raise RuntimeError(f'"nll_loss" not implemented for targets of dtype {target.dtype_name}')
    dim = 0 if logs.ndim == 1 else 1
    expected = logs.dims[:dim] + logs.dims[dim + 1 :]
    if target.dims != expected:
        raise ValueError(f"Expected target size {list(expected)}, got {list(target.dims)}")
    valid = _map("not_equal", target, ignore)
    index = _map("where", valid, target, 0)
    picked = _shape.squeeze(_indexing.gather(logs, dim, index.unsqueeze(dim)), dim)
    own = _core.t_cast(valid, logs.dtype_name)
    if weight is not None:
        own = _map("multiply", own, _indexing.gather(weight, 0, index.reshape(-1)).reshape(index.dims))
    loss = _map("negative", _map("where", valid, _map("multiply", picked, own), 0))
    if reduction == "mean":
        return _map("divide", _reductions.sum(loss), _reductions.sum(own)), own
    return _reduced(loss, reduction), own


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
                  ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:  # fmt: skip
    """The cross entropy of the softmax of the input with target classes, or with probabilities of the input's shape."""
    reduction = _legacy(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    dim = 0 if input.ndim == 1 else 1
    logs = log_softmax(input, dim)
    wide = None if weight is None else weight.reshape([-1 if k == dim else 1 for k in range(input.ndim)])
    classes = input.dims[dim]
    if target.is_floating_point():
        if target.dims != input.dims:
            raise ValueError(f"Expected floating point type for target with class probabilities of shape {input.shape}")
        if label_smoothing:
            target = _map("add", _map("multiply", target, 1 - label_smoothing), label_smoothing / classes)
        terms = _map("multiply", logs, target)
        loss = _map("negative", _reductions.sum(terms if wide is None else _map("multiply", terms, wide), dim))
        if reduction == "mean":
            return _map("divide", _reductions.sum(loss), max(input.numel() // classes, 1))
        return _reduced(loss, reduction)
    loss, own = _likelihood(logs, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    valid = _map("not_equal", target, ignore_index)
    terms = _reductions.sum(logs if wide is None else _map("multiply", logs, wide), dim)
    smooth = _map("negative", _map("where", valid, terms, 0))
    if reduction == "mean":
        smooth = _map("divide", _reductions.sum(smooth), _reductions.sum(own))
    else:
        smooth = _reduced(smooth, reduction)
    return _map("add", _map("multiply", loss, 1 - label_smoothing), _map("multiply", smooth, label_smoothing / classes))


def kl_div(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
           log_target: bool = False) -> Tensor:  # fmt: skip
    """`t (log t - x)`, of logarithms x."""
    from cuprous.torch._pointwise import xlogy

    if log_target:
        loss = _map("multiply", _map("exp", target), _map("subtract", target, input))
    else:
        loss = _map("subtract", xlogy(target, target), _map("multiply", target, input))
    reduction = _legacy(size_average, reduce, reduction)
    if reduction == "batchmean":
        return _map("divide", _reductions.sum(loss), input.dims[0])
    return _reduced(loss, reduction)


__all__ = [
    "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "cosine_similarity",
    "cross_entropy", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "embedding", "gelu", "glu",
    "hardsigmoid", "hardswish", "hardtanh", "huber_loss", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear",
    "log_softmax", "logsigmoid", "mish", "mse_loss", "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance",
    "prelu", "relu", "relu6", "rms_norm", "scaled_dot_product_attention", "selu", "sigmoid", "silu", "smooth_l1_loss",
    "softmax", "softmin", "softplus", "softsign", "tanh",
]  # fmt: skip
