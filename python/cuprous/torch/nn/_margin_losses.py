"""Margin losses, negative log-likelihoods, and connectionist temporal classification."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _autocast, _cumulative, _indexing, _joining, _reductions, _softmax
from cuprous.torch._comparisons import clamp
from cuprous.torch._creation import tensor
from cuprous.torch.nn._embedding import pairwise_distance
from cuprous.torch.nn._loss import legacy, reduced
from cuprous.torch.nn._pure_activation import logsigmoid

_map = _core.t_map


@_autocast.policy
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
                     size_average: Any = None, eps: float = 1e-8, reduce: Any = None,
                     reduction: str = "mean") -> Tensor:  # fmt: skip
    """Returns the negative logarithm of the Poisson probability of counts.

    Parameters
    ----------
    input : Tensor
        The rates or their logarithms, of any shape.
    target : Tensor
        The counts, of the same shape.
    log_input : bool, default True
        Whether the input is the logarithm of rates.
    full : bool, default False
        Whether to add the terms that depend on the counts alone, by Stirling's formula.
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
    eps : float, default 1e-08
        What is added to rates before taking their logarithm.
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
    torch.nn.functional.gaussian_nll_loss, torch.nn.functional.kl_div

    Examples
    --------
    >>> F.poisson_nll_loss(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]))
    tensor(0.8591)
    """
    rate, log = (_map("exp", input), input) if log_input else (input, _map("log", input + eps))
    loss = rate - target * log
    if full:
        many = _map("greater", target, 1)
        n = _map("where", many, target, 1)
        stirling = n * _map("log", n) - n + 0.5 * _map("log", 2 * math.pi * n)
        loss = loss + _map("where", many, stirling, 0)
    return reduced(loss, legacy(size_average, reduce, reduction))


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:  # fmt: skip
    """Returns the negative logarithm of a normal density.

    Parameters
    ----------
    input : Tensor
        The means, of any shape.
    target : Tensor
        The samples, of the same shape.
    var : Tensor
        The variances: of the same shape, without the last dimension, or with extent 1 in one dimension; or a number.
    full : bool, default False
        Whether to add the constant term.
    eps : float, default 1e-06
        The least variance.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of the shape of `input`.

    See Also
    --------
    torch.nn.functional.kl_div, torch.nn.functional.poisson_nll_loss

    Examples
    --------
    >>> F.gaussian_nll_loss(torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([1.0]))
    tensor(0.5000)
    """
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = _core.t_full(list(input.dims), var, input.dtype_name, input.device_name)
    if var.dims != input.dims:
        if var.dims == input.dims[:-1]:
            var = var.unsqueeze(-1)
        elif var.ndim != input.ndim or [b for a, b in zip(input.dims, var.dims, strict=True) if a != b] != [1]:
            raise ValueError(f"var is of incorrect size: {list(var.dims)} for an input of {list(input.dims)}")
    # Clamped away from 0, with the gradient of the unclamped value.
    var = var + (clamp(var, min=eps) - var).detach()
    loss = 0.5 * (_map("log", var) + _map("square", input - target) / var)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def _hinge(x: Tensor) -> Tensor:
    return clamp(x, min=0)


@_autocast.policy
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None,
                        reduce: Any = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Returns `max(0, -target * (input1 - input2) + margin)`.

    Parameters
    ----------
    input1 : Tensor
        Scores of any shape.
    input2 : Tensor
        Scores of the same shape.
    target : Tensor
        1 where the first score should be higher, -1 where the second should.
    margin : float, default 0
        The least difference without a loss.
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
    reduce : bool, optional
        Deprecated; `reduction` takes its place.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of the shape of `input1`.

    See Also
    --------
    torch.nn.functional.cosine_embedding_loss, torch.nn.functional.hinge_embedding_loss,
    torch.nn.functional.triplet_margin_loss, torch.nn.functional.triplet_margin_with_distance_loss

    Examples
    --------
    >>> F.margin_ranking_loss(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 1.0]), torch.tensor([1.0, 1.0]))
    tensor(0.5000)
    """
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                           f"{input1.shape}, input2: {input2.shape}, target: {target.shape} ")  # fmt: skip
    loss = _hinge(float(margin) - target * (input1 - input2))
    return reduced(loss, legacy(size_average, reduce, reduction))


@_autocast.policy
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: Any = None,
                         reduce: Any = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Returns the input for target 1, and `max(0, margin - input)` for target -1.

    Parameters
    ----------
    input : Tensor
        Distances of any shape.
    target : Tensor
        1 or -1, of the same shape.
    margin : float, default 1.0
        The distance without a loss for target -1.
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
    torch.nn.functional.triplet_margin_loss, torch.nn.functional.triplet_margin_with_distance_loss,
    torch.nn.functional.margin_ranking_loss, torch.nn.functional.cosine_embedding_loss

    Examples
    --------
    >>> F.hinge_embedding_loss(torch.tensor([0.5, 0.25]), torch.tensor([1.0, -1.0]))
    tensor(0.6250)
    """
    far = _map("where", _map("not_equal", target, 1), _hinge(margin - input), 0)
    near = _map("where", _map("not_equal", target, -1), input, 0)
    return reduced(far + near, legacy(size_average, reduce, reduction))


@_autocast.policy
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None,
                          reduce: Any = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Returns 1 - cos for target 1, and `max(0, cos - margin)` for target -1, for the angle between vectors.

    Parameters
    ----------
    input1 : Tensor
        Vectors of shape (N, D) or (D).
    input2 : Tensor
        Vectors of the same shape.
    target : Tensor
        1 or -1, of shape (N) or ().
    margin : float, default 0
        The cosine without a loss for target -1.
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
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
    torch.nn.functional.hinge_embedding_loss, torch.nn.functional.triplet_margin_loss,
    torch.nn.functional.triplet_margin_with_distance_loss, torch.nn.functional.margin_ranking_loss

    Examples
    --------
    >>> F.cosine_embedding_loss(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]), torch.tensor([1.0]))
    tensor(0.2929)
    """
    if target.ndim not in (0, 1) or input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise RuntimeError(f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs "
                           f"with sizes {list(input1.dims)} and {list(input2.dims)}.")  # fmt: skip
    top = _reductions.sum(input1 * input2, -1)
    sizes = [_reductions.sum(_map("square", x), -1) + 1e-12 for x in (input1, input2)]
    cos = top / _map("sqrt", sizes[0] * sizes[1])
    loss = _map("where", _map("equal", target, 1), 1 - cos, 0)
    loss = loss + _map("where", _map("equal", target, -1), _hinge(cos - margin), 0)
    return reduced(loss, legacy(size_average, reduce, reduction))


@_autocast.policy
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """Returns `log(1 + exp(-target * input))`.

    Parameters
    ----------
    input : Tensor
        Scores of any shape.
    target : Tensor
        1 or -1, of the same shape.
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
    torch.nn.functional.multi_margin_loss, torch.nn.functional.multilabel_margin_loss,
    torch.nn.functional.multilabel_soft_margin_loss

    Examples
    --------
    >>> F.soft_margin_loss(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 1.0]))
    tensor(0.4100)
    """
    return reduced(_map("negative", logsigmoid(target * input)), legacy(size_average, reduce, reduction))


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
                                reduce: Any = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Returns the mean of the binary cross entropies of classes.

    Parameters
    ----------
    input : Tensor
        Scores of shape (N, C) or (C).
    target : Tensor
        0 or 1, of the same shape.
    weight : Tensor, optional
        The weight of each class, (C).
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
    reduce : bool, optional
        Deprecated; `reduction` takes its place.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of shape (N).

    See Also
    --------
    torch.nn.functional.soft_margin_loss, torch.nn.functional.multi_margin_loss,
    torch.nn.functional.multilabel_margin_loss

    Examples
    --------
    >>> F.multilabel_soft_margin_loss(torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0]]))
    tensor(1.4100)
    """
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    loss = loss if weight is None else loss * weight
    return reduced(_reductions.mean(loss, -1), legacy(size_average, reduce, reduction))


def _classes(function: str, input: Tensor, target: Tensor, wide: bool) -> tuple[Tensor, Tensor]:
    """Returns the input as (N, C), and the target as (N, C) if `wide`, otherwise (N, 1)."""
    if not wide and input.ndim == 1 and target.dims == (1,):
        target = target.reshape(())
    if input.ndim not in (1, 2) or target.dims != (input.dims if wide else input.dims[:-1]):
        raise RuntimeError(f"[{function}] inconsistent target size {list(target.dims)} for input {list(input.dims)}")
    x = input.reshape(-1, input.dims[-1])
    return x, target.reshape(x.dims if wide else (-1, 1))


@_autocast.policy
def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
                      size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Returns the mean over all classes but the target of `max(0, margin - x[target] + x)**p`.

    Parameters
    ----------
    input : Tensor
        Scores of shape (N, C) or (C).
    target : Tensor
        int64 classes of shape (N) or ().
    p : int, default 1
        The exponent, 1 or 2.
    margin : float, default 1.0
        The least difference without a loss.
    weight : Tensor, optional
        The weight of each class, (C).
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
    reduce : bool, optional
        Deprecated; `reduction` takes its place.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of shape (N).

    See Also
    --------
    torch.nn.functional.multilabel_margin_loss, torch.nn.functional.multilabel_soft_margin_loss,
    torch.nn.functional.soft_margin_loss

    Examples
    --------
    >>> F.multi_margin_loss(torch.tensor([[0.0, 2.0]]), torch.tensor([0]))
    tensor(1.5000)
    """
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    x, y = _classes("multi_margin_loss", input, target, False)
    loss = _hinge(margin - _indexing.gather(x, 1, y) + x)
    loss = _map("square", loss) if p == 2 else loss
    if weight is not None:
        loss = loss * _indexing.gather(weight, 0, y.reshape(-1)).unsqueeze(1)
    positions = _core.t_iota([x.dims[1]], [1], 0, x.device_name)
    loss = _reductions.mean(_map("where", _map("equal", positions, y), 0, loss), 1)
    return reduced(loss.reshape(target.dims), legacy(size_average, reduce, reduction))


@_autocast.policy
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Tensor:
    """Returns the sum of `max(0, 1 - x[y] + x[k])` over targets y and other classes k, divided by the number of
    classes.

    Parameters
    ----------
    input : Tensor
        Scores of shape (N, C) or (C).
    target : Tensor
        int64 classes of the same shape; those from the first -1 on do not count.
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
    reduce : bool, optional
        Deprecated; `reduction` takes its place.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of shape (N).

    See Also
    --------
    torch.nn.functional.multilabel_soft_margin_loss, torch.nn.functional.soft_margin_loss,
    torch.nn.functional.multi_margin_loss

    Examples
    --------
    >>> F.multilabel_margin_loss(torch.tensor([[0.1, 0.2, 0.4]]), torch.tensor([[2, -1, 0]]))
    tensor(0.5000)
    """
    x, y = _classes("multilabel_margin_loss", input, target, True)
    ended = _cumulative.cumsum(_core.t_cast(_map("less", y, 0), "int64"), 1)
    valid = _map("equal", ended, 0)
    at = _map("where", valid, y, 0)
    positions = _core.t_iota([x.dims[1]], [1], 0, x.device_name)
    named = _map("logical_and", _map("equal", at.unsqueeze(2), positions), valid.unsqueeze(2))
    other = _map("logical_not", _reductions.any(named, 1, keepdim=True))
    pairs = _hinge(1 - _indexing.gather(x, 1, at).unsqueeze(2) + x.unsqueeze(1))
    loss = _map("where", _map("logical_and", valid.unsqueeze(2), other), pairs, 0)
    loss = _reductions.sum(loss, (1, 2)) / x.dims[1]
    return reduced(loss.reshape(input.dims[:-1]), legacy(size_average, reduce, reduction))


@_autocast.policy
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-6, swap: bool = False, size_average: Any = None, reduce: Any = None,
                        reduction: str = "mean") -> Tensor:  # fmt: skip
    """Returns `max(0, |anchor - positive| - |anchor - negative| + margin)`.

    Parameters
    ----------
    anchor : Tensor
        Vectors of shape (N, D) or (D).
    positive : Tensor
        Vectors of the same shape that should be near.
    negative : Tensor
        Vectors of the same shape that should be far.
    margin : float, default 1.0
        The least difference of distances without a loss.
    p : float, default 2
        The order of the norm.
    eps : float, default 1e-06
        What is added to each difference.
    swap : bool, default False
        Whether the distance of positive and negative counts if it is smaller than that of anchor and negative.
    size_average : bool, optional
        Deprecated; `reduction` takes its place.
    reduce : bool, optional
        Deprecated; `reduction` takes its place.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of shape (N).

    See Also
    --------
    torch.nn.functional.triplet_margin_with_distance_loss, torch.nn.functional.margin_ranking_loss,
    torch.nn.functional.cosine_embedding_loss, torch.nn.functional.hinge_embedding_loss

    Examples
    --------
    >>> F.triplet_margin_loss(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 5.0]]))
    tensor(1.0000)
    """
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=lambda a, b: pairwise_distance(a, b, p, eps), margin=margin,
        swap=swap, reduction=legacy(size_average, reduce, reduction),
    )  # fmt: skip


def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *,
                                      distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
                                      margin: float = 1.0, swap: bool = False,
                                      reduction: str = "mean") -> Tensor:  # fmt: skip
    """Returns `triplet_margin_loss` with a distance of the caller's.

    Parameters
    ----------
    anchor : Tensor
        Tensors that the distance takes.
    positive : Tensor
        Tensors that should be near.
    negative : Tensor
        Tensors that should be far.
    distance_function : callable, optional
        A function of two tensors, by default `pairwise_distance`.
    margin : float, default 1.0
        The least difference of distances without a loss.
    swap : bool, default False
        Whether the distance of positive and negative counts if it is smaller than that of anchor and negative.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each element.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of the shape of a distance.

    See Also
    --------
    torch.nn.functional.margin_ranking_loss, torch.nn.functional.cosine_embedding_loss,
    torch.nn.functional.hinge_embedding_loss, torch.nn.functional.triplet_margin_loss

    Examples
    --------
    >>> near, far = torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 5.0]])
    >>> F.triplet_margin_with_distance_loss(torch.zeros(1, 2), near, far)
    tensor(1.0000)
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _map("minimum", far, distance(positive, negative))
    return reduced(_hinge(margin + near - far), reduction)


# --- connectionist temporal classification

#: The logarithm of probability 0; finite, so that gradients are finite.
_LOG_ZERO = -1e30


def _padded(targets: Tensor, lengths: list[int]) -> Tensor:
    """Returns concatenated targets as rows padded with 0."""
    width = max(lengths, default=0)
    pieces = _joining.split(targets, lengths)
    rows = [_joining.cat([piece, piece.new_zeros(width - piece.dims[0])]) for piece in pieces]
    return _joining.stack(rows)


def _lengths(given: Any, device_name: str) -> Tensor:
    return _core.t_to_device(given if isinstance(given, Tensor) else tensor(list(given)), device_name).reshape(-1)


@_autocast.policy
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> Tensor:  # fmt: skip
    """Returns the connectionist temporal classification loss: the negative logarithm of the probability of a label
    sequence, summed over all its alignments with the input (Graves et al., 2006).

    Parameters
    ----------
    log_probs : Tensor
        (T, N, C) or (T, C) log-probabilities.
    targets : Tensor
        (N, S), or all of them concatenated.
    input_lengths : Tensor or sequence of ints
        The number of steps of each sample.
    target_lengths : Tensor or sequence of ints
        The number of labels of each sample.
    blank : int, default 0
        The index of the blank class.
    reduction : str, default "mean"
        "mean", "sum", or "none" for the loss of each sample.
    zero_infinity : bool, default False
        Whether sequences without an alignment have loss 0 instead of infinity.

    Returns
    -------
    Tensor
        A tensor without dimensions, or of shape (N).

    See Also
    --------
    torch.nn.functional.cross_entropy

    Examples
    --------
    >>> F.ctc_loss(torch.log(torch.full((2, 1, 2), 0.5)), torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
    tensor(0.2877)
    """
    single = log_probs.ndim == 2
    logs = log_probs.unsqueeze(1) if single else log_probs
    steps, n, classes = logs.dims
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    device_name = logs.device_name
    inputs, ends = _lengths(input_lengths, device_name), _lengths(target_lengths, device_name)
    if inputs.dims != (n,) or ends.dims != (n,):
        raise RuntimeError(f"[ctc_loss] input_lengths {list(inputs.dims)} and target_lengths {list(ends.dims)} must "
                           f"have the batch's size, {n}")  # fmt: skip
    if targets.ndim == 1:
        targets = targets.unsqueeze(0) if single else _padded(targets, ends.tolist())
    labels = _core.t_cast(_core.t_to_device(targets, device_name), "int64")
    # Labels separated and surrounded by blanks: blank, l1, blank, l2, … blank.
    blanks = _core.t_full([n, labels.dims[1], 1], blank, labels.dtype_name, device_name)
    spread = _joining.cat([blanks, labels.unsqueeze(2)], 2).reshape(n, -1)
    spread = _joining.cat([spread, _core.t_full([n, 1], blank, labels.dtype_name, device_name)], 1)
    width = spread.dims[1]
    # A label may directly follow another one only if they differ.
    skip = _map("not_equal", spread[:, 2:], spread[:, :-2])
    emitted = _indexing.gather(logs, 2, _core.t_expand(spread.unsqueeze(0), [steps, n, width]))
    edge = _core.t_full([n, 2], _LOG_ZERO, logs.dtype_name, device_name)
    rest = _core.t_full([n, max(width - 2, 0)], _LOG_ZERO, logs.dtype_name, device_name)
    alpha = _joining.cat([emitted[0, :, :2], rest], 1) if width > 1 else emitted[0]
    for t in range(1, steps):
        one = _joining.cat([edge[:, :1], alpha[:, :-1]], 1)
        ways = [alpha, one]
        if width > 2:
            ways.append(_joining.cat([edge, _map("where", skip, alpha[:, :-2], _LOG_ZERO)], 1))
        new = _softmax.logsumexp(_joining.stack(ways), 0) + emitted[t]
        alpha = _map("where", _map("greater", inputs, t).unsqueeze(1), new, alpha)
    last = _indexing.gather(alpha, 1, (2 * ends).unsqueeze(1))
    before = _indexing.gather(alpha, 1, clamp(2 * ends - 1, min=0).unsqueeze(1))
    before = _map("where", _map("equal", ends, 0).unsqueeze(1), _LOG_ZERO, before)
    loss = -_softmax.logsumexp(_joining.cat([last, before], 1), 1)
    lost = _map("greater", loss, -_LOG_ZERO / 2)
    loss = _map("where", lost, 0.0 if zero_infinity else math.inf, loss)
    if reduction == "mean":
        return _reductions.mean(loss / clamp(ends, min=1))
    loss = reduced(loss, reduction)
    return loss.reshape(()) if single else loss


__all__ = [
    "cosine_embedding_loss", "ctc_loss", "gaussian_nll_loss", "hinge_embedding_loss", "margin_ranking_loss",
    "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "poisson_nll_loss",
    "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip
