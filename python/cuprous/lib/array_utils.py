"""NumPy's `lib.array_utils`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cuprous import _core
from cuprous._common.arguments import normalize_axis
from cuprous._common.pointers import MemoryPointer


def byte_bounds(a: Any) -> tuple[int, int]:
    """
    Returns the addresses of an array's first byte and of the byte after its last one.

    Parameters
    ----------
    a : ndarray
        An array, which may be a view with any strides.

    Returns
    -------
    (low, high) : tuple of int
        All elements lie in the half-open range from `low` to `high`.

    See Also
    --------
    shares_memory, may_share_memory

    Examples
    --------
    >>> low, high = cp.lib.array_utils.byte_bounds(cp.ones((2, 3), dtype="float32"))
    >>> high - low
    24
    """
    if not isinstance(a, _core.ndarray):
        raise TypeError(f"byte_bounds takes an array, not {type(a).__name__}")
    low = high = int(MemoryPointer(a).ptr)
    for length, stride in zip(a.shape, a.strides, strict=True):
        if length == 0:
            return low, low
        extent = (length - 1) * stride
        low, high = (low + extent, high) if extent < 0 else (low, high + extent)
    return low, high + a.itemsize


def normalize_axis_index(axis: int, ndim: int, msg_prefix: str | None = None) -> int:
    """
    Returns an axis of an array of `ndim` dimensions, counted from the front.

    Parameters
    ----------
    axis : int
        The axis; a negative one counts from the end.
    ndim : int
        Number of dimensions.
    msg_prefix : str, optional
        What the error's message begins with.

    Returns
    -------
    int
        The axis, from 0 to `ndim - 1`.

    Raises
    ------
    AxisError
        If the array has no such axis.

    See Also
    --------
    lib.array_utils.normalize_axis_tuple

    Examples
    --------
    >>> array_utils.normalize_axis_index(-1, 3)
    2
    """
    return normalize_axis(axis, ndim, msg_prefix)


def normalize_axis_tuple(
    axis: Any, ndim: int, argname: str | None = None, allow_duplicate: bool = False
) -> tuple[int, ...]:
    """
    Returns several axes, counted from the front.

    Parameters
    ----------
    axis : int or iterable of int
        The axes.
    ndim : int
        Number of dimensions.
    argname : str, optional
        The argument's name, for the error's message.
    allow_duplicate : bool, default False
        If true, an axis may be repeated.

    Returns
    -------
    tuple of int
        The axes, each from 0 to `ndim - 1`.

    Raises
    ------
    AxisError
        If the array has no such axis.
    ValueError
        If an axis is repeated.

    See Also
    --------
    lib.array_utils.normalize_axis_index

    Examples
    --------
    >>> array_utils.normalize_axis_tuple((0, -1), 3)
    (0, 2)
    """
    axes = axis if isinstance(axis, Iterable) else (axis,)
    found = tuple(normalize_axis(a, ndim, argname) for a in axes)
    if not allow_duplicate and len(set(found)) < len(found):
        raise ValueError(f"repeated axis in `{argname}` argument" if argname else "repeated axis")
    return found


__all__ = ["byte_bounds", "normalize_axis_index", "normalize_axis_tuple"]
