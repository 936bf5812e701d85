"""The layers."""

from typing import TYPE_CHECKING, Any

from cuprous.torch.nn.modules import (
    activation,
    adaptive,
    attention,
    batchnorm,
    container,
    conv,
    dropout,
    flatten,
    lazy,
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
from cuprous.torch.nn.modules.activation import *  # noqa: F403
from cuprous.torch.nn.modules.adaptive import *  # noqa: F403
from cuprous.torch.nn.modules.attention import *  # noqa: F403
from cuprous.torch.nn.modules.batchnorm import *  # noqa: F403
from cuprous.torch.nn.modules.container import *  # noqa: F403
from cuprous.torch.nn.modules.conv import *  # noqa: F403
from cuprous.torch.nn.modules.dropout import *  # noqa: F403
from cuprous.torch.nn.modules.flatten import *  # noqa: F403
from cuprous.torch.nn.modules.lazy import *  # noqa: F403
from cuprous.torch.nn.modules.linear import *  # noqa: F403
from cuprous.torch.nn.modules.loss import *  # noqa: F403
from cuprous.torch.nn.modules.module import Module
from cuprous.torch.nn.modules.normalization import *  # noqa: F403
from cuprous.torch.nn.modules.padding import *  # noqa: F403
from cuprous.torch.nn.modules.pooling import *  # noqa: F403
from cuprous.torch.nn.modules.resampling import *  # noqa: F403
from cuprous.torch.nn.modules.rnn import *  # noqa: F403
from cuprous.torch.nn.modules.sparse import *  # noqa: F403
from cuprous.torch.nn.modules.transformer import *  # noqa: F403

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Returns layer classes that are generated from tables."""


activation.MultiheadAttention = attention.MultiheadAttention  # type: ignore[attr-defined]  # where PyTorch has it

#: PyTorch's modules of these layers, such as `nn.modules.fold`.
instancenorm = batchnorm
upsampling = pixelshuffle = distance = resampling
fold = resampling  # modules.fold

__all__ = ["Module", "module"]
for _part in (activation, adaptive, attention, batchnorm, container, conv, dropout, flatten, lazy, linear, loss,
              normalization, padding, pooling, resampling, rnn, sparse, transformer):  # fmt: skip
    __all__ += _part.__all__
