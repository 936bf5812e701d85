"""Distributions that are transforms of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import zeros_like
from cuprous.torch.autograd._modes import no_grad
from cuprous.torch.distributions import constraints
from cuprous.torch.distributions._base import Distribution, Independent, common, sum_last
from cuprous.torch.distributions._continuous import Cauchy, Exponential, Normal, Uniform
from cuprous.torch.distributions._gamma import Gamma
from cuprous.torch.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    StickBreakingTransform,
    Transform,
)

_map = _core.t_map
_EULER = 0.5772156649015329


class TransformedDistribution(Distribution):
    """The distribution of a transformed random variable.

    Parameters
    ----------
    base_distribution : Distribution
        The distribution of the variable.
    transforms : Transform or list of Transforms
        A transform or a list of them, the first of which is applied first.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For what is not a transform, or a distribution with too few dimensions.

    See Also
    --------
    torch.distributions.MixtureSameFamily, torch.distributions.Distribution, torch.distributions.ExponentialFamily,
    torch.distributions.Independent

    Examples
    --------
    >>> d = torch.distributions
    >>> d.TransformedDistribution(d.Normal(0.0, 1.0), d.ExpTransform()).log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: ClassVar[Any] = {}

    def __init__(self, base_distribution: Distribution, transforms: Transform | list[Transform],
                 validate_args: bool | None = None) -> None:  # fmt: skip
        self.transforms = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(self.transforms, list) or not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        base, event_dim = base_distribution, len(base_distribution.event_shape)
        shape = (*base.batch_shape, *base.event_shape)
        whole = ComposeTransform(self.transforms)
        if len(shape) < whole.domain.event_dim:
            raise ValueError(f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but "
                             f"got {shape}.")  # fmt: skip
        result = tuple(whole.forward_shape(shape))
        expanded = tuple(whole.inverse_shape(result))
        if shape != expanded:
            base = base.expand(expanded[: len(expanded) - event_dim])
        if (more := whole.domain.event_dim - event_dim) > 0:
            base = Independent(base, more)
        self.base_dist: Any = base
        change = whole.codomain.event_dim - whole.domain.event_dim
        cut = len(result) - max(whole.codomain.event_dim, event_dim + change)
        super().__init__(result[:cut], result[cut:], validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape)
        shape = ComposeTransform(self.transforms).inverse_shape((*batch_shape, *self.event_shape))
        inner = len(self.base_dist.event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - inner])
        return new

    @property
    def has_rsample(self) -> Any:
        """Whether `rsample` is supported."""
        return self.base_dist.has_rsample

    @constraints.dependent_property
    def support(self) -> Any:
        """The set of values."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self.event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        total: Any = 0.0
        event_dim, y = len(self.event_shape), value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            term = transform.log_abs_det_jacobian(x, y)
            total, y = total - sum_last(term, event_dim - transform.domain.event_dim), x
        return total + sum_last(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _increasing(self, probability: Tensor) -> Tensor:
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return probability if isinstance(sign, int) and sign == 1 else sign * (probability - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        self.base_dist._validate_sample(value)
        return self._increasing(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._increasing(value)))


class LogNormal(TransformedDistribution):
    """The log-normal distribution: exponentials of normal random numbers.

    Parameters
    ----------
    loc : Tensor or number
        The mean of the logarithm, a number or tensor.
    scale : Tensor or number
        The standard deviation of the logarithm, a positive number or a tensor that broadcasts with `loc`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For a scale that is not positive.

    See Also
    --------
    torch.distributions.MultivariateNormal, torch.distributions.LowRankMultivariateNormal,
    torch.distributions.LogisticNormal, torch.distributions.HalfNormal, torch.distributions.Normal

    Examples
    --------
    >>> torch.distributions.LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.positive

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return _map("exp", self.loc + _map("square", self.scale) / 2)

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        return _map("exp", self.loc - _map("square", self.scale))

    @property
    def variance(self) -> Tensor:
        """The variance."""
        square = _map("square", self.scale)
        return _map("expm1", square) * _map("exp", 2 * self.loc + square)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class HalfCauchy(TransformedDistribution):
    """The half-Cauchy distribution: absolute values of a Cauchy variable around 0.

    Parameters
    ----------
    scale : Tensor or number
        The scale, a positive number or tensor.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For a scale that is not positive.

    See Also
    --------
    torch.distributions.StudentT, torch.distributions.Cauchy

    Examples
    --------
    >>> torch.distributions.HalfCauchy(1.0).log_prob(torch.tensor(0.0))
    tensor(-0.4516)
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support: Any = constraints.nonnegative

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args)

    @property
    def scale(self) -> Tensor:
        """The scale."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        """Infinity."""
        return zeros_like(self.scale) + math.inf

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        return zeros_like(self.scale)

    @property
    def variance(self) -> Tensor:
        """Infinity: there is no variance."""
        return self.base_dist.variance

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return _map("where", value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class InverseGamma(TransformedDistribution):
    """The inverse gamma distribution: reciprocals of a gamma variable.

    Parameters
    ----------
    concentration : Tensor or number
        The shape, a positive number or tensor.
    rate : Tensor or number
        The rate of the gamma variable, a positive number or tensor.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For parameters that are not positive.

    See Also
    --------
    torch.distributions.FisherSnedecor, torch.distributions.Wishart, torch.distributions.Chi2,
    torch.distributions.Gamma

    Examples
    --------
    >>> torch.distributions.InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.positive

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-1.0), validate_args)

    @property
    def concentration(self) -> Tensor:
        """The shape."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma variable."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        """The mean; infinite for a shape of at most 1."""
        a = self.concentration
        return _map("where", a > 1, self.rate / (a - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        """The variance; infinite for a shape of at most 2."""
        a = self.concentration
        return _map("where", a > 2, _map("square", self.rate) / (_map("square", a - 1) * (a - 2)), math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + _map("log", self.rate) + _map("gammaln", a) - (1 + a) * _map("digamma", a)


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy's distribution of numbers in (0, 1), much like the beta distribution.

    Parameters
    ----------
    concentration1 : Tensor or number
        The first shape, a positive number or tensor.
    concentration0 : Tensor or number
        The second shape, a positive number or tensor.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For parameters that are not positive.

    See Also
    --------
    torch.distributions.Dirichlet, torch.distributions.Uniform, torch.distributions.Beta

    Examples
    --------
    >>> torch.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints: ClassVar[Any] = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support: Any = constraints.unit_interval

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = common(concentration1, concentration0)
        base = Uniform(zeros_like(self.concentration0), zeros_like(self.concentration0) + 1, validate_args=False)
        powers = [PowerTransform(1 / c) for c in (self.concentration0, self.concentration1)]
        super().__init__(base, [powers[0], AffineTransform(1.0, -1.0), powers[1]], validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        one, zero = (c.expand(batch_shape) for c in (self.concentration1, self.concentration0))
        return Kumaraswamy(one, zero, validate_args=False)

    def _moment(self, n: int) -> Tensor:
        one, b = 1 + n / self.concentration1, self.concentration0
        return b * _map("exp", _map("gammaln", one) + _map("gammaln", b) - _map("gammaln", one + b))

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        """The value of the highest density; NaN for shapes below 1."""
        a, b = self.concentration1, self.concentration0
        return _map("where", (a < 1) | (b < 1), math.nan, ((a - 1) / (a * b - 1)) ** (1 / a))

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self._moment(2) - _map("square", self.mean)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = _map("digamma", b + 1) + _EULER
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - _map("log", a) - _map("log", b)


class Pareto(TransformedDistribution):
    """The Pareto distribution of the first kind.

    Parameters
    ----------
    scale : Tensor or number
        The least value, a positive number or tensor.
    alpha : Tensor or number
        The shape, a positive number or tensor.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For parameters that are not positive.

    See Also
    --------
    torch.distributions.GeneralizedPareto

    Examples
    --------
    >>> torch.distributions.Pareto(1.0, 2.0).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = common(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return Pareto(self.scale.expand(batch_shape), self.alpha.expand(batch_shape), validate_args=False)

    @constraints.dependent_property
    def support(self) -> Any:
        """The set of values."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        """The mean; infinite for a shape of at most 1."""
        a = _map("maximum", self.alpha, 1.0)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        return self.scale

    @property
    def variance(self) -> Tensor:
        """The variance; infinite for a shape of at most 2."""
        a = _map("maximum", self.alpha, 2.0)
        return _map("square", self.scale) * a / (_map("square", a - 1) * (a - 2))

    def entropy(self) -> Tensor:
        return _map("log", self.scale / self.alpha) + (1 + 1 / self.alpha)


class Weibull(TransformedDistribution):
    """The Weibull distribution.

    Parameters
    ----------
    scale : Tensor or number
        The scale, a positive number or tensor.
    concentration : Tensor or number
        The shape, a positive number or tensor.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For parameters that are not positive.

    See Also
    --------
    torch.distributions.Gumbel, torch.distributions.Exponential, torch.distributions.Laplace

    Examples
    --------
    >>> torch.distributions.Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints: ClassVar[Any] = {"scale": constraints.positive, "concentration": constraints.positive}
    support: Any = constraints.positive

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = common(scale, concentration)
        self.concentration_reciprocal = 1 / self.concentration
        base = Exponential(zeros_like(self.scale) + 1, validate_args=validate_args)
        transforms = [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]
        super().__init__(base, transforms, validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return Weibull(self.scale.expand(batch_shape), self.concentration.expand(batch_shape), validate_args=False)

    def _gamma(self, n: int) -> Tensor:
        return _map("exp", _map("gammaln", 1 + n * self.concentration_reciprocal))

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * self._gamma(1)

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return _map("square", self.scale) * (self._gamma(2) - _map("square", self._gamma(1)))

    def entropy(self) -> Tensor:
        reciprocal = self.concentration_reciprocal
        return _EULER * (1 - reciprocal) + _map("log", self.scale * reciprocal) + 1


class LogisticNormal(TransformedDistribution):
    """Points of a simplex that stick breaking makes of normal random numbers.

    Parameters
    ----------
    loc : Tensor
        The means, a tensor of shape (..., n).
    scale : Tensor
        The standard deviations, a positive tensor of shape (..., n).
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    See Also
    --------
    torch.distributions.HalfNormal, torch.distributions.Normal, torch.distributions.LogNormal,
    torch.distributions.MultivariateNormal, torch.distributions.LowRankMultivariateNormal

    Examples
    --------
    >>> torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2)).event_shape
    torch.Size([3])
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.simplex

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Tensor:
        """The means of the normal random numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal random numbers."""
        return self.base_dist.base_dist.scale
