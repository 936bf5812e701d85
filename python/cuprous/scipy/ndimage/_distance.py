"""Distances to the nearest zero, computed one axis after another.

Along an axis, each element takes the minimum, over the elements of its line, of their distances by the previous axes
joined with the number of steps to them. That is exact for each of the three metrics (P. Felzenszwalb and D.
Huttenlocher, Theory of Computing 8 (2012), for squares). Longer steps are tried as long as they could still reduce the
greatest distance, so the work grows with it, and the device is waited for occasionally. If indices are requested, the
number of the nearest zero is carried along, in an order in which the minimum of equally near ones is SciPy's choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common.casting import astype
from cuprous._common.convert import c_strides
from cuprous._common.masks import split_index
from cuprous._common.operands import is_numpy_array, on_array_device, unsupported
from cuprous._functions.joining import stack
from cuprous.scipy.ndimage._structures import host, neighbors
from cuprous.scipy.ndimage._support import ArrayLike, ndarray, per_axis, source

_INF = float("inf")
#: The number of steps between two checks of the greatest distance: at first, and at most.
_FEW, _MANY = 8, 32
#: How the distance along an axis is joined with the distance by the previous axes.
_JOIN: dict[str, Callable[[Any, float], ndarray]] = {
    "euclidean": lambda far, steps: far + steps * steps,
    "taxicab": lambda far, steps: far + steps,
    "chessboard": lambda far, steps: _core.map("maximum", far, steps),
}
_NAMES = {"euclidean": "euclidean", "chessboard": "chessboard"} | dict.fromkeys(
    ("taxicab", "cityblock", "manhattan"), "taxicab"
)
#: Distances, and the numbers of the nearest zeros.
Found = tuple[ndarray, "ndarray | None"]


def _numbers(shape: tuple[int, ...], count: str) -> ndarray:
    """Numbers the elements in C order ("rows"), in Fortran order ("columns"), or in reversed C order ("back")."""
    strides, first = c_strides(shape), 0
    if count == "columns":
        strides = c_strides(shape[::-1])[::-1]
    elif count == "back":
        strides, first = tuple(-s for s in strides), math.prod(shape) - 1
    return _core.cast(_core.iota(shape, strides, first), "int32" if math.prod(shape) < 2**31 else "int64")


def _coordinates(near: ndarray, count: str) -> ndarray:
    """Returns the coordinates of the elements with these numbers, in int32, one row for each axis."""
    shape = near.shape
    if not shape:
        return _core.empty((0,), "int32")
    wide = _core.cast(near, "int64")
    if count == "columns":
        coordinates = split_index(wide, shape[::-1])[::-1]
    else:
        coordinates = split_index(near.size - 1 - wide if count == "back" else wide, shape)
    return stack([_core.cast(index, "int32") for index in coordinates])


def _distances(a: ndarray, metric: str, sampling: Any, count: str | None) -> Found:
    """Returns distances in float64, squared for the Euclidean metric, and with `count` the nearest zeros' numbers.
    Without any zero, the distance is inf and the number an element's own."""
    join = _JOIN[metric]
    scale = [1.0] * a.ndim if sampling is None else [float(s) for s in per_axis(sampling, a.ndim)]
    far = _core.map("where", a != 0, _INF, _core.full((), 0.0, "float64"))
    near = None if count is None else _numbers(a.shape, count)
    if a.size:
        for axis, s in enumerate(scale):
            far, near = _along(far, near, axis, s, join)
    return far, near


def _along(far: ndarray, near: ndarray | None, axis: int, scale: float, join: Callable[[Any, float], ndarray]) -> Found:
    n = far.shape[axis]
    result, index, reach = far, near, 0
    while reach < n - 1 and _can_improve(result, _least(join, (reach + 1) * scale), index is not None):
        last = min(n - 1, reach + _MANY, max(2 * reach, _FEW))
        around = [last if i == axis else 0 for i in range(far.ndim)]
        padded = _core.pad(far, around, around, "constant", _INF)
        padded_near = None if near is None else _core.pad(near, around, around, "constant", 0.0)
        stride = padded.element_strides
        for k in range(reach + 1, last + 1):
            for start in (last - k, last + k):
                offset = start * stride[axis]
                other = join(_core.as_strided(padded, far.shape, stride, offset), k * scale)
                if padded_near is not None and index is not None:
                    zero = _core.as_strided(padded_near, far.shape, stride, offset)
                    tie = _core.map("logical_and", other == result, other < _INF)
                    wins = _core.map("logical_or", other < result, _core.map("logical_and", tie, zero < index))
                    index = _core.map("where", wins, zero, index)
                result = _core.map("minimum", result, other)
        reach = last
    return result, index


def _can_improve(result: ndarray, least: float, ties: bool) -> bool:
    """Returns true if a step of this length could still change something; with ties, also by a zero with another
    number."""
    greatest = float(_core.reduce("max", result, None))
    return greatest >= least if ties else greatest > least


def _least(join: Callable[[Any, float], ndarray], steps: float) -> float:
    return float(join(_core.full((), 0.0, "float64"), steps))


def _check(
    distances: Any, dtype: str, shape: tuple[int, ...], return_distances: bool, return_indices: bool, indices: Any,
    error: type[Exception],
) -> None:  # fmt: skip
    """Checks the arguments that the three functions have in common."""
    for output in (distances, indices):
        if is_numpy_array(output):
            raise unsupported(output)
    wrong = (
        [] if return_distances or return_indices else ["at least one of return_distances/return_indices must be True"]
    )
    if isinstance(distances, ndarray) and not return_distances:
        wrong.append("return_distances must be True if distances is supplied")
    if isinstance(indices, ndarray) and not return_indices:
        wrong.append("return_indices must be True if indices is supplied")
    if wrong:
        raise RuntimeError(", ".join(wrong))
    outputs = (("distances", distances, dtype, shape), ("indices", indices, "int32", (len(shape), *shape)))
    for name, out, wanted, extents in outputs:
        if isinstance(out, ndarray):
            if out.shape != extents:
                raise error(f"{name} array has wrong shape")
            if out.dtype_name != wanted:
                raise error(f"{name} array must be {wanted}")


def _requested(
    far: ndarray, near: ndarray | None, count: str | None, wanted: bool, distances: Any, indices: Any
) -> Any:
    """Returns the requested results for which the caller passed no array: one array, a pair or None."""
    results = [(far, distances)] if wanted else []
    if near is not None and count is not None:
        results.append((_coordinates(near, count), indices))
    left = []
    for result, out in results:
        if isinstance(out, ndarray):
            _core.update(out, result)
        else:
            left.append(result)
    return tuple(left) if len(left) == 2 else left[0] if left else None


@on_array_device
def distance_transform_edt(
    input: ArrayLike, sampling: Any = None, return_distances: bool = True, return_indices: bool = False,
    distances: Any = None, indices: Any = None, *, block_params: Any = None, float64_distances: bool = True,
) -> Any:  # fmt: skip
    """Returns the Euclidean distance of each element to the nearest zero; inf if there is no zero.

    Parameters
    ----------
    input : array_like
        A real array of any shape; a 0-d array counts as an array with one element.
    sampling : float or sequence of floats, optional
        The distances between elements, one for all axes or one for each.
    return_distances : bool, default True
        Whether to return the distances.
    return_indices : bool, default False
        Whether to return the coordinates of the nearest zero, in int32, one row for each axis; an element's own
        coordinates if there is no zero.
    distances : array_like, optional
        An array of the distances' dtype that receives them; they are then not returned.
    indices : array_like, optional
        An int32 array that receives the coordinates, which are then not returned.
    block_params : tuple of ints, optional
        For CuPy's signature, in which it sets the blocks of a kernel; it has no effect.
    float64_distances : bool, default True
        Whether distances are float64; otherwise they are float32.

    Returns
    -------
    ndarray
        The distances, the coordinates, a pair of both, or None, depending on what was requested.

    Raises
    ------
    RuntimeError
        For `distances` or `indices` of the wrong shape or dtype, or if nothing is requested.

    See Also
    --------
    scipy.ndimage.distance_transform_cdt, scipy.ndimage.distance_transform_bf

    Examples
    --------
    >>> cp.scipy.ndimage.distance_transform_edt(cp.asarray([[0, 1, 1], [1, 1, 1]]))
    array([[0.        , 1.        , 2.        ],
           [1.        , 1.41421356, 2.23606798]])
    """
    a = source(input)
    a = a.reshape([1]) if a.ndim == 0 else a
    dtype = "float64" if float64_distances else "float32"
    _check(distances, dtype, a.shape, return_distances, return_indices, indices, RuntimeError)
    count = "columns" if return_indices else None
    far, near = _distances(a, "euclidean", sampling, count)
    return _requested(astype(_core.map("sqrt", far), dtype), near, count, return_distances, distances, indices)


@on_array_device
def distance_transform_cdt(
    input: ArrayLike, metric: Any = "chessboard", return_distances: bool = True, return_indices: bool = False,
    distances: Any = None, indices: Any = None,
) -> Any:  # fmt: skip
    """Returns the least number of steps from each element to a zero, in int32; -1 if there is no zero.

    Parameters
    ----------
    input : array_like
        A real array of any shape.
    metric : str, default "chessboard"
        "chessboard" (with diagonal steps), "taxicab" or its synonyms "cityblock" and "manhattan", or the corresponding
        structure from `generate_binary_structure`.
    return_distances : bool, default True
        Whether to return the distances.
    return_indices : bool, default False
        Whether to return the coordinates of a nearest zero, as `distance_transform_edt` does.
    distances : array_like, optional
        An int32 array that receives the distances, which are then not returned.
    indices : array_like, optional
        An int32 array that receives the coordinates, which are then not returned.

    Returns
    -------
    ndarray
        The distances, the coordinates, a pair of both, or None, depending on what was requested.

    Raises
    ------
    ValueError
        For an unknown metric, and for `distances` or `indices` of the wrong shape or dtype.
    RuntimeError
        If nothing is requested.
    NotImplementedError
        For other structures.

    See Also
    --------
    distance_transform_edt, distance_transform_bf

    Examples
    --------
    >>> cp.scipy.ndimage.distance_transform_cdt(cp.asarray([0, 1, 1, 1]))
    array([0, 1, 2, 3], dtype=int32)
    """
    a = source(input)
    if isinstance(metric, str):
        if metric not in _NAMES or metric == "euclidean":
            raise ValueError("invalid metric provided")
        metric = _NAMES[metric]
    else:
        structure = host(metric, bool)
        if any(n != 3 for n in structure.shape):
            raise ValueError("metric sizes must be equal to 3")
        known = {"taxicab": neighbors(a.ndim, 1), "chessboard": neighbors(a.ndim, a.ndim)}
        equal = [m for m, s in known.items() if s.shape == structure.shape and (s == structure).all()]
        if not equal:
            raise NotImplementedError("[distance_transform_cdt] metric= of another structure is not supported")
        metric = equal[0]
    _check(distances, "int32", a.shape, return_distances, return_indices, indices, ValueError)
    count = "rows" if return_indices else None
    far, near = _distances(a, metric, None, count)
    steps = _core.cast(_core.map("where", far == _INF, -1.0, far), "int32")
    return _requested(steps, near, count, return_distances, distances, indices)


@on_array_device
def distance_transform_bf(
    input: ArrayLike, metric: str = "euclidean", sampling: Any = None, return_distances: bool = True,
    return_indices: bool = False, distances: Any = None, indices: Any = None,
) -> Any:  # fmt: skip
    """Computes the distance of each element to the nearest zero: `distance_transform_edt` (float64) for "euclidean", or
    steps (uint32) for "taxicab" and "chessboard".

    Parameters
    ----------
    input : array_like
        A real array of any shape.
    metric : {"euclidean", "taxicab", "cityblock", "manhattan", "chessboard"}, default "euclidean"
        "euclidean", "taxicab" (or "cityblock", "manhattan") or "chessboard".
    sampling : float or sequence of floats, optional
        The distances between elements, one for all axes or one for each.
    return_distances : bool, default True
        Whether to return the distances.
    return_indices : bool, default False
        Whether to return the coordinates of the nearest zero.
    distances : array_like, optional
        An array that receives the distances, which are then not returned.
    indices : array_like, optional
        An int32 array that receives the coordinates, which are then not returned.

    Returns
    -------
    ndarray
        The distances, the coordinates, a pair of both, or None, depending on what was requested.

    Raises
    ------
    RuntimeError
        For an unknown metric, for `distances` or `indices` of the wrong shape or dtype, or if nothing is requested.
    NotImplementedError
        For `sampling` with metrics that count steps.

    See Also
    --------
    distance_transform_cdt, distance_transform_edt

    Examples
    --------
    >>> cp.scipy.ndimage.distance_transform_bf(cp.asarray([0, 1, 1, 1]), metric="taxicab")
    array([0, 1, 2, 3], dtype=uint32)
    """
    a = source(input)
    if metric.lower() not in _NAMES:
        raise RuntimeError("distance metric not supported")
    known = _NAMES[metric.lower()]
    dtype = "float64" if known == "euclidean" else "uint32"
    _check(distances, dtype, a.shape, return_distances, return_indices, indices, RuntimeError)
    if known != "euclidean" and sampling is not None:
        raise NotImplementedError(f"[distance_transform_bf] sampling= with metric={metric!r} is not supported")
    count = "back" if return_indices else None
    far, near = _distances(a, known, sampling, count)
    if known == "euclidean":
        result = _core.map("sqrt", far)
    else:
        result = _core.cast(_core.map("where", far == _INF, float(2**32 - 1), far), "uint32")
    return _requested(result, near, count, return_distances, distances, indices)
