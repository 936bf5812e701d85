"""Common parts of all distributions: shapes, validation of parameters and values, sampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _random_numbers, _reductions, _shape
from cuprous.torch._args import tensor_of
from cuprous.torch._types import Size
from cuprous.torch.autograd._modes import no_grad

_map = _core.t_map

#: Named conditions that parameters must satisfy.
CONDITIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "positive": lambda x: x > 0,
    "nonnegative": lambda x: x >= 0,
    "unit": lambda x: (x >= 0) & (x <= 1),
    "real": lambda x: x == x,
}


def common(*parameters: Any) -> list[Tensor]:
    """Returns parameters as tensors broadcast to one shape.

    Raises:
        ValueError: if a parameter is neither a tensor nor a number.
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
        made = [tensor_of(float(p)) for p in parameters]
    return list(_shape.broadcast_tensors(*made))


def unit(shape: Sequence[int], like: Tensor) -> Tensor:
    """Returns uniform random numbers in [0, 1), with a tensor's dtype and device."""
    return _random_numbers.draw_floats("unit", list(shape), like.dtype_name, like.device_name)


def normal(shape: Sequence[int], like: Tensor) -> Tensor:
    """Returns normal random numbers, with a tensor's dtype and device."""
    return _random_numbers.draw_floats("normal", list(shape), like.dtype_name, like.device_name)


class Distribution:
    """Base class of distributions over values of `event_shape`, one for each element of `batch_shape`.

    Parameters are validated when the distribution is created, unless `validate_args` is False. This reads them on
    the host.

    Args:
        batch_shape: the shape of the batch of distributions.
        event_shape: the shape of one sample.
        validate_args: whether parameters are validated, True by default.

    Examples:
        >>> isinstance(torch.distributions.Normal(0.0, 1.0), torch.distributions.Distribution)
        True
    """

    has_rsample = False
    #: The names of the parameters, and the condition of each.
    _parameters: ClassVar[dict[str, str]] = {}

    def __init__(self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (),
                 validate_args: bool | None = None) -> None:  # fmt: skip
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is False:
            return
        for name, condition in self._parameters.items():
            value = self.__dict__.get(name)
            if value is not None and not bool(CONDITIONS[condition](value.detach()).all()):
                raise ValueError(f"Expected parameter {name} (Tensor of shape {tuple(value.dims)}) of distribution "
                                 f"{type(self).__name__} to be {condition}, but found invalid values:\n{value}"
                                 )  # fmt: skip

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    def _extended(self, sample_shape: Sequence[int]) -> list[int]:
        return [*sample_shape, *self._batch_shape, *self._event_shape]

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

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Returns samples without a gradient.

        Args:
            sample_shape: the leading dimensions of the result.

        Returns:
            A tensor of shape sample_shape + batch_shape + event_shape.

        Examples:
            >>> torch.distributions.Normal(torch.zeros(3), 1.0).sample((2,)).shape
            torch.Size([2, 3])
        """
        with no_grad():
            return self.rsample(sample_shape).detach()

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Returns reparameterized samples, through which gradients flow to the parameters.

        Args:
            sample_shape: the leading dimensions of the result.

        Returns:
            A tensor of shape sample_shape + batch_shape + event_shape.

        Raises:
            NotImplementedError: for distributions without reparameterized samples.

        Examples:
            >>> mean = torch.tensor(0.0, requires_grad=True)
            >>> torch.distributions.Normal(mean, 1.0).rsample().backward()
            >>> mean.grad
            tensor(1.)
        """
        raise NotImplementedError(f"[{type(self).__name__}] rsample is not supported")

    def log_prob(self, value: Tensor) -> Tensor:
        """Returns the logarithm of the probability density or mass function.

        Args:
            value: values whose shape broadcasts with batch_shape + event_shape.

        Returns:
            A tensor without the event's dimensions.

        Examples:
            >>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
            tensor(-0.9189)
        """
        raise NotImplementedError(f"[{type(self).__name__}] log_prob is not supported")

    def cdf(self, value: Tensor) -> Tensor:
        """Returns the cumulative distribution function.

        Args:
            value: values whose shape broadcasts with batch_shape.

        Returns:
            A tensor of probabilities.

        Raises:
            NotImplementedError: for distributions without a formula.

        Examples:
            >>> torch.distributions.Normal(0.0, 1.0).cdf(torch.tensor(0.0))
            tensor(0.5000)
        """
        raise NotImplementedError(f"[{type(self).__name__}] cdf is not supported")

    def icdf(self, value: Tensor) -> Tensor:
        """Returns the inverse of the cumulative distribution function.

        Args:
            value: probabilities whose shape broadcasts with batch_shape.

        Returns:
            A tensor of values.

        Raises:
            NotImplementedError: for distributions without a formula.

        Examples:
            >>> torch.distributions.Normal(1.0, 2.0).icdf(torch.tensor(0.5))
            tensor(1.)
        """
        raise NotImplementedError(f"[{type(self).__name__}] icdf is not supported")

    def entropy(self) -> Tensor:
        """Returns the entropy in nats.

        Returns:
            A tensor of shape batch_shape.

        Raises:
            NotImplementedError: for distributions without a formula.

        Examples:
            >>> torch.distributions.Bernoulli(0.5).entropy()
            tensor(0.6931)
        """
        raise NotImplementedError(f"[{type(self).__name__}] entropy is not supported")

    def perplexity(self) -> Tensor:
        """Returns the exponential of the entropy.

        Returns:
            A tensor of shape batch_shape.

        Examples:
            >>> torch.distributions.Bernoulli(0.5).perplexity()
            tensor(2.)
        """
        return _map("exp", self.entropy())

    def __repr__(self) -> str:
        shown = [(name, self.__dict__[name]) for name in self._parameters if name in self.__dict__]
        text = ", ".join(f"{n}: {p if p.numel() == 1 else p.shape}" for n, p in shown)
        return f"{type(self).__name__}({text})"


class Independent(Distribution):
    """A distribution in which the last batch dimensions of another one are treated as event dimensions.

    Args:
        base_distribution: the other distribution.
        reinterpreted_batch_ndims: the number of dimensions.
        validate_args: whether parameters are validated, True by default.

    Raises:
        ValueError: for more dimensions than the batch has.

    Examples:
        >>> base = torch.distributions.Normal(torch.zeros(3), 1.0)
        >>> torch.distributions.Independent(base, 1).event_shape
        torch.Size([3])
    """

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        self.base_dist, self.count = base_distribution, reinterpreted_batch_ndims
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                             f"{reinterpreted_batch_ndims} vs {len(batch)}")  # fmt: skip
        at = len(batch) - reinterpreted_batch_ndims
        super().__init__(batch[:at], (*batch[at:], *base_distribution.event_shape), validate_args)
        self.has_rsample = base_distribution.has_rsample

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.base_dist.mean

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def _total(self, x: Tensor) -> Tensor:
        return _reductions.sum(x, list(range(-self.count, 0))) if self.count else x

    def log_prob(self, value: Tensor) -> Tensor:
        return self._total(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        return self._total(self.base_dist.entropy())

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.count})"


LOG_2PI = math.log(2 * math.pi)
