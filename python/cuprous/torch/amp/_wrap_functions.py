"""Wraps the functions of `nn` as soon as there are any: imported before the modules take them from there."""

from cuprous.torch.amp import _lists
from cuprous.torch.nn import _recurrent, functional

_lists.attach(functional, _recurrent)
