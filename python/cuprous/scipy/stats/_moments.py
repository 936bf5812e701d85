"""Means, moments and scores along an axis. Integers and booleans are computed in float64."""

from __future__ import annotations

import math
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, broadcast_shapes, ndarray, normalize_axis
from cuprous.scipy.stats._results import SignificanceResult

_map = _core.map


def sample(a: Any, axis: int | None, name: str, nan_policy: str = "propagate") -> tuple[ndarray, int]:
    """Returns a real floating-point array with at least one axis, and the non-negative axis; flattened for None.

    Raises
    ------
    ValueError
        For an unknown policy.
    NotImplementedError
        For policies other than "propagate", and for several axes.
    AxisError
        If the axis does not exist.
    TypeError
        For complex numbers.
    """
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError("nan_policy must be one of {'propagate', 'raise', 'omit'}")
    if nan_policy != "propagate":
        raise NotImplementedError(f"[{name}] nan_policy={nan_policy!r} is not supported")
    if isinstance(axis, tuple):
        raise NotImplementedError(f"[{name}] several axes= are not supported")
    x = array(a)
    if _dtypes.kind(x.dtype_name) == "c":
        raise TypeError(f"[{name}] complex numbers are not supported")
    x = x if _dtypes.kind(x.dtype_name) == "f" else _core.cast(x, "float64")
    if axis is None or x.ndim == 0:
        return x.reshape([x.size]), 0 if axis is None else normalize_axis(axis, 1)
    return x, normalize_axis(axis, x.ndim)


def _kept(result: ndarray, a: Any, axis: int | None, keepdims: bool) -> ndarray:
    if not keepdims:
        return result
    return result.reshape([1] * array(a).ndim) if axis is None else cp.expand_dims(result, axis)


def significance(statistic: ndarray, p: ndarray, a: Any, axis: int | None, keepdims: bool) -> SignificanceResult:
    """Returns the result of a test, with the shape for `keepdims`."""
    return SignificanceResult(_kept(statistic, a, axis, keepdims), _kept(p, a, axis, keepdims))


def pair(
    x: Any, y: Any, axis: int | None, name: str, nan_policy: str, same_length: bool = False
) -> tuple[ndarray, ndarray]:
    """Returns two samples in float64 along their last axes, with the other axes broadcast."""
    first, second = (
        cp.moveaxis(_core.cast(a, "float64"), along, -1)
        for a, along in (sample(v, axis, name, nan_policy) for v in (x, y))
    )
    try:
        shape = broadcast_shapes(first.shape[:-1], second.shape[:-1])
        if same_length and first.shape[-1] != second.shape[-1]:
            raise ValueError
    except ValueError as error:
        raise ValueError("Array shapes are incompatible for broadcasting.") from error
    return tuple(_core.broadcast_to(m, (*shape, m.shape[-1])) for m in (first, second))  # type: ignore[return-value]


def moment(
    a: Any, order: Any = 1, axis: int | None = 0, nan_policy: str = "propagate", *, center: Any = None,
    keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """Returns the mean of (a - center)**order along an axis; `center` defaults to the mean.

    Parameters
    ----------
    a : array_like
        The samples.
    order : int, default 1
        The order, a whole number.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    nan_policy : str, default "propagate"
        Must be "propagate".
    center : array_like, optional
        The center; by default the mean.
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    ndarray
        An array without the axis.

    Raises
    ------
    ValueError
        For orders that are not whole numbers.
    NotImplementedError
        For several orders.

    See Also
    --------
    kurtosis, skew, describe

    Examples
    --------
    >>> cp.scipy.stats.moment([1.0, 2.0, 3.0, 4.0], 2)
    array(1.25)
    """
    if not isinstance(order, (int, float)):
        raise NotImplementedError("[moment] order= must be one number")
    if order != round(order):
        raise ValueError("All elements of `order` must be integral.")
    x, along = sample(a, axis, "moment", nan_policy)
    if order == 1 and center is None:
        value = cp.mean(x * 0.0, axis=along)
    else:
        d = x - (cp.mean(x, axis=along, keepdims=True) if center is None else center)
        value = cp.mean(d * d if order == 2 else _map("power", d, float(order)), axis=along)
    return _kept(value, a, axis, keepdims)


def _central(x: ndarray, axis: int, order: int) -> tuple[ndarray, ndarray, ndarray]:
    """Returns the mean, the second central moment and one of higher order."""
    mean = cp.mean(x, axis=axis, keepdims=True)
    d = x - mean
    square = d * d
    return (
        cp.squeeze(mean, axis),
        cp.mean(square, axis=axis),
        cp.mean(square * (d if order == 3 else square), axis=axis),
    )


def _negligible(mean: ndarray, m2: ndarray) -> ndarray:
    """Returns true where the variance is due to rounding only."""
    limit = mean * (2.0**-52 if m2.dtype_name == "float64" else 2.0**-23 if m2.dtype_name == "float32" else 2.0**-10)
    return m2 <= limit * limit


def skew(
    a: Any, axis: int | None = 0, bias: bool = True, nan_policy: str = "propagate", *, keepdims: bool = False
) -> ndarray:
    """Returns the skewness m3 / m2**1.5, corrected for bias if `bias` is false; NaN for constant samples.

    Parameters
    ----------
    a : array_like
        The samples.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    bias : bool, default True
        Whether not to correct for bias.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    ndarray
        An array without the axis.

    See Also
    --------
    scipy.stats.kurtosis, scipy.stats.skewtest, scipy.stats.kurtosistest, scipy.stats.normaltest,
    scipy.stats.jarque_bera

    Examples
    --------
    >>> cp.scipy.stats.skew([1.0, 2.0, 6.0])
    array(0.59517006)
    """
    x, along = sample(a, axis, "skew", nan_policy)
    n = x.shape[along]
    mean, m2, m3 = _central(x, along, 3)
    value = m3 / (m2 * _map("sqrt", m2))
    if not bias and n > 2:
        value = value * (math.sqrt((n - 1.0) * n) / (n - 2.0))
    return _kept(_map("where", _negligible(mean, m2), math.nan, value), a, axis, keepdims)


def kurtosis(
    a: Any, axis: int | None = 0, fisher: bool = True, bias: bool = True, nan_policy: str = "propagate", *,
    keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """Returns the kurtosis m4 / m2², minus 3 if `fisher`, corrected for bias if `bias` is false; NaN for constant
    samples.

    Parameters
    ----------
    a : array_like
        The samples.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    fisher : bool, default True
        Whether to subtract 3, so that a normal distribution has 0.
    bias : bool, default True
        Whether not to correct for bias.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    ndarray
        An array without the axis.

    See Also
    --------
    scipy.stats.skewtest, scipy.stats.kurtosistest, scipy.stats.normaltest, scipy.stats.jarque_bera, scipy.stats.skew

    Examples
    --------
    >>> cp.scipy.stats.kurtosis([1.0, 2.0, 3.0, 4.0])
    array(-1.36)
    """
    x, along = sample(a, axis, "kurtosis", nan_policy)
    n = x.shape[along]
    mean, m2, m4 = _central(x, along, 4)
    value = m4 / (m2 * m2)
    if not bias and n > 3:
        value = (value * (n**2 - 1.0) - 3.0 * (n - 1) ** 2) / ((n - 2.0) * (n - 3.0)) + 3.0
    value = _map("where", _negligible(mean, m2), math.nan, value)
    return _kept(value - 3.0 if fisher else value, a, axis, keepdims)


def _weighted(x: ndarray, axis: int, weights: Any) -> ndarray:
    return cp.mean(x, axis=axis) if weights is None else cp.average(x, axis=axis, weights=array(weights))


def gmean(
    a: Any, axis: int | None = 0, dtype: Any = None, weights: Any = None, *, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """Returns the geometric mean along an axis: exp of the (weighted) mean of log(a).

    Parameters
    ----------
    a : array_like
        The samples.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    dtype : dtype, optional
        The dtype to compute in.
    weights : array_like, optional
        The weights of the elements, which broadcast with the samples.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    ndarray
        An array without the axis.

    See Also
    --------
    cuprous.mean, cuprous.average, hmean

    Examples
    --------
    >>> cp.scipy.stats.gmean([1.0, 4.0])
    array(2.)
    """
    x, along = sample(a if dtype is None else cp.astype(array(a), dtype), axis, "gmean", nan_policy)
    return _kept(_map("exp", _weighted(_map("log", x), along, weights)), a, axis, keepdims)


def _unless_negative(x: ndarray, axis: int, value: ndarray) -> ndarray:
    return _map("where", cp.any(x < 0, axis=axis), math.nan, value)


def hmean(
    a: Any, axis: int | None = 0, dtype: Any = None, *, weights: Any = None, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """Returns the harmonic mean along an axis, 1 / mean(1 / a); NaN for samples with negative elements.

    Parameters
    ----------
    a : array_like
        The samples.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    dtype : dtype, optional
        The dtype to compute in.
    weights : array_like, optional
        The weights of the elements, which broadcast with the samples.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    ndarray
        An array without the axis.

    See Also
    --------
    cuprous.mean, cuprous.average, gmean

    Examples
    --------
    >>> cp.scipy.stats.hmean([1.0, 3.0])
    array(1.5)
    """
    x, along = sample(a if dtype is None else cp.astype(array(a), dtype), axis, "hmean", nan_policy)
    return _kept(_unless_negative(x, along, 1.0 / _weighted(1.0 / x, along, weights)), a, axis, keepdims)


def pmean(
    a: Any, p: float, *, axis: int | None = 0, dtype: Any = None, weights: Any = None, nan_policy: str = "propagate",
    keepdims: bool = False,
) -> ndarray:  # fmt: skip
    """Returns the power mean along an axis, mean(a**p)**(1/p), geometric for p = 0; NaN for samples with negative
    elements.

    Parameters
    ----------
    a : array_like
        The samples.
    p : float
        The power.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    dtype : dtype, optional
        The dtype to compute in.
    weights : array_like, optional
        The weights of the elements, which broadcast with the samples.
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
        For a power that is not finite.

    See Also
    --------
    cuprous.average, gmean, hmean

    Examples
    --------
    >>> cp.scipy.stats.pmean([1.0, 7.0], 2)
    array(5.)
    """
    if not isinstance(p, (int, float)):
        raise ValueError("Power mean only implemented for finite `p`")
    if p == 0:
        return gmean(a, axis, dtype, weights, nan_policy=nan_policy, keepdims=keepdims)
    x, along = sample(a if dtype is None else cp.astype(array(a), dtype), axis, "pmean", nan_policy)
    value = _map("power", _weighted(_map("power", x, float(p)), along, weights), 1.0 / p)
    return _kept(_unless_negative(x, along, value), a, axis, keepdims)


def sem(
    a: Any, axis: int | None = 0, ddof: int = 1, nan_policy: str = "propagate", *, keepdims: bool = False
) -> ndarray:
    """Returns the standard error of the mean, std / sqrt(n).

    Parameters
    ----------
    a : array_like
        The samples.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    ddof : int, default 1
        Subtracted from the number of elements for the standard deviation.
    nan_policy : str, default "propagate"
        Must be "propagate".
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    ndarray
        An array without the axis.

    See Also
    --------
    scipy.stats.variation, scipy.stats.zmap, scipy.stats.zscore

    Examples
    --------
    >>> cp.scipy.stats.sem([1.0, 2.0, 3.0, 4.0])
    array(0.64549722)
    """
    x, along = sample(a, axis, "sem", nan_policy)
    return _kept(cp.std(x, axis=along, ddof=ddof) / math.sqrt(max(x.shape[along], 0)), a, axis, keepdims)


def variation(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", ddof: int = 0, *, keepdims: bool = False
) -> ndarray:
    """Returns the standard deviation divided by the mean.

    Parameters
    ----------
    a : array_like
        The samples.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    nan_policy : str, default "propagate"
        Must be "propagate".
    ddof : int, default 0
        Subtracted from the number of elements for the standard deviation.
    keepdims : bool, default False
        Whether to keep the axis with extent one.

    Returns
    -------
    ndarray
        An array without the axis.

    See Also
    --------
    scipy.stats.zmap, scipy.stats.zscore, scipy.stats.sem

    Examples
    --------
    >>> cp.scipy.stats.variation([1.0, 3.0])
    array(0.5)
    """
    x, along = sample(a, axis, "variation", nan_policy)
    return _kept(cp.std(x, axis=along, ddof=ddof) / cp.mean(x, axis=along), a, axis, keepdims)


def zmap(scores: Any, compare: Any, axis: int | None = 0, ddof: int = 0, nan_policy: str = "propagate") -> ndarray:
    """Returns `scores` in standard deviations of `compare` from its mean; NaN where `compare` is constant.

    Parameters
    ----------
    scores : array_like
        The values to convert.
    compare : array_like
        The samples that give mean and standard deviation.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    ddof : int, default 0
        Subtracted from the number of elements for the standard deviation.
    nan_policy : str, default "propagate"
        Must be "propagate".

    Returns
    -------
    ndarray
        An array of the shape of `scores`.

    See Also
    --------
    scipy.stats.zscore, scipy.stats.sem, scipy.stats.variation

    Examples
    --------
    >>> cp.scipy.stats.zmap([2.0], [1.0, 3.0])
    array([0.])
    """
    x, along = sample(compare, axis, "zmap", nan_policy)
    if axis is not None:
        normalize_axis(axis, array(compare).ndim)
    values = array(scores)
    if x.size == 0:
        return _core.full(values.shape, math.nan, x.dtype_name)
    mean, spread = cp.mean(x, axis=along, keepdims=True), cp.std(x, axis=along, ddof=ddof, keepdims=True)
    constant = cp.max(x, axis=along, keepdims=True) == cp.min(x, axis=along, keepdims=True)
    spread = _map("where", constant, math.nan, spread)
    if axis is None:
        mean, spread = mean.reshape([]), spread.reshape([])
    return (values - mean) / spread


def zscore(a: Any, axis: int | None = 0, ddof: int = 0, nan_policy: str = "propagate") -> ndarray:
    """Returns each element in standard deviations from its sample's mean; NaN for constant samples.

    Parameters
    ----------
    a : array_like
        The samples.
    axis : int or None, default 0
        The axis of the samples; None flattens them.
    ddof : int, default 0
        Subtracted from the number of elements for the standard deviation.
    nan_policy : str, default "propagate"
        Must be "propagate".

    Returns
    -------
    ndarray
        An array of the shape of `a`.

    See Also
    --------
    cuprous.mean, cuprous.std

    Examples
    --------
    >>> cp.scipy.stats.zscore([1.0, 3.0])
    array([-1.,  1.])
    """
    return zmap(a, a, axis, ddof, nan_policy)


def boxcox_llf(lmb: Any, data: Any, *, axis: Any = 0, keepdims: bool = False, nan_policy: str = "propagate") -> ndarray:
    """Returns the log-likelihood of a Box-Cox transform of positive numbers, but for constants.

    Parameters
    ----------
    lmb : float
        The transform's parameter, a number.
    data : array_like
        The numbers.
    axis : int, default 0
        The axis; None flattens.
    keepdims : bool, default False
        Whether the axis stays, with length 1.
    nan_policy : str, default "propagate"
        Only "propagate".

    Returns
    -------
    ndarray
        An array without the axis; NaN for no elements.

    Raises
    ------
    NotImplementedError
        For other policies, and several axes.
    TypeError
        For complex numbers.
    AxisError
        If the axis does not exist.

    See Also
    --------
    cuprous.scipy.special.boxcox

    Examples
    --------
    >>> cp.scipy.stats.boxcox_llf(0.5, [1.0, 2.0, 4.0]).round(6)
    array(-0.44617)
    """
    a = array(data)
    x, along = sample(a, axis, "boxcox_llf", nan_policy)
    name, lmb = x.dtype_name, float(lmb)
    count = x.shape[along]
    logarithms = _map("log", x if name == "float64" else _core.cast(x, "float64"))
    if lmb == 0.0:
        spread = _map("log", cp.var(logarithms, axis=along))
    else:
        # The variance of exp(lmb log x), scaled so that nothing overflows.
        exponents = logarithms * lmb
        most = cp.max(exponents, axis=along, keepdims=True) if count else cp.sum(exponents, axis=along, keepdims=True)
        scaled = cp.var(_map("expm1", exponents - most), axis=along)
        spread = _map("log", scaled) + 2.0 * cp.squeeze(most, axis=along) - 2.0 * math.log(abs(lmb))
    value = cp.sum(logarithms, axis=along) * (lmb - 1.0) - spread * (count / 2)
    value = value if count else value * math.nan
    return _kept(_core.cast(value, name), a, axis, keepdims)
