"""Learning rate schedulers with PyTorch's API."""

from cuprous.torch.optim.lr_scheduler._base import LRScheduler
from cuprous.torch.optim.lr_scheduler._combined import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from cuprous.torch.optim.lr_scheduler._cyclic import CyclicLR, OneCycleLR
from cuprous.torch.optim.lr_scheduler._steps import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

_LRScheduler = LRScheduler

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip
