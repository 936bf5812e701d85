"""`cuprous.scipy.stats`' tests and their p-values against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import stats
from tests.support import assert_errors

from .compared import moved

theirs = pytest.importorskip("scipy.stats")
pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(11)
X, Y = RNG.normal(size=(14, 5)), RNG.normal(size=(14, 5)) * 1.5 + 0.4
COUNTS = RNG.integers(5, 40, (8, 3))
ALTERNATIVES = ["two-sided", "less", "greater"]


def agree(name: str, *args: Any, rtol: float = 1e-11, **kwargs: Any) -> Any:
    """The same fields: same shapes and values."""
    expected = getattr(theirs, name)(*args, **kwargs)
    ours = getattr(stats, name)(*moved(args), **{k: moved(v) for k, v in kwargs.items()})
    fields = ("statistic", "pvalue", *(["df"] if name.startswith("ttest") else []))
    for field in fields:
        mine, its = getattr(ours, field), np.asarray(getattr(expected, field))
        assert mine.shape == its.shape, field
        np.testing.assert_allclose(mine.get(), its, rtol=rtol, atol=1e-15)
    return ours, expected


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("axis", [0, 1, None])
def test_means(axis: int | None, alternative: str) -> None:
    options = {"axis": axis, "alternative": alternative}
    spoiled = X.copy()
    spoiled[2, 3] = np.nan
    for ours, expected in (
        agree("ttest_1samp", X, 0.3, **options),
        agree("ttest_1samp", spoiled, 0.3, keepdims=True, **options),
        agree("ttest_ind", X, Y, **options),
        agree("ttest_ind", X, Y, equal_var=False, **options),
        agree("ttest_rel", X, Y, **options),
    ):
        for mine, its in zip(ours.confidence_interval(0.9), expected.confidence_interval(0.9), strict=True):
            np.testing.assert_allclose(mine.get(), its, rtol=1e-10)
    agree("ttest_ind", X.T[:, ::-2].T, Y[:9], axis=0, alternative=alternative)
    agree("f_oneway", X, Y, X[:7] + 0.2, axis=0)


def test_means_by_numbers() -> None:
    args = (1.0, 2.0, 10, 2.5, 1.5, 12)
    for equal_var in (True, False):
        expected = theirs.ttest_ind_from_stats(*args, equal_var)
        ours = stats.ttest_ind_from_stats(*args, equal_var)
        np.testing.assert_allclose([float(v) for v in ours], [*expected], rtol=1e-12)


def test_counts_and_variances() -> None:
    for axis in (0, 1, None):
        agree("chisquare", COUNTS, axis=axis, ddof=1)
        expected = COUNTS[::-1, ::-1].copy() if axis is None else np.roll(COUNTS, 1, axis)
        agree("chisquare", COUNTS, expected, axis=axis)
        for name in ("bartlett", "levene", "f_oneway"):
            agree(name, X, Y, X**2, axis=axis)
        agree("levene", X, Y, center="mean", axis=axis)
        agree("levene", X, Y, center="trimmed", proportiontocut=0.15, axis=axis)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_normality(axis: int | None) -> None:
    x = RNG.gamma(4.0, size=(11, 12))
    for name in ("skewtest", "kurtosistest", "normaltest", "jarque_bera"):
        agree(name, x, axis=axis)
    for alternative in ALTERNATIVES:
        agree("skewtest", x, axis=axis, alternative=alternative)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_correlation(alternative: str) -> None:
    for axis in (0, 1):
        ours, expected = agree("pearsonr", X, Y + X, axis=axis, alternative=alternative)
        for mine, its in zip(ours.confidence_interval(), expected.confidence_interval(), strict=True):
            np.testing.assert_allclose(mine.get(), its, rtol=1e-10)
        agree("spearmanr", np.round(X, 1), axis=axis, alternative=alternative)
        agree("spearmanr", X, Y, axis=axis, alternative=alternative)
    agree("spearmanr", X[:, 0], Y[:, 0], alternative=alternative)
    agree("spearmanr", X, Y, axis=None, alternative=alternative)
    agree("pearsonr", X[:2, 0], Y[:2, 0], alternative=alternative)
    expected = theirs.linregress(X[:, 0], Y[:, 0], alternative)
    ours = stats.linregress(cp.asarray(X[:, 0]), cp.asarray(Y[:, 0]), alternative)
    np.testing.assert_allclose(float(ours.pvalue), expected.pvalue, rtol=1e-11)


def test_descriptions() -> None:
    for x in (X, COUNTS):
        for axis in (0, 1, None):
            ours, expected = stats.describe(cp.asarray(x), axis), theirs.describe(x, axis)
            assert ours.nobs == expected.nobs
            for mine, its in zip((*ours.minmax, *ours[2:]), (*expected.minmax, *expected[2:]), strict=True):
                np.testing.assert_allclose(mine.get(), its, rtol=1e-11)
            for keepdims in (True, False):
                values = x // 3 if x is COUNTS else np.round(x)
                found, wanted = stats.mode(cp.asarray(values), axis, keepdims=keepdims), theirs.mode(
                    values, axis, keepdims=keepdims)  # fmt: skip
                for mine, its in zip(found, wanted, strict=True):
                    assert (mine.dtype, mine.shape) == (its.dtype, its.shape)
                    np.testing.assert_array_equal(mine.get(), its)
            for scale in (1.0, "normal"):
                mine, its = stats.median_abs_deviation(cp.asarray(x), axis, scale=scale), theirs.median_abs_deviation(
                    x, axis, scale=scale)  # fmt: skip
                np.testing.assert_allclose(mine.get(), its, rtol=1e-12)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks_along_axes(method: str) -> None:
    x = np.round(RNG.normal(size=(4, 6, 3)), 1)
    x[1, 2, 0] = np.nan
    for axis in (0, 1, -1):
        np.testing.assert_array_equal(stats.rankdata(cp.asarray(x), method, axis=axis).get(),
                                      theirs.rankdata(x, method, axis=axis))  # fmt: skip


def test_errors() -> None:
    a = cp.asarray(X)
    assert_errors(
        (lambda: stats.ttest_ind(a, a, alternative="more"), ValueError, "alternative"),
        (lambda: stats.ttest_ind(a, a, trim=0.1), NotImplementedError, "trim"),
        (lambda: stats.ttest_ind(a, a[:, :2]), ValueError, "incompatible"),
        (lambda: stats.ttest_rel(a, a[:3]), ValueError, "incompatible"),
        (lambda: stats.ttest_1samp(a, 0.0, axis=2), np.exceptions.AxisError, "axis 2"),
        (lambda: stats.ttest_1samp(a, 0.0, nan_policy="omit"), NotImplementedError, "nan_policy"),
        (lambda: stats.ttest_1samp(a * 1j, 0.0), TypeError, "complex"),
        (lambda: stats.ttest_1samp(a, 0.0).confidence_interval(2.0), ValueError, "confidence_level"),
        (lambda: stats.chisquare(cp.ones(3), cp.ones(3) * 2), ValueError, "sum of the observed"),
        (lambda: stats.f_oneway(a), TypeError, "two inputs"),
        (lambda: stats.levene(a), ValueError, "two samples"),
        (lambda: stats.pearsonr(a, a[:3]), ValueError, "same length"),
        (lambda: stats.pearsonr(a, a, method=1), NotImplementedError, "method"),
        (lambda: stats.spearmanr(a, axis=2), ValueError, "axis"),
        (lambda: stats.spearmanr(a[:, 0]), ValueError, "2 variables"),
        (lambda: stats.describe(cp.zeros(0)), ValueError, "empty"),
        (lambda: stats.wilcoxon(a, a), NotImplementedError, "scipy.stats"),
    )


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("ties", [False, True])
def test_two_samples_by_ranks(ties: bool, alternative: str) -> None:
    for m, n in ((3, 5), (9, 20), (7, 60)):
        x, y = RNG.normal(size=(m, 2)), RNG.normal(size=(n, 2)) + 0.3
        x, y = (np.round(x), np.round(y)) if ties else (x, y)
        for method in ("auto", "asymptotic") if ties or n > 20 else ("auto", "asymptotic", "exact"):
            agree("mannwhitneyu", x, y, True, alternative, 0, method)
        agree("mannwhitneyu", x, y.T, False, alternative, axis=None, keepdims=True)
        for method in ("exact", "asymp"):
            ours, expected = agree("ks_2samp", x, y, alternative, method)
            # SciPy's versions differ in which side they name where both are as far apart.
            sides = [theirs.ks_2samp(x, y, side).statistic for side in ("less", "greater")]
            clear = np.full(2, True) if alternative != "two-sided" else sides[0] != sides[1]
            np.testing.assert_array_equal(ours.statistic_location.get()[clear], expected.statistic_location[clear])
            np.testing.assert_array_equal(ours.statistic_sign.get()[clear], expected.statistic_sign[clear])
        for method in ("auto", "asymptotic") if ties else ("auto", "asymptotic", "exact"):
            for variant in "bc":
                options = {"method": method, "variant": variant, "alternative": alternative}
                agree("kendalltau", y[:, 0], y[:, 1] + y[:, 0], **options)


def test_ranks_of_nan_and_of_nothing() -> None:
    x = np.array([1.0, np.nan, 3.0])
    for name in ("mannwhitneyu", "ks_2samp", "kendalltau"):
        agree(name, x, np.arange(3.0))
        agree(name, x[:0], x[:0])
    agree("kendalltau", np.arange(50.0), np.arange(50.0)[::-1])  # counted, however long
    agree("kendalltau", np.ones(5), np.arange(5.0))
    agree("ks_2samp", np.arange(60.0), np.arange(30.0) + 17.5, method="asymp")
    for call, text in (
        (lambda: stats.mannwhitneyu(cp.ones(3), cp.ones(3), alternative="more"), "alternative"),
        (lambda: stats.mannwhitneyu(cp.ones(3), cp.ones(3), method="fast"), "method"),
        (lambda: stats.ks_2samp(cp.ones(3), cp.ones(3), method="fast"), "method"),
        (lambda: stats.kendalltau(cp.ones(3), cp.ones(4)), "broadcast"),
        (lambda: stats.kendalltau(cp.ones(3), cp.arange(3), variant="a"), "variant"),
        (lambda: stats.kendalltau(cp.asarray([1, 1, 2]), cp.arange(3), method="exact"), "Ties"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


@pytest.mark.parametrize("n", [1, 5, 141, 1000, 200_000])
def test_kolmogorovs_distribution(n: int) -> None:
    from cuprous.scipy.stats._kolmogorov import two_sided

    for z in (0.3, 0.6, 1.0, 1.45, 1.6, 3.0):
        d = z / n**0.5
        np.testing.assert_allclose(two_sided(n, d), theirs.kstwo.sf(d, n), rtol=1e-8)
