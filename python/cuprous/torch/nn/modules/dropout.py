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
    """A layer that sets elements to 0 with probability p in training, and divides the others by 1 - p.

    Parameters
    ----------
    p : float, default 0.5
        The probability with which an element is dropped.
    inplace : bool, default False
        Whether to write the result to the input.

    Shapes
    ------
    input
        Any shape, of a floating dtype.
    result
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        For a probability outside of [0, 1].

    See Also
    --------
    torch.nn.Dropout1d, torch.nn.Dropout2d, torch.nn.Dropout3d, torch.nn.AlphaDropout, torch.nn.FeatureAlphaDropout

    Examples
    --------
    >>> nn.Dropout(0.5).eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """


class Dropout1d(_Dropout):
    """A layer that sets whole channels of signals to 0 with probability p in training, and divides the others by 1 - p.

    Parameters
    ----------
    p : float, default 0.5
        The probability with which a channel is dropped.
    inplace : bool, default False
        Whether to write the result to the input.

    Shapes
    ------
    input
        (N, C, L) or (C, L), of a floating dtype.
    result
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        For a probability outside of [0, 1].

    See Also
    --------
    torch.nn.Dropout2d, torch.nn.Dropout3d, torch.nn.AlphaDropout, torch.nn.FeatureAlphaDropout, torch.nn.Dropout

    Examples
    --------
    >>> nn.Dropout1d()(torch.ones(1, 2, 3)).shape
    torch.Size([1, 2, 3])
    """

    function = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """A layer that sets whole channels of images to 0 with probability p in training, and divides the others by 1 - p.

    Parameters
    ----------
    p : float, default 0.5
        The probability with which a channel is dropped.
    inplace : bool, default False
        Whether to write the result to the input.

    Shapes
    ------
    input
        (N, C, H, W) or (C, H, W), of a floating dtype.
    result
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        For a probability outside of [0, 1].

    See Also
    --------
    torch.nn.Dropout3d, torch.nn.AlphaDropout, torch.nn.FeatureAlphaDropout, torch.nn.Dropout, torch.nn.Dropout1d

    Examples
    --------
    >>> nn.Dropout2d()(torch.ones(1, 2, 3, 3)).shape
    torch.Size([1, 2, 3, 3])
    """

    function = staticmethod(F.dropout2d)


class Dropout3d(_Dropout):
    """A layer that sets whole channels of volumes to 0 with probability p in training, and divides the others by 1 - p.

    Parameters
    ----------
    p : float, default 0.5
        The probability with which a channel is dropped.
    inplace : bool, default False
        Whether to write the result to the input.

    Shapes
    ------
    input
        (N, C, D, H, W) or (C, D, H, W), of a floating dtype.
    result
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        For a probability outside of [0, 1].

    See Also
    --------
    torch.nn.AlphaDropout, torch.nn.FeatureAlphaDropout, torch.nn.Dropout, torch.nn.Dropout1d, torch.nn.Dropout2d

    Examples
    --------
    >>> nn.Dropout3d()(torch.ones(1, 2, 3, 3, 3)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    function = staticmethod(F.dropout3d)


class AlphaDropout(_Dropout):
    """Dropout that preserves mean 0 and variance 1 of SELU's outputs (Klambauer et al., 2017).

    Parameters
    ----------
    p : float, default 0.5
        The probability with which an element is dropped.
    inplace : bool, default False
        Whether to write the result to the input.

    Shapes
    ------
    input
        Any shape, of a floating dtype.
    result
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        For a probability outside of [0, 1].

    See Also
    --------
    torch.nn.FeatureAlphaDropout, torch.nn.Dropout, torch.nn.Dropout1d, torch.nn.Dropout2d, torch.nn.Dropout3d

    Examples
    --------
    >>> nn.AlphaDropout()(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """

    function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """`AlphaDropout` of whole channels.

    Parameters
    ----------
    p : float, default 0.5
        The probability with which a channel is dropped.
    inplace : bool, default False
        Whether to write the result to the input.

    Shapes
    ------
    input
        (N, C, ...), of a floating dtype.
    result
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        For a probability outside of [0, 1].

    See Also
    --------
    torch.nn.Dropout, torch.nn.Dropout1d, torch.nn.Dropout2d, torch.nn.Dropout3d, torch.nn.AlphaDropout

    Examples
    --------
    >>> nn.FeatureAlphaDropout()(torch.ones(1, 2, 3)).shape
    torch.Size([1, 2, 3])
    """

    function = staticmethod(F.feature_alpha_dropout)


__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]
