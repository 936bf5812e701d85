"""Probability distributions: samples, logarithms of densities, entropies and divergences."""

import sys

from cuprous.torch.distributions import constraints
from cuprous.torch.distributions._base import Distribution, Independent
from cuprous.torch.distributions._continuous import (
    Cauchy,
    Exponential,
    Gumbel,
    HalfNormal,
    Laplace,
    LogNormal,
    MultivariateNormal,
    Normal,
    Uniform,
)  # fmt: skip
from cuprous.torch.distributions._discrete import Bernoulli, Categorical, Geometric, OneHotCategorical, Poisson
from cuprous.torch.distributions._divergence import kl_divergence

#: PyTorch's modules of these classes.
distribution = categorical = normal = bernoulli = sys.modules[__name__]
uniform = kl = independent = multivariate_normal = sys.modules[__name__]

__all__ = [
    "Bernoulli", "Categorical", "Cauchy", "Distribution", "Exponential", "Geometric", "Gumbel", "HalfNormal",
    "Independent", "Laplace", "LogNormal", "MultivariateNormal", "Normal", "OneHotCategorical", "Poisson", "Uniform",
    "constraints", "kl_divergence",
]  # fmt: skip
