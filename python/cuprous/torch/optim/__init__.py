"""Optimizers by PyTorch's words."""

from cuprous.torch.optim._adam import Adam, AdamW
from cuprous.torch.optim._optimizer import Optimizer
from cuprous.torch.optim._sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
