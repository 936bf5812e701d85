"""The gamma distribution and those that are made of it. Samples are differentiable functions of the parameters."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any, ClassVar

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _broadcasting, _extremes, _joining, _random_numbers, _reductions
from cuprous.torch._args import astype
from cuprous.torch._ordering import on_array_device
from cuprous.torch.autograd import Function
from cuprous.torch.distributions import constraints
from cuprous.torch.distributions._base import Distribution, ExponentialFamily, common, normal

_map = _core.t_map
_reduce = _reductions.FUNCTIONS["sum"]
#: The relative step of the difference quotient of gammainc, whose error is then about 1e-8 in float64.
_STEP = 1e-4


def _gammainc(a: Any, x: Any) -> Any:
    """Returns the regularized lower incomplete gamma function, whose module is imported when it is used."""
    return importlib.import_module("cuprous.scipy.special").gammainc(a, x)


@on_array_device
def _drawn(shape: Tensor) -> Tensor:
    """Returns standard gamma variates in float64, one for each shape parameter."""
    parameter = shape.as_array()
    size = max(math.prod(shape.dims), 1)
    generator = _random_numbers.default_generator
    seed, position = generator.initial_seed(), generator._position.take(size)
    return _core.t_wrap(_core.random("random_gamma", list(shape.dims), seed, position, parameter))


@on_array_device
def _slope(shape: Tensor, value: Tensor) -> Tensor:
    """Returns the derivatives of standard gamma variates by the shape parameter, at the same probability."""
    a, x = shape.as_array(), value.as_array()
    step = a * _STEP
    change = _core.t_wrap((_gammainc(a + step, x) - _gammainc(a - step, x)) / (2 * step))
    safe = _map("where", _map("greater", value, 0), value, 1.0)
    density = _map("exp", (shape - 1) * _map("log", safe) - value - _map("gammaln", shape))
    usable = _map("greater", density, 0) & _map("greater", value, 0)
    return _map("where", usable, -change / _map("where", usable, density, 1.0), 0.0)


class _StandardGamma(Function):
    """Gamma variates of rate 1 (Figurnov et al., 2018: implicit reparameterization gradients)."""

    @staticmethod
    def forward(ctx: Any, shape: Tensor) -> Tensor:
        wide = astype(shape, "float64")
        value = _drawn(wide)
        ctx.save_for_backward(wide, value)
        # In low precision a variate may round to 0, which has no logarithm.
        smallest = {"float64": 2.3e-308, "bfloat16": 1.2e-38, "float32": 1.2e-38, "float16": 6.1e-5}[shape.dtype_name]
        return astype(_map("maximum", value, smallest), shape.dtype_name)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        wide, value = ctx.saved_tensors
        return gradient * astype(_slope(wide, value), gradient.dtype_name)


def standard_gamma(shape: Tensor) -> Tensor:
    """Returns gamma variates of rate 1, through which gradients flow to the shape parameters."""
    return _StandardGamma.apply(shape)


def _log_gamma(x: Tensor) -> Tensor:
    return _map("gammaln", x)


def _digamma(x: Tensor) -> Tensor:
    return _map("digamma", x)


class Gamma(ExponentialFamily):
    """The gamma distribution.

    Parameters
    ----------
    concentration : Tensor or number
        The shape, a positive number or tensor.
    rate : Tensor or number
        The rate, a positive number or a tensor that broadcasts with `concentration`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For parameters that are not positive.

    See Also
    --------
    torch.distributions.InverseGamma, torch.distributions.FisherSnedecor, torch.distributions.Wishart,
    torch.distributions.Chi2

    Examples
    --------
    >>> torch.distributions.Gamma(2.0, 4.0).mean
    tensor(0.5000)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.nonnegative

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = common(concentration, rate)
        super().__init__(self.concentration.dims, (), validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return (
            standard_gamma(_broadcasting.broadcast_to(self.concentration, self._extended_shape(sample_shape)))
            / self.rate
        )

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a = self.concentration
        return a * _map("log", self.rate) + (a - 1) * _map("log", value) - self.rate * value - _log_gamma(a)

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the cumulative distribution function, without a derivative.

        Parameters
        ----------
        value : Tensor
            Values whose shape broadcasts with batch_shape.

        Returns
        -------
        Tensor
            A tensor of probabilities.

        Examples
        --------
        >>> torch.distributions.Gamma(1.0, 1.0).cdf(torch.tensor(0.0))
        tensor(0.)
        """
        self._validate_sample(value)
        x = (self.rate * value).detach()
        return _core.t_wrap(_gammainc(self.concentration.detach().as_array(), x.as_array()))

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return _log_gamma(x + 1) - (x + 1) * _map("log", -y)

    _mean_carrier_measure = 0.0

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        return _map("maximum", self.concentration - 1, 0) / self.rate

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.concentration / _map("square", self.rate)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - _map("log", self.rate) + _log_gamma(a) + (1 - a) * _digamma(a)


class Chi2(Gamma):
    """The chi-squared distribution: that of the sum of squares of standard normal random numbers.

    Parameters
    ----------
    df : Tensor or number
        The degrees of freedom, a positive number or tensor.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For degrees that are not positive.

    See Also
    --------
    torch.distributions.Gamma, torch.distributions.InverseGamma, torch.distributions.FisherSnedecor,
    torch.distributions.Wishart

    Examples
    --------
    >>> torch.distributions.Chi2(3.0).mean
    tensor(3.)
    """

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (half,) = common(0.5 * df)
        super().__init__(half, 0.5, validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2


class StudentT(Distribution):
    """Student's t-distribution.

    Parameters
    ----------
    df : Tensor or number
        The degrees of freedom, a positive number or tensor.
    loc : Tensor or number, default 0.0
        What is added, a number or tensor.
    scale : Tensor or number, default 1.0
        The factor, a positive number or tensor.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For degrees or a scale that are not positive.

    See Also
    --------
    torch.distributions.Cauchy, torch.distributions.HalfCauchy

    Examples
    --------
    >>> torch.distributions.StudentT(3.0).variance
    tensor(3.)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support: Any = constraints.real

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = common(df, loc, scale)
        super().__init__(self.df.dims, (), validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        chi2 = 2 * standard_gamma(_broadcasting.broadcast_to(self.df * 0.5, shape))
        return self.loc + self.scale * normal(shape, self.df) * _map("rsqrt", chi2 / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        y = (value - self.loc) / self.scale
        norm = (
            _map("log", self.scale) + 0.5 * _map("log", self.df) + 0.5 * math.log(math.pi) + _log_gamma(0.5 * self.df)
            - _log_gamma(0.5 * (self.df + 1))
        )  # fmt: skip
        return -0.5 * (self.df + 1) * _map("log1p", _map("square", y) / self.df) - norm

    @property
    def mean(self) -> Tensor:
        """The mean; NaN for at most 1 degree of freedom."""
        return _map("where", _map("greater", self.df, 1), self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The variance; infinite for at most 2 degrees of freedom, NaN for at most 1."""
        finite = _map("square", self.scale) * self.df / _map("where", _map("greater", self.df, 2), self.df - 2, 1.0)
        large = _map("where", _map("greater", self.df, 2), finite, math.inf)
        return _map("where", _map("greater", self.df, 1), large, math.nan)

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = _log_gamma(half) + math.lgamma(0.5) - _log_gamma(more)
        return _map("log", self.scale) + more * (_digamma(more) - _digamma(half)) + 0.5 * _map("log", self.df) + beta


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution: vectors of positive numbers whose sum is 1.

    Parameters
    ----------
    concentration : Tensor
        Positive numbers, one for each element, along the last dimension.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For parameters that are not positive.

    See Also
    --------
    torch.distributions.Uniform, torch.distributions.Beta, torch.distributions.Kumaraswamy

    Examples
    --------
    >>> torch.distributions.Dirichlet(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"concentration": constraints.independent(constraints.positive, 1)}
    support: Any = constraints.simplex

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.dims[:-1], concentration.dims[-1:], validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        parts = standard_gamma(_broadcasting.broadcast_to(self.concentration, self._extended_shape(sample_shape)))
        return parts / _reduce(parts, -1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a = self.concentration
        return _reduce((a - 1) * _map("log", value), -1) + _log_gamma(_reduce(a, -1)) - _reduce(_log_gamma(a), -1)

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return _reduce(_log_gamma(x), -1) - _log_gamma(_reduce(x, -1))

    @property
    def mode(self) -> Tensor:
        """The value of the highest density; a vertex if all parameters are below 1."""
        less = _map("maximum", self.concentration - 1, 0)
        mode = less / _reduce(less, -1, keepdim=True)
        vertex = _map("equal", _extremes.argmax(mode, -1, keepdim=True),
                      _core.t_iota([mode.dims[-1]], [1], 0, mode.device_name))  # fmt: skip
        return _map("where", (self.concentration < 1).all(-1, keepdim=True), vertex, mode)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration / _reduce(self.concentration, -1, keepdim=True)

    @property
    def variance(self) -> Tensor:
        """The variance of each element."""
        total = _reduce(self.concentration, -1, keepdim=True)
        return self.concentration * (total - self.concentration) / (_map("square", total) * (total + 1))

    def entropy(self) -> Tensor:
        a, n = self.concentration, self.concentration.dims[-1]
        total = _reduce(a, -1)
        norm = _reduce(_log_gamma(a), -1) - _log_gamma(total)
        return norm - (n - total) * _digamma(total) - _reduce((a - 1) * _digamma(a), -1)


class Beta(ExponentialFamily):
    """The beta distribution of numbers in (0, 1).

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
    torch.distributions.Kumaraswamy, torch.distributions.Dirichlet, torch.distributions.Uniform

    Examples
    --------
    >>> torch.distributions.Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support: Any = constraints.unit_interval

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = common(concentration1, concentration0)
        super().__init__(self.concentration1.dims, (), validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        one = standard_gamma(_broadcasting.broadcast_to(self.concentration1, shape))
        return one / (one + standard_gamma(_broadcasting.broadcast_to(self.concentration0, shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        norm = _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)
        return (a - 1) * _map("log", value) + (b - 1) * _map("log1p", -value) - norm

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return _log_gamma(x) + _log_gamma(y) - _log_gamma(x + y)

    @property
    def mode(self) -> Tensor:
        """The value of the highest density."""
        pair = Dirichlet(_joining.stack([self.concentration1, self.concentration0], -1), validate_args=False)
        return pair.mode[..., 0]

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def variance(self) -> Tensor:
        """The variance."""
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (_map("square", total) * (total + 1))

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        norm = _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)
        return norm - (a - 1) * _digamma(a) - (b - 1) * _digamma(b) + (a + b - 2) * _digamma(a + b)
