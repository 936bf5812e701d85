"""The beta function, its logarithm and binomial coefficients, for arguments of every size and sign.

Everything is computed in float64. Where gamma would overflow, quotients of gamma functions use Stirling's series, so
that no large logarithms cancel; negative arguments are reflected to positive ones.
"""

from __future__ import annotations

import math

from cuprous import _core
from cuprous.scipy.special._composed import beta_at_poles, both, either, rgamma, where
from cuprous.scipy.special._function import in_double, ndarray
from cuprous.scipy.special._incomplete import log_beta, stirling

_map = _core.map
#: The greatest argument for which gamma and its reciprocal are normal numbers.
_MAX_GAMMA = 169.0


def _odd(x: ndarray) -> ndarray:
    """Returns true for odd integers."""
    return _map("absolute", _map("remainder", x, 2.0)) == 1.0


def _log_quotient(a: ndarray, b: ndarray) -> ndarray:
    """Computes log(gamma(a) / gamma(a + b)) for a > 0 and b > -a."""
    total = a + b
    return stirling(a) - stirling(total) + b - (a - 0.5) * _map("log1p", b / a) - b * _map("log", total)


def sine(x: ndarray, y: ndarray) -> ndarray:
    """Computes sin(pi (x - y)), exactly also for large arguments."""
    near_x, near_y = _map("rint", x), _map("rint", y)
    sine = _map("sin", math.pi * ((x - near_x) - (y - near_y)))
    return where(_odd(near_x) != _odd(near_y), -sine, sine)


def _parts(a: ndarray, b: ndarray) -> tuple[ndarray, ndarray]:
    """Returns log|B(a, b)| without a factor of moderate size, and that factor. No argument may be a pole."""
    larger = _map("absolute", a) >= _map("absolute", b)
    a, b = where(larger, a, b), where(larger, b, a)
    # B(a, b) = B(1 - a - b, b) sin(pi (a + b)) / sin(pi a)
    reflected = a < 0.0
    factor = where(reflected, sine(a, -b) / sine(where(a == _map("rint", a), 0.5, a), a * 0.0), 1.0)
    a = where(reflected, 1.0 - a - b, a)
    total, positive = a + b, b > 0.0
    inside = both(_map("logical_not", positive), total > 0.0)
    x, y = where(inside, a, 1.0), where(inside, b, -0.5)
    # For b near -a: gamma(b) = pi / (sin(pi b) gamma(1 - b))
    near = y < -0.5 * x
    quotient = _log_quotient(where(near, 1.0 - y, x), where(near, x + y - 1.0, y))
    mirrored = math.log(math.pi) - _map("log", _map("absolute", sine(y, y * 0.0))) - _map("gammaln", x + y) - quotient
    by_quotient = where(near, mirrored, quotient + _map("gammaln", y))
    # gamma(0) in the denominator
    by_quotient = where(total == 0.0, -math.inf, where(a == math.inf, math.inf, by_quotient))
    value = where(positive, log_beta(where(positive, a, 1.0), where(positive, b, 1.0)), by_quotient)
    sign = where(both(b < 0.0, _odd(_map("floor", b))), -factor, factor)
    return where(total != total, math.nan, value), sign


def _direct(a: ndarray, b: ndarray) -> tuple[ndarray, ndarray]:
    """Returns where no gamma function overflows, and B(a, b) as their quotient."""
    total = a + b
    small = both(*(_map("absolute", v) < _MAX_GAMMA for v in (a, b, total)))
    x, y, r = _map("gamma", where(small, a, 1.0)), _map("gamma", where(small, b, 1.0)), rgamma(where(small, total, 1.0))
    first, second = x * r, y * r
    nearer = _map("absolute", _map("absolute", first) - 1.0) <= _map("absolute", _map("absolute", second) - 1.0)
    value = where(nearer, first * y, second * x)
    return small, where(both(_map("isinf", x), r != 0.0), x, where(both(_map("isinf", y), r != 0.0), y, value))


def _beta(a: ndarray, b: ndarray) -> ndarray:
    small, direct = _direct(a, b)
    log, factor = _parts(a, b)
    return where(small, direct, where(factor == 0.0, 0.0, factor * _map("exp", log)))


def _betaln(a: ndarray, b: ndarray) -> ndarray:
    small, direct = _direct(a, b)
    log, factor = _parts(a, b)
    return where(small, _map("log", _map("absolute", direct)), log + _map("log", _map("absolute", factor)))


@in_double
def beta(a: ndarray, b: ndarray) -> ndarray:
    """Computes B(a, b) = gamma(a) gamma(b) / gamma(a + b)."""
    at, finite, sign, rest, other = beta_at_poles(a, b)
    a, b = where(at, where(finite, rest, 1.0), a), where(at, where(finite, other, 1.0), b)
    value = _beta(a, b)
    return where(at, sign * where(finite, value, math.inf), value)


@in_double
def betaln(a: ndarray, b: ndarray) -> ndarray:
    """Computes log|B(a, b)|."""
    at, finite, _, rest, other = beta_at_poles(a, b)
    a, b = where(at, where(finite, rest, 1.0), a), where(at, where(finite, other, 1.0), b)
    # Where gamma would overflow, both are at most 1: nothing cancels, and log B may be larger than B itself.
    return where(both(at, _map("logical_not", finite)), math.inf, _betaln(a, b))


def _product(n: ndarray, k: ndarray) -> ndarray:
    """Computes the binomial coefficient for k up to 19 as a quotient of products, which are exact below 2**53."""
    numerator = denominator = _core.full((), 1.0, "float64", like=n)
    for i in range(1, 20):
        there = float(i) <= k
        numerator = where(there, numerator * (n - (i - 1.0)), numerator)
        denominator = where(there, denominator * float(i), denominator)
        large = _map("absolute", numerator) > 1e50
        numerator = where(large, numerator / denominator, numerator)
        denominator = where(large, 1.0, denominator)
    return numerator / denominator


@in_double
def binom(n: ndarray, k: ndarray) -> ndarray:
    """Computes binomial coefficients by a product for small integers k, otherwise by the beta function; NaN for
    negative integers n."""
    whole_n, whole_k = n == _map("floor", n), k == _map("floor", k)
    size_n, size_k = _map("absolute", n), _map("absolute", k)
    chosen = where(both(whole_n, n > 0.0, k > n * 0.5), n - k, k)
    by_product = both(whole_k, chosen >= 0.0, chosen < 20.0)
    value = 1.0 / (n + 1.0) / beta(n - k + 1.0, k + 1.0)
    far = both(n >= 1e10 * k, k > 0.0)
    value = where(far, _map("exp", -betaln(n - k + 1.0, k + 1.0) - _map("log", n + 1.0)), value)
    # k much larger than n, where n - k + 1 would lose digits of n:
    # gamma(n + 1) gamma(k - n) / gamma(k + 1) sin(pi (k - n)) / pi, or the same for n - k instead of k
    beyond = either(both(size_k > 200.0, size_n < 100.0), both(size_k >= 20.0, size_n < 1e-8))
    right = k > 0.0
    safe, z = where(beyond, n, 1.0), where(beyond, where(right, k + 1.0, -k), 300.0)
    quotient = _log_quotient(z, where(right, -1.0 - safe, safe + 1.0))
    root = _map("exp", where(right, -0.5, 0.5) * quotient)
    quotient = root * _map("gamma", safe + 1.0) * root
    value = where(beyond, quotient * sine(where(right, k, 0.0), where(right, n, k)) / math.pi, value)
    value = where(by_product, _product(where(by_product, n, 1.0), where(by_product, chosen, 1.0)), value)
    rounded = both(whole_n, whole_k, _map("absolute", value) < 2.0**51)
    value = where(rounded, _map("rint", value), value)
    outside = both(whole_k, either(k < 0.0, both(whole_n, n >= 0.0, k > n)))
    value = where(outside, 0.0, value)
    return where(either(both(n < 0.0, whole_n), n != n), math.nan, value)
