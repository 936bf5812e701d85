"""Compares rarer distributions with SciPy and by their samples, and checks transforms against numerical Jacobians."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import cuprous.torch as torch

D = torch.distributions
C = torch.distributions.constraints
_MANY = 40_000


def t(*values: Any) -> Any:
    return torch.tensor(values, dtype=torch.float64)


#: A distribution, SciPy's, and the values at which they are compared.
TABLE: dict[str, tuple[Any, Any, list[float]]] = {
    "fisher": (lambda: D.FisherSnedecor(t(5.0), t(9.0)), stats.f(5, 9), [0.3, 1, 2]),
    "generalized pareto": (lambda: D.GeneralizedPareto(t(0.5), t(2.0), t(0.1)), stats.genpareto(0.1, 0.5, 2), [1, 3]),
    "bounded": (lambda: D.GeneralizedPareto(t(0.5), t(2.0), t(-0.5)), stats.genpareto(-0.5, 0.5, 2), [1, 3]),
    "inverse gamma": (lambda: D.InverseGamma(t(6.0), t(2.0)), stats.invgamma(6, scale=2), [0.3, 1]),
    "pareto": (lambda: D.Pareto(t(2.0), t(6.0)), stats.pareto(6, scale=2), [2.1, 3]),
    "weibull": (lambda: D.Weibull(t(2.0), t(1.5)), stats.weibull_min(1.5, scale=2), [0.3, 1, 2]),
    "negative binomial": (lambda: D.NegativeBinomial(t(3.0), t(0.4)), stats.nbinom(3, 0.6), [0, 1, 4]),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_as_scipy(name: str) -> None:
    make, theirs, values = TABLE[name]
    ours = make()
    log = theirs.logpdf if hasattr(theirs.dist, "pdf") else theirs.logpmf
    np.testing.assert_allclose(ours.log_prob(t(*values)).cpu().numpy(), log(values), rtol=1e-6)
    assert float(ours.mean) == pytest.approx(theirs.mean()) and float(ours.variance) == pytest.approx(theirs.var())
    torch.manual_seed(0)
    samples = ours.sample((_MANY,)).cpu().numpy()
    assert samples.shape == (_MANY, 1) and samples.mean() == pytest.approx(theirs.mean(), abs=0.03 * theirs.std())
    assert stats.kstest(samples[:2000, 0], theirs.cdf).pvalue > 1e-3 or name == "negative binomial"
    if name not in ("fisher", "negative binomial"):
        np.testing.assert_allclose(ours.cdf(t(*values)).cpu().numpy(), theirs.cdf(values), rtol=1e-6)
        if name == "inverse gamma":
            with pytest.raises(NotImplementedError):  # as in PyTorch: a gamma distribution has no icdf
                ours.icdf(t(0.5))
        else:
            np.testing.assert_allclose(ours.icdf(t(0.2, 0.7)).cpu().numpy(), theirs.ppf([0.2, 0.7]), rtol=1e-6)
        assert float(ours.entropy()) == pytest.approx(float(theirs.entropy()), rel=1e-6)


#: Distributions whose samples are compared with their own means and variances.
SAMPLED: dict[str, Any] = {
    "continuous bernoulli": lambda: D.ContinuousBernoulli(t(0.2, 0.5, 0.9)),
    "kumaraswamy": lambda: D.Kumaraswamy(t(2.0, 0.5), t(3.0, 2.0)),
    "mixture": lambda: D.MixtureSameFamily(D.Categorical(t(0.3, 0.7)), D.Normal(t(-2.0, 1.0), t(0.5, 1.0))),
    "mixture of vectors": lambda: D.MixtureSameFamily(
        D.Categorical(t(0.3, 0.7)), D.Independent(D.Normal(t([-2.0, 1.0], [0.0, 3.0]), t([0.5, 1.0], [1.0, 2.0])), 1)
    ),
    "multinomial": lambda: D.Multinomial(6, t([0.2, 0.5, 0.3], [1.0, 1.0, 0.0])),
    "low rank": lambda: D.LowRankMultivariateNormal(t(1.0, -1.0), t([1.0], [0.5]), t(0.5, 1.0)),
    "precision": lambda: D.MultivariateNormal(t(1.0, -1.0), precision_matrix=t([2.0, 0.5], [0.5, 1.0])),
    "wishart": lambda: D.Wishart(t(4.0), t([2.0, 0.5], [0.5, 1.0])),
}


@pytest.mark.parametrize("name", SAMPLED)
def test_sample_moments(name: str) -> None:
    torch.manual_seed(0)
    d = SAMPLED[name]()
    x = d.sample((_MANY,))
    assert x.shape == (_MANY, *d.batch_shape, *d.event_shape) and not x.requires_grad
    deviation = d.variance.clamp(min=1e-12).sqrt()
    assert float(((x.mean(0) - d.mean).abs() / deviation).max()) < 0.03
    assert float((x.var(0) - d.variance).abs().max() / d.variance.max()) < 0.1


def test_correlation_factors_and_angles() -> None:
    torch.manual_seed(0)
    lower = D.LKJCholesky(3, t(1.0, 4.0)).sample((5000,))
    assert bool(C.corr_cholesky.check(lower).all())
    off = (lower @ lower.mT)[..., 1, 0]  # (1 + off) / 2 is a beta variable of concentration + (dim - 2) / 2
    for k, shape in enumerate((1.5, 4.5)):
        assert stats.kstest(((off[:, k] + 1) / 2).cpu().numpy(), stats.beta(shape, shape).cdf).pvalue > 1e-3
    angles = D.VonMises(t(2.0), t(1.5)).sample((5000,))[:, 0].cpu().numpy()
    assert np.abs(angles).max() <= math.pi
    assert stats.kstest((angles - 2 + math.pi) % (2 * math.pi) - math.pi, stats.vonmises(1.5).cdf).pvalue > 1e-3


@pytest.mark.parametrize("make", [
    lambda a, b: D.Weibull(a, b), lambda a, b: D.Pareto(a, b), lambda a, b: D.InverseGamma(a + 1, b),
    lambda a, b: D.Kumaraswamy(a, b), lambda a, b: D.GeneralizedPareto(a, b, 0.1), lambda a, b: D.LogNormal(a, b),
    lambda a, b: D.RelaxedBernoulli(torch.tensor(0.7), logits=a), lambda a, b: D.HalfCauchy(a),
    lambda a, b: D.ContinuousBernoulli(logits=a), lambda a, b: D.FisherSnedecor(a, b),
])  # fmt: skip
def test_samples_follow_their_parameters(make: Any) -> None:
    """The gradient of a sample is the difference quotient of samples of the same random numbers."""
    a, b = t(0.7, 1.3).requires_grad_(), t(0.6, 2.1).requires_grad_()
    torch.manual_seed(3)
    (found,) = torch.autograd.grad(make(a, b).rsample((4,)).log().sum(), a)
    step, quotients = 1e-5, []
    for sign in (1, -1):
        torch.manual_seed(3)
        quotients.append(make(a.detach() + sign * step, b.detach()).rsample((4,)).log().sum(0) / (2 * step))
    if not isinstance(make(a, b), (D.InverseGamma, D.FisherSnedecor)):  # gamma variates are drawn by rejection
        np.testing.assert_allclose(found.cpu().numpy(), (quotients[0] - quotients[1]).cpu().numpy(), rtol=1e-3)
    assert bool(found.isfinite().all())


def test_expansion_keeps_densities() -> None:
    base = D.Normal(t(0.0, 1.0), t(1.0, 2.0))
    mixture = D.MixtureSameFamily(D.Categorical(t(0.5, 0.5)), base)
    warped = D.TransformedDistribution(base, [D.TanhTransform(), D.AffineTransform(1.0, -2.0)])
    for d in (base, D.Independent(base, 1), mixture, warped, D.Categorical(t(0.2, 0.8)), D.Weibull(t(1.0), t(2.0))):
        wide = d.expand((3, *d.batch_shape))
        assert type(wide) is type(d) and wide.batch_shape == (3, *d.batch_shape) and d.batch_shape != wide.batch_shape
        value = d.sample()
        assert wide.log_prob(value).tolist() == [d.log_prob(value).tolist()] * 3
        assert wide.sample((2,)).shape == (2, *wide.batch_shape, *wide.event_shape)


TRANSFORMS: dict[str, tuple[Any, Any]] = {
    "exp": (lambda: D.ExpTransform(), t(0.3, -0.5, 1.0)), "tanh": (lambda: D.TanhTransform(), t(0.3, -0.5, 1.0)),
    "power": (lambda: D.PowerTransform(t(2.0)), t(0.3, 0.5, 1.0)),
    "sigmoid": (lambda: D.SigmoidTransform(), t(0.3, -0.5, 1.0)),
    "softplus": (lambda: D.SoftplusTransform(), t(0.3, -0.5, 1.0)),
    "affine": (lambda: D.AffineTransform(1.0, t(2.0, -3.0, 0.5)), t(0.3, -0.5, 1.0)),
    "affine vectors": (lambda: D.AffineTransform(1.0, -2.0, event_dim=1), t(0.3, -0.5, 1.0)),
    "stick": (lambda: D.StickBreakingTransform(), t(0.3, -0.5, 1.0)),
    "correlation": (lambda: D.CorrCholeskyTransform(), t(0.3, -0.5, 1.0)),
    "distribution": (lambda: D.CumulativeDistributionTransform(D.Normal(0.0, 1.0)), t(0.3, -0.5, 1.0)),
    "composed": (lambda: D.ComposeTransform([D.AffineTransform(0.0, 2.0), D.ExpTransform()]), t(0.3, -0.5, 1.0)),
    "independent": (lambda: D.IndependentTransform(D.ExpTransform(), 1), t(0.3, -0.5, 1.0)),
    "parts": (lambda: D.CatTransform([D.ExpTransform(), D.TanhTransform()], lengths=[1, 2]), t(0.3, -0.5, 1.0)),
    "stacked": (lambda: D.StackTransform([D.ExpTransform(), D.TanhTransform()]), t(0.3, -0.5)),
    "reshaped": (lambda: D.ReshapeTransform((2, 2), (4,)), t([0.3, -0.5], [1.0, 2.0])),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str) -> None:
    make, x = TRANSFORMS[name]
    transform, x = make(), x.to(torch.get_default_device())
    y = transform(x)
    np.testing.assert_allclose(transform.inv(y).cpu().numpy(), x.cpu().numpy(), rtol=1e-6, atol=1e-12)
    assert transform.inv.inv is transform and transform.bijective
    assert tuple(transform.forward_shape(x.shape)) == y.shape and tuple(transform.inverse_shape(y.shape)) == x.shape
    assert bool(transform.domain.check(x).all()) and bool(transform.codomain.check(y).all())
    found = transform.log_abs_det_jacobian(x, y).sum()
    jacobian = torch.autograd.functional.jacobian(lambda v: _free(name, transform(v)), x)
    square = jacobian.reshape(x.numel(), x.numel())
    assert float(found) == pytest.approx(float(torch.linalg.slogdet(square)[1]), rel=1e-6, abs=1e-9)


def _free(name: str, y: Any) -> Any:
    """Returns the elements of a value that determine it."""
    if name == "stick":
        return y[:-1]
    return D.utils.tril_matrix_to_vec(y, diag=-1) if name == "correlation" else y


def test_a_cache_keeps_the_argument() -> None:
    x = torch.tensor([9.0, -20.0])  # tanh rounds to 1 and -1, which have no inverse
    cached, plain = D.TanhTransform(cache_size=1), D.TanhTransform()
    assert cached.inv(cached(x)) is x and not bool(plain.inv(plain(x)).isfinite().all())
    with pytest.raises(ValueError, match="cache_size must be 0 or 1"):
        D.ExpTransform(cache_size=2)


@pytest.mark.parametrize("constraint", [
    C.real, C.positive, C.greater_than(2.0), C.less_than(-1.0), C.interval(1.0, 3.0), C.unit_interval, C.simplex,
    C.corr_cholesky, C.independent(C.positive, 1), C.cat([C.positive, C.unit_interval], lengths=[1, 2]),
    C.stack([C.positive, C.real, C.unit_interval]),
], ids=str)  # fmt: skip
def test_registered_transforms(constraint: Any) -> None:
    x = t(0.3, -0.5, 1.0)
    for registry in (D.biject_to, D.transform_to):
        transform = registry(constraint)
        y = transform(x)
        assert bool(constraint.check(y).all())
        np.testing.assert_allclose(transform(transform.inv(y)).cpu().numpy(), y.cpu().numpy(), rtol=1e-6)
    with pytest.raises(NotImplementedError, match="Cannot transform"):
        D.biject_to(C.boolean)


def test_divergences_by_integration() -> None:
    grid = np.linspace(0.1 + 1e-7, 0.9 - 1e-7, 200_001)
    p = D.Uniform(t(0.1), t(0.9))
    for q in (D.Beta(t(2.0), t(3.0)), D.ContinuousBernoulli(t(0.3)), D.Exponential(t(2.0)), D.Gamma(t(2.0), t(3.0)),
              D.Gumbel(t(0.3), t(2.0)), D.Normal(t(0.3), t(2.0)), D.Pareto(t(0.05), t(2.0))):  # fmt: skip
        values = (p.log_prob(t(*grid)) - q.log_prob(t(*grid))).cpu().numpy() / 0.8
        assert float(D.kl_divergence(p, q)) == pytest.approx(np.trapezoid(values, grid), rel=1e-4), q
    assert float(D.kl_divergence(D.Normal(t(0.0), t(1.0)), D.Beta(t(1.0), t(1.0)))) == math.inf
    wide, narrow = D.Wishart(t(3.0), torch.eye(2).double()), D.Wishart(t(4.5), torch.eye(2).double() * 2)
    torch.manual_seed(0)
    x = wide.sample((_MANY,))
    estimate = (wide.log_prob(x) - narrow.log_prob(x)).mean()
    assert float(D.kl_divergence(wide, narrow)) == pytest.approx(float(estimate), rel=0.03)


def test_values_are_checked_on_request() -> None:
    value = torch.tensor(-1.0)
    assert math.isnan(float(D.Gamma(1.5, 1.0).log_prob(value)))
    with pytest.raises(ValueError, match="within the support"):
        D.Gamma(1.5, 1.0, validate_args=True).log_prob(value)
    with pytest.raises(ValueError, match="not broadcastable"):
        D.Normal(torch.zeros(2), 1.0).log_prob(torch.zeros(3))
    with pytest.raises(ValueError, match="right-most size"):
        D.Dirichlet(torch.ones(3)).log_prob(torch.ones(2))
    with pytest.raises(ValueError, match="satisfy the constraint GreaterThan"):
        D.Weibull(1.0, -1.0)
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
    finally:
        D.Distribution.set_default_validate_args(True)


def test_a_distribution_of_a_program() -> None:
    class Shifted(D.Distribution):
        arg_constraints = {"loc": C.real}  # noqa: RUF012
        support = C.real

        def __init__(self, loc: Any) -> None:
            self.loc = loc
            super().__init__(loc.shape)

        def log_prob(self, value: Any) -> Any:
            if self._validate_args:
                self._validate_sample(value)
            return -(value - self.loc).abs()

    d = D.Independent(Shifted(torch.zeros(2)), 1)
    assert d.log_prob(torch.ones(2)).item() == -2.0
    with pytest.raises(NotImplementedError):
        _ = Shifted(torch.zeros(2)).mode
    assert D.Binomial(2, 0.5).entropy().item() == pytest.approx(float(stats.binom(2, 0.5).entropy()))
    assert D.Multinomial(3, torch.ones(2)).entropy().item() == pytest.approx(
        float(stats.multinomial(3, [0.5, 0.5]).entropy()), rel=1e-5)  # fmt: skip
