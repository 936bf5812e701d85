"""What is said once where a GPU would be faster with cuDNN and has it not."""

from __future__ import annotations

import warnings

from cuprous import _core
from cuprous._core import Tensor

#: Nothing is asked on the CPU, and once on a GPU.
_warned = False


def prefer_cudnn(x: Tensor) -> None:
    """Called for work that cuDNN has routines for. Without the library other routines do it, correctly."""
    global _warned
    if _warned or x.device_name == "cpu":
        return
    _warned = True
    if not _core.has_cudnn():
        warnings.warn(
            "cuDNN is not installed: convolutions, recurrences and attention on the GPU take slower routines. "
            'To install it: pip install "cuprous[cudnn]"; `cuprous doctor` says more.',
            stacklevel=4,
        )


__all__ = ["prefer_cudnn"]
