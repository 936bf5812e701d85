"""Common parts of all distributions: shapes, validation of parameters and values, sampling."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _broadcasting, _random_numbers, _reductions
from cuprous.torch._creation import tensor
from cuprous.torch._types import Size
from cuprous.torch.autograd import grad
from cuprous.torch.autograd._modes import no_grad
from cuprous.torch.distributions import constraints
from cuprous.torch.distributions.constraints import Constraint

_map = _core.t_map


def common(*parameters: Any) -> list[Tensor]:
    """Returns parameters as tensors broadcast to one shape.

    Raises
    ------
    ValueError
        If a parameter is neither a tensor nor a number.
    """
    first = next((p for p in parameters if isinstance(p, Tensor)), None)
    if any(not isinstance(p, (Tensor, int, float)) for p in parameters):
        raise ValueError("Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                         "__torch_function__.")  # fmt: skip
    if first is not None:
        made = [
            p if isinstance(p, Tensor) else _core.t_full([], float(p), first.dtype_name, first.device_name)
            for p in parameters
        ]
    else:
        made = [tensor(float(p)) for p in parameters]
    return list(_broadcasting.broadcast_tensors(*made))


def unit(shape: Sequence[int], like: Tensor) -> Tensor:
    """Returns uniform random numbers in [0, 1), with a tensor's dtype and device."""
    return _random_numbers.draw_floats("unit", list(shape), like.dtype_name, like.device_name)


def normal(shape: Sequence[int], like: Tensor) -> Tensor:
    """Returns normal random numbers, with a tensor's dtype and device."""
    return _random_numbers.draw_floats("normal", list(shape), like.dtype_name, like.device_name)


def _abstract(name: str, doc: str) -> Any:
    """Returns a property that subclasses define."""

    def refuse(self: Any) -> Any:
        raise NotImplementedError(f"[{type(self).__name__}] {name} is not supported")

    return property(refuse, doc=doc)


class Distribution:
    """Base class of distributions over values of `event_shape`, one for each element of `batch_shape`.

    Parameters are validated when the distribution is created, unless `validate_args` is False. This reads them on
    the host.

    Parameters
    ----------
    batch_shape : sequence of ints, optional
        The shape of the batch of distributions.
    event_shape : sequence of ints, optional
        The shape of one sample.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    See Also
    --------
    torch.distributions.ExponentialFamily, torch.distributions.Independent,
    torch.distributions.TransformedDistribution, torch.distributions.MixtureSameFamily

    Examples
    --------
    >>> isinstance(torch.distributions.Normal(0.0, 1.0), torch.distributions.Distribution)
    True
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = True

    def __init__(self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (),
                 validate_args: bool | None = None) -> None:  # fmt: skip
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        #: Values are validated on request alone, because that reads them on the host.
        self._validates_values = validate_args is True
        if validate_args is not None:
            self._validate_args = validate_args
        if not self._validate_args:
            return
        for name, constraint in self._constraints().items():
            value = self.__dict__.get(name)
            if constraints.is_dependent(constraint) or not isinstance(value, Tensor):
                continue
            if not bool(constraint.check(value.detach()).all()):
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.dims)}) of "
                                 f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid "
                                 f"values:\n{value}")  # fmt: skip

    def _constraints(self) -> Mapping[str, Constraint]:
        try:
            return self.arg_constraints
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                          "initialize the distribution with `validate_args=False` to turn off validation.",
                          stacklevel=3)  # fmt: skip
            return {}

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Sets whether distributions validate their parameters unless they say so themselves.

        Parameters
        ----------
        value : bool
            Whether they do.

        Raises
        ------
        ValueError
            For other values than True and False.

        Examples
        --------
        >>> torch.distributions.Distribution.set_default_validate_args(True)
        """
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    arg_constraints: ClassVar[Any] = _abstract("arg_constraints", "The parameters and the set of each.")
    support: Any = _abstract("support", "The set of values.")

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """Returns the distribution with parameters that are expanded to a larger batch.

        Parameters
        ----------
        batch_shape : sequence of ints
            The shape of the batch, to which the present one broadcasts.
        _instance : object, optional
            For PyTorch's signature.

        Returns
        -------
        Frozen
            A distribution of the same class.

        Examples
        --------
        >>> torch.distributions.Normal(0.0, 1.0).expand((2, 3)).batch_shape
        torch.Size([2, 3])
        """
        new = copy.copy(self)
        new._batch_shape = Size(batch_shape)
        for name, value in self.__dict__.items():
            if isinstance(value, Tensor):
                own = value.dims[len(self._batch_shape) :]  # after the batch's
                new.__dict__[name] = value.expand([*batch_shape, *own])
            elif isinstance(value, Distribution):
                inner = value._batch_shape[len(self._batch_shape) :]
                new.__dict__[name] = value.expand([*batch_shape, *inner])
        return new

    def _validate_sample(self, value: Any) -> None:
        """Checks values.

        Raises
        ------
        ValueError
            For a value whose shape does not fit, or with validate_args=True if one is outside the support.
        """
        if not self._validate_args:
            return
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        at = len(value.dims) - len(self._event_shape)
        if value.dims[max(at, 0) :] != tuple(self._event_shape) or at < 0:
            raise ValueError("The right-most size of value must match event_shape: "
                             f"{tuple(value.dims)} vs {self._event_shape}.")  # fmt: skip
        for i, j in zip(reversed(value.dims), reversed([*self._batch_shape, *self._event_shape]), strict=False):
            if 1 not in (i, j) and i != j:
                raise ValueError("Value is not broadcastable with batch_shape+event_shape: "
                                 f"{tuple(value.dims)} vs {self._batch_shape + self._event_shape}.")  # fmt: skip
        if self._validates_values and not bool(self.support.check(value.detach()).all()):
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(value.dims)}) to be "
                             f"within the support ({self.support!r}) of the distribution {self!r}, but found invalid "
                             f"values:\n{value}")  # fmt: skip

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        """Returns the shape of samples. Subclasses in other programs call it by this name."""
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError(f"[{type(self).__name__}] mean is not supported")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError(f"[{type(self).__name__}] variance is not supported")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return _map("sqrt", self.variance)

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Returns samples without a gradient.

        Parameters
        ----------
        sample_shape : sequence of ints, optional
            The leading dimensions of the result.

        Returns
        -------
        Tensor
            A tensor of shape sample_shape + batch_shape + event_shape.

        Examples
        --------
        >>> torch.distributions.Normal(torch.zeros(3), 1.0).sample((2,)).shape
        torch.Size([2, 3])
        """
        with no_grad():
            return self.rsample(sample_shape).detach()

    def sample_n(self, n: int) -> Tensor:
        """Returns n samples; `sample((n,))` is the present name.

        Parameters
        ----------
        n : int
            The number of samples.

        Returns
        -------
        Tensor
            A tensor of shape (n,) + batch_shape + event_shape.

        Examples
        --------
        >>> torch.distributions.Normal(0.0, 1.0).sample_n(2).shape
        torch.Size([2])
        """
        warnings.warn("sample_n will be deprecated. Use .sample((n,)) instead", UserWarning, stacklevel=2)
        return self.sample((n,))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Returns all values of a discrete distribution.

        Parameters
        ----------
        expand : bool, default True
            Whether the result has the batch's dimensions, rather than dimensions of extent 1.

        Returns
        -------
        Tensor
            A tensor whose first dimension is that of values.

        Raises
        ------
        NotImplementedError
            For distributions with too many values.

        Examples
        --------
        >>> torch.distributions.Bernoulli(0.5).enumerate_support()
        tensor([0., 1.])
        """
        raise NotImplementedError(f"[{type(self).__name__}] enumerate_support is not supported")

    def _spread(self, values: Tensor, expand: bool) -> Tensor:
        """Returns a vector of values as the first of the batch's dimensions."""
        found = values.reshape([-1, *(1 for _ in self._batch_shape)])
        return found.expand([-1, *self._batch_shape]) if expand else found

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Returns reparameterized samples, through which gradients flow to the parameters.

        Parameters
        ----------
        sample_shape : sequence of ints, optional
            The leading dimensions of the result.

        Returns
        -------
        Tensor
            A tensor of shape sample_shape + batch_shape + event_shape.

        Raises
        ------
        NotImplementedError
            For distributions without reparameterized samples.

        Examples
        --------
        >>> mean = torch.tensor(0.0, requires_grad=True)
        >>> torch.distributions.Normal(mean, 1.0).rsample().backward()
        >>> mean.grad
        tensor(1.)
        """
        raise NotImplementedError(f"[{type(self).__name__}] rsample is not supported")

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the probability density or mass function.

        Parameters
        ----------
        value : Tensor
            Values whose shape broadcasts with batch_shape + event_shape.

        Returns
        -------
        Tensor
            A tensor without the event's dimensions.

        Examples
        --------
        >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
        tensor(-0.9189)
        """
        raise NotImplementedError(f"[{type(self).__name__}] log_prob is not supported")

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the cumulative distribution function.

        Parameters
        ----------
        value : Tensor
            Values whose shape broadcasts with batch_shape.

        Returns
        -------
        Tensor
            A tensor of probabilities.

        Raises
        ------
        NotImplementedError
            For distributions without a formula.

        Examples
        --------
        >>> torch.distributions.Normal(0.0, 1.0).cdf(torch.tensor(0.0))
        tensor(0.5000)
        """
        raise NotImplementedError(f"[{type(self).__name__}] cdf is not supported")

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the inverse of the cumulative distribution function.

        Parameters
        ----------
        value : Tensor
            Probabilities whose shape broadcasts with batch_shape.

        Returns
        -------
        Tensor
            A tensor of values.

        Raises
        ------
        NotImplementedError
            For distributions without a formula.

        Examples
        --------
        >>> torch.distributions.Normal(1.0, 2.0).icdf(torch.tensor(0.5))
        tensor(1.)
        """
        raise NotImplementedError(f"[{type(self).__name__}] icdf is not supported")

    def entropy(self) -> Tensor:
        """Returns the entropy in nats.

        Returns
        -------
        Tensor
            A tensor of shape batch_shape.

        Raises
        ------
        NotImplementedError
            For distributions without a formula.

        Examples
        --------
        >>> torch.distributions.Bernoulli(0.5).entropy()
        tensor(0.6931)
        """
        raise NotImplementedError(f"[{type(self).__name__}] entropy is not supported")

    def perplexity(self) -> Tensor:
        """Returns the exponential of the entropy.

        Returns
        -------
        Tensor
            A tensor of shape batch_shape.

        Examples
        --------
        >>> torch.distributions.Bernoulli(0.5).perplexity()
        tensor(2.)
        """
        return _map("exp", self.entropy())

    def __repr__(self) -> str:
        try:
            names = list(self.arg_constraints)
        except NotImplementedError:
            names = []
        shown = [(name, self.__dict__[name]) for name in names if name in self.__dict__]
        text = ", ".join(f"{n}: {p if p.numel() == 1 else p.shape}" for n, p in shown if isinstance(p, Tensor))
        return f"{type(self).__name__}({text})"


class ExponentialFamily(Distribution):
    """Base class of distributions whose density is the exponential of a product of natural parameters and statistics.

    A subclass defines `_natural_params`, `_log_normalizer` and `_mean_carrier_measure`, from which the entropy
    follows by a gradient.

    Parameters
    ----------
    batch_shape : sequence of ints, optional
        The shape of the batch of distributions.
    event_shape : sequence of ints, optional
        The shape of one sample.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    See Also
    --------
    torch.distributions.Independent, torch.distributions.TransformedDistribution,
    torch.distributions.MixtureSameFamily, torch.distributions.Distribution

    Examples
    --------
    >>> isinstance(torch.distributions.Gamma(1.0, 1.0), torch.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError(f"[{type(self).__name__}] _natural_params is not supported")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError(f"[{type(self).__name__}] _log_normalizer is not supported")

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError(f"[{type(self).__name__}] _mean_carrier_measure is not supported")

    def entropy(self) -> Tensor:
        """Returns the entropy in nats, by the Bregman divergence of the logarithm of the normalizer.

        Returns
        -------
        Tensor
            A tensor of shape batch_shape.

        Raises
        ------
        NotImplementedError
            For a subclass without natural parameters.

        Examples
        --------
        >>> torch.distributions.Poisson(1.0).mean
        tensor(1.)
        """
        carrier = self._mean_carrier_measure
        natural = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*natural)
        found = normalizer - carrier
        gradients = grad(normalizer.sum(), natural, create_graph=True)
        for parameter, gradient in zip(natural, gradients, strict=True):
            product = parameter * gradient
            found = found - product.reshape([*self._batch_shape, -1]).sum(-1)
        return found


class Independent(Distribution):
    """A distribution in which the last batch dimensions of another one are treated as event dimensions.

    Parameters
    ----------
    base_distribution : Distribution
        The other distribution.
    reinterpreted_batch_ndims : int
        The number of dimensions.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    Raises
    ------
    ValueError
        For more dimensions than the batch has.

    See Also
    --------
    torch.distributions.TransformedDistribution, torch.distributions.MixtureSameFamily,
    torch.distributions.Distribution, torch.distributions.ExponentialFamily

    Examples
    --------
    >>> base = torch.distributions.Normal(torch.zeros(3), 1.0)
    >>> torch.distributions.Independent(base, 1).event_shape
    torch.Size([3])
    """

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                             f"{reinterpreted_batch_ndims} vs {len(batch)}")  # fmt: skip
        at = len(batch) - reinterpreted_batch_ndims
        super().__init__(batch[:at], (*batch[at:], *base_distribution.event_shape), validate_args)

    @property
    def has_rsample(self) -> bool:
        """Whether `rsample` is supported."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:
        """Whether `enumerate_support` is supported."""
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @property
    def arg_constraints(self) -> Any:
        """Empty: the parameters are those of the other distribution."""
        return {}

    @property
    def support(self) -> Any:
        """The set of values."""
        inner, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(inner, count) if count else inner

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def _total(self, x: Tensor) -> Tensor:
        return sum_last(x, self.reinterpreted_batch_ndims)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        return self._total(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        return self._total(self.base_dist.entropy())

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


def sum_last(x: Tensor, count: int) -> Tensor:
    """Returns the sum over the last dimensions."""
    return _reductions.sum(x, list(range(-count, 0))) if count else x


LOG_2PI = math.log(2 * math.pi)
