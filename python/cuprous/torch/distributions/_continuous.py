"""Continuous distributions. Samples are differentiable functions of the parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch._args import zeros_like
from cuprous.torch.distributions import constraints
from cuprous.torch.distributions._base import LOG_2PI, Distribution, ExponentialFamily, common, normal, unit

_map = _core.t_map


class _LocationScale(Distribution):
    """Location-scale families: a standard distribution, which subclasses define, is shifted by `loc` and scaled by
    `scale`."""

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = common(loc, scale)
        super().__init__(self.loc.dims, (), validate_args)

    def _draw(self, shape: Sequence[int]) -> Tensor:
        raise NotImplementedError

    def _log_density(self, z: Tensor) -> Tensor:
        raise NotImplementedError

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.loc + self._draw(self._extended_shape(sample_shape)) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self._log_density((value - self.loc) / self.scale) - _map("log", self.scale)


class Normal(_LocationScale, ExponentialFamily):
    """The normal distribution.

    Parameters
    ----------
    loc : Tensor or number
        The mean, a number or tensor.
    scale : Tensor or number
        The standard deviation, a positive number or a tensor that broadcasts with `loc`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For a scale that is not positive.

    See Also
    --------
    torch.distributions.LogNormal, torch.distributions.MultivariateNormal,
    torch.distributions.LowRankMultivariateNormal, torch.distributions.LogisticNormal, torch.distributions.HalfNormal

    Examples
    --------
    >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor([0.0, 1.0]))
    tensor([-0.9189, -1.4189])
    """

    def _draw(self, shape: Sequence[int]) -> Tensor:
        return normal(shape, self.loc)

    def _log_density(self, z: Tensor) -> Tensor:
        return -0.5 * _map("square", z) - 0.5 * LOG_2PI

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        return self.loc

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        variance = _map("square", self.scale)
        return self.loc / variance, -0.5 / variance

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return -0.25 * _map("square", x) / y + 0.5 * _map("log", -math.pi / y)

    _mean_carrier_measure = 0.0

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return _map("square", self.scale)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return _map("ndtr", (value - self.loc) / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * math.sqrt(2) * _map("erfinv", 2 * value - 1)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * LOG_2PI + _map("log", self.scale)


class Laplace(_LocationScale):
    """The Laplace distribution: two exponential distributions back to back.

    Parameters
    ----------
    loc : Tensor or number
        The location, a number or tensor.
    scale : Tensor or number
        The scale, a positive number or a tensor that broadcasts with `loc`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For a scale that is not positive.

    See Also
    --------
    torch.distributions.Weibull, torch.distributions.Gumbel, torch.distributions.Exponential

    Examples
    --------
    >>> torch.distributions.Laplace(0.0, 1.0).log_prob(torch.tensor([0.0, 1.0]))
    tensor([-0.6931, -1.6931])
    """

    def _draw(self, shape: Sequence[int]) -> Tensor:
        u = unit(shape, self.loc) - 0.5
        # At most 1 - eps, so that the logarithm is finite.
        return -_map("sign", u) * _map("log1p", -_map("minimum", 2 * _map("absolute", u), 1 - 2**-24))

    def _log_density(self, z: Tensor) -> Tensor:
        return -_map("absolute", z) - math.log(2)

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        return self.loc

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return 2 * _map("square", self.scale)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        z = value - self.loc
        return 0.5 - 0.5 * _map("sign", z) * _map("expm1", -_map("absolute", z) / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * _map("sign", term) * _map("log1p", -2 * _map("absolute", term))

    def entropy(self) -> Tensor:
        return 1 + _map("log", 2 * self.scale)


class Gumbel(_LocationScale):
    """The Gumbel distribution, the limit of the maximum of many samples.

    Parameters
    ----------
    loc : Tensor or number
        The location, a number or tensor.
    scale : Tensor or number
        The scale, a positive number or a tensor that broadcasts with `loc`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For a scale that is not positive.

    See Also
    --------
    torch.distributions.Exponential, torch.distributions.Laplace, torch.distributions.Weibull

    Examples
    --------
    >>> torch.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    def _draw(self, shape: Sequence[int]) -> Tensor:
        return -_map("log", -_map("log1p", -unit(shape, self.loc)) + 1e-37)

    def _log_density(self, z: Tensor) -> Tensor:
        return -z - _map("exp", -z)

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        return self.loc

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc + self.scale * 0.5772156649015329

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return math.pi**2 / 6 * _map("square", self.scale)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return _map("exp", -_map("exp", (self.loc - value) / self.scale))

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * _map("log", -_map("log", value))

    def entropy(self) -> Tensor:
        return _map("log", self.scale) + (1 + 0.5772156649015329)


class Cauchy(_LocationScale):
    """The Cauchy distribution, which has no mean.

    Parameters
    ----------
    loc : Tensor or number
        The location, a number or tensor.
    scale : Tensor or number
        The scale, a positive number or a tensor that broadcasts with `loc`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For a scale that is not positive.

    See Also
    --------
    torch.distributions.HalfCauchy, torch.distributions.StudentT

    Examples
    --------
    >>> torch.distributions.Cauchy(0.0, 1.0).log_prob(torch.tensor([0.0, 1.0]))
    tensor([-1.1447, -1.8379])
    """

    def _draw(self, shape: Sequence[int]) -> Tensor:
        return _map("tan", math.pi * (unit(shape, self.loc) - 0.5))

    def _log_density(self, z: Tensor) -> Tensor:
        return -math.log(math.pi) - _map("log1p", _map("square", z))

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return _map("arctan", (value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return _map("tan", math.pi * (value - 0.5)) * self.scale + self.loc

    @property
    def mean(self) -> Tensor:
        """NaN: there is no mean."""
        return self.loc * math.nan

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """Infinity: there is no variance."""
        return _map("where", self.loc == self.loc, math.inf, self.loc)

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + _map("log", self.scale)


class HalfNormal(Distribution):
    """The half-normal distribution: absolute values of normal random numbers with mean 0.

    Parameters
    ----------
    scale : Tensor or number
        The standard deviation of the normal random numbers, a positive number or tensor.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For a scale that is not positive.

    See Also
    --------
    torch.distributions.Normal, torch.distributions.LogNormal, torch.distributions.MultivariateNormal,
    torch.distributions.LowRankMultivariateNormal, torch.distributions.LogisticNormal

    Examples
    --------
    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"scale": constraints.positive}
    support: Any = constraints.nonnegative

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = common(scale)
        super().__init__(self.scale.dims, (), validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return _map("absolute", normal(self._extended_shape(sample_shape), self.scale)) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        log = math.log(2) - 0.5 * LOG_2PI - _map("log", self.scale) - 0.5 * _map("square", value / self.scale)
        return _map("where", value >= 0, log, -math.inf)

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        return zeros_like(self.scale)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return _map("square", self.scale) * (1 - 2 / math.pi)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return 2 * _map("ndtr", value / self.scale) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * math.sqrt(2) * _map("erfinv", value)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * LOG_2PI + _map("log", self.scale) - math.log(2)


class Exponential(ExponentialFamily):
    """The exponential distribution: the time between events that occur at a constant rate.

    Parameters
    ----------
    rate : Tensor or number
        The rate, a positive number or tensor.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For a rate that is not positive.

    See Also
    --------
    torch.distributions.Laplace, torch.distributions.Weibull, torch.distributions.Gumbel

    Examples
    --------
    >>> torch.distributions.Exponential(2.0).mean
    tensor(0.5000)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"rate": constraints.positive}
    support: Any = constraints.nonnegative

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = common(rate)
        super().__init__(self.rate.dims, (), validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return -_map("log1p", -unit(self._extended_shape(sample_shape), self.rate)) / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return _map("log", self.rate) - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return -_map("expm1", -self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        return -_map("log1p", -value) / self.rate

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return -_map("log", -x)

    _mean_carrier_measure = 0.0

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        return zeros_like(self.rate)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 1 / self.rate

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return 1 / _map("square", self.rate)

    def entropy(self) -> Tensor:
        return 1 - _map("log", self.rate)


class Uniform(Distribution):
    """The uniform distribution over numbers from `low` to below `high`.

    Parameters
    ----------
    low : Tensor or number
        The lower bound, a number or tensor.
    high : Tensor or number
        The upper bound, a number or a tensor that broadcasts with `low`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        Unless `low` is below `high`.

    See Also
    --------
    torch.distributions.Beta, torch.distributions.Kumaraswamy, torch.distributions.Dirichlet

    Examples
    --------
    >>> torch.distributions.Uniform(0.0, 2.0).log_prob(torch.tensor(1.0))
    tensor(-0.6931)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"low": constraints.dependent, "high": constraints.dependent}

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = common(low, high)
        super().__init__(self.low.dims, (), validate_args)
        if self._validate_args and not bool((self.low.detach() < self.high.detach()).all()):
            raise ValueError("Uniform is not defined when low>= high")

    @constraints.dependent_property
    def support(self) -> Any:
        """The set of values."""
        return constraints.interval(self.low, self.high)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.low + unit(self._extended_shape(sample_shape), self.low) * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        inside = (value >= self.low) & (value < self.high)
        return _map("where", inside, -_map("log", self.high - self.low), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    @property
    def mode(self) -> Tensor:
        """NaN: all values have the same density."""
        return math.nan * self.high

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return (self.high + self.low) / 2

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return _map("square", self.high - self.low) / 12

    def entropy(self) -> Tensor:
        return _map("log", self.high - self.low)
