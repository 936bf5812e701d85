"""Discrete distributions."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, ClassVar

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _broadcasting, _extremes, _indexing, _reductions, _sampling, _softmax
from cuprous.torch._args import zeros_like
from cuprous.torch._comparisons import clamp
from cuprous.torch._ordering import on_array_device
from cuprous.torch._pointwise import xlogy
from cuprous.torch._random_numbers import default_generator
from cuprous.torch._statistics import poisson
from cuprous.torch.distributions import constraints
from cuprous.torch.distributions._base import Distribution, ExponentialFamily, common, unit
from cuprous.torch.nn._loss import binary_cross_entropy_with_logits

_map = _core.t_map


def _one_of(name: str, first: Any, second: Any) -> None:
    if (first is None) == (second is None):
        raise ValueError(f"Either `probs` or `logits` must be specified, but not both. ([{name}])")


def _inner(probs: Tensor) -> Tensor:
    """Returns probabilities clamped away from 0 and 1, so that their logarithms are finite."""
    eps = 1.1920929e-07 if probs.dtype_name != "float64" else 2.220446049250313e-16
    return clamp(probs, eps, 1 - eps)


class Categorical(Distribution):
    """The categorical distribution of class indices. Samples are int64.

    Parameters
    ----------
    probs : Tensor, optional
        The probabilities along the last dimension, which need not sum to 1.
    logits : Tensor, optional
        The logarithms of the probabilities, in place of `probs`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        Unless exactly one of `probs` and `logits` is given.

    See Also
    --------
    torch.distributions.OneHotCategorical, torch.distributions.OneHotCategoricalStraightThrough,
    torch.distributions.Multinomial

    Examples
    --------
    >>> torch.distributions.Categorical(torch.tensor([0.25, 0.75])).log_prob(torch.tensor(1))
    tensor(-0.2877)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        _one_of("Categorical", probs, logits)
        given = probs if probs is not None else logits
        assert given is not None
        if given.ndim < 1:
            raise ValueError("`probs` parameter must be at least one-dimensional.")
        if probs is not None:
            self.probs = probs / _reductions.sum(probs, -1, True)
        else:
            self.logits = given - _softmax.logsumexp(given, -1, True)
            self.probs = _map("exp", self.logits)
        self._num_events = given.dims[-1]
        super().__init__(given.dims[:-1], (), validate_args)

    @functools.cached_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return _map("log", _inner(self.probs))

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The set of values."""
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return self.probs.shape

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        flat = self.probs.detach().reshape(-1, self._num_events)
        count = math.prod(sample_shape)
        return _sampling.multinomial(flat, count, True).T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        shape = _broadcasting.broadcast_shapes(value.dims, self.batch_shape)
        logits = self.logits.expand([*shape, self._num_events])
        index = _core.t_cast(value, "int64").expand(shape).unsqueeze(-1)
        return _indexing.gather(logits, -1, index).squeeze(-1)

    def entropy(self) -> Tensor:
        low = -3.4028235e38 if self.probs.dtype_name != "float64" else -1.7976931348623157e308
        return -_reductions.sum(clamp(self.logits, min=low) * self.probs, -1)

    @property
    def mode(self) -> Tensor:
        """The most probable class."""
        return _extremes.argmax(self.probs, -1)

    @property
    def mean(self) -> Tensor:
        """NaN: classes have no mean."""
        return _core.t_full(list(self.batch_shape), math.nan, self.probs.dtype_name, self.probs.device_name)

    variance = mean

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._spread(_core.t_iota([self._num_events], [1], 0, self.probs.device_name), expand)


class OneHotCategorical(Distribution):
    """The categorical distribution with one-hot vectors as samples.

    Parameters
    ----------
    probs : Tensor, optional
        The probabilities along the last dimension, which need not sum to 1.
    logits : Tensor, optional
        The logarithms of the probabilities, in place of `probs`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        Unless exactly one of `probs` and `logits` is given.

    See Also
    --------
    torch.distributions.OneHotCategoricalStraightThrough, torch.distributions.Multinomial,
    torch.distributions.Categorical

    Examples
    --------
    >>> torch.distributions.OneHotCategorical(torch.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support: Any = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        self._categorical = Categorical(probs, logits, validate_args)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Returns the logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return self._categorical.param_shape

    @property
    def mode(self) -> Tensor:
        """The most probable vector."""
        return self._vectors(self._categorical.mode)

    @property
    def mean(self) -> Tensor:
        """The probabilities."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """The variances of the vector's elements."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._vectors(self._categorical.sample(sample_shape))

    def _vectors(self, index: Tensor) -> Tensor:
        positions = _core.t_iota([self.event_shape[0]], [1], 0, self.probs.device_name)
        return _core.t_cast(_map("equal", index.unsqueeze(-1), positions), self.probs.dtype_name)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        values = self._vectors(_core.t_iota([n], [1], 0, self.probs.device_name))
        values = values.reshape([n, *(1 for _ in self.batch_shape), n])
        return values.expand([n, *self.batch_shape, n]) if expand else values

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self._categorical.log_prob(_extremes.argmax(value, -1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()


def probability_and_logit(name: str, probs: Any, logits: Any) -> tuple[Tensor, Tensor]:
    """Returns probabilities and the logarithms of their odds, of which one is given to the distribution of a name.

    Raises
    ------
    ValueError
        Unless exactly one is given.
    """
    _one_of(name, probs, logits)
    if probs is None:
        (logits,) = common(logits)
        return _map("expit", logits), logits
    (probs,) = common(probs)
    safe = _inner(probs)
    return probs, _map("log", safe) - _map("log1p", -safe)


class _BinaryOutcome(Distribution):
    """Distributions with one parameter, given as a probability or as its logit."""

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self.probs, self.logits = probability_and_logit(type(self).__name__, probs, logits)
        super().__init__(self.probs.dims, (), validate_args)

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return self.probs.shape


class Bernoulli(_BinaryOutcome, ExponentialFamily):
    """The Bernoulli distribution: 1 with a probability, otherwise 0.

    Parameters
    ----------
    probs : Tensor or number, optional
        The probability of 1, a number or tensor.
    logits : Tensor, optional
        The logarithm of its odds, in place of `probs`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        Unless exactly one of `probs` and `logits` is given.

    See Also
    --------
    torch.distributions.Binomial, torch.distributions.Geometric, torch.distributions.NegativeBinomial,
    torch.distributions.ContinuousBernoulli

    Examples
    --------
    >>> torch.distributions.Bernoulli(0.25).log_prob(torch.tensor([0.0, 1.0]))
    tensor([-0.2877, -1.3863])
    """

    support: Any = constraints.boolean
    has_enumerate_support = True

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        probs = self.probs.detach()
        return _core.t_cast(unit(self._extended_shape(sample_shape), probs) < probs, probs.dtype_name)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = _broadcasting.broadcast_tensors(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return _map("logaddexp", 0, x)

    _mean_carrier_measure = 0.0

    @property
    def mode(self) -> Tensor:
        """The most probable value; NaN where both are equally probable."""
        found = _core.t_cast(self.probs >= 0.5, self.probs.dtype_name)
        return _map("where", self.probs == 0.5, math.nan, found)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = _core.t_cast(_core.t_iota([2], [1], 0, self.probs.device_name), self.probs.dtype_name)
        return self._spread(values, expand)

    @property
    def mean(self) -> Tensor:
        """The probability."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.probs * (1 - self.probs)


class Geometric(_BinaryOutcome):
    """The geometric distribution: the number of failures before the first success.

    Parameters
    ----------
    probs : Tensor or number, optional
        The probability of success, a number or tensor.
    logits : Tensor, optional
        The logarithm of its odds, in place of `probs`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        Unless exactly one of `probs` and `logits` is given.

    See Also
    --------
    torch.distributions.NegativeBinomial, torch.distributions.ContinuousBernoulli, torch.distributions.Bernoulli,
    torch.distributions.Binomial

    Examples
    --------
    >>> torch.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    support: Any = constraints.nonnegative_integer

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        probs = self.probs.detach()
        u = unit(self._extended_shape(sample_shape), probs)
        return _map("floor", _map("log1p", -u) / _map("log1p", -_inner(probs)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return xlogy(value, 1 - self.probs) + _map("log", self.probs)

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return zeros_like(self.probs)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 1 / self.probs - 1

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return (1 / self.probs - 1) / self.probs


class Poisson(ExponentialFamily):
    """The Poisson distribution: the number of events that occur at a constant rate. Samples are drawn on the host.

    Parameters
    ----------
    rate : Tensor or number
        The rate, a nonnegative number or tensor.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For a negative rate.

    See Also
    --------
    torch.distributions.NegativeBinomial

    Examples
    --------
    >>> torch.distributions.Poisson(4.0).log_prob(torch.tensor(2.0))
    tensor(-1.9206)
    """

    arg_constraints: ClassVar[Any] = {"rate": constraints.nonnegative}
    support: Any = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = common(rate)
        super().__init__(self.rate.dims, (), validate_args)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return poisson(self.rate.detach().expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return xlogy(value, self.rate) - self.rate - _map("gammaln", value + 1)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (_map("log", self.rate),)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return _map("exp", x)

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return _map("floor", self.rate)

    @property
    def mean(self) -> Tensor:
        """The rate."""
        return self.rate

    variance = mean


@on_array_device
def _binomial(probs: Tensor, count: Tensor) -> Tensor:
    """Returns the numbers of successes among `count` trials, in float64."""
    parameter = _map("make_complex", _core.t_cast(count, "float64"), _core.t_cast(probs, "float64"))
    size = max(math.prod(probs.dims), 1)
    seed, position = default_generator.initial_seed(), default_generator._position.take(size)
    drawn = _core.random("random_binomial", list(probs.dims), seed, position, parameter.as_array())
    return _core.t_cast(_core.t_wrap(drawn), "float64")


class Binomial(Distribution):
    """The binomial distribution: the number of successes in a number of trials.

    Parameters
    ----------
    total_count : Tensor or number, default 1
        The number of trials, a number or tensor.
    probs : Tensor or number, optional
        The probability of success, a number or tensor.
    logits : Tensor, optional
        The logarithm of its odds, in place of `probs`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        Unless exactly one of `probs` and `logits` is given.

    See Also
    --------
    torch.distributions.Geometric, torch.distributions.NegativeBinomial, torch.distributions.ContinuousBernoulli,
    torch.distributions.Bernoulli

    Examples
    --------
    >>> torch.distributions.Binomial(2, 0.5).log_prob(torch.tensor([0.0, 1.0]))
    tensor([-1.3863, -0.6931])
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        _one_of("Binomial", probs, logits)
        given = common(total_count, probs if logits is None else logits)
        self.total_count = given[0]
        self.probs = given[1] if logits is None else _map("expit", given[1])
        safe = _inner(self.probs)
        self.logits = given[1] if logits is not None else _map("log", safe) - _map("log1p", -safe)
        super().__init__(self.probs.dims, (), validate_args)

    has_enumerate_support = True

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The set of values."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return self.probs.shape

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return _map("minimum", _map("floor", (self.total_count + 1) * self.probs), self.total_count)

    def entropy(self) -> Tensor:
        log_prob = self.log_prob(self.enumerate_support(False))
        return -_reductions.sum(_map("exp", log_prob) * log_prob, 0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = int(self.total_count.max())
        if int(self.total_count.min()) != count:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = _core.t_iota([count + 1], [1], 0, self.probs.device_name)
        return self._spread(_core.t_cast(values, self.probs.dtype_name), expand)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs, count = (_broadcasting.broadcast_to(x.detach(), shape) for x in (self.probs, self.total_count))
        return _core.t_cast(_binomial(probs, count), self.probs.dtype_name)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n = self.total_count
        ways = _map("gammaln", n + 1) - _map("gammaln", value + 1) - _map("gammaln", n - value + 1)
        return ways + value * self.logits - n * _map("logaddexp", 0, self.logits)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.total_count * self.probs * (1 - self.probs)
