"""Normalization by statistics of each sample."""

from __future__ import annotations

from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _creation
from cuprous.torch.nn import functional as F
from cuprous.torch.nn import init
from cuprous.torch.nn.modules.module import Module, names_layer
from cuprous.torch.nn.parameter import Parameter


def _shape(given: Any) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


class Affine(Module):
    """Base class of layers with a scale and a shift, which are None if they are not wanted."""

    def _add_affine(self, size: Any, weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        for name, wanted, make in (("weight", weight, _creation.ones), ("bias", bias, _creation.zeros)):
            self.register_parameter(name, Parameter(make(size, device=device, dtype=dtype)) if wanted else None)

    def reset_parameters(self) -> None:
        """Sets the scale to 1 and the shift to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(Affine):
    """A layer that normalizes the last dimensions to mean 0 and variance 1, and then scales and shifts them.

    Parameters
    ----------
    normalized_shape : int or sequence of ints
        The extents of the dimensions that are normalized together.
    eps : float, default 1e-05
        What is added to the variance before its root is taken.
    elementwise_affine : bool, default True
        Whether there is a learned scale for each element.
    bias : bool, default True
        Whether there is a learned shift as well.
    device : device or str, optional
        The device of the parameters, by default the default device.
    dtype : dtype, optional
        The dtype of the parameters, by default the default dtype.

    Shapes
    ------
    input
        (..., *normalized_shape), of a floating dtype.
    result
        Of the same shape and dtype.

    See Also
    --------
    torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d, torch.nn.SyncBatchNorm, torch.nn.RMSNorm

    Examples
    --------
    >>> nn.LayerNorm(2)(torch.tensor([[1.0, 3.0]])).detach()
    tensor([[-1.0000,  1.0000]])
    """

    _repr = "{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _shape(normalized_shape), eps, elementwise_affine
        self._add_affine(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    @names_layer
    def forward(self, input: Tensor) -> Tensor:
        """Returns the normalized input."""
        own = self._parameters
        if "weight" in own and "bias" in own:  # neither is parametrized
            return F.layer_norm(input, self.normalized_shape, own["weight"], own["bias"], self.eps)
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """A layer that divides the last dimensions by their root mean square, and then scales them.

    Parameters
    ----------
    normalized_shape : int or sequence of ints
        The extents of the dimensions that are normalized together.
    eps : float, optional
        What is added to the mean square, by default the dtype's epsilon.
    elementwise_affine : bool, default True
        Whether there is a learned scale for each element.
    device : device or str, optional
        The device of the parameters, by default the default device.
    dtype : dtype, optional
        The dtype of the parameters, by default the default dtype.

    Shapes
    ------
    input
        (..., *normalized_shape), of a floating dtype.
    result
        Of the same shape and dtype.

    See Also
    --------
    torch.nn.GroupNorm, torch.nn.LocalResponseNorm, torch.nn.LayerNorm

    Examples
    --------
    >>> nn.RMSNorm(2)(torch.tensor([[3.0, 3.0]])).detach()
    tensor([[1., 1.]])
    """

    _repr = "{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"

    def __init__(self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps, self.elementwise_affine = _shape(normalized_shape), eps, elementwise_affine
        weight = Parameter(_creation.ones(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", weight if elementwise_affine else None)

    def reset_parameters(self) -> None:
        """Sets the scale to 1.

        Examples
        --------
        >>> nn.RMSNorm(2).reset_parameters()
        """
        if self.weight is not None:
            init.ones_(self.weight)

    @names_layer
    def forward(self, input: Tensor) -> Tensor:
        """Returns the normalized input."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Affine):
    """A layer that normalizes groups of channels of each sample to mean 0 and variance 1, and then scales and shifts
    them.

    Parameters
    ----------
    num_groups : int
        The number of groups, a divisor of `num_channels`.
    num_channels : int
        The number C of channels.
    eps : float, default 1e-05
        What is added to the variance before its root is taken.
    affine : bool, default True
        Whether there are a learned scale and shift for each channel.
    device : device or str, optional
        The device of the parameters, by default the default device.
    dtype : dtype, optional
        The dtype of the parameters, by default the default dtype.

    Shapes
    ------
    input
        (N, C, ...), of a floating dtype.
    result
        Of the same shape and dtype.

    Raises
    ------
    ValueError
        If the number of channels is not divisible by that of groups.

    See Also
    --------
    torch.nn.InstanceNorm1d, torch.nn.InstanceNorm2d, torch.nn.InstanceNorm3d, torch.nn.LocalResponseNorm,
    torch.nn.LayerNorm

    Examples
    --------
    >>> nn.GroupNorm(2, 4)(torch.tensor([[1.0, 3.0, 5.0, 5.0]])).detach()
    tensor([[-1.0000,  1.0000,  0.0000,  0.0000]])
    """

    _repr = "{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._add_affine(num_channels, affine, affine, device, dtype)

    @names_layer
    def forward(self, input: Tensor) -> Tensor:
        """Returns the normalized input."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class LocalResponseNorm(Module):
    """A layer that divides the input by a power of the mean of squares of neighboring channels (Krizhevsky et al.,
    2012).

    Parameters
    ----------
    size : int
        The number of neighboring channels.
    alpha : float, default 0.0001
        The factor of the mean.
    beta : float, default 0.75
        The exponent.
    k : float, default 1.0
        What is added to the mean.

    Shapes
    ------
    input
        (N, C, ...), of a floating dtype.
    result
        Of the same shape and dtype.

    See Also
    --------
    torch.nn.LayerNorm, torch.nn.RMSNorm, torch.nn.GroupNorm

    Examples
    --------
    >>> nn.LocalResponseNorm(2)(torch.ones(1, 4, 3)).shape
    torch.Size([1, 4, 3])
    """

    _repr = "{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    @names_layer
    def forward(self, input: Tensor) -> Tensor:
        """Returns the normalized input."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


__all__ = ["GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]
