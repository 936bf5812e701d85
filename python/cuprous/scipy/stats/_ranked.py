"""Tests by ranks and by distribution functions: Mann-Whitney, Kendall, Kolmogorov-Smirnov.

Statistics are computed on the device. Exact p-values are counted on the host, which waits for the statistic.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import cuprous as cp
from cuprous import _core
from cuprous._common.operands import on_array_device
from cuprous.scipy.stats._kolmogorov import paths_outside, two_sided
from cuprous.scipy.stats._moments import _kept, pair, significance
from cuprous.scipy.stats._order import rankdata
from cuprous.scipy.stats._results import SignificanceResult, check_alternative, ndarray, normal_pvalue

if TYPE_CHECKING:
    import numpy as np

_map = _core.map


class KstestResult(SignificanceResult):
    """The result of a test of distribution functions.

    Parameters
    ----------
    statistic, pvalue : array_like
        The fields of the tuple.
    statistic_location : scalar, optional
        Where the functions differ most.
    statistic_sign : int, optional
        1 if the first function is greater there, -1 if it is less.
    """

    statistic_location: Any
    statistic_sign: Any

    def __new__(
        cls, statistic: Any, pvalue: Any, statistic_location: Any = None, statistic_sign: Any = None
    ) -> KstestResult:
        instance = super().__new__(cls, statistic, pvalue)
        instance.statistic_location, instance.statistic_sign = statistic_location, statistic_sign
        return instance


def _method(name: str, method: str, choices: tuple[str, ...]) -> None:
    if method not in choices:
        raise ValueError(f"[{name}] method={method!r} is none of {choices}")


def _ties(x: ndarray) -> ndarray:
    """Returns, for each element, the number of equal elements along the last axis."""
    last, first = (rankdata(x, method, axis=-1) for method in ("max", "min"))
    return last - first + 1.0


def _inversions(m: int, n: int) -> np.ndarray:
    """Counts, among all orders of m and n elements, those with U = 0, 1, …, m n (Gaussian binomial coefficients)."""
    import numpy as np

    m, n = sorted((m, n))
    size = m * n + 1
    counts = np.zeros(size, object)
    counts[0] = 1
    for i in range(1, m + 1):
        # Multiply by 1 - q**(n + i), then divide by 1 - q**i.
        if n + i < size:
            counts[n + i :] -= counts[: size - n - i].copy()
        for start in range(i):
            counts[start::i] = np.cumsum(counts[start::i])
    return counts


@on_array_device
def mannwhitneyu(
    x: Any, y: Any, use_continuity: bool = True, alternative: str = "two-sided", axis: int | None = 0,
    method: str = "auto", *, nan_policy: str = "propagate", keepdims: bool = False,
) -> SignificanceResult:  # fmt: skip
    """Tests whether two independent samples have the same distribution (Mann-Whitney U test).

    Parameters
    ----------
    x, y : array_like
        Samples along `axis` (None flattens them); other axes broadcast.
    use_continuity : bool, default True
        Whether to apply a continuity correction of 1/2 to the normal approximation.
    alternative : str, default "two-sided"
        "two-sided", "less" or "greater": the direction in which `x` differs from `y`.
    axis : int or None, default 0
        The axis.
    method : str, default "auto"
        "asymptotic" for the normal approximation, "exact" for counting orders (which ignores ties). "auto" counts if a
        sample has at most eight elements and there are no ties, which waits for the device.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    SignificanceResult
        U of `x`, and the p-value; NaN for empty samples and those with NaN.

    Raises
    ------
    ValueError
        For an unknown alternative, method or policy, and samples that do not broadcast.
    NotImplementedError
        For policies other than "propagate".

    See Also
    --------
    cuprous.scipy.stats.ttest_ind

    Examples
    --------
    >>> cp.scipy.stats.mannwhitneyu([1.0, 2.0, 3.0], [2.5, 3.5, 4.5]).statistic
    array(1.)
    """
    check_alternative(alternative)
    _method("mannwhitneyu", method.lower(), ("auto", "asymptotic", "exact"))
    a, b = pair(x, y, axis, "mannwhitneyu", nan_policy)
    m, n = a.shape[-1], b.shape[-1]
    both = cp.concatenate([a, b], axis=-1)
    if m == 0 or n == 0:
        nothing = cp.full(both.shape[:-1], math.nan)
        return significance(nothing, nothing.copy(), x, axis, keepdims)
    ranks = rankdata(both, axis=-1)
    first = cp.sum(ranks[..., :m], axis=-1) - m * (m + 1) / 2
    second = m * n - first
    tied = _ties(both)
    u = {"greater": first, "less": second, "two-sided": _map("maximum", first, second)}[alternative]
    chosen = method.lower()
    if chosen == "auto":
        chosen = "asymptotic" if min(m, n) > 8 or bool(cp.any(tied > 1.0)) else "exact"
    if chosen == "exact":
        import numpy as np

        counts = _inversions(m, n)
        tail = np.cumsum(counts[::-1])[::-1] / sum(counts)
        location = _core.cast(_map("where", cp.isnan(u), 0.0, u), "int64")
        p = _map("where", cp.isnan(u), math.nan, cp.take(cp.asarray(tail.astype(np.float64)), location))
    else:
        total = m + n
        groups = cp.sum(tied * tied - 1.0, axis=-1)
        spread = _map("sqrt", (total + 1 - groups / (total * (total - 1.0))) * (m * n / 12.0))
        p = normal_pvalue((u - m * n / 2 - 0.5 * bool(use_continuity)) / spread, "greater")
    if alternative == "two-sided":
        p = p * 2.0
    return significance(first, cp.clip(p, 0.0, 1.0), x, axis, keepdims)


def _mahonian(n: int, most: int) -> list[int]:
    """Counts the orders of n elements with 0, 1, …, `most` inversions."""
    counts = [1] + [0] * most
    for j in range(2, n + 1):
        sums = list(itertools.accumulate(counts))
        counts = [s - (sums[i - j] if i >= j else 0) for i, s in enumerate(sums)]
    return counts


def _kendall_exact(n: int, discordant: int, alternative: str) -> float:
    """Returns the exact p-value: the fraction of orders with no more (or no fewer) inversions."""
    pairs, orders = n * (n - 1) // 2, math.factorial(n)
    least = min(discordant, pairs - discordant)
    below = sum(_mahonian(n, least))
    if alternative == "two-sided":
        return min(1.0, 2 * below / orders)
    # Few inversions indicate a positive correlation.
    if (discordant == least) == (alternative == "greater"):
        return below / orders
    return (orders - below + _mahonian(n, least)[-1]) / orders


@on_array_device
def kendalltau(
    x: Any, y: Any, *, nan_policy: str = "propagate", method: str = "auto", variant: str = "b",
    alternative: str = "two-sided", axis: int | None = None, keepdims: bool = False,
) -> SignificanceResult:  # fmt: skip
    """Tests for rank correlation by Kendall's tau, which compares the numbers of concordant and discordant pairs.
    Computes all pairs, in time n² and without storing them.

    Parameters
    ----------
    x, y : array_like
        Samples of the same length along `axis` (None flattens them).
    nan_policy : str, default "propagate"
        Must be "propagate".
    method : str, default "auto"
        "asymptotic" for the normal approximation, "exact" for counting orders, which does not allow ties; "auto" counts
        for up to 33 elements, or if at most one pair is discordant (or concordant).
    variant : str, default "b"
        "b" or "c", which differ in the treatment of ties.
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        "two-sided", "less" or "greater".
    axis : int, optional
        The axis.
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    SignificanceResult
        A result with `statistic` and `pvalue`.

    Raises
    ------
    ValueError
        For samples of different lengths, an unknown alternative, method, variant or policy, and ties with the exact
        method.
    NotImplementedError
        For policies other than "propagate".

    See Also
    --------
    spearmanr

    Examples
    --------
    >>> cp.scipy.stats.kendalltau([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]).statistic
    array(0.33333333)
    """
    check_alternative(alternative)
    _method("kendalltau", method, ("auto", "asymptotic", "exact"))
    if variant not in ("b", "c"):
        raise ValueError(f"Unknown variant of the method chosen: {variant}. variant must be 'b' or 'c'.")
    a, b = pair(x, y, axis, "kendalltau", nan_policy, True)
    *shape, n = a.shape
    signs = [_order(v[..., :, None], v[..., None, :]) for v in (a, b)]
    # Each pair is counted twice.
    agree = cp.sum(signs[0] * signs[1], axis=(-2, -1)) * 0.5
    tied = [_ties(v) for v in (a, b)]
    sums = [(cp.sum(t - 1.0, -1) * 0.5, cp.sum((t - 1.0) * (t - 2.0), -1), cp.sum((t - 1.0) * (2.0 * t + 5.0), -1))
            for t in tied]  # fmt: skip
    kinds = [cp.sum(1.0 / t, -1) for t in tied]
    columns = cp.stack([agree, *sums[0], *sums[1], *kinds]).reshape([9, math.prod(shape)])
    found = [_kendall(n, [float(v) for v in row], method, variant, alternative) for row in _core.to_numpy(columns).T]
    tau, p = (cp.asarray([f[i] for f in found], "float64").reshape(shape) for i in (0, 1))
    return significance(tau, p, x, axis, keepdims)


def _order(first: ndarray, second: ndarray) -> ndarray:
    """Returns 1, 0 or -1 if the first is greater, equal or less; NaN if either is. (inf - inf would be NaN.)"""
    greater, less = (_core.cast(c, "float64") for c in (first > second, first < second))
    known = _map("logical_and", first == first, second == second)
    return _map("where", known, greater - less, math.nan)


def _kendall(n: int, row: list[float], method: str, variant: str, alternative: str) -> tuple[float, float]:
    """Returns tau and the p-value from the difference of concordant and discordant pairs, and for each sample three
    sums over ties and the number of distinct elements."""
    agree, x_tied, x0, x1, y_tied, y0, y1, x_kinds, y_kinds = row
    pairs = n * (n - 1) // 2
    if any(math.isnan(v) for v in row) or x_tied == pairs or y_tied == pairs:
        return math.nan, math.nan
    if variant == "b":
        tau = agree / math.sqrt(pairs - x_tied) / math.sqrt(pairs - y_tied)
    else:
        kinds = round(min(x_kinds, y_kinds))
        tau = 2 * agree / (n * n * (kinds - 1) / kinds)
    tau = max(-1.0, min(1.0, tau))
    tied = x_tied > 0 or y_tied > 0
    if method == "exact" and tied:
        raise ValueError("Ties found, exact method cannot be used.")
    discordant = round((pairs - agree) / 2)
    if method == "auto":
        few = n <= 33 or min(discordant, pairs - discordant) <= 1
        method = "exact" if not tied and few else "asymptotic"
    if method == "exact":
        return tau, _kendall_exact(n, discordant, alternative)
    m = n * (n - 1.0)
    spread = (m * (2 * n + 5) - x1 - y1) / 18 + 2 * x_tied * y_tied / m
    if n > 2:
        spread += x0 * y0 / (9 * m * (n - 2))
    z = agree / math.sqrt(spread)
    z = abs(z) if alternative == "two-sided" else -z if alternative == "less" else z
    p = 0.5 * math.erfc(z / math.sqrt(2))
    return tau, 2 * p if alternative == "two-sided" else p


@on_array_device
def ks_2samp(
    data1: Any, data2: Any, alternative: str = "two-sided", method: str = "auto", *, axis: int | None = 0,
    nan_policy: str = "propagate", keepdims: bool = False,
) -> KstestResult:  # fmt: skip
    """Tests whether two independent samples have the same distribution, by the greatest distance of their distribution
    functions (Kolmogorov-Smirnov).

    Parameters
    ----------
    data1, data2 : array_like
        Samples along `axis` (None flattens them); other axes broadcast and are processed pair by pair.
    alternative : str, default "two-sided"
        "two-sided", or "less" or "greater": the direction in which the first function differs from the second.
    method : str, default "auto"
        "exact" for counting orders, in time proportional to the product of both lengths, "asymp" for the limit
        distribution; "auto" counts for up to 10,000 elements.
    axis : int or None, default 0
        The axis.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    KstestResult
        Statistic and p-value, with `statistic_location` and `statistic_sign`; NaN for empty samples and those with NaN.

    Raises
    ------
    ValueError
        For an unknown alternative, method or policy, and samples that do not broadcast.
    NotImplementedError
        For policies other than "propagate".

    See Also
    --------
    scipy.stats.chisquare, scipy.stats.f_oneway

    Examples
    --------
    >>> cp.scipy.stats.ks_2samp([1.0, 2.0, 3.0], [2.5, 3.5, 4.5]).statistic
    array(0.66666667)
    """
    check_alternative(alternative)
    _method("ks_2samp", method, ("auto", "exact", "asymp"))
    a, b = pair(data1, data2, axis, "ks_2samp", nan_policy)
    shape, count = a.shape[:-1], math.prod(a.shape[:-1])
    first, second = (v.reshape([count, v.shape[-1]]) for v in (a, b))
    found = [_ks_row(first[i], second[i], alternative, method) for i in range(count)]
    d, p, location, sign = (
        _kept(cp.asarray([f[i] for f in found], "float64").reshape(shape), data1, axis, keepdims) for i in range(4)
    )
    return KstestResult(d, p, location, sign)


def _ks_row(x: ndarray, y: ndarray, alternative: str, method: str) -> tuple[float, float, float, float]:
    m, n = x.size, y.size
    both = cp.concatenate([x, y])
    if not m or not n or bool(cp.any(cp.isnan(both))):
        return (math.nan,) * 4
    x, y = cp.sort(x), cp.sort(y)
    both = cp.concatenate([x, y])
    gap = cp.searchsorted(x, both, side="right") / m - cp.searchsorted(y, both, side="right") / n
    low, high = cp.argmin(gap), cp.argmax(gap)
    extremes = _core.to_numpy(cp.stack([gap[low], both[low], gap[high], both[high]])).tolist()
    below, above = (max(0.0, min(1.0, v)) for v in (-extremes[0], extremes[2]))
    lower = alternative == "less" or (alternative == "two-sided" and below > above)
    d, location, sign = (below, extremes[1], -1.0) if lower else (above, extremes[3], 1.0)
    if method == "exact" or (method == "auto" and max(m, n) <= 10_000):
        common = m * n // math.gcd(m, n)
        steps = round(d * common)
        p = paths_outside(m, n, steps, alternative == "two-sided")
        return steps / common, max(0.0, min(1.0, p)), location, sign
    if alternative == "two-sided":
        p = two_sided(round(m * n / (m + n)), d)
    else:
        long, short = max(m, n), min(m, n)
        z = math.sqrt(m * n / (m + n)) * d
        p = math.exp(-2 * z * z - 2 * z * (long + 2 * short) / math.sqrt(m * n * (m + n)) / 3)
    return d, p, location, sign
