"""Tests of means, variances, counts and normality, with p-values."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import cuprous as cp
from cuprous import _core
from cuprous._common.arguments import array, broadcast_shapes
from cuprous._common.operands import on_array_device
from cuprous.scipy.special import chdtrc, fdtrc
from cuprous.scipy.stats._moments import _kept, kurtosis, sample, significance, skew
from cuprous.scipy.stats._order import trim_mean
from cuprous.scipy.stats._results import (
    SignificanceResult,
    TtestResult,
    check_alternative,
    ndarray,
    normal_pvalue,
    student_pvalue,
)

_map = _core.map


class DescribeResult(NamedTuple):
    """The result of `describe`."""

    nobs: int
    minmax: Any
    mean: Any
    variance: Any
    skewness: Any
    kurtosis: Any


def _tested(
    estimate: ndarray, error: ndarray, df: Any, alternative: str, a: Any, axis: Any, keepdims: bool
) -> TtestResult:
    check_alternative(alternative)
    t = estimate / error
    df = df if isinstance(df, ndarray) else _core.full((), float(df), "float64")
    p = student_pvalue(df, t, alternative)
    results = [_kept(v, a, axis, keepdims) for v in (t, p, estimate, error)]
    spread = _map("where", cp.isnan(estimate), math.nan, df)
    return TtestResult(results[0], results[1], _kept(spread, a, axis, keepdims), results[2], results[3], alternative)


@on_array_device
def ttest_1samp(
    a: Any, popmean: Any, axis: int | None = 0, nan_policy: str = "propagate", alternative: str = "two-sided", *,
    keepdims: bool = False,
) -> TtestResult:  # fmt: skip
    """Tests whether the mean of a sample is `popmean`.

    Parameters
    ----------
    a : array_like
        Samples along `axis` (None flattens them).
    popmean : array_like
        A number, or an array that broadcasts with the means and has extent 1 along the axis.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    nan_policy : str, default "propagate"
        Must be "propagate".
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        "two-sided", "less" or "greater".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    TtestResult
        A result with `statistic`, `pvalue` and `df`.

    Raises
    ------
    ValueError
        For an unknown alternative or policy, and for a `popmean` that does not broadcast.
    NotImplementedError
        For policies other than "propagate".

    See Also
    --------
    scipy.stats.ttest_ind, scipy.stats.ttest_rel

    Examples
    --------
    >>> cp.scipy.stats.ttest_1samp([1.0, 2.0, 3.0, 4.0], 2.0).statistic
    array(0.77459667)
    """
    x, along = sample(a, axis, "ttest_1samp", nan_policy)
    n = x.shape[along]
    expected = popmean
    if not isinstance(popmean, (int, float)):
        expected = array(popmean)
        if expected.ndim and axis is not None:
            if expected.ndim == x.ndim and expected.shape[along] != 1:
                raise ValueError("`popmean.shape[axis]` must equal 1.")
            expected = cp.squeeze(expected, along) if expected.ndim == x.ndim else expected
    mean = cp.mean(x, axis=along)
    error = cp.std(x, axis=along, ddof=1) / math.sqrt(max(n, 1))
    result = _tested(mean - expected, error, n - 1, alternative, a, axis, keepdims)
    result._estimate = _kept(mean, a, axis, keepdims)
    return result


@on_array_device
def ttest_rel(
    a: Any, b: Any, axis: int | None = 0, nan_policy: str = "propagate", alternative: str = "two-sided", *,
    keepdims: bool = False,
) -> TtestResult:  # fmt: skip
    """Tests whether the mean difference of pairs is 0.

    Parameters
    ----------
    a : array_like
        The first samples.
    b : array_like
        The second samples, of the same length.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    nan_policy : str, default "propagate"
        Must be "propagate".
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        "two-sided", "less" or "greater".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    TtestResult
        A result with `statistic`, `pvalue` and `df`.

    Raises
    ------
    ValueError
        For an unknown alternative or policy, and for samples of different lengths.

    See Also
    --------
    scipy.stats.ttest_1samp, scipy.stats.ttest_ind

    Examples
    --------
    >>> cp.scipy.stats.ttest_rel([1.0, 2.0, 3.0], [2.0, 3.0, 5.0]).statistic
    array(-4.)
    """
    x, along = sample(a, axis, "ttest_rel", nan_policy)
    y, _ = sample(b, axis, "ttest_rel", nan_policy)
    if x.ndim != y.ndim or x.shape[along] != y.shape[along]:
        raise ValueError("Array shapes are incompatible for broadcasting.")
    return ttest_1samp((x - y) if axis is not None else (x - y).reshape(array(a).shape), 0.0, axis, nan_policy,
                       alternative, keepdims=keepdims)  # fmt: skip


def _independent(
    means: tuple[Any, Any], variances: tuple[Any, Any], counts: tuple[Any, Any], equal_var: bool
) -> tuple[Any, Any, Any]:
    """Returns the difference of means, its standard error, and the degrees of freedom."""
    (v1, v2), (n1, n2) = variances, counts
    if equal_var:
        df = n1 + n2 - 2.0
        pooled = ((n1 - 1.0) * v1 + (n2 - 1.0) * v2) / (df if isinstance(df, ndarray) or df else math.nan)
        return means[0] - means[1], _map("sqrt", pooled * (1.0 / n1 + 1.0 / n2)), df
    first, second = v1 / n1, v2 / n2
    total = first + second
    df = total * total / (first * first / (n1 - 1.0) + second * second / (n2 - 1.0))
    return means[0] - means[1], _map("sqrt", total), _map("where", cp.isnan(df), 1.0, df)


@on_array_device
def ttest_ind(
    a: Any, b: Any, *, axis: int | None = 0, equal_var: bool = True, nan_policy: str = "propagate",
    alternative: str = "two-sided", trim: float = 0, method: Any = None, keepdims: bool = False,
) -> TtestResult:  # fmt: skip
    """Tests whether two samples have the same mean.

    Parameters
    ----------
    a : array_like
        The first samples.
    b : array_like
        The second samples, which broadcast along other axes.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    equal_var : bool, default True
        Whether to assume equal variances; if false, performs Welch's test.
    nan_policy : str, default "propagate"
        Must be "propagate".
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        "two-sided", "less" or "greater".
    trim : float, default 0
        Must be 0.
    method : str, optional
        Must be None.
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    TtestResult
        A result with `statistic`, `pvalue` and `df`.

    Raises
    ------
    ValueError
        As for `ttest_1samp`, and for samples that do not broadcast along other axes.
    NotImplementedError
        For `trim` and `method`.

    See Also
    --------
    scipy.stats.ttest_rel, scipy.stats.ttest_1samp

    Examples
    --------
    >>> cp.scipy.stats.ttest_ind([1.0, 2.0, 3.0], [2.0, 3.0, 5.0]).statistic
    array(-1.26491106)
    """
    for name, value in (("trim", trim), ("method", method)):
        if value:
            raise NotImplementedError(f"[ttest_ind] {name}={value!r} is not supported")
    x, along = sample(a, axis, "ttest_ind", nan_policy)
    y, other = sample(b, axis, "ttest_ind", nan_policy)
    outer = [tuple(n for i, n in enumerate(v.shape) if i != k) for v, k in ((x, along), (y, other))]
    try:
        broadcast_shapes(*outer)
    except ValueError as error:
        raise ValueError("Array shapes are incompatible for broadcasting.") from error
    counts = float(x.shape[along]), float(y.shape[other])
    means = cp.mean(x, axis=along), cp.mean(y, axis=other)
    variances = cp.var(x, axis=along, ddof=1), cp.var(y, axis=other, ddof=1)
    if 0.0 in counts:
        counts = math.nan, math.nan
    difference, spread, df = _independent(means, variances, counts, equal_var)
    return _tested(difference, spread, df, alternative, a, axis, keepdims)


@on_array_device
def ttest_ind_from_stats(
    mean1: Any, std1: Any, nobs1: Any, mean2: Any, std2: Any, nobs2: Any, equal_var: bool = True,
    alternative: str = "two-sided",
) -> TtestResult:  # fmt: skip
    """Performs `ttest_ind` with the means, standard deviations and sizes of the samples.

    Parameters
    ----------
    mean1 : array_like
        The mean of the first sample; as the other arguments a scalar or an array.
    std1 : array_like
        Its standard deviation, with n - 1 degrees of freedom.
    nobs1 : int
        Its size.
    mean2 : array_like
        The mean of the second sample.
    std2 : array_like
        Its standard deviation.
    nobs2 : int
        Its size.
    equal_var : bool, default True
        Whether to assume equal variances; if false, performs Welch's test.
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        "two-sided", "less" or "greater".

    Returns
    -------
    TtestResult
        A result with `statistic` and `pvalue`.

    Raises
    ------
    ValueError
        For an unknown alternative.

    See Also
    --------
    cuprous.scipy.stats.ttest_ind

    Examples
    --------
    >>> cp.scipy.stats.ttest_ind_from_stats(2.0, 1.0, 3, 3.0, 1.0, 3).statistic
    array(-1.22474487)
    """
    operands = [array(v) for v in (mean1, std1, nobs1, mean2, std2, nobs2)]
    if any(v.dtype.kind == "c" for v in operands):
        raise TypeError("[ttest_ind_from_stats] complex numbers are not supported")
    values = [_core.cast(v, "float64") for v in operands]
    m1, s1, n1, m2, s2, n2 = values
    difference, error, df = _independent((m1, m2), (s1 * s1, s2 * s2), (n1, n2), equal_var)
    return _tested(difference, error, df, alternative, difference, None, False)


def chisquare(
    f_obs: Any, f_exp: Any = None, ddof: int = 0, axis: int | None = 0, *, sum_check: bool = True,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> SignificanceResult:  # fmt: skip
    """Tests whether counts are as expected (all equal, without `f_exp`).

    Parameters
    ----------
    f_obs : array_like
        The counts along `axis`.
    f_exp : array_like, optional
        The expected counts, of the same shape or broadcasting.
    ddof : int, default 0
        The number of degrees of freedom to subtract.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    sum_check : bool, default True
        Whether to check that observed and expected counts have the same sum, which waits for the device.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    SignificanceResult
        A result with `statistic` and `pvalue`.

    Raises
    ------
    ValueError
        For different sums, and an unknown policy.

    See Also
    --------
    scipy.stats.f_oneway, scipy.stats.ks_2samp

    Examples
    --------
    >>> cp.scipy.stats.chisquare([16, 18, 16, 14, 12, 12]).statistic
    array(2.)
    """
    x, along = sample(f_obs, axis, "chisquare", nan_policy)
    if f_exp is None:
        expected = cp.mean(x, axis=along, keepdims=True)
    else:
        expected, _ = sample(f_exp, axis, "chisquare", nan_policy)
        x, expected = cp.broadcast_arrays(x, expected)
        if sum_check:
            mine, its = cp.sum(x, axis=along), cp.sum(expected, axis=along)
            least = _map("minimum", mine, its)
            if bool(cp.any(_map("absolute", mine - its) / least > 2.0**-26)):
                raise ValueError("For each axis slice, the sum of the observed frequencies must agree with the sum of "
                                 "the expected frequencies to a relative tolerance of 1.5e-08.")  # fmt: skip
    statistic = cp.sum((x - expected) ** 2 / expected, axis=along)
    return significance(statistic, chdtrc(float(x.shape[along] - 1 - ddof), statistic), f_obs, axis, keepdims)


def _variance_ratio(groups: list[ndarray], axis: int) -> tuple[ndarray, ndarray]:
    """Returns Fisher's F, the ratio of the variance between groups to that within, and its p-value."""
    counts = [g.shape[axis] for g in groups]
    total, k = sum(counts), len(groups)
    grand_mean = sum(cp.sum(g, axis=axis, keepdims=True) for g in groups) / float(total)
    groups = [g - grand_mean for g in groups]  # reduces cancellation
    means = [cp.mean(g, axis=axis, keepdims=True) for g in groups]
    between: Any = sum(cp.squeeze(m * m, axis) * float(n) for m, n in zip(means, counts, strict=True))
    within = sum(cp.sum((g - m) ** 2, axis=axis) for g, m in zip(groups, means, strict=True))
    f = (between / float(k - 1)) / (within / (float(total - k) if total > k else math.nan))
    return f, fdtrc(float(k - 1), float(total - k), f)


def _groups(samples: tuple[Any, ...], axis: int | None, name: str, nan_policy: str) -> tuple[list[ndarray], int]:
    found = [sample(s, axis, name, nan_policy) for s in samples]
    return [x for x, _ in found], found[0][1]


def f_oneway(
    *samples: Any, axis: int | None = 0, equal_var: bool = True, nan_policy: str = "propagate", keepdims: bool = False
) -> SignificanceResult:
    """Tests whether several samples have the same mean (analysis of variance).

    Parameters
    ----------
    *samples : array_like
        The samples, two or more arrays.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    equal_var : bool, default True
        Must be True.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    SignificanceResult
        A result with `statistic` and `pvalue`.

    Raises
    ------
    TypeError
        For fewer than two samples.
    NotImplementedError
        If `equal_var` is false.

    See Also
    --------
    scipy.stats.ks_2samp, scipy.stats.chisquare

    Examples
    --------
    >>> cp.scipy.stats.f_oneway([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]).statistic
    array(1.5)
    """
    if len(samples) < 2:
        raise TypeError(f"at least two inputs are required; got {len(samples)}.")
    if not equal_var:
        raise NotImplementedError("[f_oneway] equal_var=False is not supported; use ttest_ind for pairs")
    groups, along = _groups(samples, axis, "f_oneway", nan_policy)
    return significance(*_variance_ratio(groups, along), samples[0], axis, keepdims)


def levene(
    *samples: Any, center: str = "median", proportiontocut: float = 0.05, axis: int | None = 0,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> SignificanceResult:  # fmt: skip
    """Tests whether several samples have the same variance: `f_oneway` of the distances from their centers.

    Parameters
    ----------
    *samples : array_like
        As for `f_oneway`.
    axis : int or None, default 0
        As for `f_oneway`.
    nan_policy : str, default "propagate"
        As for `f_oneway`.
    keepdims : bool, default False
        As for `f_oneway`.
    center : str, default "median"
        The center: "mean", "median", or "trimmed" (the mean without a fraction of elements at each end).
    proportiontocut : float, default 0.05
        That fraction, for "trimmed".
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    SignificanceResult
        A result with `statistic` and `pvalue`.

    Raises
    ------
    ValueError
        For fewer than two samples, unknown centers, and a fraction that leaves no elements.

    See Also
    --------
    bartlett

    Examples
    --------
    >>> cp.scipy.stats.levene([1.0, 2.0, 3.0], [1.0, 5.0, 9.0]).statistic
    array(2.11764706)
    """
    if len(samples) < 2:
        raise ValueError("Must provide at least two samples.")
    if center not in ("mean", "median", "trimmed"):
        raise ValueError("center must be 'mean', 'median' or 'trimmed'.")
    groups, along = _groups(samples, axis, "levene", nan_policy)

    def middle(group: ndarray) -> ndarray:
        if center == "trimmed":
            return trim_mean(group, proportiontocut, along, keepdims=True)
        return (cp.median if center == "median" else cp.mean)(group, axis=along, keepdims=True)

    distances = [_map("absolute", g - middle(g)) for g in groups]
    return significance(*_variance_ratio(distances, along), samples[0], axis, keepdims)


def bartlett(
    *samples: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> SignificanceResult:
    """Tests whether several samples from normal distributions have the same variance.

    Parameters
    ----------
    *samples : array_like
        The samples, two or more arrays.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    SignificanceResult
        A result with `statistic` and `pvalue`.

    Raises
    ------
    ValueError
        For fewer than two samples.
    NotImplementedError
        For policies other than "propagate".

    See Also
    --------
    levene

    Examples
    --------
    >>> result = cp.scipy.stats.bartlett([1.0, 2.0, 4.0], [2.0, 3.0, 7.0])
    >>> result.pvalue
    array(0.49748786)
    """
    if len(samples) < 2:
        raise ValueError("Must provide at least two samples.")
    groups, along = _groups(samples, axis, "bartlett", nan_policy)
    counts, k = [float(g.shape[along]) for g in groups], len(groups)
    if min(counts) < 2:
        counts = [math.nan] * k  # variances are undefined
    variances = [cp.var(g, axis=along, ddof=1) for g in groups]
    rest = sum(counts) - k
    pooled = sum(v * (n - 1.0) for v, n in zip(variances, counts, strict=True)) / rest
    logs = sum(_map("log", v) * (n - 1.0) for v, n in zip(variances, counts, strict=True))
    correction = 1.0 + (sum(1.0 / (n - 1.0) for n in counts) - 1.0 / rest) / (3.0 * (k - 1))
    statistic = _map("maximum", (_map("log", pooled) * rest - logs) / correction, 0.0)
    return significance(statistic, chdtrc(float(k - 1), statistic), samples[0], axis, keepdims)


def skewtest(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", alternative: str = "two-sided", *,
    keepdims: bool = False,
) -> SignificanceResult:  # fmt: skip
    """Tests whether the skewness is that of a normal distribution (R. B. D'Agostino, Biometrika 57 (1970)).

    Samples with fewer than 8 elements give NaN.

    Parameters
    ----------
    a : array_like
        The samples.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    nan_policy : str, default "propagate"
        Must be "propagate".
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        "two-sided", "less" or "greater".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    SignificanceResult
        A result with `statistic` and `pvalue`.

    Raises
    ------
    ValueError
        For an unknown alternative or policy.

    See Also
    --------
    scipy.stats.kurtosistest, scipy.stats.normaltest, scipy.stats.jarque_bera, scipy.stats.skew, scipy.stats.kurtosis

    Examples
    --------
    >>> cp.scipy.stats.skewtest(cp.arange(20.0) ** 2).statistic
    array(1.42766462)
    """
    x, along = sample(a, axis, "skewtest", nan_policy)
    n = float(x.shape[along])
    z = skew(x, along) * math.nan if n < 8 else _skew_score(skew(x, along), n)
    return significance(z, normal_pvalue(z, alternative), a, axis, keepdims)


def _skew_score(g: ndarray, n: float) -> ndarray:
    y = g * math.sqrt((n + 1) * (n + 3) / (6.0 * (n - 2)))
    tails = 3.0 * (n * n + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
    w = math.sqrt(2.0 * (tails - 1.0)) - 1.0
    return _map("arcsinh", _map("where", y == 0.0, 1.0, y) / math.sqrt(2.0 / (w - 1.0))) / math.sqrt(0.5 * math.log(w))


def kurtosistest(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", alternative: str = "two-sided", *,
    keepdims: bool = False,
) -> SignificanceResult:  # fmt: skip
    """Tests whether the kurtosis is that of a normal distribution (F. J. Anscombe and W. J. Glynn, Biometrika 70
    (1983)).

    Samples with fewer than 5 elements give NaN.

    Parameters
    ----------
    a : array_like
        The samples.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    nan_policy : str, default "propagate"
        Must be "propagate".
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        "two-sided", "less" or "greater".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    SignificanceResult
        A result with `statistic` and `pvalue`.

    Raises
    ------
    ValueError
        For an unknown alternative or policy.

    See Also
    --------
    scipy.stats.normaltest, scipy.stats.jarque_bera, scipy.stats.skew, scipy.stats.kurtosis, scipy.stats.skewtest

    Examples
    --------
    >>> cp.scipy.stats.kurtosistest(cp.arange(20.0) ** 2).statistic
    array(-0.74718631)
    """
    x, along = sample(a, axis, "kurtosistest", nan_policy)
    n = float(x.shape[along])
    g = kurtosis(x, along, fisher=False)
    z = g * math.nan if n < 5 else _kurtosis_score(g, n)
    return significance(z, normal_pvalue(z, alternative), a, axis, keepdims)


def _kurtosis_score(g: ndarray, n: float) -> ndarray:
    spread = 24.0 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    x = (g - 3.0 * (n - 1) / (n + 1)) / math.sqrt(spread)
    asymmetry = (
        6.0 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9)) * math.sqrt(6.0 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    )
    a = 6.0 + 8.0 / asymmetry * (2.0 / asymmetry + math.sqrt(1.0 + 4.0 / asymmetry**2))
    below = 1.0 + x * math.sqrt(2.0 / (a - 4.0))
    root = _map("cbrt", (1.0 - 2.0 / a) / _map("where", below == 0.0, math.nan, below))
    return (1.0 - 2.0 / (9.0 * a) - root) / math.sqrt(2.0 / (9.0 * a))


def normaltest(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", *, keepdims: bool = False
) -> SignificanceResult:
    """Tests whether a sample is normal, by the sum of the squares of `skewtest`'s and `kurtosistest`'s statistics.

    Parameters
    ----------
    a : array_like
        The samples.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    SignificanceResult
        A result with `statistic` and `pvalue`.

    Raises
    ------
    NotImplementedError
        For policies other than "propagate".

    See Also
    --------
    scipy.stats.jarque_bera, scipy.stats.skew, scipy.stats.kurtosis, scipy.stats.skewtest, scipy.stats.kurtosistest

    Examples
    --------
    >>> cp.scipy.stats.normaltest(cp.arange(20.0) ** 2).statistic
    array(2.59651365)
    """
    s, k = (test(a, axis, nan_policy, keepdims=keepdims).statistic for test in (skewtest, kurtosistest))
    statistic = s * s + k * k
    return SignificanceResult(statistic, _map("exp", statistic * -0.5))


def jarque_bera(
    x: Any, *, axis: int | None = None, nan_policy: str = "propagate", keepdims: bool = False
) -> SignificanceResult:
    """Tests whether skewness and kurtosis are those of a normal distribution (Jarque-Bera).

    Parameters
    ----------
    x : array_like
        The samples.
    axis : int, optional
        The axis of the samples; None flattens them.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    SignificanceResult
        A result with `statistic` and `pvalue`.

    Raises
    ------
    NotImplementedError
        For policies other than "propagate".

    See Also
    --------
    scipy.stats.skew, scipy.stats.kurtosis, scipy.stats.skewtest, scipy.stats.kurtosistest, scipy.stats.normaltest

    Examples
    --------
    >>> cp.scipy.stats.jarque_bera([1.0, 2.0, 3.0, 4.0, 9.0]).statistic
    array(0.92278432)
    """
    values, along = sample(x, axis, "jarque_bera", nan_policy)
    s, k = skew(values, along), kurtosis(values, along)
    statistic = (s * s + k * k * 0.25) * (values.shape[along] / 6.0)
    return significance(statistic, _map("exp", statistic * -0.5), x, axis, keepdims)


def describe(a: Any, axis: int | None = 0, ddof: int = 1, bias: bool = True, nan_policy: str = "propagate"
             ) -> DescribeResult:  # fmt: skip
    """Returns number, minimum and maximum, mean, variance, skewness and kurtosis along an axis.

    Parameters
    ----------
    a : array_like
        The array.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    ddof : int, default 1
        Subtracted from the number of elements for the variance.
    bias : bool, default True
        Whether skewness and kurtosis are not corrected for bias.
    nan_policy : str, default "propagate"
        Must be "propagate".

    Returns
    -------
    DescribeResult
        A result with `nobs`, `minmax`, `mean`, `variance`, `skewness` and `kurtosis`.

    Raises
    ------
    ValueError
        For an empty sample.

    See Also
    --------
    skew, kurtosis

    Examples
    --------
    >>> cp.scipy.stats.describe([1.0, 2.0, 3.0, 4.0]).variance
    array(1.66666667)
    """
    x, along = sample(a, axis, "describe", nan_policy)
    if x.size == 0:
        raise ValueError("The input must not be empty.")
    raw = array(a).reshape(x.shape)
    return DescribeResult(
        x.shape[along], (cp.min(raw, axis=along), cp.max(raw, axis=along)), cp.mean(x, axis=along),
        cp.var(x, axis=along, ddof=ddof), skew(x, along, bias), kurtosis(x, along, bias=bias),
    )  # fmt: skip
