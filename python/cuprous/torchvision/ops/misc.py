"""Layers that image networks are built of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuprous._core import Tensor
from cuprous.torch import _creation, nn


class FrozenBatchNorm2d(nn.Module):
    """Batch norm with fixed statistics and factors.

    See Also
    --------
    torch.nn.BatchNorm2d

    Examples
    --------
    >>> ops.FrozenBatchNorm2d(1)(torch.ones(1, 1, 1, 2))
    tensor([[[[1.0000, 1.0000]]]])
    """

    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        for name, make in (("weight", _creation.ones), ("bias", _creation.zeros),
                           ("running_mean", _creation.zeros), ("running_var", _creation.ones)):  # fmt: skip
            self.register_buffer(name, make(num_features))

    def _before_load(self, state: dict[str, Any], prefix: str, version: int | None) -> None:
        """Accepts files of networks with batch norm, which counts batches."""
        state.pop(f"{prefix}num_batches_tracked", None)
        super()._before_load(state, prefix, version)

    def forward(self, x: Any) -> Any:
        """Returns the normalized images."""
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        shift = self.bias - self.running_mean * scale
        return x * scale.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


class ConvNormActivation(nn.Sequential):
    """A convolution, a normalization and an activation; `None` leaves out one of the latter two."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any = 3, stride: Any = 1, padding: Any = None,
                 groups: int = 1, norm_layer: Callable[..., nn.Module] | None = nn.BatchNorm2d,
                 activation_layer: Callable[..., nn.Module] | None = nn.ReLU, dilation: Any = 1,
                 inplace: bool | None = True, bias: bool | None = None,
                 conv_layer: Callable[..., nn.Module] = nn.Conv2d) -> None:  # fmt: skip
        if padding is None:
            if isinstance(kernel_size, int) and isinstance(dilation, int):
                padding = (kernel_size - 1) // 2 * dilation
            else:
                dims = len(kernel_size) if isinstance(kernel_size, Sequence) else len(dilation)
                sizes = kernel_size if isinstance(kernel_size, Sequence) else (kernel_size,) * dims
                rates = dilation if isinstance(dilation, Sequence) else (dilation,) * dims
                padding = tuple((k - 1) // 2 * d for k, d in zip(sizes, rates, strict=True))
        layers = [conv_layer(in_channels, out_channels, kernel_size, stride, padding, dilation=dilation, groups=groups,
                             bias=norm_layer is None if bias is None else bias)]  # fmt: skip
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = out_channels


class Conv2dNormActivation(ConvNormActivation):
    """A convolution of images, a normalization and an activation.

    See Also
    --------
    torchvision.ops.Conv3dNormActivation, torch.nn.Conv2d

    Examples
    --------
    >>> ops.Conv2dNormActivation(3, 8, kernel_size=3)(torch.zeros(1, 3, 4, 4)).shape
    torch.Size([1, 8, 4, 4])
    """


class Conv3dNormActivation(ConvNormActivation):
    """A convolution of volumes, a normalization and an activation.

    See Also
    --------
    torchvision.ops.Conv2dNormActivation, torch.nn.Conv3d

    Examples
    --------
    >>> ops.Conv3dNormActivation(3, 8, kernel_size=3)(torch.zeros(1, 3, 4, 4, 4)).shape
    torch.Size([1, 8, 4, 4, 4])
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any = 3, stride: Any = 1, padding: Any = None,
                 groups: int = 1, norm_layer: Callable[..., nn.Module] | None = nn.BatchNorm3d,
                 activation_layer: Callable[..., nn.Module] | None = nn.ReLU, dilation: Any = 1,
                 inplace: bool | None = True, bias: bool | None = None) -> None:  # fmt: skip
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, groups, norm_layer, activation_layer,
                         dilation, inplace, bias, nn.Conv3d)  # fmt: skip


class SqueezeExcitation(nn.Module):
    """Scales channels by factors that are computed from their means (Hu et al., 2018).

    See Also
    --------
    torchvision.ops.Conv2dNormActivation

    Examples
    --------
    >>> ops.SqueezeExcitation(8, 2)(torch.zeros(1, 8, 4, 4)).shape
    torch.Size([1, 8, 4, 4])
    """

    def __init__(self, input_channels: int, squeeze_channels: int, activation: Callable[..., nn.Module] = nn.ReLU,
                 scale_activation: Callable[..., nn.Module] = nn.Sigmoid) -> None:  # fmt: skip
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1, self.fc2 = (
            nn.Conv2d(input_channels, squeeze_channels, 1),
            nn.Conv2d(squeeze_channels, input_channels, 1),
        )
        self.activation, self.scale_activation = activation(), scale_activation()

    def forward(self, input: Any) -> Any:
        """Returns the scaled images."""
        scale = self.scale_activation(self.fc2(self.activation(self.fc1(self.avgpool(input)))))
        return scale * input


class MLP(nn.Sequential):
    """Linear layers with an optional normalization, an activation and dropout after each but the last.

    See Also
    --------
    torch.nn.Linear, torch.nn.Sequential

    Examples
    --------
    >>> ops.MLP(4, [8, 2])(torch.zeros(3, 4)).shape
    torch.Size([3, 2])
    """

    def __init__(self, in_channels: int, hidden_channels: list[int], norm_layer: Callable[..., nn.Module] | None = None,
                 activation_layer: Callable[..., nn.Module] | None = nn.ReLU, inplace: bool | None = None,
                 bias: bool = True, dropout: float = 0.0) -> None:  # fmt: skip
        more = {} if inplace is None else {"inplace": inplace}
        layers: list[nn.Module] = []
        for width in hidden_channels[:-1]:
            layers.append(nn.Linear(in_channels, width, bias=bias))
            layers += [norm_layer(width)] if norm_layer is not None else []
            layers += [activation_layer(**more)] if activation_layer is not None else []
            layers.append(nn.Dropout(dropout, **more))
            in_channels = width
        layers += [nn.Linear(in_channels, hidden_channels[-1], bias=bias), nn.Dropout(dropout, **more)]
        super().__init__(*layers)


class Permute(nn.Module):
    """Reorders dimensions.

    See Also
    --------
    torch.permute

    Examples
    --------
    >>> ops.Permute([1, 0])(torch.zeros(2, 3)).shape
    torch.Size([3, 2])
    """

    def __init__(self, dims: list[int]) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: Any) -> Any:
        """Returns a view with the dimensions in another order."""
        return x.permute(*self.dims)


def stochastic_depth(input: Any, p: float, mode: str, training: bool = True) -> Tensor:
    """Sets the whole input ("batch"), or whole examples of it ("row"), to zero with a probability, and scales the rest.

    Raises
    ------
    ValueError
        For another mode, or a probability out of range.

    See Also
    --------
    torchvision.ops.drop_block2d, torchvision.ops.drop_block3d

    Examples
    --------
    >>> ops.stochastic_depth(torch.ones(2), 0.5, "row", training=False)
    tensor([1., 1.])
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
    if not training or p == 0.0:
        return input
    extent = [input.shape[0] if mode == "row" else 1] + [1] * (input.ndim - 1)
    noise = _creation.empty(extent, dtype=input.dtype, device=input.device).bernoulli_(1 - p)
    return input * (noise / (1 - p) if p < 1 else noise)


class StochasticDepth(nn.Module):
    """Drops whole examples or batches in training: see `stochastic_depth`.

    See Also
    --------
    torchvision.ops.DropBlock2d, torchvision.ops.DropBlock3d

    Examples
    --------
    >>> ops.StochasticDepth(0.5, "row").eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p, self.mode = p, mode

    def forward(self, input: Any) -> Any:
        """Returns the input, of which parts may be zero."""
        return stochastic_depth(input, self.p, self.mode, self.training)


def sigmoid_focal_loss(inputs: Any, targets: Any, alpha: float = 0.25, gamma: float = 2,
                       reduction: str = "none") -> Tensor:  # fmt: skip
    """Returns the focal loss of logits (Lin et al., 2017).

    Raises
    ------
    ValueError
        For another reduction than "none", "mean" and "sum".

    See Also
    --------
    torchvision.ops.complete_box_iou_loss, torchvision.ops.distance_box_iou_loss,
    torchvision.ops.generalized_box_iou_loss

    Examples
    --------
    >>> ops.sigmoid_focal_loss(torch.zeros(2), torch.ones(2), reduction="mean")
    tensor(0.0433)
    """
    p = inputs.sigmoid()
    loss = nn.functional.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    right = p * targets + (1 - p) * (1 - targets)
    loss = loss * (1 - right) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid Value for arg 'reduction': '{reduction}'")
    return loss if reduction == "none" else getattr(loss, reduction)()


__all__ = ["MLP", "Conv2dNormActivation", "Conv3dNormActivation", "ConvNormActivation", "FrozenBatchNorm2d", "Permute",
           "SqueezeExcitation", "StochasticDepth", "sigmoid_focal_loss", "stochastic_depth"]  # fmt: skip
