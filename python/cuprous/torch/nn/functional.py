"""Functions that the layers use."""

from __future__ import annotations

from typing import Any

from cuprous.torch import _placeholders
from cuprous.torch._keywords import complete as _complete
from cuprous.torch._products import bilinear, linear
from cuprous.torch.nn import (
    _activation,
    _attention,
    _convolution,
    _dropout,
    _embedding,
    _fractional,
    _grouped,
    _loss,
    _margin_losses,
    _normalization,
    _padding,
    _pooling,
    _pure_activation,
    _resampling,
)  # fmt: skip
from cuprous.torch.nn._activation import *  # noqa: F403
from cuprous.torch.nn._attention import *  # noqa: F403
from cuprous.torch.nn._convolution import *  # noqa: F403
from cuprous.torch.nn._dropout import *  # noqa: F403
from cuprous.torch.nn._embedding import *  # noqa: F403
from cuprous.torch.nn._fractional import *  # noqa: F403
from cuprous.torch.nn._grouped import *  # noqa: F403
from cuprous.torch.nn._loss import *  # noqa: F403
from cuprous.torch.nn._margin_losses import *  # noqa: F403
from cuprous.torch.nn._normalization import *  # noqa: F403
from cuprous.torch.nn._padding import *  # noqa: F403
from cuprous.torch.nn._pooling import *  # noqa: F403
from cuprous.torch.nn._pure_activation import *  # noqa: F403
from cuprous.torch.nn._resampling import *  # noqa: F403


def __getattr__(name: str) -> Any:
    return _placeholders.get("nn.functional", name)


__all__ = ["bilinear", "linear"]
for _part in (_activation, _attention, _convolution, _dropout, _fractional, _embedding, _grouped, _loss, _margin_losses,
              _normalization, _padding, _pooling, _pure_activation, _resampling):  # fmt: skip
    __all__ += _part.__all__

#: Functions that PyTorch's parser reads, so that they take NumPy's names too.
_NATIVE = ("cosine_similarity", "pairwise_distance")
globals().update(_complete({name: globals()[name] for name in _NATIVE}))
