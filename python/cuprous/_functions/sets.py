"""Set operations on arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, Axis, array, ndarray, normalize_axis
from cuprous._common.casting import astype, common_dtype
from cuprous._common.indexing import gather_flat
from cuprous._common.masks import flatnonzero, select_flat
from cuprous._common.operands import on_array_device
from cuprous._functions.joining import concatenate
from cuprous._functions.manipulation import moveaxis
from cuprous._functions.selection import take


@on_array_device
def _changes(ordered: ndarray, equal_nan: bool) -> ndarray:
    """Returns true for each element of a sorted 1-d array that differs from its predecessor. The first always does."""
    mask = _core.full((ordered.size,), True, "bool")
    if ordered.size > 1:
        differs = ordered[1:] != ordered[:-1]
        if equal_nan and dtypes.kind(ordered.dtype_name) in "fc":
            both = _core.map("isnan", ordered[1:]) & _core.map("isnan", ordered[:-1])
            differs = differs & ~both
        _core.update(mask[1:], differs)
    return mask


@on_array_device
def unique(
    ar: ArrayLike, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: Axis = None, *, equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    """Returns the distinct elements, or distinct slices along an axis, in ascending order. Their number is copied to
    the host.

    Parameters
    ----------
    ar : array_like
        An array or array-like.
    return_index : bool, default False
        Whether to return also the index of each first occurrence.
    return_inverse : bool, default False
        Whether to return also the indices that rebuild `ar` from the result.
    return_counts : bool, default False
        Whether to return also the number of occurrences.
    axis : int, optional
        The axis whose slices are compared; None (the default) flattens the array.
    equal_nan : bool, default True
        Whether all NaN count as one.
    sorted : bool, default True
        Has no effect; the result is always sorted.

    Returns
    -------
    ndarray
        An array, or a tuple that begins with it and has an array (int64) for each request, in the order of the
        arguments.

    Raises
    ------
    AxisError
        For an axis out of bounds.

    See Also
    --------
    repeat, sort

    Examples
    --------
    >>> cp.unique([3, 1, 3, 2])
    array([1, 2, 3])
    >>> cp.unique([3, 1, 3], return_counts=True)
    (array([1, 3]), array([1, 2]))
    """
    ar = array(ar)
    if isinstance(axis, float):
        raise TypeError("integer argument expected, got float")
    if axis is not None and normalize_axis(axis, ar.ndim) >= 0 and ar.ndim > 1:
        return _unique_slices(ar, return_index, return_inverse, return_counts, normalize_axis(axis, ar.ndim))
    flat = ar.reshape(-1)
    if return_inverse and not return_index and flat.size and flat.device_name != "cpu":
        found = _with_inverse(flat, ar.shape, return_counts, equal_nan)
        if found is not None:
            return found
    order = _core.argsort(flat) if return_index or return_inverse else None
    ordered = _core.sort(flat) if order is None else gather_flat(flat, order)
    mask = _changes(ordered, equal_nan)
    if not (return_index or return_inverse or return_counts):
        return select_flat(mask, ordered)
    if not (return_index or return_counts):
        values = select_flat(mask, ordered)
        return (values, *_extras(order, mask, values, ar.shape, False, True, False))
    starts = flatnonzero(mask)
    extras = _extras(order, mask, starts, ar.shape, return_index, return_inverse, return_counts)
    return (gather_flat(ordered, starts), *extras)


#: Up to this number of distinct values a search among them is faster on a GPU than scattering sorted positions.
_SEARCH_LIMIT = 1 << 22
#: The number of elements sampled to estimate the number of distinct values.
_SAMPLE = 1 << 16


def _has_many_distinct(flat: ndarray) -> bool:
    """Returns true if there are probably more than `_SEARCH_LIMIT` distinct values. Of k samples among d values, about
    k² / 2d pairs are equal. A wrong estimate costs only time."""
    if flat.size <= max(2 * _SEARCH_LIMIT, _SAMPLE):
        return False
    drawn = _core.sort(flat[:: flat.size // _SAMPLE][:_SAMPLE])
    pairs = int(_core.reduce("sum", _core.cast(drawn[1:] == drawn[:-1], "int64"), None))
    return 2 * _SEARCH_LIMIT * pairs < _SAMPLE**2


def _with_inverse(flat: ndarray, shape: tuple[int, ...], counts: bool, equal_nan: bool) -> tuple[ndarray, ...] | None:
    """Returns values and inverse by searching for each element among the distinct ones. Returns None if there are many,
    or if an element may be unequal to all of them (NaN)."""
    kind = dtypes.kind(flat.dtype_name)
    if kind == "c" or (kind == "f" and not equal_nan) or _has_many_distinct(flat):
        return None
    ordered = _core.sort(flat)
    mask = _changes(ordered, equal_nan)
    starts = flatnonzero(mask)
    values = gather_flat(ordered, starts)
    if starts.size > _SEARCH_LIMIT:
        return (values, *_extras(_core.argsort(flat), mask, starts, shape, False, True, counts))
    inverse = _core.searchsorted(values, flat, False).reshape(shape)
    return (values, inverse, *_extras(None, mask, starts, shape, False, False, counts))


def _extras(
    order: ndarray | None, mask: ndarray, starts: ndarray, shape: tuple[int, ...], index: bool, inverse: bool,
    counts: bool,
) -> list[ndarray]:  # fmt: skip
    """Returns the requested outputs besides the values. `mask` is true where sorted elements change, and `starts` are
    the positions of the changes (for the inverse only their number is used)."""
    n = mask.size
    extras = []
    if order is not None and index:
        extras.append(gather_flat(order, starts))
    if order is not None and inverse:
        # int32 where possible, because the scatter is bound by memory traffic.
        name = "int32" if n <= dtypes.highest("int32") else "int64"
        if starts.size < n:
            groups = _core.scan("sum", _core.cast(mask, name), 0) - 1
        else:
            groups = _core.cast(_core.iota((n,), (1,), 0), name)
        # Positions are distinct, so "maximum" writes each value. "set" would first have to find the last write.
        inverse_indices = _core.full((n,), 0, name)
        _core.scatter(inverse_indices, order, groups, "maximum")
        extras.append(_core.cast(inverse_indices, "int64").reshape(shape))
    if counts:
        ends = concatenate((starts, _core.full((1,), n, "int64")))
        extras.append(ends[1:] - ends[:-1] if n else _core.empty((0,), "int64"))
    return extras


def _unique_slices(ar: ndarray, index: bool, inverse: bool, counts: bool, axis: int) -> Any:
    moved = moveaxis(ar, axis, 0)
    n = moved.shape[0]
    rows = moved.reshape((n, moved.size // n)) if n else moved.reshape((0, -1) if moved.size else (0, 0))
    order = _core.iota((n,), (1,), 0)
    for column in range(rows.shape[1] - 1, -1, -1):
        order = gather_flat(order, _core.argsort(gather_flat(rows[:, column], order)))
    mask = _core.full((n,), True, "bool")
    ordered = take(rows, order, 0) if n else rows
    if n > 1:
        _core.update(mask[1:], _core.reduce("max", ordered[1:] != ordered[:-1], (1,)) if rows.shape[1] else False)
    starts = flatnonzero(mask)
    kept = take(ordered, starts, 0)
    result = moveaxis(kept.reshape((kept.shape[0], *moved.shape[1:])), 0, axis)
    extras = _extras(order, mask, starts, (n,), index, inverse, counts)
    return (result, *extras) if extras else result


class UniqueAllResult(NamedTuple):
    """The result of `unique_all`."""

    values: ndarray
    indices: ndarray
    inverse_indices: ndarray
    counts: ndarray


class UniqueCountsResult(NamedTuple):
    """The result of `unique_counts`."""

    values: ndarray
    counts: ndarray


class UniqueInverseResult(NamedTuple):
    """The result of `unique_inverse`."""

    values: ndarray
    inverse_indices: ndarray


def unique_all(x: ArrayLike) -> UniqueAllResult:
    """Returns distinct elements, first occurrences, inverse and counts. Every NaN counts as distinct.

    Parameters
    ----------
    x : array_like
        An array or array-like, which is flattened.

    Returns
    -------
    UniqueAllResult
        A named tuple of four arrays: `values`, `indices`, `inverse_indices`, `counts`.

    See Also
    --------
    unique

    Examples
    --------
    >>> cp.unique_all(cp.asarray([3, 1, 3])).counts
    array([1, 2])
    """
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x: ArrayLike) -> UniqueCountsResult:
    """Returns distinct elements and counts. Every NaN counts as distinct.

    Parameters
    ----------
    x : array_like
        An array or array-like, which is flattened.

    Returns
    -------
    UniqueCountsResult
        A named tuple of two arrays: `values`, `counts`.

    See Also
    --------
    unique

    Examples
    --------
    >>> cp.unique_counts(cp.asarray([3, 1, 3])).values
    array([1, 3])
    """
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: ArrayLike) -> UniqueInverseResult:
    """Returns distinct elements and inverse. Every NaN counts as distinct.

    Parameters
    ----------
    x : array_like
        An array or array-like, which is flattened.

    Returns
    -------
    UniqueInverseResult
        A named tuple of two arrays: `values`, `inverse_indices`.

    See Also
    --------
    unique

    Examples
    --------
    >>> cp.unique_inverse(cp.asarray([3, 1, 3])).inverse_indices
    array([1, 0, 1])
    """
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: ArrayLike) -> ndarray:
    """Returns distinct elements. Every NaN counts as distinct.

    Parameters
    ----------
    x : array_like
        An array or array-like, which is flattened.

    Returns
    -------
    ndarray
        A 1-d array.

    See Also
    --------
    unique

    Examples
    --------
    >>> cp.unique_values(cp.asarray([3, 1, 3]))
    array([1, 3])
    """
    return unique(x, equal_nan=False)


@on_array_device
def isin(
    element: ArrayLike, test_elements: ArrayLike, assume_unique: bool = False, invert: bool = False, *,
    kind: str | None = None,
) -> ndarray:  # fmt: skip
    """Returns true for each element that occurs in `test_elements`.

    Parameters
    ----------
    element : array_like
        An array or array-like.
    test_elements : array_like
        The values, an array-like of any shape.
    assume_unique : bool, default False
        Has no effect; in NumPy it changes speed, not the result.
    invert : bool, default False
        Whether to return the opposite.
    kind : str, optional
        None, "sort" or "table". Has no effect; in NumPy it changes speed and memory, not the result.

    Returns
    -------
    ndarray
        A bool array of the shape of `element`.

    Raises
    ------
    ValueError
        For another `kind`.

    See Also
    --------
    unique, intersect1d

    Examples
    --------
    >>> cp.isin([[1, 2], [3, 4]], [2, 4])
    array([[False,  True],
           [False,  True]])
    """
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    element, tests = array(element), array(test_elements).reshape(-1)
    if tests.size == 0:
        return _core.full(element.shape, invert, "bool")
    name = common_dtype((element, tests))
    if name == "float64" and {dtypes.kind(element.dtype_name), dtypes.kind(tests.dtype_name)} == {"i", "u"}:
        # Compares in the dtype of the test elements, without rounding. Values outside its range never occur among them.
        name = tests.dtype_name
        representable = element >= 0 if name == "uint64" else element <= dtypes.highest(name)
        found = isin(_core.cast(element, name), tests) & representable
        return ~found if invert else found
    element, ordered = astype(element, name), _core.sort(astype(tests, name))
    position = _core.map("minimum", _core.searchsorted(ordered, element, False), tests.size - 1)
    found = gather_flat(ordered, position)
    return found != element if invert else found == element


def in1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, invert: bool = False) -> ndarray:
    """Returns `isin` for the flattened first array.

    Parameters
    ----------
    ar1 : array_like
        An array or array-like, which is flattened.
    ar2 : array_like
        An array or array-like, which is flattened.
    assume_unique : bool, default False
        Has no effect on the result.
    invert : bool, default False
        Whether to return the opposite.

    Returns
    -------
    ndarray
        A 1-d bool array.

    See Also
    --------
    isin, intersect1d, setdiff1d

    Examples
    --------
    >>> cp.in1d([1, 2, 5], [5, 1])
    array([ True, False,  True])
    """
    return isin(array(ar1).reshape(-1), ar2, assume_unique, invert)


def _distinct(a: ArrayLike, assume_unique: bool) -> ndarray:
    return array(a).reshape(-1) if assume_unique else unique(a)


@on_array_device
def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Returns the distinct elements that occur in both arrays, in order, and on request their first indices in each.

    Parameters
    ----------
    ar1 : array_like
        An array or array-like, which is flattened.
    ar2 : array_like
        An array or array-like, which is flattened.
    assume_unique : bool, default False
        Whether the elements of each array are distinct, which saves time.
    return_indices : bool, default False
        Whether to return also the first index of each element in both arrays.

    Returns
    -------
    ndarray
        A 1-d array, or a tuple of it and two arrays of indices.

    See Also
    --------
    union1d, setdiff1d, setxor1d

    Examples
    --------
    >>> cp.intersect1d([3, 1, 2], [2, 3, 4])
    array([2, 3])
    """
    ar1, ar2 = array(ar1), array(ar2)
    name = common_dtype((ar1, ar2))
    ar1, ar2 = astype(ar1, name), astype(ar2, name)
    if return_indices:
        a, first = unique(ar1, return_index=True)
        b, second = unique(ar2, return_index=True)
        mask_a, mask_b = isin(a, b), isin(b, a)
        return select_flat(mask_a, a), select_flat(mask_a, first), select_flat(mask_b, second)
    a, b = _distinct(ar1, assume_unique), _distinct(ar2, assume_unique)
    result = select_flat(isin(a, b), a)
    return _core.sort(result) if assume_unique else result


@on_array_device
def union1d(ar1: ArrayLike, ar2: ArrayLike) -> ndarray:
    """Returns the distinct elements of either array, in order.

    Parameters
    ----------
    ar1 : array_like
        An array or array-like, which is flattened.
    ar2 : array_like
        An array or array-like, which is flattened.

    Returns
    -------
    ndarray
        A 1-d array of the dtype that both promote to.

    See Also
    --------
    intersect1d, setdiff1d

    Examples
    --------
    >>> cp.union1d([3, 1], [2, 3])
    array([1, 2, 3])
    """
    return unique(concatenate((ar1, ar2), axis=None))


@on_array_device
def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> ndarray:
    """Returns the distinct elements of the first array that do not occur in the second.

    Parameters
    ----------
    ar1 : array_like
        An array or array-like, which is flattened.
    ar2 : array_like
        An array or array-like, which is flattened.
    assume_unique : bool, default False
        Whether the elements of each array are distinct, which saves time.

    Returns
    -------
    ndarray
        A 1-d array.

    See Also
    --------
    setxor1d, union1d, isin

    Examples
    --------
    >>> cp.setdiff1d([1, 2, 3], [2])
    array([1, 3])
    """
    a = _distinct(ar1, assume_unique)
    return select_flat(isin(a, ar2, invert=True), a)


@on_array_device
def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> ndarray:
    """Returns the distinct elements that occur in exactly one of the arrays, in order.

    Parameters
    ----------
    ar1 : array_like
        An array or array-like, which is flattened.
    ar2 : array_like
        An array or array-like, which is flattened.
    assume_unique : bool, default False
        Whether the elements of each array are distinct, which saves time.

    Returns
    -------
    ndarray
        A 1-d array.

    See Also
    --------
    setdiff1d, intersect1d

    Examples
    --------
    >>> cp.setxor1d([1, 2, 3], [2, 4])
    array([1, 3, 4])
    """
    a, b = _distinct(ar1, assume_unique), _distinct(ar2, assume_unique)
    ordered = _core.sort(concatenate((a, b)))
    first = _changes(ordered, equal_nan=False)
    last = _core.full((ordered.size,), True, "bool")
    if ordered.size > 1:
        _core.update(last[:-1], first[1:])
    return select_flat(first & last, ordered)


__all__ = [
    "in1d", "intersect1d", "isin", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all", "unique_counts",
    "unique_inverse", "unique_values",
]  # fmt: skip
