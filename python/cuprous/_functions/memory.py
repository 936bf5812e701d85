"""Memory of arrays: whether they share it, and copies into it."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import (
    ArrayLike,
    ndarray,
    operand,
    truth_mask,
)
from cuprous._common.arguments import array as as_array
from cuprous._common.arguments import broadcast_shapes as _broadcast_shapes
from cuprous._common.casting import astype, check_casting, check_rule
from cuprous._common.convert import convert
from cuprous._common.operands import is_numpy_array, on_array_device


def may_share_memory(a: Any, b: Any, max_work: int | None = None) -> bool:
    """Returns true if the byte ranges of two arrays overlap in one storage.

    One of them may be a NumPy array: `np.asarray(a)` shares the memory of an array on the CPU. For an array on another
    device it returns a read-only copy. Any read-only NumPy array is therefore reported as overlapping, so that code
    that checks before it writes makes its own copy.

    Parameters
    ----------
    a : array_like
        An array.
    b : array_like
        An array.
    max_work : int, optional
        With a number, compares the elements' addresses if that many candidates suffice.

    Returns
    -------
    bool

    See Also
    --------
    shares_memory

    Examples
    --------
    >>> a = cp.arange(6)
    >>> cp.may_share_memory(a[:4], a[2:])
    True
    """
    if is_numpy_array(a) or is_numpy_array(b):
        return _shared_with_host("may_share_memory", a, b, max_work)
    if max_work is None or not _bounds_overlap(a, b):
        return _bounds_overlap(a, b)
    from numpy.exceptions import TooHardError

    try:
        return shares_memory(a, b, max_work)
    except TooHardError:
        return True


def _shared_with_host(function_name: str, a: Any, b: Any, max_work: int | None) -> bool:
    """Returns the result of NumPy's `function_name` for a NumPy array and a Cuprous array."""
    import numpy as np

    for array_, other in ((a, b), (b, a)):
        if isinstance(array_, ndarray) and array_.device_name != "cpu":
            return function_name == "may_share_memory" and not other.flags.writeable
    a, b = (np.asarray(x) if isinstance(x, ndarray) else x for x in (a, b))
    return bool(getattr(np, function_name)(a, b, max_work))


def _bounds_overlap(a: Any, b: Any) -> bool:
    if not (isinstance(a, ndarray) and isinstance(b, ndarray)) or not a.shares_storage(b) or not (a.size and b.size):
        return False
    (low, high), (first, last) = a.span(), b.span()
    return low < last and first < high


def shares_memory(a: Any, b: Any, max_work: int | None = None) -> bool:
    """Returns true if two arrays have elements that share memory. One of them may be a NumPy array.

    Parameters
    ----------
    a : array_like
        An array.
    b : array_like
        An array.
    max_work : int, optional
        The number of candidates to try; None (the default) sets no limit.

    Returns
    -------
    bool

    Raises
    ------
    numpy.exceptions.TooHardError
        If `max_work` candidates do not suffice to decide.
    ValueError
        If `max_work` is not an integer.

    See Also
    --------
    may_share_memory

    Examples
    --------
    >>> a = cp.arange(6)
    >>> cp.shares_memory(a[::2], a[1::2])
    False
    """
    if is_numpy_array(a) or is_numpy_array(b):
        return _shared_with_host("shares_memory", a, b, max_work)
    if max_work is not None and not hasattr(max_work, "__index__"):
        raise ValueError("max_work must be an integer")
    if not _bounds_overlap(a, b):
        return False
    if a.is_c_contiguous and b.is_c_contiguous:
        return True
    import numpy as np

    # NumPy's solver only compares addresses, so views with the same strides of a dummy storage suffice.
    low = min(a.span()[0], b.span()[0])
    high = max(a.span()[1], b.span()[1])
    storage = np.lib.stride_tricks.as_strided(np.empty(1, np.uint8), (high - low,), (1,))
    views = [np.ndarray(x.shape, np.dtype(f"V{x.itemsize}"), storage, _first(x) - low, x.strides) for x in (a, b)]
    work: Any = max_work  # NumPy's type stubs allow only two values
    return bool(np.shares_memory(views[0], views[1], work))


def _first(a: ndarray) -> int:
    """Returns the byte offset of the first element in the storage."""
    return a.span()[0] - sum((n - 1) * s for n, s in zip(a.shape, a.strides, strict=True) if s < 0)


@on_array_device
def copyto(dst: ndarray, src: ArrayLike, casting: str = "same_kind", where: Any = True) -> None:
    """Copies an array into another where the mask is true.

    Parameters
    ----------
    dst : ndarray
        The array to write to.
    src : array_like
        An array-like that broadcasts to the shape of `dst`.
    casting : str, default "same_kind"
        The rule for casts: "no", "equiv", "safe", "same_kind" or "unsafe".
    where : array_like of bools, default True
        A bool mask that broadcasts to `dst`; True writes all elements.

    Raises
    ------
    TypeError
        If `dst` is not an array, or `casting` forbids the cast.
    ValueError
        If the shapes do not broadcast.

    See Also
    --------
    putmask, where

    Examples
    --------
    >>> a = cp.zeros(3, int)
    >>> cp.copyto(a, [1, 2, 3], where=[True, False, True])
    >>> a
    array([1, 0, 3])
    """
    check_rule(casting)
    if not isinstance(where, ndarray) and not is_numpy_array(where):
        where = where is True or astype(as_array(where), "bool")
    where = truth_mask(where)
    if not isinstance(dst, ndarray):
        raise TypeError(f"copyto() argument 1 must be a cuprous.ndarray, not {type(dst).__name__}")
    source = operand(src) if isinstance(src, ndarray) or not hasattr(src, "__array_interface__") else convert(src)
    if isinstance(source, ndarray):
        check_casting(source.dtype_name, dst.dtype_name, casting, "array data")
        while source.ndim > dst.ndim and source.shape[0] == 1:
            source = source[0]
        if _broadcast_shapes(dst.shape, source.shape) != dst.shape:
            raise ValueError(f"could not broadcast input array from shape {source.shape} into shape {dst.shape}")
    else:
        name = dtypes.OF_SCALARS.get(type(source))
        if name == "int64" and dtypes.kind(dst.dtype_name) != "b":
            name = dst.dtype_name
        check_casting(name or source.dtype.name, dst.dtype_name, casting, "scalar")
        source = _core.full((), source, dst.dtype_name, casting != "unsafe" or type(source) is int)
    if where is not True:
        source = _core.map("where", where, _core.cast(source, dst.dtype_name), dst)
    _core.update(dst, source)


__all__ = ["copyto", "may_share_memory", "shares_memory"]
