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
from cuprous.torch.distributions._discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    OneHotCategorical,
    Poisson,
)
from cuprous.torch.distributions._divergence import kl_divergence, register_kl
from cuprous.torch.distributions._gamma import Beta, Chi2, Dirichlet, Gamma, StudentT

#: PyTorch's modules of these classes.
distribution = categorical = normal = bernoulli = sys.modules[__name__]
gamma = beta = dirichlet = studentT = binomial = chi2 = poisson = sys.modules[__name__]
uniform = kl = independent = multivariate_normal = sys.modules[__name__]

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "Dirichlet", "Distribution", "Exponential",
    "Gamma", "Geometric", "Gumbel", "HalfNormal",
    "Independent", "Laplace", "LogNormal", "MultivariateNormal", "Normal", "OneHotCategorical", "Poisson", "StudentT",
    "Uniform",
    "constraints", "kl_divergence", "register_kl",
]  # fmt: skip
