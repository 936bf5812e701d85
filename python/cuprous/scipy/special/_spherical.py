"""Spherical Bessel functions of the second kind."""

from __future__ import annotations

import math
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous.scipy.special._composed import either, isnan, where
from cuprous.scipy.special._function import _prepared, in_double, ndarray
from cuprous.scipy.special._orders import HIGHEST

_map = _core.map


def spherical_yn(n: Any, z: Any, derivative: bool = False) -> ndarray:
    """Computes the spherical Bessel function of the second kind, or its derivative. Waits for the device to read the
    highest order.

    Parameters
    ----------
    n : array_like
        Orders from 0 to 400; other numbers give NaN.
    z : array_like
        Real numbers.
    derivative : bool, default False
        Whether to return the derivative.

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
    yn, y0, y1

    Examples
    --------
    >>> cp.special.spherical_yn([0, 1], 1.0)
    array([-0.54030231, -1.38177329])
    """
    orders, points = _prepared((n, z))
    like = orders if isinstance(orders, ndarray) else points
    most = float(cp.max(orders)) if isinstance(orders, ndarray) and orders.size else 0.0
    most = most if isinstance(orders, ndarray) else float(orders)
    if most > HIGHEST:
        raise NotImplementedError(
            f"[spherical_yn] orders above {HIGHEST} are not supported: the highest given is {most:g}"
        )
    highest = int(most) if most >= 0.0 else 0

    @in_double
    def function(order: ndarray, x: ndarray) -> ndarray:
        value = _values(order, x, highest)
        if not derivative:
            return value
        lower = where(order == 0.0, -_values(order + 1.0, x, highest + 1), _values(order - 1.0, x, highest))
        # Beyond the largest number both terms are infinite; the second one is larger.
        slope = lower - where(order == 0.0, 0.0, (order + 1.0) / where(x == 0.0, 1.0, x) * value)
        slope = where(_map("isinf", x), 0.0, slope)
        return where(x == 0.0, where(order == 0.0, math.inf, math.nan), slope)

    return function(*(v if isinstance(v, ndarray) else _core.full((), v, like.dtype_name, like=like)
                      for v in (orders, points)))  # fmt: skip


def _values(n: ndarray, x: ndarray, highest: int) -> ndarray:
    """Computes y by forward recurrence, which is stable (DLMF 10.51.1)."""
    a = _map("absolute", x)
    safe = where(either(a == 0.0, a == math.inf), 1.0, a)
    sine, cosine = _map("sin", safe), _map("cos", safe)
    before = -cosine / safe
    value = (before - sine) / safe
    found = where(n == 0.0, before, value)
    for k in range(1, highest):
        following = value * ((2 * k + 1.0) / safe) - before
        before, value = value, where(value == -math.inf, value, following)
        found = where(n == k + 1.0, value, found)
    even = _map("remainder", n, 2.0) == 0.0
    found = where(x < 0.0, where(even, -found, found), found)
    found = where(a == 0.0, -math.inf, where(a == math.inf, 0.0, found))
    return where(either(n < 0.0, _map("floor", n) != n, isnan(x)), math.nan, found)
