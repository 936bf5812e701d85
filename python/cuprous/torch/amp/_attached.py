"""Wraps the functions of `nn.functional` as soon as there are any: imported before the modules take them from there."""

from cuprous.torch.amp import _lists
from cuprous.torch.nn import functional

_lists.attach(functional)
