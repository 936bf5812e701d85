"""Exponential, sine, cosine and Fresnel integrals: Gauss-Legendre quadrature, power series near 0 and asymptotic series
for large arguments. Computed in float64 with errors of at most 1e-14 of the value, or of 1 near zeros."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from cuprous import _core
from cuprous.scipy.special._composed import both, either, isnan, where
from cuprous.scipy.special._function import in_double, ndarray
from cuprous.scipy.special._incomplete import area, averaged, least
from cuprous.scipy.special._normal import polynomial

_map = _core.map
_GAMMA = 0.57721566490153286061


def _quotients(count: int, sign: float) -> tuple[float, ...]:
    """Returns sign**k / (k k!), for k from `count` down to 1, then 0."""
    return (*(sign**k / (k * math.factorial(k)) for k in range(count, 0, -1)), 0.0)


def _first(x: ndarray) -> ndarray:
    """Computes E1 for x <= 1 by its power series (DLMF 6.6.2)."""
    return -_GAMMA - _map("log", x) - polynomial(x, _quotients(18, -1.0))


def _scaled(n: ndarray, x: ndarray) -> ndarray:
    """Computes exp(x) E_n(x) for x >= 1, or n >= 6: the integral over s >= 0 of exp(-x expm1(s) - (n - 1) s)."""
    rest = n - 1.0
    width = least(38.0 / (x + rest), _map("log1p", 38.0 / x))
    return area(
        lambda s, v, r: -v * _map("expm1", s) - r * s, lambda s, v, r: -v * _map("exp", s) - r, width, 3, x, rest
    )


@in_double
def expn(n: ndarray, x: ndarray) -> ndarray:
    """Computes E_n(x), the integral over t > 1 of exp(-x t) / t**n, for integers n >= 0; for x < 1 by recurrence from
    E1 upward."""
    inside = both(x > 0.0, n >= 0.0)
    safe, order = where(inside, x, 1.0), _map("maximum", _map("floor", n), 0.0)
    decay = _map("exp", -safe)
    far = where(order >= 6.0, order, where(safe >= 1.0, order, 6.0))
    value = decay * _scaled(far, safe)
    term = _first(_map("minimum", safe, 1.0))
    near: Any = term
    for k in range(1, 5):
        term = (decay - safe * term) / float(k)
        near = where(order == k + 1.0, term, near)
    value = where(both(safe < 1.0, order >= 1.0, order < 6.0), near, value)
    value = where(order == 0.0, decay / safe, value)
    value = where(x == math.inf, 0.0, value)
    value = where(x == 0.0, where(order <= 1.0, math.inf, 1.0 / where(order <= 1.0, 1.0, order - 1.0)), value)
    return where(either(n < 0.0, x < 0.0, isnan(n + x)), math.nan, value)


def _exp1(x: ndarray) -> ndarray:
    low, high = _map("minimum", x, 1.0), _map("maximum", x, 1.0)
    high = _map("minimum", high, 800.0)
    far = _scaled(high * 0.0 + 1.0, high) * _map("exp", -high)
    value = where(x > 1.0, far, _first(low))
    return where(x == 0.0, math.inf, where(x == math.inf, 0.0, value))


@in_double
def exp1(x: ndarray) -> ndarray:
    """Computes E1, the integral over t > x of exp(-t) / t; NaN for x < 0, where it is complex."""
    return where(x < 0.0, math.nan, _exp1(x))


@in_double
def expi(x: ndarray) -> ndarray:
    """Computes Ei: -E1(-x) for x < 0, a power series up to 40, and an asymptotic series beyond (DLMF 6.12.2)."""
    negative = -_exp1(_map("maximum", -x, 0.0))
    low = _map("maximum", _map("minimum", x, 40.0), 1e-300)
    near = _GAMMA + _map("log", low) + polynomial(low, _quotients(125, 1.0))
    inverse = 1.0 / _map("maximum", x, 40.0)
    far = polynomial(inverse, tuple(float(math.factorial(k)) for k in range(38, -1, -1))) * inverse
    half = _map("exp", x * 0.5)
    value = where(x > 40.0, far * half * half, near)
    value = where(x == math.inf, math.inf, where(x == 0.0, -math.inf, value))
    return where(isnan(x), x, where(x < 0.0, negative, value))


def _auxiliary(x: ndarray) -> tuple[ndarray, ndarray]:
    """Returns f and g of DLMF 6.12.3 and 6.12.4, for x >= 30."""
    inverse = 1.0 / x
    square = inverse * inverse
    f = tuple((-1.0) ** k * math.factorial(2 * k) for k in range(12, -1, -1))
    g = tuple((-1.0) ** k * math.factorial(2 * k + 1) for k in range(12, -1, -1))
    return inverse * polynomial(square, f), square * polynomial(square, g)


def _sici(cosine: bool, x: ndarray) -> ndarray:
    """Computes the integral of sin(t) / t from 0 to x, or the cosine integral of |x|, which for x < 0 is the real
    part."""
    a = _map("absolute", x)
    low, high = _map("minimum", a, 30.0), _map("minimum", _map("maximum", a, 30.0), 1e300)
    f, g = _auxiliary(high)
    sin, cos = _map("sin", high), _map("cos", high)
    if cosine:
        near = averaged(lambda t, v: _map("square", _map("sin", v * (0.5 * t))) * (-2.0 / t), 40, low)
        near = near + _map("log", low) + _GAMMA
        value = where(a > 30.0, sin * f - cos * g, near)
        value = where(a == math.inf, 0.0, where(a == 0.0, -math.inf, value))
        return where(x == -math.inf, math.nan, value)
    near = averaged(lambda t, v: _map("sin", v * t) / t, 40, low)
    value = where(a > 30.0, 0.5 * math.pi - cos * f - sin * g, near)
    value = where(a == math.inf, 0.5 * math.pi, value)
    return where(x < 0.0, -value, where(isnan(x), x, value))


si, ci = (in_double(partial(_sici, cosine)) for cosine in (False, True))


def _shichi(cosine: bool, x: ndarray) -> ndarray:
    """Computes the integral of sinh(t) / t from 0 to x, or the hyperbolic cosine integral of |x|: by a power series up
    to 3 (DLMF 6.6.5), and of the exponential integrals beyond."""
    a = _map("absolute", x)
    low, high = _map("minimum", a, 3.0), _map("maximum", a, 3.0)
    first = 2 if cosine else 1
    series = polynomial(low * low, tuple(1.0 / (k * math.factorial(k)) for k in range(first + 28, first - 1, -2)))
    if cosine:
        safe = _map("maximum", low, 1e-300)
        near = series * low * low + (_map("log", safe) + _GAMMA)
        value = where(a > 3.0, (expi(high) - _exp1(high)) * 0.5, near)
        return where(isnan(x), x, where(a == 0.0, -math.inf, where(a == math.inf, math.inf, value)))
    value = where(a > 3.0, (expi(high) + _exp1(high)) * 0.5, series * low)
    value = where(a == math.inf, math.inf, value)
    return where(isnan(x), x, where(x < 0.0, -value, value))


shi, chi = (in_double(partial(_shichi, cosine)) for cosine in (False, True))


def _fresnel(cosine: bool, x: ndarray) -> ndarray:
    """Computes the integral of sin (or cos) of pi t²/2 from 0 to x; beyond 5.5 by DLMF 7.12.2 and 7.12.3."""
    a = _map("absolute", x)
    low, high = _map("minimum", a, 5.5), _map("minimum", _map("maximum", a, 5.5), 1e15)
    wave = "cos" if cosine else "sin"
    phase = low * low * (0.5 * math.pi)
    near = averaged(lambda t, v: _map(wave, v * (t * t)), 48, phase) * low
    z = high * high * math.pi
    inverse = 1.0 / z
    square = inverse * inverse
    odd = [math.prod(range(1, 2 * k, 2)) for k in range(24)]
    f = polynomial(square, tuple(float((-1) ** k * odd[2 * k]) for k in range(8, -1, -1)))
    g = polynomial(square, tuple(float((-1) ** k * odd[2 * k + 1]) for k in range(8, -1, -1))) * inverse
    cycles = high * high * 0.25  # the phase in cycles, of which only the fraction matters
    angle = (cycles - _map("floor", cycles)) * (2.0 * math.pi)
    sin, cos = _map("sin", angle), _map("cos", angle)
    waves = f * sin - g * cos if cosine else -(f * cos + g * sin)
    far = waves / (high * math.pi) + 0.5
    value = where(a > 5.5, far, near)
    value = where(a == math.inf, 0.5, value)
    return where(x < 0.0, -value, where(isnan(x), x, value))


fresnel_sine, fresnel_cosine = (in_double(partial(_fresnel, cosine)) for cosine in (False, True))
