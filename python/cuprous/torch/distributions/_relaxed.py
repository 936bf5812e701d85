"""Relaxed distributions: continuous ones in place of discrete ones, through which gradients pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from cuprous import _core
from cuprous._core import Tensor
from cuprous.torch import _reductions, _softmax
from cuprous.torch._args import astype
from cuprous.torch.distributions import constraints
from cuprous.torch.distributions._base import Distribution, common, unit
from cuprous.torch.distributions._discrete import Categorical, probability_and_logit
from cuprous.torch.distributions._transformed import TransformedDistribution
from cuprous.torch.distributions.transforms import (
    ExpTransform,
    SigmoidTransform,
)
from cuprous.torch.distributions.utils import clamp_probs

_map = _core.t_map


class LogitRelaxedBernoulli(Distribution):
    """The logarithm of the odds of a relaxed Bernoulli variable.

    Parameters
    ----------
    temperature : Tensor or number
        The temperature, a positive number or tensor.
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
    torch.distributions.ExpRelaxedCategorical, torch.distributions.RelaxedBernoulli,
    torch.distributions.RelaxedOneHotCategorical

    Examples
    --------
    >>> from cuprous.torch.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
    >>> LogitRelaxedBernoulli(torch.tensor(1.0), 0.5).log_prob(torch.tensor(0.0))
    tensor(-1.3863)
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.real

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        self._temperature = (temperature,)  # not a tensor of the batch
        self.probs, self.logits = probability_and_logit(type(self).__name__, probs, logits)
        super().__init__(self.probs.dims, (), validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self._temperature[0]

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return self.probs.shape

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        probs = clamp_probs(self.probs)
        u = clamp_probs(unit(self._extended_shape(sample_shape), probs))
        return (_map("log", u) - _map("log1p", -u) + _map("log", probs) - _map("log1p", -probs)) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        (temperature,) = common(self.temperature) if not isinstance(self.temperature, Tensor) else (self.temperature,)
        difference = self.logits - value * temperature
        return _map("log", temperature) + difference - 2 * _map("logaddexp", 0, difference)


class RelaxedBernoulli(TransformedDistribution):
    """The relaxed Bernoulli distribution of numbers in (0, 1), which approaches 0 and 1 at low temperatures.

    Parameters
    ----------
    temperature : Tensor or number
        The temperature, a positive number or tensor.
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
    torch.distributions.RelaxedOneHotCategorical, torch.distributions.LogitRelaxedBernoulli,
    torch.distributions.ExpRelaxedCategorical

    Examples
    --------
    >>> torch.distributions.RelaxedBernoulli(torch.tensor(1.0), 0.5).log_prob(torch.tensor(0.5))
    tensor(0.)
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.unit_interval

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self.base_dist.probs

    @property
    def logits(self) -> Tensor:
        """The logarithm of its odds."""
        return self.base_dist.logits


class ExpRelaxedCategorical(Distribution):
    """The logarithm of a relaxed one-hot vector.

    Parameters
    ----------
    temperature : Tensor or number
        The temperature, a positive number or tensor.
    probs : Tensor, optional
        The probabilities along the last dimension.
    logits : Tensor, optional
        Their logarithms, in place of `probs`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    See Also
    --------
    torch.distributions.RelaxedBernoulli, torch.distributions.RelaxedOneHotCategorical,
    torch.distributions.LogitRelaxedBernoulli

    Examples
    --------
    >>> from cuprous.torch.distributions.relaxed_categorical import ExpRelaxedCategorical
    >>> ExpRelaxedCategorical(torch.tensor(1.0), torch.ones(3)).event_shape
    torch.Size([3])
    """

    has_rsample = True
    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support: Any = constraints.real_vector

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        self._categorical, self._temperature = Categorical(probs, logits), (temperature,)
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self._temperature[0]

    @property
    def param_shape(self) -> Any:
        """The shape of the probabilities."""
        return self._categorical.param_shape

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        u = clamp_probs(unit(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - _map("log", -_map("log", u))) / self.temperature
        return scores - _softmax.logsumexp(scores, -1, True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._validate_sample(value)
        count = self._categorical._num_events
        (temperature,) = common(self.temperature) if not isinstance(self.temperature, Tensor) else (self.temperature,)
        scale = math.lgamma(count) + (count - 1) * _map("log", temperature)
        score = self.logits - value * temperature
        return _reductions.sum(score - _softmax.logsumexp(score, -1, True), -1) + astype(scale, score.dtype_name)


class RelaxedOneHotCategorical(TransformedDistribution):
    """The relaxed one-hot distribution of points of a simplex, which approaches one-hot vectors at low temperatures.

    Parameters
    ----------
    temperature : Tensor or number
        The temperature, a positive number or tensor.
    probs : Tensor, optional
        The probabilities along the last dimension.
    logits : Tensor, optional
        Their logarithms, in place of `probs`.
    validate_args : bool, optional
        Whether parameters are validated, True by default.

    See Also
    --------
    torch.distributions.LogitRelaxedBernoulli, torch.distributions.ExpRelaxedCategorical,
    torch.distributions.RelaxedBernoulli

    Examples
    --------
    >>> torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.ones(3)).rsample().shape
    torch.Size([3])
    """

    arg_constraints: ClassVar[Any] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support: Any = constraints.simplex

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self.base_dist.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self.base_dist.logits
