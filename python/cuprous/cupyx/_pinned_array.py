"""NumPy arrays in page-locked memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cuprous.cuda import pinned_memory

#: Memory orders.
_ORDERS: dict[str, Any] = dict(zip("CFAK", "CFAK", strict=True))


def empty_pinned(shape: Any, dtype: Any = float, order: str = "C") -> Any:
    """Returns a NumPy array in page-locked memory, whose elements are not set.

    Parameters
    ----------
    shape : int or tuple of ints
        The extents, or one.
    dtype : dtype, optional
        The dtype.
    order : str, default "C"
        The memory order, "C" or "F".

    Returns
    -------
    numpy.ndarray

    See Also
    --------
    cupyx.zeros_pinned, cupyx.empty_like_pinned, cuda.pinned_array

    Examples
    --------
    >>> cp.cupyx.empty_pinned((2, 3), "f4").nbytes
    24
    """
    extents = (int(shape),) if hasattr(shape, "__index__") else tuple(shape)
    kind = np.dtype(dtype)
    memory = pinned_memory.alloc_pinned_memory(math.prod(extents) * kind.itemsize)
    return np.ndarray(extents, kind, memory, order=_ORDERS[order.upper()])


def zeros_pinned(shape: Any, dtype: Any = float, order: str = "C") -> Any:
    """Returns a NumPy array of zeros in page-locked memory.

    Parameters
    ----------
    shape : int or tuple of ints
        The extents, or one.
    dtype : dtype, optional
        The dtype.
    order : str, default "C"
        The memory order, "C" or "F".

    Returns
    -------
    numpy.ndarray

    See Also
    --------
    cupyx.empty_pinned, cupyx.zeros_like_pinned

    Examples
    --------
    >>> cp.cupyx.zeros_pinned(2)
    array([0., 0.])
    """
    result = empty_pinned(shape, dtype, order)
    result.fill(0)
    return result


def empty_like_pinned(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Any:
    """Returns a NumPy array like another one in page-locked memory, whose elements are not set.

    Parameters
    ----------
    a : array_like
        An array of the host or of the device.
    dtype : dtype, optional
        The dtype; by default that of `a`.
    order : str, default "K"
        The memory order: "C", "F", or "A" and "K" for that of `a`.
    subok : bool, optional
        For NumPy's signature; only None.
    shape : int or tuple of ints, optional
        The extents; by default those of `a`.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    TypeError
        For `subok`.

    See Also
    --------
    cupyx.empty_pinned, cupyx.zeros_like_pinned

    Examples
    --------
    >>> cp.cupyx.empty_like_pinned(np.ones((2, 3), "f4")).shape
    (2, 3)
    """
    if subok is not None:
        raise TypeError("subok is not supported yet")
    kind = a.dtype if dtype is None else np.dtype(dtype)
    extents = a.shape if shape is None else (int(shape),) if hasattr(shape, "__index__") else tuple(shape)
    like: Any = np.lib.stride_tricks.as_strided(np.empty(0, a.dtype), a.shape, a.strides)
    steps = np.empty_like(like, order=_ORDERS[order.upper()], shape=extents).strides
    wide = kind.itemsize / a.dtype.itemsize
    memory = pinned_memory.alloc_pinned_memory(math.prod(extents) * kind.itemsize)
    return np.ndarray(extents, kind, memory, strides=[int(step * wide) for step in steps])


def zeros_like_pinned(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Any:
    """Returns a NumPy array of zeros like another one in page-locked memory.

    Parameters
    ----------
    a : array_like
        An array of the host or of the device.
    dtype : dtype, optional
        The dtype; by default that of `a`.
    order : str, default "K"
        The memory order: "C", "F", or "A" and "K" for that of `a`.
    subok : bool, optional
        For NumPy's signature; only None.
    shape : int or tuple of ints, optional
        The extents; by default those of `a`.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    TypeError
        For `subok`.

    See Also
    --------
    cupyx.zeros_pinned, cupyx.empty_like_pinned

    Examples
    --------
    >>> cp.cupyx.zeros_like_pinned(np.ones(2))
    array([0., 0.])
    """
    result = empty_like_pinned(a, dtype, order, subok, shape)
    result.fill(0)
    return result


__all__ = ["empty_like_pinned", "empty_pinned", "zeros_like_pinned", "zeros_pinned"]
