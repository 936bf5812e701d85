"""The module that contains `Optimizer` in PyTorch."""

from cuprous.torch.optim._optimizer import Optimizer

__all__ = ["Optimizer"]
