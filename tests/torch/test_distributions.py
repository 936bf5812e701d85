"""Compares distributions with SciPy: densities, moments, entropies, sample moments, and divergences by integration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import cuprous.torch as torch

D = torch.distributions


def t(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64)


#: A distribution, SciPy's, and the values at which they are compared.
TABLE: dict[str, tuple[Any, Any, list[float]]] = {
    "normal": (lambda: D.Normal(t(0.5), t(2.0)), stats.norm(0.5, 2), [-1, 0.3, 4]),
    "log normal": (lambda: D.LogNormal(t(0.2), t(0.4)), stats.lognorm(0.4, scale=np.exp(0.2)), [0.3, 1, 2]),
    "laplace": (lambda: D.Laplace(t(0.5), t(2.0)), stats.laplace(0.5, 2), [-1, 0.3, 4]),
    "gumbel": (lambda: D.Gumbel(t(0.5), t(2.0)), stats.gumbel_r(0.5, 2), [-1, 0.3, 4]),
    "half normal": (lambda: D.HalfNormal(t(2.0)), stats.halfnorm(scale=2), [0.1, 1.5]),
    "exponential": (lambda: D.Exponential(t(2.0)), stats.expon(scale=0.5), [0.1, 1.5]),
    "uniform": (lambda: D.Uniform(t(-1.0), t(2.0)), stats.uniform(-1, 3), [-0.5, 1.5]),
    "bernoulli": (lambda: D.Bernoulli(t(0.3)), stats.bernoulli(0.3), [0, 1]),
    "geometric": (lambda: D.Geometric(t(0.3)), stats.geom(0.3, -1), [0, 1, 4]),
    "poisson": (lambda: D.Poisson(t(3.0)), stats.poisson(3), [0, 1, 4]),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_as_scipy(name: str) -> None:
    make, theirs, values = TABLE[name]
    ours = make()
    log = theirs.logpdf if hasattr(theirs.dist, "pdf") else theirs.logpmf
    np.testing.assert_allclose(ours.log_prob(t(*values)).cpu().numpy(), log(values), rtol=1e-6)
    assert float(ours.mean) == pytest.approx(theirs.mean()) and float(ours.variance) == pytest.approx(theirs.var())
    if name != "poisson":
        assert float(ours.entropy()) == pytest.approx(float(theirs.entropy()), rel=1e-6)
    samples = ours.sample((20000,)).cpu().numpy()
    assert samples.shape == (20000, 1) and samples.mean() == pytest.approx(theirs.mean(), abs=0.03 * theirs.std())
    assert samples.std() == pytest.approx(theirs.std(), rel=0.05)


@pytest.mark.parametrize("name", ["normal", "log normal", "exponential", "uniform"])
def test_distribution_functions(name: str) -> None:
    make, theirs, values = TABLE[name]
    np.testing.assert_allclose(make().cdf(t(*values)).cpu().numpy(), theirs.cdf(values), rtol=1e-6)
    np.testing.assert_allclose(make().icdf(t(0.2, 0.7)).cpu().numpy(), theirs.ppf([0.2, 0.7]), rtol=1e-6)


def test_categories_and_policy_gradients() -> None:
    probs = t(0.2, 0.0, 0.5, 0.3)
    choice = D.Categorical(probs)
    drawn = choice.sample((20000,)).cpu().numpy()
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 20000, [0.2, 0, 0.5, 0.3], atol=0.02)
    np.testing.assert_allclose(choice.log_prob(torch.tensor([0, 3])).cpu().numpy(), np.log([0.2, 0.3]), rtol=1e-6)
    assert float(choice.entropy()) == pytest.approx(stats.entropy([0.2, 0.5, 0.3]), rel=1e-5)
    logits = torch.zeros(2, 3, dtype=torch.float64, requires_grad=True)
    policy = D.Categorical(logits=logits)
    assert policy.sample().shape == (2,) and policy.sample((5,)).shape == (5, 2)
    (-policy.log_prob(torch.tensor([0, 2])) * t(1.0, 2.0)).sum().backward()
    np.testing.assert_allclose(logits.grad.cpu().numpy(), np.array([[-2, 1, 1], [2, 2, -4]]) / 3, rtol=1e-6)
    hot = D.OneHotCategorical(probs).sample((3,))
    assert hot.shape == (3, 4) and hot.sum(1).tolist() == [1, 1, 1]


def test_samples_carry_gradients() -> None:
    loc, scale = t(1.0).requires_grad_(), t(2.0).requires_grad_()
    draw = D.Normal(loc, scale).rsample((1000,))
    draw.mean().backward()
    assert float(loc.grad) == pytest.approx(1) and float(scale.grad) == pytest.approx((draw.mean().item() - 1) / 2)
    assert not D.Normal(loc, scale).sample().requires_grad


def test_vectors_and_divergences() -> None:
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    ours = D.MultivariateNormal(t(1.0, -1.0), torch.tensor(cov))
    theirs = stats.multivariate_normal([1, -1], cov)
    assert float(ours.log_prob(t(0.3, 0.2))) == pytest.approx(theirs.logpdf([0.3, 0.2]))
    assert float(ours.entropy()) == pytest.approx(theirs.entropy())
    np.testing.assert_allclose(np.cov(ours.sample((20000,)).cpu().numpy().T), cov, atol=0.1)
    both = D.Independent(D.Normal(t(0.0, 1.0), t(1.0, 2.0)), 1)
    assert both.batch_shape == () and both.event_shape == (2,)
    assert float(both.log_prob(t(0.5, 0.5))) == pytest.approx(stats.norm.logpdf([0.5, 0.5], [0, 1], [1, 2]).sum())
    grid = np.linspace(-12, 12, 200001)
    p, q = stats.norm(0, 1), stats.norm(1, 2)
    expected = np.trapezoid(p.pdf(grid) * (p.logpdf(grid) - q.logpdf(grid)), grid)
    assert float(D.kl_divergence(D.Normal(t(0.0), t(1.0)), D.Normal(t(1.0), t(2.0)))) == pytest.approx(expected)
    a, b = [0.2, 0.5, 0.3], [0.4, 0.4, 0.2]
    assert float(D.kl_divergence(D.Categorical(t(*a)), D.Categorical(t(*b)))) == pytest.approx(stats.entropy(a, b))
    assert float(D.kl_divergence(D.Bernoulli(t(0.2)), D.Bernoulli(t(0.4)))) == pytest.approx(
        stats.entropy([0.2, 0.8], [0.4, 0.6]))  # fmt: skip
    with pytest.raises(NotImplementedError, match="Normal"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Bernoulli(0.5))
    with pytest.raises(ValueError, match="parameter scale"):
        D.Normal(0.0, -1.0)


D = torch.distributions
_MANY = 100_000


def _parameters(*values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("made", [
    lambda a, b: D.Gamma(a, b), lambda a, b: D.StudentT(a + 8, b, b), lambda a, b: D.Beta(a, b),
    lambda a, b: D.Dirichlet(a),
    lambda a, b: D.Binomial(10, b / 5), lambda a, b: D.Chi2(a),
], ids=["Gamma", "StudentT", "Beta", "Dirichlet", "Binomial", "Chi2"])  # fmt: skip
def test_moments_of_what_is_made_of_gammas(made: Any) -> None:
    torch.manual_seed(0)
    d = made(_parameters(0.3, 1.0, 2.5, 20.0), _parameters(0.5, 2.0, 1.0, 3.0))
    x = d.sample((_MANY,))
    assert x.shape == (_MANY, 4) and not x.requires_grad
    assert float(((x.mean(0) - d.mean).abs() / d.variance.sqrt()).max()) < 0.02
    assert float((x.var(0) / d.variance - 1).abs().max()) < 0.1


def test_gradients_of_gamma_samples() -> None:
    """The mean of a gamma variate is its shape, so that of the gradients is 1; single ones are SciPy's quotients."""
    torch.manual_seed(0)
    shape = _parameters(0.2, 1.0, 4.0, 50.0).requires_grad_()
    x = D.Gamma(shape, 1.0).rsample((_MANY,))
    x.sum().backward()
    assert (shape.grad / _MANY).tolist() == pytest.approx([1.0] * 4, rel=0.03)
    special = pytest.importorskip("scipy.special")
    a = torch.tensor([0.1, 0.5, 3.0, 40.0], dtype=torch.float64, requires_grad=True)
    torch.manual_seed(1)
    (found,) = torch.autograd.grad(D.Gamma(a, 1.0).rsample().sum(), a)
    torch.manual_seed(1)
    value, shapes = D.Gamma(a.detach(), 1.0).sample().cpu().numpy(), a.detach().cpu().numpy()
    p = special.gammainc(shapes, value)
    step = 1e-5 * shapes
    high, low = (special.gammaincinv(shapes + s, p) for s in (step, -step))
    assert found.tolist() == pytest.approx(((high - low) / (2 * step)).tolist(), rel=1e-4)


def test_registered_divergences() -> None:
    class Own(D.Normal):
        pass

    @D.register_kl(Own, Own)
    def _own(p: Any, q: Any) -> Any:
        return p.loc - q.loc

    assert float(D.kl_divergence(Own(3.0, 1.0), Own(1.0, 1.0))) == 2.0
    assert float(D.kl_divergence(D.Normal(3.0, 1.0), Own(1.0, 1.0))) == 2.0


def test_a_distribution_of_a_program() -> None:
    class Triangle(D.Distribution):
        """The sum of two uniform numbers, written for PyTorch's base class."""

        arg_constraints = {"width": D.constraints.positive}  # noqa: RUF012
        has_rsample = True

        def __init__(self, width: Any, validate_args: bool | None = None) -> None:
            self.width = width
            super().__init__(width.shape, validate_args=validate_args)

        def rsample(self, sample_shape: Any = ()) -> Any:
            shape = self._extended_shape(sample_shape)
            assert isinstance(shape, torch.Size)
            return (torch.rand(shape) + torch.rand(shape)) * self.width

    found = Triangle(t(1.0, 2.0))
    assert found._extended_shape() == (2,) and found.sample((20_000,)).shape == (20_000, 2)
    np.testing.assert_allclose(found.sample((20_000,)).mean(0).cpu().numpy(), [1, 2], atol=0.05)
    with pytest.raises(ValueError, match="width"):
        Triangle(t(-1.0))
