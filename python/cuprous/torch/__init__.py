"""PyTorch's API on Cuprous: `import cuprous.torch as torch`.

Tensors are arrays that are also nodes of the autograd graph. Operations are recorded like those of arrays, so that the
forward pass, the backward pass and the optimizer's step become one program, which is replayed from its second run on.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from cuprous import _core, _exports
from cuprous._core import Tensor
from cuprous.torch import (
    _alternative_names,
    _checks,
    _creation,
    _diagonals,
    _foreach,
    _further,
    _gamma_functions,
    _histograms,
    _indexing,
    _info,
    _joining,
    _keywords,
    _legacy_linalg,
    _memory_format,
    _native_layers,
    _numerical,
    _ordering,
    _placeholders,
    _pointwise,
    _products,
    _rearrangement,
    _reductions,
    _sampling,
    _scatter_reduce,
    _settings,
    _shape,
    _sparse_methods,
    _statistics,
    _stft,
    _tensor,
    _types,
    _views_written,
    _windows,
    accelerator,
    amp,
    autograd,
    backends,
    cuda,
    fft,
    func,
    linalg,
    nn,
    optim,
    random,
    utils,
    version,
)
from cuprous.torch._creation import *  # noqa: F403
from cuprous.torch._info import finfo, iinfo
from cuprous.torch._memory_format import layout, memory_format  # noqa: F401
from cuprous.torch._printing import set_printoptions
from cuprous.torch._random_numbers import *  # noqa: F403
from cuprous.torch._ranges import *  # noqa: F403
from cuprous.torch._tensor import is_tensor
from cuprous.torch._types import Size, device, dtype, set_default_device
from cuprous.torch.amp import (
    autocast,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
)
from cuprous.torch.autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from cuprous.torch.cuda import OutOfMemoryError
from cuprous.torch.func import vmap  # noqa: F401
from cuprous.torch.nn._embedding import cdist  # noqa: F401
from cuprous.torch.version import __version__  # noqa: F401

_tensor.register(
    linalg.METHODS | _further.METHODS | _legacy_linalg.METHODS | _views_written.METHODS | _sparse_methods.METHODS
    | _gamma_functions.METHODS | _info.METHODS | _stft.METHODS
)  # fmt: skip

globals().update(_types.DTYPES | _types.NAMED_ONLY | _types.ALIASES)
for _part in (_pointwise, _reductions, _shape, _joining, _diagonals, _indexing, _ordering, _products, _sampling,
              _rearrangement, _scatter_reduce, _statistics, _histograms, linalg, _settings, _info, _checks, _further,
              _foreach, _numerical, _gamma_functions, _legacy_linalg, _stft, _views_written, _windows):  # fmt: skip
    globals().update(_keywords.complete(_part.FUNCTIONS))
globals().update({f"{_name}Tensor": _creation.legacy(_of) for _name, _of in _types.LEGACY.items()})
for _name in ("relu", "celu", "prelu", "selu", "rms_norm", "cosine_similarity", "pairwise_distance", "pdist",
              "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "bilinear", "relu_", "conv1d", "conv2d", "conv3d",
              "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "max_pool1d", "max_pool2d", "max_pool3d",
              "avg_pool1d", "adaptive_avg_pool1d", "adaptive_max_pool1d"):  # fmt: skip
    globals()[_name] = getattr(nn.functional, _name)
globals().update(_native_layers.FUNCTIONS)
is_grad_enabled = _core.is_grad_enabled
pi, inf, nan, e = math.pi, math.inf, math.nan, math.e
newaxis = None
Stream, Event = cuda.Stream, cuda.Event
torch = sys.modules[__name__]  # some annotations are `torch.torch.Tensor`
globals().update(_memory_format.FORMATS | _memory_format.LAYOUTS)

#: Names that are imported on first use, because their import takes long or they are rarely used.
_EXPORTS = _exports.Exports(
    __name__,
    {
        ".serialization": "load save",
        ".library": "classes ops",
        ".sparse": "smm sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor sspaddmm",
        ".storage": "TypedStorage UntypedStorage",
        ".futures": "Future",
    },
    modules=("__config__", "_C", "_VF", "_dynamo", "_tensor_str", "_utils", "compiler", "cpu", "distributed",
             "distributions", "futures", "hub", "jit", "library", "multiprocessing", "overrides", "profiler",
             "quasirandom", "return_types", "serialization", "signal", "sparse", "special", "storage", "testing",
             "torch_version", "types"),
)  # fmt: skip


def __getattr__(name: str) -> Any:
    try:
        return _EXPORTS.get(name)
    except AttributeError:
        return _placeholders.get("", name)


__all__ = [
    "OutOfMemoryError", "Size", "Tensor", "accelerator", "amp", "autocast", "autograd", "backends", "cuda", "device",
    "dtype", "enable_grad", "fft", "finfo", "func", "get_autocast_cpu_dtype", "get_autocast_dtype",
    "get_autocast_gpu_dtype", "iinfo", "inference_mode", "is_autocast_cpu_enabled", "is_autocast_enabled", "is_tensor",
    "linalg", "nn", "no_grad", "optim", "random", "set_default_device",
    "set_grad_enabled", "set_printoptions", "utils", "version",
]  # fmt: skip
__all__ += ["distributed", "futures", "load", "profiler", "save", "serialization"]  # noqa: F405
_alternative_names.complete_loaded()
