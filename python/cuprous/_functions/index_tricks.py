"""Iterators of indices, open grids, and the objects that are indexed by slices: mgrid, ogrid, r_ and c_."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from cuprous import _core
from cuprous._common.arguments import ArrayLike, array, as_shape, ndarray, result_name
from cuprous._common.casting import astype, common_dtype
from cuprous._common.convert import asnumpy
from cuprous._common.masks import flatnonzero
from cuprous._common.operands import is_scalar
from cuprous._functions import conversion, creation, matrices, ranges
from cuprous._functions.joining import concatenate


def ndindex(*shape: Any) -> Iterator[tuple[int, ...]]:
    """Iterates over the indices of a shape, in C order, on the host.

    Parameters
    ----------
    *shape : int or tuple of ints
        The extents, as integers or as one tuple.

    Returns
    -------
    iterator of tuples of ints
        An iterator of tuples of integers.

    Raises
    ------
    ValueError
        For negative extents.

    See Also
    --------
    ndenumerate

    Examples
    --------
    >>> list(cp.ndindex(2, 2))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    import itertools

    dims = as_shape(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape)
    return itertools.product(*map(range, dims))


def ndenumerate(arr: ArrayLike) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Iterates over the indices of an array and its elements, as Python scalars. Copies the array to the host once.

    Parameters
    ----------
    arr : array_like
        An array or array-like.

    Returns
    -------
    iterator of tuples
        An iterator of pairs of a tuple of indices and a Python scalar.

    See Also
    --------
    ndindex

    Examples
    --------
    >>> list(cp.ndenumerate(cp.asarray([[1, 2], [3, 4]])))
    [((0, 0), 1), ((0, 1), 2), ((1, 0), 3), ((1, 1), 4)]
    """
    host = asnumpy(array(arr))
    return ((index, host[index].item()) for index in ndindex(host.shape))


def ix_(*args: ArrayLike) -> tuple[ndarray, ...]:
    """Returns index arrays for the cross product of sequences of integers or masks.

    Parameters
    ----------
    *args : array_like
        1-d sequences of integers, or bool masks.

    Returns
    -------
    tuple of ndarrays
        A tuple with an array for each sequence, which broadcast against each other.

    Raises
    ------
    ValueError
        For sequences that are not 1-d.

    See Also
    --------
    meshgrid

    Examples
    --------
    >>> a = cp.arange(12).reshape(3, 4)
    >>> a[cp.ix_([0, 2], [1, 3])]
    array([[ 1,  3],
           [ 9, 11]])
    """
    result = []
    for i, item in enumerate(args):
        a = conversion.asarray(item)
        if a.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if a.size == 0 and not hasattr(item, "dtype"):
            a = astype(a, "int64")
        if a.dtype_name == "bool":
            a = flatnonzero(a)
        result.append(a.reshape((1,) * i + (a.size,) + (1,) * (len(args) - i - 1)))
    return tuple(result)


class _Grid:
    """`mgrid` and `ogrid`: coordinate arrays by slice notation. An imaginary step is the number of points.

    Indexing with a slice for each axis returns the coordinates: `mgrid` one array of shape (ndim, *shape), `ogrid` a
    tuple of arrays that broadcast to the shape.

    Examples
    --------
    >>> cp.mgrid[0:2, 0:3]
    array([[[0, 0, 0],
            [1, 1, 1]],
    <BLANKLINE>
           [[0, 1, 2],
            [0, 1, 2]]])
    >>> cp.ogrid[0:1:3j]
    array([0. , 0.5, 1. ])
    """

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, key: Any) -> Any:
        single = not isinstance(key, tuple)
        if single:
            return _line(key)
        sizes = [_points(s) for s in key]
        name = result_name(0, *(x for s in key for x in _numbers(s)))
        if self._sparse:
            lines = (_between(ranges.arange(n, dtype=name), s, n) for s, n in zip(key, sizes, strict=True))
            selections = [(None,) * i + (slice(None),) + (None,) * (len(key) - i - 1) for i in range(len(key))]
            return tuple(line[selection] for line, selection in zip(lines, selections, strict=True))
        indices = tuple(matrices.indices(sizes, name))
        grids = [_between(x, s, n) for x, s, n in zip(indices, key, sizes, strict=True)]
        result = creation.empty((len(grids), *sizes), name)
        for i, grid in enumerate(grids):
            result[i] = grid
        return result

    def __len__(self) -> int:
        return 0


def _numbers(s: slice) -> tuple[Any, Any, Any]:
    """Returns the numbers that determine the dtype of a slice of a grid: start, stop, and step or number of points."""
    start, step = 0 if s.start is None else s.start, 1 if s.step is None else s.step
    return start, s.stop, abs(step) if _counts_points(step) else step


def _counts_points(step: Any) -> bool:
    return isinstance(step, complex) or getattr(getattr(step, "dtype", None), "kind", "") == "c"


def _points(s: slice) -> int:
    """Returns the number of points of a slice of a grid."""
    start, step = 0 if s.start is None else s.start, 1 if s.step is None else s.step
    return int(abs(step)) if _counts_points(step) else max(0, math.ceil((s.stop - start) / step))


def _between(index: ndarray, s: slice, count: int) -> ndarray:
    """Returns the coordinates of a slice for the indices of its points; bounds that are arrays broadcast with them."""
    start, step = 0 if s.start is None else s.start, 1 if s.step is None else s.step
    if _counts_points(step):
        step = (s.stop - start) / (count - 1) if count != 1 else 1
    return index * step + start


def _line(s: slice) -> ndarray:
    """Returns the coordinates of a single slice, as in `mgrid[0:1:5j]`."""
    if _counts_points(s.step):
        count = _points(s)
        return _between(ranges.arange(count, dtype=result_name(*_numbers(s))), s, count)
    return ranges.arange(0 if s.start is None else s.start, s.stop, 1 if s.step is None else s.step)


def _slice_values(s: slice) -> ndarray:
    """Returns the values of a slice in `r_`. A number of points ends exactly at the stop, unlike in a grid."""
    return ranges.linspace(s.start or 0, s.stop, _points(s)) if _counts_points(s.step) else _line(s)


class _Joiner:
    """`r_` and `c_`: arrays, scalars and slices joined by index notation.

    `r_` joins along the first axis, `c_` along the last one, with vectors as columns. A text in front, such as "0,2",
    gives the axis and the least number of axes.

    Examples
    --------
    >>> cp.r_[0:3, 7, [8, 9]]
    array([0, 1, 2, 7, 8, 9])
    >>> cp.c_[[1, 2], [3, 4]]
    array([[1, 3],
           [2, 4]])
    """

    def __init__(self, axis: int, columns: bool) -> None:
        self._axis = axis
        self._columns = columns

    def __getitem__(self, key: Any) -> ndarray:
        axis, ndmin, trans1d = self._axis, 2 if self._columns else 1, 0 if self._columns else -1
        items = list(key) if isinstance(key, tuple) else [key]
        if items and isinstance(items[0], str):
            fields = [int(w) for w in items.pop(0).split(",")]
            axis, ndmin, trans1d = (fields + [axis, ndmin, trans1d][len(fields) :])[:3]
        parts, arrays, scalars = [], [], []
        for item in items:
            if is_scalar(item):
                scalars.append(item)
            part = _slice_values(item) if isinstance(item, slice) else conversion.asarray(item)
            if not is_scalar(item):
                arrays.append(part)
            if part.ndim < ndmin:
                new = ndmin - part.ndim
                front = new if trans1d < 0 else min(trans1d, new)
                if trans1d < -1:
                    front = max(0, new + trans1d + 1)
                part = part.reshape((1,) * front + part.shape + (1,) * (new - front))
            parts.append(part)
        if arrays and scalars:  # scalars promote weakly
            name = common_dtype(arrays)
            for item in scalars:
                name = _core.result_dtype("maximum", _core.empty((), name), item)
            parts = [astype(part, name) for part in parts]
        return concatenate(parts, axis)

    def __len__(self) -> int:
        return 0


mgrid = _Grid(sparse=False)
ogrid = _Grid(sparse=True)
r_ = _Joiner(0, columns=False)
c_ = _Joiner(-1, columns=True)


__all__ = ["c_", "ix_", "mgrid", "ndenumerate", "ndindex", "ogrid", "r_"]
