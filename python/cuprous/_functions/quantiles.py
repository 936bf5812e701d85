"""Quantiles, percentiles and medians, which propagate or ignore NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import (
    NO_BOOLEAN_SUBTRACT,
    ArrayLike,
    Axes,
    array,
    ndarray,
    normalize_axes,
    write_exactly,
    write_out,
)
from cuprous._common.casting import astype
from cuprous._functions.joining import stack
from cuprous._functions.moments import aligned_weights, mean
from cuprous._functions.nan_reductions import nanmean
from cuprous._functions.reductions import any as any_
from cuprous._functions.reductions import reduced_shape
from cuprous._functions.selection import take_along_axis

#: The continuous methods: (alpha, beta) of Hyndman and Fan; the rank is n q + alpha + q (1 - alpha - beta) - 1.
_CONTINUOUS = {
    "linear": (1.0, 1.0), "weibull": (0.0, 0.0), "hazen": (0.5, 0.5), "interpolated_inverted_cdf": (0.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
#: Methods that round the linear rank.
_DISCRETE: dict[str, Callable[[Any, Any], Any]] = {
    "lower": lambda ops, r: ops.floor(r),
    "higher": lambda ops, r: ops.ceil(r),
    "nearest": lambda ops, r: ops.rint(r),
    "midpoint": lambda ops, r: 0.5 * (ops.floor(r) + ops.ceil(r)),
}
_STEPPED = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")
#: Methods that return elements without interpolation.
_EXACT = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


class _ScalarOps:
    """The operations of `_rank` for Python numbers."""

    floor, ceil, rint = math.floor, math.ceil, round

    @staticmethod
    def where(test: bool, a: float, b: float) -> float:
        return a if test else b


class _ArrayOps:
    """The operations of `_rank` for arrays."""

    floor, ceil, rint, where = (staticmethod(partial(_core.map, name)) for name in ("floor", "ceil", "rint", "where"))


def _rank(ops: Any, method: str, n: Any, q: float) -> Any:
    """Returns the rank of the q-quantile among n sorted values, for each slice if n is an array. Ranks start at 0 and
    may be fractional or out of bounds."""
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        return n * q + (alpha + q * (1 - alpha - beta)) - 1
    if method in _DISCRETE:
        return _DISCRETE[method](ops, (n - 1) * q)
    position = n * q - (1.5 if method == "closest_observation" else 1)
    low = ops.floor(position)
    if method == "closest_observation":
        return ops.where((position == low) & (low % 2 == 1), low, low + 1)
    return ops.where(position > low, low + 1, low + 0.5 if method == "averaged_inverted_cdf" else low)


def _check_method(method: str) -> None:
    known = (*_CONTINUOUS, *_DISCRETE, *_STEPPED)
    if method not in known:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {', '.join(known)}")


def _host_q(q: Any, scale: float, quantity: str) -> tuple[list[float], tuple[int, ...], str | None]:
    """Returns the quantiles on the host as fractions, the shape of `q`, and its dtype for promotion (None: a Python
    float)."""
    import numpy as np

    given = np.asarray(_core.to_numpy(q) if isinstance(q, ndarray) else q)
    if given.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    name = given.dtype.name if given.dtype.kind == "f" else "int64" if given.dtype.kind in "biu" else "float64"
    q_dtype = None if type(q) is float else name  # Python's floats promote weakly
    host = given.astype(np.float64)
    if host.size and not (host.min() >= 0 and host.max() <= scale):
        raise ValueError(f"{quantity} must be in the range [0, {scale:g}]")
    return (host.reshape(-1) / scale).tolist(), host.shape, q_dtype


def _reduced_axes_last(a: ndarray, axes: tuple[int, ...]) -> ndarray:
    """Returns an array with the reduced axes merged into one last axis."""
    kept = [i for i in range(a.ndim) if i not in axes]
    moved = a.transpose((*kept, *axes)) if a.ndim else a
    return moved.reshape((*(a.shape[i] for i in kept), math.prod(a.shape[i] for i in axes)))


#: On a GPU selection is faster than sorting from this number of elements per row on, up to this number of ranks.
_MIN_SELECTION_LENGTH, _MAX_SELECTED_RANKS = 1 << 16, 2


def _greatest(rows: ndarray) -> ndarray:
    return _core.reduce("max", rows, (rows.ndim - 1,))


class _OrderStatistics:
    """Rows (along the last axis) whose elements of the given `ranks` are selected and cast to a dtype that keeps their
    order: by a partition (CPU, neighboring ranks), by selection, or by sorting."""

    __slots__ = ("_chosen", "_dtype", "_last", "_rows")

    def __init__(self, rows: ndarray, ranks: set[int], dtype: str) -> None:
        n, real = rows.shape[-1], dtypes.kind(rows.dtype_name) != "c"
        self._dtype, self._rows, self._last = dtype, rows, n - 1
        self._chosen: dict[int, ndarray] | None = None
        if not (rows.size and real and n < 1 << 31):
            self._rows = _core.sort(rows)
        elif rows.device_name == "cpu" and ranks and max(ranks) - min(ranks) <= 1:
            low, high = min(ranks), max(ranks)
            self._rows = _core.partition(rows, high, False)
            self._chosen = {high: self._rows[..., high].copy()}
            if low < high:
                self._chosen[low] = _greatest(self._rows[..., :high])
            self._rows = self._rows[..., high:]
        elif n >= _MIN_SELECTION_LENGTH and len(ranks) <= _MAX_SELECTED_RANKS:
            self._chosen = {rank: _core.select(rows, rank) for rank in ranks}
        else:
            self._rows = _core.sort(rows)

    def at(self, rank: int) -> ndarray:
        """Returns the element of a rank in each row."""
        found = self._rows[..., rank].copy() if self._chosen is None else self._chosen[rank]
        return astype(found, self._dtype)

    def last(self) -> ndarray:
        """Returns the greatest element of each row, or NaN if the row holds NaN."""
        if self._chosen is None:
            return astype(self._rows[..., self._last], self._dtype)
        return astype(_greatest(self._rows), self._dtype)


def _weights(w: ndarray, a: ndarray, axes: tuple[int, ...] | None) -> ndarray:
    """Broadcasts weights, which have the shape of `a` or of the reduced axes, to the shape of `a`.

    Raises
    ------
    TypeError
        If the shapes differ and no axes are given.
    ValueError
        For other shapes and negative weights. This check waits for the device.
    """
    w = aligned_weights(w, a, axes)
    if w.size and bool(any_(w < 0)):
        raise ValueError("Weights must be non-negative.")
    return _core.broadcast_to(w, a.shape)


def _weighted(ordered: ndarray, w: ndarray, fractions: list[float], skip_nan: bool) -> list[ndarray]:
    """Returns for each fraction the first value at which the cumulative weight reaches it. With `skip_nan`, NaN (sorted
    last) has weight zero.

    Raises
    ------
    ValueError
        If the weights of a slice are infinite, NaN or all zero. This check waits for the device.
    """
    w = astype(w, "float64")
    n = ordered.shape[-1]
    valid = ~_core.map("isnan", ordered) if skip_nan else None
    if valid is not None:
        w = _core.map("where", valid, w, 0.0)
    running = _core.scan("sum", w, w.ndim - 1)
    share = running / running[..., n - 1 :]
    bad = _core.map("isnan", share[..., n - 1])
    if bool(any_(bad if valid is None else bad & valid[..., 0])):
        raise ValueError("Weights included NaN, inf or were all zero.")
    share = _core.map("where", share == 0, -1.0, share)  # weight zero is never a quantile, not even for q = 0
    parts = []
    for q in fractions:
        below = _core.reduce("sum", _core.cast(share < q, "int64"), (share.ndim - 1,), True)
        parts.append(take_along_axis(ordered, _core.map("minimum", below, n - 1))[..., 0])
    return parts


def _lerp(low: ndarray, high: ndarray, weight: Any) -> ndarray:
    """Returns low + (high - low) * weight, monotonic like NumPy's."""
    step = high - low
    result = low + step * weight
    if isinstance(weight, ndarray):
        return _core.map("where", weight >= 0.5, high - step * (1 - weight), result)
    return high - step * (1 - weight) if weight >= 0.5 else result


def _quantile(
    a: ArrayLike, q: Any, axis: Axes, out: Any, overwrite_input: bool, method: str, keepdims: bool, scale: float,
    quantity: str, skip_nan: bool, weights: Any,
) -> ndarray:  # fmt: skip
    _check_method(method)
    a = array(a)
    if dtypes.kind(a.dtype_name) == "c":
        raise TypeError("a must be an array of real numbers")
    fractions, shape, q_dtype = _host_q(q, scale, quantity)
    if q_dtype == "int64" and scale == 1 and method == "linear":
        method = "lower"  # minimum or maximum: keeps the dtype, as there is no interpolation
    axes = normalize_axes(axis, a.ndim)
    if skip_nan and not a.size:  # as NumPy, without an axis for several q
        return nanmean(a, axes, out=out, keepdims=keepdims)
    w = None
    if weights is not None:
        if method != "inverted_cdf":
            raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
        w = _weights(array(weights), a, None if axis is None else axes)
    floating = dtypes.kind(a.dtype_name) == "f"
    if method not in _EXACT:
        if a.dtype_name == "bool" and all(a.shape[i] for i in axes):
            raise TypeError(NO_BOOLEAN_SUBTRACT)
        wide = a.dtype_name if floating else "float64"
        if q_dtype is not None and type(q) is not int:
            wide = _core.promote_types(a.dtype_name, "float64" if q_dtype == "int64" else q_dtype)
    else:
        wide = a.dtype_name
    by_rank = w is None and not (skip_nan and floating)
    # Elements are cast after sorting or selection: elements of half the width sort in half the time.
    rows = _reduced_axes_last(a if by_rank else astype(a, wide), axes)
    n = rows.shape[-1]
    if n == 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    last = None
    if w is not None:
        order = _core.argsort(rows)
        ordered, w = take_along_axis(rows, order), take_along_axis(_reduced_axes_last(w, axes), order)
        parts = _weighted(ordered, w, fractions, skip_nan and floating)
        last = ordered[..., n - 1]
    elif skip_nan and floating:
        ordered = _core.sort(rows)
        parts = [_quantile_without_nan(ordered, f, method) for f in fractions]
    else:
        ranks = [min(max(_rank(_ScalarOps, method, n, f), 0), n - 1) for f in fractions]
        ranked = _OrderStatistics(rows, {whole for r in ranks for whole in (math.floor(r), math.ceil(r))}, wide)
        parts = [_at_rank(ranked, r) for r in ranks]
        last = ranked.last()
    if floating and not skip_nan and last is not None:
        nan = _core.map("isnan", last)
        parts = [_core.map("where", nan, last, part) for part in parts]
    kept = reduced_shape(a.shape, axes, keepdims)
    if not shape:
        return write_out(out, parts[0].reshape(kept), "quantile")
    result = stack(parts) if parts else _core.empty((0,), wide)
    return write_out(out, result.reshape((*shape, *kept)), "quantile")


def _at_rank(ranked: _OrderStatistics, rank: float) -> ndarray:
    low = math.floor(rank)
    if rank == low:
        return ranked.at(low)
    return _lerp(ranked.at(low), ranked.at(low + 1), rank - low)


def _quantile_without_nan(ordered: ndarray, q: float, method: str) -> ndarray:
    """Returns the quantile of the elements that are not NaN (sorted to the front). The rank differs between slices."""
    n = _core.reduce("sum", _core.cast(~_core.map("isnan", ordered), "int64"), (ordered.ndim - 1,), True)
    rank = _core.map("maximum", _core.map("minimum", _rank(_ArrayOps, method, n, q), n - 1), 0)
    low = _core.map("floor", rank)
    index = _core.cast(low, "int64")
    if method in _EXACT:
        return take_along_axis(ordered, index)[..., 0]
    above = _core.map("maximum", _core.map("minimum", index + 1, n - 1), 0)
    weight = rank - low
    if ordered.dtype_name != "float64":
        weight = _core.cast(weight, ordered.dtype_name)
    result = _lerp(take_along_axis(ordered, index), take_along_axis(ordered, above), weight)
    return result[..., 0]


def quantile(
    a: ArrayLike, q: Any, axis: Axes = None, out: ndarray | None = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False, *, weights: ArrayLike = None,
) -> ndarray:  # fmt: skip
    """Returns the q-quantiles (q in 0..1) over axes, with a leading axis for several q. They are NaN where there is a
    NaN.

    Parameters
    ----------
    a : array_like
        An array or array-like of real numbers.
    q : array_like
        The quantile or quantiles, 0 to 1.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    overwrite_input : bool, default False
        Has no effect; the array is never changed.
    method : str, default "linear"
        How to interpolate between elements: "linear" (the default), "lower", "higher", "midpoint", "nearest", or
        another name of NumPy's estimators.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    weights : array_like, optional
        Weights of the elements, of the shape of `a` or of the axis; only with method "inverted_cdf".

    Returns
    -------
    ndarray
        An array without the reduced axes, with the axes of `q` in front.

    Raises
    ------
    ValueError
        For q outside 0..1 or an unknown method.

    See Also
    --------
    mean, percentile, median, nanquantile

    Examples
    --------
    >>> cp.quantile([1, 2, 3, 4], 0.5)
    array(2.5)
    >>> cp.quantile([1, 2, 3, 4], 0.5, method="lower")
    array(2)
    """
    return _quantile(a, q, axis, out, overwrite_input, method, keepdims, 1, "Quantiles", False, weights)


def percentile(
    a: ArrayLike, q: Any, axis: Axes = None, out: ndarray | None = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False, *, weights: ArrayLike = None,
) -> ndarray:  # fmt: skip
    """Returns the percentiles (q in 0..100) over axes, with a leading axis for several q. They are NaN where there is a
    NaN.

    Parameters
    ----------
    a : array_like
        An array or array-like of real numbers.
    q : array_like
        The percentile or percentiles, 0 to 100.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    overwrite_input : bool, default False
        Has no effect; the array is never changed.
    method : str, default "linear"
        How to interpolate between elements: "linear" (the default), "lower", "higher", "midpoint", "nearest", or
        another name of NumPy's estimators.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    weights : array_like, optional
        Weights of the elements, of the shape of `a` or of the axis; only with method "inverted_cdf".

    Returns
    -------
    ndarray
        An array without the reduced axes, with the axes of `q` in front.

    Raises
    ------
    ValueError
        For q outside 0..100 or an unknown method.

    See Also
    --------
    mean, median, nanpercentile, quantile

    Examples
    --------
    >>> cp.percentile([1, 2, 3, 4, 5], 75)
    array(4.)
    >>> cp.percentile([1, 2, 3, 4, 5], [0, 10])
    array([1. , 1.4])
    """
    return _quantile(a, q, axis, out, overwrite_input, method, keepdims, 100, "Percentiles", False, weights)


def nanquantile(
    a: ArrayLike, q: Any, axis: Axes = None, out: ndarray | None = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False, *, weights: ArrayLike = None,
) -> ndarray:  # fmt: skip
    """Returns the q-quantiles over axes of the elements that are not NaN.

    Parameters
    ----------
    a : array_like
        An array or array-like of real numbers.
    q : array_like
        The quantile or quantiles, 0 to 1.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    overwrite_input : bool, default False
        Has no effect; the array is never changed.
    method : str, default "linear"
        How to interpolate between elements: "linear" (the default), "lower", "higher", "midpoint", "nearest", or
        another name of NumPy's estimators.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    weights : array_like, optional
        Weights of the elements, of the shape of `a` or of the axis; only with method "inverted_cdf".

    Returns
    -------
    ndarray
        An array without the reduced axes, with the axes of `q` in front.

    Raises
    ------
    ValueError
        For q outside 0..1 or an unknown method.

    See Also
    --------
    quantile, nanmean, nanmedian, nanpercentile

    Examples
    --------
    >>> cp.nanquantile([1, cp.nan, 3, 5], 0.25)
    array(2.)
    """
    return _quantile(a, q, axis, out, overwrite_input, method, keepdims, 1, "Quantiles", True, weights)


def nanpercentile(
    a: ArrayLike, q: Any, axis: Axes = None, out: ndarray | None = None, overwrite_input: bool = False,
    method: str = "linear", keepdims: bool = False, *, weights: ArrayLike = None,
) -> ndarray:  # fmt: skip
    """Returns the percentiles over axes of the elements that are not NaN.

    Parameters
    ----------
    a : array_like
        An array or array-like of real numbers.
    q : array_like
        The percentile or percentiles, 0 to 100.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    overwrite_input : bool, default False
        Has no effect; the array is never changed.
    method : str, default "linear"
        How to interpolate between elements: "linear" (the default), "lower", "higher", "midpoint", "nearest", or
        another name of NumPy's estimators.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.
    weights : array_like, optional
        Weights of the elements, of the shape of `a` or of the axis; only with method "inverted_cdf".

    Returns
    -------
    ndarray
        An array without the reduced axes, with the axes of `q` in front.

    Raises
    ------
    ValueError
        For q outside 0..100 or an unknown method.

    See Also
    --------
    nanmean, nanmedian, percentile, median, mean, nanquantile

    Examples
    --------
    >>> cp.nanpercentile([1, cp.nan, 3, 5], 50)
    array(3.)
    """
    return _quantile(a, q, axis, out, overwrite_input, method, keepdims, 100, "Percentiles", True, weights)


def median(
    a: ArrayLike, axis: Axes = None, out: ndarray | None = None, overwrite_input: bool = False, keepdims: bool = False
) -> ndarray:
    """Returns the middle value over axes, or the mean of the two middle ones. It is NaN where there is a NaN.

    Parameters
    ----------
    a : array_like
        An array or array-like of real numbers.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    overwrite_input : bool, default False
        Has no effect; the array is never changed.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.

    Returns
    -------
    ndarray
        An array without the reduced axes; float64 for integers.

    See Also
    --------
    mean, percentile

    Examples
    --------
    >>> cp.median([5, 1, 2, 9])
    array(3.5)
    >>> cp.median([[1, 8], [3, 4], [2, 6]], axis=0)
    array([2., 6.])
    """
    a = array(a)
    axes = normalize_axes(axis, a.ndim)
    rows = _reduced_axes_last(a, axes)
    n = rows.shape[-1]
    if n == 0:
        result = mean(rows, -1)
    else:
        ranks = sorted({(n - 1) // 2, n // 2})
        ranked = _OrderStatistics(rows, set(ranks), a.dtype_name)
        result = mean(stack([ranked.at(rank) for rank in ranks], -1), -1)
        if dtypes.kind(a.dtype_name) in "fc":
            last = ranked.last()
            result = _core.map("where", _core.map("isnan", last), last, result)
    return write_exactly(out, result.reshape(reduced_shape(a.shape, axes, keepdims)), "median", "unsafe")


def nanmedian(
    a: ArrayLike, axis: Axes = None, out: ndarray | None = None, overwrite_input: bool = False, keepdims: bool = False
) -> ndarray:
    """Returns the median over axes of the elements that are not NaN.

    Parameters
    ----------
    a : array_like
        An array or array-like of real numbers.
    axis : int or tuple of ints, optional
        The axis or axes to reduce; None (the default) reduces all.
    out : ndarray, optional
        An array of the result's shape to write to, whose dtype the result must cast to.
    overwrite_input : bool, default False
        Has no effect; the array is never changed.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.

    Returns
    -------
    ndarray
        An array without the reduced axes; NaN where all elements are NaN.

    See Also
    --------
    mean, median, percentile

    Examples
    --------
    >>> cp.nanmedian([5, cp.nan, 2, 9])
    array(5.)
    """
    a = array(a)
    if dtypes.kind(a.dtype_name) not in "fc" or not a.size:
        return median(a, axis, out, overwrite_input, keepdims)
    axes = normalize_axes(axis, a.ndim)
    ordered = _core.sort(_reduced_axes_last(a, axes))
    n = _core.reduce("sum", _core.cast(~_core.map("isnan", ordered), "int64"), (ordered.ndim - 1,), True)
    low, high = (_core.map("maximum", n - k, 0) // 2 for k in (1, 0))
    # Two equal middle values are not added: they may be infinite, or their sum may overflow.
    middles = take_along_axis(ordered, low), take_along_axis(ordered, _core.map("minimum", high, ordered.shape[-1] - 1))
    result = _core.map("where", low == high, middles[0], (middles[0] + middles[1]) / 2)[..., 0]
    return write_out(out, result.reshape(reduced_shape(a.shape, axes, keepdims)), "nanmedian")


__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]
