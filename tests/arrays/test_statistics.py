"""Histograms, quantiles, differences, interpolation, convolution, covariance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.fuzz.functions.rows import METHODS
from tests.support import alike, assert_same, check, sample


def test_bincount() -> None:
    a = np.abs(sample("int32", (30,)))
    check(lambda xp, x: xp.bincount(x), a)
    check(lambda xp, x: xp.bincount(x, minlength=20), a)
    check(lambda xp, x: xp.bincount(x, weights=xp.asarray(np.arange(x.size) / 2)), a)
    check(lambda xp, x: xp.bincount(x), a[:0])
    check(lambda xp, x: xp.bincount(x), -a)
    check(lambda xp, x: xp.bincount(x), a.astype(float))
    check(lambda xp, x: xp.bincount(x, minlength=-1), a)


def test_histogram() -> None:
    for a in (sample("float64", (50,)), sample("int32", (4, 9)), np.random.default_rng(3).normal(size=2000)):
        check(lambda xp, x: xp.histogram(x), a)
        check(lambda xp, x: xp.histogram(x, 7, (-2, 3.5)), a)
        check(lambda xp, x: xp.histogram(x, [-4, -1, 0, 0.5, 9]), a)
        check(lambda xp, x: xp.histogram(x, xp.asarray([-4.0, 0, 9]), density=True), a)
        check(lambda xp, x: xp.histogram(x, 5, weights=xp.ones_like(x) * 0.5), a)
        check(lambda xp, x: xp.histogram_bin_edges(x, 4), a)
    check(lambda xp, x: xp.histogram(x), np.zeros(3))
    check(lambda xp, x: xp.histogram(x), np.zeros(0))
    check(lambda xp, x: xp.histogram(x, 0), np.ones(3))
    check(lambda xp, x: xp.histogram(x, [3, 1]), np.ones(3))
    check(lambda xp, x: xp.histogram(x, 3, (2, 1)), np.ones(3))
    check(lambda xp, x: xp.histogram(x), np.array([1.0, np.nan]))
    check(lambda xp, x: xp.histogram(x, 4), sample("float32", (40,)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_on_the_edges_of_bins(dtype: str) -> None:
    for low, high in ((0, 1), (-3, 7), (1e-3, 3e5), (-1e30, 1e30), (1, 1 + 1e-5)):
        for bins in (3, 7, 10, 49):
            edges = np.linspace(low, high, bins + 1, dtype=dtype)
            near = [np.nextafter(edges, np.array(x, dtype)) for x in (-np.inf, np.inf)]
            check(lambda xp, x: xp.histogram(x, bins, (low, high)), np.concatenate([edges, *near]))  # noqa: B023


@pytest.mark.parametrize("name", ["auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges", "nonsense"])
def test_bin_count_estimators(name: str) -> None:
    rng = np.random.default_rng(8)
    for a in (rng.normal(size=300), rng.integers(0, 9, 80), rng.gamma(2, size=(20, 7)), np.zeros(5), np.zeros(0),
              np.ones(1), np.array([-100, 100], "int16"), rng.normal(size=50).astype("float32")):  # fmt: skip
        check(lambda xp, x: xp.histogram_bin_edges(x, name), a, rtol=1e-5)
        check(lambda xp, x: xp.histogram(x, name, (0, 2)), a, rtol=1e-5)
    check(lambda xp, x: xp.histogram(x, name, weights=x), np.ones(3))


def test_histogram_nd() -> None:
    a, b = sample("float64", (60,)), sample("float64", (60,), seed=4)
    for bins in (5, [3, 4], [np.array([-3.0, 0, 2]), 4]):
        alike(lambda xp, bins=bins: xp.histogram2d(xp.asarray(a), xp.asarray(b), bins))
    table = np.stack([a, b], 1)
    check(lambda xp, x: list(xp.histogramdd(x[:, :2], (3, 4), density=True)), table)


@pytest.mark.parametrize("method", METHODS)
def test_quantiles(method: str) -> None:
    for dtype in ("float64", "int32", "float32"):
        a = sample(dtype, (5, 8))
        for q in (0.0, 0.1, 0.5, 0.77, 1.0, [0.25, 0.5], np.array([[0.1, 0.9]])):
            for axis in (None, 0, 1, (0, 1)):
                check(
                    lambda xp, x, q=q, ax=axis: xp.quantile(x, q, axis=ax, method=method),
                    a,
                    rtol=1e-5,
                    dtype=dtype != "float32",
                )
    check(lambda xp, x: xp.percentile(x, [10, 50], axis=0, keepdims=True, method=method), sample("float64", (5, 8)))


def test_quantile_of_nan_and_errors() -> None:
    a = sample("float64", (5, 8))
    a[2, 3] = np.nan
    for name in ("median", "nanmedian"):
        for axis in (None, 0, 1):
            check(lambda xp, x, n=name, ax=axis: getattr(xp, n)(x, axis=ax), a)
    for axis in (None, 0, 1):
        check(lambda xp, x, ax=axis: xp.percentile(x, 30, axis=ax), a)
        for method in ("linear", "lower", "higher", "hazen"):
            check(lambda xp, x, ax=axis, m=method: xp.nanpercentile(x, [30, 75], axis=ax, method=m), a)
        check(lambda xp, x, ax=axis: xp.nanquantile(x, 0.3, axis=ax, keepdims=True), a)
    check(lambda xp, x: xp.quantile(x, 1.5), a)
    check(lambda xp, x: xp.percentile(x, -1), a)
    check(lambda xp, x: xp.quantile(x, 0.5, method="bogus"), a)
    check(lambda xp, x: xp.quantile(x, [], axis=1, keepdims=True), a)
    check(lambda xp, x: xp.quantile(x, [], axis=1, out=xp.zeros(7)), a)
    for dtype in ("int32", "float32", "float16", "bool"):
        if dtype != "bool":
            check(lambda xp, x: xp.median(x, axis=1, keepdims=True), sample(dtype, (3, 4)))
    check(lambda xp, x: xp.median(x), np.zeros(0))


def test_differences() -> None:
    for dtype in ("float64", "int32", "bool", "uint8"):
        a = sample(dtype, (4, 6))
        for n in (0, 1, 2):
            check(lambda xp, x, n=n: xp.diff(x, n), a)
            check(lambda xp, x, n=n: xp.diff(x, n, axis=0), a)
    a = sample("float64", (4, 6))
    check(lambda xp, x: xp.diff(x, prepend=0.0, append=xp.ones_like(x)[..., :2]), a)
    check(lambda xp, x: xp.diff(x, -1), a)
    check(lambda xp, x: xp.ediff1d(x, to_begin=9.0, to_end=[1.0, 2.0]), a)
    check(lambda xp, x: list(xp.gradient(x)) if x.ndim > 1 and min(x.shape) > 1 else 0, a)
    check(lambda xp, x: xp.gradient(x, 0.5, axis=-1), a)
    check(lambda xp, x: xp.gradient(x, axis=-1, edge_order=2), a)
    check(lambda xp, x: xp.gradient(x, xp.asarray([0.0, 1, 3, 4, 8, 9]), edge_order=2), a[0])
    check(lambda xp, x: xp.gradient(x, xp.asarray([0.0, 1, 3, 4, 8, 9])), a[0].astype(int))
    check(lambda xp, x: xp.trapezoid(x), a)
    check(lambda xp, x: xp.trapezoid(x, dx=0.5, axis=0), a)
    check(lambda xp, x: xp.trapezoid(x, xp.asarray(np.arange(x.shape[-1]) ** 2.0)), a)
    check(lambda xp, x: xp.unwrap(x * 2), a)
    check(lambda xp, x: xp.unwrap(x, period=5), sample("int64", (9,)))


def test_interp() -> None:
    xp_, fp = np.array([0.0, 1.0, 2.5, 4.0]), np.array([1.0, 3.0, -2.0, 0.0])
    x = np.linspace(-1, 5, 25)
    for kw in ({}, {"left": -9.0}, {"right": 7.0}, {"period": 3.5}):
        alike(lambda xp, kw=kw: xp.interp(xp.asarray(x), xp.asarray(xp_), xp.asarray(fp), **kw), atol=1e-14)
    alike(lambda xp: xp.interp(1.5, xp.asarray(xp_), xp.asarray(fp * 1j)))
    alike(lambda xp: xp.interp(xp.asarray(x), xp.asarray([1.0]), xp.asarray([2.0])))
    alike(lambda xp: xp.interp(xp.asarray(x), xp.asarray([]), xp.asarray([])))


def test_convolution() -> None:
    for first, second in [((7,), (3,)), ((3,), (7,)), ((4,), (4,)), ((1,), (1,)), ((0,), (3,))]:
        for dtype in ("float64", "int32", "complex128"):
            a, b = sample(dtype, first), sample(dtype, second, seed=1)
            for mode in ("full", "same", "valid"):
                for n in ("convolve", "correlate"):
                    alike(lambda xp, n=n, a=a, b=b, m=mode: getattr(xp, n)(xp.asarray(a), xp.asarray(b), m), atol=1e-12)


def test_covariance() -> None:
    a, b = sample("float64", (3, 8)), sample("float64", (3, 8), seed=1)
    check(lambda xp, x: xp.cov(x), a)
    check(lambda xp, x: xp.cov(x, rowvar=False, bias=True), a, atol=1e-14)
    check(lambda xp, x: xp.cov(x, ddof=0), a[0])
    check(lambda xp, x: xp.corrcoef(x), a, atol=1e-14)
    alike(lambda xp: xp.cov(xp.asarray(a), xp.asarray(b)))
    f, w = np.arange(1, 9), np.linspace(0.5, 1, 8)
    alike(lambda xp: xp.cov(xp.asarray(a), fweights=xp.asarray(f), aweights=xp.asarray(w)))
    for weights in ([1.5] * 8, [1, 2, 3, 4, 5, 6, 7, np.nan], np.full(8, 0.5)):
        for xp in (np, cp):
            with pytest.raises(TypeError, match="fweights must be integer"):
                xp.cov(xp.asarray(a), fweights=xp.asarray(weights))
    whole = [1.0, 2.0] * 4
    alike(lambda xp: xp.cov(xp.asarray(a), fweights=whole))
    check(lambda xp, x: xp.cov(x), sample("complex128", (2, 5)), atol=1e-13)
    assert_same(cp.corrcoef(cp.asarray(a[0]), cp.asarray(b[0])), np.corrcoef(a[0], b[0]))


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_without_nan(method: str) -> None:
    for dtype in ("float64", "float32", "int32"):
        a = sample(dtype, (5, 8))
        if dtype != "int32":
            a[1, 2:5] = np.nan
            a[3, :] = np.nan
            a[4, 1:] = np.nan
        for q in (0.0, 0.1, 0.5, 0.77, 1.0, [0.25, 0.5]):
            for axis in (None, 0, 1, (0, 1)):
                check(
                    lambda xp, x, q=q, ax=axis: xp.nanquantile(x, q, axis=ax, method=method),
                    a,
                    rtol=1e-5,
                    dtype=dtype != "float32",
                )
    for shape in ((0,), (0, 3), (2, 0, 3)):
        check(lambda xp, x: xp.nanquantile(x, [0.1, 0.2], axis=0, method=method), np.zeros(shape, "float32"))
        check(lambda xp, x: xp.nanquantile(x, 0.5, method=method, keepdims=True), np.zeros(shape))


def test_weighted_quantiles() -> None:
    rng = np.random.default_rng(2)
    whole, rows, columns = rng.integers(0, 4, (5, 8)) / 2, rng.random(5), rng.random(8)
    whole[:, 0] += 1
    whole[0, :] += 1
    for dtype in ("float64", "float32", "int32"):
        a = sample(dtype, (5, 8))
        for q in (0.0, 0.3, 0.5, 1.0, [0.25, 0.5], [[0.1, 0.2], [0.3, 0.4]]):
            for axis, w in ((None, whole), (0, whole), (1, whole), (0, rows), (1, columns), ((1, 0), whole.T)):
                weighted(a, w, q, axis)


def test_weighted_quantiles_with_nan_and_bad_weights() -> None:
    a = np.array([[1.0, np.nan, 3.0, 2.0], [np.nan] * 4, [4.0, 3.0, 2.0, 1.0]])
    good = np.array([[0.5, 1.0, 0.0, 2.0]] * 3)
    q = [0.0, 0.4, 1.0]
    for w in (good, -good, good * 0, good + np.inf, good[:, :3]):
        for axis in (None, 0, 1):
            weighted(a, w, q, axis)
            weighted(a, w, q, axis, name="nanquantile")
    weighted(a, good[0], q, None)
    weighted(a, good[0], q, 1, method="linear")
    # NumPy drops the weights of the wrong elements here.
    of_rows = cp.nanquantile(cp.asarray(a), q, axis=1, weights=cp.asarray(good[0]), method="inverted_cdf")
    assert_same(of_rows, np.nanquantile(a, q, axis=1, weights=good, method="inverted_cdf"))


def weighted(
    a: np.ndarray, w: np.ndarray, q: Any, axis: Any, name: str = "quantile", method: str = "inverted_cdf"
) -> None:
    """Compares a weighted quantile with NumPy's."""
    alike(lambda xp: getattr(xp, name)(xp.asarray(a), q, axis=axis, weights=xp.asarray(w), method=method))
