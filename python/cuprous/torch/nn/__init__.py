"""Networks by PyTorch's words."""

from cuprous.torch.amp import _attached  # noqa: F401 - first of all
from cuprous.torch.nn import functional, init, modules, utils
from cuprous.torch.nn.modules.container import *  # noqa: F403
from cuprous.torch.nn.modules.layers import *  # noqa: F403
from cuprous.torch.nn.modules.loss import *  # noqa: F403
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.parameter import Parameter

__all__ = ["Module", "Parameter", "functional", "init", "modules", "utils"]
