"""Fusion of a convolution or linear layer with the batch norm behind it, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from cuprous._core import Tensor
from cuprous.torch._creation import ones_like, zeros_like
from cuprous.torch.nn.parameter import Parameter


def _fused(weight: Any, bias: Any, mean: Any, variance: Any, eps: float, scale: Any, shift: Any,
           transpose: bool) -> tuple[Parameter, Parameter]:  # fmt: skip
    factor = (ones_like(mean) if scale is None else scale) * (variance + eps).rsqrt()
    shape = [1] * weight.ndim
    shape[1 if transpose else 0] = -1
    offset = (zeros_like(mean) if bias is None else bias) - mean
    fused = weight * factor.reshape(shape).to(weight.dtype)
    moved = (offset * factor + (zeros_like(mean) if shift is None else shift)).to(weight.dtype)
    return Parameter(fused.detach(), weight.requires_grad), Parameter(moved.detach(), weight.requires_grad)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Returns weight and bias of the convolution that equals a convolution and a batch norm.

    Parameters
    ----------
    conv_w : Tensor
        The weight of the convolution.
    conv_b : Tensor or None
        Its bias, or None.
    bn_rm : Tensor
        The running mean of the batch norm.
    bn_rv : Tensor
        Its running variance.
    bn_eps : float
        What it adds to the variance.
    bn_w : Tensor or None
        Its weight, or None.
    bn_b : Tensor or None
        Its bias, or None.
    transpose : bool, default False
        Whether the convolution is transposed.

    Returns
    -------
    pair of Parameters
        The pair of weight and bias.

    See Also
    --------
    torch.nn.utils.fusion.fuse_linear_bn_eval, torch.nn.utils.fusion.fuse_linear_bn_weights,
    torch.nn.utils.fusion.fuse_conv_bn_eval

    Examples
    --------
    >>> mean, var, ones = torch.zeros(1), torch.ones(1), torch.ones(1)
    >>> weight, bias = nn.utils.fusion.fuse_conv_bn_weights(torch.ones(1, 1, 3), None, mean, var, 0.0, ones, mean)
    >>> bias.detach()
    tensor([0.])
    """
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose)


def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                           bn_w: Tensor, bn_b: Tensor) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Returns weight and bias of the linear layer that equals a linear layer and a batch norm.

    Parameters
    ----------
    linear_w : Tensor
        The weight of the linear layer.
    linear_b : Tensor or None
        Its bias, or None.
    bn_rm : Tensor
        The running mean of the batch norm.
    bn_rv : Tensor
        Its running variance.
    bn_eps : float
        What it adds to the variance.
    bn_w : Tensor
        Its weight.
    bn_b : Tensor
        Its bias.

    Returns
    -------
    pair of Parameters
        The pair of weight and bias.

    See Also
    --------
    torch.nn.utils.fusion.fuse_conv_bn_eval, torch.nn.utils.fusion.fuse_conv_bn_weights,
    torch.nn.utils.fusion.fuse_linear_bn_eval

    Examples
    --------
    >>> mean, var, ones = torch.zeros(1), torch.ones(1), torch.ones(1)
    >>> weight, bias = nn.utils.fusion.fuse_linear_bn_weights(torch.ones(1, 2), None, mean, var, 0.0, ones, mean)
    >>> weight.detach()
    tensor([[1., 1.]])
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, False)


def _fuse_eval(layer: Any, bn: Any, transpose: bool) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = _fused(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
                                      bn.bias, transpose)  # fmt: skip
    return fused


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Returns a convolution that equals a convolution and a batch norm.

    Parameters
    ----------
    conv : Module
        The convolution, in evaluation mode.
    bn : Module
        The batch norm, in evaluation mode.
    transpose : bool, default False
        Whether the convolution is transposed.

    Returns
    -------
    Module
        A convolution.

    Raises
    ------
    AssertionError
        If one of them is in training mode.

    See Also
    --------
    torch.nn.utils.fusion.fuse_conv_bn_weights, torch.nn.utils.fusion.fuse_linear_bn_eval,
    torch.nn.utils.fusion.fuse_linear_bn_weights

    Examples
    --------
    >>> fused = nn.utils.fusion.fuse_conv_bn_eval(nn.Conv1d(1, 2, 3).eval(), nn.BatchNorm1d(2).eval())
    >>> fused(torch.ones(1, 1, 5)).shape
    torch.Size([1, 2, 3])
    """
    return _fuse_eval(conv, bn, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Returns a linear layer that equals a linear layer and a batch norm.

    Parameters
    ----------
    linear : Module
        The linear layer, in evaluation mode.
    bn : Module
        The batch norm, in evaluation mode.

    Returns
    -------
    Module
        A linear layer.

    Raises
    ------
    AssertionError
        If one of them is in training mode, or their sizes differ.

    See Also
    --------
    torch.nn.utils.fusion.fuse_linear_bn_weights, torch.nn.utils.fusion.fuse_conv_bn_eval,
    torch.nn.utils.fusion.fuse_conv_bn_weights

    Examples
    --------
    >>> fused = nn.utils.fusion.fuse_linear_bn_eval(nn.Linear(3, 2).eval(), nn.BatchNorm1d(2).eval())
    >>> fused(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    return _fuse_eval(linear, bn, False)


__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]
