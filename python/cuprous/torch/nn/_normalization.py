"""Normalization by statistics of the input, or by running statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _autocast, _reductions
from cuprous.torch._args import astype, write_out
from cuprous.torch._comparisons import clamp
from cuprous.torch._info import finfo
from cuprous.torch.nn._padding import pad

_map = _core.t_map


def _to_float32(x: Tensor) -> Tensor:
    """Casts half precision to float32, whose range the sums of squares need."""
    return _core.t_cast(x, "float32") if x.dtype_name in ("float16", "bfloat16") else x


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None, name: str) -> Tensor:
    """Returns a tensor scaled, shifted, and cast to a dtype."""
    x = x if weight is None else _map("multiply", x, weight)
    x = x if bias is None else _map("add", x, bias)
    return astype(x, name)


def _standardize(x: Tensor, dims: list[int], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Returns a tensor normalized to mean 0 and variance 1 over some dimensions, and its former mean and variance."""
    mean = _reductions.mean(x, dims, True)
    centred = _map("subtract", x, mean)
    variance = _reductions.mean(_map("square", centred), dims, True)
    return _map("multiply", centred, _map("rsqrt", _map("add", variance, eps))), mean, variance


def _trailing(function: str, input: Tensor, normalized_shape: Sequence[int]) -> list[int]:
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape:
        raise RuntimeError(f"Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                           f"element, but got normalized_shape = {list(shape)}")  # fmt: skip
    if input.dims[-len(shape) :] != shape:
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape "
                           f"[*, {', '.join(map(str, shape))}], but got input of size{list(input.dims)}")  # fmt: skip
    return list(range(-len(shape), 0))


@_autocast.policy
def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Returns the input with its last dimensions normalized to mean 0 and variance 1, and then scaled and shifted.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (..., *normalized_shape), of a floating dtype.
    normalized_shape : sequence of ints
        The extents of the dimensions that are normalized together.
    weight : Tensor, optional
        The factors, of shape `normalized_shape`; None for 1.
    bias : Tensor, optional
        The shifts, of shape `normalized_shape`; None for 0.
    eps : float, default 1e-05
        What is added to the variance before its root is taken.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    RuntimeError
        If the input's shape does not end with `normalized_shape`.

    See Also
    --------
    torch.nn.functional.local_response_norm, torch.nn.functional.batch_norm, torch.nn.functional.group_norm,
    torch.nn.functional.instance_norm, torch.nn.functional.normalize

    Examples
    --------
    >>> F.layer_norm(torch.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    dims = _trailing("layer_norm", input, normalized_shape)
    shape = input.dims[-len(dims) :]
    fits = (weight is None or weight.dims == shape) and (bias is None or bias.dims == shape)
    if fits and input.is_floating_point() and input.numel():
        return _core.t_layer_norm(input, len(dims), weight, bias, eps)
    return _affine(_standardize(_to_float32(input), dims, eps)[0], weight, bias, input.dtype_name)


@_autocast.policy
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Returns the input divided by the root mean square of its last dimensions, and then scaled.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (..., *normalized_shape), of a floating dtype.
    normalized_shape : sequence of ints
        The extents of the dimensions that are normalized together.
    weight : Tensor, optional
        The factors, of shape `normalized_shape`; None for 1.
    eps : float, optional
        What is added to the mean square, by default the dtype's epsilon.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.layer_norm

    Examples
    --------
    >>> F.rms_norm(torch.tensor([[3.0, 3.0]]), (2,))
    tensor([[1., 1.]])
    """
    dims = _trailing("rms_norm", input, normalized_shape)
    x = _to_float32(input)
    square = _reductions.mean(_map("square", x), dims, True)
    eps = finfo(x.dtype).eps if eps is None else eps
    return _affine(_map("multiply", x, _map("rsqrt", _map("add", square, eps))), weight, None, input.dtype_name)


def _channelwise(t: Tensor | None, ndim: int) -> Tensor | None:
    """Reshapes a vector of one number for each channel so that it broadcasts to an input with `ndim` dimensions."""
    return None if t is None else t.reshape([1, -1, *(1 for _ in range(ndim - 2))])


def _check_channels(function: str, input: Tensor, **given: Tensor | None) -> None:
    for name, t in given.items():
        if t is not None and t.numel() != input.dims[1]:
            raise RuntimeError(f"[{function}] {name} should contain {input.dims[1]} elements not {t.numel()}: the "
                               f"input has shape {list(input.dims)}, {name} has {list(t.dims)}")  # fmt: skip


def _update_running(running: Tensor | None, seen: Tensor, momentum: Any) -> None:
    """Updates a running statistic with that of the batch, without gradient."""
    if running is not None:
        seen = seen.detach().reshape(running.dims)
        kept = running.detach()
        _core.t_update(kept, _map("add", _map("multiply", kept, 1 - momentum), _map("multiply", seen, momentum)))


def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: Any = 0.1,
               eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Returns the input with each channel normalized to mean 0 and variance 1, and then scaled and shifted.

    Training uses the statistics of the batch and updates the running ones. Otherwise the running statistics are
    used.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...), of a floating dtype.
    running_mean : Tensor or None
        The running means, (C); None for those of the batch alone.
    running_var : Tensor or None
        The running variances, (C); None for those of the batch alone.
    weight : Tensor, optional
        The factors, (C); None for 1.
    bias : Tensor, optional
        The shifts, (C); None for 0.
    training : bool, default False
        Whether the batch's statistics are used.
    momentum : float, default 0.1
        The part of the batch's statistics in the updated running ones.
    eps : float, default 1e-05
        What is added to the variance before its root is taken.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    ValueError
        If there is one value for each channel in training.
    RuntimeError
        If statistics or parameters do not match the number of channels.

    See Also
    --------
    torch.nn.functional.group_norm, torch.nn.functional.instance_norm, torch.nn.functional.layer_norm,
    torch.nn.functional.local_response_norm

    Examples
    --------
    >>> F.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    _check_channels("batch_norm", input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    if not training:
        n = input.ndim
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
        factor = _map("rsqrt", _map("add", _channelwise(running_var, n), eps))
        if weight is not None:
            factor = _map("multiply", factor, _channelwise(weight, n))
        centred = _map("subtract", _to_float32(input), _channelwise(running_mean, n))
        return _affine(centred, factor, _channelwise(bias, n), input.dtype_name)
    count = input.numel() // max(input.dims[1], 1)
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    result, mean, variance = _core.t_batch_norm(input, weight, bias, eps)
    if count:  # nothing is learned from an empty batch
        _update_running(running_mean, mean, momentum)
        _update_running(running_var, _map("multiply", variance, count / (count - 1)), momentum)
    return result


def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Returns the input with each channel of each sample normalized to mean 0 and variance 1, and then scaled and
    shifted.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...), of a floating dtype.
    running_mean : Tensor, optional
        The running means, (C), or None.
    running_var : Tensor, optional
        The running variances, (C), or None.
    weight : Tensor, optional
        The factors, (C); None for 1.
    bias : Tensor, optional
        The shifts, (C); None for 0.
    use_input_stats : bool, default True
        Whether the statistics of the samples are used; the running ones otherwise.
    momentum : float, default 0.1
        The part of the batch's statistics in the updated running ones.
    eps : float, default 1e-05
        What is added to the variance before its root is taken.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.layer_norm, torch.nn.functional.local_response_norm, torch.nn.functional.batch_norm,
    torch.nn.functional.group_norm

    Examples
    --------
    >>> F.instance_norm(torch.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    _check_channels(
        "instance_norm", input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    count = math.prod(input.dims[2:])
    if count == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    result, mean, variance = _standardize(_to_float32(input), list(range(2, input.ndim)), eps)
    filled = input.numel() > 0
    if running_mean is not None and filled:
        _update_running(running_mean, _reductions.mean(mean.detach(), 0), momentum)
    if running_var is not None and filled:
        seen = _map("multiply", variance.detach(), count / max(count - 1, 1))
        _update_running(running_var, _reductions.mean(seen, 0), momentum)
    n = input.ndim
    return _affine(result, _channelwise(weight, n), _channelwise(bias, n), input.dtype_name)


@_autocast.policy
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Returns the input with groups of channels of each sample normalized to mean 0 and variance 1, and then scaled and
    shifted.

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...), of a floating dtype.
    num_groups : int
        The number of groups, a divisor of C.
    weight : Tensor, optional
        The factors, (C); None for 1.
    bias : Tensor, optional
        The shifts, (C); None for 0.
    eps : float, default 1e-05
        What is added to the variance before its root is taken.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    Raises
    ------
    RuntimeError
        If the number of channels is not divisible by the number of groups.

    See Also
    --------
    torch.nn.functional.instance_norm, torch.nn.functional.layer_norm, torch.nn.functional.local_response_norm,
    torch.nn.functional.batch_norm

    Examples
    --------
    >>> F.group_norm(torch.tensor([[1.0, 3.0, 5.0, 5.0]]), num_groups=2)
    tensor([[-1.0000,  1.0000,  0.0000,  0.0000]])
    """
    if input.ndim < 2 or input.dims[1] % num_groups:
        raise RuntimeError(f"Expected number of channels in input to be divisible by num_groups, but got input of "
                           f"shape {list(input.dims)} and num_groups={num_groups}")  # fmt: skip
    _check_channels("group_norm", input, weight=weight, bias=bias)
    x = _to_float32(input).reshape(input.dims[0], num_groups, math.prod(input.dims[1:]) // num_groups)
    result = _standardize(x, [2], eps)[0].reshape(input.dims)
    n = input.ndim
    return _affine(result, _channelwise(weight, n), _channelwise(bias, n), input.dtype_name)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Returns the input divided by `(k + alpha * mean of squares of neighboring channels)**beta` (Krizhevsky et al.,
    2012).

    Parameters
    ----------
    input : Tensor
        A tensor of shape (N, C, ...), of a floating dtype.
    size : int
        The number of neighboring channels.
    alpha : float, default 0.0001
        The factor.
    beta : float, default 0.75
        The exponent.
    k : float, default 1.0
        The summand.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.batch_norm, torch.nn.functional.group_norm, torch.nn.functional.instance_norm,
    torch.nn.functional.layer_norm

    Examples
    --------
    >>> F.local_response_norm(torch.ones(1, 2, 3), size=2, alpha=1.0, beta=1.0).shape
    torch.Size([1, 2, 3])
    """
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    square = _map("square", input)
    edges = [0, 0] * (input.ndim - 2) + [size // 2, (size - 1) // 2]
    mean = _reductions.mean(pad(square, edges).unfold(1, size, 1), -1)
    return _map("divide", input, _map("power", _map("add", _map("multiply", mean, alpha), k), beta))


@_autocast.policy
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """Returns the input divided by its p-norm along a dimension.

    Parameters
    ----------
    input : Tensor
        A tensor of any shape, of a floating dtype.
    p : float, default 2.0
        The order of the norm.
    dim : int or sequence of ints, default 1
        The dimension, or several.
    eps : float, default 1e-12
        The least norm that is divided by.
    out : Tensor, optional
        A tensor of the result's shape to write to.

    Returns
    -------
    Tensor
        A tensor of the shape and dtype of `input`.

    See Also
    --------
    torch.nn.functional.layer_norm

    Examples
    --------
    >>> F.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    return write_out(out, _map("divide", input, clamp(_reductions.norm(input, p, dim, True), min=eps)))


__all__ = [
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize", "rms_norm"
]  # fmt: skip
