"""Module names that PyTorch has and Cuprous spells differently, so that programs can import from either."""

from __future__ import annotations

import importlib
import sys

#: Our module, and PyTorch's names of it.
_ALIASES = {
    "optim": "optim.adam optim.adamw optim.sgd optim.rmsprop optim.adagrad optim.adadelta optim.lbfgs",
    "nn.modules.batchnorm": "nn.modules.instancenorm",
    "nn.modules.resampling": "nn.modules.upsampling nn.modules.pixelshuffle nn.modules.distance nn.modules.fold",
    "nn.utils": "nn.utils.clip_grad nn.utils.convert_parameters",
    "autograd": "autograd.variable",
    "autograd._function": "autograd.function",
    "distributions": "distributions.distribution distributions.categorical distributions.normal "
    "distributions.bernoulli distributions.uniform distributions.kl distributions.independent "
    "distributions.multivariate_normal",
}


def attach() -> None:
    """Makes modules importable under PyTorch's names as well."""
    for module_path, aliases in _ALIASES.items():
        module = importlib.import_module(f"cuprous.torch.{module_path}")
        for path in aliases.split():
            sys.modules[f"cuprous.torch.{path}"] = module
            parent, _, name = path.rpartition(".")
            owner = sys.modules[f"cuprous.torch.{parent}"]
            if not hasattr(owner, name):
                setattr(owner, name, module)
