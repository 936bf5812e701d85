"""Further error functions, zeta functions, elliptic integrals, angles in degrees, and combinatorics."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous.scipy.special import _composed as c
from cuprous.scipy.special._beta import binom
from cuprous.scipy.special._function import floats, in_double, ndarray
from cuprous.scipy.special._normal import polynomial

_map = _core.map
_where = c.where
#: B_2k / (2k)!, for k = 1 to 12.
_BERNOULLI = [
    b / math.factorial(2 * k + 2)
    for k, b in enumerate(
        (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
         854513 / 138, -236364091 / 2730)
    )
]  # fmt: skip
_STEPS = 12


def erfcx(x: ndarray) -> ndarray:
    """Computes exp(x²) erfc(x); from x = 2 by the trapezoidal rule for x/pi times the integral of exp(-t²) / (x² + t²)
    (DLMF 7.7.1)."""
    low, high = _map("minimum", x, 2.0), _map("maximum", x, 2.0)
    inverse = 1.0 / high
    square, step = inverse * inverse, 0.32
    total: Any = 0.5
    for k in range(1, 20):
        total = total + math.exp(-((k * step) ** 2)) / (square * (k * step) ** 2 + 1.0)
    far = total * inverse * (2.0 * step / math.pi)
    return _where(x > 2.0, far, _map("exp", low * low) * _map("erfc", low))


def dawsn(x: ndarray) -> ndarray:
    """Computes Rybicki's sum of exp(-(x - n h)²) / n over odd n (Computers in Physics 3 (1989)), a power series for |x|
    < 0.5, and an asymptotic series from |x| = 12."""
    a = _map("absolute", x)
    small = _map("minimum", a, 0.5)
    q, factor, coefficients = small * small, 1.0, [1.0]
    for k in range(1, 16):
        factor *= -2.0 / (2 * k + 1)
        coefficients.append(factor)
    near = small * polynomial(q, tuple(coefficients[::-1]))
    h = 0.2
    middle = _map("minimum", _map("maximum", a, 0.5), 12.0)
    nearest = _map("rint", middle * (0.5 / h)) * 2.0
    offset = middle - nearest * h
    total: Any = 0.0
    for k in range(-31, 32, 2):
        gap = offset - k * h
        total = total + _map("exp", -(gap * gap)) / (nearest + float(k))
    between = total * (1.0 / math.sqrt(math.pi))
    far = 1.0 / _map("maximum", a, 12.0)
    square, factor, coefficients = far * far, 1.0, [1.0]
    for k in range(1, 10):
        factor *= (2 * k - 1) / 2.0
        coefficients.append(factor)
    outer = far * 0.5 * polynomial(square, tuple(coefficients[::-1]))
    value = _where(a < 0.5, near, _where(a < 12.0, between, _where(c.isnan(x), x, outer)))
    return _where(x < 0.0, -value, value)


def erfi(x: ndarray) -> ndarray:
    """Computes 2/sqrt(pi) exp(x²) dawsn(x), with the exponential split into two square roots against overflow."""
    half = _map("exp", x * x * 0.5)
    value = dawsn(x) * half * half * (2.0 / math.sqrt(math.pi))
    return _where(_map("isinf", x), x, value)


def zeta(x: Any, q: Any) -> ndarray:
    """Computes Hurwitz' sum of (k + q)**-x for x > 1, by the Euler-Maclaurin formula (DLMF 25.11.28)."""
    exponent, base = (c._as(x, q), c._as(q, x)) if isinstance(q, ndarray) or isinstance(x, ndarray) else (x, q)
    total = _hurwitz(exponent, base)
    at_infinity = _where(base > 1.0, 0.0, _core.full((), math.inf, total.dtype_name, like=total))
    total = _where(exponent == math.inf, _where(base == 1.0, 1.0, at_infinity), total)
    total = _where(c.either(exponent == 1.0, base == 0.0), math.inf, total)
    return _where(c.either(exponent < 1.0, c.isnan(exponent + base)), math.nan, total)


def _hurwitz(exponent: ndarray, base: Any) -> ndarray:
    """Computes the sum, for q < 0 only with whole exponents: others have no real powers of negative numbers.

    With f = q - floor(q), the terms with k + q < 0 are those from 1 - f to -q with the sign (-1)**x, which is a
    difference of two such sums.
    """
    if not isinstance(base, ndarray):
        return _continued(exponent, base)
    negative = base < 0.0
    rest = base - _map("floor", base)
    above = _continued(exponent, _where(negative, rest, base))
    first, last = (_continued(exponent, _where(negative, q, 1.0)) for q in (_map("ceil", base) - base, 1.0 - base))
    odd = _map("remainder", exponent, 2.0)
    below = _where(odd == 0.0, first - last, _where(odd == 1.0, last - first, math.nan))
    value = _where(base == math.inf, 0.0, _where(negative, above + below, above))
    return _where(c.either(c.both(negative, rest == 0.0), base == -math.inf), math.inf, value)


def _continued(exponent: ndarray, base: Any) -> ndarray:
    """Computes the formula, which holds for exponents below 1 too."""
    total: Any = 0.0
    for k in range(_STEPS):
        total = total + _map("power", base + float(k), -exponent)
    last = base + float(_STEPS)
    power = _map("power", last, -exponent)
    total = total + power * (last / (exponent - 1.0) + 0.5)
    inverse = 1.0 / last
    term = power * exponent * inverse
    for k, b in enumerate(_BERNOULLI):
        total = total + term * b
        term = term * (exponent + (2 * k + 1.0)) * (inverse * inverse) * (exponent + (2 * k + 2.0))
    return total


@in_double
def zetac(x: ndarray) -> ndarray:
    """Computes the sum of k**-x from k = 2, continued to x < 1; for x < 0 by reflection (DLMF 25.4.1)."""
    right = _continued(_where(c.either(x < 0.0, x > 1e3, x == 1.0), 2.0, x), 2.0)
    right = _where(x == 1.0, math.inf, _where(x > 1e3, 0.0, right))
    left = _where(x < 0.0, x, -1.0)
    quarter = _map("remainder", left, 4.0) * (0.5 * math.pi)
    wave = _where(_map("remainder", left, 2.0) == 0.0, 0.0, _map("sin", quarter))
    # In two factors, which together do not overflow before the result does.
    size = _map("exp", (_map("gammaln", 1.0 - left) + (left - 1.0) * math.log(2.0 * math.pi)) * 0.5)
    near = _map("gamma", _map("minimum", 1.0 - left, 160.0)) * _map("power", left * 0.0 + 2.0 * math.pi, left - 1.0)
    far = left < -150.0
    value = _where(far, size, near) * _where(far, size, 1.0) * wave * 2.0 * (_continued(1.0 - left, 2.0) + 1.0) - 1.0
    return _where(c.isnan(x), x, _where(x == -math.inf, math.nan, _where(x < 0.0, value, right)))


def round_(x: ndarray) -> ndarray:
    """Rounds to the nearest integer, of two to the even one."""
    return _map("rint", x)


def ellipkm1(p: ndarray) -> ndarray:
    """Computes ellipk(1 - p): pi/2 over the arithmetic-geometric mean of 1 and sqrt(p) (DLMF 19.8.5)."""
    value = (0.5 * math.pi) / _mean(p)[0]
    value = _where(p == 0.0, math.inf, _where(p == math.inf, 0.0, value))
    return _where(p < 0.0, math.nan, value)


def _mean(p: ndarray) -> tuple[ndarray, ndarray]:
    """Returns the arithmetic-geometric mean of 1 and sqrt(p), and the sum of 2**(n - 1) c_n² of its iterations."""
    a, b = p * 0.0 + 1.0, _map("sqrt", p)
    total, factor = (1.0 - p) * 0.5, 1.0
    for _ in range(12):
        half = (a - b) * 0.5
        a, b = (a + b) * 0.5, _map("sqrt", a * b)
        total = total + half * half * factor
        factor *= 2.0
    return a, total


def ellipk(m: ndarray) -> ndarray:
    """Computes the complete elliptic integral of the first kind."""
    return ellipkm1(1.0 - m)


def ellipe(m: ndarray) -> ndarray:
    """Computes the complete elliptic integral of the second kind, by the mean's iterations (DLMF 19.8.6)."""
    p = 1.0 - m
    mean, total = _mean(p)
    value = (0.5 * math.pi) / mean * (1.0 - total)
    value = _where(m == 1.0, 1.0, _where(m == -math.inf, math.inf, value))
    return _where(m > 1.0, math.nan, value)


def _octant(x: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Reduces |x| degrees by the nearest multiple of 90. Returns sine and cosine of the rest, and the multiple modulo
    4."""
    angle = _map("fmod", _map("absolute", x), 360.0)
    quarter = _map("rint", angle * (1.0 / 90.0))
    rest = (angle - quarter * 90.0) * (math.pi / 180.0)
    return _map("sin", rest), _map("cos", rest), _map("fmod", quarter, 4.0)


def _rotated(sin: ndarray, cos: ndarray, quarter: ndarray) -> ndarray:
    """Returns the sine after adding `quarter` quarter turns."""
    value = _where(quarter == 1.0, cos, _where(quarter == 2.0, -sin, _where(quarter == 3.0, -cos, sin)))
    return value + 0.0


def sindg(x: ndarray) -> ndarray:
    """Computes the sine of an angle in degrees, exact at multiples of 90."""
    value = _rotated(*_octant(x))
    return _where(x < 0.0, -value, value)


def cosdg(x: ndarray) -> ndarray:
    """Computes the cosine of an angle in degrees, exact at multiples of 90."""
    sin, cos, quarter = _octant(x)
    return _rotated(sin, cos, _map("fmod", quarter + 1.0, 4.0))


def tandg(x: ndarray) -> ndarray:
    """Computes the tangent of an angle in degrees; inf at odd multiples of 90."""
    sin, cos, quarter = _octant(x)
    odd = _map("fmod", quarter, 2.0) == 1.0
    value = _where(odd, _where(sin == 0.0, math.inf, -cos / sin), sin / cos)
    return _where(c.both(x < 0.0, value != math.inf), -value, value)


def cotdg(x: ndarray) -> ndarray:
    """Computes the cotangent of an angle in degrees; inf at multiples of 180."""
    sin, cos, quarter = _octant(x)
    odd = _map("fmod", quarter, 2.0) == 1.0
    value = _where(odd, -sin / cos + 0.0, _where(sin == 0.0, math.inf, cos / sin))
    return _where(c.both(x < 0.0, value != math.inf), -value, value)


def cosm1(x: ndarray) -> ndarray:
    """Computes cos(x) - 1 as -2 sin²(x/2)."""
    s = _map("sin", x * 0.5)
    return s * s * -2.0


def gammasgn(x: ndarray) -> ndarray:
    """Returns the sign of gamma(x), which for x < 0 depends on whether floor(x) is odd."""
    floor = _map("floor", x)
    odd = _map("remainder", floor, 2.0) == 1.0
    value = _where(floor == x, math.nan, _where(odd, -1.0, _core.full((), 1.0, x.dtype_name, like=x)))
    value = _where(x == 0.0, _map("copysign", _core.full((), 1.0, x.dtype_name, like=x), x), value)
    return _where(x == -math.inf, math.nan, _where(x > 0.0, 1.0, _where(c.isnan(x), x, value)))


def _approximate(name: str, exact: bool) -> None:
    if exact:
        raise NotImplementedError(f"[{name}] exact=True needs integers of arbitrary size; use scipy.special.{name}")


def factorial(n: Any, exact: bool = False) -> ndarray:
    """Computes n! as gamma(n + 1); 0 for negative n.

    Parameters
    ----------
    n : array_like
        A scalar or an array.
    exact : bool, default False
        Not supported.

    Returns
    -------
    ndarray
        An array of the shape of `n`.

    Raises
    ------
    NotImplementedError
        For `exact`.

    See Also
    --------
    scipy.special.comb, scipy.special.perm, scipy.special.poch

    Examples
    --------
    >>> cp.special.factorial([0, 3, 5])
    array([  1.,   6., 120.])
    """
    _approximate("factorial", exact)
    x = floats(n)
    value = _map("gamma", _map("maximum", x, 0.0) + 1.0)
    return _where(x < 0.0, 0.0, _where(c.isnan(x), x, value))


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> ndarray:
    """Computes the number of ways to choose k of N things; 0 for k > N and for negative arguments.

    Parameters
    ----------
    N : array_like
        The number of things, a scalar or an array.
    k : array_like
        The number of things to choose, a scalar or an array.
    exact : bool, default False
        Not supported.
    repetition : bool, default False
        Whether an element may be chosen repeatedly.

    Returns
    -------
    ndarray
        An array of the common shape.

    Raises
    ------
    NotImplementedError
        For `exact`.

    See Also
    --------
    binom

    Examples
    --------
    >>> cp.special.comb([4, 5], 2)
    array([ 6., 10.])
    """
    _approximate("comb", exact)
    n, chosen = floats(N, k), floats(k, N)
    if repetition:
        # As in SciPy, there is one way to choose none of none.
        return _where(c.both(n == 0.0, chosen == 0.0), 1.0, comb(n + chosen - 1.0, chosen))
    allowed = c.both(chosen <= n, n >= 0.0, chosen >= 0.0)
    return _where(allowed, binom(n, chosen), 0.0)


def perm(N: Any, k: Any, exact: bool = False) -> ndarray:
    """Computes the number of sequences of k of N things; 0 for k > N and for negative arguments.

    Parameters
    ----------
    N : array_like
        The number of things, a scalar or an array.
    k : array_like
        The length of the sequences, a scalar or an array.
    exact : bool, default False
        Not supported.

    Returns
    -------
    ndarray
        An array of the common shape.

    Raises
    ------
    NotImplementedError
        For `exact`.

    See Also
    --------
    scipy.special.poch, scipy.special.factorial, scipy.special.comb

    Examples
    --------
    >>> cp.special.perm([4, 5], 2)
    array([12., 20.])
    """
    _approximate("perm", exact)
    n, chosen = floats(N, k), floats(k, N)
    small = n < (170.0 if n.dtype_name == "float64" else 34.0)
    safe = _where(small, n, 1.0)
    direct = _map("gamma", safe + 1.0) / _map("gamma", _map("maximum", safe - chosen, 0.0) + 1.0)
    far = _map("exp", _map("gammaln", n + 1.0) - _map("gammaln", _map("maximum", n - chosen, 0.0) + 1.0))
    allowed = c.both(chosen <= n, n >= 0.0, chosen >= 0.0)
    return _where(allowed, _where(small, direct, far), 0.0)


def polygamma(n: Any, x: Any) -> ndarray:
    """Computes the n-th derivative of digamma: (-1)**(n + 1) n! zeta(n + 1, x); digamma for n = 0.

    Parameters
    ----------
    n : array_like
        The order, a scalar or an array.
    x : array_like
        A scalar or an array of real numbers.

    Returns
    -------
    ndarray
        An array of the common shape.

    See Also
    --------
    digamma

    Examples
    --------
    >>> cp.special.polygamma(1, [1.0, 2.0])
    array([1.64493407, 0.64493407])
    """
    order, x = floats(n, x), floats(x, n)
    sign = _where(_map("remainder", order, 2.0) == 1.0, 1.0, -1.0)
    value = sign * _map("gamma", order + 1.0) * zeta(order + 1.0, x)
    return _where(order == 0.0, _map("digamma", x), value)
