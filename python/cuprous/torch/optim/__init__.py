"""Optimizers with PyTorch's API."""

import sys

from cuprous.torch.optim import lr_scheduler, optimizer, swa_utils
from cuprous.torch.optim._adam import Adam, AdamW
from cuprous.torch.optim._asgd_rprop_adafactor_muon import ASGD, Adafactor, Muon, Rprop
from cuprous.torch.optim._elementwise import Adadelta, Adagrad, Adamax, NAdam, RAdam, RMSprop
from cuprous.torch.optim._lbfgs import LBFGS
from cuprous.torch.optim._optimizer import Optimizer
from cuprous.torch.optim._sgd import SGD

#: PyTorch's modules of these classes.
adam = adamw = asgd = rprop = sgd = rmsprop = adagrad = adadelta = lbfgs = sys.modules[__name__]

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam",
    "Optimizer", "RAdam", "RMSprop", "Rprop", "lr_scheduler", "optimizer", "swa_utils",
]  # fmt: skip
