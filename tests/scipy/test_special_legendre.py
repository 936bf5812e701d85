"""Legendre functions, spherical harmonics, and inverses of discrete distributions against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_errors

theirs = pytest.importorskip("scipy.special")
special = cp.scipy.special


def near(name: str, *args: Any, rtol: float = 1e-10, atol: float = 0.0) -> None:
    """The function here gives what it gives in SciPy, NaN for NaN."""
    ours = getattr(special, name)(*(cp.asarray(a) if isinstance(a, np.ndarray) else a for a in args))
    want = np.asarray(getattr(theirs, name)(*args))
    assert (ours.shape, ours.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(ours.get(), want, rtol=rtol, atol=atol)


def test_legendre_functions() -> None:
    x = np.linspace(-1, 1, 41)
    for m in range(-3, 5):
        for v in (0, 1, 2, 3, 4, 7, 12, 50, -1, -3):
            values = theirs.lpmv(m, v, x)
            near("lpmv", m, v, x, atol=1e-12 * np.nanmax(np.abs(values), initial=1.0))
    m, v = np.meshgrid(np.arange(5.0), np.arange(8.0))
    near("lpmv", m, v, 0.3, atol=1e-12)
    near("lpmv", 1, 2, np.asarray([-1.5, 2.0, np.nan]))
    assert np.isnan(special.lpmv(0, 0.5, cp.asarray([0.3])).get()).all()
    assert special.lpmv(0, 2, cp.asarray([0.5], dtype="f4")).dtype == np.float32
    assert special.lpmv(cp.zeros(0), 2, cp.zeros(0)).shape == (0,)


def test_spherical_harmonics() -> None:
    theta, phi = np.linspace(-1, 4, 13), np.linspace(-4, 9, 9)[:, None]
    for n in range(-1, 6):
        for m in range(-n - 1, n + 2):
            near("sph_harm_y", n, m, theta, phi, atol=1e-13)
    near("sph_harm_y", 100, 60, theta, phi, rtol=1e-8, atol=1e-11)
    near("sph_harm_y", np.arange(4), np.arange(-1, 3), 0.3, 0.1, atol=1e-13)
    out = cp.empty(13, dtype="c16")
    assert special.sph_harm_y(2, 1, cp.asarray(theta), 0.1, out=out) is out
    np.testing.assert_allclose(out.get(), theirs.sph_harm_y(2, 1, theta, 0.1), atol=1e-13)
    assert_errors(
        (lambda: special.sph_harm_y(1, 0, 0.1, 0.2, diff_n=1), NotImplementedError),
        (lambda: special.sph_harm_y(1, 0, cp.ones(2), cp.ones(3)), ValueError),
        (lambda: special.sph_harm_y(1, 0, 1j, 0.2), TypeError),
    )


def test_inverses_of_discrete_distributions() -> None:
    y = np.concatenate([np.linspace(0, 1, 21), [-0.1, 1.1, np.nan]])
    for k in (0.0, 1.0, 3.0, -1.0):
        near("pdtri", k, y, rtol=1e-9)
        for n in (0, 1, 4, 10):
            near("bdtri", k, n, y, rtol=1e-9, atol=1e-14)
            for name in ("nbdtr", "nbdtrc", "nbdtri"):
                near(name, int(k), n, y, rtol=1e-9, atol=1e-14)
