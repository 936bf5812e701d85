"""Functions with several results or integer parameters, and products of gamma functions."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._common.naming import named
from cuprous._common.operands import is_scalar
from cuprous.scipy.special import _integrals
from cuprous.scipy.special._beta import sine
from cuprous.scipy.special._composed import both, either, is_pole, isnan, rgamma, where
from cuprous.scipy.special._function import SpecialFunction, floats, in_double, ndarray
from cuprous.scipy.special._incomplete import stirling

_map = _core.map


@in_double
def poch(z: ndarray, m: ndarray) -> ndarray:
    """Computes gamma(z + m) / gamma(z), by Stirling's series where both are large, so that nothing cancels or
    overflows."""
    top = z + m
    large, negative = both(z >= 10.0, top >= 10.0), both(z <= -9.0, top <= -9.0)
    by_series = either(large, negative)
    # gamma(1 - z) / gamma(1 - z - m) times a quotient of sines for negative ones
    n, k = where(large, z, where(negative, 1.0 - top, 10.0)), where(by_series, m, 0.0)
    ratio = (n + k - 0.5) * _map("log1p", k / n) + k * (_map("log", n) - 1.0) + stirling(n + k) - stirling(n)
    whole, at_top = _map("floor", m) == m, is_pole(top)
    reflected = 1.0 - top  # (-1)**m gamma(1 - z) / gamma(1 - z - m) for whole m, at or next to a pole of gamma(z)
    sign = where(_map("remainder", m, 2.0) == 1.0, -1.0, _core.full((), 1.0, "float64", like=m))
    pole = both(either(is_pole(z), both(at_top, z < 0.5)), whole)
    direct = where(
        pole, sign * _map("gamma", where(pole, 1.0 - z, 1.0)) * rgamma(reflected), _map("gamma", top) * rgamma(z)
    )
    sines = where(whole, sign, sine(z, z * 0.0) / where(at_top, 1.0, sine(top, top * 0.0)))
    value = where(by_series, where(negative, sines, 1.0) * _map("exp", ratio), direct)
    value = where(both(at_top, _map("logical_not", either(pole, is_pole(z)))), math.inf, value)
    value = where(both(z == math.inf, _map("isfinite", m)), where(m > 0.0, z, 0.0), value)
    return where(m == 0.0, 1.0, value)


@in_double
def agm(a: ndarray, b: ndarray) -> ndarray:
    """Computes the arithmetic-geometric mean; NaN for arguments of different signs."""
    sign = where(either(a < 0.0, b < 0.0), -1.0, _core.full((), 1.0, "float64", like=a))
    x, y = a * sign, b * sign
    wrong, zero = either(x < 0.0, y < 0.0), either(x == 0.0, y == 0.0)
    infinite = _map("isinf", x + y)
    for _ in range(14):
        x, y = (x + y) * 0.5, _map("sqrt", x) * _map("sqrt", y)
    wrong = either(wrong, both(infinite, zero), isnan(a + b))
    return where(wrong, math.nan, where(zero, 0.0, where(infinite, math.inf, x) * sign))


def multigammaln(a: Any, d: int) -> ndarray:
    """Computes the logarithm of the multivariate gamma function of dimension d.

    Parameters
    ----------
    a : array_like
        A scalar or an array of real numbers.
    d : int
        The dimension.

    Returns
    -------
    ndarray
        An array of the shape of `a`.

    Raises
    ------
    ValueError
        For a d that is not a positive integer. (Elements of `a` up to (d - 1) / 2 give the values of gammaln. SciPy
        raises for them, which would wait for the device here.)

    See Also
    --------
    scipy.special.gamma, scipy.special.gammaln

    Examples
    --------
    >>> cp.special.multigammaln([2.0, 5.0], 2)
    array([0.45158271, 6.20415534])
    """
    if isinstance(d, bool) or not is_scalar(d) or int(d) != d or d < 1:
        raise ValueError("d should be a positive integer (dimension)")
    x = floats(a)
    total: Any = d * (d - 1) * 0.25 * math.log(math.pi)
    for j in range(int(d)):
        total = total + _map("gammaln", x - 0.5 * j)
    return total


def diric(x: Any, n: int) -> ndarray:
    """Computes the periodic sinc sin(n x / 2) / (n sin(x / 2)); NaN if n is not a positive integer.

    Parameters
    ----------
    x : array_like
        A scalar or an array of real numbers.
    n : int
        The periodicity, a positive integer.

    Returns
    -------
    ndarray
        An array of the shape of `x`.

    See Also
    --------
    scipy.special.sinc

    Examples
    --------
    >>> cp.special.diric([0.0, 1.0], 3)
    array([1.        , 0.69353487])
    """
    angle = floats(x)
    if n != int(n) or n < 1:
        return angle * math.nan
    limit = 2.0**-46 if angle.dtype_name == "float64" else 2.0**-18
    half = angle * 0.5
    below = _map("sin", half)
    zero = _map("absolute", below) < limit
    half_turns = _map("rint", angle * (0.5 / math.pi)) * float(n - 1)
    limits = where(_map("remainder", half_turns, 2.0) == 0.0, 1.0, below * 0.0 - 1.0)
    return where(zero, limits, _map("sin", half * float(n)) / (where(zero, 1.0, below) * float(n)))


def _pair(first: SpecialFunction, second: SpecialFunction, name: str, doc: str) -> Any:
    def both_of(x: Any, out: Any = (None, None)) -> tuple[ndarray, ndarray]:
        return first(x, out=out[0]), second(x, out=out[1])

    return named(both_of, name, doc)


_PAIR = """Returns the {what}.

Parameters
----------
x : array_like
    A scalar, array or array-like of real numbers.
out : tuple of ndarrays, optional
    A pair of arrays to write to.

Returns
-------
pair of ndarrays
    A pair of arrays of the shape of `x`.

Raises
------
TypeError
    For complex numbers.

See Also
--------
{related}

Examples
--------
>>> first, second = cp.special.{name}([{values}])
>>> first
{result}
"""
sici = _pair(
    SpecialFunction("sici", 1, _integrals.si, ""), SpecialFunction("sici", 1, _integrals.ci, ""), "sici",
    _PAIR.format(
        name="sici", related="scipy.special.shichi, scipy.special.expi",
        values="1.0, 2.0", result="array([0.94608307, 1.60541298])",
        what="sine and cosine integrals Si(x) and Ci(x), for x < 0 the real part of Ci",
    ),
)  # fmt: skip
shichi = _pair(
    SpecialFunction("shichi", 1, _integrals.shi, ""), SpecialFunction("shichi", 1, _integrals.chi, ""), "shichi",
    _PAIR.format(
        name="shichi", related="scipy.special.sici, scipy.special.expi",
        values="1.0, 2.0", result="array([1.05725088, 2.50156743])",
        what="hyperbolic sine and cosine integrals Shi(x) and Chi(x), for x < 0 the real part of Chi",
    ),
)  # fmt: skip
fresnel = _pair(
    SpecialFunction("fresnel", 1, _integrals.fresnel_sine, ""),
    SpecialFunction("fresnel", 1, _integrals.fresnel_cosine, ""), "fresnel",
    _PAIR.format(
        name="fresnel", related="scipy.special.sici, scipy.special.erf",
        values="0.0, 1.0", result="array([0.        , 0.43825915])",
        what="Fresnel integrals S(x) and C(x), of the sine and cosine of pi t²/2 from 0 to x",
    ),
)  # fmt: skip
