"""Distribution functions, computed by incomplete gamma and beta functions, with the names of Cephes and SciPy."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous.scipy.special._composed import both, either, isnan, where
from cuprous.scipy.special._function import in_double, ndarray
from cuprous.scipy.special._incomplete import _inside, beta_pair, gammainc, gammaincc

_map = _core.map


def student_pair(df: ndarray, t: ndarray) -> tuple[ndarray, ndarray]:
    """Returns the probabilities of Student's distribution beyond |t| on both sides, and within."""
    square = t * t
    n = _inside(df)
    x, y = 1.0 / (1.0 + square / n), 1.0 / (1.0 + n / square)
    some = both(y > 0.0, x > 0.0)
    beyond, within = beta_pair(n * 0.5, n * 0.0 + 0.5, where(some, x, 0.5), where(some, y, 0.5))
    beyond, within = (where(y > 0.0, where(x > 0.0, v, e), 1.0 - e) for v, e in ((beyond, 0.0), (within, 1.0)))
    infinite = _map("isinf", t)
    beyond, within = where(infinite, 0.0, beyond), where(infinite, 1.0, within)
    # For df > 1e10, the equivalent normal quantile; further terms of its expansion are below rounding.
    size = _map("minimum", _map("absolute", t), 50.0)
    z = size * (1.0 - (size * size + 1.0) / (4.0 * _map("maximum", df, 1e10))) * math.sqrt(0.5)
    beyond = where(df > 1e10, _map("erfc", z), beyond)
    within = where(df > 1e10, _map("erf", z), within)
    nothing = either(df <= 0.0, isnan(df + _map("absolute", t)))
    return where(nothing, math.nan, beyond), where(nothing, math.nan, within)


@in_double
def stdtr(df: ndarray, t: ndarray) -> ndarray:
    """Computes Student's distribution function."""
    beyond, _ = student_pair(df, t)
    return where(t < 0.0, 0.5 * beyond, 1.0 - 0.5 * beyond)


def fisher_pair(dfn: ndarray, dfd: ndarray, x: ndarray) -> tuple[ndarray, ndarray]:
    """Returns the probabilities of Fisher's distribution below and above x."""
    n, d, v = _inside(dfn), _inside(dfd), _inside(x)
    total = n * v + d
    below, above = beta_pair(n * 0.5, d * 0.5, n * v / total, d / total)
    nothing = either(dfn <= 0.0, dfd <= 0.0, isnan(dfn + dfd + x), x < 0.0, _map("isinf", dfn + dfd))
    below, above = (where(x == 0.0, e, where(x == math.inf, 1.0 - e, v)) for v, e in ((below, 0.0), (above, 1.0)))
    return where(nothing, math.nan, below), where(nothing, math.nan, above)


@in_double
def fdtr(dfn: ndarray, dfd: ndarray, x: ndarray) -> ndarray:
    """Computes Fisher's distribution function."""
    return fisher_pair(dfn, dfd, x)[0]


@in_double
def fdtrc(dfn: ndarray, dfd: ndarray, x: ndarray) -> ndarray:
    """Computes 1 - fdtr."""
    return fisher_pair(dfn, dfd, x)[1]


@in_double
def chdtr(v: ndarray, x: ndarray) -> ndarray:
    """Computes the chi-square distribution function."""
    return gammainc(v * 0.5, x * 0.5)


@in_double
def chdtrc(v: ndarray, x: ndarray) -> ndarray:
    """Computes 1 - chdtr."""
    return gammaincc(v * 0.5, x * 0.5)


@in_double
def gdtr(a: ndarray, b: ndarray, x: ndarray) -> ndarray:
    """Computes the gamma distribution function with rate a and shape b."""
    return where(x < 0.0, math.nan, gammainc(b, a * x))


@in_double
def gdtrc(a: ndarray, b: ndarray, x: ndarray) -> ndarray:
    """Computes 1 - gdtr."""
    return where(x < 0.0, math.nan, gammaincc(b, a * x))


def _poisson(k: ndarray, m: ndarray, tail: Any) -> ndarray:
    value = where(m == 0.0, 1.0 if tail is gammaincc else 0.0, tail(_map("floor", k) + 1.0, m))
    return where(either(k < 0.0, m < 0.0, isnan(k + m)), math.nan, value)


@in_double
def pdtr(k: ndarray, m: ndarray) -> ndarray:
    """Computes the Poisson distribution function with mean m."""
    return _poisson(k, m, gammaincc)


@in_double
def pdtrc(k: ndarray, m: ndarray) -> ndarray:
    """Computes 1 - pdtr."""
    return _poisson(k, m, gammainc)


def _binomial(k: ndarray, n: ndarray, p: ndarray, above: bool) -> ndarray:
    k = _map("floor", k)
    inside = both(p > 0.0, p < 1.0, k >= 0.0, k < n)
    tails = beta_pair(*(where(inside, v, 0.5) for v in (k + 1.0, n - k, p, 1.0 - p)))
    value = tails[0 if above else 1]
    value = where(inside, value, where(either(p == 0.0, k >= n), 0.0 if above else 1.0, 1.0 if above else 0.0))
    value = where(k < 0.0, 1.0 if above else math.nan, where(n < k, math.nan, value))
    return where(either(p < 0.0, p > 1.0, isnan(k + n + p), _map("isinf", n)), math.nan, value)


@in_double
def bdtr(k: ndarray, n: ndarray, p: ndarray) -> ndarray:
    """Computes the binomial distribution function: the probability of at most k successes in n trials of probability
    p."""
    return _binomial(k, _map("floor", n), p, False)


@in_double
def bdtrc(k: ndarray, n: ndarray, p: ndarray) -> ndarray:
    """Computes 1 - bdtr."""
    return _binomial(k, _map("floor", n), p, True)


@in_double
def nbdtr(k: ndarray, n: ndarray, p: ndarray) -> ndarray:
    """Computes the negative binomial distribution function."""
    return _negative_binomial(k, n, p, 0)


@in_double
def nbdtrc(k: ndarray, n: ndarray, p: ndarray) -> ndarray:
    """Computes 1 - nbdtr."""
    return _negative_binomial(k, n, p, 1)


def _negative_binomial(k: ndarray, n: ndarray, p: ndarray, above: int) -> ndarray:
    k, n = _map("trunc", k), _map("trunc", n)
    known = both(p >= 0.0, p <= 1.0, k >= 0.0)
    inside = both(known, p > 0.0, p < 1.0, n > 0.0)
    tails = beta_pair(*(where(inside, v, 0.5) for v in (n, k + 1.0, p, 1.0 - p)))
    edge = where(p == 0.0, float(above), 1.0 - above)
    return where(known, where(inside, tails[above], where(n > 0.0, edge, math.nan)), math.nan)


@in_double
def kolmogorov(y: ndarray) -> ndarray:
    """Computes the complement of Kolmogorov's limit distribution: the probability of values above y."""
    low, high = _map("maximum", _map("minimum", y, 1.2), 0.05), _map("maximum", y, 1.2)
    q = _map("exp", -(math.pi * math.pi / 8.0) / (low * low))
    q8 = _map("power", q, 8.0)
    near = 1.0 - math.sqrt(2.0 * math.pi) / low * (q * (1.0 + q8 * (1.0 + q8 * q8 * (1.0 + q8 * q8 * q8))))
    w = _map("exp", high * high * -2.0)
    w3 = w * w * w
    far = 2.0 * w * (1.0 - w3 * (1.0 - w3 * w * w * (1.0 - w3 * w3 * w)))
    return where(isnan(y), math.nan, where(y <= 0.05, 1.0, where(y > 1.2, far, near)))
