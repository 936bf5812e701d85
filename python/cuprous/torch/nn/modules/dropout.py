"""Elements or channels left out while training."""

from __future__ import annotations

from cuprous._core import Tensor
from cuprous.torch.nn import functional as F
from cuprous.torch.nn.modules.module import Module


class _Dropout(Module):
    """Elements (or channels) set to 0 with probability p while training."""

    function = staticmethod(F.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """The input, thinned out while training."""
        return type(self).function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Elements set to 0 with probability p while training, the others divided by 1 - p."""


class Dropout1d(_Dropout):
    """Whole channels set to 0 with probability p while training."""

    function = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """Whole channels set to 0 with probability p while training."""

    function = staticmethod(F.dropout2d)


class Dropout3d(_Dropout):
    """Whole channels set to 0 with probability p while training."""

    function = staticmethod(F.dropout3d)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean 0 and variance 1 of SELU's outputs."""

    function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """`AlphaDropout` of whole channels."""

    function = staticmethod(F.feature_alpha_dropout)


__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]
