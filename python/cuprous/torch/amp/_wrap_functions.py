"""Wraps the functions of `nn` for `autocast`. Imported before the modules of `nn` import those functions."""

from cuprous.torch.amp import _lists
from cuprous.torch.nn import _recurrent, functional

_lists.attach(functional, _recurrent)
