"""Index arrays and functions based on them: grids, diagonals, triangles, flat and multi-axis indices, selection."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import (
    ArrayLike,
    Shape,
    array,
    as_shape,
    broadcast_shapes,
    ndarray,
    normalize_axis,
    operand,
    result_name,
    target,
    write_out,
)
from cuprous._common.casting import astype, check_casting, common_dtype
from cuprous._common.convert import asnumpy, convert
from cuprous._common.indexing import bounded, flat_offsets
from cuprous._common.layout import MAX_NDIM, order_letter, with_order
from cuprous._common.masks import flatnonzero, split_index
from cuprous._common.operands import is_scalar, on_array_device
from cuprous._functions import creation, matrices, ranges
from cuprous._functions.counting import nonzero
from cuprous._functions.joining import concatenate, stack
from cuprous._functions.manipulation import expand_dims, moveaxis


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """Returns a view of the diagonals along a new last axis. It is writable, unlike NumPy's.

    Parameters
    ----------
    a : array_like
        An array with at least two axes.
    offset : int, default 0
        The diagonal: 0 is the main one, positive ones are above it.
    axis1 : int, default 0
        The axis of the rows.
    axis2 : int, default 1
        The axis of the columns.

    Returns
    -------
    ndarray
        A view without the two axes, and with the diagonals along the last.

    Raises
    ------
    ValueError
        For fewer than two axes, or the same axis twice.

    See Also
    --------
    diag, diagflat, trace

    Examples
    --------
    >>> cp.diagonal([[1, 2], [3, 4]])
    array([1, 4])
    >>> cp.diagonal([[1, 2], [3, 4]], offset=1)
    array([2])
    """
    a = array(a)
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    return matrices.diagonal_view(a, offset, axis1, axis2)


@on_array_device
def fill_diagonal(a: ndarray, val: ArrayLike, wrap: bool = False) -> None:
    """Writes values on the main diagonal of an array, in place; values repeat as needed.

    Parameters
    ----------
    a : ndarray
        The array, which is changed.
    val : array_like
        A scalar, or an array-like whose flattened elements are written.
    wrap : bool, default False
        Whether the diagonal of a tall matrix begins anew after each block of as many rows as columns and one more.

    Raises
    ------
    TypeError
        Unless `a` is an array.
    ValueError
        Unless it has two axes, or more axes of the same length.

    See Also
    --------
    diag, diagonal

    Examples
    --------
    >>> a = cp.zeros((3, 3), int)
    >>> cp.fill_diagonal(a, 5)
    >>> a
    array([[5, 0, 0],
           [0, 5, 0],
           [0, 0, 5]])
    """
    if target(a, "fill_diagonal").ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    rows, columns = a.shape[:2]
    step = columns + 1 if a.ndim == 2 else sum(columns**i for i in range(a.ndim))
    end = a.size if wrap or a.ndim > 2 or rows <= columns else columns * columns
    count = -(-end // step)
    value = operand(val)
    index = _core.iota((count,), (step,), 0)
    if isinstance(value, ndarray) and value.size != 1:
        flat = astype(value, a.dtype_name).reshape(-1)
        value = _core.gather(flat, index // step % flat.size)
    elif isinstance(value, ndarray):
        value = astype(value.reshape(()), a.dtype_name)
    _core.scatter(a, flat_offsets(a, index), value, "set")


def diag_indices(n: int, ndim: int = 2) -> tuple[ndarray, ...]:
    """Returns the indices of the main diagonal of an array with `ndim` axes of length `n`.

    Parameters
    ----------
    n : int
        The length of the axes.
    ndim : int, default 2
        The number of axes.

    Returns
    -------
    tuple of ndarrays
        A tuple of `ndim` arrays (int64) of shape (n,).

    See Also
    --------
    diag_indices_from

    Examples
    --------
    >>> a = cp.zeros((3, 3), int)
    >>> a[cp.diag_indices(3)] = 1
    >>> a
    array([[1, 0, 0],
           [0, 1, 0],
           [0, 0, 1]])
    """
    index = _core.iota((max(n, 0),), (1,), 0)
    return (index,) * max(ndim, 0)


def diag_indices_from(arr: ArrayLike) -> tuple[ndarray, ...]:
    """Returns the indices of the main diagonal of an array.

    Parameters
    ----------
    arr : array_like
        An array.

    Returns
    -------
    tuple of ndarrays
        A tuple of arrays (int64), one for each axis.

    Raises
    ------
    ValueError
        Unless the array has two or more axes, all of the same length.

    See Also
    --------
    diag_indices

    Examples
    --------
    >>> cp.diag_indices_from(cp.ones((2, 2)))
    (array([0, 1]), array([0, 1]))
    """
    arr = array(arr)
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    """Returns the indices of the lower triangle of an n x m matrix.

    Parameters
    ----------
    n : int
        The number of rows.
    k : int, default 0
        The last diagonal of the triangle: 0 is the main one, positive ones are above it.
    m : int, optional
        The number of columns, n by default.

    Returns
    -------
    tuple of ndarrays
        A tuple of two arrays (int64), of rows and of columns.

    See Also
    --------
    triu_indices, tril

    Examples
    --------
    >>> cp.tril_indices(2)
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    return nonzero(matrices.tri(n, m, k, bool))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[ndarray, ...]:
    """Returns the indices of the upper triangle of an n x m matrix.

    Parameters
    ----------
    n : int
        The number of rows.
    k : int, default 0
        The first diagonal of the triangle: 0 is the main one, positive ones are above it.
    m : int, optional
        The number of columns, n by default.

    Returns
    -------
    tuple of ndarrays
        A tuple of two arrays (int64), of rows and of columns.

    See Also
    --------
    tril_indices, triu

    Examples
    --------
    >>> cp.triu_indices(3, 1)
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    return nonzero(_core.map("logical_not", matrices.tri(n, m, k - 1, bool)))


def _matrix_shape(arr: ArrayLike) -> tuple[int, int]:
    arr = array(arr)
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return arr.shape[0], arr.shape[1]


@on_array_device
def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[ndarray, ...]:
    """Returns the indices of the lower triangle of a matrix.

    Parameters
    ----------
    arr : array_like
        A matrix.
    k : int, default 0
        The last diagonal of the triangle: 0 is the main one, positive ones are above it.

    Returns
    -------
    tuple of ndarrays
        A tuple of two arrays (int64), of rows and of columns.

    Raises
    ------
    ValueError
        Unless the array has two axes.

    See Also
    --------
    tril_indices, tril, triu_indices_from

    Examples
    --------
    >>> a = cp.asarray([[1, 2], [3, 4]])
    >>> a[cp.tril_indices_from(a)]
    array([1, 3, 4])
    """
    rows, columns = _matrix_shape(arr)
    return tril_indices(rows, k, columns)


@on_array_device
def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[ndarray, ...]:
    """Returns the indices of the upper triangle of a matrix.

    Parameters
    ----------
    arr : array_like
        A matrix.
    k : int, default 0
        The first diagonal of the triangle: 0 is the main one, positive ones are above it.

    Returns
    -------
    tuple of ndarrays
        A tuple of two arrays (int64), of rows and of columns.

    Raises
    ------
    ValueError
        Unless the array has two axes.

    See Also
    --------
    triu_indices, triu, tril_indices_from

    Examples
    --------
    >>> a = cp.asarray([[1, 2], [3, 4]])
    >>> a[cp.triu_indices_from(a)]
    array([1, 2, 4])
    """
    rows, columns = _matrix_shape(arr)
    return triu_indices(rows, k, columns)


def mask_indices(n: int, mask_func: Any, k: Any = 0) -> tuple[ndarray, ...]:
    """Returns the indices of the elements that a function such as `triu` does not set to zero in an n x n matrix.

    Parameters
    ----------
    n : int
        The number of rows and columns.
    mask_func : callable
        A function `mask_func(a, k)`.
    k : int, default 0
        The second argument of the function.

    Returns
    -------
    tuple of ndarrays
        A tuple of two arrays (int64), of rows and of columns.

    See Also
    --------
    triu, tril, triu_indices, tril_indices

    Examples
    --------
    >>> cp.mask_indices(2, cp.triu)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return nonzero(mask_func(creation.ones((n, n), int), k))


def _check_inferred(indices: Any) -> None:
    """Raises NumPy's error for an empty list, whose dtype is inferred as float."""
    if isinstance(indices, (list, tuple)) and not len(indices):
        raise TypeError(
            "indices must be integral: the provided empty sequence was inferred as float. Wrap it with "
            "'np.array(indices, dtype=np.intp)'"
        )


def unravel_index(indices: ArrayLike, shape: Shape, order: str = "C") -> tuple[ndarray, ...]:
    """Converts indices into the flattened array to one index array per axis.

    Parameters
    ----------
    indices : array_like
        An integer, or an array of integers.
    shape : int or tuple of ints
        The shape of the array that the indices are for.
    order : str, default "C"
        "C" for row-major, "F" for column-major order.

    Returns
    -------
    tuple of ndarrays
        A tuple with an array (int64) for each axis.

    Raises
    ------
    ValueError
        If an index is out of bounds, and for more elements than int64 counts.

    See Also
    --------
    ravel_multi_index

    Examples
    --------
    >>> cp.unravel_index([2, 3], (2, 3))
    (array([0, 1]), array([2, 0]))
    """
    _check_inferred(indices)
    index, dims = array(indices), as_shape(shape)
    _check_size(
        dims, "dimensions are too large; arrays and shapes with a total size greater than 'intp' are not supported."
    )
    if dtypes.kind(index.dtype_name) not in "biu":
        raise TypeError("only int indices permitted")
    index = astype(index, "int64")
    size = math.prod(dims)
    if index.size:
        for extreme in (int(_core.reduce("min", index, None)), int(_core.reduce("max", index, None))):
            if not 0 <= extreme < size:
                raise ValueError(f"index {extreme} is out of bounds for array with size {size}")
    if not dims:
        if index.ndim:
            raise ValueError("multiple indices are not supported for 0d arrays")
        return ()
    if _letter(order) == "F":
        return split_index(index, dims[::-1])[::-1]
    return split_index(index, dims)


def _check_size(dims: Sequence[int], message: str) -> None:
    """Raises ValueError for more axes than arrays have, and if an extent, or a product of leading extents, does not fit
    into int64."""
    if len(dims) > MAX_NDIM:
        raise ValueError(f"maximum supported dimension for an ndarray is currently {MAX_NDIM}, found {len(dims)}")
    size = 1
    for n in dims:
        size *= n
        if max(n, size) >= 1 << 63:
            raise ValueError(message)


def _letter(order: str) -> str:
    try:
        return order_letter(order, "CF", "C")
    except ValueError:
        raise ValueError("only 'C' or 'F' order is permitted") from None


def ravel_multi_index(multi_index: Any, dims: Shape, mode: Any = "raise", order: str = "C") -> ndarray:
    """Converts one index array per axis to indices into the flattened array.

    Parameters
    ----------
    multi_index : tuple
        A tuple of arrays of integers, one for each axis.
    dims : int or tuple of ints
        The shape of the array that the indices are for.
    mode : str, default "raise"
        For indices out of bounds: "raise", "wrap" or "clip", or a tuple of one for each axis.
    order : str, default "C"
        "C" for row-major, "F" for column-major order.

    Returns
    -------
    ndarray
        An array (int64) of the common shape of the indices.

    Raises
    ------
    ValueError
        If an index is out of bounds and the mode is "raise", and if the number of elements exceeds int64.

    See Also
    --------
    unravel_index

    Examples
    --------
    >>> cp.ravel_multi_index((cp.asarray([0, 1]), cp.asarray([2, 0])), (2, 3))
    array([2, 3])
    """
    shape = as_shape(dims)
    order = _letter(order)
    inner_first = shape if order == "F" else shape[::-1]
    _check_size(inner_first, "invalid dims: array size defined by dims is larger than the maximum possible size.")
    for one in multi_index if isinstance(multi_index, (tuple, list)) else ():
        _check_inferred(one)
    given = [array(m) for m in multi_index]
    if len(given) != len(shape):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(shape)}")
    if any(dtypes.kind(m.dtype_name) not in "biu" for m in given):
        raise TypeError("only int indices permitted")
    parts = [astype(m, "int64") for m in given]
    modes = (mode,) * len(parts) if isinstance(mode, str) else tuple(mode)
    if 0 in shape and all(part.size for part in parts):
        raise ValueError("cannot unravel if shape has zero entries (is empty).")
    result: Any = _core.full((), 0, "int64")
    stride = 1
    axes = list(zip(parts, shape, modes, strict=True))
    for part, n, how in axes if order == "F" else reversed(axes):
        if how == "wrap":
            part = part % n
        elif how == "clip":
            part = _core.map("minimum", _core.map("maximum", part, 0), n - 1)
        elif how != "raise":
            raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got '{how}')")
        elif part.size and not (int(_core.reduce("min", part, None)) >= 0 and int(_core.reduce("max", part, None)) < n):
            raise ValueError("invalid entry in coordinates array")
        result = part * stride + result
        stride *= n
    return result


# --- selection


@on_array_device
def choose(a: ArrayLike, choices: Any, out: ndarray | None = None, mode: str = "raise") -> ndarray:
    """Returns for each index in `a` the element of the choice with this index.

    Parameters
    ----------
    a : array_like
        An array of integers.
    choices : array_like
        A sequence of arrays that broadcast to the shape of `a`, or an array whose first axis numbers the choices.
    out : ndarray, optional
        An array of the result's shape to write to, of any dtype.
    mode : str, default "raise"
        For indices out of bounds: "raise", "wrap" or "clip".

    Returns
    -------
    ndarray
        An array of the common shape, of the dtype that the choices promote to.

    Raises
    ------
    ValueError
        If there are no choices, or an index is out of bounds (mode "raise").
    TypeError
        If `a` does not hold integers, or `out` has another shape.

    See Also
    --------
    take_along_axis

    Examples
    --------
    >>> cp.choose([0, 1, 0], [[1, 2, 3], [10, 20, 30]])
    array([ 1, 20,  3])
    """
    index = array(a)
    check_casting(index.dtype_name, "int64", "safe", "array data")
    given = [choices[i] for i in range(len(choices))] if isinstance(choices, ndarray) else [operand(c) for c in choices]
    if not given:
        raise ValueError("0-length sequence.")
    name = result_name(*given)
    exact = dtypes.kind(name) not in "fc"  # integers wrap around
    parts = [c if isinstance(c, ndarray) else astype(array(c), name) if exact else convert(c, name) for c in given]
    if mode == "raise" and index.size and int(_core.reduce("min", index, None)) < 0:
        raise ValueError("invalid entry in choice array")
    try:
        index = bounded(index, len(parts), 0, mode)
    except IndexError:
        raise ValueError("invalid entry in choice array") from None
    shape = broadcast_shapes(index.shape, *(p.shape for p in parts))
    result = _core.broadcast_to(astype(parts[0], name), shape)
    for i, part in enumerate(parts[1:], 1):
        result = _core.map("where", index == i, astype(part, name), result)
    if isinstance(out, ndarray) and out.shape != shape:
        raise TypeError("choose: invalid shape for output array.")
    result = result.copy() if len(parts) == 1 else with_order(result, "C")
    return write_out(out, result, "choose", "unsafe")


def choose_of(self: ndarray, /, *choices: Any, out: ndarray | None = None, mode: str = "raise") -> ndarray:
    """Returns for each index in the array the element of the choice with this index.

    Parameters
    ----------
    *choices : array_like
        The choices: one sequence of them, or each as an argument.
    out : ndarray, optional
        An array of the result's shape to write to.
    mode : str, default "raise"
        For indices out of bounds: "raise", "wrap" or "clip".

    Returns
    -------
    ndarray
        An array of the common shape, of the dtype that the choices promote to.

    Raises
    ------
    ValueError
        If there are no choices, or an index is out of bounds (mode "raise").
    TypeError
        If the array does not hold integers, or `out` has another shape.

    Examples
    --------
    >>> cp.asarray([0, 1, 0]).choose([1, 2, 3], [10, 20, 30])
    array([ 1, 20,  3])
    """
    return choose(self, choices[0] if len(choices) == 1 else choices, out, mode)


@on_array_device
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> ndarray:
    """Returns for each element the choice of the first condition that is true, or the default.

    Parameters
    ----------
    condlist : sequence
        A list of bool arrays.
    choicelist : sequence
        A list of arrays, one for each condition. All broadcast against each other.
    default : int, default 0
        The element where no condition is true.

    Returns
    -------
    ndarray
        An array of the common shape, of the dtype that choices and default promote to.

    Raises
    ------
    ValueError
        If there are no conditions, or the number of choices differs from theirs.
    TypeError
        For conditions that are not bool.

    See Also
    --------
    where, take, choose, compress, diag, diagonal

    Examples
    --------
    >>> x = cp.arange(6)
    >>> cp.select([x < 2, x > 3], [x, x * 10], default=-1)
    array([ 0,  1, -1, -1, 40, 50])
    """
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    conditions = [array(c) for c in condlist]
    for i, c in enumerate(conditions):
        if c.dtype_name != "bool":
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    choices = [operand(c) for c in (*choicelist, default)]
    name = result_name(*choices)  # Python scalars promote weakly, at every position
    choices = [astype(array(c), name) for c in choices]
    result = choices.pop()
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = _core.map("where", condition, choice, result)
    return with_order(result, "C")


def piecewise(x: ArrayLike, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> ndarray:
    """Evaluates a piecewise function: for each condition a scalar, or a function called with the elements it selects.

    Parameters
    ----------
    x : array_like
        An array or array-like.
    condlist : list
        A list of bool arrays of the shape of `x`, or one of them.
    funclist : sequence
        Scalars and functions, one for each condition. One more is taken where no condition is true, otherwise zero.
    *args : any
        Further arguments of the functions.
    **kw : any
        Keyword arguments of the functions.

    Returns
    -------
    ndarray
        An array of the shape and dtype of `x`.

    Raises
    ------
    ValueError
        Unless there are as many functions as conditions, or one more.

    See Also
    --------
    choose, select, where

    Examples
    --------
    >>> x = cp.asarray([-2.0, -1.0, 1.0, 2.0])
    >>> cp.piecewise(x, [x < 0, x > 1], [0, lambda v: v * 10, 5])
    array([ 0.,  0.,  5., 20.])
    """
    x = array(x)
    if (
        isinstance(condlist, bool)
        or not isinstance(condlist, (list, tuple, ndarray))
        or (isinstance(condlist, ndarray) and condlist.ndim <= x.ndim)
        or (isinstance(condlist, (list, tuple)) and not isinstance(condlist[0], (list, tuple, ndarray)) and x.ndim)
    ):
        condlist = [condlist]
    conditions = [astype(array(c), "bool") for c in condlist]
    n = len(conditions)
    if len(funclist) == n + 1:
        conditions.append(~reduce(operator.or_, conditions))
    elif len(funclist) != n:
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    result = creation.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        if callable(function):
            chosen = x[condition]
            if chosen.size:
                result[condition] = function(chosen, *args, **kw)
        else:
            result[condition] = function
    return result


# --- functions applied to slices


def apply_along_axis(func1d: Any, axis: int, arr: ArrayLike, *args: Any, **kwargs: Any) -> ndarray:
    """Applies a function of a 1-d array to each slice along an axis. The calls are recorded one by one.

    Parameters
    ----------
    func1d : array_like
        A function of a 1-d array that returns a scalar or an array.
    axis : int
        The axis along which slices are taken.
    arr : array_like
        An array or array-like.
    *args : any
        Further arguments of the function.
    **kwargs : any
        Keyword arguments of the function.

    Returns
    -------
    ndarray
        An array of the results; the axes that the function returns take the place of the axis.

    Raises
    ------
    ValueError
        If the other axes are empty.

    See Also
    --------
    apply_over_axes

    Examples
    --------
    >>> cp.apply_along_axis(lambda row: row[::-1], 1, [[1, 2], [3, 4]])
    array([[2, 1],
           [4, 3]])
    """
    arr = array(arr)
    axis = normalize_axis(axis, arr.ndim)
    moved = moveaxis(arr, axis, -1)
    outer = moved.shape[:-1]
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [array(func1d(moved[index], *args, **kwargs)) for index in ndindex(outer)]
    inner = results[0].shape
    joined = stack(results).reshape(outer + inner)
    axes = [len(outer) + i for i in range(len(inner))]
    return moveaxis(joined, axes, [axis + i for i in range(len(inner))]) if inner else joined


def apply_over_axes(func: Any, a: ArrayLike, axes: Any) -> ndarray:
    """Applies a reduction to one axis after another and keeps the axes with length one.

    Parameters
    ----------
    func : callable
        A function `func(a, axis)`, such as `cp.sum`.
    a : array_like
        An array or array-like.
    axes : int or tuple of ints
        The axis or axes.

    Returns
    -------
    ndarray
        An array with as many axes as `a`.

    Raises
    ------
    ValueError
        If the result of the function has neither as many axes as `a` nor one axis less.

    See Also
    --------
    apply_along_axis

    Examples
    --------
    >>> cp.apply_over_axes(cp.sum, cp.ones((2, 3, 4)), (0, 2)).shape
    (1, 3, 1)
    """
    result = array(a)
    for axis in [axes] if isinstance(axes, int) else axes:
        axis = normalize_axis(axis, result.ndim)
        reduced = func(result, axis)
        if result.ndim - reduced.ndim not in (0, 1):
            raise ValueError("function is not returning an array of the correct shape")
        result = reduced if reduced.ndim == result.ndim else expand_dims(reduced, axis)
    return result


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


# --- index tricks


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
        a = creation.asarray(item)
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
            part = _slice_values(item) if isinstance(item, slice) else creation.asarray(item)
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

__all__ = [
    "apply_along_axis", "apply_over_axes", "c_", "choose", "diag_indices", "diag_indices_from", "diagonal",
    "fill_diagonal", "ix_", "mask_indices", "mgrid", "ndenumerate", "ndindex", "ogrid", "piecewise", "r_",
    "ravel_multi_index", "select", "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from",
    "unravel_index",
]  # fmt: skip
