"""Distances to the nearest zero, one axis after the other.

Along an axis each element takes, over the elements of its line, the least of "how far that one is from a zero by the
axes before" combined with the steps to it; that is exact for each of the three metrics (P. Felzenszwalb and
D. Huttenlocher, Theory of Computing 8 (2012), for squares). Steps are taken as long as one that is still to come could
shorten the greatest distance: the work grows with it, and the device is waited for now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._args import is_numpy_array, unsupported
from cuprous.scipy.ndimage._structures import host, neighbours
from cuprous.scipy.ndimage._support import ArrayLike, ndarray, per_axis, source

_INF = float("inf")
#: Steps that are taken between two looks at the greatest distance: at first, and at most.
_FEW, _MANY = 8, 32
#: How steps along an axis join the distance by the axes before.
_JOIN: dict[str, Callable[[Any, float], ndarray]] = {
    "euclidean": lambda far, steps: far + steps * steps,
    "taxicab": lambda far, steps: far + steps,
    "chessboard": lambda far, steps: _core.map("maximum", far, steps),
}
_NAMES = {"euclidean": "euclidean", "chessboard": "chessboard"} | dict.fromkeys(
    ("taxicab", "cityblock", "manhattan"), "taxicab"
)


def _distances(input: ArrayLike, metric: str, sampling: Any) -> ndarray:
    """float64, squared for the Euclidean metric; inf where there is no zero."""
    a = source(input)
    join = _JOIN[metric]
    scale = [1.0] * a.ndim if sampling is None else [float(s) for s in per_axis(sampling, a.ndim)]
    far = _core.map("where", a != 0, _INF, _core.full((), 0.0, "float64"))
    if a.size == 0:
        return far
    for axis, s in enumerate(scale):
        far = _along(far, axis, s, join)
    return far


def _along(far: ndarray, axis: int, scale: float, join: Callable[[Any, float], ndarray]) -> ndarray:
    n = far.shape[axis]
    result, reach = far, 0
    while reach < n - 1 and float(_core.reduce("max", result, None)) > _least(join, (reach + 1) * scale):
        last = min(n - 1, reach + _MANY, max(2 * reach, _FEW))
        around = [last if i == axis else 0 for i in range(far.ndim)]
        padded = _core.pad(far, around, around, "constant", _INF)
        stride = padded.element_strides
        for k in range(reach + 1, last + 1):
            for start in (last - k, last + k):
                view = _core.as_strided(padded, far.shape, stride, start * stride[axis])
                result = _core.map("minimum", result, join(view, k * scale))
        reach = last
    return result


def _least(join: Callable[[Any, float], ndarray], steps: float) -> float:
    return float(join(_core.full((), 0.0, "float64"), steps))


def _answer(
    name: str, distances: Any, dtype: str, shape: tuple[int, ...], return_distances: bool, return_indices: bool,
    indices: Any, error: type[Exception],
) -> None:  # fmt: skip
    """Checks the arguments that the three functions share."""
    if is_numpy_array(distances):
        raise unsupported(distances)
    wrong = (
        [] if return_distances or return_indices else ["at least one of return_distances/return_indices must be True"]
    )
    if isinstance(distances, ndarray) and not return_distances:
        wrong.append("return_distances must be True if distances is supplied")
    if wrong:
        raise RuntimeError(", ".join(wrong))
    if return_indices or indices is not None:
        raise NotImplementedError(f"[{name}] return_indices=True and indices= are not supported")
    if isinstance(distances, ndarray):
        if distances.shape != shape:
            raise error("distances array has wrong shape")
        if distances.dtype_name != dtype:
            raise error(f"distances array must be {dtype}")


def _delivered(result: ndarray, distances: Any) -> ndarray | None:
    if isinstance(distances, ndarray):
        _core.update(distances, result)
        return None
    return result


def distance_transform_edt(
    input: ArrayLike, sampling: Any = None, return_distances: bool = True, return_indices: bool = False,
    distances: Any = None, indices: Any = None,
) -> ndarray | None:  # fmt: skip
    """The Euclidean distance of each element to the nearest zero, in float64; inf where there is none.

    Args:
        input: real array of any shape; a 0-d array counts as one of one element.
        sampling: lengths of the steps along the axes, one or per axis.
        return_distances: must be true, as indices are not supported.
        return_indices: not supported.
        distances: float64 array that receives the result; None is returned then.
        indices: not supported.

    Raises:
        RuntimeError: for `distances` of the wrong shape or dtype.
        NotImplementedError: for `return_indices` and `indices`.
    """
    a = source(input)
    a = a.reshape([1]) if a.ndim == 0 else a
    _answer("distance_transform_edt", distances, "float64", a.shape, return_distances, return_indices, indices,
            RuntimeError)  # fmt: skip
    return _delivered(_core.map("sqrt", _distances(a, "euclidean", sampling)), distances)


def distance_transform_cdt(
    input: ArrayLike, metric: Any = "chessboard", return_distances: bool = True, return_indices: bool = False,
    distances: Any = None, indices: Any = None,
) -> ndarray | None:  # fmt: skip
    """The least number of steps from each element to a zero, in int32; -1 where there is none.

    Args:
        input: real array of any shape.
        metric: "chessboard" (diagonal steps too), "taxicab" or its names "cityblock" and "manhattan", or the structure
            that `generate_binary_structure` makes for one of them.
        return_distances: must be true, as indices are not supported.
        return_indices: not supported.
        distances: int32 array that receives the result; None is returned then.
        indices: not supported.

    Raises:
        ValueError: for an unknown metric, and for `distances` of the wrong shape or dtype.
        NotImplementedError: for `return_indices`, `indices`, and other structures.
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
        known = {"taxicab": neighbours(a.ndim, 1), "chessboard": neighbours(a.ndim, a.ndim)}
        equal = [m for m, s in known.items() if s.shape == structure.shape and (s == structure).all()]
        if not equal:
            raise NotImplementedError("[distance_transform_cdt] metric= of another structure is not supported")
        metric = equal[0]
    _answer("distance_transform_cdt", distances, "int32", a.shape, return_distances, return_indices, indices,
            ValueError)  # fmt: skip
    far = _distances(a, metric, None)
    return _delivered(_core.cast(_core.map("where", far == _INF, -1.0, far), "int32"), distances)


def distance_transform_bf(
    input: ArrayLike, metric: str = "euclidean", sampling: Any = None, return_distances: bool = True,
    return_indices: bool = False, distances: Any = None, indices: Any = None,
) -> ndarray | None:  # fmt: skip
    """As `distance_transform_edt` (float64) for "euclidean"; steps in uint32 for "taxicab" and "chessboard".

    Raises:
        RuntimeError: for an unknown metric, and for `distances` of the wrong shape or dtype.
        NotImplementedError: for `return_indices` and `indices`, and `sampling` with metrics that count steps.
    """
    a = source(input)
    if metric.lower() not in _NAMES:
        raise RuntimeError("distance metric not supported")
    known = _NAMES[metric.lower()]
    dtype = "float64" if known == "euclidean" else "uint32"
    _answer("distance_transform_bf", distances, dtype, a.shape, return_distances, return_indices, indices, RuntimeError)
    if known == "euclidean":
        return _delivered(_core.map("sqrt", _distances(a, known, sampling)), distances)
    if sampling is not None:
        raise NotImplementedError(f"[distance_transform_bf] sampling= with metric={metric!r} is not supported")
    far = _distances(a, known, None)
    most = float(2**32 - 1)
    return _delivered(_core.cast(_core.map("where", far == _INF, most, far), "uint32"), distances)
