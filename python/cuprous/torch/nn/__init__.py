"""Neural networks with PyTorch's API."""

from typing import TYPE_CHECKING, Any

from cuprous.torch.nn import functional, init, modules, parallel, utils
from cuprous.torch.nn.modules import *  # noqa: F403
from cuprous.torch.nn.modules import Module
from cuprous.torch.nn.parallel import DataParallel
from cuprous.torch.nn.parameter import Buffer, Parameter

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Returns layer classes that are generated from tables."""


__all__ = ["Buffer", "DataParallel", "Module", "Parameter", "functional", "init", "modules", "parallel", "utils"]
