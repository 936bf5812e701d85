"""Bessel functions of orders other than 0 and 1. Equation numbers are those of the NIST Digital Library of Mathematical
Functions (DLMF).

Modified functions with large order or argument use an expansion in 1 / sqrt(order² + x²), which is uniform in both
(DLMF 10.41); elsewhere the power series, whose terms are all positive, and recurrences. Relative errors are at most
about 1e-12 (of J where it oscillates: 1e-11 of its envelope).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common.arguments import write_out
from cuprous.scipy.special._bessel import j0, j1, k0, k1, y0, y1
from cuprous.scipy.special._composed import both, either, where
from cuprous.scipy.special._function import _prepared, in_double, ndarray
from cuprous.scipy.special._normal import polynomial

_map = _core.map
#: Where the uniform expansion starts to hold, the number of its terms, and of those of the power series below it.
_FAR, _TERMS, _SERIES = 50.0, 15, 92


@functools.cache
def _debye() -> tuple[tuple[float, ...], ...]:
    """Returns the polynomials U_k(t) / t**k in t², highest power first (DLMF 10.41.9)."""
    found, u = [], [Fraction(1)]
    for k in range(_TERMS):
        found.append(tuple(float(c) for c in u[k::2])[::-1])
        following = [Fraction(0)] * (len(u) + 3)
        for i, c in enumerate(u):
            following[i + 1] += c * (Fraction(i, 2) + Fraction(1, 8 * (i + 1)))
            following[i + 3] -= c * (Fraction(i, 2) + Fraction(5, 8 * (i + 3)))
        u = following
    return tuple(found)


def _uniform(v: ndarray, x: ndarray, sign: float) -> tuple[ndarray, ndarray]:
    """Returns half of the exponent v eta, and the sum that is multiplied by exp(± v eta), without the factor sqrt(2
    pi)."""
    r = _map("hypot", v, x)
    s = 1.0 / r
    t = v * s
    square = t * t
    terms = [polynomial(square, c) if len(c) > 1 else c[0] for c in _debye()]
    total: Any = terms[-1]
    for term in terms[-2::-1]:
        total = total * (s * sign) + term
    exponent = r + where(v == 0.0, 0.0, v * _map("log", x / (v + r)))
    return exponent * 0.5, total * _map("sqrt", s)


@in_double
def iv(v: ndarray, x: ndarray) -> ndarray:
    """Computes I for v >= 0, and by symmetry for negative integer orders."""
    order, a = _map("absolute", v), _map("absolute", x)
    whole = _map("floor", order) == order
    far = order * order + a * a >= _FAR * _FAR
    near_v, near_x = where(far, 0.0, order), where(far, 1.0, a)
    q = near_x * near_x * 0.25
    series: Any = 1.0
    for k in range(_SERIES, 0, -1):
        series = series * q / ((near_v + k) * k) + 1.0
    # 0**0 is 1.
    start = where(near_v == 0.0, 0.0, near_v * _map("log", near_x * 0.5)) - _map("gammaln", near_v + 1.0)
    half, total = _uniform(_map("minimum", where(far, order, 0.0), 1e300), where(far, a, _FAR), 1.0)
    exp_half = _map("exp", half)
    value = where(far, total * (1.0 / math.sqrt(2.0 * math.pi)) * exp_half * exp_half, _map("exp", start) * series)
    value = where(a == 0.0, where(order == 0.0, 1.0, 0.0), where(a == math.inf, math.inf, value))
    odd = _map("remainder", order, 2.0) == 1.0
    value = where(both(x < 0.0, odd), -value, value)
    unknown = both(either(x < 0.0, v < 0.0), _map("logical_not", whole))
    return where(unknown, math.nan, value)


@in_double
def ive(v: ndarray, x: ndarray) -> ndarray:
    """Computes exp(-|x|) iv(v, x): for large |x| by the expansion, from whose exponent |x| is subtracted exactly."""
    order, a = _map("absolute", v), _map("absolute", x)
    far = a > _FAR
    wide = where(far, a, _FAR)
    r = _map("hypot", order, wide)
    lowered = order * (order / (r + wide)) + where(order == 0.0, 0.0, order * _map("log", wide / (order + r)))
    total = _uniform(order, wide, 1.0)[1] * (1.0 / math.sqrt(2.0 * math.pi)) * _map("exp", lowered)
    near = where(far, 0.0, x)
    odd = both(x < 0.0, _map("remainder", order, 2.0) == 1.0)
    whole = _map("floor", order) == order
    unknown = both(either(x < 0.0, v < 0.0), _map("logical_not", whole))
    value = where(far, where(odd, -total, total), iv(v, near) * _map("exp", -_map("absolute", near)))
    return where(unknown, math.nan, where(a == math.inf, 0.0, value))


@in_double
def kn(n: ndarray, x: ndarray) -> ndarray:
    """Computes K by forward recurrence, which is stable (DLMF 10.29.1), below the uniform expansion."""
    order = _map("absolute", n)
    far = order * order + x * x >= _FAR * _FAR
    near = where(either(far, x <= 0.0), 1.0, x)
    steps = 2.0 / near
    before, value = k0(near), k1(near)
    found = where(order == 0.0, before, value)
    for k in range(1, int(_FAR)):
        before, value = value, value * steps * float(k) + before
        found = where(order == k + 1.0, value, found)
    half, total = _uniform(where(far, order, 0.0), where(both(far, x > 0.0), x, _FAR), -1.0)
    shrunk = _map("exp", -half)
    found = where(far, total * math.sqrt(math.pi / 2.0) * shrunk * shrunk, found)
    found = where(x == 0.0, math.inf, where(x == math.inf, 0.0, found))
    return where(either(x < 0.0, _map("floor", n) != n), math.nan, found)


#: The highest order of `jn` and `yn`, which is the number of steps of their recurrences.
HIGHEST = 400


def _jn(n: ndarray, x: ndarray, highest: int) -> ndarray:
    order, a = _map("absolute", n), _map("absolute", x)
    # Forward recurrence where order < x (DLMF 10.6.1), from j0 and j1.
    wide = _map("maximum", a, 1.0)
    before, value = j0(wide), j1(wide)
    up = where(order == 0.0, before, value)
    inverse = 2.0 / wide
    for k in range(1, highest):
        before, value = value, value * inverse * float(k) - before
        up = where(order == k + 1.0, value, up)
    # Backward recurrence elsewhere, from far beyond the turning point, normalized by j0 + 2 j2 + 2 j4 + … = 1 (J. C. P.
    # Miller).
    low = where(a > highest + 1.0, 1.0, _map("maximum", a, 2.0))
    inverse = 2.0 / low
    start = 2 * ((highest + 40 + int(14 * (highest + 1) ** (1 / 3))) // 2)
    after, value = low * 0.0, low * 0.0 + 1e-290
    norm, down = value * 2.0, value
    for k in range(start, 0, -1):
        after, value = value, value * inverse * float(k) - after
        large = _map("absolute", value) > 1e100
        scale = where(large, 1e-100, 1.0)
        after, value, norm, down = after * scale, value * scale, norm * scale, down * scale
        down = where(order == k - 1.0, value, down)
        if k % 2 == 1:
            norm = norm + (value if k == 1 else value * 2.0)
    down = down / norm
    # A few terms of the power series (DLMF 10.2.2) near 0.
    q = _map("minimum", a, 2.0) * _map("minimum", a, 2.0) * -0.25
    series: Any = 1.0
    for k in range(16, 0, -1):
        series = series * q / ((order + k) * k) + 1.0
    near = where(a > 2.0, 1.0, a)
    power = where(order == 0.0, 0.0, order * _map("log", near * 0.5)) - _map("gammaln", order + 1.0)
    found = where(a <= 2.0, series * _map("exp", power), where(order < a, up, down))
    found = where(a == 0.0, where(order == 0.0, 1.0, 0.0), where(a == math.inf, 0.0, found))
    odd = _map("remainder", order, 2.0) == 1.0
    negated = both(odd, (n < 0.0) != (x < 0.0))
    return where(_map("floor", order) == order, where(negated, -found, found), math.nan)


def _yn(n: ndarray, x: ndarray, highest: int) -> ndarray:
    """Computes Y by forward recurrence, which is stable (DLMF 10.6.1)."""
    order = _map("absolute", n)
    positive = both(x > 0.0, x < math.inf)
    points = where(positive, x, 1.0)
    before, value = y0(points), y1(points)
    found = where(order == 0.0, before, value)
    inverse = 2.0 / points
    for k in range(1, highest):
        following = value * inverse * float(k) - before
        # Beyond the largest number the recurrence stays at -inf.
        before, value = value, where(value == -math.inf, value, following)
        found = where(order == k + 1.0, value, found)
    odd = both(n < 0.0, _map("remainder", order, 2.0) == 1.0)
    found = where(x == 0.0, -math.inf, where(x == math.inf, 0.0, where(positive, found, math.nan)))
    return where(_map("floor", order) == order, where(odd, -found, found), math.nan)


def _by_recurrence(name: str, code: Callable[[ndarray, ndarray, int], ndarray], n: Any, x: Any, out: Any) -> ndarray:
    """Computes a function by a recurrence of as many steps as the highest order, which is read from the device."""
    orders, points = _prepared((n, x))
    like = orders if isinstance(orders, ndarray) else points
    name_of_result = like.dtype_name
    wide = [_core.cast(v, "float64") if isinstance(v, ndarray) else _core.full((), v, "float64", like=like)
            for v in (orders, points)]  # fmt: skip
    most = float(cp.max(_map("absolute", wide[0]))) if wide[0].size else 0.0
    if most > HIGHEST:
        raise NotImplementedError(f"[{name}] orders above {HIGHEST} are not supported: the highest given is {most:g}")
    value = code(wide[0], wide[1], max(2, int(most) if most == most else 2))
    return write_out(out, _core.cast(value, name_of_result), name)


def jn(n: Any, x: Any, out: Any = None) -> ndarray:
    """Computes the Bessel function of the first kind and integer order. Waits for the device to read the highest order.

    Parameters
    ----------
    n : array_like
        Orders from -400 to 400; orders that are not integers give NaN.
    x : array_like
        Real numbers.
    out : ndarray, optional
        An array that receives the result.

    Returns
    -------
    ndarray
        An array of the common shape.

    Raises
    ------
    NotImplementedError
        For higher orders.
    TypeError
        For complex numbers.

    See Also
    --------
    j0, j1

    Examples
    --------
    >>> cp.special.jn([0, 1, 2], 1.0)
    array([0.76519769, 0.44005059, 0.11490348])
    """
    return _by_recurrence("jn", _jn, n, x, out)


def yn(n: Any, x: Any, out: Any = None) -> ndarray:
    """Computes the Bessel function of the second kind and integer order. Waits for the device to read the highest
    order.

    Parameters
    ----------
    n : array_like
        Orders from -400 to 400; orders that are not integers give NaN.
    x : array_like
        Real numbers; negative ones give NaN.
    out : ndarray, optional
        An array that receives the result.

    Returns
    -------
    ndarray
        An array of the common shape.

    Raises
    ------
    NotImplementedError
        For higher orders.
    TypeError
        For complex numbers.

    See Also
    --------
    y0, y1, jn

    Examples
    --------
    >>> cp.special.yn([0, 1, 2], 1.0)
    array([ 0.08825696, -0.78121282, -1.65068261])
    """
    return _by_recurrence("yn", _yn, n, x, out)
