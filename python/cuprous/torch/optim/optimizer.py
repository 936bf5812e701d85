"""Where PyTorch has the class of all optimizers."""

from cuprous.torch.optim._optimizer import Optimizer

__all__ = ["Optimizer"]
