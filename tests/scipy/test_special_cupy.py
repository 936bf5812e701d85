"""Special functions that CuPy has too: incomplete elliptic integrals, Bessel functions of the second kind, hyperbolic
integrals and the continued zeta function, against SciPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import special
from tests.support import assert_errors

scipy_special = pytest.importorskip("scipy.special")

ANGLES = np.concatenate([np.linspace(-12, 12, 97), [0.0, 1e-12, math.pi / 2, 1e-300, math.inf, -math.inf, math.nan]])
PARAMETERS = np.concatenate([np.linspace(-3, 0.99, 23), [1 - 1e-9, 1.0, -1e5, -math.inf, 1.5, math.nan]])[:, None]


def _same(name: str, *args: Any, rtol: float = 1e-13, atol: float = 1e-14) -> None:
    """Compares float64 and float32 with SciPy's float64."""
    with np.errstate(all="ignore"):
        wanted = getattr(scipy_special, name)(*args)
    found = getattr(special, name)(*map(cp.asarray, args))
    narrow = [np.asarray(a, "float32") for a in args]
    with np.errstate(all="ignore"):
        of_narrow = getattr(scipy_special, name)(*(a.astype("float64") for a in narrow))
    singles = getattr(special, name)(*map(cp.asarray, narrow))
    several = isinstance(wanted, tuple)
    for pair in zip(found, wanted, strict=True) if several else [(found, wanted)]:
        assert pair[0].dtype == np.float64
        np.testing.assert_allclose(pair[0].get(), pair[1], rtol, atol)
    for pair in zip(singles, of_narrow, strict=True) if several else [(singles, of_narrow)]:
        assert pair[0].dtype == np.float32
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(pair[0].get(), pair[1].astype("float32"), 1e-6, 1e-37)


def test_incomplete_elliptic_integrals() -> None:
    _same("ellipeinc", ANGLES, PARAMETERS, rtol=1e-12)
    # At odd multiples of pi/2 the integral with m = 1 has a pole, beside which rounding decides.
    _same("ellipkinc", ANGLES, PARAMETERS[np.abs(PARAMETERS[:, 0] - 1) > 1e-6], rtol=1e-12)
    near = np.linspace(-1.5, 1.5, 31)
    _same("ellipkinc", near, np.array([1.0, 1 - 1e-9])[:, None], rtol=1e-11)
    assert special.ellipkinc([2.0, -2.0], 1.0).tolist() == [math.inf, -math.inf]


def test_elliptic_functions() -> None:
    u = np.concatenate([np.linspace(-20, 20, 81), [0.0, 1e-9]])
    _same(
        "ellipj",
        u,
        np.concatenate([np.linspace(0, 0.99, 23), [1.0, -0.2, 1.5, math.nan]])[:, None],
        rtol=1e-11,
        atol=1e-12,
    )


def test_bessel_functions_of_the_second_kind() -> None:
    x = np.concatenate([np.linspace(0.05, 80, 90), [0.0, 1e-300, 1e-10, math.inf]])
    orders = np.array([0, 1, 2, 3, 7, 20, 60, -1, -2, -3])[:, None]
    known = x[np.isfinite(x)]
    with np.errstate(all="ignore"):
        wanted = scipy_special.yn(orders, known)
    found = special.yn(cp.asarray(orders), cp.asarray(known)).get()
    scale = np.maximum(np.abs(wanted), 1.0 / np.sqrt(np.maximum(known, 1.0)))
    finite = np.isfinite(wanted)
    assert np.max(np.abs(found[finite] - wanted[finite]) / scale[finite]) < 2e-12
    np.testing.assert_array_equal(found[~finite], wanted[~finite])
    assert special.yn([2, 3, 0], [math.inf, -1.0, math.nan]).tolist()[0] == 0.0  # SciPy has NaN; this is the limit
    assert np.isnan(special.yn([2, 3, 0.5], [-1.0, math.nan, 1.0]).get()).all()
    for derivative in (False, True):
        orders, sites = np.array([0, 1, 2, 5, 30])[:, None], np.concatenate([x, -x[x > 0], [math.nan]])
        with np.errstate(all="ignore"):
            wanted = scipy_special.spherical_yn(orders, sites, derivative)
        found = special.spherical_yn(cp.asarray(orders), cp.asarray(sites), derivative).get()
        np.testing.assert_allclose(found, wanted, 1e-11, 1e-14)
    assert special.spherical_yn(3, cp.asarray([1.0], "float32")).dtype == np.float32
    assert_errors(
        (lambda: special.yn(401, [1.0]), NotImplementedError, "orders above 400"),
        (lambda: special.spherical_yn([401], 1.0), NotImplementedError, "orders above 400"),
        (lambda: special.yn(1, [1j]), TypeError),
    )


def test_hyperbolic_integrals() -> None:
    x = np.concatenate([np.linspace(-30, 30, 121), np.logspace(-300, 2.8, 80), [0.0, math.inf, -math.inf, math.nan]])
    wide = x[~((np.abs(x) > 85) & np.isfinite(x))]
    _same("shichi", wide, rtol=1e-13, atol=3e-16)
    found, wanted = special.shichi(cp.asarray(x)), scipy_special.shichi(x)
    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine.get(), other, 1e-13, 3e-16)


def test_zeta_minus_one() -> None:
    x = np.concatenate([np.linspace(-30, 30, 241), [0.99, 1 + 1e-9, 100.0, 900.0, -100.5, -170.3, -200.0, -220.5]])
    edges = np.array([math.inf, -math.inf, math.nan, 1.0, 0.0, -2.0])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(special.zetac(cp.asarray(x)).get(), scipy_special.zetac(x), 1e-12, 1e-40)
        np.testing.assert_allclose(special.zetac(cp.asarray(edges)).get(), scipy_special.zetac(edges), 1e-15, 0)


def test_rounding_and_older_names() -> None:
    _same("round", np.array([0.5, 1.5, 2.5, -0.5, -1.2, 1e30, math.inf, math.nan]))
    assert special.btdtr is special.betainc and special.btdtri is special.betaincinv
