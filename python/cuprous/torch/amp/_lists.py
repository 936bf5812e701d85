"""The functions that compute in half precision and those that compute in float32 under `autocast`, as in PyTorch.

Products are cast where the engine is called, so that functions built on them are cast as well. Functions of the other
list are wrapped once, in each module of this package that refers to them.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor


class State(threading.local):
    """The dtype of `autocast` on each device type on which it is enabled, for this thread."""

    def __init__(self) -> None:
        self.dtypes: dict[str, str] = {}


state = State()

#: The engine's products, whose float32 operands are cast to half precision.
_PRODUCTS = ("t_matmul", "t_linear", "t_convolution")
#: Operators of the tensor type that are products.
_OPERATORS = ("__matmul__", "__rmatmul__")

#: Losses, computed in float32 on all devices. `cross_entropy` and `mse_loss` handle this themselves.
_LOSSES = frozenset({
    "binary_cross_entropy_with_logits", "cosine_embedding_loss", "ctc_loss", "hinge_embedding_loss",
    "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "multi_margin_loss", "multilabel_margin_loss",
    "nll_loss", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
})  # fmt: skip
#: Other functions that are computed in float32 on a GPU.
_ON_GPU = frozenset({
    "acos", "asin", "cdist", "cosh", "cosine_similarity", "cumprod", "cumsum", "dist", "erfinv", "exp", "expm1",
    "group_norm", "layer_norm", "log", "log10", "log1p", "log2", "log_softmax", "norm", "normalize", "pdist", "pow",
    "prod", "reciprocal", "renorm", "rms_norm", "rsqrt", "sinh", "softmax", "softmin", "softplus", "sum", "tan",
})  # fmt: skip
#: Other functions that are computed in float32 on the CPU.
_ON_CPU = frozenset({"binary_cross_entropy", "prod", "quantile", "nanquantile", "trace", "polar"})
#: Functions that use the widest dtype of their operands.
_WIDEST = frozenset({"bilinear", "cross", "dot", "scatter_add", "tensordot", "grid_sample"})

#: Functions that consist of a product and more, all of whose operands are cast to half precision ("direction" and
#: "together" belong to the recurrent layers).
_HALVED = frozenset({
    "addmm", "addmv", "baddbmm", "chain_matmul", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "direction", "einsum", "prelu", "scaled_dot_product_attention", "together",
})  # fmt: skip

FLOAT32 = {"cuda": _LOSSES | _ON_GPU, "cpu": _LOSSES | _ON_CPU}
_HALVES = ("float16", "bfloat16")


def _kind(t: Tensor) -> str:
    return "cpu" if t.device_name == "cpu" else "cuda"


def _to_half(x: Any) -> Any:
    if isinstance(x, Tensor):
        target = state.dtypes.get(_kind(x))
        if target is not None and x.dtype_name != target and x.dtype_name in ("float32", *_HALVES):
            return _core.t_cast(x, target)
    return x


def to_float32(x: Any) -> Any:
    """Casts half precision tensors to float32 if `autocast` is enabled on their device, also within a tuple or list."""
    if isinstance(x, Tensor):
        return _core.t_cast(x, "float32") if x.dtype_name in _HALVES and _kind(x) in state.dtypes else x
    if type(x) in (tuple, list):
        return type(x)(to_float32(item) for item in x)
    return x


def wide_name(x: Tensor) -> str:
    """Returns float32 if `autocast` computes the tensor's half precision in it, otherwise the tensor's own dtype."""
    return "float32" if x.dtype_name in _HALVES and _kind(x) in state.dtypes else x.dtype_name


def _all_half(x: Any) -> Any:
    return type(x)(_to_half(item) for item in x) if type(x) in (tuple, list) else _to_half(x)


def _halved(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def product(*args: Any, **kwargs: Any) -> Any:
        if state.dtypes:
            args = tuple(_all_half(x) for x in args)
            kwargs = {key: _all_half(x) for key, x in kwargs.items()}
        return function(*args, **kwargs)

    product.__wrapped__ = function  # type: ignore[attr-defined]
    product.__doc__, product.__name__ = function.__doc__, name
    return product


def _widened(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    devices = tuple(device for device, names in FLOAT32.items() if name in names)

    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        if state.dtypes:
            tensors = [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)]
            if tensors and _kind(tensors[0]) in devices:
                args = tuple(to_float32(x) for x in args)
                kwargs = {key: to_float32(x) for key, x in kwargs.items()}
        return function(*args, **kwargs)

    return inside


def _promoted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        if state.dtypes and any(isinstance(x, Tensor) and x.dtype_name == "float32" for x in args):
            args = tuple(to_float32(x) for x in args)
        return function(*args, **kwargs)

    return inside


def _replace(pairs: list[tuple[Any, Any]]) -> None:
    """Replaces functions by others in all modules of this package."""
    news = {id(old): new for old, new in pairs}
    for path, module in list(sys.modules.items()):
        if path.startswith("cuprous.torch") and module is not None:
            names = vars(module)
            for name in [name for name, value in names.items() if id(value) in news]:
                setattr(module, name, news[id(names[name])])


#: Wrapped functions, by the original function.
_made: dict[Any, Any] = {}
_WRAPPERS = ((FLOAT32["cuda"] | FLOAT32["cpu"], _widened), (_WIDEST, _promoted), (_HALVED, _halved))


def attach(*homes: Any) -> None:
    """Wraps the functions of the lists in the given modules. Runs at import of the package, before other modules import
    the functions."""
    pairs = []
    for names, wrap in _WRAPPERS:
        for name in sorted(names):
            for home in homes:
                function = getattr(home, name, None)
                if function is not None and not hasattr(function, "__wrapped__"):
                    if function not in _made:
                        _made[function] = wrap(name, function)
                    pairs.append((function, _made[function]))
    _replace(pairs)


_done = False


def attach_products() -> None:
    """Wraps the engine's products and the methods and operators of tensors. Runs when `autocast` is first used."""
    global _done
    if _done:
        return
    _done = True
    pairs = [(getattr(_core, name), _halved(name, getattr(_core, name))) for name in _PRODUCTS if hasattr(_core, name)]
    _replace(pairs)
    for _, wrapped in pairs:
        setattr(_core, wrapped.__name__, wrapped)
    for name in _OPERATORS:
        setattr(Tensor, name, _halved(name, getattr(Tensor, name)))
    for names, wrap in _WRAPPERS:
        for name in sorted(names):
            method = getattr(Tensor, name, None)
            if method is not None and not hasattr(method, "__wrapped__"):
                setattr(Tensor, name, wrap(name, method))
    for name in ("__pow__", "__rpow__"):
        setattr(Tensor, name, _widened("pow", getattr(Tensor, name)))
