"""Probability distributions: samples, logarithms of densities, entropies and divergences."""

import sys

from cuprous.torch.distributions import constraints
from cuprous.torch.distributions._base import Distribution, ExponentialFamily, Independent
from cuprous.torch.distributions._continuous import (
    Cauchy,
    Exponential,
    Gumbel,
    HalfNormal,
    Laplace,
    Normal,
    Uniform,
)
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
from cuprous.torch.distributions._matrices import (
    LKJCholesky,
    LowRankMultivariateNormal,
    MultivariateNormal,
    Wishart,
)
from cuprous.torch.distributions._mixed import (
    ContinuousBernoulli,
    FisherSnedecor,
    GeneralizedPareto,
    MixtureSameFamily,
    Multinomial,
    NegativeBinomial,
    OneHotCategoricalStraightThrough,
    VonMises,
)
from cuprous.torch.distributions._relaxed import (
    ExpRelaxedCategorical,
    LogitRelaxedBernoulli,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from cuprous.torch.distributions._transformed import (
    HalfCauchy,
    InverseGamma,
    Kumaraswamy,
    LogisticNormal,
    LogNormal,
    Pareto,
    TransformedDistribution,
    Weibull,
)
from cuprous.torch.distributions.constraint_registry import biject_to, transform_to
from cuprous.torch.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,  # noqa: F401
)

#: PyTorch's modules of these classes.
_MODULES = (
    "bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet distribution exp_family "
    "exponential fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy half_normal independent "
    "inverse_gamma kl kumaraswamy laplace lkj_cholesky log_normal logistic_normal lowrank_multivariate_normal "
    "mixture_same_family multinomial multivariate_normal negative_binomial normal one_hot_categorical pareto poisson "
    "relaxed_bernoulli relaxed_categorical studentT transformed_distribution uniform von_mises weibull wishart"
)
globals().update(dict.fromkeys(_MODULES.split(), sys.modules[__name__]))

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform", "Categorical", "Cauchy", "Chi2",
    "ComposeTransform", "ContinuousBernoulli", "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet",
    "Distribution", "ExpRelaxedCategorical", "ExpTransform", "Exponential", "ExponentialFamily", "FisherSnedecor",
    "Gamma", "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent",
    "IndependentTransform", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal",
    "LogitRelaxedBernoulli", "LowRankMultivariateNormal", "LowerCholeskyTransform", "MixtureSameFamily", "Multinomial",
    "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "Pareto", "Poisson", "PositiveDefiniteTransform", "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical",
    "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform",
    "StickBreakingTransform", "StudentT", "TanhTransform", "Transform", "TransformedDistribution", "Uniform",
    "VonMises", "Weibull", "Wishart", "biject_to", "constraints", "kl_divergence", "register_kl",
    "transform_to",
]  # fmt: skip
