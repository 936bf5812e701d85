"""Bessel functions of orders 0 and 1, without tables: the trapezoidal rule for their integrals, and asymptotic
expansions for large arguments.

The integrands are periodic or Gaussian, so the rule's error decays exponentially with the number of points (L. N.
Trefethen and J. A. C. Weideman, SIAM Review 56 (2014)); all sums fuse into one kernel. Equation numbers are those of
the NIST Digital Library of Mathematical Functions (DLMF). Errors in float64: at most 4e-16 of the function's envelope
for j0, j1, y0 and y1 (near their zeros an absolute error), and of the function itself for the others.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from functools import partial, reduce
from typing import Any

from cuprous import _core
from cuprous.scipy.special._composed import where
from cuprous.scipy.special._function import ndarray
from cuprous.scipy.special._normal import polynomial

_map = _core.map
_GAMMA = 0.57721566490153286061
#: The number of points in a quadrant, and the arguments from which the expansions (DLMF 10.17.3, 10.40.1) are exact to
#: rounding.
_POINTS, _FAR, _FAR_MODIFIED = 16, 25.0, 50.0
_SINES = [math.sin((j + 0.5) * math.pi / (2 * _POINTS)) for j in range(_POINTS)]
#: The number of points for the second kind, whose series has terms up to order 62: twice as many, to avoid aliasing.
_MANY = 2 * _POINTS
_MANY_SINES = [math.sin((j + 0.5) * math.pi / (2 * _MANY)) for j in range(_MANY)]
#: Sums over k of (-1)**k cos(2 k angle) / k, the weights of Neumann's expansion of y0 (DLMF 10.23.17 and 10.8.3).
_NEUMANN = [
    math.fsum((-1) ** k * math.cos(2 * k * (j + 0.5) * math.pi / (2 * _MANY)) / k for k in range(1, _MANY))
    for j in range(_MANY)
]


def _sum(terms: Iterable[ndarray]) -> ndarray:
    return reduce(operator.add, terms)


def _hankel(order: int, terms: int) -> list[float]:
    """Returns the coefficients a_k of DLMF 10.17.1."""
    values = [1.0]
    for k in range(1, terms):
        values.append(values[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8.0 * k))
    return values


def _far(order: int, x: ndarray, second: bool) -> ndarray:
    """Computes J (or, if `second`, Y) for x >= 25. The phase x - (2 order + 1) pi / 4 is expanded by addition theorems,
    so that it is not rounded."""
    a = _hankel(order, 18)
    z = 1.0 / x
    square = z * z
    p = polynomial(square, tuple(v * (-1) ** k for k, v in enumerate(a[0::2]))[::-1])
    q = z * polynomial(square, tuple(v * (-1) ** k for k, v in enumerate(a[1::2]))[::-1])
    cos, sin = _map("cos", x), _map("sin", x)
    c, s = (cos + sin, sin - cos) if order == 0 else (sin - cos, -(cos + sin))
    wave = s * p + c * q if second else c * p - s * q
    return wave * _map("sqrt", z * (1.0 / math.pi))


def _split(x: ndarray, limit: float) -> tuple[ndarray, ndarray]:
    return _map("minimum", x, limit), _map("maximum", x, limit)


def j0(x: ndarray) -> ndarray:
    """Computes the mean of cos(x sin(angle)) (DLMF 10.9.1)."""
    x = _map("absolute", x)
    low, high = _split(x, _FAR)
    near = _sum(_map("cos", low * s) for s in _SINES) * (1.0 / _POINTS)
    return where(x == math.inf, 0.0, where(x > _FAR, _far(0, high, False), near))


def j1(x: ndarray) -> ndarray:
    """Computes the mean of sin(angle) sin(x sin(angle)), which is minus the derivative of j0."""
    a = _map("absolute", x)
    low, high = _split(a, _FAR)
    near = _sum(_map("sin", low * s) * s for s in _SINES) * (1.0 / _POINTS)
    value = where(a == math.inf, 0.0, where(a > _FAR, _far(1, high, False), near))
    return where(x < 0.0, -value, value)


def _of_second_kind(x: ndarray, near: ndarray, order: int, high: ndarray) -> ndarray:
    value = where(x > _FAR, _far(order, high, True), near)
    value = where(x == math.inf, 0.0, where(x == 0.0, -math.inf, value))
    return where(x < 0.0, math.nan, value)


def _logarithm(low: ndarray) -> ndarray:
    return _map("log", low * 0.5) + _GAMMA


def y0(x: ndarray) -> ndarray:
    """Computes 2/pi (log(x/2) + Euler's constant) j0(x) minus a Neumann series whose terms share j0's cosines."""
    low, high = _split(x, _FAR)
    waves = [_map("cos", low * s) for s in _MANY_SINES]
    first = _sum(waves) * (1.0 / _MANY)
    rest = _sum(w * c for w, c in zip(waves, _NEUMANN, strict=True)) * (2.0 / _MANY)
    return _of_second_kind(x, (2.0 / math.pi) * (_logarithm(low) * first - rest), 0, high)


def y1(x: ndarray) -> ndarray:
    """Computes minus the derivative of y0."""
    low, high = _split(x, _FAR)
    zeroth = _sum(_map("cos", low * s) for s in _MANY_SINES) * (1.0 / _MANY)
    waves = [_map("sin", low * s) * s for s in _MANY_SINES]
    first = _sum(waves) * (1.0 / _MANY)
    rest = _sum(w * c for w, c in zip(waves, _NEUMANN, strict=True)) * (2.0 / _MANY)
    near = (2.0 / math.pi) * (_logarithm(low) * first - rest - zeroth / low)
    return _of_second_kind(x, near, 1, high)


def _i1_far(x: ndarray) -> ndarray:
    """Computes exp(-x) i1(x) for x >= 50."""
    coefficients = tuple(v * (-1) ** k for k, v in enumerate(_hankel(1, 14)))
    return polynomial(1.0 / x, coefficients[::-1]) / _map("sqrt", x * (2.0 * math.pi))


def _i1(a: ndarray) -> ndarray:
    """Computes the mean of cos(angle) sinh(a cos(angle)) (DLMF 10.32.3), for 0 <= a <= 50."""
    return _sum(_map("sinh", a * s) * s for s in _SINES) * (1.0 / _POINTS)


def i1e(x: ndarray) -> ndarray:
    """Computes exp(-|x|) i1(x)."""
    a = _map("absolute", x)
    low, high = _split(a, _FAR_MODIFIED)
    value = where(a > _FAR_MODIFIED, _i1_far(high), _i1(low) * _map("exp", -low))
    value = where(a == math.inf, 0.0, value)
    return where(x < 0.0, -value, value)


def i1(x: ndarray) -> ndarray:
    """Computes i1, for large |x| by i1e. The exponential is split into two square roots, so that it overflows only
    where the result does."""
    a = _map("absolute", x)
    low, high = _split(a, _FAR_MODIFIED)
    half = _map("exp", high * 0.5)
    value = where(a > _FAR_MODIFIED, _i1_far(high) * half * half, _i1(low))
    value = where(a == math.inf, math.inf, value)
    return where(x < 0.0, -value, value)


def _k_far(order: int, x: ndarray) -> ndarray:
    """Computes exp(x) k(x) for x >= 2: the integral over t of exp(-x (cosh t - 1)) cosh(order t) (DLMF 10.32.9), a
    Gaussian in sqrt(2 x) sinh(t / 2)."""
    step = 0.32
    inverse = 1.0 / x
    total: Any = 0.5
    for k in range(1, 20):
        v = (k * step) ** 2
        root = _map("sqrt", inverse * (0.5 * v) + 1.0)
        weight = math.exp(-v)
        total = total + (weight / root if order == 0 else (inverse * v + 1.0) * weight / root)
    return total * _map("sqrt", inverse * 2.0) * step


def _k_near(order: int, x: ndarray) -> ndarray:
    """Computes k for 0 < x <= 2 by power series in x²/4 (DLMF 10.31.1 and 10.31.2)."""
    q = x * x * 0.25
    logarithm = _map("log", x * 0.5) + _GAMMA
    harmonic, factor, plain, sums = 0.0, 1.0, [1.0], [0.0]
    for k in range(1, 16):
        factor /= k * (k + order)
        plain.append(factor)
        harmonic += 1.0 / k
        sums.append(factor * (harmonic + (0.5 / (k + 1) if order else 0.0)))
    if order == 0:
        return polynomial(q, tuple(sums[::-1])) - logarithm * polynomial(q, tuple(plain[::-1]))
    sums[0] = 0.5
    series = logarithm * polynomial(q, tuple(plain[::-1])) - polynomial(q, tuple(sums[::-1]))
    return 1.0 / x + x * 0.5 * series


def _k(order: int, scaled: bool, x: ndarray) -> ndarray:
    """Computes the modified Bessel function of the second kind, multiplied by exp(x) if `scaled`."""
    low, high = _split(x, 2.0)
    near, far = _k_near(order, low), _k_far(order, high)
    if scaled:
        near = near * _map("exp", low)
    else:
        far = far * _map("exp", -high)
    value = where(x > 2.0, far, near)
    value = where(x == 0.0, math.inf, where(x == math.inf, 0.0, value))
    return where(x < 0.0, math.nan, value)


k0, k0e, k1, k1e = (partial(_k, order, scaled) for order in (0, 1) for scaled in (False, True))
