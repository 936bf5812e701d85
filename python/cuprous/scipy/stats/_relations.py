"""Relations between two samples: entropy, correlation, regression."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import cuprous as cp
from cuprous import _core
from cuprous._common.operands import on_array_device
from cuprous.scipy.special import entr, rel_entr
from cuprous.scipy.stats._moments import _kept, ndarray, pair, sample
from cuprous.scipy.stats._order import rankdata
from cuprous.scipy.stats._results import PearsonRResult, SignificanceResult, check_alternative, student_pvalue

_map = _core.map


class _Line(NamedTuple):
    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any


class LinregressResult(_Line):
    """The result of `linregress`: five fields, and `intercept_stderr`."""

    intercept_stderr: Any

    def __new__(cls, *fields: Any, intercept_stderr: Any = None) -> LinregressResult:
        """Creates the result from the five fields."""
        instance = super().__new__(cls, *fields)
        instance.intercept_stderr = intercept_stderr
        return instance


def entropy(
    pk: Any, qk: Any = None, base: float | None = None, axis: int | None = 0, *, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """Returns the entropy of a distribution, or its relative entropy to `qk`; both are normalized to sum 1 first.

    Parameters
    ----------
    pk : array_like
        The distribution, not negative.
    qk : array_like, optional
        The second distribution.
    base : float, optional
        The base of the logarithm; e by default.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    ndarray
        An array without the axis.

    Raises
    ------
    ValueError
        For a base that is not positive.

    See Also
    --------
    scipy.special.rel_entr, scipy.special.kl_div

    Examples
    --------
    >>> cp.scipy.stats.entropy([0.5, 0.5])
    array(0.69314718)
    """
    if base is not None and base <= 0:
        raise ValueError("`base` must be a positive number or `None`.")
    p, along = sample(pk, axis, "entropy", nan_policy)
    p = p / cp.sum(p, axis=along, keepdims=True)
    if qk is None:
        terms = entr(p)
    else:
        q, _ = sample(qk, axis, "entropy", nan_policy)
        terms = rel_entr(p, q / cp.sum(q, axis=along, keepdims=True))
    total = cp.sum(terms, axis=along)
    return _kept(total if base is None else total / math.log(base), pk, axis, keepdims)


def _centered(x: ndarray, axis: int) -> ndarray:
    return x - cp.mean(x, axis=axis, keepdims=True)


def _correlated(r: ndarray, count: int, alternative: str) -> ndarray:
    """Returns the p-value of a correlation coefficient for the given number of pairs."""
    if count < 3:
        check_alternative(alternative)
        return r * 0.0 + 1.0
    t = r * _map("sqrt", (count - 2.0) / ((1.0 - r) * (1.0 + r)))
    return student_pvalue(count - 2.0, t, alternative)


def pearsonr(
    x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None, axis: int | None = 0
) -> PearsonRResult:
    """Returns Pearson's correlation coefficient along an axis, and its p-value; NaN for constant samples.

    Parameters
    ----------
    x : array_like
        The samples.
    y : array_like
        Samples of the same shape.
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        "two-sided", "less" or "greater".
    method : str, optional
        Must be None.
    axis : int or None, default 0
        The axis.

    Returns
    -------
    PearsonRResult
        A result with `statistic` and `pvalue`.

    Raises
    ------
    ValueError
        For samples of different length or with fewer than two elements, and an unknown alternative.
    NotImplementedError
        For a `method`.

    See Also
    --------
    spearmanr, kendalltau

    Examples
    --------
    >>> cp.scipy.stats.pearsonr([0.0, 1.0, 2.0], [1.0, 3.0, 5.5]).statistic
    array(0.99794872)
    """
    if method is not None:
        raise NotImplementedError(f"[pearsonr] method={method!r} is not supported")
    a, along = sample(x, axis, "pearsonr")
    b, _ = sample(y, axis, "pearsonr")
    if a.shape[along] != b.shape[along]:
        raise ValueError("`x` and `y` must have the same length along `axis`.")
    if a.shape[along] < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    r = _coefficient(a, b, along)
    result = PearsonRResult(r, _correlated(r, a.shape[along], alternative))
    result._count, result._alternative = a.shape[along], alternative
    return result


def _coefficient(a: ndarray, b: ndarray, along: int) -> ndarray:
    u, v = _centered(a, along), _centered(b, along)
    u, v = (d / _map("sqrt", cp.sum(d * d, axis=along, keepdims=True)) for d in (u, v))
    r = _map("minimum", _map("maximum", cp.sum(u * v, axis=along), -1.0), 1.0)
    constant = _map("logical_or", *(cp.max(s, axis=along) == cp.min(s, axis=along) for s in (a, b)))
    return _map("where", constant, math.nan, r)


@on_array_device
def spearmanr(
    a: Any, b: Any = None, axis: int | None = 0, nan_policy: str = "propagate", alternative: str = "two-sided"
) -> SignificanceResult:
    """Returns Spearman's rank correlation of two samples, or of all pairs of a matrix' columns (rows for axis 1).

    Parameters
    ----------
    a : array_like
        A vector, or a matrix of samples along `axis`.
    b : array_like, optional
        A second vector or matrix; its samples are appended to those of `a`.
    axis : int or None, default 0
        0 or 1; None flattens `a` and `b`.
    nan_policy : str, default "propagate"
        Must be "propagate".
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        "two-sided", "less" or "greater".

    Returns
    -------
    SignificanceResult
        The coefficient and its p-value, or matrices of them for more than two samples.

    Raises
    ------
    ValueError
        For another axis, arrays with more than two axes, samples of different length, and a single sample.

    See Also
    --------
    scipy.stats.pearsonr, scipy.stats.kendalltau, scipy.stats.linregress

    Examples
    --------
    >>> cp.scipy.stats.spearmanr([1.0, 2.0, 3.0], [1.0, 4.0, 2.0]).statistic
    array(0.5)
    """
    if axis is not None and axis > 1:
        raise ValueError(f"spearmanr only handles 1-D or 2-D arrays, supplied axis argument {axis}, please use only "
                         "values 0, 1 or None for axis")  # fmt: skip
    columns = []
    for operand in (a,) if b is None else (a, b):
        x, along = sample(operand, axis, "spearmanr", nan_policy)
        if x.ndim > 2:
            raise ValueError("spearmanr only handles 1-D or 2-D arrays")
        columns.append(x.reshape([x.shape[0], 1]) if x.ndim == 1 else x if along == 0 else x.T)
    if len({c.shape[0] for c in columns}) != 1:
        raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    values = cp.concatenate(columns, axis=1)
    n, k = values.shape
    if n == 0:
        check_alternative(alternative)
        return SignificanceResult(cp.full((), math.nan), cp.full((), math.nan))
    if k < 2:
        raise ValueError("`spearmanr` needs at least 2 variables to compare")
    ranks = rankdata(values, axis=0)
    if k == 2:
        r = _coefficient(ranks[:, 0], ranks[:, 1], 0) if n > 1 else cp.full((), math.nan)
    else:
        r = _coefficient(ranks[:, :, None], ranks[:, None, :], 0)
        r = _map("where", cp.eye(k, dtype=bool), _map("where", cp.isnan(r), r, 1.0), r)
    return SignificanceResult(r, _correlated(r, n, alternative))


def linregress(
    x: Any, y: Any, alternative: str = "two-sided", *, axis: int | None = 0, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> LinregressResult:  # fmt: skip
    """Fits a line by least squares. Returns slope, intercept, correlation coefficient, the p-value for slope zero, and
    the standard errors of slope and intercept, in float64.

    The result is NaN without points, or if x is constant.

    Parameters
    ----------
    x, y : array_like
        Coordinates of the points along `axis` (None flattens them), which broadcast along other axes.
    alternative : {"two-sided", "less", "greater"}, default "two-sided"
        "two-sided", "less" or "greater".
    axis : int or None, default 0
        The axis.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    LinregressResult
        A result with `slope`, `intercept`, `rvalue`, `pvalue`, `stderr` and `intercept_stderr`.

    Raises
    ------
    ValueError
        For samples of different length, and an unknown alternative or policy.
    NotImplementedError
        For policies other than "propagate".

    See Also
    --------
    scipy.stats.spearmanr, scipy.stats.pearsonr, scipy.stats.kendalltau

    Examples
    --------
    >>> fit = cp.scipy.stats.linregress([0.0, 1.0, 2.0], [1.0, 3.0, 5.5])
    >>> fit.slope, fit.intercept.round(6)
    (array(2.25), array(0.916667))
    """
    check_alternative(alternative)
    a, b = pair(x, y, axis, "linregress", nan_policy, True)
    shown = [_kept(v, x, axis, keepdims) for v in _line(a, b, a.shape[-1], alternative)]
    return LinregressResult(*shown[:5], intercept_stderr=shown[5])


def _line(a: ndarray, b: ndarray, n: int, alternative: str) -> list[ndarray]:
    """Returns the fields of `linregress` for points along the last axis."""
    last = a.ndim - 1
    u, v = _centered(a, last), _centered(b, last)
    xx, yy, xy = (cp.mean(s, axis=last) for s in (u * u, v * v, u * v))
    xx = _map("where", xx == 0.0, math.nan, xx)
    slope = xy / xx
    scale = _map("sqrt", xx * yy)
    r = _map("where", scale == 0.0, math.nan, _map("minimum", _map("maximum", xy / scale, -1.0), 1.0))
    error = _map("sqrt", (1.0 - r * r) * yy / xx / (n - 2.0)) if n > 2 else slope * 0.0
    middle = cp.mean(a, axis=last)
    intercept = cp.mean(b, axis=last) - slope * middle
    p = _correlated(r, n, alternative) if n != 2 else _map("where", b[..., 0] == b[..., 1], 1.0, slope * 0.0)
    return [slope, intercept, r, p, error, error * _map("sqrt", xx + middle * middle)]
