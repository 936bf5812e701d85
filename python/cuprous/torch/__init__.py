"""PyTorch's API on Cuprous: `import cuprous.torch as torch`.

Tensors are arrays that are also nodes of the autograd graph. Operations are recorded like those of arrays, so that the
forward pass, the backward pass and the optimizer's step become one program, which is replayed from its second run on.
"""

from __future__ import annotations

import importlib
import math
import sys
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import (
    _creation,
    _indexing,
    _ordering,
    _pointwise,
    _products,
    _rearrangement,
    _reductions,
    _sampling,
    _scatter_reduce,
    _shape,
    _statistics,
    _tensor,
    _types,
)  # fmt: skip
from cuprous.torch._creation import *  # noqa: F403
from cuprous.torch._info import finfo, iinfo
from cuprous.torch._printing import set_printoptions
from cuprous.torch._tensor import is_tensor
from cuprous.torch._types import Size, device, dtype, set_default_device

_tensor.register()

from cuprous.torch import autograd, cuda, distributions, fft, func, linalg, nn, optim  # noqa: E402
from cuprous.torch.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: E402

globals().update(_types.DTYPES | _types.ALIASES)
for _table in (_pointwise, _reductions, _shape, _indexing, _ordering, _products, _sampling, _rearrangement,
               _scatter_reduce, _statistics):  # fmt: skip
    globals().update(_table.FUNCTIONS)
globals().update(linalg.FUNCTIONS)
vmap = func.vmap
for _name, _of in linalg.FUNCTIONS.items():
    setattr(Tensor, _name, _of)
for _name, _of in _types.LEGACY.items():
    globals()[f"{_name}Tensor"] = _creation.legacy(_of)

from cuprous.torch import (  # noqa: E402
    _import_aliases,
    _placeholders,
    _settings,
    accelerator,
    amp,
    backends,
    random,
    utils,
    version,
)  # fmt: skip
from cuprous.torch.amp import _lists as _autocast_lists  # noqa: E402
from cuprous.torch.amp import autocast, get_autocast_dtype, is_autocast_enabled  # noqa: E402
from cuprous.torch.version import __version__  # noqa: E402, F401

globals().update(_settings.FUNCTIONS)

OutOfMemoryError = cuda.OutOfMemoryError
relu, sigmoid = nn.functional.relu, nn.functional.sigmoid
dropout, layer_norm, embedding = nn.functional.dropout, nn.functional.layer_norm, nn.functional.embedding
for _name in ("celu", "prelu", "selu", "batch_norm", "group_norm", "instance_norm", "rms_norm", "cosine_similarity",
              "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "alpha_dropout",
              "embedding_bag", "ctc_loss", "bilinear", "relu_", "threshold", "conv1d", "conv2d", "conv3d",
              "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "max_pool1d", "max_pool2d", "max_pool3d",
              "avg_pool1d", "adaptive_avg_pool1d", "adaptive_max_pool1d", "hardshrink", "rrelu",
              "feature_alpha_dropout", "kl_div", "poisson_nll_loss", "cosine_embedding_loss", "hinge_embedding_loss",
              "margin_ranking_loss", "triplet_margin_loss"):  # fmt: skip
    globals()[_name] = getattr(nn.functional, _name)
cdist = nn._embedding.cdist
is_grad_enabled = _core.is_grad_enabled
pi, inf, nan, e = math.pi, math.inf, math.nan, math.e
strided = None


def get_default_dtype() -> dtype:
    """Returns the dtype that floats get unless another is given."""
    return _types.DTYPES[_core.t_default_dtype()]


def set_default_dtype(d: Any) -> None:
    """Sets the dtype that floats get unless another is given."""
    _core.t_set_default_dtype(_types.dtype_name(d))


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """Returns the dtype of the result of an operation on two operands."""
    return _types.DTYPES[_core.t_result_type(tensor1, tensor2)]


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Returns the smallest dtype to which both can be cast."""
    return _types.DTYPES[_core.t_promote_types(type1.name, type2.name)]


def can_cast(from_: dtype, to: dtype) -> bool:
    """Returns True if a cast keeps the kind, which it does not from complex to float, from float to integer, or from
    integer to bool."""
    rank = [d.is_complex * 3 or d.is_floating_point * 2 or (d.name != "bool") * 1 for d in (from_, to)]
    return rank[0] <= rank[1]


def numel(input: Tensor) -> int:
    """Returns the number of elements."""
    return input.numel()


def is_floating_point(input: Tensor) -> bool:
    """Returns True if the dtype is a float."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Returns True if the dtype is complex."""
    return input.is_complex()


__all__ = [
    "OutOfMemoryError",
    "Size", "Tensor", "autograd", "cuda", "device", "distributions", "dtype", "enable_grad", "fft", "finfo", "func",
    "iinfo", "inference_mode", "is_tensor", "linalg", "nn", "no_grad", "optim", "set_default_device",
    "set_grad_enabled", "set_printoptions",
]  # fmt: skip
__all__ += [
    "accelerator", "amp", "autocast", "backends", "get_autocast_dtype", "is_autocast_enabled", "random", "utils",
    "version",
]  # fmt: skip

#: Names that are imported on first use, because their import takes long, each with its module.
_LAZY_IMPORTS = {
    "load": "serialization",
    "profiler": "profiler",
    "save": "serialization",
    "serialization": "serialization",
}
__all__ += [*_LAZY_IMPORTS]


def __getattr__(name: str) -> Any:
    if name not in _LAZY_IMPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_LAZY_IMPORTS[name]}")
    globals()[name] = module if name == _LAZY_IMPORTS[name] else getattr(module, name)
    return globals()[name]


_placeholders.attach(sys.modules[__name__])
_import_aliases.attach()
_autocast_lists.attach(sys.modules[__name__], nn.functional)
