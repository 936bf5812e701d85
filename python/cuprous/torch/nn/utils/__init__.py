"""Utilities for gradients and parameters, sequences of different lengths, and parametrized weights."""

import importlib
import sys
from typing import Any

from cuprous.torch.nn.modules.module import Module
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


def skip_init(module_cls: type[Any], *args: Any, **kwargs: Any) -> Any:
    """Returns a module whose parameters and buffers are not initialized.

    Parameters
    ----------
    module_cls : type
        The class of the module, which has a parameter `device`.
    *args : any
        Arguments of the class.
    **kwargs : any
        Keyword arguments of the class.

    Returns
    -------
    Module
        The module.

    Raises
    ------
    RuntimeError
        For a class that is not a module's, or that has no parameter `device`.

    See Also
    --------
    torch.nn.init.uniform_, torch.nn.Module.to_empty

    Examples
    --------
    >>> nn.utils.skip_init(nn.Linear, 3, 2).weight.shape
    torch.Size([2, 3])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    from inspect import signature  # slow to import

    if "device" not in signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    place = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=place)


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
    "parametrizations", "parametrize", "remove_spectral_norm", "remove_weight_norm", "rnn", "skip_init",
    "spectral_norm",
    "stateless", "vector_to_parameters", "weight_norm",
]  # fmt: skip
