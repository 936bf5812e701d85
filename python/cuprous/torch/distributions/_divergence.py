"""Kullback-Leibler divergences of pairs of distributions of one class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _reductions
from cuprous.torch.distributions._base import Distribution, Independent
from cuprous.torch.distributions._continuous import Exponential, Laplace, Normal, Uniform
from cuprous.torch.distributions._discrete import Bernoulli, Categorical, OneHotCategorical, Poisson
from cuprous.torch.distributions._gamma import (
    Beta,
    Dirichlet,
    Gamma,
    beta_divergence,
    dirichlet_divergence,
    gamma_divergence,
)

_map = _core.t_map


def _normal(p: Any, q: Any) -> Tensor:
    ratio = _map("square", p.scale / q.scale)
    return 0.5 * (ratio + _map("square", (p.loc - q.loc) / q.scale) - 1 - _map("log", ratio))


def _laplace(p: Any, q: Any) -> Tensor:
    ratio, away = p.scale / q.scale, _map("absolute", p.loc - q.loc)
    return -_map("log", ratio) + away / q.scale + ratio * _map("exp", -away / p.scale) - 1


def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - _map("log", ratio)


def _uniform(p: Any, q: Any) -> Tensor:
    outside = (q.low > p.low) | (q.high < p.high)
    return _map("where", outside, float("inf"), _map("log", (q.high - q.low) / (p.high - p.low)))


def _categorical(p: Any, q: Any) -> Tensor:
    terms = _map("where", _map("equal", p.probs, 0), 0, p.probs * (p.logits - q.logits))
    return _reductions.sum(_map("where", _map("equal", q.probs, 0) & (p.probs > 0), float("inf"), terms), -1)


def _bernoulli(p: Any, q: Any) -> Tensor:
    soft = _map("logaddexp", 0, q.logits) - _map("logaddexp", 0, p.logits)
    return soft + p.probs * (p.logits - q.logits)


def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (_map("log", p.rate) - _map("log", q.rate)) - (p.rate - q.rate)


#: The formula for each class of distributions.
_FORMULAS: dict[type[Distribution], Callable[[Any, Any], Tensor]] = {
    Normal: _normal, Laplace: _laplace, Exponential: _exponential, Uniform: _uniform, Categorical: _categorical,
    OneHotCategorical: _categorical, Bernoulli: _bernoulli, Poisson: _poisson, Gamma: gamma_divergence,
    Beta: beta_divergence, Dirichlet: dirichlet_divergence,
}  # fmt: skip


#: Formulas of the program's own.
_registered: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Returns a decorator that registers a function as the divergence of distributions of two classes.

    Args:
        type_p: the first class.
        type_q: the second class.

    Returns:
        A decorator for a function of two distributions.

    Examples:
        >>> class Constant(torch.distributions.Distribution):
        ...     pass
        >>> @torch.distributions.register_kl(Constant, Constant)
        ... def divergence(p, q):
        ...     return torch.tensor(0.0)
        >>> torch.distributions.kl_divergence(Constant(), Constant())
        tensor(0.)
    """

    def register(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        _registered[type_p, type_q] = function
        return function

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """Returns the Kullback-Leibler divergence of p from q in nats.

    Args:
        p: a distribution.
        q: a distribution.

    Returns:
        A tensor of the batch's shape.

    Raises:
        NotImplementedError: for pairs without a formula.

    Examples:
        >>> p, q = torch.distributions.Normal(0.0, 1.0), torch.distributions.Normal(1.0, 1.0)
        >>> torch.distributions.kl_divergence(p, q)
        tensor(0.5000)
    """
    if isinstance(p, Independent) and isinstance(q, Independent) and p.count == q.count:
        return p._total(kl_divergence(p.base_dist, q.base_dist))
    for (first, second), registered in _registered.items():
        if isinstance(p, first) and isinstance(q, second):
            return registered(p, q)
    for kind, formula in _FORMULAS.items():
        if isinstance(p, kind) and isinstance(q, kind):
            return formula(p, q)
    raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
                              f"{type(q).__name__}")  # fmt: skip
