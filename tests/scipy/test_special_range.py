"""Special functions against SciPy over the whole range of their arguments, in both dtypes.

Arguments are drawn log-uniformly, so that tiny and huge ones meet; SciPy computes in float64 for both dtypes. Results
must agree in sign, in what is NaN or infinite, and to within a bound in units of rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import special

scipy_special = pytest.importorskip("scipy.special")

POINTS = 2500


class Case(NamedTuple):
    """What a function is tested with, and how exactly."""

    #: Largest relative error, in units of the dtype's rounding.
    bound: float = 60.0
    #: Decimal exponents of the arguments; None for all that the dtype has.
    exponents: tuple[float, float] | None = None
    #: Each argument is positive, else of both signs.
    positive: bool = False
    #: Absolute error that is allowed besides, in the same units.
    absolute: float = 0.0


ONE = {
    "erf": Case(), "erfc": Case(400), "erfinv": Case(), "erfcinv": Case(), "gamma": Case(),
    "gammaln": Case(absolute=10),
    "loggamma": Case(absolute=10), "rgamma": Case(exponents=(-300, 2)), "digamma": Case(1000, absolute=100),
    "expit": Case(), "logit": Case(),
    "log_expit": Case(), "ndtr": Case(400), "ndtri": Case(), "log_ndtr": Case(1000), "i0": Case(), "i0e": Case(),
    "sinc": Case(), "entr": Case(), "exp10": Case(), "exp2": Case(), "expm1": Case(), "log1p": Case(),
    "exprel": Case(), "cbrt": Case(), "j0": Case(exponents=(-300, 3), absolute=40),
    "j1": Case(exponents=(-300, 3), absolute=40), "y0": Case(exponents=(-300, 3), absolute=40),
    "y1": Case(exponents=(-300, 3), absolute=40), "i1": Case(), "i1e": Case(), "k0": Case(), "k0e": Case(),
    "k1": Case(), "k1e": Case(), "erfcx": Case(), "dawsn": Case(), "ellipk": Case(), "ellipkm1": Case(),
    "ellipe": Case(200), "cosm1": Case(exponents=(-300, 4), absolute=10), "gammasgn": Case(exponents=(-300, 9)),
    "expi": Case(200, absolute=10),
    "exp1": Case(200), "kolmogorov": Case(), "erfi": Case(400), "sindg": Case(exponents=(-300, 4), absolute=10),
    "cosdg": Case(exponents=(-300, 4), absolute=10),
}  # fmt: skip
MANY = {
    # SciPy's powm1 is 0 for negative bases with large even exponents, also where the power is infinite.
    "xlogy": Case(), "xlog1py": Case(), "powm1": Case(positive=True), "rel_entr": Case(),
    "kl_div": Case(exponents=(-100, 100)), "huber": Case(),
    "pseudo_huber": Case(1e11, exponents=(-60, 60)), "boxcox": Case(1e4, exponents=(-20, 100), positive=True),
    # The exponential of up to 709 multiplies an error of its argument by as much.
    "inv_boxcox": Case(800), "radian": Case(1000), "boxcox1p": Case(1e4, exponents=(-20, 100), positive=True),
    "inv_boxcox1p": Case(1000, exponents=(-100, 100)), "agm": Case(1e4, exponents=(-50, 50)),
    "gammainc": Case(1e5, exponents=(-300, 4)), "gammaincc": Case(1e5, exponents=(-300, 4)),
    "betainc": Case(1e5, exponents=(-200, 4)), "betaincc": Case(1e5, exponents=(-200, 4)),
    "stdtr": Case(1e8, exponents=(-100, 100)), "chdtr": Case(1e5, exponents=(-300, 4)),
    "chdtrc": Case(1e5, exponents=(-300, 4)), "pdtr": Case(1e5, exponents=(-300, 4)),
    "fdtr": Case(1e5, exponents=(-20, 4)), "fdtrc": Case(1e5, exponents=(-20, 4)),
}  # fmt: skip


def drawn(case: Case, dtype: str, seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    most = (-300.0, 300.0) if dtype == "float64" else (-36.0, 37.0)
    low, high = case.exponents or most
    low, high = max(low, most[0]), min(high, most[1])
    near = 10 ** rng.uniform(max(low, -3), min(high, 4), POINTS)
    x = np.where(rng.random(POINTS) < 0.5, 10 ** rng.uniform(low, high, POINTS), near)
    x = np.where(rng.random(POINTS) < 0.1, np.rint(x) + case.positive, x)
    return np.asarray((x if case.positive else x * rng.choice([1, -1], POINTS)).astype(dtype))


def agree(ours: Any, theirs: Any, case: Case, dtype: str, arguments: list[Any]) -> None:
    host = cp.asnumpy(ours)
    assert host.dtype == dtype
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        theirs = theirs.astype(dtype)
        error = np.abs(host.astype("float64") - theirs.astype("float64"))
        bound = case.bound * (1 if cp.get_device() == "cpu" else 2)  # CUDA's pow, exp and erfc are less exact
        allowed = info.eps * (bound * np.abs(theirs.astype("float64")) + case.absolute) + info.tiny * 1e3
        bad = np.isfinite(theirs) & ~(error <= allowed)
        # The last decade may round to infinity.
        largest = np.isfinite(host) & (np.abs(host) > info.max / 10)
        bad |= np.isinf(theirs) & (host != theirs) & ~largest
        bad |= np.isnan(theirs) != np.isnan(host)
    shown = [(*(float(a[k]) for a in arguments), float(host[k]), float(theirs[k])) for k in np.flatnonzero(bad)[:5]]
    assert not bad.any(), f"{bad.sum()} of {POINTS}: arguments, ours, theirs: {shown}"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", [*ONE, *MANY])
def test_range(name: str, dtype: str) -> None:
    case = ONE.get(name) or MANY[name]
    ours, theirs = getattr(special, name), getattr(scipy_special, name)
    arguments = [drawn(case, dtype, seed) for seed in range(ours.nin)]
    with np.errstate(all="ignore"):
        expected = theirs(*(a.astype("float64") for a in arguments))
    agree(ours(*map(cp.asarray, arguments)), expected, case, dtype, arguments)


def magnitude(*values: Any) -> Any:
    """SciPy's own error: sums of logarithms of gamma functions, and arguments near poles."""
    logs = 1.0 + sum(np.abs(scipy_special.gammaln(v)) for v in values)
    return logs + sum(np.where(v < 0, np.abs(v) / np.maximum(np.abs(v - np.rint(v)), 1e-300), 1.0) for v in values)


@pytest.mark.parametrize("name", ["beta", "betaln", "binom"])
@pytest.mark.parametrize("high", [2, 5, 8])
@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_beta_and_binomials(name: str, high: float, signs: tuple[int, int]) -> None:
    rng = np.random.default_rng(high)
    a, b = (10 ** rng.uniform(-7, high, POINTS) * sign for sign in signs)
    # SciPy overflows where gamma of a negative number is not normal, and expands binom(tiny, k) for small k.
    a, b = (np.where((v < -165) & (v > -175), -100.5, v) for v in (a, b))
    if name == "binom":
        b = np.where((b > 1e7 * np.abs(a)) & (b < 1e3), 0.75, b)
    ours = getattr(special, name)(cp.asarray(a), cp.asarray(b)).get()
    with np.errstate(all="ignore"):
        theirs = getattr(scipy_special, name)(a, b)
        size = magnitude(a - b + 1, b + 1, a + 2) if name == "binom" else magnitude(a, b, a + b)
        if name == "binom":
            size += 1.0 / np.abs(a - b + 1)
        error = np.abs(ours - theirs) / (1.0 if name == "betaln" else np.abs(theirs))
        settled = (ours == theirs) | (np.abs(theirs) < 1e-290) | (np.abs(ours) > 1e290)
        bad = ~settled & ~(error <= 2.3e-16 * 40 * size)
    assert not bad.any(), [(a[k], b[k], ours[k], theirs[k]) for k in np.flatnonzero(bad)[:5]]


def test_beta_and_binomials_of_float32() -> None:
    rng = np.random.default_rng(5)
    a, b = ((10 ** rng.uniform(-4, 1.9, POINTS) * rng.choice([1, -1], POINTS)).astype("float32") for _ in range(2))
    wide = a.astype("float64"), b.astype("float64")
    for name in ("beta", "betaln", "binom"):
        ours = getattr(special, name)(cp.asarray(a), cp.asarray(b)).get()
        with np.errstate(all="ignore"):
            theirs = getattr(scipy_special, name)(*wide).astype("float32")
        assert ours.dtype == "float32"
        np.testing.assert_allclose(ours, theirs, rtol=3e-7, atol=1e-37, err_msg=name)


def test_beta_of_extremes() -> None:
    a = np.array([-19.183673858642578], "float32")
    np.testing.assert_allclose(special.beta(cp.asarray(a), cp.asarray(a)).get(), scipy_special.beta(a, a), rtol=1e-6)
    inf = np.inf
    cases = [
        (1e-300, 1e100), (1e-300, 1e-300), (1e100, -0.5), (inf, 2.0), (inf, -0.5), (inf, inf), (-3.0, 2.0), (0.0, 1.0),
    ]  # fmt: skip
    for x, y in cases:
        for name in ("beta", "betaln"):
            with np.errstate(all="ignore"):
                theirs = getattr(scipy_special, name)(x, y)
            np.testing.assert_allclose(
                float(getattr(special, name)(x, y)), theirs, rtol=1e-13, err_msg=f"{name} {x} {y}"
            )


def test_binomials_of_extremes() -> None:
    cases = [
        (526410526.31578946, 0.0), (np.inf, 0.0), (1e10, 3.0), (123456.0, 17.0), (1e5, 5e4), (2.5, 3e9), (50.0, 25.0),
    ]  # fmt: skip
    cases += [(-2.5, -3.0), (-2.0, 1.0), (5.0, 6.0), (5.0, -1.0), (1e-9, 0.0), (170.5, 3.25)]
    for n, k in cases:
        with np.errstate(all="ignore"):
            theirs = scipy_special.binom(n, k)
        np.testing.assert_allclose(
            float(special.binom(n, k)), theirs, rtol=1e-8 if k >= 5e4 else 1e-12, err_msg=f"{n} {k}"
        )
