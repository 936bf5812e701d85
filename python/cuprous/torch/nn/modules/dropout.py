"""Dropout layers."""

from __future__ import annotations

from cuprous._core import Tensor
from cuprous.torch.nn import functional as F
from cuprous.torch.nn.modules.module import Module


class _Dropout(Module):
    """Base class of layers that set elements (or channels) to 0 with probability p in training."""

    _repr = "p={self.p}, inplace={self.inplace}"

    function = staticmethod(F.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        """Returns the input, with elements dropped in training."""
        result: Tensor = getattr(F, type(self).function.__name__)(input, self.p, self.training, self.inplace)
        return result


class Dropout(_Dropout):
    """Sets elements to 0 with probability p in training, and divides the others by 1 - p."""


class Dropout1d(_Dropout):
    """Sets whole channels to 0 with probability p in training."""

    function = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """Sets whole channels to 0 with probability p in training."""

    function = staticmethod(F.dropout2d)


class Dropout3d(_Dropout):
    """Sets whole channels to 0 with probability p in training."""

    function = staticmethod(F.dropout3d)


class AlphaDropout(_Dropout):
    """Dropout that preserves mean 0 and variance 1 of SELU's outputs."""

    function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """`AlphaDropout` of whole channels."""

    function = staticmethod(F.feature_alpha_dropout)


__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]
