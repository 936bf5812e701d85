"""Continuous distributions. Samples are differentiable functions of the parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _reductions
from cuprous.torch._args import unsupported
from cuprous.torch.distributions._base import LOG_2PI, Distribution, common, normal, unit
from cuprous.torch.linalg import cholesky, solve_triangular

_map = _core.t_map


class _LocationScale(Distribution):
    """Location-scale families: a standard distribution, which subclasses define, is shifted by `loc` and scaled by
    `scale`."""

    has_rsample = True
    _parameters: ClassVar[dict[str, str]] = {"loc": "real", "scale": "positive"}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = common(loc, scale)
        super().__init__(self.loc.dims, (), validate_args)

    def _draw(self, shape: Sequence[int]) -> Tensor:
        raise NotImplementedError

    def _log_density(self, z: Tensor) -> Tensor:
        raise NotImplementedError

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.loc + self._draw(self._extended(sample_shape)) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        return self._log_density((value - self.loc) / self.scale) - _map("log", self.scale)


class Normal(_LocationScale):
    """The normal distribution.

    Args:
        loc: the mean, a number or tensor.
        scale: the standard deviation, a positive number or a tensor that broadcasts with `loc`.
        validate_args: whether parameters are validated, True by default.

    Raises:
        ValueError: for a scale that is not positive.

    Examples:
        >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor([0.0, 1.0]))
        tensor([-0.9189, -1.4189])
    """

    def _draw(self, shape: Sequence[int]) -> Tensor:
        return normal(shape, self.loc)

    def _log_density(self, z: Tensor) -> Tensor:
        return -0.5 * _map("square", z) - 0.5 * LOG_2PI

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return _map("square", self.scale)

    def cdf(self, value: Tensor) -> Tensor:
        return _map("ndtr", (value - self.loc) / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * math.sqrt(2) * _map("erfinv", 2 * value - 1)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * LOG_2PI + _map("log", self.scale)


class Laplace(_LocationScale):
    """The Laplace distribution: two exponential distributions back to back.

    Args:
        loc: the location, a number or tensor.
        scale: the scale, a positive number or a tensor that broadcasts with `loc`.
        validate_args: whether parameters are validated, True by default.

    Raises:
        ValueError: for a scale that is not positive.

    Examples:
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
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return 2 * _map("square", self.scale)

    def entropy(self) -> Tensor:
        return 1 + _map("log", 2 * self.scale)


class Gumbel(_LocationScale):
    """The Gumbel distribution, the limit of the maximum of many samples.

    Args:
        loc: the location, a number or tensor.
        scale: the scale, a positive number or a tensor that broadcasts with `loc`.
        validate_args: whether parameters are validated, True by default.

    Raises:
        ValueError: for a scale that is not positive.

    Examples:
        >>> torch.distributions.Gumbel(0.0, 1.0).mean
        tensor(0.5772)
    """

    def _draw(self, shape: Sequence[int]) -> Tensor:
        return -_map("log", -_map("log1p", -unit(shape, self.loc)) + 1e-37)

    def _log_density(self, z: Tensor) -> Tensor:
        return -z - _map("exp", -z)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc + self.scale * 0.5772156649015329

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return math.pi**2 / 6 * _map("square", self.scale)

    def entropy(self) -> Tensor:
        return _map("log", self.scale) + (1 + 0.5772156649015329)


class Cauchy(_LocationScale):
    """The Cauchy distribution, which has no mean.

    Args:
        loc: the location, a number or tensor.
        scale: the scale, a positive number or a tensor that broadcasts with `loc`.
        validate_args: whether parameters are validated, True by default.

    Raises:
        ValueError: for a scale that is not positive.

    Examples:
        >>> torch.distributions.Cauchy(0.0, 1.0).log_prob(torch.tensor([0.0, 1.0]))
        tensor([-1.1447, -1.8379])
    """

    def _draw(self, shape: Sequence[int]) -> Tensor:
        return _map("tan", math.pi * (unit(shape, self.loc) - 0.5))

    def _log_density(self, z: Tensor) -> Tensor:
        return -math.log(math.pi) - _map("log1p", _map("square", z))

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + _map("log", self.scale)


class LogNormal(Normal):
    """The log-normal distribution: exponentials of normal random numbers.

    Args:
        loc: the mean of the logarithm, a number or tensor.
        scale: the standard deviation of the logarithm, a positive number or a tensor that broadcasts with `loc`.
        validate_args: whether parameters are validated, True by default.

    Raises:
        ValueError: for a scale that is not positive.

    Examples:
        >>> torch.distributions.LogNormal(0.0, 1.0).mean
        tensor(1.6487)
    """

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return _map("exp", super().rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        log = _map("log", value)
        return super().log_prob(log) - log

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return _map("exp", self.loc + _map("square", self.scale) / 2)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        square = _map("square", self.scale)
        return _map("expm1", square) * _map("exp", 2 * self.loc + square)

    def cdf(self, value: Tensor) -> Tensor:
        return super().cdf(_map("log", value))

    def icdf(self, value: Tensor) -> Tensor:
        return _map("exp", super().icdf(value))

    def entropy(self) -> Tensor:
        return super().entropy() + self.loc


class HalfNormal(Distribution):
    """The half-normal distribution: absolute values of normal random numbers with mean 0.

    Args:
        scale: the standard deviation of the normal random numbers, a positive number or tensor.
        validate_args: whether parameters are validated, True by default.

    Raises:
        ValueError: for a scale that is not positive.

    Examples:
        >>> torch.distributions.HalfNormal(1.0).mean
        tensor(0.7979)
    """

    has_rsample = True
    _parameters: ClassVar[dict[str, str]] = {"scale": "positive"}

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = common(scale)
        super().__init__(self.scale.dims, (), validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return _map("absolute", normal(self._extended(sample_shape), self.scale)) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        log = math.log(2) - 0.5 * LOG_2PI - _map("log", self.scale) - 0.5 * _map("square", value / self.scale)
        return _map("where", value >= 0, log, -math.inf)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return _map("square", self.scale) * (1 - 2 / math.pi)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * LOG_2PI + _map("log", self.scale) - math.log(2)


class Exponential(Distribution):
    """The exponential distribution: the time between events that occur at a constant rate.

    Args:
        rate: the rate, a positive number or tensor.
        validate_args: whether parameters are validated, True by default.

    Raises:
        ValueError: for a rate that is not positive.

    Examples:
        >>> torch.distributions.Exponential(2.0).mean
        tensor(0.5000)
    """

    has_rsample = True
    _parameters: ClassVar[dict[str, str]] = {"rate": "positive"}

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = common(rate)
        super().__init__(self.rate.dims, (), validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return -_map("log1p", -unit(self._extended(sample_shape), self.rate)) / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        return _map("log", self.rate) - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        return -_map("expm1", -self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        return -_map("log1p", -value) / self.rate

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

    Args:
        low: the lower bound, a number or tensor.
        high: the upper bound, a number or a tensor that broadcasts with `low`.
        validate_args: whether parameters are validated, True by default.

    Raises:
        ValueError: unless `low` is below `high`.

    Examples:
        >>> torch.distributions.Uniform(0.0, 2.0).log_prob(torch.tensor(1.0))
        tensor(-0.6931)
    """

    has_rsample = True
    _parameters: ClassVar[dict[str, str]] = {"low": "real", "high": "real"}

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = common(low, high)
        super().__init__(self.low.dims, (), validate_args)
        if validate_args is not False and not bool((self.low.detach() < self.high.detach()).all()):
            raise ValueError("Uniform is not defined when low>= high")

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.low + unit(self._extended(sample_shape), self.low) * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        inside = (value >= self.low) & (value < self.high)
        return _map("where", inside, -_map("log", self.high - self.low), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

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


class MultivariateNormal(Distribution):
    """The multivariate normal distribution with a mean, and either a covariance matrix or its lower Cholesky factor.

    Args:
        loc: the mean, a tensor of shape (..., n).
        covariance_matrix: a positive definite tensor of shape (..., n, n).
        precision_matrix: for PyTorch's signature; only None.
        scale_tril: the lower Cholesky factor of the covariance matrix.
        validate_args: whether parameters are validated, True by default.

    Raises:
        ValueError: unless exactly one of the two matrices is given.

    Examples:
        >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
        tensor(-1.8379)
    """

    has_rsample = True
    _parameters: ClassVar[dict[str, str]] = {"loc": "real"}

    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:  # fmt: skip
        unsupported("MultivariateNormal", precision_matrix=(precision_matrix, None))
        if (covariance_matrix is None) == (scale_tril is None):
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        self.loc = loc
        self.scale_tril: Any = scale_tril if covariance_matrix is None else cholesky(covariance_matrix)
        super().__init__(loc.dims[:-1], loc.dims[-1:], validate_args)

    @property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return self.scale_tril @ self.scale_tril.mT

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variances."""
        return _reductions.sum(_map("square", self.scale_tril), -1).expand(self.loc.dims)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        z = normal(self._extended(sample_shape), self.loc)
        return self.loc + (self.scale_tril @ z.unsqueeze(-1)).squeeze(-1)

    def _log_volume(self) -> Tensor:
        return _reductions.sum(_map("log", self.scale_tril.diagonal(0, -2, -1)), -1)

    def log_prob(self, value: Tensor) -> Tensor:
        z = solve_triangular(self.scale_tril, (value - self.loc).unsqueeze(-1), upper=False).squeeze(-1)
        return -0.5 * (_reductions.sum(_map("square", z), -1) + self.loc.dims[-1] * LOG_2PI) - self._log_volume()

    def entropy(self) -> Tensor:
        return 0.5 * self.loc.dims[-1] * (1 + LOG_2PI) + self._log_volume()
