"""The quantile of the normal distribution, the logarithm of its distribution function, and related functions."""

from __future__ import annotations

import math

from cuprous import _core
from cuprous.scipy.special._function import ndarray

_map = _core.map

# Rational approximations of the quantile, highest power first, from Cephes' ndtri.c (S. L. Moshier, 1989).
_P0 = (-5.99633501014107895267e1, 9.80010754185999661536e1, -5.66762857469070293439e1, 1.39312609387279679503e1,
       -1.23916583867381258016e0)  # fmt: skip
_Q0 = (1.0, 1.95448858338141759834e0, 4.67627912898881538453e0, 8.63602421390890590575e1, -2.25462687854119370527e2,
       2.00260212380060660359e2, -8.20372256168333339912e1, 1.59056225126211695515e1,
       -1.18331621121330003142e0)  # fmt: skip
_P1 = (4.05544892305962419923e0, 3.15251094599893866154e1, 5.71628192246421288162e1, 4.40805073893200834700e1,
       1.46849561928858024014e1, 2.18663306850790267539e0, -1.40256079171354495875e-1, -3.50424626827848203418e-2,
       -8.57456785154685413611e-4)  # fmt: skip
_Q1 = (1.0, 1.57799883256466749731e1, 4.53907635128879210584e1, 4.13172038254672030440e1, 1.50425385692907503408e1,
       2.50464946208309415979e0, -1.42182922854787788574e-1, -3.80806407691578277194e-2,
       -9.33259480895457427372e-4)  # fmt: skip
_P2 = (3.23774891776946035970e0, 6.91522889068984211695e0, 3.93881025292474443415e0, 1.33303460815807542389e0,
       2.01485389549179081538e-1, 1.23716634817820021358e-2, 3.01581553508235416007e-4, 2.65806974686737550832e-6,
       6.23974539184983293730e-9)  # fmt: skip
_Q2 = (1.0, 6.02427039364742014255e0, 3.67983563856160859403e0, 1.37702099489081330271e0, 2.16236993594496635890e-1,
       1.34204006088543189037e-2, 3.28014464682127739104e-4, 2.89247864745380683936e-6,
       6.79019408009981274425e-9)  # fmt: skip


def polynomial(x: ndarray, coefficients: tuple[float, ...]) -> ndarray:
    """Evaluates a polynomial by Horner's rule, highest power first."""
    first, second, *rest = coefficients
    value = (x if first == 1.0 else x * first) + second
    for c in rest:
        value = value * x + c
    return value


def ndtri(p: ndarray) -> ndarray:
    """Computes x with ndtr(x) = p: by a rational function of (p - 1/2)² near the middle, of 1 / sqrt(-2 log p) in the
    tails."""
    upper = p > 1.0 - math.exp(-2.0)
    y = _map("where", upper, 1.0 - p, p)
    return _quantile(y, upper)


def _quantile(y: ndarray, upper: ndarray) -> ndarray:
    """Computes the quantile of `y`, or of 1 - y where `upper` holds."""
    center = y - 0.5
    square = center * center
    middle = center + center * (square * polynomial(square, _P0) / polynomial(square, _Q0))
    middle = middle * math.sqrt(2.0 * math.pi)
    x = _map("sqrt", _map("log", y) * -2.0)
    z = 1.0 / x
    near = z * polynomial(z, _P1) / polynomial(z, _Q1)
    far = z * polynomial(z, _P2) / polynomial(z, _Q2)
    tail = x - _map("log", x) / x - _map("where", x < 8.0, near, far)
    tail = _map("where", upper, tail, -tail)
    result = _map("where", y > math.exp(-2.0), middle, tail)
    zero = y == 0.0
    result = _map("where", zero, -math.inf, result)
    result = _map("where", _map("logical_and", zero, upper), math.inf, result)
    return _map("where", _map("logical_or", y < 0.0, y > 1.0), math.nan, result)


def erfcinv(y: ndarray) -> ndarray:
    """Computes x with erfc(x) = y. Not as erfinv(1 - y), which would lose small `y`."""
    half = y * 0.5
    upper = half > 1.0 - math.exp(-2.0)
    return _quantile(_map("where", upper, 1.0 - half, half), upper) * -math.sqrt(0.5)


def log_ndtr(x: ndarray) -> ndarray:
    """Computes log(ndtr(x)): by erfc, and where that underflows by its asymptotic series."""
    threshold = -20.0 if x.dtype_name == "float64" else -10.0
    tail = 0.5 * _map("erfc", x * -math.sqrt(0.5))
    direct = _map("where", x > 0.0, _map("log1p", -0.5 * _map("erfc", x * math.sqrt(0.5))), _map("log", tail))
    low = _map("minimum", x, threshold)
    w = -1.0 / (low * low)
    term, coefficients = 1.0, []
    for k in range(1, 12):
        term *= 2 * k - 1
        coefficients.append(term)
    series = _map("log1p", w * polynomial(w, tuple(reversed(coefficients))))
    far = low * -0.5 * low - _map("log", -low) - 0.5 * math.log(2.0 * math.pi) + series
    return _map("where", x < threshold, far, direct)
