"""Inverses of incomplete gamma and beta functions, and quantiles computed by them.

In the variables of `_incomplete` the logarithms of the functions are concave, so Newton's method always converges:
after the first iteration it approaches the root from one side. It starts from an approximation for the tails or by a
normal distribution, and runs ten iterations, each in a program of its own that is planned once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from cuprous import _core
from cuprous.scipy.special._composed import both, either, isnan, where
from cuprous.scipy.special._function import ndarray
from cuprous.scipy.special._incomplete import (
    _inside,
    _unit,
    beta_density,
    beta_pair,
    gamma_density,
    gamma_pair,
    in_double,
    log_beta,
)
from cuprous.scipy.special._normal import ndtri

_map = _core.map
_STEPS = 10
Curve = Callable[[ndarray], "tuple[ndarray, ndarray, ndarray]"]


def _solved(curve: Curve, u: ndarray, p: ndarray, q: ndarray) -> ndarray:
    """Returns u with curve(u) = (p, q, derivative), where p + q = 1, solving for the smaller of p and q."""
    lower = p <= q
    wanted = _map("log", where(lower, p, q))
    for _ in range(_STEPS):
        below, above, density = curve(u)
        have = where(lower, below, above)
        step = (_map("log", have) - wanted) * have / density
        step = where(have == 0.0, -0.25, where(_map("isfinite", step), step, 0.0))
        step = _map("maximum", _map("minimum", step, 8.0), -8.0)
        u = u - where(lower, step, -step)
        _core.flush()
    return u


def gamma_quantile(a: ndarray, p: ndarray, q: ndarray) -> ndarray:
    """Returns log x with P(a, x) = p, for a > 0 and 0 < p < 1."""
    log_gamma = _map("gammaln", a + 1.0)
    tail = (_map("log", p) + log_gamma) / a
    far = _map("maximum", _map("log", a) - _map("log", q) - log_gamma, 0.1)  # Q is about x**(a - 1) exp(-x) / gamma(a)
    small = where(both(q < p, far > 1.0), _map("log", far), _map("minimum", tail, 1.0))
    root = 1.0 - 1.0 / (9.0 * a) + where(p < q, ndtri(p), -ndtri(q)) / (3.0 * _map("sqrt", a))
    normal = both(a > 0.5, root > 0.3)  # E. B. Wilson and M. M. Hilferty, 1931
    start = where(normal, _map("log", a) + 3.0 * _map("log", where(normal, root, 1.0)), small)
    # Q(a, a + sqrt(2 a t) + t) <= exp(-t) (B. Laurent and P. Massart, 2000)
    t = -_map("log", q)
    start = where(q < p, _map("minimum", start, _map("log", a + _map("sqrt", 2.0 * a * t) + t)), start)

    def curve(u: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        x = _map("exp", u)
        return (*gamma_pair(a, x), gamma_density(a, x))

    # Beyond 1e20 the approximation is exact, while the functions are not.
    return where(a > 1e20, start, _solved(curve, start, p, q))


def _gamma_inverse(a: ndarray, p: ndarray, q: ndarray, p_is_zero: ndarray, q_is_zero: ndarray) -> ndarray:
    x = _map("exp", gamma_quantile(_inside(a), _unit(p), _unit(q)))
    x = where(either(a == 0.0, a == math.inf), math.nan, x)
    x = where(p_is_zero, 0.0, where(q_is_zero, math.inf, x))
    return where(either(p < 0.0, q < 0.0, a < 0.0, isnan(a + p)), math.nan, x)


@in_double
def gammaincinv(a: ndarray, y: ndarray) -> ndarray:
    """Computes x with gammainc(a, x) = y."""
    return _gamma_inverse(a, y, 1.0 - y, y == 0.0, y == 1.0)


@in_double
def gammainccinv(a: ndarray, y: ndarray) -> ndarray:
    """Computes x with gammaincc(a, x) = y."""
    return _gamma_inverse(a, 1.0 - y, y, y == 1.0, y == 0.0)


def beta_quantile(a: ndarray, b: ndarray, p: ndarray, q: ndarray, start: ndarray | None = None) -> ndarray:
    """Returns log(x / (1 - x)) with I_x(a, b) = p, for a, b > 0 and 0 < p < 1; NaN in `start` means no known start."""
    # In the tails p is about x**a / (a B), and q about y**b / (b B), which gives the logarithms of x and y.
    whole = log_beta(a, b)
    log_x = (_map("log", p) + _map("log", a) + whole) / a
    log_y = (_map("log", q) + _map("log", b) + whole) / b
    low = log_x - _map("log", -_map("expm1", log_x))
    high = _map("log", -_map("expm1", log_y)) - log_y
    tail = where(both(p < q, a * log_x < -1.0), low, where(log_y < 0.0, high, where(log_x < 0.0, low, 0.0)))
    z = where(p < q, ndtri(p), -ndtri(q))
    normal = _map("log", a / b) + z * _map("sqrt", 1.0 / a + 1.0 / b)
    # For a, b > 1 the tail approximations are bounds too.
    normal = where(p < q, where(log_x < 0.0, _map("maximum", normal, low), normal),
                   where(log_y < 0.0, _map("minimum", normal, high), normal))  # fmt: skip
    found = where(both(a > 1.0, b > 1.0), normal, tail)
    start = found if start is None else where(isnan(start), found, start)

    def curve(u: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        x, y = _map("expit", u), _map("expit", -u)
        return (*beta_pair(a, b, x, y), beta_density(a, b, x, y))

    # Where x or y may underflow, the tail approximations are exact.
    solved = _solved(curve, start, p, q)
    solved = where(both(p < q, log_x + _map("log", _map("maximum", b, 1.0)) < -50.0), log_x, solved)
    return where(both(q < p, log_y + _map("log", _map("maximum", a, 1.0)) < -50.0), -log_y, solved)


def _beta_inverse(a: ndarray, b: ndarray, p: ndarray, q: ndarray, p_is_zero: ndarray, q_is_zero: ndarray) -> ndarray:
    x = _map("expit", beta_quantile(_inside(a), _inside(b), _unit(p), _unit(q)))
    x = where(_map("isinf", a + b), math.nan, x)
    x = where(p_is_zero, 0.0, where(q_is_zero, 1.0, x))
    return where(either(p < 0.0, q < 0.0, a <= 0.0, b <= 0.0, isnan(a + b + p)), math.nan, x)


@in_double
def betaincinv(a: ndarray, b: ndarray, y: ndarray) -> ndarray:
    """Computes x with betainc(a, b, x) = y."""
    return _beta_inverse(a, b, y, 1.0 - y, y == 0.0, y == 1.0)


@in_double
def betainccinv(a: ndarray, b: ndarray, y: ndarray) -> ndarray:
    """Computes x with betaincc(a, b, x) = y."""
    return _beta_inverse(a, b, 1.0 - y, y, y == 1.0, y == 0.0)


@in_double
def chdtri(v: ndarray, p: ndarray) -> ndarray:
    """Computes x with chdtrc(v, x) = p."""
    return 2.0 * gammainccinv(v * 0.5, p)


@in_double
def stdtrit(df: ndarray, p: ndarray) -> ndarray:
    """Computes t with stdtr(df, t) = p."""
    n = _inside(df)
    side = _map("minimum", p, 1.0 - p)
    normal = ndtri(_unit(side))
    start = where(both(n > 30.0, normal < -0.01), _map("log", n) - 2.0 * _map("log", -normal), math.nan)
    u = beta_quantile(n * 0.5, n * 0.0 + 0.5, _unit(2.0 * side), _unit(_map("absolute", 1.0 - 2.0 * p)), start)
    t = _map("sqrt", n) * _map("exp", u * -0.5)
    t = where(p == 0.5, 0.0, where(side == 0.0, math.inf, t))
    t = where(p < 0.5, -t, t)
    t = where(df == math.inf, ndtri(p), t)
    return where(either(p < 0.0, p > 1.0, df <= 0.0, isnan(df + p)), math.nan, t)


@in_double
def fdtri(dfn: ndarray, dfd: ndarray, p: ndarray) -> ndarray:
    """Computes x with fdtr(dfn, dfd, x) = p."""
    n, d = _inside(dfn), _inside(dfd)
    x = _map("exp", beta_quantile(n * 0.5, d * 0.5, _unit(p), _unit(1.0 - p))) * (d / n)
    x = where(p == 0.0, 0.0, where(p == 1.0, math.inf, x))
    total = dfn + dfd
    undefined = either(p < 0.0, p > 1.0, dfn <= 0.0, dfd <= 0.0, isnan(total + p), _map("isinf", total))
    return where(undefined, math.nan, x)


@in_double
def pdtri(k: ndarray, y: ndarray) -> ndarray:
    """Computes the inverse of pdtr."""
    known = both(k >= 0.0, y >= 0.0, y < 1.0)
    size = where(known, _map("trunc", k) + 1.0, 1.0)
    return where(known, gammainccinv(size, where(known, y, 0.5)), math.nan)


@in_double
def bdtri(k: ndarray, n: ndarray, y: ndarray) -> ndarray:
    """Computes the inverse of bdtr."""
    k, n = _map("floor", k), _map("floor", n)
    known = both(y >= 0.0, y <= 1.0, k >= 0.0, n > k)
    a, b = where(known, k + 1.0, 1.0), where(known, n - k, 1.0)
    return where(known, betainccinv(a, b, where(known, y, 0.5)), math.nan)


@in_double
def nbdtri(k: ndarray, n: ndarray, y: ndarray) -> ndarray:
    """Computes the inverse of nbdtr."""
    k, n = _map("trunc", k), _map("trunc", n)
    possible = both(k >= 0.0, n >= 0.0)
    known = both(y >= 0.0, y <= 1.0, possible, n > 0.0)
    a, b = where(known, n, 1.0), where(known, k + 1.0, 1.0)
    value = where(known, betaincinv(a, b, where(known, y, 0.5)), math.nan)
    return where(both(possible, either(y == 0.0, y == 1.0)), y, value)
