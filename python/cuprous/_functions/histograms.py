"""Histograms and counts of values."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, array, ndarray, result_name, spread
from cuprous._common.casting import astype, common_dtype
from cuprous._common.operands import is_scalar, on_array_device
from cuprous._functions import conversion, ranges
from cuprous._functions.bin_widths import count
from cuprous._functions.reductions import any as any_
from cuprous._functions.sorting import searchsorted


@on_array_device
def bincount(x: ArrayLike, weights: ArrayLike = None, minlength: int = 0) -> ndarray:
    """Returns the number of occurrences of each value in an array of non-negative integers.

    Parameters
    ----------
    x : array_like
        A 1-d array of integers.
    weights : array_like, optional
        The weight of each element. The result is the sum of weights (float64) then.
    minlength : int, default 0
        The least number of elements of the result.

    Returns
    -------
    ndarray
        A 1-d array of max(x) + 1 elements, or `minlength` if that is more. The greatest value is copied to the host.

    Raises
    ------
    TypeError
        If the array is not integer.
    ValueError
        If it is not 1-d or holds negative values.

    See Also
    --------
    histogram, digitize, unique

    Examples
    --------
    >>> cp.bincount([0, 1, 1, 3])
    array([1, 2, 0, 1])
    >>> cp.bincount([0, 1, 1], weights=[0.5, 1.0, 2.0])
    array([0.5, 3. ])
    """
    given = x
    x = array(given)
    if x.ndim != 1:
        raise ValueError(
            "object too deep for desired array" if x.ndim else "object of too small depth for desired array"
        )
    if dtypes.kind(x.dtype_name) not in "biu" and (x.size or x is given):
        raise TypeError(
            f"Cannot cast array data from dtype('{x.dtype_name}') to dtype('int64') according to the rule 'safe'"
        )
    minlength = operator.index(minlength)
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    x = astype(x, "int64")
    length = minlength
    if x.size:
        least, most = _core.reduce("min", x, None), _core.reduce("max", x, None)  # both in one pass
        if int(least) < 0:
            raise ValueError("'list' argument must have no negative elements")
        length = max(minlength, int(most) + 1)
    w: Any = 1
    if weights is not None:
        w = astype(array(weights), "float64")
        if w.shape != x.shape:
            raise ValueError("The weights and list don't have the same length.")
    result = _core.full((length,), 0, "int64" if weights is None or not x.size else "float64")
    if x.size:
        _core.scatter(result, x, w, "add")
    return result


@on_array_device
def histogram_bin_edges(a: ArrayLike, bins: Any = 10, range: Any = None, weights: ArrayLike = None) -> ndarray:
    """Returns the edges that `histogram` uses. A number of `bins` gives bins of equal width over the range of the data.
    The name of an estimator determines that number ("auto", "doane", "fd", "rice", "scott", "sqrt", "stone",
    "sturges"). A sequence is used as the edges.

    Parameters
    ----------
    a : array_like
        An array or array-like, which is flattened.
    bins : int, sequence of scalars or str, default 10
        A number of bins, their edges, or the name of an estimator.
    range : pair of floats, optional
        The lower and upper bound; by default those of the data.
    weights : array_like, optional
        The weight of each value, an array of the same shape.

    Returns
    -------
    ndarray
        A 1-d array.

    Raises
    ------
    TypeError
        If weights are given with an estimator.
    ValueError
        If edges do not increase, the range is invalid, or the name is unknown.

    See Also
    --------
    histogram

    Examples
    --------
    >>> cp.histogram_bin_edges([0, 1, 5, 10], bins=4)
    array([ 0. ,  2.5,  5. ,  7.5, 10. ])
    """
    a = array(a)
    if weights is not None and array(weights).shape != a.shape:
        raise ValueError("weights should have the same shape as a.")
    if isinstance(bins, str):
        bins = count(a, bins, None if range is None else _outer_edges(a, range), weights, histogram)
    if getattr(bins, "ndim", 0) == 1 or isinstance(bins, (list, tuple)):
        edges = conversion.asarray(bins)
        if edges.ndim != 1:
            raise ValueError("`bins` must be 1d, when an array")
        if bool(_core.reduce("max", edges[1:] < edges[:-1], None)) if edges.size > 1 else False:
            raise ValueError("`bins` must increase monotonically, when an array")
        return edges
    if getattr(bins, "ndim", 0) > 1:
        raise ValueError("`bins` must be 1d, when an array")
    try:
        number = operator.index(bins)
    except TypeError:
        raise TypeError("`bins` must be an integer, a string, or an array") from None
    if number < 1:
        raise ValueError("`bins` must be positive, when an integer")
    first, last = _outer_edges(a, range)
    name = dtypes.inexact(result_name(a, *(() if range is None else range)))
    # Only edges as close as adjacent floats can be equal; they are compared on the host then.
    too_close = not (last - first) / number > 2 * _SPACING.get(name, 2.0**-52) * max(abs(first), abs(last))
    if range is None and a.size and dtypes.kind(a.dtype_name) == "f":  # the extremes of the data have its dtype
        first, last = (_core.full((), x, a.dtype_name) for x in (first, last))
    edges = ranges.linspace(first, last, number + 1, dtype=name)
    if too_close and bool(any_(edges[1:] <= edges[:-1])):
        raise ValueError(f"Too many bins for data range. Cannot create {number} finite-sized bins.")
    return edges


#: An upper bound of half the distance between adjacent floats, relative to their value.
_SPACING = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23}


def _outer_edges(a: ndarray, range: Any) -> tuple[Any, Any]:
    if range is not None:
        first, last = (x.item() if hasattr(x, "item") else x for x in range)
        if first > last:
            raise ValueError("max must be larger than min in range parameter.")
    elif a.size == 0:
        first, last = 0, 1
    else:
        first, last = _core.reduce("min", a, None).item(), _core.reduce("max", a, None).item()
    if not (abs(first) < float("inf") and abs(last) < float("inf")):
        raise ValueError(f"{'autodetected' if range is None else 'supplied'} range of [{first}, {last}] is not finite")
    if first == last:
        first, last = first - 0.5, last + 0.5
    return first, last


def _are_equal(bins: Any) -> bool:
    """Returns true if `bins` is a number or a name, which give bins of equal width."""
    return isinstance(bins, str) or not hasattr(bins, "__len__")


def _bin_of(values: ndarray, edges: ndarray, equal: bool = False) -> ndarray:
    """Returns the index of the half-open bin of each value. The last bin is closed. Values outside get -1 or
    len(edges) - 1.

    If bins are `equal` up to rounding, the index is calculated and then corrected by comparing with the adjacent edges.
    """
    name = common_dtype((values, edges))
    values, edges = astype(values, name), astype(edges, name)
    if equal and dtypes.kind(name) == "f":
        first, bins = edges[0], edges.size - 1
        last = edges[bins]
        inside = (values >= first) & (values <= last)
        # In float64 the quotient of float32 bins is off by at most one bin.
        position = (_core.cast(values, "float64") - first) / (_core.cast(last, "float64") - first) * bins
        index = _core.cast(_core.map("where", inside, position, 0.0), "int64")
        index = _core.map("minimum", index, bins - 1)
        index = index - _core.cast(values < _core.gather(edges, index), "int64")
        index = index + _core.cast((values >= _core.gather(edges, index + 1)) & (index < bins - 1), "int64")
        return _core.map("where", inside, index, bins)
    index = searchsorted(edges, values, "right") - 1
    last = edges[edges.size - 1]
    return _core.map("where", values == last, edges.size - 2, index)


def _counts(index: ndarray, inside: ndarray, size: int, weights: ndarray | None) -> ndarray:
    """Returns the sums of the bins. Values outside go to an additional bin, which is dropped."""
    index = _core.map("where", inside, index, size).reshape(-1)
    name = "int64" if weights is None else weights.dtype_name
    if weights is not None and dtypes.kind(name) in "biu":
        name = "int64" if dtypes.kind(name) != "u" else "uint64"
        weights = _core.cast(weights, name)
    result = _core.full((size + 1,), 0, name)
    if index.size:
        _core.scatter(result, index, 1 if weights is None else weights.reshape(-1), "add")
    return result[:size]


@on_array_device
def histogram(
    a: ArrayLike, bins: Any = 10, range: Any = None, density: bool | None = None, weights: ArrayLike = None
) -> tuple[ndarray, ndarray]:
    """Returns the number of values (or the sum of their weights) in each bin, and the edges of the bins.

    Parameters
    ----------
    a : array_like
        An array or array-like, which is flattened.
    bins : int, sequence of scalars or str, default 10
        A number of bins, their edges, or the name of an estimator as in `histogram_bin_edges`.
    range : pair of floats, optional
        The lower and upper bound; by default those of the data.
    density : bool, optional
        Whether to divide by the sum and the width of the bins, so that the integral is one.
    weights : array_like, optional
        The weight of each value, an array of the same shape.

    Returns
    -------
    pair of ndarrays
        A tuple of the counts, of shape (bins,), and the edges, of shape (bins + 1,).

    Raises
    ------
    ValueError
        If edges do not increase, the range is invalid, or the weights have another shape than the data.

    See Also
    --------
    histogramdd, bincount, searchsorted, digitize, histogram_bin_edges

    Examples
    --------
    >>> counts, edges = cp.histogram([1, 2, 2, 4, 9], bins=[0, 3, 6, 10])
    >>> counts
    array([3, 1, 1])
    """
    a = array(a)
    if a.dtype_name == "bool":
        a = _core.cast(a, "uint8")
    edges = histogram_bin_edges(a, bins, range, weights)
    flat = a.reshape(-1)
    index = _bin_of(flat, edges, _are_equal(bins))
    inside = (index >= 0) & (index < edges.size - 1)
    counts = _counts(index, inside, edges.size - 1, None if weights is None else array(weights))
    if not density:
        return counts, edges
    widths = _core.cast(edges[1:] - edges[:-1], "float64")
    return counts / widths / _core.reduce("sum", counts, None), edges


def _edges_of_axis(column: ndarray, bins: Any, limits: Any) -> ndarray:
    """As `histogram_bin_edges`, but edges of a given range are float64 for every dtype of the sample."""
    if (limits is None and column.size) or isinstance(bins, (list, tuple)) or getattr(bins, "ndim", 0) > 0:
        return histogram_bin_edges(column, bins, limits)
    return histogram_bin_edges(_core.cast(column, "float64"), bins, limits)


@on_array_device
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool | None = None, weights: ArrayLike = None
) -> tuple[ndarray, list[ndarray]]:
    """Returns the counts of points in boxes of a space of D dimensions.

    Parameters
    ----------
    sample : array_like
        An array of shape (N, D), or a sequence of D arrays of N coordinates.
    bins : int or array_like, default 10
        A number of bins, or for each dimension a number of bins or the edges.
    range : pair of floats, optional
        A pair of a lower and an upper bound for each dimension; by default those of the data.
    density : bool, optional
        Whether to divide by the sum and the width of the bins, so that the integral is one.
    weights : array_like, optional
        The weight of each point, a 1-d array.

    Returns
    -------
    tuple (ndarray, list of ndarrays)
        A tuple of the counts (float64), with an axis for each dimension, and a list with the edges along each.

    Raises
    ------
    ValueError
        If the sample has another shape, or the number of bins or ranges is not D.

    See Also
    --------
    histogram, histogram2d

    Examples
    --------
    >>> counts, edges = cp.histogramdd(cp.asarray([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), bins=2)
    >>> counts
    array([[1., 0.],
           [1., 1.]])
    """
    if isinstance(sample, ndarray):
        if sample.ndim < 2:
            sample = sample.reshape((-1, 1))
        if sample.ndim > 2:
            raise ValueError(f"[histogramdd] the sample must be (N, D), not of {sample.ndim} dimensions")
        columns = [sample[:, i] for i in builtins.range(sample.shape[1])]
    else:
        columns = [array(x) for x in sample]
        if any(x.ndim > 1 for x in columns):
            raise ValueError("[histogramdd] the coordinates must be 1-d")
        name = common_dtype(columns)
        columns = [astype(x.reshape(-1), name) for x in columns]
        if len({x.size for x in columns}) > 1:
            raise ValueError(f"[histogramdd] the coordinates have lengths {[x.size for x in columns]}; they must agree")
    dims = len(columns)
    per_axis = list(bins) if isinstance(bins, (list, tuple)) else [bins] * dims
    if len(per_axis) != dims:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = [None] * dims if range is None else list(range)
    if len(ranges) != dims:
        raise ValueError("range argument must have one entry per dimension")
    index: Any = 0
    inside: Any = True
    edges = []
    for i, (column, how, limits) in enumerate(zip(columns, per_axis, ranges, strict=True)):
        if is_scalar(how) and how < 1:
            raise ValueError(f"`bins[{i}]` must be positive, when an integer")
        axis_edges = _edges_of_axis(column, how, limits)
        bin_index = _bin_of(column, axis_edges, _are_equal(how))
        size = axis_edges.size - 1
        fits = (bin_index >= 0) & (bin_index < size)
        inside = fits if inside is True else inside & fits
        index = index * size + bin_index
        edges.append(axis_edges)
    shape = tuple(e.size - 1 for e in edges)
    w = None if weights is None else array(weights)
    counts = _core.cast(_counts(index, inside, math.prod(shape), w), "float64").reshape(shape)
    if density:
        volume: Any = _core.reduce("sum", counts, None)
        for i, e in enumerate(edges):
            counts = counts / spread(e[1:] - e[:-1], i, dims)
        counts = counts / volume
    return counts, edges


@on_array_device
def histogram2d(
    x: ArrayLike, y: ArrayLike, bins: Any = 10, range: Any = None, density: bool | None = None,
    weights: ArrayLike = None,
) -> tuple[ndarray, ndarray, ndarray]:  # fmt: skip
    """Returns the counts of points (x, y) in rectangles, and the edges along both axes.

    Parameters
    ----------
    x : array_like
        A 1-d array-like of N coordinates.
    y : array_like
        A 1-d array-like of N coordinates.
    bins : int or array_like, default 10
        A number of bins or the edges, for both axes or a pair of one for each.
    range : pair of floats, optional
        A pair of a lower and an upper bound for each axis; by default those of the data.
    density : bool, optional
        Whether to divide by the sum and the width of the bins, so that the integral is one.
    weights : array_like, optional
        The weight of each point, a 1-d array.

    Returns
    -------
    tuple of ndarrays
        A tuple of the counts (float64), of shape (nx, ny), and the edges along x and y.

    Raises
    ------
    ValueError
        For x and y of different lengths.

    See Also
    --------
    histogram, histogramdd

    Examples
    --------
    >>> counts, x_edges, y_edges = cp.histogram2d([0, 1, 1], [0, 1, 1], bins=2)
    >>> counts
    array([[1., 0.],
           [0., 2.]])
    """
    x, y = array(x), array(y)
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if (isinstance(bins, (list, tuple)) and len(bins) not in (1, 2)) or getattr(bins, "ndim", 0) == 1:
        bins = [bins, bins]
    counts, (first, second) = histogramdd([x, y], bins, range, density, weights)
    return counts, first, second


__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]
