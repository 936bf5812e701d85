"""The Kullback-Leibler divergences of pairs of distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _reductions
from cuprous.torch._pointwise import xlogy
from cuprous.torch.autograd import grad
from cuprous.torch.distributions._base import Distribution, ExponentialFamily, sum_last
from cuprous.torch.distributions._continuous import (
    Cauchy,
    Exponential,
    Gumbel,
    HalfNormal,
    Laplace,
    Normal,
    Uniform,
)
from cuprous.torch.distributions._discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    OneHotCategorical,
    Poisson,
)
from cuprous.torch.distributions._gamma import Beta, Dirichlet, Gamma
from cuprous.torch.distributions._matrices import (
    LowRankMultivariateNormal,
    MultivariateNormal,
    log_diagonal,
    mahalanobis,
)
from cuprous.torch.distributions._mixed import ContinuousBernoulli
from cuprous.torch.distributions._transformed import Pareto
from cuprous.torch.linalg import solve_triangular

_map = _core.t_map
_EULER = 0.5772156649015329
_Formula = Callable[[Any, Any], Tensor]


def _log(x: Any) -> Tensor:
    return _map("log", x)


def _log_gamma(x: Tensor) -> Tensor:
    return _map("gammaln", x)


def _digamma(x: Tensor) -> Tensor:
    return _map("digamma", x)


def _sum(x: Tensor) -> Tensor:
    return _reductions.sum(x, -1)


def _infinite_where(outside: Tensor, found: Tensor) -> Tensor:
    return _map("where", outside, math.inf, found)


def _infinite(p: Any, _: Any) -> Tensor:
    """Returns infinity: p has values that q has not."""
    return _core.t_full(list(p.batch_shape), math.inf, p.mean.dtype_name, p.mean.device_name)


# Distributions of one class.


def _normal(p: Any, q: Any) -> Tensor:
    ratio = _map("square", p.scale / q.scale)
    return 0.5 * (ratio + _map("square", (p.loc - q.loc) / q.scale) - 1 - _log(ratio))


def _half_normal(p: Any, q: Any) -> Tensor:
    ratio = _map("square", p.scale / q.scale)
    return 0.5 * (ratio - 1 - _log(ratio))


def _laplace(p: Any, q: Any) -> Tensor:
    ratio, away = p.scale / q.scale, _map("absolute", p.loc - q.loc)
    return -_log(ratio) + away / q.scale + ratio * _map("exp", -away / p.scale) - 1


def _cauchy(p: Any, q: Any) -> Tensor:
    away = _map("square", p.scale + q.scale) + _map("square", p.loc - q.loc)
    return _log(away) - _log(4 * p.scale * q.scale)


def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -_log(ratio) + away + ratio * _EULER + _map("exp", _log_gamma(1 + ratio) - away) - (1 + _EULER)


def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - _log(ratio)


def _uniform(p: Any, q: Any) -> Tensor:
    outside = (q.low > p.low) | (q.high < p.high)
    return _infinite_where(outside, _log((q.high - q.low) / (p.high - p.low)))


def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    return _infinite_where(p.scale < q.scale, q.alpha * _log(p.scale / q.scale) - _log(ratio) + ratio - 1)


def _gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    shapes = (a - b) * _digamma(a) - _log_gamma(a) + _log_gamma(b)
    return shapes + b * _log(p.rate / q.rate) + a * (q.rate / p.rate - 1)


def _beta(p: Any, q: Any) -> Tensor:
    (a, b), (c, d) = ((x.concentration1, x.concentration0) for x in (p, q))
    norms = _log_gamma(c) + _log_gamma(d) + _log_gamma(a + b) - _log_gamma(c + d) - _log_gamma(a) - _log_gamma(b)
    return norms + (a - c) * _digamma(a) + (b - d) * _digamma(b) + (c + d - a - b) * _digamma(a + b)


def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    total = _sum(a)
    norms = _log_gamma(total) - _log_gamma(_sum(b)) - _sum(_log_gamma(a) - _log_gamma(b))
    return norms + _sum((a - b) * (_digamma(a) - _digamma(total)[..., None]))


def _categorical(p: Any, q: Any) -> Tensor:
    terms = _map("where", _map("equal", p.probs, 0), 0, p.probs * (p.logits - q.logits))
    return _sum(_infinite_where(_map("equal", q.probs, 0) & (p.probs > 0), terms))


def _bernoulli(p: Any, q: Any) -> Tensor:
    soft = _map("logaddexp", 0, q.logits) - _map("logaddexp", 0, p.logits)
    return soft + p.probs * (p.logits - q.logits)


def _binomial(p: Any, q: Any) -> Tensor:
    return _infinite_where(p.total_count > q.total_count, p.total_count * _bernoulli(p, q))


def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    logs = _map("log1p", -p.probs) - _map("log1p", -q.probs)
    return p.mean * (p.logits - q.logits) + p._log_norm() - q._log_norm() + logs


def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - _map("log1p", -q.probs) / p.probs - q.logits


def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (_log(p.rate) - _log(q.rate)) - (p.rate - q.rate)


def _multivariate(p: Any, q: Any) -> Tensor:
    one, other = p.scale_tril, q.scale_tril
    ratio = solve_triangular(other, one, upper=False)
    trace = _reductions.sum(_map("square", ratio), [-2, -1])
    volumes = log_diagonal(other) - log_diagonal(one)
    return volumes + 0.5 * (trace + mahalanobis(other, q.loc - p.loc) - p.event_shape[0])


def _family(p: Any, q: Any) -> Tensor:
    """Returns the Bregman divergence of the logarithms of the normalizers."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"The cross KL-divergence between different exponential families cannot be computed: {type(p).__name__} "
            f"and {type(q).__name__}"
        )
    of_p = [x.detach().requires_grad_() for x in p._natural_params]
    of_q = list(q._natural_params)
    normalizer = p._log_normalizer(*of_p)
    gradients = grad(normalizer.sum(), of_p, create_graph=True)
    total = q._log_normalizer(*of_q) - normalizer
    for first, second, gradient in zip(of_p, of_q, gradients, strict=True):
        total = total - sum_last((second - first) * gradient, first.ndim - len(p.batch_shape))
    return total


# Distributions of different classes, from the entropy and moments of the first.


def _from_normal(p: Any, q: Any) -> Tensor:
    spread = p.variance + _map("square", p.mean - q.loc)
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + _log(q.scale) + 0.5 * spread / _map("square", q.scale)


def _from_exponential(p: Any, q: Any) -> Tensor:
    return -p.entropy() - _log(q.rate) + q.rate * p.mean


def _mean_log(p: Any) -> Tensor:
    """Returns the mean of the logarithm."""
    if isinstance(p, Beta):
        return _digamma(p.concentration1) - _digamma(p.concentration1 + p.concentration0)
    if isinstance(p, Exponential):
        return -_EULER - _log(p.rate)
    if isinstance(p, Pareto):
        return _log(p.scale) + 1 / p.alpha
    return (xlogy(p.high, p.high) - xlogy(p.low, p.low)) / (p.high - p.low) - 1


def _from_gamma(p: Any, q: Any) -> Tensor:
    a = q.concentration
    found = -p.entropy() + _log_gamma(a) - a * _log(q.rate) - (a - 1) * _mean_log(p) + q.rate * p.mean
    return _infinite_where(p.low < 0, found) if isinstance(p, Uniform) else found


def _laplace_transform(p: Any, t: Tensor) -> Tensor:
    """Returns the mean of exp(-t x)."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + t)
    if isinstance(p, Gamma):
        return (p.rate / (p.rate + t)) ** p.concentration
    if isinstance(p, Normal):
        return _map("exp", -t * p.loc + 0.5 * _map("square", t * p.scale))
    return (_map("exp", -t * p.low) - _map("exp", -t * p.high)) / (t * (p.high - p.low))


def _from_gumbel(p: Any, q: Any) -> Tensor:
    t = 1 / q.scale
    mean = (p.mean - q.loc) * t + _map("exp", q.loc * t) * _laplace_transform(p, t)
    return -p.entropy() + _log(q.scale) + mean


def _normal_from_laplace(p: Any, q: Any) -> Tensor:
    away = p.loc - q.loc
    ratio = away / p.scale
    distance = p.scale * math.sqrt(2 / math.pi) * _map("exp", -0.5 * _map("square", ratio))
    distance = distance + away * _map("erf", ratio * math.sqrt(0.5))
    return -p.entropy() + _log(2 * q.scale) + distance / q.scale


def _within_unit(p: Any, found: Tensor) -> Tensor:
    return _infinite_where((p.high > 1) | (p.low < 0), found) if isinstance(p, Uniform) else found


def _from_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    found = -p.entropy() - p.mean * q.logits - _map("log1p", -q.probs) - q._log_norm()
    return _within_unit(p, found)


def _unit_from_uniform(p: Any, q: Any) -> Tensor:
    return _infinite_where((q.low > 0) | (q.high < 1), -p.entropy() + _log(q.high - q.low))


def _uniform_from_beta(p: Any, q: Any) -> Tensor:
    a, b = q.concentration1, q.concentration0
    low, high = 1 - p.low, 1 - p.high
    mean_log1m = (xlogy(low, low) - xlogy(high, high)) / (p.high - p.low) - 1
    norm = _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)
    return _within_unit(p, -p.entropy() + norm - (a - 1) * _mean_log(p) - (b - 1) * mean_log1m)


def _uniform_from_pareto(p: Any, q: Any) -> Tensor:
    a = q.alpha
    found = -p.entropy() - _log(a) - a * _log(q.scale) + (a + 1) * _mean_log(p)
    return _infinite_where(p.low < q.scale, found)


def _bernoulli_from_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * _log(q.rate) - q.rate)


#: The formula for each pair of classes.
FORMULAS: dict[tuple[type[Distribution], type[Distribution]], _Formula] = {
    **{
        (kind, kind): formula
        for kind, formula in {
            Normal: _normal, HalfNormal: _half_normal, Laplace: _laplace, Cauchy: _cauchy, Gumbel: _gumbel,
            Exponential: _exponential, Uniform: _uniform, Pareto: _pareto, Gamma: _gamma, Beta: _beta,
            Dirichlet: _dirichlet, Categorical: _categorical, OneHotCategorical: _categorical, Bernoulli: _bernoulli,
            Binomial: _binomial, ContinuousBernoulli: _continuous_bernoulli, Geometric: _geometric, Poisson: _poisson,
            ExponentialFamily: _family,
        }.items()
    },
    **{
        (p, q): _multivariate
        for p in (MultivariateNormal, LowRankMultivariateNormal)
        for q in (MultivariateNormal, LowRankMultivariateNormal)
    },
    **{(p, Normal): _from_normal for p in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform)},
    **{(p, Exponential): _from_exponential for p in (Beta, ContinuousBernoulli, Gamma, Pareto, Uniform)},
    **{(p, Gamma): _from_gamma for p in (Beta, Exponential, Pareto, Uniform)},
    **{(p, Gumbel): _from_gumbel for p in (Exponential, Gamma, Normal, Uniform)},
    **{(p, ContinuousBernoulli): _from_continuous_bernoulli for p in (Beta, Uniform)},
    **{(p, Uniform): _unit_from_uniform for p in (Beta, ContinuousBernoulli)},
    (Normal, Laplace): _normal_from_laplace, (Pareto, Normal): _from_normal, (Uniform, Beta): _uniform_from_beta,
    (Uniform, Pareto): _uniform_from_pareto, (Bernoulli, Poisson): _bernoulli_from_poisson,
    **{(Poisson, q): _infinite for q in (Bernoulli, Binomial)},
    **{(p, Pareto): _infinite for p in (Beta, ContinuousBernoulli)},
    **{
        (p, q): _infinite
        for p in (Exponential, Gamma, Gumbel, Laplace, Normal, Pareto)
        for q in (Beta, ContinuousBernoulli, Uniform)
    },
    **{(p, Pareto): _infinite for p in (Exponential, Gamma, Gumbel, Laplace, Normal)},
    **{(p, q): _infinite for p in (Gumbel, Laplace, Normal) for q in (Exponential, Gamma)},
}  # fmt: skip

__all__ = ["FORMULAS"]
