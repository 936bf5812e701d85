"""`cuprous.scipy.special`'s incomplete functions, distributions, their inverses and integrals against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import special
from tests.support import assert_errors

theirs = pytest.importorskip("scipy.special")
pytestmark = pytest.mark.filterwarnings("ignore:non-integer arg", "ignore::RuntimeWarning")

RNG = np.random.default_rng(9)
COUNT = 400
#: All go the same way to float64 and back.
NARROW = ("gammainc", "betainc", "stdtr", "gammaincinv", "expi", "expn")


def spread(low: float, high: float) -> Any:
    """Numbers of those powers of ten."""
    return 10 ** RNG.uniform(low, high, COUNT)


def unit() -> Any:
    """Probabilities, many near 0 and 1."""
    p = RNG.uniform(size=COUNT) ** 4
    return np.where(RNG.uniform(size=COUNT) < 0.5, p, 1 - p)


def near(name: str, *operands: Any, rtol: float) -> None:
    """float64 results agree, and float32 ones (of one function of a kind) to the precision of float32 operands."""
    expected = getattr(theirs, name)(*operands)
    ours = getattr(special, name)(*(cp.asarray(v) for v in operands))
    assert ours.dtype == "float64"
    np.testing.assert_allclose(ours.get(), expected, rtol=rtol, atol=1e-300)
    if name not in NARROW:
        return
    narrow = [v.astype("f4") for v in operands]
    ours = getattr(special, name)(*(cp.asarray(v) for v in narrow))
    assert ours.dtype == "float32"
    with np.errstate(all="ignore"):
        wanted = getattr(theirs, name)(*(v.astype("f8") for v in narrow)).astype("f4")
    np.testing.assert_allclose(ours.get(), wanted, rtol=3e-7, atol=1e-37)


#: Powers of ten of the parameters, and the relative error beside SciPy's (whose own grows with the parameters).
RANGES = [(-2.5, 0, 1e-11), (0, 2, 3e-12), (2, 3.5, 5e-12)]


@pytest.mark.parametrize(("low", "high", "rtol"), RANGES)
def test_gamma(low: float, high: float, rtol: float) -> None:
    a = spread(low, high)
    x = a * np.exp(RNG.normal(size=COUNT) * np.minimum(3, 5 / np.sqrt(a)))
    for name in ("gammainc", "gammaincc", "chdtr", "chdtrc"):
        near(name, a, x, rtol=rtol)
    for name in ("gammaincinv", "gammainccinv", "chdtri"):
        near(name, a, unit(), rtol=rtol)


@pytest.mark.parametrize(("low", "high", "rtol"), RANGES)
def test_beta(low: float, high: float, rtol: float) -> None:
    a = spread(low, high)
    for b in (spread(low, high), spread(-1, 2)):
        u = np.log(a / b) + RNG.normal(size=COUNT) * 4 * np.minimum(1 / np.sqrt(a) + 1 / np.sqrt(b), 5)
        x = 1 / (1 + np.exp(-np.clip(u, -30, 15)))
        near("betainc", a, b, x, rtol=rtol)
        near("betaincc", a, b, x, rtol=rtol)
    b = spread(max(low, -1), high)
    a = np.maximum(a, 0.1)
    near("betaincinv", a, b, unit(), rtol=1e-10)
    near("fdtri", a, b, unit(), rtol=1e-10)


def test_distributions() -> None:
    df, t = spread(-1, 4), RNG.standard_t(2, COUNT)
    near("stdtr", df, t, rtol=1e-12)
    near("stdtrit", np.maximum(df, 0.5), unit(), rtol=1e-10)
    near("fdtr", df, spread(-1, 4), spread(-1, 1), rtol=1e-11)
    near("fdtrc", df, spread(-1, 4), spread(-1, 1), rtol=1e-11)
    k, n, p = RNG.integers(0, 20, COUNT) * 1.0, RNG.integers(20, 40, COUNT) * 1.0, RNG.uniform(size=COUNT)
    near("bdtr", k, n, p, rtol=1e-12)
    near("bdtrc", k, n, p, rtol=1e-12)
    near("pdtr", k, n, rtol=1e-12)
    near("pdtrc", k, n, rtol=1e-12)
    near("gdtr", p + 0.1, k + 1, n, rtol=1e-12)
    near("gdtrc", p + 0.1, k + 1, n, rtol=1e-12)
    near("kolmogorov", np.linspace(0.0, 5, 301), rtol=1e-13)


def test_integrals() -> None:
    x = np.concatenate([np.linspace(0.01, 80, 300), spread(-6, 2.5)])
    for name in ("exp1", "expi"):
        near(name, x[np.abs(x - 0.3725) > 0.01], rtol=5e-14)
    near("expi", -x[x < 80], rtol=5e-14)
    near("expn", RNG.integers(0, 60, x.size).astype(float), x, rtol=5e-14)
    near("poch", np.round(spread(-1, 3), 2), RNG.integers(-3, 9, COUNT) * 0.5, rtol=2e-12)
    near("betaln", spread(-3, 3), spread(-3, 3), rtol=3e-11)  # SciPy's loses digits
    near("agm", x, x[::-1].copy(), rtol=1e-14)
    both = np.concatenate([x, -x])
    for name in ("sici", "fresnel"):
        for mine, its in zip(getattr(special, name)(cp.asarray(both)), getattr(theirs, name)(both), strict=True):
            np.testing.assert_allclose(mine.get(), its, rtol=1e-13, atol=1e-13)


def test_limits() -> None:
    a, b, x = np.meshgrid([-1, 0, 0.5, 3], [-1, 0, 0.5, 3], [-0.1, 0, 0.3, 1, 1.5, np.nan, np.inf], indexing="ij")
    for name, operands in (
        ("gammainc", (a, x)), ("gammaincc", (a, x)), ("gammaincinv", (a, x)), ("betainc", (a, b, x)),
        ("betaincc", (a, b, x)), ("betaincinv", (a, b, x)), ("stdtr", (a, x)), ("fdtr", (a, b, x)),
        ("fdtrc", (a, b, x)), ("chdtrc", (a, x)), ("exp1", (x,)), ("expi", (x,)), ("expn", (np.abs(a), x)),
        ("kolmogorov", (x,)), ("agm", (a, b)),
    ):  # fmt: skip
        ours = getattr(special, name)(*(cp.asarray(v.copy()) for v in operands)).get()
        np.testing.assert_allclose(ours, getattr(theirs, name)(*operands), rtol=1e-9, err_msg=name)
    assert float(special.stdtr(np.inf, 1.0)) == pytest.approx(float(theirs.ndtr(1.0)), rel=1e-14)
    assert float(special.betainc(2.0, np.inf, 0.3)) == 1.0
    assert float(special.poch(-3.0, 2.0)) == pytest.approx(6.0, rel=1e-15)
    for at in (0.0, np.inf, -np.inf, np.nan):
        for name in ("sici", "fresnel"):
            ours = [float(v) for v in getattr(special, name)(at)]
            np.testing.assert_allclose(ours, getattr(theirs, name)(at), rtol=1e-15)


def test_whole_parameters() -> None:
    x = np.linspace(3, 40, 50)
    for d in (1, 2, 5):
        np.testing.assert_allclose(special.multigammaln(cp.asarray(x), d).get(), theirs.multigammaln(x, d), rtol=1e-13)
    angle = np.concatenate([np.linspace(-20, 20, 200), np.arange(-6, 7) * np.pi])
    for n in (1, 2, 5, 8):
        np.testing.assert_allclose(special.diric(cp.asarray(angle), n).get(), theirs.diric(angle, n), atol=1e-11)
    assert_errors(
        (lambda: special.multigammaln(5.0, 1.5), ValueError, "positive integer"),
        (lambda: special.gammainc(1j, 2.0), TypeError, "complex"),
        (lambda: special.betainc(cp.ones(3), cp.ones(2), 0.5), ValueError, "broadcast"),
    )


def test_far_tails() -> None:
    """Quantiles of probabilities down to the least ones: by Newton's method or, where x underflows, as the tail."""
    tiny = 10.0 ** -np.array([10, 50, 100, 150, 200, 300.0])
    a = np.array([0.01, 0.5, 1, 1.5, 3, 10, 100, 1000])[:, None]
    near("gammainccinv", *np.broadcast_arrays(a, tiny), rtol=1e-13)
    a = a[1:]
    for b in (a[::-1], np.full((1, 1), 1.0), np.full((1, 1), 1000.0)):
        x = special.betainccinv(*map(cp.asarray, (a, b, tiny))).get()
        error = np.log(theirs.betaincc(a, b, x) / tiny)
        np.testing.assert_allclose(error[x < 0.99], 0, atol=1e-10)
    np.testing.assert_allclose(special.stdtrit(1.0, cp.asarray(tiny)).get(), -1.0 / (np.pi * tiny), rtol=1e-12)
    np.testing.assert_allclose(special.betaincinv(1.5, 40.0, cp.asarray(tiny)).get(),
                               (1.5 * theirs.beta(1.5, 40.0) * tiny) ** (1 / 1.5), rtol=3e-6)  # fmt: skip
    assert float(special.chdtri(1e200, 0.25)) == pytest.approx(1e200)
    assert np.isnan(float(special.gammainccinv(0.0, 1e-200)))


def test_many_degrees_of_freedom() -> None:
    near("stdtr", *np.meshgrid(10.0 ** np.arange(5, 12), [-5, -2, -1, -0.5, -0.01, 0.3, 1, 4]), rtol=2e-14)
    near("stdtr", np.full(2, np.inf), np.array([-np.inf, np.inf]), rtol=0)


def test_poch_of_large_numbers() -> None:
    z = np.array([-300.5, -200.25, -1e10, -1e10, -180, -180, -171.5, -150.5, -20.5, 1e-200, 0, np.inf, np.inf])
    m = np.array([2, 3.5, -1, -2, 3, -3, -2, -50, 1.25, -1, -1, 0.5, -1])
    near("poch", z, m, rtol=1e-12)


def test_ends_of_parameters() -> None:
    near("agm", np.array([np.inf, -np.inf, np.inf, 1e-200]), np.array([2.0, -2, 0, 1e200]), rtol=1e-8)
    near("gammaincinv", np.full(2, np.inf), np.array([0.0, 1]), rtol=0)
    near("betaincinv", np.array([np.inf, 2, 2]), np.array([2, np.inf, np.inf]), np.array([0, 1, 0.3]), rtol=0)
    k, p = np.meshgrid([-2.5, -1, 0, 1, 2], [0.0, 0.25, 1])
    for name in ("bdtr", "bdtrc"):
        near(name, k, np.full(k.shape, 1.0), p, rtol=1e-14)
    assert np.isnan(float(special.bdtr(-1.0, -1.0, 0.25)))


def test_binom_of_tiny_numbers() -> None:
    n, k = np.meshgrid([1e-200, -1e-200, 1e-12, np.nan], [-1, 0, 1, 2, 5, 19, 30, 100, 300, -np.inf])
    near("binom", n, k, rtol=1e-10)
