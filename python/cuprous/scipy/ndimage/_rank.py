"""Rank filters: minima, maxima, medians, percentiles and ranks over windows.

The windows are views of the padded input. Windows of up to `_NETWORK` elements use a selection network of minima and
maxima, which fuses into one kernel. Larger windows are sorted, in chunks of bounded memory. As in SciPy, windows that
contain NaN give an undefined element.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

from cuprous import _core
from cuprous._common.arguments import as_shape, normalize_axis
from cuprous.scipy.ndimage._network import select
from cuprous.scipy.ndimage._parameters import documented
from cuprous.scipy.ndimage._support import (
    ArrayLike,
    Mode,
    Output,
    beyond,
    check_axes,
    check_origin,
    converted,
    deliver,
    edge,
    in_order,
    ndarray,
    per_axis,
    source,
    spread,
    target,
)

#: The largest window for a selection network: 578 operations for the median of 49. On two CPU cores that takes an
#: eighth of the time of sorting; larger networks are still faster there, but take long to plan and compile.
_NETWORK = 49
#: The largest box whose extreme is computed in one pass, and the longest line without doubling.
_BOX, _LINE = 32, 8
#: The number of window elements that are sorted at a time.
_CHUNK = 1 << 22

Offsets = list[tuple[int, ...]]


def _padded(a: ndarray, shape: Sequence[int], origins: Sequence[int], mode: str, cval: Any) -> ndarray:
    """Pads the input so that every element has a full window; window j then starts at element j."""
    before = [n // 2 + o for n, o in zip(shape, origins, strict=True)]
    after = [n - 1 - b for n, b in zip(shape, before, strict=True)]
    if not any(before) and not any(after):
        return a
    return _core.pad(a, before, after, mode, float(cval))


def _shifted(padded: ndarray, shape: Sequence[int], offset: Sequence[int]) -> ndarray:
    strides = padded.element_strides
    return _core.as_strided(padded, shape, strides, sum(o * s for o, s in zip(offset, strides, strict=True)))


def _views(padded: ndarray, shape: Sequence[int], offsets: Offsets) -> list[ndarray]:
    return [_shifted(padded, shape, offset) for offset in offsets]


def _extreme(kind: str, views: list[ndarray]) -> ndarray:
    return reduce(lambda x, y: _core.map(kind, x, y), views)


def _line_extreme(kind: str, a: ndarray, size: int, axis: int, mode: str, cval: Any, origin: int) -> ndarray:
    """Returns extremes over `size` elements along an axis: directly, or by repeatedly doubling the window's length."""

    def along(n: int, other: int) -> list[int]:
        return [n if i == axis else other for i in range(a.ndim)]

    if edge(mode) == "constant" and beyond(a.dtype_name, cval):
        a = _core.cast(a, "float64")
    padded = _padded(a, along(size, 1), along(origin, 0), edge(mode), cval)
    if size <= _LINE:
        return _extreme(kind, [_shifted(padded, a.shape, along(k, 0)) for k in range(size)])
    width = 1
    while 2 * width <= size:
        shape = list(padded.shape)
        shape[axis] -= width
        padded = _extreme(kind, [_shifted(padded, shape, along(k, 0)) for k in (0, width)])
        width *= 2
    return _extreme(kind, [_shifted(padded, a.shape, along(k, 0)) for k in sorted({0, size - width})])


def _box_extreme(kind: str, a: ndarray, sizes: list[Any], axes: tuple[int, ...], mode: Mode, cval: Any, origin: Any,
                 name: str) -> ndarray:  # fmt: skip
    count = len(axes)
    shape, modes, origins = per_axis(sizes, count), per_axis(mode, count), per_axis(origin, count)
    lines = [(i, int(n), m, o) for i, n, m, o in zip(axes, shape, modes, origins, strict=True) if n > 1]
    if not lines:
        return _core.cast(a, name)
    for _, n, m, o in lines:
        edge(m)
        check_origin(n, o)
    if a.size == 0:
        return _core.empty(a.shape, name)
    same = len({edge(m) for _, _, m, _ in lines}) == 1
    if edge(lines[0][2]) == "constant" and beyond(a.dtype_name, cval):
        same = False  # intermediate results wrap around between the axes
    if same and math.prod(n for _, n, _, _ in lines) <= _BOX:
        used = tuple(i for i, _, _, _ in lines)
        box = spread([n for _, n, _, _ in lines], used, a.ndim, 1)
        shift = spread([o for _, _, _, o in lines], used, a.ndim, 0)
        padded = _padded(a, box, shift, edge(lines[0][2]), cval)
        offsets = list(itertools.product(*(range(n) for n in box)))
        return converted(_extreme(kind, _views(padded, a.shape, offsets)), name)
    result = a
    for axis, n, m, o in lines:
        result = converted(_line_extreme(kind, result, n, axis, m, cval, o), name)
    return result


def _footprint(footprint: Any) -> tuple[tuple[int, ...], list[bool]]:
    """Returns the shape and elements (row by row) of a footprint, which is read on the host."""
    import numpy as np

    host = _core.to_numpy(footprint) if isinstance(footprint, ndarray) else np.asarray(footprint)
    return host.shape, [bool(v) for v in host.reshape(-1)]


def _box_or_footprint(size: Any, footprint: Any, axes: int) -> tuple[tuple[int, ...], list[bool]]:
    """Returns the shape and elements of the window that `size` or `footprint` specifies.

    Raises
    ------
    RuntimeError
        If both are None.
    TypeError
        For extents that are not integers.
    ValueError
        For negative extents.
    """
    if footprint is not None:
        return _footprint(footprint)
    if size is None:
        raise RuntimeError("no footprint or filter size provided")
    shape = tuple(as_shape(per_axis(size, axes)))
    return shape, [True] * math.prod(shape)


def _warn_size(size: Any, footprint: Any) -> None:
    if size is not None and footprint is not None:
        import warnings

        warnings.warn("ignoring size because footprint is set", UserWarning, stacklevel=4)


class _Window:
    """A window from SciPy's arguments, expanded to all axes of the input."""

    def __init__(self, shape: Sequence[int], mask: list[bool], origin: Any, axes: tuple[int, ...], ndim: int) -> None:
        if len(shape) != len(axes):
            raise RuntimeError(f"footprint.ndim ({len(shape)}) must match len(axes) ({len(axes)})")
        origins = per_axis(origin, len(axes))
        for n, o in zip(shape, origins, strict=True):
            check_origin(n, o)
        cells = itertools.compress(itertools.product(*(range(n) for n in shape)), mask)
        self.shape = spread(list(shape), axes, ndim, 1)
        self.origins = spread(origins, axes, ndim, 0)
        self.offsets: Offsets = [tuple(spread(list(cell), axes, ndim, 0)) for cell in cells]
        self.full = all(mask)


def _extreme_filter(kind: str, input: ArrayLike, size: Any, footprint: Any, output: Output, mode: Mode, cval: Any,
                    origin: Any, axes: Any) -> ndarray:  # fmt: skip
    _warn_size(size, footprint)
    a = source(input, real=True)
    mask: list[bool] = []
    if footprint is not None:
        size, mask = _footprint(footprint)
        if not any(mask):
            raise ValueError("All-zero footprint is not supported.")
    elif size is None:
        raise RuntimeError("no footprint provided")
    name, out = target(a, output)
    found = check_axes(axes, a.ndim)
    if all(mask):
        return deliver(_box_extreme(kind, a, size, found, mode, cval, origin, name), out)
    if not isinstance(mode, str):
        raise RuntimeError("A sequence of modes is not supported for non-separable footprints")
    found, origin = in_order(found, origin, a.ndim)
    window = _Window(size, mask, origin, found, a.ndim)
    return deliver(_selected(a, window, 0 if kind == "minimum" else -1, edge(mode), cval, name), out)


def _selected(a: ndarray, window: _Window, rank: int, mode: str, cval: Any, name: str) -> ndarray:
    """Returns the element of that rank in each window (-1 for the greatest)."""
    if a.size == 0:
        return _core.empty(a.shape, name)
    padded = _padded(a, window.shape, window.origins, mode, cval)
    count = len(window.offsets)
    if rank in (0, -1, count - 1):
        views = _views(padded, a.shape, window.offsets)
        return converted(_extreme("minimum" if rank == 0 else "maximum", views) if count > 1 else views[0].copy(), name)
    if count <= _NETWORK:
        return converted(select(_views(padded, a.shape, window.offsets), rank), name)
    return converted(_by_sorting(a, padded, window, rank), name)


def _by_sorting(a: ndarray, padded: ndarray, window: _Window, rank: int) -> ndarray:
    result = _core.empty(a.shape, a.dtype_name)
    for part, values in windows_in_pieces(result, padded, window):
        sorted_values = _core.sort(values)
        _core.update(part, _core.as_strided(sorted_values, part.shape, sorted_values.element_strides[:-1], rank))
    return result


def windows_in_pieces(result: ndarray, padded: ndarray, window: _Window) -> Iterator[tuple[ndarray, ndarray]]:
    """Yields pieces of the result, and their elements' windows along a further, last axis."""
    count = len(window.offsets)
    axis = max(range(result.ndim), key=result.shape.__getitem__)
    step = max(1, _CHUNK // (count * (result.size // result.shape[axis])))
    strides = padded.element_strides
    for start in range(0, result.shape[axis], step):
        shape = list(result.shape)
        shape[axis] = min(step, result.shape[axis] - start)
        if window.full:
            extents = [n for n in window.shape if n > 1]
            steps = [s for s, n in zip(strides, window.shape, strict=True) if n > 1]
            view = _core.as_strided(padded, [*shape, *extents], [*strides, *steps], start * strides[axis])
            values = view.copy().reshape([*shape, count])
        else:
            values = _core.gather(padded, _window_index(shape, strides, start * strides[axis], window.offsets))
        part = _core.as_strided(result, shape, result.element_strides, start * result.element_strides[axis])
        yield part, values
        # A single program would hold all windows in memory at once.
        _core.flush()


def _window_index(shape: list[int], strides: Sequence[int], first: int, offsets: Offsets) -> ndarray:
    import numpy as np

    deltas = np.array([sum(o * s for o, s in zip(offset, strides, strict=True)) for offset in offsets], dtype=np.int64)
    return _core.iota([*shape, len(offsets)], [*strides, 0], first) + _core.from_numpy(deltas)


def _rank_filter(input: ArrayLike, rank: int | None, percentile: float | None, size: Any, footprint: Any,
                 output: Output, mode: Mode, cval: Any, origin: Any, axes: Any) -> ndarray:  # fmt: skip
    _warn_size(size, footprint)
    a = source(input, real=True)
    found, origin = in_order(check_axes(axes, a.ndim), origin, a.ndim)
    shape, mask = _box_or_footprint(size, footprint, len(found))
    window = _Window(shape, mask, origin, found, a.ndim)
    rank = _rank_of(rank, percentile, len(window.offsets))
    name, out = target(a, output)
    if rank in (0, len(window.offsets) - 1) and window.full:
        kind = "minimum" if rank == 0 else "maximum"
        return deliver(_box_extreme(kind, a, list(shape), found, mode, cval, origin, name), out)
    if not isinstance(mode, str):
        raise RuntimeError("A sequence of modes is not supported by non-separable rank filters")
    return deliver(_selected(a, window, rank, edge(mode), cval, name), out)


def _rank_of(rank: int | None, percentile: float | None, count: int) -> int:
    if percentile is not None:
        percentile = percentile + 100.0 if percentile < 0.0 else percentile
        if not 0 <= percentile <= 100:
            raise RuntimeError("invalid percentile")
        rank = count - 1 if percentile == 100.0 else int(float(count) * percentile / 100.0)
    elif rank is None:
        rank = count // 2
    if rank < 0:
        rank += count
    if not 0 <= rank < count:
        raise RuntimeError("rank not within filter footprint size")
    return rank


@documented
def minimum_filter1d(
    input: ArrayLike, size: int, axis: int = -1, output: Output = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> ndarray:  # fmt: skip
    """Returns minima over windows along one axis.

    Parameters
    ----------
    size : int
        The number of elements of a window.
    mode : str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias; for boxes
        also one for each axis.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For an unknown mode, or an output of the wrong shape.

    See Also
    --------
    scipy.ndimage.rank_filter, scipy.ndimage.percentile_filter, scipy.ndimage.maximum_filter,
    scipy.ndimage.minimum_filter, scipy.ndimage.maximum_filter1d

    Examples
    --------
    >>> cp.scipy.ndimage.minimum_filter1d(cp.asarray([1, 5, 2, 0]), 3)
    array([1, 1, 0, 0])
    """
    return _extreme_filter1d("minimum", input, size, axis, output, mode, cval, origin)


@documented
def maximum_filter1d(
    input: ArrayLike, size: int, axis: int = -1, output: Output = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> ndarray:  # fmt: skip
    """Returns maxima over windows along one axis.

    Parameters
    ----------
    size : int
        The number of elements of a window.
    mode : str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias; for boxes
        also one for each axis.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For an unknown mode, or an output of the wrong shape.

    See Also
    --------
    scipy.ndimage.minimum_filter1d, scipy.ndimage.rank_filter, scipy.ndimage.percentile_filter,
    scipy.ndimage.maximum_filter, scipy.ndimage.minimum_filter

    Examples
    --------
    >>> cp.scipy.ndimage.maximum_filter1d(cp.asarray([1, 5, 2, 0]), 3)
    array([5, 5, 5, 2])
    """
    return _extreme_filter1d("maximum", input, size, axis, output, mode, cval, origin)


def _extreme_filter1d(kind: str, input: ArrayLike, size: int, axis: int, output: Output, mode: str, cval: Any,
                      origin: int) -> ndarray:  # fmt: skip
    a = source(input, real=True)
    axis = normalize_axis(axis, a.ndim)
    name, out = target(a, output)
    if size < 1:
        raise RuntimeError("incorrect filter size")
    return deliver(_box_extreme(kind, a, [size], (axis,), mode, cval, origin, name), out)


@documented
def minimum_filter(
    input: ArrayLike, size: Any = None, footprint: Any = None, output: Output = None, mode: Mode = "reflect",
    cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Returns minima over windows.

    Parameters
    ----------
    size : int or sequence of ints, optional
        The extents of a box, one for all axes or one for each.
    footprint : array_like, optional
        Instead of `size`, the elements that belong to a window; read on the host.
    mode : str or sequence of str, default "reflect"
        The extension beyond the edges, as for `correlate1d`; for boxes also one for each axis.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    TypeError
        For complex input.
    RuntimeError
        Without `size` and `footprint`, and for arguments of the wrong length or shape.
    ValueError
        For an origin outside the window, and for an empty footprint.

    See Also
    --------
    scipy.ndimage.maximum_filter1d, scipy.ndimage.minimum_filter1d, scipy.ndimage.rank_filter,
    scipy.ndimage.percentile_filter, scipy.ndimage.maximum_filter

    Examples
    --------
    >>> cp.scipy.ndimage.minimum_filter(cp.asarray([1, 5, 2, 0]), size=3)
    array([1, 1, 0, 0])
    """
    return _extreme_filter("minimum", input, size, footprint, output, mode, cval, origin, axes)


@documented
def maximum_filter(
    input: ArrayLike, size: Any = None, footprint: Any = None, output: Output = None, mode: Mode = "reflect",
    cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Returns maxima over windows.

    Parameters
    ----------
    size : int or sequence of ints, optional
        The extents of a box, one for all axes or one for each.
    footprint : array_like, optional
        Instead of `size`, the elements that belong to a window; read on the host.
    mode : str or sequence of str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias; for boxes
        also one for each axis.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        Without `size` and `footprint`, and for arguments of the wrong length or shape.

    See Also
    --------
    scipy.ndimage.minimum_filter, scipy.ndimage.maximum_filter1d, scipy.ndimage.minimum_filter1d,
    scipy.ndimage.rank_filter, scipy.ndimage.percentile_filter

    Examples
    --------
    >>> cp.scipy.ndimage.maximum_filter(cp.asarray([1, 5, 2, 0]), size=3)
    array([5, 5, 5, 2])
    """
    return _extreme_filter("maximum", input, size, footprint, output, mode, cval, origin, axes)


@documented
def rank_filter(
    input: ArrayLike, rank: int, size: Any = None, footprint: Any = None, output: Output = None,
    mode: Mode = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the element of a rank in each window.

    Parameters
    ----------
    rank : int
        The rank, from 0; a negative one counts from the greatest.
    size : int or sequence of ints, optional
        The extents of a box, one for all axes or one for each.
    footprint : array_like, optional
        Instead of `size`, the elements that belong to a window; read on the host.
    mode : str or sequence of str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias; for boxes
        also one for each axis.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        If the window has no such rank.

    See Also
    --------
    scipy.ndimage.percentile_filter, scipy.ndimage.maximum_filter, scipy.ndimage.minimum_filter,
    scipy.ndimage.maximum_filter1d, scipy.ndimage.minimum_filter1d

    Examples
    --------
    >>> cp.scipy.ndimage.rank_filter(cp.asarray([1, 5, 2, 0]), -1, size=3)
    array([5, 5, 5, 2])
    """
    return _rank_filter(input, operator.index(rank), None, size, footprint, output, mode, cval, origin, axes)


@documented
def median_filter(
    input: ArrayLike, size: Any = None, footprint: Any = None, output: Output = None, mode: Mode = "reflect",
    cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Returns the median (for even counts the upper one) of each window.

    Parameters
    ----------
    size : int or sequence of ints, optional
        The extents of a box, one for all axes or one for each.
    footprint : array_like, optional
        Instead of `size`, the elements that belong to a window; read on the host.
    mode : str or sequence of str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias; for boxes
        also one for each axis.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        Without `size` and `footprint`, and for arguments of the wrong length or shape.

    See Also
    --------
    cuprous.scipy.signal.medfilt2d

    Examples
    --------
    >>> cp.scipy.ndimage.median_filter(cp.asarray([1, 5, 2, 0]), size=3)
    array([1, 2, 2, 0])
    """
    return _rank_filter(input, None, None, size, footprint, output, mode, cval, origin, axes)


@documented
def percentile_filter(
    input: ArrayLike, percentile: float, size: Any = None, footprint: Any = None, output: Output = None,
    mode: Mode = "reflect", cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
) -> ndarray:  # fmt: skip
    """Returns a percentile of each window, without interpolation.

    Parameters
    ----------
    percentile : float
        The percentile, 0 to 100; a negative one counts from 100.
    size : int or sequence of ints, optional
        The extents of a box, one for all axes or one for each.
    footprint : array_like, optional
        Instead of `size`, the elements that belong to a window; read on the host.
    mode : str or sequence of str, default "reflect"
        The extension beyond the edges: "reflect", "constant", "nearest", "mirror", "wrap" or a "grid-" alias; for boxes
        also one for each axis.

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        If the percentile is not within -100 to 100.

    See Also
    --------
    scipy.ndimage.maximum_filter, scipy.ndimage.minimum_filter, scipy.ndimage.maximum_filter1d,
    scipy.ndimage.minimum_filter1d, scipy.ndimage.rank_filter

    Examples
    --------
    >>> cp.scipy.ndimage.percentile_filter(cp.asarray([1, 5, 2, 0]), 100, size=3)
    array([5, 5, 5, 2])
    """
    return _rank_filter(input, None, float(percentile), size, footprint, output, mode, cval, origin, axes)
