"""Statistics of labeled regions, computed without reading the labels on the host.

The requested labels are sorted and numbered; each element finds its label's number (its slot) by binary search.
Elements with other labels get an extra slot at the end. Sums are scattered to the slots; extremes and medians come from
one sort of all elements by slot and value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, broadcast_shapes
from cuprous._common.casting import astype
from cuprous._common.operands import is_scalar, on_array_device
from cuprous.scipy.ndimage._parameters import documented
from cuprous.scipy.ndimage._support import ArrayLike, is_complex, ndarray, source


class _Groups:
    """Elements grouped by label.

    Attributes
    ----------
    a : array_like
        The input, broadcast with the labels.
    slot : ndarray
        The slot of each element's label; `count` if its label was not requested.
    index : array_like
        The slots of the requested labels (the first among equal labels), in the requested order.
    count : int
        The number of slots.
    single : bool
        Whether results are 0-d.
    shape : int or tuple of ints
        The shape of results.

    Raises
    ------
    ValueError
        For empty arrays with a list of labels, or if an extreme is requested.
    """

    def __init__(self, input: ArrayLike, labels: ArrayLike, index: Any, extreme: bool = False) -> None:
        a = source(input)
        several = labels is not None and index is not None and not is_scalar(index) and array(index).size > 0
        if a.size == 0 and (several or extreme):
            raise ValueError("zero-size array to reduction operation minimum which has no identity")
        self.single = index is None or is_scalar(index) or getattr(index, "ndim", 1) == 0
        self.shape: tuple[int, ...] = ()
        if labels is None:
            self.a, self.slot = a, _core.full(a.shape, 0, "int64")
            self.index, self.count = _core.full([1], 0, "int64"), 1
            return
        marks = array(labels)
        shape = broadcast_shapes(a.shape, marks.shape)
        self.a, marks = _core.broadcast_to(a, shape), _core.broadcast_to(marks, shape)
        if index is None:
            self.slot = _core.map("where", marks > 0, _core.full((), 0, "int64"), 1)
            self.index, self.count = _core.full([1], 0, "int64"), 1
            return
        wanted = _core.full([1], index, "int64") if isinstance(index, int) else array(index)
        self.shape = wanted.shape if not self.single else ()
        wanted = wanted.reshape([wanted.size])
        name = _core.promote_types(marks.dtype_name, wanted.dtype_name)
        known = _core.sort(_core.cast(wanted, name))
        self.count = wanted.size
        self.index = _core.searchsorted(known, _core.cast(wanted, name), False)
        if self.count == 0:
            self.slot = _core.full(shape, 0, "int64")
            return
        marks = _core.cast(marks, name)
        slot = _core.searchsorted(known, marks.reshape([marks.size]), False).reshape(shape)
        near = _core.gather(known, _core.map("minimum", slot, self.count - 1))
        self.slot = _core.map("where", near == marks, slot, self.count)

    def answer(self, table: ndarray) -> ndarray:
        """Reorders values by slot (at least `count` of them) to values by label, in the requested order and shape."""
        if self.count == 0:
            return _core.empty(self.shape, table.dtype_name)
        return _core.gather(table, self.index).reshape(self.shape)

    def sums(self, values: Any) -> ndarray:
        """Returns the sums over each slot of `values`, which have the input's shape or are a scalar."""
        name = values.dtype_name if isinstance(values, ndarray) else "int64"
        name = _dtypes.accumulator(name)
        if self.count == 1:
            values = _core.map("where", self.slot == 0, values, _core.full((), 0, name))
            return _core.reduce("sum", _core.cast(values, name), None).reshape([1])
        table = _core.full([self.count + 1], 0, name)
        values = _core.cast(values, name) if isinstance(values, ndarray) else _core.full((), values, name)
        _core.scatter(table, self.slot, _core.broadcast_to(values, self.slot.shape), "add")
        return table

    def sort(self) -> tuple[ndarray, ndarray, ndarray, ndarray]:
        """Sorts the elements by slot and value. Returns their flat indices, the first and last entry of each requested
        slot, and whether it has any."""
        slots = self.slot.reshape([self.slot.size])
        order = cp.lexsort((self.a.reshape([self.a.size]), slots))
        ordered = _core.gather(slots.copy(), order)
        first = _core.searchsorted(ordered, self.index, False)
        last = _core.searchsorted(ordered, self.index, True) - 1
        return order, first, last, last >= first

    def picked(self, values: ndarray, position: ndarray, there: ndarray) -> ndarray:
        """Returns the flat `values` at `position`; 0 for labels that no element has, as in SciPy."""
        result = _core.gather(values, _core.map("where", there, position, 0))
        return _core.map("where", there, result, _core.full((), 0, values.dtype_name)).reshape(self.shape)


def _flat(a: ndarray) -> ndarray:
    return a.reshape([a.size]).copy()


def _summable(input: ArrayLike, index: Any) -> ndarray:
    """Converts the input to the dtype in which SciPy sums it: float64 for several labels (`bincount`)."""
    a = source(input)
    several = not (index is None or is_scalar(index))
    if several and is_complex(a):
        raise TypeError(
            "Cannot cast array data from dtype('complex128') to dtype('float64') according to the rule 'safe'"
        )
    return _core.cast(a, "float64") if several else a


@on_array_device
@documented
def sum_labels(input: ArrayLike, labels: ArrayLike = None, index: Any = None) -> ndarray:
    """Returns the sum over each region.

    Parameters
    ----------
    input : array_like
        An array.

    Returns
    -------
    ndarray
        A 0-d array for one region, otherwise float64 of `index`'s shape; 0 for labels that do not occur.

    See Also
    --------
    mean, median

    Examples
    --------
    >>> cp.scipy.ndimage.sum_labels(cp.asarray([1, 5, 3]), cp.asarray([1, 1, 2]), [1, 2])
    array([6., 3.])
    """
    a = _summable(input, index)
    groups = _Groups(a, labels, index)
    return groups.answer(groups.sums(groups.a))


@on_array_device
@documented
def sum(input: ArrayLike, labels: ArrayLike = None, index: Any = None) -> ndarray:
    """Returns the sum over each region. This is a synonym of `sum_labels`.

    Parameters
    ----------
    input : array_like
        An array.

    Returns
    -------
    ndarray
        A 0-d array for one region, otherwise float64 of the shape of `index`; 0 for labels that do not occur.

    See Also
    --------
    scipy.ndimage.labeled_comprehension, scipy.ndimage.histogram, scipy.ndimage.label, scipy.ndimage.center_of_mass

    Examples
    --------
    >>> cp.scipy.ndimage.sum(cp.asarray([1, 5, 3]), cp.asarray([1, 1, 2]), [1, 2])
    array([6., 3.])
    """
    return sum_labels(input, labels, index)


@on_array_device
@documented
def mean(input: ArrayLike, labels: ArrayLike = None, index: Any = None) -> ndarray:
    """Returns the mean over each region.

    Parameters
    ----------
    input : array_like
        An array.

    Returns
    -------
    ndarray
        A 0-d array for one region, otherwise an array with an element for each label; NaN for labels that do not occur.

    See Also
    --------
    variance, standard_deviation, minimum, maximum, sum, label

    Examples
    --------
    >>> cp.scipy.ndimage.mean(cp.asarray([1.0, 5.0, 3.0]), cp.asarray([1, 1, 2]), [1, 2])
    array([3., 3.])
    """
    groups = _Groups(_summable(input, index), labels, index)
    return groups.answer(groups.sums(groups.a)) / _core.cast(groups.answer(groups.sums(1)), "float64")


@on_array_device
@documented
def variance(input: ArrayLike, labels: ArrayLike = None, index: Any = None) -> ndarray:
    """Returns the variance (divided by the number of elements) of each region.

    Parameters
    ----------
    input : array_like
        An array.

    Returns
    -------
    ndarray
        A 0-d array for one region, otherwise an array with an element for each label.

    See Also
    --------
    label, standard_deviation, maximum, minimum, extrema

    Examples
    --------
    >>> cp.scipy.ndimage.variance(cp.asarray([1.0, 3.0]))
    array(1.)
    """
    groups = _Groups(_summable(input, index), labels, index)
    if groups.count == 0:
        return _core.empty(groups.shape, "float64")
    counts = _core.cast(groups.sums(1), "float64")
    means = groups.sums(groups.a) / counts
    centered = groups.a - _core.gather(means, _core.map("minimum", groups.slot, means.size - 1))
    conjugate = _core.map("conjugate", centered) if is_complex(centered) else centered
    squares = _core.map("real", centered * conjugate)
    total = groups.answer(groups.sums(squares))
    return total / groups.answer(counts)


@on_array_device
@documented
def standard_deviation(input: ArrayLike, labels: ArrayLike = None, index: Any = None) -> ndarray:
    """Returns the standard deviation of each region.

    Parameters
    ----------
    input : array_like
        An array.

    Returns
    -------
    ndarray
        A 0-d array for one region, otherwise an array with an element for each label.

    See Also
    --------
    label, variance, maximum, minimum, extrema

    Examples
    --------
    >>> cp.scipy.ndimage.standard_deviation(cp.asarray([1.0, 3.0]))
    array(1.)
    """
    return _core.map("sqrt", variance(input, labels, index))


def _single_extreme(op: str, groups: _Groups) -> ndarray:
    """Returns the extreme of a single region, NaN if any of its elements is NaN."""
    name = groups.a.dtype_name
    worst = _dtypes.highest(name) if op == "min" else _dtypes.lowest(name)
    return _core.reduce(op, _core.map("where", groups.slot == 0, groups.a, _core.full((), worst, name)), None)


def _extreme(op: str, input: ArrayLike, labels: ArrayLike, index: Any) -> ndarray:
    groups = _Groups(input, labels, index, True)
    if groups.single:
        return _single_extreme(op, groups)
    order, first, last, there = groups.sort()
    position = _core.gather(order, _core.map("where", there, first if op == "min" else last, 0))
    return groups.picked(_flat(groups.a), position, there)


@on_array_device
@documented
def minimum(input: ArrayLike, labels: ArrayLike = None, index: Any = None) -> ndarray:
    """Returns the minimum of each region.

    Parameters
    ----------
    input : array_like
        An array.

    Returns
    -------
    ndarray
        A 0-d array for one region, otherwise an array with an element for each label; 0 for labels that do not occur,
        and for a single such label the greatest value of the dtype.

    See Also
    --------
    label, maximum, median, minimum_position, extrema, sum

    Examples
    --------
    >>> cp.scipy.ndimage.minimum(cp.asarray([1, 5, 3]), cp.asarray([1, 1, 2]), [1, 2])
    array([1, 3])
    """
    return _extreme("min", input, labels, index)


@on_array_device
@documented
def maximum(input: ArrayLike, labels: ArrayLike = None, index: Any = None) -> ndarray:
    """Returns the maximum of each region.

    Parameters
    ----------
    input : array_like
        An array.

    Returns
    -------
    ndarray
        A 0-d array for one region, otherwise an array with an element for each label; 0 for labels that do not occur.

    See Also
    --------
    label, minimum, median, maximum_position, extrema, sum

    Examples
    --------
    >>> cp.scipy.ndimage.maximum(cp.asarray([1, 5, 3]), cp.asarray([1, 1, 2]), [1, 2])
    array([5, 3])
    """
    return _extreme("max", input, labels, index)


@on_array_device
@documented
def median(input: ArrayLike, labels: ArrayLike = None, index: Any = None) -> ndarray:
    """Returns the median of each region.

    Parameters
    ----------
    input : array_like
        An array.

    Returns
    -------
    ndarray
        A 0-d array for one region, otherwise an array with an element for each label; 0 for labels that do not occur.

    See Also
    --------
    label, minimum, maximum, extrema, sum, mean

    Examples
    --------
    >>> cp.scipy.ndimage.median(cp.asarray([1.0, 5.0, 3.0]), cp.asarray([1, 1, 2]), [1, 2])
    array([3., 3.])
    """
    groups = _Groups(input, labels, index)
    if groups.a.size == 0:
        return cp.mean(groups.a)  # NaN
    order, first, last, there = groups.sort()
    values = _core.gather(_flat(groups.a), order)
    step = (last - first) // 2
    low, high = (groups.picked(values, position, there) for position in (first + step, last - step))
    wide = low.dtype_name if _dtypes.kind(low.dtype_name) in "fc" else "float64"
    middle = (_core.cast(low, wide) + _core.cast(high, wide)) / 2.0
    if groups.single:
        greatest = groups.picked(values, last, there)
        return _core.map("where", _core.map("isnan", greatest), greatest, middle)
    return middle


def _positions(groups: _Groups, positions: ndarray) -> Any:
    """Returns flat indices as tuples of Python integers: one tuple, or a list of them."""
    import numpy as np

    flat = _core.to_numpy(positions)
    if groups.a.ndim == 0:
        return () if groups.single else [()] * flat.size
    columns = [c.tolist() for c in np.unravel_index(np.atleast_1d(flat).reshape(-1), groups.a.shape)]
    rows = list(zip(*columns, strict=True))
    return rows[0] if groups.single else rows


def _extreme_places(groups: _Groups) -> tuple[ndarray, ndarray]:
    order, first, last, there = groups.sort()
    if groups.single:  # the first among equals; NaN counts as both minimum and maximum
        flat, slots = _flat(groups.a), groups.slot.reshape([groups.a.size])
        least, greatest = (
            _core.reduce("argmax", _core.map("logical_and", slots == 0, flat == _core.gather(flat, order)[end]), None)
            for end in (first, last)
        )
        return least, greatest
    return groups.picked(order, first, there), groups.picked(order, last, there)


@on_array_device
@documented
def minimum_position(input: ArrayLike, labels: ArrayLike = None, index: Any = None) -> Any:
    """Returns the position of each region's minimum. It is copied to the host.

    Parameters
    ----------
    input : array_like
        An array.

    Returns
    -------
    tuple
        A tuple of integers, or a list of tuples for several labels.

    See Also
    --------
    label, minimum, median, maximum_position, extrema, sum

    Examples
    --------
    >>> cp.scipy.ndimage.minimum_position(cp.asarray([4, 1, 3]))
    (1,)
    """
    groups = _Groups(input, labels, index, True)
    return _positions(groups, _extreme_places(groups)[0])


@on_array_device
@documented
def maximum_position(input: ArrayLike, labels: ArrayLike = None, index: Any = None) -> Any:
    """Returns the position of each region's maximum, the last among equal values. It is copied to the host.

    Parameters
    ----------
    input : array_like
        An array.

    Returns
    -------
    tuple
        A tuple of integers, or a list of tuples for several labels.

    See Also
    --------
    label, minimum, median, extrema, sum, mean

    Examples
    --------
    >>> cp.scipy.ndimage.maximum_position(cp.asarray([1, 5, 3]))
    (1,)
    """
    groups = _Groups(input, labels, index, True)
    return _positions(groups, _extreme_places(groups)[1])


@on_array_device
@documented
def extrema(input: ArrayLike, labels: ArrayLike = None, index: Any = None) -> tuple[ndarray, ndarray, Any, Any]:
    """Returns minima, maxima and their positions.

    Parameters
    ----------
    input : array_like
        An array.

    Returns
    -------
    tuple
        A tuple of four, as `minimum`, `maximum`, `minimum_position` and `maximum_position` return them.

    See Also
    --------
    maximum, minimum, maximum_position, minimum_position, center_of_mass

    Examples
    --------
    >>> cp.scipy.ndimage.extrema(cp.asarray([4, 1, 7]))
    (array(1), array(7), (1,), (2,))
    """
    groups = _Groups(input, labels, index, True)
    least, greatest = _extreme_places(groups)
    return (
        _extreme("min", input, labels, index), _extreme("max", input, labels, index),
        _positions(groups, least), _positions(groups, greatest),
    )  # fmt: skip


@on_array_device
@documented
def center_of_mass(input: ArrayLike, labels: ArrayLike = None, index: Any = None) -> Any:
    """Returns the center of mass of each region, weighted by the input.

    Parameters
    ----------
    input : array_like
        An array.

    Returns
    -------
    tuple
        A tuple of 0-d arrays, or a list of tuples for several labels.

    See Also
    --------
    scipy.ndimage.sum, scipy.ndimage.labeled_comprehension, scipy.ndimage.histogram, scipy.ndimage.label

    Examples
    --------
    >>> cp.scipy.ndimage.center_of_mass(cp.asarray([0.0, 1.0, 3.0]))
    (array(1.75),)
    """
    a = source(input)
    total = sum_labels(a, labels, index)
    axes = []
    for axis in range(a.ndim):
        coordinate = _core.cast(_core.iota(a.shape, [1 if i == axis else 0 for i in range(a.ndim)], 0), "float64")
        axes.append(sum_labels(a * coordinate, labels, index) / total)
    if total.ndim == 0:
        return tuple(axes)
    flat = [column.reshape([total.size]) for column in axes]
    return [tuple(column[i] for column in flat) for i in range(total.size)]


@on_array_device
@documented
def histogram(input: ArrayLike, min: float, max: float, bins: int, labels: ArrayLike = None, index: Any = None) -> Any:
    """Returns histograms of each region, counted like `numpy.histogram`.

    Parameters
    ----------
    input : array_like
        An array.
    min : float
        The lower end of the bins.
    max : float
        The upper end of the bins.
    bins : int
        The number of bins.

    Returns
    -------
    ndarray
        An array of counts; for several labels rows of one array (SciPy: an array of arrays). A label that does not
        occur has zeros (SciPy: None).

    Raises
    ------
    ValueError
        For `index` without `labels`.

    See Also
    --------
    scipy.ndimage.label, scipy.ndimage.center_of_mass, scipy.ndimage.sum, scipy.ndimage.labeled_comprehension

    Examples
    --------
    >>> cp.scipy.ndimage.histogram(cp.asarray([0.5, 1.5, 1.7]), 0, 2, 2)
    array([1, 2])
    """
    if labels is None and index is not None:
        raise ValueError("index without defined labels")
    groups = _Groups(input, labels, index)
    edges = cp.linspace(min, max, bins + 1)
    values = _core.cast(_flat(groups.a), "float64")
    found = _core.searchsorted(edges, values, True) - 1
    found = _core.map("where", values == edges[bins], bins - 1, found)
    inside = _core.map("logical_and", values >= edges[0], values <= edges[bins])
    slots = groups.slot.reshape([groups.a.size])
    slot = _core.map("where", inside, slots * bins + found, groups.count * bins)
    table = _core.full([(groups.count + 1) * bins + 1], 0, "int64")
    _core.scatter(table, slot, 1, "add")
    rows = table[: groups.count * bins].reshape([groups.count, bins])
    return rows[0] if groups.single else cp.take(rows, groups.index, axis=0).reshape([*groups.shape, bins])


@on_array_device
def labeled_comprehension(
    input: ArrayLike, labels: ArrayLike, index: Any, func: Callable[..., Any], out_dtype: Any, default: Any,
    pass_positions: bool = False,
) -> Any:  # fmt: skip
    """Applies `func` to the elements of each region, in one call per region.

    Parameters
    ----------
    input : array_like
        An array.
    labels : array_like
        As for `sum_labels`.
    index : int or sequence of ints
        The label or labels; None for all elements whose label is positive.
    func : callable
        A function of a 1-d array (and the flat indices of its elements) that returns a scalar.
    out_dtype : dtype
        The result's dtype.
    default : scalar
        The result for regions without elements.
    pass_positions : bool, default False
        Whether `func` receives the flat indices.

    Returns
    -------
    ndarray
        An array with an element for each label.

    Raises
    ------
    ValueError
        For `index` without `labels`.

    See Also
    --------
    scipy.ndimage.histogram, scipy.ndimage.label, scipy.ndimage.center_of_mass, scipy.ndimage.sum

    Examples
    --------
    >>> values, labels = cp.asarray([1.0, 2.0, 5.0]), cp.asarray([1, 1, 2])
    >>> cp.scipy.ndimage.labeled_comprehension(values, labels, [1, 2], cp.max, float, 0)
    array([2., 5.])
    """
    a = source(input)
    if labels is None and index is not None:
        raise ValueError("index without defined labels")
    marks = None if labels is None else array(labels)
    if marks is not None:
        shape = broadcast_shapes(a.shape, marks.shape)
        a, marks = _core.broadcast_to(a, shape), _core.broadcast_to(marks, shape)
    positions = _core.iota([a.size], [1], 0)
    flat = a.reshape([a.size])

    def call(mask: ndarray | None) -> Any:
        chosen = (flat, positions) if mask is None else (flat[mask], positions[mask])
        if mask is not None and index is not None and chosen[0].size == 0:
            return default
        return func(*chosen) if pass_positions else func(chosen[0])

    if marks is None:
        return call(None)
    marks = marks.reshape([a.size])
    if index is None:
        return call(marks > 0)
    single = is_scalar(index)
    wanted = cp.atleast_1d(array(index))
    result = cp.empty(wanted.shape, out_dtype)
    for i, value in enumerate(_core.to_numpy(wanted).reshape(-1).tolist()):
        result.reshape([-1])[i] = call(marks == value)
    return result[0] if single else result


def value_indices(
    arr: ArrayLike, *, ignore_value: Any = None, adaptive_index_dtype: bool = False
) -> dict[Any, tuple[ndarray, ...]]:
    """Returns the indices of each value of an integer array.

    Parameters
    ----------
    arr : array_like
        An array of integers.
    ignore_value : scalar, optional
        A value to leave out.
    adaptive_index_dtype : bool, default False
        Whether indices have the smallest signed dtype that holds them, in place of int64.

    Returns
    -------
    dict
        A dictionary from a value (a NumPy scalar) to a tuple of index arrays, one for each axis.

    Raises
    ------
    ValueError
        For arrays that do not hold integers.

    See Also
    --------
    label, maximum, median, minimum_position, extrema, sum

    Examples
    --------
    >>> cp.scipy.ndimage.value_indices(cp.asarray([7, 9, 7]))[7]
    (array([0, 2]),)
    """
    a = source(arr)
    if _dtypes.kind(a.dtype_name) not in "iu":
        raise ValueError("Parameter 'arr' must be an integer array")
    values = _core.to_numpy(cp.unique(a))
    dtype = cp.min_scalar_type(-max(a.shape, default=0) - 1) if adaptive_index_dtype else "int64"

    def indices(value: Any) -> tuple[ndarray, ...]:
        return tuple(astype(index, str(dtype)) for index in cp.nonzero(a == value))

    return {value: indices(value) for value in values if ignore_value is None or value != ignore_value}
