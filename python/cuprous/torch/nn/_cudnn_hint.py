"""A hint, given once, if a GPU would be faster with cuDNN and the library is not installed."""

from __future__ import annotations

import warnings

from cuprous import _core
from cuprous._core import Tensor

#: Set once the check on a GPU was done. The CPU needs no check.
_warned = False


def prefer_cudnn(x: Tensor) -> None:
    """Gives the hint for an operation that cuDNN supports. Without the library other routines compute it correctly."""
    global _warned
    if _warned or x.device_name == "cpu":
        return
    _warned = True
    if not _core.has_cudnn():
        warnings.warn(
            "cuDNN is not installed: convolutions, recurrent layers and attention on the GPU use slower routines. "
            'To install it: pip install "cuprous[cudnn]"; `cuprous doctor` explains.',
            stacklevel=4,
        )


__all__ = ["prefer_cudnn"]
