"""Peaks of a signal and their properties. Each condition of `find_peaks` waits for the device, to read how many peaks
it leaves."""

from __future__ import annotations

import math
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray, normalize_axis
from cuprous._common.operands import on_array_device
from cuprous.scipy.signal._trees import Maxima

_map = _core.map


def _signal(x: Any) -> ndarray:
    a = array(x)
    if a.ndim != 1:
        raise ValueError("`x` must be a 1-D array")
    if _dtypes.kind(a.dtype_name) == "c":
        raise TypeError("Cannot cast array data from complex numbers to dtype('float64') according to the rule 'safe'")
    return a if a.dtype_name == "float64" else _core.cast(a, "float64")


def _peak_indices(peaks: Any) -> ndarray:
    p = array(peaks)
    if p.size == 0:
        p = cp.zeros(0 if p.ndim == 1 else p.shape, "int64")
    if p.ndim != 1:
        raise ValueError("`peaks` must be a 1-D array")
    if _dtypes.kind(p.dtype_name) not in "iub":
        raise TypeError("cannot safely cast `peaks` to dtype('intp')")
    return p if p.dtype_name == "int64" else _core.cast(p, "int64")


def _local_maxima(x: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Returns the middles and edges of the plateaus that are higher than both neighbors."""
    n = x.size
    if n < 3:
        return (cp.zeros(0, "int64"),) * 3
    index = cp.arange(n)
    differs = cp.concatenate([x[1:] != x[:-1], cp.ones(1, bool)])
    # The last index of the plateau that each element belongs to: the first index from it on whose successor differs.
    last = cp.flip(_core.scan("min", cp.flip(_map("where", differs, index, n)).copy(), 0))
    after = _map("minimum", last + 1, n - 1)
    falls = _map("logical_and", last < n - 1, cp.take(x, after) < x)
    rises = cp.concatenate([cp.zeros(1, bool), x[:-1] < x[1:]])
    left = cp.nonzero(_map("logical_and", rises, falls))[0]
    right = cp.take(last, left)
    return (left + right) // 2, left, right


def _limits(interval: Any, x: ndarray, peaks: ndarray) -> tuple[Any, Any]:
    """Returns the lower and upper bounds, each a number, an array with one element for each peak, or None."""
    low, high = interval if isinstance(interval, (tuple, list)) else (interval, None)
    bounds = []
    for bound, name in ((low, "lower"), (high, "upper")):
        if bound is not None and not isinstance(bound, (int, float)):
            bound = array(bound)
            if bound.ndim:
                if bound.size != x.size:
                    raise ValueError(f"array size of {name} interval border must match x")
                bound = cp.take(bound, peaks)
        bounds.append(bound)
    return bounds[0], bounds[1]


def _within(value: ndarray, bounds: tuple[Any, Any]) -> ndarray:
    low, high = bounds
    keep = cp.ones(value.shape, bool)
    if low is not None:
        keep = _map("logical_and", keep, low <= value)
    return keep if high is None else _map("logical_and", keep, value <= high)


def _keep_distant(peaks: ndarray, height: ndarray, distance: int) -> ndarray:
    """Returns which peaks remain if each removes all lower ones nearer than `distance`, starting with the highest.

    In each round, all undecided peaks that are highest within their distance are kept at once, as the order among peaks
    that do not overlap is irrelevant. The number of rounds is the length of the longest descending chain of neighbors.
    """
    count = peaks.size
    order = cp.argsort(height, stable=True)
    rank = _core.cast(cp.argsort(order, stable=True), "float64")  # among equal heights the last peak ranks first
    start = cp.searchsorted(peaks, peaks - distance, side="right")
    stop = cp.searchsorted(peaks, peaks + distance, side="left")
    kept, open_ = cp.zeros(count, bool), cp.ones(count, bool)
    while count and bool(cp.any(open_)):
        best = Maxima(_map("where", open_, rank, -1.0)).over(start, stop)
        chosen = _map("logical_and", open_, best == rank)
        kept = _map("logical_or", kept, chosen)
        before = cp.concatenate([cp.zeros(1, "int64"), cp.cumsum(chosen)])
        near = cp.take(before, stop) > cp.take(before, start)
        open_ = _map("logical_and", open_, _map("logical_not", near))
    return kept


def _window(wlen: Any) -> int | None:
    if wlen is None:
        return None
    if not wlen > 1:
        raise ValueError(f"`wlen` must be larger than 1, was {wlen}")
    return math.ceil(wlen)


def _side(x: ndarray, peaks: ndarray, wlen: int | None) -> tuple[ndarray, ndarray]:
    """Returns the minimum between each peak and the preceding higher element, within the window, and its index."""
    height = cp.take(x, peaks)
    first = Maxima(x).previous(peaks, height, False) + 1
    if wlen is not None:
        first = _map("maximum", first, peaks - wlen // 2)
    depths = Maxima(-x)
    depth = depths.over(first, peaks + 1)
    return -depth, depths.previous(peaks + 1, depth, True)


def _prominences(x: ndarray, peaks: ndarray, wlen: Any) -> tuple[ndarray, ndarray, ndarray]:
    window = _window(wlen)
    if peaks.size == 0 or x.size == 0:
        return cp.zeros(0), cp.zeros(0, "int64"), cp.zeros(0, "int64")
    before, left = _side(x, peaks, window)
    after, right = _side(cp.flip(x).copy(), x.size - 1 - peaks, window)
    return cp.take(x, peaks) - _map("maximum", before, after), left, x.size - 1 - right


def _inside(peaks: ndarray, x: ndarray) -> None:
    """Raises ValueError for a peak that is not an index of `x`."""
    if peaks.size and bool(_map("logical_or", cp.min(peaks) < 0, cp.max(peaks) >= x.size)):
        raise ValueError("a peak is not a valid index for `x`")


@on_array_device
def peak_prominences(x: Any, peaks: Any, wlen: Any = None) -> tuple[ndarray, ndarray, ndarray]:
    """Returns the prominence of each peak: its height above the higher of the two minima to its left and right, each
    searched up to the next higher element.

    Parameters
    ----------
    x : array_like
        The signal, a vector.
    peaks : array_like
        The indices of the peaks.
    wlen : int or tuple of ints, optional
        The extent of the window that is searched around each peak; None searches all of `x`.

    Returns
    -------
    tuple of ndarrays
        Prominences (float64), and the indices (int64) of the minima to the left and right.

    Raises
    ------
    ValueError
        For arrays that are not vectors, indices outside `x` (whose check waits for the device), and wlen <= 1.

    See Also
    --------
    find_peaks, peak_widths

    Examples
    --------
    >>> cp.scipy.signal.peak_prominences(cp.asarray([0.0, 3.0, 1.0, 5.0, 0.0]), cp.asarray([1, 3]))[0]
    array([2., 5.])
    """
    signal, indices = _signal(x), _peak_indices(peaks)
    _inside(indices, signal)
    return _prominences(signal, indices, wlen)


def _crossing(x: ndarray, peaks: ndarray, height: ndarray, base: ndarray) -> tuple[ndarray, ndarray]:
    """Finds where the piecewise linear signal falls to `height`, going left from each peak to its base: the index of
    the first element not above it, and the fraction of a step beyond that element."""
    crossing = _map("maximum", Maxima(-x).previous(peaks + 1, -height, True), base)
    current, next_ = cp.take(x, crossing), cp.take(x, _map("minimum", crossing + 1, x.size - 1))
    below = current < height
    part = (height - current) / _map("where", below, next_ - current, 1.0)
    return crossing, _map("where", below, part, 0.0)


def _widths(x: ndarray, peaks: ndarray, rel_height: float, data: Any) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    if rel_height < 0:
        raise ValueError("`rel_height` must be greater or equal to 0.0")
    if peaks.size == 0:
        return (cp.zeros(0),) * 4
    prominence, left, right = data
    height = cp.take(x, peaks) - prominence * float(rel_height)
    crossing, part = _crossing(x, peaks, height, left)
    start, last = crossing + part, x.size - 1
    crossing, part = _crossing(cp.flip(x).copy(), last - peaks, height, last - right)
    stop = (last - crossing) - part
    return stop - start, height, start, stop


@on_array_device
def peak_widths(
    x: Any, peaks: Any, rel_height: float = 0.5, prominence_data: Any = None, wlen: Any = None
) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Returns the width of each peak at a fraction of its prominence below its top.

    Parameters
    ----------
    x : array_like
        The signal, a vector.
    peaks : array_like
        The indices of the peaks.
    rel_height : float, default 0.5
        That fraction: 1 at the base, 0.5 halfway up.
    prominence_data : tuple of ndarrays, optional
        The result of `peak_prominences`, if known.
    wlen : int, optional
        As for `peak_prominences`.

    Returns
    -------
    tuple of ndarrays
        Widths, the heights at which they are measured, and the interpolated left and right ends.

    Raises
    ------
    ValueError
        As for `peak_prominences`, for a negative `rel_height`, data of another length, and bases that are not around
        their peaks.

    See Also
    --------
    find_peaks, peak_prominences

    Examples
    --------
    >>> cp.scipy.signal.peak_widths(cp.asarray([0.0, 3.0, 1.0, 5.0, 0.0]), cp.asarray([1, 3]))[0]
    array([0.83333333, 1.125     ])
    """
    signal, indices = _signal(x), _peak_indices(peaks)
    _inside(indices, signal)
    if prominence_data is None:
        data = _prominences(signal, indices, wlen)
    else:
        data = tuple(array(v) for v in prominence_data)  # type: ignore[assignment]
        if any(v.shape != indices.shape for v in data):
            raise ValueError("arrays in `prominence_data` must have the same shape as `peaks`")
        at, left, right = (_core.to_numpy(v) for v in (indices, *data[1:]))
        for peak in at[(left < 0) | (left > at) | (right < at) | (right >= signal.size)][:1]:
            raise ValueError(f"prominence data is invalid for peak {peak}")
    return _widths(signal, indices, rel_height, data)


@on_array_device
def find_peaks(
    x: Any, height: Any = None, threshold: Any = None, distance: Any = None, prominence: Any = None, width: Any = None,
    wlen: Any = None, rel_height: float = 0.5, plateau_size: Any = None,
) -> tuple[ndarray, dict[str, ndarray]]:  # fmt: skip
    """Finds the peaks of a signal that meet all conditions.

    Parameters
    ----------
    x : array_like
        The signal, a vector. A plateau counts as one peak at its middle. NaN is never part of a peak.
    height : array_like, optional
        The least height, or a pair (least, greatest), either of which may be None or an array with one element for each
        element of `x`. The same forms apply to the other conditions.
    threshold : float or pair of floats, optional
        The least vertical distance to both neighbors.
    distance : float or pair of floats, optional
        The least distance between peaks: a higher peak removes lower ones nearer than that. Of equally high ones the
        later remains.
    prominence : float or pair of floats, optional
        See `peak_prominences`.
    width : float or pair of floats, optional
        See `peak_widths`.
    wlen : int, optional
        The window for prominences.
    rel_height : float, default 0.5
        The relative height at which widths are measured.
    plateau_size : int or pair of ints, optional
        The number of equal elements at the top.

    Returns
    -------
    tuple (ndarray, dict of str to ndarray)
        The indices (int64), and a dict of the properties that the conditions computed, with SciPy's keys.

    Raises
    ------
    ValueError
        For an `x` that is not a vector, a distance below 1, and bounds of another length than `x`.

    See Also
    --------
    peak_prominences, peak_widths

    Examples
    --------
    >>> peaks, properties = cp.scipy.signal.find_peaks(cp.asarray([0, 3, 1, 5, 0]), height=4)
    >>> peaks
    array([3])
    """
    signal = _signal(x)
    if distance is not None and distance < 1:
        raise ValueError("`distance` must be greater or equal to 1")
    peaks, left, right = _local_maxima(signal)
    found: dict[str, ndarray] = {}

    def select(keep: ndarray) -> None:
        nonlocal peaks
        index = cp.nonzero(keep)[0]
        peaks = cp.take(peaks, index)
        found.update({key: cp.take(value, index) for key, value in found.items()})

    if plateau_size is not None:
        sizes = right - left + 1
        found.update(plateau_sizes=sizes, left_edges=left, right_edges=right)
        select(_within(sizes, _limits(plateau_size, signal, peaks)))
    if height is not None:
        found["peak_heights"] = cp.take(signal, peaks)
        select(_within(found["peak_heights"], _limits(height, signal, peaks)))
    if threshold is not None:
        top = cp.take(signal, peaks)
        sides = [top - cp.take(signal, peaks + step) for step in (-1, 1)] if peaks.size else [top, top]
        found.update(left_thresholds=sides[0], right_thresholds=sides[1])
        low, high = _limits(threshold, signal, peaks)
        keep = _within(_map("minimum", *sides), (low, None))
        select(_map("logical_and", keep, _within(_map("maximum", *sides), (None, high))))
    if distance is not None:
        select(_keep_distant(peaks, cp.take(signal, peaks), math.ceil(distance)))
    bases = ("prominences", "left_bases", "right_bases")
    if prominence is not None or width is not None:
        found.update(zip(bases, _prominences(signal, peaks, wlen), strict=True))
    if prominence is not None:
        select(_within(found["prominences"], _limits(prominence, signal, peaks)))
    if width is not None:
        widths = _widths(signal, peaks, rel_height, tuple(found[name] for name in bases))
        found.update(zip(("widths", "width_heights", "left_ips", "right_ips"), widths, strict=True))
        select(_within(found["widths"], _limits(width, signal, peaks)))
    return peaks, found


@on_array_device
def argrelextrema(data: Any, comparator: Any, axis: int = 0, order: int = 1, mode: str = "clip") -> tuple[ndarray, ...]:
    """Returns where `comparator(element, neighbor)` holds for all of the `order` neighbors on both sides.

    Parameters
    ----------
    data : array_like
        The array.
    comparator : callable
        A function of two arrays, such as `cuprous.greater`.
    axis : int, default 0
        The axis.
    order : int, default 1
        The number of neighbors on each side.
    mode : str, default "clip"
        How the array continues beyond its edges: "clip" (repeats the edge) or "wrap".

    Returns
    -------
    tuple of ndarrays
        The indices, in the form that `nonzero` returns.

    Raises
    ------
    ValueError
        For an order below 1.
    NotImplementedError
        For the mode "raise".

    See Also
    --------
    argrelmin, argrelmax

    Examples
    --------
    >>> cp.scipy.signal.argrelextrema(cp.asarray([1, 3, 2, 5, 4]), cp.greater)
    (array([1, 3]),)
    """
    if int(order) != order or order < 1:
        raise ValueError("Order must be an int >= 1")
    a = array(data)
    if mode not in ("clip", "wrap"):
        raise NotImplementedError(f"[argrelextrema] mode={mode!r} is not supported; use 'clip' or 'wrap'")
    axis = normalize_axis(axis, a.ndim)
    n = a.shape[axis]
    index = cp.arange(n)
    result = cp.ones(a.shape, bool)
    for shift in range(1, int(order) + 1):
        for other in (index + shift, index - shift):
            other = cp.clip(other, 0, n - 1) if mode == "clip" else other % max(n, 1)
            result = _map("logical_and", result, comparator(a, cp.take(a, other, axis=axis)))
    return cp.nonzero(result)


@on_array_device
def argrelmax(data: Any, axis: int = 0, order: int = 1, mode: str = "clip") -> tuple[ndarray, ...]:
    """Returns where elements are greater than their neighbors.

    Parameters
    ----------
    data : array_like
        The array.
    axis : int, default 0
        The axis.
    order : int, default 1
        The number of neighbors on each side.
    mode : str, default "clip"
        How the array continues beyond its edges: "clip" (repeats the edge) or "wrap".

    Returns
    -------
    tuple of ndarrays
        The indices, in the form that `nonzero` returns.

    Raises
    ------
    ValueError
        For an order below 1.

    See Also
    --------
    argrelextrema, argrelmin, find_peaks

    Examples
    --------
    >>> cp.scipy.signal.argrelmax(cp.asarray([1, 3, 2, 5, 4]))
    (array([1, 3]),)
    """
    return argrelextrema(data, cp.greater, axis, order, mode)


@on_array_device
def argrelmin(data: Any, axis: int = 0, order: int = 1, mode: str = "clip") -> tuple[ndarray, ...]:
    """Returns where elements are less than their neighbors.

    Parameters
    ----------
    data : array_like
        The array.
    axis : int, default 0
        The axis.
    order : int, default 1
        The number of neighbors on each side.
    mode : str, default "clip"
        How the array continues beyond its edges: "clip" (repeats the edge) or "wrap".

    Returns
    -------
    tuple of ndarrays
        The indices, in the form that `nonzero` returns.

    Raises
    ------
    ValueError
        For an order below 1.

    See Also
    --------
    argrelextrema, argrelmax, find_peaks

    Examples
    --------
    >>> cp.scipy.signal.argrelmin(cp.asarray([3, 1, 2, 0, 4]))
    (array([1, 3]),)
    """
    return argrelextrema(data, cp.less, axis, order, mode)
