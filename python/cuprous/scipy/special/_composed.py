"""Functions composed of native ones. Operands share one float dtype; all but one may be Python floats."""

from __future__ import annotations

import math
from functools import partial, reduce
from typing import Any

from cuprous import _core
from cuprous.scipy.special._function import in_double, ndarray
from cuprous.scipy.special._normal import polynomial

_map = _core.map
_INF, _NAN = math.inf, math.nan


def where(condition: Any, a: Any, b: Any) -> ndarray:
    """Returns `a` where the condition holds, else `b`."""
    return _map("where", condition, a, b)


def both(*conditions: Any) -> ndarray:
    """Returns the logical and."""
    return reduce(lambda a, b: _map("logical_and", a, b), conditions)


def either(*conditions: Any) -> ndarray:
    """Returns the logical or."""
    return reduce(lambda a, b: _map("logical_or", a, b), conditions)


def isnan(a: Any) -> Any:
    """Returns true for NaN."""
    return a != a


def loggamma(x: ndarray) -> ndarray:
    """Computes gammaln, but NaN for x < 0, where the principal branch is not real."""
    return where(x < 0.0, _NAN, _map("gammaln", x))


def rgamma(x: ndarray) -> ndarray:
    """Computes 1 / gamma(x), which is 0 at the poles."""
    pole = both(x <= 0.0, _map("floor", x) == x)
    return where(pole, 0.0, 1.0 / _map("gamma", where(pole, 1.0, x)))


def logit(p: ndarray) -> ndarray:
    """Computes log(p / (1 - p)); around 1/2 by log1p of s = 2p - 1, so that no digits cancel."""
    s = p * 2.0 - 1.0
    near = _map("log1p", s) - _map("log1p", -s)
    return where(both(p > 0.3, p < 0.65), near, _map("log", p / (1.0 - p)))


def log_expit(x: ndarray) -> ndarray:
    """Computes min(x, 0) - log1p(exp(-|x|))."""
    return _map("minimum", x, 0.0) - _map("log1p", _map("exp", -_map("absolute", x)))


def i0e(x: ndarray) -> ndarray:
    """Computes exp(-|x|) i0(x); from |x| = 50 by the asymptotic series (DLMF 10.40.1)."""
    a = _map("absolute", x)
    large = _map("maximum", a, 50.0)
    coefficients = [1.0]
    for k in range(1, 12):
        coefficients.append(coefficients[-1] * (2 * k - 1) ** 2 / (8.0 * k))
    series = polynomial(1.0 / large, tuple(reversed(coefficients))) / _map("sqrt", large * (2.0 * math.pi))
    small = _map("minimum", a, 50.0)
    direct = _map("exp", -small) * _map("i0", small)
    return where(a > 50.0, series, where(isnan(x), x, direct))


def is_pole(x: Any) -> Any:
    """Returns true at the poles of gamma."""
    return both(x <= 0.0, x == _floor(x))


def beta_at_poles(a: Any, b: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Handles beta functions with one argument at a pole of gamma. Returns the poles; where the value is finite; its
    sign; and two positive arguments whose beta function times the sign is the value. Elsewhere at poles the value is
    the sign times infinity, as in Cephes."""
    first = is_pole(a)
    pole, other = where(first, a, b), where(first, b, a)
    rest = 1.0 - pole - other
    integral = both(other == _floor(other), rest > 0.0)
    there = both(integral, other > 0.0)
    sign = where(
        both(integral, _map("remainder", other, 2.0) == 1.0), -1.0, _core.full((), 1.0, rest.dtype_name, like=rest)
    )
    at = either(first, is_pole(b))
    return at, both(at, there), sign, where(there, rest, 1.0), where(there, other, 1.0)


def _floor(x: Any) -> Any:
    return _map("floor", x) if isinstance(x, ndarray) else float(math.floor(x)) if math.isfinite(x) else x


def _x_log(logarithm: str, x: Any, y: Any) -> ndarray:
    """Computes x times the logarithm of y, with 0 for x = 0 unless y is NaN."""
    return where(both(x == 0.0, y == y), 0.0, x * _map(logarithm, _as(y, x)))


xlogy, xlog1py = (partial(_x_log, logarithm) for logarithm in ("log", "log1p"))


def _as(x: Any, like: Any) -> Any:
    """Converts a scalar to an array of the other operand's dtype, on its device."""
    return x if isinstance(x, ndarray) else _core.full((), x, like.dtype_name, like=like)


def entr(x: ndarray) -> ndarray:
    """Computes -x log x, with 0 at 0 and -inf for negative x."""
    return where(x > 0.0, -x * _map("log", x), where(x < 0.0, -_INF, where(isnan(x), x, 0.0)))


def rel_entr(x: Any, y: Any) -> ndarray:
    """Computes x log(x / y), with 0 for x = 0 and y >= 0, and inf elsewhere outside of x, y > 0."""
    x, y = _as(x, y), _as(y, x)
    inside = both(x > 0.0, y > 0.0)
    ratio = x / y
    # If the quotient overflows or is subnormal, use the difference of the logarithms.
    least = 1e-290 if ratio.dtype_name == "float64" else 1e-30
    log = where(both(ratio > least, ratio < _INF), _map("log", ratio), _map("log", x) - _map("log", y))
    value = where(inside, x * log, _INF)
    value = where(both(x == 0.0, y >= 0.0), 0.0, value)
    return where(either(isnan(x), isnan(y)), _NAN, value)


@in_double
def kl_div(x: ndarray, y: ndarray) -> ndarray:
    """Computes rel_entr(x, y) - x + y, with inf where rel_entr is inf."""
    value = rel_entr(x, y)
    return where(value == _INF, _INF, value - x + y)


def huber(delta: Any, r: Any) -> ndarray:
    """Computes r²/2 up to |r| = delta, linear beyond; inf for negative delta."""
    delta, r = _as(delta, r), _as(r, delta)
    a = _map("absolute", r)
    value = where(a <= delta, 0.5 * r * r, delta * (a - 0.5 * delta))
    value = where(either(isnan(delta), isnan(r)), _NAN, value)
    return where(delta < 0.0, _INF, value)


def pseudo_huber(delta: Any, r: Any) -> ndarray:
    """Computes delta² (sqrt(1 + v²) - 1) with v = |r| / delta: for v < 1 as r² / (sqrt(1 + v²) + 1), which avoids
    cancellation, otherwise as delta |r| v / (sqrt(1 + v²) + 1), which avoids overflow of the square."""
    delta, r = _as(delta, r), _as(r, delta)
    a = _map("absolute", r)
    v = a / where(delta == 0.0, 1.0, delta)
    root = _map("hypot", v, 1.0) + 1.0
    value = where(v < 1.0, a * a / root, delta * a * where(root == _INF, 1.0, v / root))
    return where(delta < 0.0, _INF, where(either(delta == 0.0, r == 0.0), 0.0, value))


def radian(d: Any, m: Any, s: Any) -> ndarray:
    """Converts degrees, minutes and seconds of arc to radians."""
    return ((s / 60.0 + m) / 60.0 + d) * (math.pi / 180.0)


def exp10(x: ndarray) -> ndarray:
    """Computes 10**x."""
    return _map("power", 10.0, x)


def _boxcox(logarithm: str, x: ndarray, lmbda: ndarray) -> ndarray:
    """Computes (x**lmbda - 1) / lmbda, with log(x) for lmbda = 0; of 1 + x with log1p."""
    log = _map(logarithm, x)
    return where(lmbda == 0.0, log, _map("expm1", log * lmbda) / where(lmbda == 0.0, 1.0, lmbda))


boxcox, boxcox1p = (in_double(partial(_boxcox, logarithm)) for logarithm in ("log", "log1p"))


def _log_power(y: ndarray, lmbda: ndarray) -> ndarray:
    """Computes log(1 + lmbda y) / lmbda, also where the product overflows, with y for lmbda = 0."""
    safe = where(lmbda == 0.0, 1.0, lmbda)
    product = safe * y
    apart = _map("log", _map("absolute", safe)) + _map("log", _map("absolute", y))
    return where(lmbda == 0.0, y, where(product < _INF, _map("log1p", product), apart) / safe)


#: (1 + lmbda y)**(1 / lmbda), with exp(y) for lmbda = 0, and the same minus 1.
inv_boxcox = in_double(lambda y, lmbda: _map("exp", _log_power(y, lmbda)))
inv_boxcox1p = in_double(lambda y, lmbda: _map("expm1", _log_power(y, lmbda)))
