"""Splines of uniform grids and symmetric filters against SciPy, and wavelets against their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import signal
from tests.support import assert_errors

from .compared import beside

theirs = pytest.importorskip("scipy.signal")

RNG = np.random.default_rng(17)
same = beside(theirs, signal)


def _random(shape: tuple[int, ...], dtype: str) -> Any:
    x = RNG.standard_normal(shape) * 5
    return (x + 1j * RNG.standard_normal(shape) if dtype.startswith("c") else x).astype(dtype)


def _rtol(dtype: str) -> float:
    return 2e-5 if dtype in ("float32", "complex64") else 1e-11


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int32"])
@pytest.mark.parametrize("shape", [(80,), (3, 70)])
def test_filters_of_one_pole(dtype: str, shape: tuple[int, ...]) -> None:
    x = _random(shape, dtype)
    for pole in (0.4, -0.6):
        same("symiirorder1", x, 0.3, pole, rtol=_rtol(dtype), atol=_rtol(dtype))
        same("symiirorder1", x, 0.3, pole, 0.01, rtol=_rtol(dtype), atol=_rtol(dtype))
    if dtype.startswith("c"):
        same("symiirorder1", x, 0.3, 0.3 + 0.4j, rtol=_rtol(dtype), atol=_rtol(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("omega", [0.0, 0.7, np.pi])
def test_filters_of_two_poles(dtype: str, omega: float) -> None:
    for shape in ((90,), (3, 80)):
        x = _random(shape, dtype)
        same("symiirorder2", x, 0.4, omega, rtol=_rtol(dtype), atol=_rtol(dtype))
        same("symiirorder2", x, 0.5, omega, 0.001, rtol=_rtol(dtype), atol=_rtol(dtype))


def test_what_filters_refuse() -> None:
    x, image = np.ones(50), np.ones((2, 2, 3))
    assert_errors(
        (lambda: signal.symiirorder1(x, 1.0, 1.5), ValueError, "z1"),
        (lambda: signal.symiirorder1(x[:3], 1.0, 0.5), ValueError, "did not converge"),
        (lambda: signal.symiirorder1(image, 1.0, 0.5), ValueError, "1D or 2D"),
        (lambda: signal.symiirorder1(2.0, 1.0, 0.5), ValueError, "too small"),
        (lambda: signal.symiirorder2(x, 1.0, 0.5), ValueError, "less than 1.0"),
        (lambda: signal.symiirorder2(x[:1], 0.5, 0.5), ValueError, "did not converge"),
        (lambda: signal.symiirorder2(x + 1j, 0.5, 0.5), TypeError, "Cannot cast"),
        (lambda: signal.cspline1d(x[:0]), IndexError),
        (lambda: signal.cspline1d(x[:1], 1.0), IndexError),
        (lambda: signal.cspline1d(image), ValueError),
        (lambda: signal.cspline1d(x, 0.001), ValueError),
        (lambda: signal.qspline1d(x, 1.0), ValueError, "Smoothing quadratic"),
        (lambda: signal.qspline2d(np.ones((30, 30)), 1), ValueError, "lambda"),
        (lambda: signal.cspline1d_eval([], [1.0]), ValueError, "must not be empty"),
        (lambda: signal.qspline1d_eval([], [1.0]), ValueError, "must not be empty"),
        (lambda: signal.spline_filter(np.ones((30, 30), int)), TypeError, "Invalid data type"),
        (lambda: signal.spline_filter(np.ones((30, 30), complex)), TypeError, "Cannot cast"),
        (lambda: signal.cwt(image, signal.ricker, [1.0]), ValueError, "vector"),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int32"])
def test_coefficients(dtype: str) -> None:
    x, image = _random((9,), dtype), _random((40, 50), dtype)
    for name in ("cspline1d", "qspline1d"):
        for count in (1, 2, 9):
            same(name, x[:count])
    same("cspline1d", x, 1.0)
    same("cspline1d", x[:4], 0.1)
    for name in ("cspline2d", "qspline2d"):
        same(name, image, rtol=_rtol(dtype), atol=_rtol(dtype))
        same(name, image, 0.0, 0.01, rtol=_rtol(dtype), atol=_rtol(dtype))
    if not dtype.startswith("c"):
        same("cspline2d", image, 0.5, rtol=_rtol(dtype), atol=_rtol(dtype))
    if dtype != "int32":
        same("spline_filter", image, 0.0, rtol=1e-5, atol=1e-5)
    if dtype.startswith("float"):
        same("spline_filter", image, rtol=_rtol(dtype), atol=_rtol(dtype))
        same("spline_filter", image, 0.1, rtol=_rtol(dtype), atol=_rtol(dtype))
    same("cspline2d", _random((30, 40, 35), dtype), rtol=_rtol(dtype), atol=10 * _rtol(dtype))


def test_values() -> None:
    points = np.concatenate([RNG.uniform(-30, 40, 50), np.arange(-12, 20) / 2])
    for dtype in ("float32", "float64", "complex64", "complex128"):
        cj = _random((9,), dtype)
        same("cspline1d_eval", cj, points, rtol=_rtol(dtype), atol=_rtol(dtype))
        same("cspline1d_eval", cj, points.reshape(2, -1), 0.5, 2, rtol=_rtol(dtype), atol=_rtol(dtype))
    for dtype in ("float32", "float64", "int32"):
        cj = _random((9,), dtype)
        same("qspline1d_eval", cj, points)
        same("qspline1d_eval", cj, points.astype("float32"), 0.5, 2, rtol=1e-4, atol=1e-4)
    cj = np.arange(4.0)
    for name in ("cspline1d_eval", "qspline1d_eval"):
        same(name, cj, np.zeros(0))
        same(name, cj, np.array(1.5))
        same(name, cj, np.array([np.nan, 1.0]))
        same(name, cj[:1], np.zeros(1))
    assert signal.cspline1d_eval(cp.arange(4), [1.0]).dtype == "float64"
    assert signal.cspline1d_eval([3.0], [0.0, 5.0]).tolist() == pytest.approx([3.0, 3.0])  # SciPy: RecursionError


def test_wavelets() -> None:
    low = RNG.standard_normal(5)
    assert signal.qmf(low).tolist() == (low[::-1] * [1, -1, 1, -1, 1]).tolist()
    assert signal.qmf([1, 2]).tolist() == [2, -1]
    for m, w, s in ((7, 5.0, 1.0), (8, 2.0, 0.5)):
        x = np.linspace(-s * 2 * np.pi, s * 2 * np.pi, m)
        plain = np.exp(1j * w * x) * np.exp(-0.5 * x**2) * np.pi**-0.25
        np.testing.assert_allclose(signal.morlet(m, w, s, complete=False).get(), plain, 1e-12)
        complete = plain - np.exp(-0.5 * w**2) * np.exp(-0.5 * x**2) * np.pi**-0.25
        np.testing.assert_allclose(signal.morlet(m, w, s).get(), complete, 1e-12)
        x = (np.arange(m) - (m - 1) / 2) / s
        wanted = np.sqrt(1 / s) * np.exp(1j * w * x) * np.exp(-0.5 * x**2) * np.pi**-0.25
        np.testing.assert_allclose(signal.morlet2(m, s, w).get(), wanted, 1e-12)
        hat = 2 / (np.sqrt(3 * s) * np.pi**0.25) * (1 - x**2) * np.exp(-0.5 * x**2)
        np.testing.assert_allclose(signal.ricker(m, s).get(), hat, 1e-12, 1e-15)


def test_wavelet_transforms() -> None:
    inside = pytest.importorskip("scipy.signal._wavelets")
    data, widths = RNG.standard_normal(60), np.array([1, 2, 5])
    found = signal.cwt(cp.asarray(data), signal.ricker, widths)
    np.testing.assert_allclose(found.get(), inside._cwt(data, inside._ricker, widths), 1e-10, 1e-12)
    found = signal.cwt(cp.asarray(data), signal.morlet2, cp.asarray(widths), w=3.0)
    wanted = inside._cwt(data, lambda m, s, w: signal.morlet2(m, s, w).get(), widths, w=3.0)
    assert found.dtype == "complex128"
    np.testing.assert_allclose(found.get(), wanted, 1e-10, 1e-12)
    assert signal.cwt(cp.asarray(data), signal.ricker, [1.0], dtype="float32").dtype == "float32"


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "float16", "float32", "complex64"])
def test_dtypes_of_separable_filters(dtype: str) -> None:
    x = _random((6, 7), dtype)
    rows, columns = np.ones(3, "float32"), np.array([0.5, 1.0, 0.25], "float32")
    expected = theirs.sepfir2d(x.astype("float32") if dtype == "float16" else x, rows, columns)
    found = signal.sepfir2d(cp.asarray(x), rows, columns)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.get(), expected, 1e-4, 1e-4)


def test_windows_of_even_extents() -> None:
    x = RNG.standard_normal((9, 10))
    for extents in (2, 4, (3, 4), (4, 1)):
        same("wiener", x, extents)
        same("wiener", x, extents, 0.5)


@pytest.mark.parametrize("zero_phase", [True, False])
def test_systems_that_decimate(zero_phase: bool) -> None:
    x = RNG.standard_normal((2, 200))
    b, a = theirs.cheby1(4, 0.05, 0.2)
    zeros, poles = [-1.0, -1.0], [0.5, 0.25]
    for system in ((b, a), (theirs.firwin(11, 0.25), 1.0), (zeros, poles, 0.1), (zeros, [0.5 + 0.2j, 0.1], 0.1)):
        expected = theirs.decimate(x, 4, ftype=theirs.dlti(*system), zero_phase=zero_phase)
        found = signal.decimate(cp.asarray(x), 4, ftype=signal.dlti(*system), zero_phase=zero_phase)
        np.testing.assert_allclose(found.get(), expected, 1e-8, 1e-9)
    for wrong in ("bogus", signal.lti([1.0], [1.0, 2.0])):
        with pytest.raises(ValueError, match="invalid ftype"):
            signal.decimate(cp.asarray(x), 4, ftype=wrong)


def test_data_of_prominences() -> None:
    for left, right in ((-1, 2), (0, 3), (2, 0)):
        data = (np.ones(1), np.array([left]), np.array([right]))
        with pytest.raises(ValueError, match="prominence data is invalid for peak 1"):
            signal.peak_widths([0.0, 1.0, 0.0], [1], prominence_data=data)
    data = (np.ones(1), np.array([0]), np.array([2]))
    assert signal.peak_widths([0.0, 1.0, 0.0], [1], prominence_data=data)[0].tolist() == [1.0]


def test_orders_of_stopbands() -> None:
    for kind in ("butter", "cheby", "ellip"):
        arguments = 3.5, 1, np.array([1.0, 4.0]), np.array([2.0, 3.0]), 1.0, 10.0, kind
        assert signal.band_stop_obj(*arguments) == theirs.band_stop_obj(*arguments)
    with pytest.raises(ValueError):
        signal.band_stop_obj(3.5, 1, [1.0, 4.0], [2.0, 3.0], 1.0, 10.0, "bogus")
    assert signal.BadCoefficients is theirs.BadCoefficients
