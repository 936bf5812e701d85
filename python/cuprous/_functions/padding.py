"""`pad`: extends an array at its edges."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, along, ndarray
from cuprous._common.arguments import array as as_array
from cuprous._common.casting import astype
from cuprous._common.layout import axis_order, empty_in_order
from cuprous._common.operands import is_scalar, on_array_device
from cuprous._functions import moments, reductions
from cuprous._functions.quantiles import median
from cuprous._functions.ranges import linspace

#: The engine's edge mode for each mode of NumPy's.
_EDGES = {"edge": "nearest", "symmetric": "reflect", "reflect": "mirror", "wrap": "wrap"}
_REDUCTIONS: dict[str, Callable[..., ndarray]] = {"maximum": reductions.max, "minimum": reductions.min}
_ARGUMENTS = {
    "constant": "constant_values", "linear_ramp": "end_values", "maximum": "stat_length", "minimum": "stat_length",
    "mean": "stat_length", "median": "stat_length", "reflect": "reflect_type", "symmetric": "reflect_type",
}  # fmt: skip


def _pairs(value: Any, ndim: int, convert: Any) -> list[tuple[Any, Any]]:
    """Returns `value` as a (before, after) pair per axis, broadcast as in NumPy."""
    if isinstance(value, dict):
        pairs: list[tuple[Any, Any]] = [(0, 0)] * ndim
        for axis, width in value.items():
            pairs[axis] = _pairs(width, 1, convert)[0]
        return pairs
    items = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(items, (tuple, list)):
        return [(convert(items), convert(items))] * ndim
    items = list(items)
    if any(isinstance(x, (tuple, list)) for p in items if isinstance(p, (tuple, list)) for x in p):
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    if items and not isinstance(items[0], (tuple, list)):
        items = [items * 2 if len(items) == 1 else items]
    pairs = [(convert(p[0]), convert(p[-1])) for p in items]
    if len(pairs) == 1:
        pairs *= ndim
    if len(pairs) != ndim or any(len(p) > 2 for p in items):
        raise ValueError(f"operands could not be broadcast together with remapped shapes: {value!r} for {ndim} axes")
    return pairs


def _width(value: Any) -> int:
    try:
        width = operator.index(value)
    except TypeError:
        raise TypeError("`pad_width` must be of integral type.") from None
    if width < 0:
        raise ValueError("index can't contain negative values")
    return width


@on_array_device
def pad(array: ArrayLike, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> ndarray:
    """Extends an array at its edges.

    Parameters
    ----------
    array : array_like
        The array.
    pad_width : int, sequence or dict
        The number of elements to add before and after, for all axes or per axis.
    mode : str or callable, default "constant"
        "constant", "edge", "symmetric", "reflect", "wrap", "linear_ramp", "maximum", "minimum", "mean", "median",
        "empty", or a function as in NumPy.
    **kwargs : any
        `constant_values`, `end_values`, `stat_length` or `reflect_type`, depending on the mode.

    Returns
    -------
    ndarray
        An array of the dtype of `array`, longer by the widths along each axis.

    Raises
    ------
    ValueError
        For negative widths, unknown modes, and arguments that the mode does not support.

    See Also
    --------
    concatenate, tile

    Examples
    --------
    >>> cp.pad([1, 2, 3], (2, 1))
    array([0, 0, 1, 2, 3, 0])
    >>> cp.pad([1, 2, 3], 2, mode="reflect")
    array([3, 2, 1, 2, 3, 2, 1])
    >>> cp.pad([[1, 2], [3, 4]], ((0, 1), (1, 0)), constant_values=9)
    array([[9, 1, 2],
           [9, 3, 4],
           [9, 9, 9]])
    """
    a = as_array(array)
    widths = _pairs(pad_width, a.ndim, _width)
    if callable(mode):
        return _by_function(a, widths, mode, kwargs)
    if mode not in (*_EDGES, *_ARGUMENTS, "empty"):
        raise ValueError(f"mode '{mode}' is not supported")
    extra = kwargs.keys() - {_ARGUMENTS.get(mode)}
    if extra:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {extra}")
    if mode not in ("constant", "empty"):
        for i, (n, pair) in enumerate(zip(a.shape, widths, strict=True)):
            if n == 0 and any(pair):
                raise ValueError(f"can't extend empty axis {i} using modes other than 'constant' or 'empty'")
    if kwargs.get("reflect_type", "even") == "odd":
        return _reflect_odd(a, widths, mode == "symmetric")
    if mode in _EDGES:
        if a.size == 0:
            return _frame(a, widths)[0]
        if axis_order(a, "A") is not None:  # the engine pads to C order
            return _core.without_base(pad(a.T, widths[::-1], mode).T)
        return _core.pad(a, [w[0] for w in widths], [w[1] for w in widths], _EDGES[mode], 0.0)
    result, center = _frame(a, widths)
    if mode == "constant":
        _constant(result, widths, kwargs.get("constant_values", 0))
        _core.update(result[center], a)
    elif mode != "empty":
        _axis_by_axis(result, widths, mode, kwargs)
    return result


def _frame(a: ndarray, widths: list[tuple[int, int]]) -> tuple[ndarray, tuple[Any, ...]]:
    """Returns a new array of the padded shape that holds `a`, and the slices where `a` is."""
    shape = [b + n + c for n, (b, c) in zip(a.shape, widths, strict=True)]
    result = empty_in_order(shape, a.dtype_name, axis_order(a, "A"))
    _core.update(result, 0)
    center = (*(slice(b, b + n) for n, (b, _) in zip(a.shape, widths, strict=True)), ...)
    if a.size:
        _core.update(result[center], a)
    return result, center


def _constant(result: ndarray, widths: list[tuple[int, int]], values: Any) -> None:
    pairs = _pairs(values, len(widths), lambda v: v)
    if len({value for pair in pairs for value in pair}) == 1:
        _core.update(result, _value(pairs[0][0], result))
        return
    for i, ((before, after), (first, last)) in enumerate(zip(widths, pairs, strict=True)):
        if before:
            _core.update(result[along(i, 0, before)], _value(first, result))
        if after:
            _core.update(result[along(i, result.shape[i] - after)], _value(last, result))


def _value(value: Any, like: ndarray) -> Any:
    """Casts a number to the dtype of `like`, as NumPy does."""
    return _core.full((), value, like.dtype_name) if is_scalar(value) else value


def _axis_by_axis(result: ndarray, widths: list[tuple[int, int]], mode: str, kwargs: dict[str, Any]) -> None:
    ends = _pairs(kwargs.get("end_values", 0), result.ndim, lambda v: v)
    lengths = _pairs(kwargs.get("stat_length"), result.ndim, lambda v: v)
    if any(length is not None and length < 0 for pair in lengths for length in pair):
        raise ValueError("index can't contain negative values")
    if mode in ("maximum", "minimum") and any(0 in pair for pair in lengths):
        raise ValueError("stat_length of 0 yields no value for padding")
    for i, (before, after) in enumerate(widths):
        front = (slice(None),) * i
        n = result.shape[i] - before - after
        first, last = (n if length is None else min(n, length) for length in lengths[i])
        sides = (
            (slice(0, before), slice(before, before + first), before, ends[i][0], before),
            (slice(before + n, None), slice(before + n - last, before + n), before + n - 1,
             ends[i][1], after),
        )  # fmt: skip
        values: list[ndarray | None] = []
        for _, window, edge, end, count in sides:
            if not count:
                values.append(None)
            elif mode == "linear_ramp":
                values.append(_ramp(result[(*front, slice(edge, edge + 1))], end, count, i))
            else:
                values.append(_statistic(result[(*front, window)], mode, i))
        for (target, *_), value, reverse in zip(sides, values, (False, True), strict=True):
            if value is None:
                continue
            if mode == "linear_ramp" and reverse:
                value = value[(*front, slice(None, None, -1))]
            _core.update(result[(*front, target)], value)


def _statistic(window: ndarray, mode: str, axis: int) -> ndarray:
    if mode in _REDUCTIONS:
        return _REDUCTIONS[mode](window, axis, keepdims=True)
    value = (moments.mean if mode == "mean" else median)(window, axis, keepdims=True)

    if dtypes.kind(window.dtype_name) in "iu":
        value = _core.map("rint", value)
    return astype(value, window.dtype_name)


def _ramp(edge: ndarray, end: Any, count: int, axis: int) -> ndarray:
    """Returns `count` values from `end` to the edge, without the edge itself."""
    name = edge.dtype_name
    start = _core.broadcast_to(_core.full((), end, name), edge.shape[:axis] + edge.shape[axis + 1 :])
    return linspace(start, edge.reshape(start.shape), count, endpoint=False, dtype=name, axis=axis)


def _reflect_odd(a: ndarray, widths: list[tuple[int, int]], with_edge: bool) -> ndarray:
    """Pads with twice the edge minus the reflection, repeatedly if the padding is longer than the axis."""
    result = _frame(a, widths)[0]
    for i, (left, right) in enumerate(widths):
        lanes = result.transpose((i, *(j for j in range(a.ndim) if j != i)))  # moves the axis to the front
        n = a.shape[i]
        if n == 1:  # as NumPy, repeats the edge if there is nothing to reflect
            _core.update(lanes, lanes[left : left + 1].copy())
            continue
        while left or right:
            length = lanes.shape[0] - left - right
            # The length of whole periods of the elements so far. Without `with_edge` the edge itself is not reflected.
            period_length = length // n * n if with_edge else (length - 1) // (n - 1) * (n - 1)
            skip = 0 if with_edge else 1
            before, after = min(period_length, left), min(period_length, right)
            stop = lanes.shape[0] - right
            if before:
                chunk = lanes[left + skip : left + skip + before][::-1]
                _core.update(lanes[left - before : left], 2 * lanes[left : left + 1] - chunk)
                left -= before
            if after:
                chunk = lanes[stop - skip - after : stop - skip][::-1]
                _core.update(lanes[stop : stop + after], 2 * lanes[stop - 1 : stop] - chunk)
                right -= after
    return result


def _by_function(a: ndarray, widths: list[tuple[int, int]], function: Any, kwargs: dict[str, Any]) -> ndarray:
    import itertools

    result = _frame(a, widths)[0]
    for i, width in enumerate(widths):
        others = [range(n) if j != i else [slice(None)] for j, n in enumerate(result.shape)]
        for index in itertools.product(*others):
            function(result[index], width, i, kwargs)
    return result


__all__ = ["pad"]
