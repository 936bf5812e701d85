"""The dtypes in which functions compute under `autocast`, as in PyTorch, and the decorator that applies them.

The native module holds the state. It casts the operands of products (`@`, `t_matmul`, `t_linear`, `t_convolution`), of
the table's elementwise functions (`**`, `t_map_wide`) and of those that take a dtype (`t_operand`). Every other
function of the table is decorated with `policy`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

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


_F = TypeVar("_F", bound=Callable[..., Any])


def policy(function: _F) -> _F:
    """Decorates a function of the table so that it computes in the dtype of its policy under `autocast`."""
    name = POLICIES[function.__name__]
    to = _core.t_to_half if name == "half" else _core.t_to_float32

    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        if is_enabled() and _applies(name, (*args, *kwargs.values())):
            args = tuple(_each(to, x) for x in args)
            kwargs = {key: x if key == "out" else _each(to, x) for key, x in kwargs.items()}
        return function(*args, **kwargs)

    return cast(_F, inside)


def to_float32(x: Any) -> Any:
    """Casts half precision tensors to float32 if `autocast` is enabled on their device, also within a tuple or list."""
    return _each(_core.t_to_float32, x)


def _applies(policy: str, operands: tuple[Any, ...]) -> bool:
    tensors = [x for x in operands if isinstance(x, Tensor)]
    if policy == "widest":
        return any(t.dtype_name == "float32" for t in tensors)
    device = "CPUs" if tensors and tensors[0].device_name == "cpu" else "GPUs"
    return " on " not in policy or policy.endswith(device)


def _each(cast: Callable[[Tensor], Tensor], x: Any) -> Any:
    if isinstance(x, Tensor):
        return cast(x)
    return type(x)(_each(cast, item) for item in x) if type(x) in (tuple, list) else x
