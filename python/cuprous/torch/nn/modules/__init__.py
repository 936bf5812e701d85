"""The layers."""

from cuprous.torch.nn.modules.container import *  # noqa: F403
from cuprous.torch.nn.modules.layers import *  # noqa: F403
from cuprous.torch.nn.modules.loss import *  # noqa: F403
from cuprous.torch.nn.modules.module import Module

__all__ = ["Module"]
