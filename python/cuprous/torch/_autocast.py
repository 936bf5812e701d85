"""The dtypes in which functions compute under `autocast`, as in PyTorch, and the decorator that applies them.

The native module holds the state. It casts the operands of products (`@`, `t_matmul`, `t_linear`, `t_convolution`), of
powers and of the table's elementwise functions itself. Every other function of the table is decorated with `policy`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor

#: For each policy the functions that have it. Some are not functions of PyTorch: `direction` and `together` belong to
#: the recurrent layers. `cross_entropy` and `mse_loss` are "float32" and cast in their bodies.
_LISTS = {
    "half": "addmm addmv baddbmm chain_matmul conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
    "direction einsum prelu scaled_dot_product_attention together",
    "float32": "binary_cross_entropy_with_logits cosine_embedding_loss ctc_loss hinge_embedding_loss huber_loss kl_div "
    "l1_loss margin_ranking_loss multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss smooth_l1_loss "
    "soft_margin_loss triplet_margin_loss",
    "float32 on GPUs": "acos asin cdist cosh cosine_similarity dist erfinv exp expm1 group_norm layer_norm log log10 "
    "log1p log2 norm normalize pdist pow reciprocal renorm rms_norm rsqrt sinh softmin softplus tan",
    "float32 on CPUs": "binary_cross_entropy nanquantile polar quantile trace",
    "float32 unless a dtype is given": "prod",
    "float32 on GPUs unless a dtype is given": "cumprod cumsum log_softmax softmax sum",
    "widest": "bilinear cross dot grid_sample scatter_add tensordot",
}
POLICIES = {name: policy for policy, names in _LISTS.items() for name in names.split()}

is_enabled = _core.autocast_enabled
wide_name = _core.t_wide_name


def policy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function of the table so that it computes in the dtype of its policy under `autocast`."""
    casting = _CASTING[POLICIES[function.__name__]]

    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        if is_enabled():
            args, kwargs = casting(args, kwargs)
        return function(*args, **kwargs)

    return inside


def to_float32(x: Any) -> Any:
    """Casts half precision tensors to float32 if `autocast` is enabled on their device, also within a tuple or list."""
    return _each(_core.t_to_float32, x)


def _each(cast: Callable[[Tensor], Tensor], x: Any) -> Any:
    if isinstance(x, Tensor):
        return cast(x)
    return type(x)(_each(cast, item) for item in x) if type(x) in (tuple, list) else x


def _cast_all(cast: Callable[[Tensor], Tensor], args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    named = {name: x if name == "out" else _each(cast, x) for name, x in kwargs.items()}
    return tuple(_each(cast, x) for x in args), named


def _half(args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return _cast_all(_core.t_to_half, args, kwargs)


def _float32(args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return _cast_all(_core.t_to_float32, args, kwargs)


def _float32_on(cpu: bool) -> Callable[..., tuple[Any, dict[str, Any]]]:
    def casting(args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        first = next((x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)), None)
        return _float32(args, kwargs) if first is not None and (first.device_name == "cpu") == cpu else (args, kwargs)

    return casting


def _widest(args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    is_wide = any(isinstance(x, Tensor) and x.dtype_name == "float32" for x in args)
    return (_float32(args, {})[0], kwargs) if is_wide else (args, kwargs)


_CASTING = {
    "half": _half, "float32": _float32, "float32 on GPUs": _float32_on(cpu=False),
    "float32 on CPUs": _float32_on(cpu=True), "widest": _widest,
}  # fmt: skip
