"""Tests distributions: Kolmogorov-Smirnov or chi-squared tests against SciPy, moments, bounds, dtypes and errors.

Seeds are fixed, so that results are deterministic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import asnumpy as host
from cuprous.random import Generator, RandomState, default_rng
from tests.support import assert_errors

stats = pytest.importorskip("scipy.stats")

N = 20_000

#: method -> (arguments, SciPy's distribution)
CONTINUOUS: dict[str, tuple[tuple[Any, ...], Any]] = {
    "random": ((), stats.uniform()), "standard_normal": ((), stats.norm()), "standard_exponential": ((), stats.expon()),
    "standard_cauchy": ((), stats.cauchy()), "uniform": ((-2.0, 3.0), stats.uniform(-2, 5)),
    "normal": ((1.0, 2.5), stats.norm(1, 2.5)), "lognormal": ((0.5, 0.75), stats.lognorm(0.75, scale=np.exp(0.5))),
    "exponential": ((2.0,), stats.expon(scale=2)), "laplace": ((1.0, 2.0), stats.laplace(1, 2)),
    "logistic": ((1.0, 2.0), stats.logistic(1, 2)), "gumbel": ((1.0, 2.0), stats.gumbel_r(1, 2)),
    "rayleigh": ((1.5,), stats.rayleigh(scale=1.5)), "weibull": ((1.7,), stats.weibull_min(1.7)),
    "pareto": ((2.5,), stats.lomax(2.5)), "power": ((3.0,), stats.powerlaw(3)),
    "triangular": ((-1.0, 0.5, 3.0), stats.triang(0.375, -1, 4)), "standard_gamma": ((0.4,), stats.gamma(0.4)),
    "gamma": ((3.5, 2.0), stats.gamma(3.5, scale=2)), "chisquare": ((3.0,), stats.chi2(3)),
    "noncentral_chisquare": ((3.0, 2.0), stats.ncx2(3, 2)), "f": ((5.0, 7.0), stats.f(5, 7)),
    "noncentral_f": ((5.0, 7.0, 1.5), stats.ncf(5, 7, 1.5)), "standard_t": ((4.0,), stats.t(4)),
    "beta": ((0.5, 2.0), stats.beta(0.5, 2)), "wald": ((2.0, 3.0), stats.invgauss(2 / 3, scale=3)),
    "vonmises": ((0.0, 1.5), stats.vonmises(1.5)),
}  # fmt: skip

DISCRETE: dict[str, tuple[tuple[Any, ...], Any]] = {
    "poisson": ((3.5,), stats.poisson(3.5)),
    "binomial": ((20, 0.3), stats.binom(20, 0.3)),
    "negative_binomial": ((4.0, 0.4), stats.nbinom(4, 0.4)),
    "geometric": ((0.3,), stats.geom(0.3)),
    "logseries": ((0.7,), stats.logser(0.7)),
    "zipf": ((4.0,), stats.zipf(4)),
    "hypergeometric": ((15, 40, 22), stats.hypergeom(55, 15, 22)),
}


def chi_squared(values: np.ndarray, distribution: Any) -> float:
    """Returns the p-value of counts; values expected fewer than 10 times are pooled."""
    support = np.arange(values.min(), values.max() + 1)
    expected = distribution.pmf(support) * len(values)
    common = expected >= 10
    counts = np.array([(values == v).sum() for v in support[common]])
    expected = expected[common]
    if (rest := len(values) - expected.sum()) > 1e-6:
        counts, expected = np.append(counts, len(values) - counts.sum()), np.append(expected, rest)
    return float(stats.chisquare(counts, expected).pvalue)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name: str) -> None:
    arguments, distribution = CONTINUOUS[name]
    draw = getattr(default_rng(2024), name)(*arguments, size=N)
    assert draw.dtype == np.float64
    assert draw.shape == (N,)
    assert stats.kstest(host(draw), distribution.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", [*CONTINUOUS])
def test_continuous_in_float32(name: str) -> None:
    arguments, distribution = CONTINUOUS[name]
    draw = getattr(default_rng(5), name)(*arguments, size=N, dtype=np.float32)
    assert draw.dtype == np.float32
    assert stats.kstest(host(draw).astype(float), distribution.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name: str) -> None:
    arguments, distribution = DISCRETE[name]
    draw = getattr(default_rng(2024), name)(*arguments, size=N)
    assert draw.dtype == np.int64
    assert chi_squared(host(draw), distribution) > 1e-3


@pytest.mark.parametrize(("lam", "n", "p"), [(0.01, 3, 0.5), (12.0, 50, 0.98), (300.0, 1000, 0.4), (1e6, 10**6, 1e-4)])
def test_counts_over_the_range_of_their_parameters(lam: float, n: int, p: float) -> None:
    rng = default_rng(3)
    poisson, binomial = host(rng.poisson(lam, N)), host(rng.binomial(n, p, N))
    for values, mean, var in ((poisson, lam, lam), (binomial, n * p, n * p * (1 - p))):
        assert abs(values.mean() - mean) < 5 * np.sqrt(var / N)
        assert abs(values.var() - var) < 8 * np.sqrt((2 * var**2 + var) / N)
    assert binomial.min() >= 0 and binomial.max() <= n


def test_edges_of_counts() -> None:
    rng = default_rng(3)
    assert host(rng.poisson(0.0, 5)).tolist() == [0] * 5
    assert host(rng.binomial(7, [0.0, 1.0])).tolist() == [0, 7]
    assert host(rng.binomial(0, 0.5, 3)).tolist() == [0] * 3
    assert host(rng.geometric(1.0, 3)).tolist() == [1] * 3
    assert host(rng.standard_gamma(0.0, 3)).tolist() == [0.0] * 3
    assert host(rng.weibull(0, 3)).tolist() == [0.0] * 3


def test_normals_reach_far_and_are_independent() -> None:
    z = host(default_rng(1).standard_normal(1_000_000))
    assert 4.3 < np.abs(z).max() < 6.5
    for lag in (1, 2, 3, 4):
        assert abs(np.mean(z[:-lag] * z[lag:])) < 0.005
    assert abs(stats.kurtosis(z)) < 0.025 and abs(stats.skew(z)) < 0.012


@pytest.mark.parametrize("a", [1e-3, 0.01, 0.3])
def test_beta_and_dirichlet_of_tiny_shapes(a: float) -> None:
    rng = default_rng(4)
    x = host(rng.beta(a, a, N))
    assert np.isfinite(x).all() and (x >= 0).all() and (x <= 1).all()
    assert abs(x.mean() - 0.5) < 0.02
    d = host(rng.dirichlet([a, 2 * a, a], 5000))
    np.testing.assert_allclose(d.sum(-1), 1.0)
    np.testing.assert_allclose(d.mean(0), [0.25, 0.5, 0.25], atol=0.03)


@pytest.mark.parametrize("span", [1, 2, 3, 10, 256, 1000])
@pytest.mark.parametrize("dtype", ["int64", "int16", "uint32"])
def test_integers_are_uniform(span: int, dtype: str) -> None:
    draw = default_rng(8).integers(5, 5 + span, N, dtype=dtype)
    assert draw.dtype == np.dtype(dtype)
    counts = np.bincount(host(draw).astype(int) - 5, minlength=span)
    assert len(counts) == span
    if span > 1:
        assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("low", [0, -(1 << 63), -5])
@pytest.mark.parametrize("span", [(1 << 32) + 7, 3 << 60, (1 << 63) - 25])
def test_wide_ranges_of_integers(low: int, span: int) -> None:
    values = host(default_rng(9).integers(low, low + span, N)).astype(object)
    assert values.min() >= low and values.max() < low + span
    unit = np.array([(int(v) - low) / span for v in values])
    assert stats.kstest(unit, "uniform").pvalue > 1e-3


def test_integers_equal_exact_arithmetic() -> None:
    """(bits x range) >> 64 and >> 128, in Python's integers."""
    from cuprous import _core

    words = [int(w) for w in host(_core.random("random_bits64", (8,), 1, 0))]
    assert host(default_rng(1).integers(-3, 1000, 8)).tolist() == [(w * 1003 >> 64) - 3 for w in words]
    low_words = [int(w) for w in host(_core.random("random_bits64", (8,), 1, 4))]
    n = 5 * 10**18
    expected = [((a << 64) + b) * n >> 128 for a, b in zip(words, low_words, strict=True)]
    assert host(default_rng(1).integers(0, n, 8)).tolist() == expected
    bounds = cp.full(8, n, dtype="int64")
    assert host(default_rng(1).integers(0, bounds)).tolist() == expected


def test_integers_over_whole_dtypes() -> None:
    for dtype in ("int8", "uint8", "int32", "uint32", "int64", "uint64", "bool"):
        low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        values = host(default_rng(1).integers(low, high, 4000, dtype=dtype, endpoint=True))
        assert values.dtype == np.dtype(dtype)
        middle = (float(values.astype(float).mean()) - float(low)) / (float(high) - float(low))
        assert abs(middle - 0.5) < 0.03
    both = host(default_rng(1).integers(2, size=50, dtype=bool))
    assert both.any() and not both.all()


def test_integers_of_arrays_of_bounds() -> None:
    low = np.array([[-5], [0], [3]])
    high = np.array([10, 1 << 40])
    values = host(default_rng(1).integers(cp.asarray(low), cp.asarray(high), size=(500, 3, 2)))
    assert (values >= low).all() and (values < high).all()
    assert (values[:, 0, 0] == -5).any() and (values[:, 0, 0] == 9).any()
    assert host(default_rng(1).integers([1, 2, 3], endpoint=True)).shape == (3,)
    assert host(default_rng(1).integers(cp.asarray([1, 5, -7]), cp.asarray([1, 4, -(1 << 63)]))).tolist() == [1, 5, -7]
    unsigned = cp.full(50, (1 << 64) - 1, dtype="uint64")
    assert host(default_rng(1).integers(0, unsigned, dtype="uint64", endpoint=True)).max() > 1 << 63


def test_parameters_broadcast() -> None:
    loc = np.array([[-100.0], [0.0], [100.0]])
    scale = np.array([1.0, 0.1])
    z = host(default_rng(1).normal(cp.asarray(loc), scale.tolist(), size=(2000, 3, 2)))
    np.testing.assert_allclose(z.mean(0), np.broadcast_to(loc, (3, 2)), atol=0.1)
    np.testing.assert_allclose(z.std(0), np.broadcast_to(scale, (3, 2)), rtol=0.1)
    assert default_rng(1).normal(cp.asarray(loc), 1.0).shape == (3, 1)
    assert default_rng(1).gamma(cp.asarray(loc + 200), cp.ones(4)).shape == (3, 4)
    lam = np.array([1.0, 10.0, 100.0])
    np.testing.assert_allclose(host(default_rng(1).poisson(cp.asarray(lam), (N, 3))).mean(0), lam, rtol=0.05)
    n, p = np.array([10, 100]), np.array([[0.1], [0.7]])
    binomial = host(default_rng(1).binomial(cp.asarray(n), cp.asarray(p), (N, 2, 2)))
    np.testing.assert_allclose(binomial.mean(0), n * p, rtol=0.05)
    for draw in ("normal", "uniform", "laplace", "gamma", "beta", "f", "wald"):
        with pytest.raises(ValueError, match="broadcast"):
            getattr(default_rng(1), draw)(cp.ones(3), cp.ones(3), size=2)


def test_float32_parameters_do_not_change_the_dtype() -> None:
    rng = default_rng(1)
    assert rng.normal(cp.ones(3, dtype="float32"), np.float64(2)).dtype == np.float64
    assert rng.normal(cp.ones(3), np.float64(2), dtype="float32").dtype == np.float32
    assert rng.gamma(cp.ones(3, dtype="float32")).dtype == np.float64


@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_shapes(name: str) -> None:
    arguments, _ = {**CONTINUOUS, **DISCRETE}[name]
    draw = getattr(default_rng(1), name)
    assert draw(*arguments).shape == ()
    for size, shape in ((3, (3,)), ((2, 0), (2, 0)), ([2, 3], (2, 3)), ((), ()), (np.int64(4), (4,))):
        assert draw(*arguments, size=size).shape == shape
    with pytest.raises(ValueError):
        draw(*arguments, size=-1)
    with pytest.raises(TypeError):
        draw(*arguments, size=1.5)


@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential", "standard_gamma"])
def test_out(name: str) -> None:
    arguments = (2.0,) if name == "standard_gamma" else ()
    out = cp.zeros((2, 3))
    assert getattr(default_rng(1), name)(*arguments, out=out) is out
    np.testing.assert_array_equal(host(out), host(getattr(default_rng(1), name)(*arguments, (2, 3))))
    getattr(default_rng(1), name)(*arguments, out=cp.zeros((2, 3), dtype="float32"), dtype="float32")
    assert_errors(
        (lambda: getattr(default_rng(1), name)(*arguments, out=cp.zeros(3, dtype="float32")), TypeError, "wrong type"),
        (lambda: getattr(default_rng(1), name)(*arguments, size=4, out=out), ValueError, "size must match"),
        (lambda: getattr(default_rng(1), name)(*arguments, out=np.zeros(3)), TypeError, "cuprous"),
    )


#: (method, arguments, error)
MISTAKES: list[tuple[str, tuple[Any, ...], type[Exception]]] = [
    ("normal", (0, -1), ValueError), ("lognormal", (0, -1), ValueError), ("exponential", (-1,), ValueError),
    ("gamma", (-1,), ValueError), ("standard_gamma", (-1,), ValueError), ("gamma", (1, -1), ValueError),
    ("beta", (0, 1), ValueError), ("chisquare", (0,), ValueError), ("f", (1, 0), ValueError),
    ("standard_t", (0,), ValueError), ("poisson", (-1,), ValueError), ("poisson", (float("nan"),), ValueError),
    ("binomial", (-1, 0.5), ValueError), ("binomial", (1, 1.5), ValueError), ("geometric", (0,), ValueError),
    ("geometric", (1.5,), ValueError), ("negative_binomial", (0, 0.5), ValueError), ("logseries", (1,), ValueError),
    ("laplace", (0, -1), ValueError), ("logistic", (0, -1), ValueError), ("gumbel", (0, -1), ValueError),
    ("rayleigh", (-1,), ValueError), ("weibull", (-1,), ValueError), ("pareto", (0,), ValueError),
    ("power", (0,), ValueError), ("wald", (0, 1), ValueError), ("triangular", (2, 1, 3), ValueError),
    ("triangular", (1, 4, 3), ValueError), ("triangular", (1, 1, 1), ValueError),
    ("uniform", (0, np.inf), OverflowError), ("dirichlet", ([],), ValueError),
    ("multinomial", (3, [0.7, 0.6, 0.1]), ValueError),
    ("multinomial", (3, 0.5), ValueError), ("multinomial", (-3, [0.5, 0.5]), ValueError),
    ("multinomial", (3, [np.nan, 0.5]), ValueError), ("multinomial", ([1, 2], [0.5, 0.5], 3), ValueError),
    ("uniform", (1, 0), ValueError), ("normal", (1j,), TypeError), ("normal", ([1j],), TypeError),
    ("poisson", (1e20,), ValueError), ("negative_binomial", (1e300, 1e-5), ValueError),
    ("negative_binomial", (np.nan, 0.5), ValueError), ("binomial", (np.nan, 0.5), ValueError),
    ("dirichlet", ([1, -1],), ValueError), ("integers", (np.nan,), ValueError), ("integers", (np.inf,), OverflowError),
    ("logseries", (-0.1,), ValueError), ("bytes", (2.5,), TypeError), ("choice", (2.5,), ValueError),
    ("multivariate_hypergeometric", ([1, 2], 1.5), ValueError),
    ("vonmises", (0, -1), ValueError), ("vonmises", (0, [1, -1]), ValueError), ("zipf", (1.0,), ValueError),
    ("zipf", (np.nan,), ValueError), ("zipf", ([2.0, 1.0],), ValueError), ("hypergeometric", (-1, 4, 2), ValueError),
    ("hypergeometric", (3, 4, 9), ValueError), ("hypergeometric", (10**9, 4, 2), ValueError),
    ("hypergeometric", (3, [4, -4], 2), ValueError), ("hypergeometric", ([3.5], 4, 2), TypeError),
    ("multivariate_hypergeometric", ([3, 4], 8), ValueError), ("multivariate_hypergeometric", ([3, -4], 2), ValueError),
    ("multivariate_hypergeometric", ([3, 4], -1), ValueError), ("multivariate_hypergeometric", (5, 2), ValueError),
    ("multivariate_hypergeometric", ([3.0, 4.0], 2), ValueError),
    ("multivariate_hypergeometric", ([3, 4], 2, None, "guess"), ValueError),
    ("integers", (5, 5), ValueError), ("integers", (0, 300, 3, "int8"), ValueError),
    ("integers", (-1, 3, 3, "uint8"), ValueError), ("integers", (0, 3, 3, "float32"), TypeError),
    ("random", (3, "int32"), TypeError), ("standard_normal", (3, "complex64"), TypeError),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "error"), MISTAKES)
def test_errors(name: str, arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        getattr(default_rng(1), name)(*arguments)


#: Scalars that make NaN, as in NumPy: method -> arguments
NANS: dict[str, tuple[Any, ...]] = {
    "beta": (1, np.nan), "chisquare": (np.nan,), "exponential": (np.nan,), "f": (np.nan, 1), "gamma": (np.nan,),
    "gumbel": (0, np.nan), "normal": (0, np.nan), "pareto": (np.nan,), "standard_t": (np.nan,),
    "triangular": (0, np.nan, 1), "vonmises": (0, [np.nan, np.nan, np.nan]), "wald": (np.nan, 1), "weibull": (np.nan,),
}  # fmt: skip


@pytest.mark.parametrize("name", NANS)
def test_nan_makes_nan(name: str) -> None:
    assert np.isnan(host(getattr(default_rng(1), name)(*NANS[name], size=3))).all()


def test_legacy_uniform_accepts_reversed_bounds() -> None:
    x = host(RandomState(1).uniform(1.0, 0.0, 100))
    assert (x > 0).all() and (x <= 1).all()


def test_multinomial() -> None:
    counts = host(default_rng(1).multinomial(20, [0.2, 0.3, 0.5], size=(4000,)))
    assert counts.shape == (4000, 3) and counts.dtype == np.int64
    assert (counts.sum(-1) == 20).all() and (counts >= 0).all()
    np.testing.assert_allclose(counts.mean(0), [4, 6, 10], atol=0.15)
    assert host(default_rng(1).multinomial(5, cp.array([0.0, 1.0]))).tolist() == [0, 5]
    rows = [[0.2, 0.3, 0.5], [0.5, 0.5, 0.0]]
    counts = host(default_rng(1).multinomial([10, 20], rows, size=(4000, 2)))
    assert counts.shape == (4000, 2, 3)
    np.testing.assert_allclose(counts.mean(0), [[2, 3, 5], [10, 10, 0]], atol=0.2)
    assert default_rng(1).multinomial([[10], [20], [30]], rows).shape == (3, 2, 3)


@pytest.mark.parametrize("method", ["marginals", "count"])
def test_multivariate_hypergeometric(method: str) -> None:
    colors = np.array([5, 10, 0, 3])
    x = host(default_rng(1).multivariate_hypergeometric(colors.tolist(), 7, (40, 100), method=method))
    assert x.shape == (40, 100, 4) and x.dtype == np.int64
    assert (x.sum(-1) == 7).all() and (x >= 0).all() and (x <= colors).all()
    theirs = stats.multivariate_hypergeom(colors, 7)
    np.testing.assert_allclose(x.reshape(-1, 4).mean(0), theirs.mean(), atol=0.06)
    np.testing.assert_allclose(np.cov(x.reshape(-1, 4).T), theirs.cov(), atol=0.08)
    assert host(default_rng(1).multivariate_hypergeometric(cp.array([3, 2]), 5)).tolist() == [3, 2]
    assert default_rng(1).multivariate_hypergeometric([], 0, 3).shape == (3, 0)


@pytest.mark.parametrize("kappa", [0.0, 1e-9, 0.3, 30.0, 1e5, 1e12, 1e200])
def test_vonmises_of_any_concentration(kappa: float) -> None:
    x = host(default_rng(12).vonmises(3.0, kappa, N))
    assert (abs(x) <= np.pi).all()
    off = np.angle(np.exp(1j * (x - 3.0)))
    if kappa < 1e3:
        assert stats.kstest(off, stats.vonmises(kappa).cdf if kappa else stats.uniform(-np.pi, 2 * np.pi).cdf)[1] > 1e-3
    elif kappa < 1e20:
        assert stats.kstest(off * np.sqrt(kappa), "norm").pvalue > 1e-3
    else:
        np.testing.assert_allclose(x, 3.0, rtol=1e-15)


def test_vonmises_of_arrays() -> None:
    mu, kappa = np.array([[0.0], [2.5]]), np.array([0.5, 5.0, 500.0])
    x = host(default_rng(3).vonmises(cp.asarray(mu), cp.asarray(kappa), (N, 2, 3)))
    mean = np.exp(1j * x).mean(0)
    np.testing.assert_allclose(abs(mean[:, 1:]), np.broadcast_to([0.8934, 0.99900], (2, 2)), atol=0.005)
    np.testing.assert_allclose(np.angle(mean), np.broadcast_to(mu, (2, 3)), atol=0.06)


def test_zipf_of_exponents_near_one_and_large() -> None:
    """Near one most of the distribution exceeds int64; it is truncated, not clamped."""
    for a in (1.001, 1.05):
        x = host(default_rng(1).zipf(a, N)).astype(float)
        head = np.arange(1, 10**5) ** -a
        total = head.sum() + (1e5 ** (1 - a) - 2.0 ** (63 * (1 - a))) / (a - 1)
        assert x.min() == 1
        for top in (1, 10, 99_999):
            p = head[:top].sum() / total
            assert abs((x <= top).mean() - p) < 4 * np.sqrt(p * (1 - p) / N), (a, top)
    assert host(default_rng(1).zipf([30.0, 1e4, 1e300], (500, 3))).max() == 1


@pytest.mark.parametrize(
    "parameters",
    [(5, 3, 0), (0, 5, 3), (5, 3, 8), (1, 1, 1), (30, 1000, 500), (1000, 30, 900), (10**8, 7, 10**7)],
)
def test_hypergeometric_over_the_range_of_its_parameters(parameters: tuple[int, int, int]) -> None:
    good, bad, sample = parameters
    x = host(default_rng(6).hypergeometric(good, bad, sample, N))
    exact = stats.hypergeom(good + bad, good, sample)
    low, high = max(0, sample - bad), min(good, sample)
    assert x.min() >= low and x.max() <= high
    if low < high:
        assert chi_squared(x, exact) > 1e-3


def test_hypergeometric_of_arrays() -> None:
    good, bad, sample = np.array([[5], [500], [10**6]]), np.array([7, 80]), 9
    x = host(default_rng(7).hypergeometric(cp.asarray(good), cp.asarray(bad), sample, (N, 3, 2)))
    exact = stats.hypergeom(good + bad, good, sample)
    assert (abs(x.mean(0) - exact.mean()) < 5 * exact.std() / np.sqrt(N)).all()
    np.testing.assert_allclose(x.var(0), exact.var(), rtol=0.1, atol=1e-3)
    assert default_rng(7).hypergeometric(True, np.uint8(3), 2).dtype == np.int64


def test_the_hat_of_hypergeometric_is_wide_enough() -> None:
    """No point under the distribution's curve is outside the rectangle from which candidates are drawn."""
    from scipy.special import gammaln

    from cuprous.random._rejection import hat_width

    pairs = [(few, many) for many in range(41) for few in range(many + 1)]
    pairs += [(few, many) for many in (10**3, 10**5, 10**8) for few in (1, 2, 7, 300, 1000)]
    for few, many in pairs:
        for m in {*range(min((few + many) // 2, 20) + 1), (few + many) // 20, (few + many) // 2}:
            total, k = float(few + many), np.arange(min(m, few) + 1.0)
            mean = m * few / max(total, 1)
            variance = mean * (many / max(total, 1)) * ((total - m) / max(total - 1, 1))
            logs = -sum(gammaln(part + 1) for part in (k, few - k, m - k, many - m + k))
            reach = np.maximum(abs(k - mean - 0.5), abs(k - mean + 0.5)) * np.exp((logs - logs.max()) / 2)
            assert reach.max() <= hat_width(np.sqrt(variance + 0.5)) / 2, (few, many, m)


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_multivariate_normal(method: str) -> None:
    mean, cov = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 0.5]])
    x = host(default_rng(1).multivariate_normal(mean, cp.asarray(cov), (100, 200), method=method))
    assert x.shape == (100, 200, 2)
    np.testing.assert_allclose(x.reshape(-1, 2).mean(0), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(x.reshape(-1, 2).T), cov, atol=0.07)
    if method != "cholesky":
        with pytest.raises(ValueError, match="positive-semidefinite"):
            default_rng(1).multivariate_normal(mean, -cov, check_valid="raise", method=method)
        with pytest.warns(RuntimeWarning):
            default_rng(1).multivariate_normal(mean, -cov, method=method)


def test_bytes() -> None:
    assert [len(default_rng(1).bytes(n)) for n in (0, 1, 4, 7)] == [0, 1, 4, 7]
    assert default_rng(0).bytes(5) == bytes([0xD5, 0xE8, 0x27, 0x66, 0x8D])
    with pytest.raises(ValueError):
        default_rng(0).bytes(-1)


@pytest.mark.parametrize("cls", [Generator, RandomState])
def test_legacy_and_new_agree_on_common_names(cls: type) -> None:
    rng = default_rng(3) if cls is Generator else RandomState(3)
    np.testing.assert_array_equal(host(rng.normal(1, 2, 5)), host(default_rng(3).normal(1, 2, 5)))


def test_legacy_names() -> None:
    state = RandomState(1)
    assert state.random_integers(1, 1, 3).dtype == np.int64
    assert set(host(state.random_integers(3, size=200)).tolist()) == {1, 2, 3}
    assert set(host(cp.random.randint(-1, 2, (200,), dtype="int8")).tolist()) == {-1, 0, 1}
    assert cp.random.rand().shape == ()
    assert cp.random.randn(2, 3, dtype=cp.float32).dtype == np.float32
    assert cp.random.sample(3).shape == cp.random.ranf(3).shape == (3,)
    assert host(state.tomaxint(3)).min() >= 0
    assert state.multivariate_normal([0.0, 1.0], np.eye(2).tolist(), 5).shape == (5, 2)
    assert cp.random.vonmises(0.0, 1.0, 3).shape == cp.random.zipf(2.0, 3).shape == (3,)
    with pytest.raises(ValueError, match="low >= high"):
        cp.random.randint(3, 3)


@pytest.mark.parametrize("dtype", ["float16", "int16", "uint8"])
def test_other_dtypes_of_cupys_functions(dtype: str) -> None:
    arguments: dict[str, tuple[Any, ...]] = {
        "beta": (2.0, 3.0), "chisquare": (5.0,), "dirichlet": ([1.0, 2.0],), "f": (5.0, 7.0), "gamma": (4.0, 2.0),
        "noncentral_chisquare": (4.0, 2.0), "noncentral_f": (4.0, 6.0, 1.0), "standard_gamma": (9.0,),
        "standard_t": (5.0,), "vonmises": (0.5, 2.0),
    }  # fmt: skip
    for name, numbers in arguments.items():
        for by_position in (False, True):
            states = [cp.random.RandomState(3) for _ in range(2)]
            if by_position:
                found = getattr(states[0], name)(*numbers, 20, dtype)
            else:
                found = getattr(states[0], name)(*numbers, size=20, dtype=dtype)
            wanted = getattr(states[1], name)(*numbers, size=20)
            assert found.dtype == dtype
            np.testing.assert_array_equal(host(found), host(cp.asarray(wanted).astype(dtype)))
    with pytest.raises(TypeError, match="complex64"):
        cp.random.beta(1.0, 2.0, 3, dtype="complex64")
    with pytest.raises(TypeError, match="int16"):
        default_rng(1).standard_gamma(2.0, 3, dtype="int16")
    vectors = cp.random.multivariate_normal([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]], 5, dtype="float32")
    assert vectors.dtype == np.float32 and vectors.shape == (5, 2)
