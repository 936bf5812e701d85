"""Analytic signals of two axes, division, synchrony, conditions on windows, and other small functions against SciPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import linalg, signal, stats
from tests.support import assert_errors

from .compared import beside

theirs = pytest.importorskip("scipy.signal")
their_linalg = pytest.importorskip("scipy.linalg")
their_stats = pytest.importorskip("scipy.stats")

RNG = np.random.default_rng(11)
same = beside(theirs, signal)


@pytest.mark.parametrize("shape", [(5, 6), (4, 7), (1, 3), (3, 4, 5)])
def test_analytic_signals_of_two_axes(shape: tuple[int, ...]) -> None:
    x = RNG.standard_normal(shape)
    same("hilbert2", x)
    same("hilbert2", x.astype("float32"), rtol=1e-5, atol=1e-6)
    same("hilbert2", x, 8)
    same("hilbert2", x, (3, 9))
    same("hilbert2", x, axes=(1, 0))
    same("hilbert2", x, axes=(0, -1))
    same("hilbert2", np.arange(6.0))
    assert_errors(
        (lambda: signal.hilbert2(x + 1j), ValueError, "must be real"),
        (lambda: signal.hilbert2(x, 0), ValueError, "positive"),
        (lambda: signal.hilbert2(x, (0, 2)), ValueError, "two positive"),
        (lambda: signal.hilbert2(x, axes=(1, 1)), ValueError, "distinct"),
        (lambda: signal.hilbert2(x, axes=(1,)), ValueError, "length 2"),  # type: ignore[arg-type]
    )


def test_division() -> None:
    a, b = RNG.standard_normal(9), RNG.standard_normal(4)
    same("deconvolve", a, b, rtol=1e-9, atol=1e-9)
    same("deconvolve", np.array([1, 5, 6, 1]), np.array([1, 2]))
    quotient, rest = signal.deconvolve(cp.asarray(b), cp.asarray(a))
    assert quotient == [] and rest.tolist() == b.tolist()
    with pytest.raises(ValueError, match="divisor must be non-empty"):
        signal.deconvolve(a, [])


def test_synchrony() -> None:
    events = RNG.random(20) * 7
    for period in (0.7, np.array([0.5, 1.0, 3.0]), np.array([2.0])):
        found = signal.vectorstrength(cp.asarray(events), cp.asarray(period))
        for mine, other in zip(found, theirs.vectorstrength(events, period), strict=True):
            assert mine.shape == np.shape(other)
            np.testing.assert_allclose(mine.get(), other, 1e-12)
    assert_errors(
        (lambda: signal.vectorstrength(events, 0.0), ValueError, "positive"),
        (lambda: signal.vectorstrength(events[None], 1.0), ValueError, "events cannot"),
        (lambda: signal.vectorstrength(events, np.ones((1, 1))), ValueError, "period cannot"),
    )


def test_windows_that_overlap() -> None:
    for arguments in (
        ("hann", 120, 60),
        ("hann", 120, 50),
        ("boxcar", 8, 0),
        (np.ones(6), 6, 4),
        (("tukey", 0.5), 9, 3),
    ):
        for name in ("check_COLA", "check_NOLA"):
            window, *rest = arguments
            moved = cp.asarray(window) if isinstance(window, np.ndarray) else window
            found = getattr(signal, name)(moved, *rest)
            assert found is bool(getattr(theirs, name)(*arguments))
    with pytest.raises(ValueError, match="noverlap must be less"):
        signal.check_COLA("hann", 4, 4)


def test_filters_of_rows_and_columns() -> None:
    x = RNG.standard_normal((9, 11))
    for rows, columns in ((np.array([1.0, 2.0, 4.0]), np.array([0.5, 3.0, 1.0, 2.0, 7.0])), (np.ones(1), np.ones(3))):
        same("sepfir2d", x, rows, columns, rtol=1e-10)
    assert_errors(
        (lambda: signal.sepfir2d(x, np.ones(2), np.ones(3)), ValueError, "odd"),
        (lambda: signal.sepfir2d(x[0], np.ones(3), np.ones(3)), ValueError),
    )
    for degree in (1, 3, 4):
        same("gauss_spline", np.linspace(-3, 3, 13), degree)
        same("gauss_spline", np.arange(3), degree)


def test_pentadiagonal_companions() -> None:
    for n in range(2, 9):
        a = RNG.standard_normal(n)
        np.testing.assert_allclose(
            linalg.fiedler_companion(cp.asarray(a)).get(), their_linalg.fiedler_companion(a), 1e-14
        )
    assert linalg.fiedler_companion([3.0]).shape == (0,)
    with pytest.raises(ValueError, match="Leading coefficient"):
        linalg.fiedler_companion([0.0, 1.0, 2.0])


def test_likelihood_of_box_cox() -> None:
    x = RNG.random((6, 4, 3)) * 5 + 0.1
    cases: list[Any] = [(x,), (x[:, 0, 0],), (x * 1e200,), (np.arange(1, 8),), (x.astype("float32"),)]
    for (data,) in cases:
        for lmb in (0.0, 0.5, -1.5, 3):
            for keywords in ({}, {"axis": -1}, {"axis": None}, {"keepdims": True}):
                found = stats.boxcox_llf(lmb, cp.asarray(data), **keywords)
                wanted = np.asarray(their_stats.boxcox_llf(lmb, data, **keywords))
                assert found.shape == wanted.shape
                tolerance = 1e-3 if data.dtype == "float32" else 1e-11
                np.testing.assert_allclose(found.get(), wanted, tolerance, 1e-5 if data.dtype == "float32" else 1e-9)
    near = stats.boxcox_llf(1e-12, cp.asarray(x))  # SciPy has four digits
    np.testing.assert_allclose(near.get(), their_stats.boxcox_llf(0.0, x), 1e-9, 1e-9)
    assert math.isnan(float(stats.boxcox_llf(1.0, cp.zeros(0))))
