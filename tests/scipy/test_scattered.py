"""Interpolation of scattered points against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import interpolate
from tests.support import assert_errors

from .compared import close

theirs = pytest.importorskip("scipy.interpolate")

RNG = np.random.default_rng(4)
POINTS = RNG.random((30, 2))
SITES = RNG.random((20, 2)) * 1.2 - 0.1
VALUES = {"real": RNG.random(30), "complex": RNG.random((30, 2, 3)) + 1j, "integer": np.arange(30)}
KERNELS = ["linear", "thin_plate_spline", "cubic", "quintic", "multiquadric", "inverse_multiquadric",
           "inverse_quadratic", "gaussian"]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
def test_radial_basis_functions(kernel: str) -> None:
    cases: list[dict[str, Any]] = [
        {}, {"neighbors": 7}, {"smoothing": 0.3}, {"smoothing": np.linspace(0, 1, 30)}, {"degree": 3}, {"epsilon": 2.5},
    ]  # fmt: skip
    for keywords in cases:
        keywords = {"kernel": kernel, "epsilon": 3.0, **keywords}
        for values in VALUES.values():
            ours = interpolate.RBFInterpolator(cp.asarray(POINTS), cp.asarray(values), **keywords)
            other = theirs.RBFInterpolator(POINTS, values, **keywords)
            close(ours(cp.asarray(SITES)), other(SITES), 1e-6)
    one = RNG.random((9, 1))
    ours = interpolate.RBFInterpolator(cp.asarray(one), cp.asarray(one[:, 0]), kernel=kernel, epsilon=1, degree=-1)
    close(ours(cp.asarray(SITES[:, :1])), theirs.RBFInterpolator(
        one, one[:, 0], kernel=kernel, epsilon=1, degree=-1)(SITES[:, :1]), 1e-3)  # fmt: skip


def test_parts_give_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = interpolate.RBFInterpolator(cp.asarray(POINTS), cp.asarray(VALUES["real"]))
    near = interpolate.NearestNDInterpolator(cp.asarray(POINTS), cp.asarray(VALUES["real"]))
    want = ours(cp.asarray(SITES)).get(), near(cp.asarray(SITES)).get()
    monkeypatch.setattr("cuprous.scipy._parts._PART", 64)
    close(ours(cp.asarray(SITES)), want[0])
    close(near(cp.asarray(SITES)), want[1])


@pytest.mark.parametrize("rescale", [False, True])
def test_nearest(rescale: bool) -> None:
    stretched = POINTS * [1, 50]
    for values in VALUES.values():
        ours = interpolate.NearestNDInterpolator(cp.asarray(stretched), cp.asarray(values), rescale=rescale)
        other = theirs.NearestNDInterpolator(stretched, values, rescale=rescale)
        sites = SITES * [1, 50]
        close(ours(cp.asarray(sites)), other(sites))
        close(ours(cp.asarray(sites[:, 0]), cp.asarray(sites[:, 1])), other(sites[:, 0], sites[:, 1]))
        close(ours(0.3, cp.asarray(sites[:, 1])), other(0.3, sites[:, 1]))
    line = interpolate.NearestNDInterpolator((cp.asarray(POINTS[:, 0]), cp.asarray(POINTS[:, 1])), cp.arange(30.0))
    close(line(cp.asarray(SITES), distance_upper_bound=0.05), theirs.NearestNDInterpolator(POINTS, np.arange(30.0))(
        SITES, distance_upper_bound=0.05))  # fmt: skip


def test_bad_input() -> None:
    rbf, y, d = interpolate.RBFInterpolator, cp.asarray(POINTS), cp.asarray(VALUES["real"])
    flat = y * 0.0
    assert_errors(
        (lambda: rbf(d, d), ValueError), (lambda: rbf(y, d[:3]), ValueError), (lambda: rbf(y, d)(d), ValueError),
        (lambda: rbf(y, d, smoothing=d[:3]), ValueError), (lambda: rbf(y, d, kernel="none"), ValueError),
        (lambda: rbf(y, d, kernel="gaussian"), ValueError), (lambda: rbf(y, d, degree=-2), ValueError),
        (lambda: rbf(y, d, degree=9), ValueError), (lambda: rbf(y, d)(y[:, :1]), ValueError),
        (lambda: rbf(flat, d), np.linalg.LinAlgError), (lambda: rbf(y, d, 2), ValueError),
        (lambda: interpolate.NearestNDInterpolator(y, d[:3]), ValueError),
        (lambda: interpolate.NearestNDInterpolator(y[:, :1], d), ValueError),
        (lambda: interpolate.NearestNDInterpolator(y, d)(y[:, :1], y[:, :1], y[:, :1]), ValueError),
        (lambda: interpolate.NearestNDInterpolator(y, d, tree_options={"leafsize": 3}), NotImplementedError),
    )  # fmt: skip
    with pytest.warns(UserWarning, match="degree"):
        rbf(y, d, degree=0)
