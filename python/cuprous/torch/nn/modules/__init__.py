"""The layers."""

from cuprous.torch.nn.modules import (
    activation,
    adaptive,
    attention,
    batchnorm,
    container,
    conv,
    dropout,
    flatten,
    linear,
    loss,
    module,
    normalization,
    padding,
    pooling,
    resampling,
    rnn,
    sparse,
    transformer,
    utils,  # noqa: F401
)  # fmt: skip
from cuprous.torch.nn.modules.module import Module

_PARTS = (activation, adaptive, attention, batchnorm, container, conv, dropout, flatten, linear, loss, normalization,
          padding, pooling, resampling, rnn, sparse, transformer)  # fmt: skip

activation.MultiheadAttention = attention.MultiheadAttention  # type: ignore[attr-defined]  # where PyTorch has it

__all__ = ["Module", "module"]
for _part in _PARTS:
    globals().update({_name: getattr(_part, _name) for _name in _part.__all__})
    __all__ += _part.__all__
