"""Memory order: the order of an array's axes in memory, and new arrays with a given order."""

from __future__ import annotations

from collections.abc import Sequence

from cuprous import _core
from cuprous._common.casting import warn_of_lost_parts
from cuprous._core import ndarray

#: The largest number of axes of an array.
MAX_NDIM = 64


def order_letter(order: str | None, allowed: str = "CFAK", default: str = "K") -> str:
    """Returns a memory order in upper case; None means the default."""
    if order is None:
        return default
    if not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    letter = order.upper()
    if len(letter) != 1 or letter not in allowed:
        raise ValueError(f"order must be one of {', '.join(repr(o) for o in allowed)} (got {order!r})")
    return letter


def axis_order(a: ndarray, order: str) -> tuple[int, ...] | None:
    """Returns the axes of `a` in a memory order, from the slowest to the fastest; None for C order."""
    if order == "C" or (order in "AK" and a.is_c_contiguous):
        return None
    if order == "F" or (order == "A" and a.is_f_contiguous):
        return tuple(range(a.ndim - 1, -1, -1))
    if order == "A":
        return None
    strides = a.element_strides
    axes = tuple(sorted(range(a.ndim), key=lambda i: -abs(strides[i])))
    return None if axes == tuple(range(a.ndim)) else axes


def inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the inverse of a permutation."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def with_order(a: ndarray, order: str | None, fresh: bool = False) -> ndarray:
    """Returns `a` in memory order "C" or "F", copied if needed or if `fresh`; "A" and "K" keep any order."""
    letter = order_letter(order)
    if not fresh and (letter in "AK" or (letter == "C" and a.is_c_contiguous) or (letter == "F" and a.is_f_contiguous)):
        return a
    return a.copy(letter)


def cast_in_order(a: ndarray, dtype: str, order: str | None) -> ndarray:
    """Returns a cast copy in a memory order; "A" and "K" refer to the order of the array before the cast."""
    letter = order_letter(order)
    warn_of_lost_parts(a.dtype_name, dtype)
    return with_order(_core.cast(a, dtype), fortran_or_c(a) if letter == "A" else letter)


def fortran_or_c(*arrays: ndarray) -> str:
    """Returns the meaning of order "A": "F" if all arrays are Fortran-contiguous and not all C-contiguous as well,
    otherwise "C"."""
    fortran = all(a.is_f_contiguous for a in arrays) and not all(a.is_c_contiguous for a in arrays)
    return "F" if fortran else "C"


def joint_order(arrays: Sequence[ndarray]) -> tuple[int, ...] | None:
    """Returns the axes in the common memory order of several arrays, from the slowest to the fastest.

    Axes on which the arrays disagree are in C order. Returns None for C order. (NumPy's
    `PyArray_CreateMultiSortedStridePerm`.)
    """
    if all(a.is_c_contiguous for a in arrays):
        return None
    known = [(a.shape, a.element_strides) for a in arrays]
    order: list[int] = []
    for axis in range(arrays[0].ndim):
        position = len(order)
        for i in range(len(order) - 1, -1, -1):
            other = order[i]
            pairs = [(abs(t[axis]), abs(t[other])) for s, t in known if s[axis] != 1 and s[other] != 1]
            if pairs and not all(mine > its for mine, its in pairs):
                break
            if pairs:
                position = i
        order.insert(position, axis)
    return None if order == list(range(len(order))) else tuple(order)


def empty_in_order(shape: Sequence[int], dtype: str, axes: Sequence[int] | None) -> ndarray:
    """Returns an uninitialized array with the axes in a given memory order, the slowest first; None means C order."""
    if axes is None:
        return _core.empty(shape, dtype)
    c_ordered = _core.empty([shape[i] for i in axes], dtype)
    return _core.without_base(c_ordered.transpose(inverse(tuple(axes))))
