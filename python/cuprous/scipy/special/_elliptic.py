"""Incomplete elliptic integrals by Carlson's duplication (DLMF 19.36), and Jacobi's elliptic functions by the
descending Landen transformation (DLMF 22.20)."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous.scipy.special._composed import both, either, isnan, where
from cuprous.scipy.special._function import SpecialFunction, in_double, ndarray
from cuprous.scipy.special._more import ellipe, ellipk

_map = _core.map
#: Each duplication divides the differences of the arguments by 4; the series that follow err by their sixth power.
_STEPS = 14


def _root_sum(x: ndarray, y: ndarray, z: ndarray) -> tuple[ndarray, ndarray]:
    """Returns the sum of the products of two square roots, and the square root of z."""
    a, b, c = (_map("sqrt", v) for v in (x, y, z))
    return a * b + b * c + c * a, c


def _carlson(x: ndarray, y: ndarray, z: ndarray) -> tuple[ndarray, ndarray]:
    """Returns Carlson's integrals R_F and R_D of x, y, z."""
    scale, total = 1.0, z * 0.0
    for _ in range(_STEPS):
        shift, root = _root_sum(x, y, z)
        total = total + scale / (root * (z + shift))
        scale *= 0.25
        x, y, z = (x + shift) * 0.25, (y + shift) * 0.25, (z + shift) * 0.25
    mean = (x + y + z) / 3.0
    a, b = 1.0 - x / mean, 1.0 - y / mean
    c = -(a + b)
    e2, e3 = a * b - c * c, a * b * c
    rf = (e2 * (e2 / 24.0 - 0.1 - e3 * (3.0 / 44.0)) + e3 / 14.0 + 1.0) / _map("sqrt", mean)
    mean = (x + y + z * 3.0) * 0.2
    a, b = 1.0 - x / mean, 1.0 - y / mean
    c = -(a + b) / 3.0
    ab, cc = a * b, c * c
    e2, e3, e4, e5 = ab - cc * 6.0, (ab * 3.0 - cc * 8.0) * c, (ab - cc) * cc * 3.0, ab * cc * c
    series = (
        1.0 - e2 * (3.0 / 14.0) + e3 / 6.0 + e2 * e2 * (9.0 / 88.0) - e4 * (3.0 / 22.0) - e2 * e3 * (9.0 / 52.0)
        + e5 * (3.0 / 26.0)
    )  # fmt: skip
    return rf, total * 3.0 + series * scale / (mean * _map("sqrt", mean))


def _parts(phi: ndarray, m: ndarray) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Returns the number of half turns nearest to phi, the sine of the rest, R_F and R_D."""
    turns = _map("rint", phi / math.pi)
    # pi in two parts, so that the rest of several turns keeps its digits
    rest = (phi - turns * math.pi) - turns * 1.2246467991473532e-16
    sine, cosine = _map("sin", rest), _map("cos", rest)
    below = 1.0 - m * sine * sine
    known = both(below >= 0.0, _map("isfinite", phi + m))
    one = sine * 0.0 + 1.0
    rf, rd = _carlson(where(known, cosine * cosine, 1.0), where(known, below, 1.0), where(known, one, 1.0))
    return turns, sine, rf, rd


@in_double
def ellipkinc(phi: ndarray, m: ndarray) -> ndarray:
    """Computes sin(phi) R_F, and 2 K for each half turn."""
    turns, sine, rf, _ = _parts(phi, m)
    value = sine * rf
    value = where(turns == 0.0, value, value + turns * 2.0 * ellipk(where(m > 1.0, math.nan, m)))
    infinite = _map("isinf", phi)
    pole = both(m == 1.0, _map("absolute", phi) >= math.pi / 2.0)
    value = where(either(infinite, pole), _map("copysign", _core.full((), math.inf, "float64", like=phi), phi), value)
    value = where(m == -math.inf, where(infinite, math.nan, 0.0), value)
    return where(either(isnan(phi), isnan(m), m > 1.0), math.nan, value)


@in_double
def ellipeinc(phi: ndarray, m: ndarray) -> ndarray:
    """Computes sin(phi) R_F - m/3 sin(phi)³ R_D, and 2 E for each half turn."""
    turns, sine, rf, rd = _parts(phi, m)
    value = sine * rf - m / 3.0 * sine * sine * sine * rd
    value = where(turns == 0.0, value, value + turns * 2.0 * ellipe(where(m > 1.0, math.nan, m)))
    value = where(_map("isinf", phi), phi, where(m == -math.inf, math.inf, value))
    return where(either(isnan(phi), isnan(m), m > 1.0), math.nan, value)


def _jacobi(u: ndarray, m: ndarray) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Computes sn, cn, dn and the amplitude for 0 <= m <= 1; NaN for others."""
    inside = both(m >= 0.0, m <= 1.0)
    # Where the modulus is 1 but for rounding, the functions are hyperbolic.
    edge = both(inside, m > 1.0 - 1e-15)
    parameter = where(both(inside, _map("logical_not", edge)), m, 0.0)
    a, b, c = [u * 0.0 + 1.0], _map("sqrt", 1.0 - parameter), [_map("sqrt", parameter)]
    for _ in range(9):
        a, b, c = (
            [*a, (a[-1] + b) * 0.5], _map("sqrt", a[-1] * b), [*c, (a[-1] - b) * 0.5],
        )  # fmt: skip
    angle = u * a[-1] * float(2**9)
    before = angle
    for k in range(9, 0, -1):
        before = angle
        angle = (_map("arcsin", c[k] / a[k] * _map("sin", angle)) + angle) * 0.5
    sn, cn = _map("sin", angle), _map("cos", angle)
    ratio = _map("cos", before - angle)
    dn = where(_map("absolute", ratio) < 0.1, _map("sqrt", 1.0 - parameter * sn * sn), cn / ratio)
    tanh, sech = _map("tanh", u), 1.0 / _map("cosh", u)
    gudermann = _map("arctan", _map("sinh", u))
    results = (where(edge, h, v) for h, v in ((tanh, sn), (sech, cn), (sech, dn), (gudermann, angle)))
    unknown = either(_map("logical_not", inside), isnan(u))
    sn, cn, dn, angle = (where(unknown, math.nan, v) for v in results)
    return sn, cn, dn, angle


_PARTS = [
    SpecialFunction("ellipj", 2, in_double(lambda u, m, i=i: _jacobi(u, m)[i]), "") for i in range(4)
]  # fmt: skip


def ellipj(u: Any, m: Any, out: Any = (None, None, None, None)) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Computes Jacobi's elliptic functions for parameters from 0 to 1; NaN for others.

    Parameters
    ----------
    u : array_like
        A scalar or an array of real numbers.
    m : array_like
        The parameter, a scalar or an array.
    out : tuple of ndarrays, optional
        Four arrays to write to.

    Returns
    -------
    tuple of ndarrays
        Arrays of sn, cn, dn and the amplitude ph, with sn = sin(ph) and cn = cos(ph).

    Raises
    ------
    TypeError
        For complex numbers.

    See Also
    --------
    ellipk, ellipkinc

    Examples
    --------
    >>> sn, cn, dn, ph = cp.special.ellipj([0.0, 1.0], 0.5)
    >>> sn
    array([0.        , 0.80300182])
    """
    sn, cn, dn, ph = (f(u, m, out=o) for f, o in zip(_PARTS, out, strict=True))
    return sn, cn, dn, ph
