"""Associated Legendre functions and spherical harmonics of whole degrees and orders, by recurrences over the degree
(NIST Digital Library of Mathematical Functions 14.10.3, 14.30.1). The greatest degree of an array is copied to the
host, as it is the number of steps."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._common.arguments import broadcast_shapes, ndarray, write_out
from cuprous._common.operands import on_array_device
from cuprous.scipy.special._composed import both, either, where
from cuprous.scipy.special._function import _prepared, in_double

_map = _core.map


def _last(order: ndarray) -> int:
    """Returns the greatest element as a number of steps."""
    greatest = float(_core.reduce("max", order, None)) if order.size else 0.0
    return int(greatest) if math.isfinite(greatest) else 0


def _by_degree(m: ndarray, n: ndarray, x: ndarray, sine: ndarray) -> ndarray:
    """Returns the functions of order m and degree n, both whole and not negative, normalized so that the spherical
    harmonics are orthonormal, without the factor of longitude. `sine` is sqrt(1 - x²)."""
    start = x * 0.0 + math.sqrt(0.25 / math.pi)
    for k in range(1, _last(_map("minimum", m, n)) + 1):
        start = where(m >= float(k), start * sine * -math.sqrt((2 * k + 1) / (2 * k)), start)
    before, value = start * 0.0, where(m == 0.0, start, 0.0)
    found = where(n == 0.0, value, 0.0)
    square = m * m
    for degree in range(1, _last(n) + 1):
        over = _map("maximum", degree * degree - square, 1.0)
        a = _map("sqrt", (4.0 * degree * degree - 1.0) / over)
        b = _map("sqrt", _map("maximum", (degree - 1.0) ** 2 - square, 0.0) / (4.0 * (degree - 1.0) ** 2 - 1.0))
        above = where(m < float(degree), a * (x * value - b * before), where(m == float(degree), start, 0.0))
        before, value = value, above
        found = where(n == float(degree), value, found)
    return found


def _whole(x: ndarray) -> ndarray:
    return _map("floor", x) == x


def _factor(m: ndarray, v: ndarray) -> ndarray:
    """Returns the square root of (v + m)! / (v - m)!, by which Ferrers functions exceed the normalized ones."""
    logarithm = _map("gammaln", v + m + 1.0) - _map("gammaln", _map("maximum", v - m, 0.0) + 1.0)
    return _map("exp", 0.5 * logarithm) * _map("sqrt", 4.0 * math.pi / (2.0 * v + 1.0))


@in_double
def lpmv(m: ndarray, v: ndarray, x: ndarray) -> ndarray:
    """Computes Ferrers functions of the first kind with the phase (-1)**m."""
    degree = where(v < 0.0, -v - 1.0, v)
    order = _map("absolute", m)
    known = both(_whole(m), _whole(v), _map("absolute", x) <= 1.0)
    order, degree = where(known, order, 0.0), where(known, degree, 0.0)
    inside = where(known, x, 0.0)
    value = _by_degree(order, degree, inside, _map("sqrt", _map("maximum", 1.0 - inside * inside, 0.0)))
    scale = _factor(order, degree)
    odd = where(order % 2.0 == 1.0, -1.0, 1.0)
    value = where(m < 0.0, odd * value / scale * (4.0 * math.pi / (2.0 * degree + 1.0)), value * scale)
    return where(known, where(order > degree, where(m < 0.0, math.nan, 0.0), value), math.nan)


@on_array_device
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0, out: Any = None) -> Any:
    """Returns spherical harmonics of degree n and order m, with the phase (-1)**m; 0 for a negative degree, and NaN
    for numbers that are not whole.

    Parameters
    ----------
    n : array_like
        The degrees.
    m : int or array_like
        The orders; 0 for those beyond the degree.
    theta : array_like
        The angles from the north pole.
    phi : array_like
        The longitudes.
    diff_n : int, default 0
        The number of derivatives that are returned too; only 0.
    out : ndarray, optional
        An array of the result's shape to write to.

    Returns
    -------
    ndarray
        A complex128 array of the common shape.

    Raises
    ------
    NotImplementedError
        For `diff_n` above 0.
    TypeError
        For complex operands.
    ValueError
        For operands that do not broadcast.

    See Also
    --------
    scipy.special.lpmv

    Examples
    --------
    >>> cp.special.sph_harm_y(1, 0, [0.0, 1.0], 0.0).real.round(6)
    array([0.488603, 0.263993])
    """
    if diff_n:
        raise NotImplementedError(f"[sph_harm_y] diff_n={diff_n} is not supported; only 0")
    real = _prepared((n, m, theta, phi))
    like = next(x for x in real if isinstance(x, ndarray))
    full = [x if isinstance(x, ndarray) else _core.full((), x, like.dtype_name, like=like) for x in real]
    degree, order, polar, longitude = (_core.cast(x, "float64") for x in full)
    known = both(_whole(degree), _whole(order))
    size = where(known, _map("absolute", order), 0.0)
    sine = _map("absolute", _map("sin", polar))
    value = _by_degree(size, where(both(known, degree >= 0.0), degree, 0.0), _map("cos", polar), sine)
    value = where(either(~known, _map("isnan", polar + longitude)), math.nan, where(size > degree, 0.0, value))
    value = where(both(order < 0.0, size % 2.0 == 1.0), -value, value)
    angle = order * longitude
    shape = broadcast_shapes(value.shape, angle.shape)
    wave = _core.empty(shape, "complex128")
    wave.real, wave.imag = value * _map("cos", angle), value * _map("sin", angle)
    return write_out(out, wave, "sph_harm_y")


__all__ = ["lpmv", "sph_harm_y"]
