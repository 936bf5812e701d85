"""Neural networks with PyTorch's API."""

import importlib
from typing import Any

from cuprous.torch.nn import functional, init, modules, parallel, utils
from cuprous.torch.nn.modules import *  # noqa: F403
from cuprous.torch.nn.modules import Module
from cuprous.torch.nn.parallel import DataParallel
from cuprous.torch.nn.parameter import Buffer, Parameter


def __getattr__(name: str) -> Any:
    """Imports modules on first use; for type checkers, layer classes that are generated from tables."""
    if name == "attention":
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.nn' has no attribute {name!r}")


__all__ = ["Buffer", "DataParallel", "Module", "Parameter", "functional", "init", "modules", "parallel", "utils"]
