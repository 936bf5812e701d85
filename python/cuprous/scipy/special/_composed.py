"""Functions composed of native ones. Operands have one float dtype; all but one may be Python floats."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous.scipy.special._function import ndarray
from cuprous.scipy.special._normal import polynomial

_map = _core.map
_INF, _NAN = math.inf, math.nan


def where(condition: Any, a: Any, b: Any) -> ndarray:
    """`a` where the condition holds, else `b`."""
    return _map("where", condition, a, b)


def both(a: Any, b: Any) -> ndarray:
    """Logical and."""
    return _map("logical_and", a, b)


def isnan(a: Any) -> Any:
    """True for NaN."""
    return a != a


def loggamma(x: ndarray) -> ndarray:
    """On the real axis: gammaln, but NaN for x < 0, where the principal branch is not real."""
    return where(x < 0.0, _NAN, _map("gammaln", x))


def rgamma(x: ndarray) -> ndarray:
    """0 at the poles."""
    pole = both(x <= 0.0, _map("floor", x) == x)
    return where(pole, 0.0, 1.0 / _map("gamma", where(pole, 1.0, x)))


def logit(p: ndarray) -> ndarray:
    """Around 1/2 by log1p of s = 2p - 1, so that no digits cancel."""
    s = p * 2.0 - 1.0
    near = _map("log1p", s) - _map("log1p", -s)
    return where(both(p > 0.3, p < 0.65), near, _map("log", p / (1.0 - p)))


def log_expit(x: ndarray) -> ndarray:
    """min(x, 0) - log1p(exp(-|x|))."""
    return _map("minimum", x, 0.0) - _map("log1p", _map("exp", -_map("absolute", x)))


def i0e(x: ndarray) -> ndarray:
    """exp(-|x|) i0(x); from |x| = 50 on the asymptotic series (DLMF 10.40.1)."""
    a = _map("absolute", x)
    large = _map("maximum", a, 50.0)
    coefficients = [1.0]
    for k in range(1, 12):
        coefficients.append(coefficients[-1] * (2 * k - 1) ** 2 / (8.0 * k))
    series = polynomial(1.0 / large, tuple(reversed(coefficients))) / _map("sqrt", large * (2.0 * math.pi))
    small = _map("minimum", a, 50.0)
    direct = _map("exp", -small) * _map("i0", small)
    return where(a > 50.0, series, where(isnan(x), x, direct))


def betaln(a: Any, b: Any) -> ndarray:
    """The logarithm of |beta(a, b)|."""
    return _map("gammaln", a) + _map("gammaln", b) - _map("gammaln", a + b)


def is_pole(x: Any) -> Any:
    """Where gamma has no value."""
    return both(x <= 0.0, x == _floor(x))


def beta_at_poles(a: Any, b: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Where one of the numbers is a pole of gamma: whether it is, and whether the beta function is there `sign` times
    that of the two numbers, which are positive; otherwise it is `sign` times infinity (as Cephes has it)."""
    first = is_pole(a)
    pole, other = where(first, a, b), where(first, b, a)
    rest = 1.0 - pole - other
    integral = both(other == _floor(other), rest > 0.0)
    there = both(integral, other > 0.0)
    sign = where(both(integral, _map("remainder", other, 2.0) == 1.0), -1.0, _core.full((), 1.0, rest.dtype_name))
    at = _map("logical_or", first, is_pole(b))
    return at, both(at, there), sign, where(there, rest, 1.0), where(there, other, 1.0)


def beta(a: Any, b: Any) -> ndarray:
    """By gamma where that does not overflow, otherwise by its logarithm (positive arguments)."""
    a, b = _as(a, b), _as(b, a)
    at, finite, sign, rest, other = beta_at_poles(a, b)
    return where(at, sign * where(finite, _beta(rest, other), math.inf), _beta(a, b))


def _beta(a: Any, b: Any) -> ndarray:
    s = a + b
    limit = 160.0 if s.dtype_name == "float64" else 32.0
    small = both(both(_map("absolute", s) < limit, _absolute(a) < limit), _absolute(b) < limit)
    direct = _map("gamma", a) * rgamma(s) * _map("gamma", b)
    return where(small, direct, _map("exp", betaln(a, b)))


def _absolute(x: Any) -> Any:
    return _map("absolute", x) if isinstance(x, ndarray) else abs(x)


def _floor(x: Any) -> Any:
    return _map("floor", x) if isinstance(x, ndarray) else float(math.floor(x)) if math.isfinite(x) else x


def binom(n: Any, k: Any) -> ndarray:
    """1 / ((n + 1) beta(n - k + 1, k + 1)), rounded where both are integers and the result is below 2**51 or 2**22;
    NaN for negative integers n."""
    integral_k = k == _floor(k)
    whole = _map("logical_and", n == _floor(n), integral_k)
    limit = 2.0**51 if (n + k).dtype_name == "float64" else 2.0**22
    # terms of a product would be exact for small k, but their number would depend on the data
    value = 1.0 / ((n + 1.0) * beta(n - k + 1.0, k + 1.0))
    value = where(_map("logical_and", whole, _map("absolute", value) < limit), _map("rint", value), value)
    outside = both(_map("logical_and", integral_k, n >= 0.0), _map("logical_or", k < 0.0, both(whole, k > n)))
    value = where(outside, 0.0, value)
    return where(both(n < 0.0, n == _floor(n)), math.nan, value)


def xlogy(x: Any, y: Any) -> ndarray:
    """0 where x = 0, unless y is NaN."""
    zero = both(x == 0.0, _map("logical_not", _isnan(y)))
    return where(zero, 0.0, x * _map("log", _as(y, x)))


def xlog1py(x: Any, y: Any) -> ndarray:
    """0 where x = 0, unless y is NaN."""
    zero = both(x == 0.0, _map("logical_not", _isnan(y)))
    return where(zero, 0.0, x * _map("log1p", _as(y, x)))


def _isnan(x: Any) -> Any:
    return _map("isnan", x) if isinstance(x, ndarray) else x != x


def _as(x: Any, like: Any) -> Any:
    """A scalar as an array of the other operand's dtype."""
    return x if isinstance(x, ndarray) else _core.full((), x, like.dtype_name)


def entr(x: ndarray) -> ndarray:
    """-x log x; 0 at 0 and -inf below."""
    return where(x > 0.0, -x * _map("log", x), where(x < 0.0, -_INF, where(isnan(x), x, 0.0)))


def rel_entr(x: Any, y: Any) -> ndarray:
    """x log(x / y); 0 for x = 0 and y >= 0, otherwise inf outside of x, y > 0."""
    inside = both(x > 0.0, y > 0.0)
    ratio = x / y
    value = where(inside, x * _map("log", ratio), _INF)
    value = where(both(x == 0.0, y >= 0.0), 0.0, value)
    return where(_map("logical_or", _isnan(x), _isnan(y)), _NAN, value)


def kl_div(x: Any, y: Any) -> ndarray:
    """rel_entr(x, y) - x + y, inf where that is."""
    value = rel_entr(x, y)
    return where(value == _INF, _INF, value - x + y)


def huber(delta: Any, r: Any) -> ndarray:
    """r²/2 up to |r| = delta, linear beyond; inf for negative delta."""
    a = _absolute(r)
    value = where(a <= delta, 0.5 * r * r + delta * 0.0, delta * (a - 0.5 * delta))
    return where(delta < 0.0, _INF, value)


def pseudo_huber(delta: Any, r: Any) -> ndarray:
    """delta² (sqrt(1 + (r / delta)²) - 1), as delta² u / (sqrt(1 + u) + 1) with u = (r / delta)²."""
    u = r / where(delta == 0.0, 1.0, _as(delta, r))
    u = u * u
    value = delta * delta * (u / (_map("sqrt", u + 1.0) + 1.0))
    return where(delta < 0.0, _INF, where(_map("logical_or", delta == 0.0, r == 0.0), 0.0, value))


def radian(d: Any, m: Any, s: Any) -> ndarray:
    """Degrees, minutes and seconds of arc in radians."""
    return ((s / 60.0 + m) / 60.0 + d) * (math.pi / 180.0)


def exp10(x: ndarray) -> ndarray:
    """10**x."""
    return _map("power", 10.0, x)


def exprel(x: ndarray) -> ndarray:
    """(exp(x) - 1) / x; 1 at 0."""
    return where(x == 0.0, 1.0, where(x == _INF, _INF, _map("expm1", x) / x))


def boxcox(x: Any, lmbda: Any) -> ndarray:
    """(x**lmbda - 1) / lmbda; log(x) for lmbda = 0."""
    log = _map("log", _as(x, lmbda))
    return where(lmbda == 0.0, log, _map("expm1", log * lmbda) / where(lmbda == 0.0, 1.0, _as(lmbda, x)))


def inv_boxcox(y: Any, lmbda: Any) -> ndarray:
    """(1 + lmbda y)**(1 / lmbda); exp(y) for lmbda = 0."""
    safe = where(lmbda == 0.0, 1.0, _as(lmbda, y))
    return where(lmbda == 0.0, _map("exp", _as(y, lmbda)), _map("exp", _map("log1p", safe * y) / safe))
