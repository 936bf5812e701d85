"""Utilities for gradients and parameters, sequences of different lengths, and parametrized weights."""

import importlib
import sys
from typing import Any

from cuprous.torch.nn.utils import parametrizations, parametrize, rnn, stateless
from cuprous.torch.nn.utils._gradients import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
    parameters_to_vector,
    vector_to_parameters,
)  # fmt: skip
from cuprous.torch.nn.utils.parametrizations import remove_spectral_norm, remove_weight_norm
from cuprous.torch.nn.utils.parametrizations import spectral_norm_before as spectral_norm
from cuprous.torch.nn.utils.parametrizations import weight_norm_before as weight_norm

#: Deprecated names.
clip_grad_norm, clip_grad_value = clip_grad_norm_, clip_grad_value_

#: PyTorch's modules of these functions.
clip_grad = convert_parameters = sys.modules[__name__]


def __getattr__(name: str) -> Any:
    """Imports modules on first use."""
    if name in ("fusion", "prune"):
        return importlib.import_module(f"{__name__}.{name}")
    if name.startswith("fuse_"):
        return getattr(importlib.import_module(f"{__name__}.fusion"), name)
    raise AttributeError(f"module 'torch.nn.utils' has no attribute {name!r}")


__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm", "parameters_to_vector",
    "parametrizations", "parametrize", "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm",
    "stateless", "vector_to_parameters", "weight_norm",
]  # fmt: skip
