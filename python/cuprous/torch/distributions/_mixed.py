"""Further distributions: continuous ones with formulas of their own, counts, and mixtures."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any, ClassVar

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _broadcasting, _reductions, _softmax
from cuprous.torch._comparisons import clamp
from cuprous.torch._info import finfo
from cuprous.torch._statistics import poisson
from cuprous.torch.autograd._modes import no_grad
from cuprous.torch.distributions import constraints
from cuprous.torch.distributions._base import Distribution, ExponentialFamily, common, unit
from cuprous.torch.distributions._discrete import Binomial, Categorical, OneHotCategorical, probability_and_logit
from cuprous.torch.distributions._gamma import Gamma
from cuprous.torch.distributions.utils import clamp_probs
from cuprous.torch.nn.functional import binary_cross_entropy_with_logits, log_softmax, softplus

_map = _core.t_map


def _bessel(name: str, x: Tensor) -> Tensor:
    """Returns a function of `torch.special`, whose import is left until it is used because it takes long."""
    found: Tensor = getattr(importlib.import_module("cuprous.torch.special"), name)(x)
    return found


class ContinuousBernoulli(ExponentialFamily):
    """The continuous Bernoulli distribution of numbers in [0, 1], whose density is that of a Bernoulli variable.

    Parameters
    ----------
    probs : Tensor or number, optional
        The parameter in (0, 1), a number or tensor.
    logits : Tensor, optional
        The logarithm of its odds, in place of `probs`.
    lims : pair of floats, default (0.499, 0.501)
        The range around 0.5 in which formulas are replaced by series.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        Unless exactly one of `probs` and `logits` is given.

    See Also
    --------
    torch.distributions.Bernoulli, torch.distributions.Binomial, torch.distributions.Geometric,
    torch.distributions.NegativeBinomial

    Examples
    --------
    >>> torch.distributions.ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.unit_interval

    def __init__(self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
                 validate_args: bool | None = None) -> None:  # fmt: skip
        self.probs, self.logits = probability_and_logit("ContinuousBernoulli", probs, logits)
        self._lims = lims
        super().__init__(self.probs.dims, (), validate_args)
        self.probs = clamp_probs(self.probs)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self.probs.shape

    @property
    def _is_far(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    @property
    def _far(self) -> Tensor:
        """The parameter, away from 0.5."""
        return _map("where", self._is_far, self.probs, self._lims[0])

    def _log_norm(self) -> Tensor:
        p, x = self._far, self.probs - 0.5
        ratio = _map("log", _map("absolute", _map("log1p", -p) - _map("log", p)))
        log_norm = ratio - _map("log", _map("absolute", 1 - 2 * p))
        square = x * x
        return _map("where", self._is_far, log_norm, math.log(2) + (4 / 3 + 104 / 45 * square) * square)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        p, x = self._far, self.probs - 0.5
        exact = p / (2 * p - 1) + 1 / (_map("log1p", -p) - _map("log", p))
        return _map("where", self._is_far, exact, 0.5 + (1 / 3 + 16 / 45 * x * x) * x)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        p, x = self._far, _map("square", self.probs - 0.5)
        exact = p * (p - 1) / _map("square", 1 - 2 * p) + 1 / _map("square", _map("log1p", -p) - _map("log", p))
        return _map("where", self._is_far, exact, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(unit(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        logits, value = _broadcasting.broadcast_tensors(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        p = self._far
        exact = (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        inside = _map("where", self._is_far, exact, value)
        return _map("where", value <= 0, 0.0, _map("where", value >= 1, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        p = self._far
        low = _map("log1p", -p)
        exact = (_map("log1p", -p + value * (2 * p - 1)) - low) / (_map("log", p) - low)
        return _map("where", self._is_far, exact, value)

    def entropy(self) -> Tensor:
        zero, one = _map("log1p", -self.probs), _map("log", self.probs)
        return self.mean * (zero - one) - self._log_norm() - zero

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        far = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        safe = _map("where", far, x, self._lims[0] - 0.5)
        exact = _map("log", _map("absolute", _map("expm1", safe))) - _map("log", _map("absolute", safe))
        return _map("where", far, exact, 0.5 * x + _map("square", x) / 24 - x**4 / 2880)

    _mean_carrier_measure = 0.0


class FisherSnedecor(Distribution):
    """Fisher's F-distribution: the ratio of two chi-squared variables, each over its degrees of freedom.

    Parameters
    ----------
    df1 : Tensor or number
        The degrees of freedom of the numerator, a positive number or tensor.
    df2 : Tensor or number
        Those of the denominator.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For degrees that are not positive.

    See Also
    --------
    torch.distributions.Wishart, torch.distributions.Chi2, torch.distributions.Gamma, torch.distributions.InverseGamma

    Examples
    --------
    >>> torch.distributions.FisherSnedecor(1.0, 4.0).mean
    tensor(2.)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"df1": constraints.positive, "df2": constraints.positive}
    support: Any = constraints.positive

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = common(df1, df2)
        self._parts = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.dims, (), validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        return FisherSnedecor(self.df1.expand(batch_shape), self.df2.expand(batch_shape), validate_args=False)

    @property
    def mean(self) -> Tensor:
        """The mean; NaN for at most 2 degrees in the denominator."""
        return _map("where", self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Tensor:
        """The value of the highest density; NaN for at most 2 degrees in the numerator."""
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return _map("where", self.df1 > 2, found, math.nan)

    @property
    def variance(self) -> Tensor:
        """The variance; NaN for at most 4 degrees in the denominator."""
        a, b = self.df1, self.df2
        found = 2 * _map("square", b) * (a + b - 2) / (a * _map("square", b - 2) * (b - 4))
        return _map("where", b > 4, found, math.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        first, second = (part.rsample(sample_shape) for part in self._parts)
        tiny = finfo(second.dtype).tiny
        return _map("maximum", first / _map("maximum", second, tiny), tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        norm = _map("gammaln", a + b) - _map("gammaln", a) - _map("gammaln", b)
        return norm + a * _map("log", ratio) + (a - 1) * _map("log", value) - (a + b) * _map("log1p", ratio * value)


class GeneralizedPareto(Distribution):
    """The generalized Pareto distribution of exceedances.

    Parameters
    ----------
    loc : Tensor or number
        The least value, a number or tensor.
    scale : Tensor or number
        The scale, a positive number or tensor.
    concentration : Tensor or number
        The shape, a number or tensor; 0 is the exponential distribution.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For a scale that is not positive.

    See Also
    --------
    torch.distributions.Pareto

    Examples
    --------
    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {
        "loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real,
    }  # fmt: skip

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = common(loc, scale, concentration)
        super().__init__(self.loc.dims, (), validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The set of values."""
        least, c = self.loc, self.concentration
        greatest = _map("where", c < 0, least - self.scale / c, math.inf)
        return constraints.interval(least, greatest)

    @property
    def _is_exponential(self) -> Tensor:
        return _map("absolute", self.concentration) < finfo(self.concentration.dtype).eps

    @property
    def _safe(self) -> Tensor:
        """The shape, with 1 where the distribution is exponential."""
        return _map("where", self._is_exponential, 1.0, self.concentration)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(unit(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        z, c = (value - self.loc) / self.scale, self._safe
        power = (1 + 1 / c) * _map("log1p", _map("where", c * z > -1, c * z, math.nan))
        return -_map("log", self.scale) - _map("where", self._is_exponential, z, power)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the probability of greater values.

        Parameters
        ----------
        value : Tensor
            Values whose shape broadcasts with batch_shape.

        Returns
        -------
        Tensor

        Examples
        --------
        >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.0).log_survival_function(torch.tensor(2.0))
        tensor(-2.)
        """
        self._validate_sample(value)
        z, c = (value - self.loc) / self.scale, self._safe
        return _map("where", self._is_exponential, -z, -_map("log1p", c * z) / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the cumulative distribution function.

        Parameters
        ----------
        value : Tensor
            Values whose shape broadcasts with batch_shape.

        Returns
        -------
        Tensor

        Examples
        --------
        >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.0).log_cdf(torch.tensor(0.0))
        tensor(-inf)
        """
        return _map("log1p", -_map("exp", self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return _map("exp", self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        c, logarithm = self._safe, _map("log1p", -value)
        power = _map("expm1", -c * logarithm) / c
        return self.loc + self.scale * _map("where", self._is_exponential, -logarithm, power)

    def _where_below(self, bound: float, found: Tensor, otherwise: float) -> Tensor:
        return _map("where", self.concentration < bound, found, otherwise)

    @property
    def mean(self) -> Tensor:
        """The mean; infinite for a shape of at least 1."""
        return self._where_below(1, self.loc + self.scale / (1 - self.concentration), math.inf)

    @property
    def variance(self) -> Tensor:
        """The variance; infinite for a shape of at least 1/2."""
        c = self.concentration
        return self._where_below(0.5, _map("square", self.scale) / (_map("square", 1 - c) * (1 - 2 * c)), math.inf)

    def entropy(self) -> Tensor:
        return _map("log", self.scale) + self.concentration + 1

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        return self.loc


class VonMises(Distribution):
    """The von Mises distribution of angles in radians.

    Parameters
    ----------
    loc : Tensor or number
        The mean direction, a number or tensor.
    concentration : Tensor or number
        The concentration, a positive number or tensor.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For a concentration that is not positive.

    See Also
    --------
    torch.distributions.Normal

    Examples
    --------
    >>> torch.distributions.VonMises(0.0, 1.0).log_prob(torch.tensor(0.0))
    tensor(-1.0738)
    """

    arg_constraints: ClassVar[Any] = {"loc": constraints.real, "concentration": constraints.positive}
    support: Any = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = common(loc, concentration)
        super().__init__(self.loc.dims, (), validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        k = self.concentration
        return k * (_map("cos", value - self.loc) - 1) - math.log(2 * math.pi) - _map("log", _bessel("i0e", k))

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Returns samples without a gradient, by rejection (Best and Fisher, 1979), which waits for the device.

        Parameters
        ----------
        sample_shape : sequence of ints, optional
            The leading dimensions of the result.

        Returns
        -------
        Tensor
            A tensor of shape sample_shape + batch_shape.

        Examples
        --------
        >>> torch.distributions.VonMises(0.0, 4.0).sample((3,)).shape
        torch.Size([3])
        """
        shape = self._extended_shape(sample_shape)
        with no_grad():
            loc, k = _core.t_cast(self.loc, "float64").expand(shape), _core.t_cast(self.concentration, "float64")
            tau = 1 + _map("sqrt", 1 + 4 * k * k)
            rho = (tau - _map("sqrt", 2 * tau)) / (2 * k)
            r = _map("where", k < 1e-5, 1 / k + k, (1 + rho * rho) / (2 * rho))
            k, r = k.expand(shape), r.expand(shape)
            angle = _core.t_full(shape, 0, "float64", loc.device_name)
            waiting = _core.t_full(shape, True, "bool", loc.device_name)
            while bool(waiting.any()):
                u, v, side = (unit(shape, loc) for _ in range(3))
                z = _map("cos", math.pi * u)
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accepted = waiting & ((c * (2 - c) > v) | (_map("log", c / v) + 1 - c >= 0))
                angle = _map("where", accepted, _map("sign", side - 0.5) * _map("arccos", clamp(f, -1, 1)), angle)
                waiting = waiting & ~accepted
            wrapped = (angle + math.pi + loc) % (2 * math.pi) - math.pi
            return _core.t_cast(wrapped, self.loc.dtype_name)

    @property
    def mean(self) -> Tensor:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The direction of the highest density."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance."""
        return 1 - _bessel("i1e", self.concentration) / _bessel("i0e", self.concentration)


class Multinomial(Distribution):
    """The multinomial distribution: how often each class occurs among a number of draws.

    Parameters
    ----------
    total_count : int, default 1
        The number of draws.
    probs : Tensor, optional
        The probabilities along the last dimension, which need not sum to 1.
    logits : Tensor, optional
        Their logarithms, in place of `probs`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    NotImplementedError
        For a number of draws that is a tensor.

    See Also
    --------
    torch.distributions.Categorical, torch.distributions.OneHotCategorical,
    torch.distributions.OneHotCategoricalStraightThrough

    Examples
    --------
    >>> torch.distributions.Multinomial(4, torch.tensor([1.0, 3.0])).mean
    tensor([1., 3.])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """The set of values."""
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        """The mean of each count."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        """The variance of each count."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        classes = _core.t_iota([self.event_shape[0]], [1], 0, drawn.device_name)
        hits = _map("equal", drawn.unsqueeze(-1), classes)
        return _reductions.sum(_core.t_cast(hits, self.probs.dtype_name), 0)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        ways = _map("gammaln", _reductions.sum(value, -1) + 1) - _reductions.sum(_map("gammaln", value + 1), -1)
        logits = _map("where", (value == 0) & (self.logits == -math.inf), 0.0, self.logits)
        return ways + _reductions.sum(logits * value, -1)

    def entropy(self) -> Tensor:
        n = self.total_count
        binomial = Binomial(n, probs=self.probs)
        support = binomial.enumerate_support(expand=False)[1:]
        terms = _map("exp", binomial.log_prob(support)) * _map("gammaln", support + 1)
        return n * self._categorical.entropy() - math.lgamma(n + 1) + _reductions.sum(terms, [0, -1])


class NegativeBinomial(Distribution):
    """The negative binomial distribution: the number of successes before a number of failures.

    Parameters
    ----------
    total_count : Tensor or number
        The number of failures, a nonnegative number or tensor.
    probs : Tensor or number, optional
        The probability of success in [0, 1), a number or tensor.
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
    torch.distributions.ContinuousBernoulli, torch.distributions.Bernoulli, torch.distributions.Binomial,
    torch.distributions.Geometric, torch.distributions.Poisson

    Examples
    --------
    >>> torch.distributions.NegativeBinomial(3.0, 0.5).mean
    tensor(3.)
    """

    arg_constraints: ClassVar[Any] = {
        "total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }  # fmt: skip
    support: Any = constraints.nonnegative_integer

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        self.probs, self.logits = probability_and_logit("NegativeBinomial", probs, logits)
        self.total_count, self.probs, self.logits = common(total_count, self.probs, self.logits)
        super().__init__(self.probs.dims, (), validate_args)

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return self.probs.shape

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.total_count * _map("exp", self.logits)

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return _map("maximum", _map("floor", (self.total_count - 1) * _map("exp", self.logits)), 0.0)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.mean / _map("expit", -self.logits)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            rates = Gamma(self.total_count, _map("exp", -self.logits), validate_args=False).sample(sample_shape)
            return poisson(rates)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        n, logits = self.total_count, self.logits
        unnormalized = -n * softplus(logits) - value * softplus(-logits)
        norm = _map("gammaln", 1 + value) + _map("gammaln", n) - _map("gammaln", n + value)
        return unnormalized - _map("where", n + value == 0, 0.0, norm)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The one-hot distribution whose samples have the gradient of their probabilities.

    Parameters
    ----------
    probs : Tensor, optional
        The probabilities along the last dimension, which need not sum to 1.
    logits : Tensor, optional
        The logarithms of the probabilities, in place of `probs`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    See Also
    --------
    torch.distributions.Multinomial, torch.distributions.Categorical, torch.distributions.OneHotCategorical

    Examples
    --------
    >>> torch.distributions.OneHotCategoricalStraightThrough(torch.tensor([0.0, 1.0])).rsample()
    tensor([0., 1.])
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class MixtureSameFamily(Distribution):
    """A mixture of distributions of one family.

    Parameters
    ----------
    mixture_distribution : Categorical
        A `Categorical` that chooses the component.
    component_distribution : Distribution
        The components, along the last dimension of the batch.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For distributions whose shapes do not fit.

    See Also
    --------
    torch.distributions.Distribution, torch.distributions.ExponentialFamily, torch.distributions.Independent,
    torch.distributions.TransformedDistribution

    Examples
    --------
    >>> d = torch.distributions
    >>> d.MixtureSameFamily(d.Categorical(torch.ones(2)), d.Normal(torch.tensor([-1.0, 3.0]), torch.ones(2))).mean
    tensor(1.)
    """

    arg_constraints: ClassVar[Any] = {}

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        self._mixture, self._component = mixture_distribution, component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        batch, inner = mixture_distribution.batch_shape, component_distribution.batch_shape
        for one, other in zip(batch, inner[:-1], strict=False):
            if 1 not in (one, other) and one != other:
                raise ValueError(f"`mixture_distribution.batch_shape` ({tuple(batch)}) is not compatible with "
                                 f"`component_distribution.batch_shape`({tuple(inner)})")  # fmt: skip
        count = mixture_distribution.logits.dims[-1]
        if inner[-1] != count:
            raise ValueError(f"`mixture_distribution component` ({count}) does not equal "
                             f"`component_distribution.batch_shape[-1]` ({inner[-1]})")  # fmt: skip
        self._num_component = count
        super().__init__(inner[:-1], component_distribution.event_shape, validate_args)

    @property
    def has_rsample(self) -> Any:
        """False: the choice has no gradient."""
        return False

    @constraints.dependent_property
    def support(self) -> Any:
        """The set of values."""
        return constraints.MixtureSameFamilyConstraint(self._component.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution that chooses the component."""
        return self._mixture

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component

    def _weights(self) -> Tensor:
        probs = self._mixture.probs
        return probs.reshape([*probs.dims, *(1 for _ in self.event_shape)])

    def _at(self) -> int:
        return -1 - len(self.event_shape)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return _reductions.sum(self._weights() * self._component.mean, self._at())

    @property
    def variance(self) -> Tensor:
        """The variance: the mean of variances and the variance of means."""
        weights, at = self._weights(), self._at()
        within = _reductions.sum(weights * self._component.variance, at)
        away = self._component.mean - self.mean.unsqueeze(at)
        return within + _reductions.sum(weights * _map("square", away), at)

    def cdf(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return _reductions.sum(self._component.cdf(value.unsqueeze(self._at())) * self._mixture.probs, -1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        log_probs = self._component.log_prob(value.unsqueeze(self._at()))
        return _softmax.logsumexp(log_probs + log_softmax(self._mixture.logits, -1), -1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            chosen = self._mixture.sample(sample_shape)
            drawn = self._component.sample(sample_shape)
            hot = _map("equal", chosen.unsqueeze(-1), _core.t_iota([self._num_component], [1], 0, drawn.device_name))
            hot = hot.reshape([*hot.dims, *(1 for _ in self.event_shape)])
            return _reductions.sum(_map("where", hot, drawn, 0), self._at())
