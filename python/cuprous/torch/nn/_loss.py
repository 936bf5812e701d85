"""Loss functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _autocast, _indexing, _reductions, _shape
from cuprous.torch._args import astype
from cuprous.torch._pointwise import xlogy
from cuprous.torch._softmax import log_softmax
from cuprous.torch.nn._pure_activation import logsigmoid

_map = _core.t_map


def reduced(loss: Tensor, reduction: str, weight: Tensor | None = None) -> Tensor:
    """Returns the mean, the sum, or all elements of a loss, multiplied by weights if any."""
    loss = loss if weight is None else _map("multiply", loss, weight)
    if reduction == "mean":
        return _reductions.mean(loss)
    if reduction == "sum":
        return _reductions.sum(loss)
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy(size_average: Any, reduce: Any, reduction: str) -> str:
    """Returns the reduction for the deprecated arguments `size_average` and `reduce`."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def alike(input: Tensor, target: Tensor) -> None:
    """Warns if shapes differ and would be broadcast."""
    if input.dims != target.dims:
        import warnings

        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def mse_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
             weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns the squared difference of predictions and targets.

    Parameters
    ----------
    input : Tensor
        The predictions, a tensor of any shape, of a floating dtype.
    target : Tensor
        The targets, a tensor of the shape of `input`.
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
    reduce : bool, optional
        Deprecated; `reduction` takes its place.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.
    weight : Tensor, optional
        The weight of each element.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of the shape of `input`.

    See Also
    --------
    torch.nn.functional.l1_loss, torch.nn.functional.smooth_l1_loss, torch.nn.functional.huber_loss

    Examples
    --------
    >>> F.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """
    if _autocast.is_enabled():
        input, target, weight = (_autocast.to_float32(t) for t in (input, target, weight))
    if reduction == "mean" and weight is None and size_average is None and reduce is None:
        mean = _core.t_mse_loss(input, target)
        if mean is not None:
            return mean
    alike(input, target)
    return reduced((input - target) ** 2, legacy(size_average, reduce, reduction), weight)


@_autocast.policy
def l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
            weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns the absolute difference of predictions and targets.

    Parameters
    ----------
    input : Tensor
        The predictions, a tensor of any shape, of a floating dtype.
    target : Tensor
        The targets, a tensor of the shape of `input`.
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
    reduce : bool, optional
        Deprecated; `reduction` takes its place.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.
    weight : Tensor, optional
        The weight of each element.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of the shape of `input`.

    See Also
    --------
    torch.nn.functional.smooth_l1_loss, torch.nn.functional.huber_loss, torch.nn.functional.mse_loss

    Examples
    --------
    >>> F.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(1.)
    """
    alike(input, target)
    loss = _map("absolute", _map("subtract", input, target))
    return reduced(loss, legacy(size_average, reduce, reduction), weight)


def _huber(input: Tensor, target: Tensor, at: float, linear: float) -> Tensor:
    """Returns half the squared difference up to a threshold and a linear function beyond, with slope `linear`."""
    size = _map("absolute", _map("subtract", input, target))
    near = _map("multiply", _map("square", size), 0.5 * linear / at)
    return _map("where", _map("less", size, at), near, _map("multiply", _map("subtract", size, 0.5 * at), linear))


@_autocast.policy
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:  # fmt: skip
    """Returns half the squared difference over beta up to a difference of beta, and the difference minus beta/2 above.

    Parameters
    ----------
    input : Tensor
        The predictions, a tensor of any shape, of a floating dtype.
    target : Tensor
        The targets, a tensor of the shape of `input`.
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
    reduce : bool, optional
        Deprecated; `reduction` takes its place.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.
    beta : float, default 1.0
        The difference where the loss becomes linear.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of the shape of `input`.

    See Also
    --------
    torch.nn.functional.huber_loss, torch.nn.functional.mse_loss, torch.nn.functional.l1_loss

    Examples
    --------
    >>> F.smooth_l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.5, 4.0]))
    tensor(0.8125)
    """
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, size_average, reduce, reduction)
    alike(input, target)
    return reduced(_huber(input, target, beta, 1.0), legacy(size_average, reduce, reduction))


@_autocast.policy
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Returns half the squared difference up to a difference of delta, and a linear function above.

    Parameters
    ----------
    input : Tensor
        The predictions, a tensor of any shape, of a floating dtype.
    target : Tensor
        The targets, a tensor of the shape of `input`.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.
    delta : float, default 1.0
        The difference where the loss becomes linear.
    weight : Tensor, optional
        The weight of each element.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of the shape of `input`.

    See Also
    --------
    torch.nn.functional.mse_loss, torch.nn.functional.l1_loss, torch.nn.functional.smooth_l1_loss

    Examples
    --------
    >>> F.huber_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.5, 4.0]))
    tensor(0.8125)
    """
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    alike(input, target)
    return reduced(_huber(input, target, delta, delta), reduction, weight)


@_autocast.policy
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
                         reduce: Any = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Returns `-(t log p + (1 - t) log(1 - p))` for probabilities p and targets t. Logarithms are at least -100.

    Parameters
    ----------
    input : Tensor
        Probabilities of any shape.
    target : Tensor
        Numbers from 0 to 1, of the same shape.
    weight : Tensor, optional
        The weight of each element.
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
    reduce : bool, optional
        Deprecated; `reduction` takes its place.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of the shape of `input`.

    See Also
    --------
    torch.nn.functional.binary_cross_entropy_with_logits, torch.nn.functional.cross_entropy,
    torch.nn.functional.nll_loss

    Examples
    --------
    >>> F.binary_cross_entropy(torch.tensor([0.5, 0.9]), torch.tensor([1.0, 1.0]))
    tensor(0.3993)
    """
    if input.dims != target.dims:
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is "
                         "deprecated. Please ensure they have the same size.")  # fmt: skip
    yes = _map("multiply", target, _log_from(input))
    no = _map("multiply", _map("subtract", 1, target), _log_from(_map("subtract", 1, input)))
    loss = _map("negative", _map("add", yes, no))
    return reduced(loss, legacy(size_average, reduce, reduction), weight)


def _log_from(p: Tensor) -> Tensor:
    tiny = _map("less", p, math.exp(-100.0))
    return _map("where", tiny, -100.0, _map("log", _map("where", tiny, 1, p)))


@_autocast.policy
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     size_average: Any = None, reduce: Any = None, reduction: str = "mean",
                                     pos_weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """Returns the binary cross entropy of the sigmoid of the input.

    Parameters
    ----------
    input : Tensor
        The predictions, a tensor of any shape, of a floating dtype.
    target : Tensor
        Numbers from 0 to 1, of the same shape.
    weight : Tensor, optional
        The weight of each element.
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
    reduce : bool, optional
        Deprecated; `reduction` takes its place.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.
    pos_weight : Tensor, optional
        The weight of positive targets.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of the shape of `input`.

    See Also
    --------
    torch.nn.functional.cross_entropy, torch.nn.functional.nll_loss, torch.nn.functional.binary_cross_entropy

    Examples
    --------
    >>> F.binary_cross_entropy_with_logits(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 1.0]))
    tensor(0.4100)
    """
    if input.dims != target.dims:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    lower = logsigmoid(input)
    if pos_weight is not None:
        factor = _map("add", _map("multiply", _map("subtract", pos_weight, 1), target), 1)
        lower = _map("multiply", factor, lower)
    loss = _map("subtract", _map("multiply", _map("subtract", 1, target), input), lower)
    return reduced(loss, legacy(size_average, reduce, reduction), weight)


@_autocast.policy
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
             ignore_index: int = -100, reduce: Any = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Returns the negative log-probability of each target class.

    Parameters
    ----------
    input : Tensor
        Log-probabilities of shape (C), (N, C) or (N, C, ...).
    target : Tensor
        int64 classes of shape (), (N) or (N, ...).
    weight : Tensor, optional
        The weight of each class, (C).
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
    ignore_index : int, default -100
        A target that does not count.
    reduce : bool, optional
        Deprecated; `reduction` takes its place.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of the shape of `target`.

    See Also
    --------
    torch.nn.functional.binary_cross_entropy, torch.nn.functional.binary_cross_entropy_with_logits,
    torch.nn.functional.cross_entropy

    Examples
    --------
    >>> F.nll_loss(torch.log(torch.tensor([[0.5, 0.5], [0.25, 0.75]])), torch.tensor([0, 1]))
    tensor(0.4904)
    """
    return _weighted_nll(input, target, weight, ignore_index, legacy(size_average, reduce, reduction))[0]


def _gather_classes(logs: Tensor, index: Tensor, dim: int) -> Tensor:
    return _shape.squeeze(_indexing.gather(logs, dim, index.unsqueeze(dim)), dim)


def _weighted_nll(logs: Tensor, target: Tensor, weight: Tensor | None, ignore: int, reduction: str,
                pick: Callable[[Tensor, Tensor, int], Tensor] = _gather_classes) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Returns the loss and the weight of each target; `pick` gathers the log-probabilities of the targets."""
    if target.is_floating_point():
        raise RuntimeError(f'"nll_loss" not implemented for targets of dtype {target.dtype_name}')
    dim = 0 if logs.ndim == 1 else 1
    expected = logs.dims[:dim] + logs.dims[dim + 1 :]
    if target.dims != expected:
        if len(expected) == target.ndim == 1:
            raise ValueError(f"Expected input batch_size ({expected[0]}) to match target batch_size "
                             f"({target.dims[0]}).")  # fmt: skip
        raise ValueError(f"Expected target size {list(expected)}, got {list(target.dims)}")
    _core.t_check_classes(target, logs.dims[dim], ignore)
    valid = _map("not_equal", target, ignore)
    index = _map("where", valid, target, 0)
    picked = pick(logs, index, dim)
    own = _core.t_cast(valid, picked.dtype_name)
    if weight is not None:
        own = _map("multiply", own, _indexing.gather(weight, 0, index.reshape(-1)).reshape(index.dims))
    loss = _map("negative", _map("where", valid, _map("multiply", picked, own), 0))
    if reduction == "mean":
        return _map("divide", _reductions.sum(loss), _reductions.sum(own)), own
    return reduced(loss, reduction), own


def _log_softmax_at(x: Tensor, index: Tensor, dim: int) -> Tensor:
    return _core.t_log_likelihood(x, astype(index, "int64"), dim)


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
                  ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:  # fmt: skip
    """Returns the cross entropy of the softmax of the input with target classes or target probabilities.

    Parameters
    ----------
    input : Tensor
        Unnormalized log-probabilities of shape (C), (N, C) or (N, C, ...).
    target : Tensor
        int64 classes of shape (), (N) or (N, ...), or probabilities of the shape of `input`.
    weight : Tensor, optional
        The weight of each class, (C).
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
    ignore_index : int, default -100
        A class that does not count.
    reduce : bool, optional
        Deprecated; `reduction` takes its place.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.
    label_smoothing : float, default 0.0
        The part of a target's probability that is spread over all classes, from 0 to 1.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of the shape of class targets.

    See Also
    --------
    torch.nn.functional.nll_loss, torch.nn.functional.binary_cross_entropy,
    torch.nn.functional.binary_cross_entropy_with_logits, torch.nn.functional.ctc_loss

    Examples
    --------
    >>> F.cross_entropy(torch.tensor([[0.0, 0.0], [1.0, 3.0]]), torch.tensor([0, 1]))
    tensor(0.4100)
    """
    reduction = legacy(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if reduction == "mean" and weight is None and not label_smoothing:
        mean = _core.t_cross_entropy(input, target, ignore_index)
        if mean is not None:
            return mean
    dim = 0 if input.ndim == 1 else 1
    if not label_smoothing and not target.is_floating_point() and input.is_floating_point():
        return _weighted_nll(input, target, _autocast.to_float32(weight), ignore_index, reduction, _log_softmax_at)[0]
    input, target, weight = (_autocast.to_float32(t) for t in (input, target, weight))
    logs = log_softmax(input, dim)
    wide = None if weight is None else weight.reshape([-1 if k == dim else 1 for k in range(input.ndim)])
    classes = input.dims[dim]
    if target.is_floating_point():
        if target.ndim == input.ndim - 1:
            raise RuntimeError(f"expected scalar type Long but found {target.dtype}: targets of shape {target.shape} "
                               f"for inputs of shape {input.shape} are classes (int64)")  # fmt: skip
        if target.dims != input.dims:
            raise ValueError(f"Expected floating point type for target with class probabilities of shape {input.shape}")
        if label_smoothing:
            target = _map("add", _map("multiply", target, 1 - label_smoothing), label_smoothing / classes)
        terms = _map("multiply", logs, target)
        loss = _map("negative", _reductions.sum(terms if wide is None else _map("multiply", terms, wide), dim))
        if reduction == "mean":
            return _map("divide", _reductions.sum(loss), max(input.numel() // classes, 1))
        return reduced(loss, reduction)
    loss, own = _weighted_nll(logs, target, weight, ignore_index, reduction)
    valid = _map("not_equal", target, ignore_index)
    terms = _reductions.sum(logs if wide is None else _map("multiply", logs, wide), dim)
    smooth = _map("negative", _map("where", valid, terms, 0))
    if reduction == "mean":
        smooth = _map("divide", _reductions.sum(smooth), _reductions.sum(own))
    else:
        smooth = reduced(smooth, reduction)
    return _map("add", _map("multiply", loss, 1 - label_smoothing), _map("multiply", smooth, label_smoothing / classes))


@_autocast.policy
def kl_div(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
           log_target: bool = False) -> Tensor:  # fmt: skip
    """Returns the Kullback-Leibler divergence `t (log t - x)` of log-probabilities x from target probabilities t.

    Parameters
    ----------
    input : Tensor
        Log-probabilities of any shape.
    target : Tensor
        Probabilities of the same shape.
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
    reduce : bool, optional
        Deprecated; `reduction` takes its place.
    reduction : str, default "mean"
        "mean", "batchmean" for the sum over the number of rows, "sum" or "none".
    log_target : bool, default False
        Whether the targets are log-probabilities.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of the shape of `input`.

    See Also
    --------
    torch.nn.functional.poisson_nll_loss, torch.nn.functional.gaussian_nll_loss

    Examples
    --------
    >>> F.kl_div(torch.log(torch.tensor([0.5, 0.5])), torch.tensor([0.25, 0.75]))
    tensor(0.0654)
    """
    if log_target:
        loss = _map("multiply", _map("exp", target), _map("subtract", target, input))
    else:
        loss = _map("subtract", xlogy(target, target), _map("multiply", target, input))
    reduction = legacy(size_average, reduce, reduction)
    if reduction == "batchmean":
        return _map("divide", _reductions.sum(loss), input.dims[0] if input.ndim else 1)
    return reduced(loss, reduction)


__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "huber_loss", "kl_div", "l1_loss",
    "mse_loss", "nll_loss", "smooth_l1_loss",
]  # fmt: skip
