"""Interpolation between elements by splines of orders 0 to 5, with SciPy's boundary modes."""

from __future__ import annotations

import itertools
import math
import operator
from functools import reduce
from typing import Any

from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array
from cuprous._common.operands import on_array_device
from cuprous.scipy.ndimage._parameters import documented
from cuprous.scipy.ndimage._spline import check_mode, coefficients, weights
from cuprous.scipy.ndimage._structures import host
from cuprous.scipy.ndimage._support import (
    ArrayLike,
    Output,
    converted,
    deliver,
    is_complex,
    ndarray,
    per_axis,
    source,
    target,
)

_map = _core.map
#: The number of elements that are added around an array before its coefficients are computed, for non-periodic modes.
_MARGIN = 12
#: An upper bound on the number of taps beyond an edge.
_NEAR = 8
#: The coordinates along each input axis, broadcasting to the result; None if the result's axis is the input's own.
Coordinates = list[ndarray | None]


def _where(condition: Any, a: Any, b: Any) -> ndarray:
    return _map("where", condition, a, b)


def _map_inside(c: ndarray, n: int, mode: str) -> ndarray:
    """Maps coordinates to the array's range, or near it, by mode; "constant" and "grid-constant" leave them
    unchanged."""
    if mode in ("constant", "grid-constant"):
        return c
    if mode == "nearest" or n <= 1:
        return _map("minimum", _map("maximum", c, 0.0), float(max(n - 1, 0)))
    if mode == "wrap":
        low, period = 0.0, n - 1.0
    elif mode == "grid-wrap":
        low, period = -1.0, float(n)
    else:
        return _mapped_inside(c, n, mode)
    below = c + period * (_map("floor", (low - c) / period) + 1.0)
    above = c - period * _map("floor", c / period)
    return _where(c < 0.0, below, _where(c > n - 1.0, above, c))


def _mapped_inside(c: ndarray, n: int, mode: str) -> ndarray:
    """Maps coordinates for the modes "mirror" (about the edge elements' centers) and "reflect" (about their outer
    faces)."""
    shift = 0.0 if mode == "mirror" else 1.0
    period = 2.0 * n - 2.0 if mode == "mirror" else 2.0 * n
    below = c + period * _map("floor", -c / period)
    past_period = below <= 1.0 - n if mode == "mirror" else below < -float(n)
    below = _where(past_period, below + period, -below - shift)
    above = c - period * _map("floor", c / period)
    above = _where(above >= float(n), period - above - shift, above)
    return _where(c < 0.0, below, _where(c > n - 1.0, above, c))


def _index_inside(i: ndarray, n: int, mode: str) -> ndarray:
    """Maps coefficient indices that lie beyond the edges."""
    if n <= 1:
        return i * 0
    if n > _NEAR and mode not in ("grid-constant", "nearest"):
        # The coordinates are already in range, so one reflection suffices; a 64-bit division would be slow on a GPU.
        if mode == "grid-wrap":
            return _where(i < 0, i + n, _where(i >= n, i - n, i))
        first, last = (-1, 2 * n - 1) if mode in ("reflect", "grid-mirror") else (0, 2 * n - 2)
        i = _where(i < 0, first - i, i)
        return _where(i >= n, last - i, i)
    if mode == "grid-wrap":
        return _map("remainder", i, n)
    if mode in ("reflect", "grid-mirror"):
        i = _map("remainder", i, 2 * n)
        return _map("minimum", i, 2 * n - 1 - i)
    if mode in ("grid-constant", "nearest"):
        return _map("minimum", _map("maximum", i, 0), n - 1)
    i = _map("remainder", i, 2 * n - 2)
    return _map("minimum", i, 2 * n - 2 - i)


#: The `_core.pad` modes that extend coefficients beyond the edges as `_index_inside` does.
_BEYOND = {"reflect": "reflect", "grid-mirror": "reflect", "grid-wrap": "wrap", "nearest": "nearest",
           "grid-constant": "constant"}  # fmt: skip


def _inside(coordinate: ndarray, n: int, mode: str, margin: int) -> tuple[ndarray, ndarray | None]:
    """Maps coordinates to the range of `n` elements, or near it, and returns where they were outside for "constant"."""
    c = coordinate + float(margin) if margin else coordinate
    away = None
    if mode == "constant":
        away = _map("logical_or", c < 0.0, c > n - 1.0)
        c = _where(away, 0.0, c)
    return _map_inside(c, n, "reflect" if mode == "grid-mirror" else mode), away


def _joined(a: ndarray | None, b: ndarray | None) -> ndarray | None:
    return b if a is None else a if b is None else _map("logical_or", a, b)


def _evaluated(a: ndarray, coords: Coordinates, shape: tuple[int, ...], order: int, mode: str, cval: float, margin: int
               ) -> ndarray:  # fmt: skip
    """Evaluates the spline with the coefficients `a` at `coords`, in float64."""
    outside: Any = None
    axes: list[list[tuple[ndarray, Any, Any]]] = []
    for axis, coordinate in enumerate(coords):
        n, stride = a.shape[axis], a.element_strides[axis]
        if coordinate is None:
            axes.append([(_own_axis(shape, axis, stride), None, None)])
            continue
        c, away = _inside(coordinate, n, mode, margin)
        outside = _joined(outside, away)
        middle = _map("floor", c if order & 1 else c + 0.5)
        start = _core.cast(middle, "int64") - order // 2
        factors = weights(c - middle, order) if order else [None]
        taps = []
        for k, w in enumerate(factors):
            i = start + k
            beyond = _map("logical_or", i < 0, i >= n) if mode == "grid-constant" else None
            taps.append((_index_inside(i, n, mode) * stride, w, beyond))
        axes.append(taps)
    total: Any = None
    for taps_of_axes in itertools.product(*axes):
        index = reduce(operator.add, (i for i, _, _ in taps_of_axes))
        absent = reduce(_joined, (away for _, _, away in taps_of_axes))
        value: Any = _core.cast(_core.gather(a, _core.broadcast_to(index, shape)), "float64")
        if absent is not None:
            value = _where(absent, cval, value)
        for _, w, _ in taps_of_axes:
            value = value if w is None else value * w
        total = value if total is None else total + value
    return total if outside is None else _where(outside, cval, total)


def _own_axis(shape: tuple[int, ...], axis: int, stride: int) -> ndarray:
    """Returns the indices along an axis that the result shares with the input."""
    return _core.iota(shape, [stride if i == axis else 0 for i in range(len(shape))], 0)


def _wide(a: ndarray, coords: Coordinates, shape: tuple[int, ...], order: int, mode: str, cval: float, margin: int
          ) -> ndarray:  # fmt: skip
    """Computes `_evaluated` for higher orders, on a copy padded for all taps. The offsets between taps are then
    constant, so that a single kernel computes all of them."""
    # Wide enough for all taps to be outside at either end.
    reach = order + 1
    around = [0 if coordinate is None else reach for coordinate in coords]
    padded = _core.pad(_core.cast(a, "float64"), around, around, _BEYOND.get(mode, "mirror"), cval)
    outside: Any = None
    index: Any = None
    taps: list[list[tuple[int, Any]]] = []
    for axis, coordinate in enumerate(coords):
        n, stride = a.shape[axis], padded.element_strides[axis]
        if coordinate is None:
            first, factors = _own_axis(shape, axis, stride), None
        else:
            # For "nearest" the coefficients, not the coordinates, are extended by the edge's.
            c, away = _inside(coordinate, n, "grid-constant" if mode == "nearest" else mode, margin)
            outside = _joined(outside, away)
            if mode in ("grid-constant", "nearest"):
                c = _map("minimum", _map("maximum", c, float(order // 2 - reach)), float(n + order // 2))
            middle = _map("floor", c if order & 1 else c + 0.5)
            first = (_core.cast(middle, "int64") + (reach - order // 2)) * stride
            factors = weights(c - middle, order)
        index = first if index is None else index + first
        taps.append([(k * stride, w) for k, w in enumerate(factors or [None])])
    index = _core.broadcast_to(index, shape)

    def summed(axis: int, offset: int) -> Any:
        if axis == len(taps):
            return _core.gather(padded, index + offset if offset else index)
        values = ((summed(axis + 1, offset + step), w) for step, w in taps[axis])
        return reduce(operator.add, (value if w is None else value * w for value, w in values))

    total = summed(0, 0)
    return total if outside is None else _where(outside, cval, total)


def _stored(values: ndarray, name: str) -> ndarray:
    """Converts float64 results as SciPy does: for integers, rounds half away from zero and clips."""
    if _dtypes.kind(name) not in "iu":
        return converted(values, name)
    rounded = _where(values > 0.0, values + 0.5, values - 0.5 if _dtypes.kind(name) == "i" else 0.0)
    low, high = float(_dtypes.lowest(name)), float(_dtypes.highest(name))
    return _core.cast(_map("minimum", _map("maximum", rounded, low), high), name)


def _transformed(
    a: ndarray, coords: Coordinates, shape: tuple[int, ...], output: Output, order: int, mode: Any, cval: Any,
    prefilter: bool,
) -> ndarray:  # fmt: skip
    name, out = target(a, output, is_complex(a), shape)
    mode = check_mode(mode)
    if a.size == 0 and 0 not in shape:
        if mode not in ("constant", "grid-constant"):
            raise RuntimeError("an empty array has no values between its elements")
        return deliver(_core.full(shape, cval, name), out)

    def real(part: ndarray, constant: float, dtype: str) -> ndarray:
        if 0 in shape:
            return _core.empty(shape, dtype)
        margin = 0
        if prefilter and order > 1:
            axes = tuple(i for i, coordinate in enumerate(coords) if coordinate is not None)
            if mode in ("nearest", "grid-constant"):
                margin = _MARGIN
                around = [margin if i in axes else 0 for i in range(a.ndim)]
                part = _core.pad(part, around, around, "nearest" if mode == "nearest" else "constant", constant)
            part = coefficients(part, order, axes, mode)
        evaluated = _wide if order > 1 else _evaluated
        return _stored(evaluated(part, coords, shape, order, mode, constant, margin), dtype)

    if not is_complex(a):
        return deliver(real(a, float(cval), name), out)
    piece, constant = _dtypes.component(name), complex(cval)
    parts = (real(_map("real", a), constant.real, piece), real(_map("imag", a), constant.imag, piece))
    return deliver(_map("make_complex", *parts), out)


def _check(a: ndarray, order: int, rank: int) -> None:
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    if a.ndim < 1 or rank < 1:
        raise RuntimeError("input and output rank must be > 0")


@documented
def map_coordinates(
    input: ArrayLike, coordinates: ArrayLike, output: Output = None, order: int = 3, mode: str = "constant",
    cval: Any = 0.0, prefilter: bool = True,
) -> ndarray:  # fmt: skip
    """Interpolates an array at the given coordinates.

    Parameters
    ----------
    input : array_like
        An array of any dtype.
    coordinates : array_like
        One row for each axis of `input`, each with the shape of the result.
    output : dtype or ndarray, optional
        The result's dtype (the input's by default), or an array for the result. Integers are rounded.
    mode : str, default "constant"
        The extension beyond the edges: "constant", "grid-constant", "nearest", "mirror", "reflect", "grid-mirror",
        "wrap" or "grid-wrap".
    cval : scalar, default 0.0
        The value beyond the edges for "constant" and "grid-constant".

    Returns
    -------
    ndarray
        An array of the shape of a row of `coordinates`.

    Raises
    ------
    RuntimeError
        For an unsupported order or mode, and coordinates or an output of the wrong shape.
    TypeError
        For complex coordinates.

    See Also
    --------
    spline_filter, geometric_transform

    Examples
    --------
    >>> cp.scipy.ndimage.map_coordinates(cp.asarray([1.0, 2.0, 4.0]), [[0.5, 1.5]], order=1)
    array([1.5, 3. ])
    """
    a, where = source(input), array(coordinates)
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    if is_complex(where):
        raise TypeError("Complex type not supported")
    _check(a, order, where.ndim - 1)
    if where.shape[0] != a.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    where = _core.cast(where, "float64")
    return _transformed(a, [where[i] for i in range(a.ndim)], where.shape[1:], output, order, mode, cval, prefilter)


def _grid(shape: tuple[int, ...], axis: int) -> ndarray:
    """Returns the coordinate of each element along an axis, with extent one along the others."""
    n = shape[axis]
    lined = [n if i == axis else 1 for i in range(len(shape))]
    return _core.cast(_core.iota(lined, [1 if i == axis else 0 for i in range(len(shape))], 0), "float64")


@on_array_device
@documented
def affine_transform(
    input: ArrayLike, matrix: ArrayLike, offset: Any = 0.0, output_shape: Any = None, output: Output = None,
    order: int = 3, mode: str = "constant", cval: Any = 0.0, prefilter: bool = True, *,
    texture_memory: bool = False,
) -> ndarray:  # fmt: skip
    """Returns an array whose element `o` is the input at `matrix @ o + offset`.

    Parameters
    ----------
    input : array_like
        An array of any dtype.
    matrix : array_like
        The matrix, its diagonal, or the homogeneous matrix (whose last column is the offset); read on the host.
    offset : float or sequence of floats, default 0.0
        The offset, one for all axes or one for each.
    output_shape : int or tuple of ints, optional
        The shape of the result; by default the output's or the input's.
    output : dtype or ndarray, optional
        The result's dtype (the input's by default), or an array for the result. Integers are rounded.
    mode : str, default "constant"
        The extension beyond the edges: "constant", "grid-constant", "nearest", "mirror", "reflect", "grid-mirror",
        "wrap" or "grid-wrap".
    cval : scalar, default 0.0
        The value beyond the edges for "constant" and "grid-constant".
    texture_memory : bool, default False
        For CuPy's programs: refuses what CuPy's texture memory cannot do, and takes orders above 1 for 1, as CuPy. The
        values are those without it, not rounded to a texture's 1/256 of an element.

    Returns
    -------
    ndarray
        An array of `output_shape`.

    Raises
    ------
    RuntimeError
        For a matrix of the wrong shape.
    ValueError
        For a homogeneous matrix whose last row is not 0 … 0 1; with `texture_memory`, for other than float32 arrays of
        two or three axes, homogeneous matrices, and the modes "constant" and "nearest".

    See Also
    --------
    scipy.ndimage.map_coordinates, scipy.ndimage.rotate, scipy.ndimage.zoom, scipy.ndimage.shift

    Examples
    --------
    >>> cp.scipy.ndimage.affine_transform(cp.asarray([1.0, 2.0, 3.0]), [[1.0]], offset=1, order=1)
    array([2., 3., 0.])
    """
    a = source(input)
    if output_shape is None:
        output_shape = output.shape if isinstance(output, ndarray) else a.shape
    shape = tuple(int(n) for n in output_shape)
    if texture_memory:
        _check_texture(a, matrix, shape, output, mode)
        order = min(order, 1)
    _check(a, order, len(shape))
    m = host(matrix, float)
    if m.ndim not in (1, 2) or m.shape[0] < 1:
        raise RuntimeError("no proper affine matrix provided")
    if m.ndim == 2 and m.shape[1] == a.ndim + 1 and m.shape[0] in (a.ndim, a.ndim + 1):
        if m.shape[0] == a.ndim + 1 and m[a.ndim].tolist() != [0.0] * a.ndim + [1.0]:
            raise ValueError(f"Expected homogeneous transformation matrix with shape {m.shape} for image shape "
                             f"{a.shape}, but bottom row was not equal to {[0] * a.ndim + [1]}")  # fmt: skip
        offset, m = m[: a.ndim, a.ndim], m[: a.ndim, : a.ndim]
    if m.shape[0] != a.ndim:
        raise RuntimeError("affine matrix has wrong number of rows")
    if m.ndim == 2 and m.shape[1] != len(shape):
        raise RuntimeError("affine matrix has wrong number of columns")
    offsets = [float(o) for o in per_axis(host(offset).tolist(), a.ndim)]
    if m.ndim == 1:
        coords: Coordinates = [
            (_grid(shape, i) + o / s) * s for i, (s, o) in enumerate(zip(m.tolist(), offsets, strict=True))
        ]
    else:
        coords = [_combined(shape, row, o) for row, o in zip(m.tolist(), offsets, strict=True)]
    return _transformed(a, coords, shape, output, order, mode, cval, prefilter)


def _check_texture(a: ndarray, matrix: Any, shape: tuple[int, ...], output: Any, mode: str) -> None:
    wrong = (
        (a.ndim not in (2, 3), f"arrays of two or three axes, not {a.ndim}"),
        (a.dtype_name != "float32", f"float32, not {a.dtype_name}"),
        (getattr(matrix, "shape", None) != (a.ndim + 1,) * 2, "an array of a homogeneous matrix"),
        (mode not in ("constant", "nearest"), f'the modes "constant" and "nearest", not {mode!r}'),
        (isinstance(output, ndarray) and output.shape != shape, "an output of output_shape"),
        (isinstance(output, str) and output != "float32", f"results of float32, not {output!r}"),
    )
    for refused, what in wrong:
        if refused:
            raise ValueError(f"[affine_transform] texture_memory=True takes {what}")


def _combined(shape: tuple[int, ...], row: list[float], offset: float, axes: tuple[int, ...] | None = None) -> ndarray:
    terms = (_grid(shape, axis) * factor for axis, factor in zip(axes or range(len(shape)), row, strict=True))
    return reduce(operator.add, terms) + offset


@on_array_device
@documented
def shift(
    input: ArrayLike, shift: Any, output: Output = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> ndarray:  # fmt: skip
    """Shifts an array. Elements that come from beyond the edges are those of `mode`.

    Parameters
    ----------
    input : array_like
        An array of any dtype.
    shift : int or sequence of ints
        The number of elements, one for all axes or one for each.
    output : dtype or ndarray, optional
        The result's dtype (the input's by default), or an array for the result. Integers are rounded.
    mode : str, default "constant"
        The extension beyond the edges: "constant", "grid-constant", "nearest", "mirror", "reflect", "grid-mirror",
        "wrap" or "grid-wrap".
    cval : scalar, default 0.0
        The value beyond the edges for "constant" and "grid-constant".

    Returns
    -------
    ndarray
        An array of the shape of `input`.

    Raises
    ------
    RuntimeError
        For an unsupported order or mode, and an output of the wrong shape.

    See Also
    --------
    affine_transform

    Examples
    --------
    >>> cp.scipy.ndimage.shift(cp.asarray([1.0, 2.0, 3.0]), 1, order=1)
    array([0., 1., 2.])
    """
    a = source(input)
    _check(a, order, a.ndim)
    steps = per_axis(host(shift).tolist(), a.ndim)
    coords: Coordinates = [_grid(a.shape, i) + -float(s) for i, s in enumerate(steps)]
    return _transformed(a, coords, a.shape, output, order, mode, cval, prefilter)


@on_array_device
@documented
def zoom(
    input: ArrayLike, zoom: Any, output: Output = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True, *, grid_mode: bool = False,
) -> ndarray:  # fmt: skip
    """Scales an array.

    Parameters
    ----------
    input : array_like
        An array of any dtype.
    zoom : float or sequence of floats
        The factor, one for all axes or one for each.
    output : dtype or ndarray, optional
        The result's dtype (the input's by default), or an array for the result. Integers are rounded.
    mode : str, default "constant"
        The extension beyond the edges: "constant", "grid-constant", "nearest", "mirror", "reflect", "grid-mirror",
        "wrap" or "grid-wrap".
    cval : scalar, default 0.0
        The value beyond the edges for "constant" and "grid-constant".
    grid_mode : bool, default False
        Whether distances are measured from the outer faces of the edge elements instead of their centers.

    Returns
    -------
    ndarray
        An array whose extents are scaled and rounded.

    Raises
    ------
    RuntimeError
        For an unsupported order or mode, and an output of the wrong shape.

    See Also
    --------
    scipy.ndimage.shift, scipy.ndimage.affine_transform, scipy.ndimage.map_coordinates, scipy.ndimage.rotate

    Examples
    --------
    >>> cp.scipy.ndimage.zoom(cp.asarray([1.0, 3.0]), 1.5, order=1)
    array([1., 2., 3.])
    """
    a = source(input)
    _check(a, order, a.ndim)
    factors = per_axis(host(zoom).tolist(), a.ndim)
    shape = tuple(round(n * f) for n, f in zip(a.shape, factors, strict=True))
    if all(f == 1 for f in factors) and prefilter:
        name, out = target(a, output, is_complex(a))
        return deliver(_core.cast(a, name), out)
    if grid_mode and mode in ("constant", "wrap"):
        import warnings

        warnings.warn(
            f"It is recommended to use mode = grid-{mode} instead of {mode} when grid_mode is True.", stacklevel=2
        )
    less = 0 if grid_mode else 1
    coords: Coordinates = []
    for i, (n, m) in enumerate(zip(a.shape, shape, strict=True)):
        scale = (n - less) / (m - less) if m != less else 1.0
        coords.append((_grid(shape, i) + 0.5) * scale - 0.5 if grid_mode else _grid(shape, i) * scale)
    return _transformed(a, coords, shape, output, order, mode, cval, prefilter)


def _degrees(angle: float) -> tuple[float, float]:
    """Returns cosine and sine of an angle in degrees, exact at multiples of 90."""
    quarter = angle / 90.0
    if quarter == round(quarter):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[int(quarter) % 4]
    return math.cos(math.radians(angle)), math.sin(math.radians(angle))


@on_array_device
@documented
def rotate(
    input: ArrayLike, angle: float, axes: Any = (1, 0), reshape: bool = True, output: Output = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> ndarray:  # fmt: skip
    """Rotates an array in the plane of two axes.

    Parameters
    ----------
    input : array_like
        An array of any dtype.
    angle : float
        The angle in degrees.
    axes : int or tuple of ints, default (1, 0)
        The two axes of the plane.
    reshape : bool, default True
        Whether to enlarge the result to contain the whole rotated array.
    output : dtype or ndarray, optional
        The result's dtype (the input's by default), or an array for the result. Integers are rounded.
    mode : str, default "constant"
        The extension beyond the edges: "constant", "grid-constant", "nearest", "mirror", "reflect", "grid-mirror",
        "wrap" or "grid-wrap".
    cval : scalar, default 0.0
        The value beyond the edges for "constant" and "grid-constant".

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        For arrays with fewer than two axes, and invalid planes.

    See Also
    --------
    scipy.ndimage.zoom, scipy.ndimage.shift, scipy.ndimage.affine_transform, scipy.ndimage.map_coordinates

    Examples
    --------
    >>> cp.scipy.ndimage.rotate(cp.asarray([[1.0, 2.0], [3.0, 4.0]]), 90, order=1).round(6)
    array([[2., 4.],
           [1., 3.]])
    """
    a = source(input)
    if a.ndim < 2:
        raise ValueError("input array should be at least 2D")
    plane = list(axes)
    if len(plane) != 2:
        raise ValueError("axes should contain exactly two values")
    if not all(float(axis).is_integer() for axis in plane):
        raise ValueError("axes should contain only integer values")
    plane = sorted(axis + a.ndim if axis < 0 else axis for axis in plane)
    if plane[0] < 0 or plane[1] >= a.ndim:
        raise ValueError("invalid rotation plane specified")
    _check(a, order, a.ndim)
    c, s = _degrees(float(angle))
    rows = ((c, s), (-s, c))
    ny, nx = (a.shape[axis] for axis in plane)
    extents = [ny, nx]
    if reshape:
        corners = [[r[0] * y + r[1] * x for y, x in ((0, 0), (0, nx), (ny, 0), (ny, nx))] for r in rows]
        extents = [int(max(v) - min(v) + 0.5) for v in corners]
    center = [(n - 1) / 2 for n in extents]
    shape = list(a.shape)
    for axis, n in zip(plane, extents, strict=True):
        shape[axis] = n
    coords: Coordinates = [None] * a.ndim
    for axis, row, n in zip(plane, rows, (ny, nx), strict=True):
        offset = (n - 1) / 2 - (row[0] * center[0] + row[1] * center[1])
        coords[axis] = _combined(tuple(shape), list(row), offset, (plane[0], plane[1]))
    return _transformed(a, coords, tuple(shape), output, order, mode, cval, prefilter)
