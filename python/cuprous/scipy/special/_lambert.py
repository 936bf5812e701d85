"""Lambert's W function."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._common.arguments import array
from cuprous._common.operands import is_scalar
from cuprous.scipy.special._composed import both, where
from cuprous.scipy.special._function import ndarray

_map = _core.map
#: The number of iterations after which every start has converged: each triples the number of correct digits.
_STEPS = 12


def lambertw(z: Any, k: Any = 0, tol: float = 1e-8) -> ndarray:
    """Returns the solutions w of w exp(w) = z (R. M. Corless et al., Adv. Comput. Math. 5 (1996)), as complex128.

    Parameters
    ----------
    z : array_like
        The arguments.
    k : array_like, default 0
        The branches, integers: 0 is the principal branch, and -1 the other one that is real for -1/e <= z < 0.
    tol : float, default 1e-08
        Ignored; results are always as accurate as rounding allows.

    Returns
    -------
    ndarray
        An array of complex128; near the branch point -1/e its relative error grows like the square root of z's.

    Examples
    --------
    >>> cp.special.lambertw([0.0, 1.0]).real
    array([0.        , 0.56714329])
    """
    a = array(z) if not is_scalar(z) else _core.full((), complex(z), "complex128")
    z, branch = _core.cast(a, "complex128"), k if is_scalar(k) else _core.cast(array(k), "float64")
    if not isinstance(branch, ndarray):
        branch = _core.full((), float(branch), "float64", like=z)

    re, im = _map("real", z), _map("imag", z)
    size = _map("absolute", z)
    known = both(size > 0.0, size < math.inf)
    safe = where(known, z, 1.0 + 0j)
    # Start: far from 0 from the branch's logarithms, near the branch point from a series in p.
    branch_angle = _core.cast(branch, "complex128") * (2j * math.pi)
    logarithm = _map("log", safe) + branch_angle
    w = logarithm - _map("log", where(_map("absolute", logarithm) == 0.0, 1.0 + 0j, logarithm))
    p = _map("sqrt", (safe * math.e + 1.0) * 2.0)
    series = p * (p * (p * (11.0 / 72.0) - 1.0 / 3.0) + 1.0) - 1.0
    near = _map("absolute", safe + math.exp(-1.0)) < 0.3
    w = where(both(near, branch == 0.0), series, w)
    # From above and on the axis, branch -1 starts at the same point; from below, branch 1 does.
    lower = p * (p * (p * (-11.0 / 72.0) - 1.0 / 3.0) - 1.0) - 1.0
    w = where(both(near, branch == -1.0, im >= 0.0), lower, w)
    w = where(both(near, branch == 1.0, im < 0.0), lower, w)
    axis = both(branch == -1.0, im == 0.0, re < 0.0, re > -0.1)
    least = _map("log", where(axis, -re, 0.5))
    w = where(axis, _core.cast(least - _map("log", -least), "complex128"), w)
    # In between: a rational function of the form z / (1 + z) that matches the first terms at 0.
    middle = both(branch == 0.0, re > -0.2, re < 1.5, _map("absolute", im) < 1.0, _map("logical_not", near))
    w = where(middle, safe * (safe * (4.0 / 3.0) + 1.0) / (safe * (safe * (5.0 / 6.0) + 7.0 / 3.0) + 1.0), w)
    for _ in range(_STEPS):
        # Halley's iteration, with the exponential on the side where it is small.
        right = _map("real", w) >= 0.0
        exponential = _map("exp", where(right, -w, w))
        excess = where(right, w - safe * exponential, w * exponential - safe)
        slope = where(right, w + 1.0, exponential * (w + 1.0))
        point = w == -1.0
        slope = slope - excess * (w + 2.0) / where(point, 1.0 + 0j, w * 2.0 + 2.0)
        w = where(point, w, w - excess / where(slope == 0.0, 1.0 + 0j, slope))
    zero = where(branch == 0.0, 0j, complex(-math.inf, 0.0))
    huge = where(re == math.inf, z + branch_angle, -z + (branch_angle + 1j * math.pi))
    return where(known, w, where(size == 0.0, zero, where(size == math.inf, huge, complex(math.nan, math.nan))))
