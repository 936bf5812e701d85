"""Arrays from buffers, iterators and text."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ndarray


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> ndarray:
    """Returns a 1-d array from an object with Python's buffer protocol. The elements are copied to the device.

    Parameters
    ----------
    buffer : object
        An object with the buffer protocol, such as bytes.
    dtype : dtype, optional
        The dtype of the elements, float64 by default.
    count : int, default -1
        The number of elements; -1 reads all.
    offset : int, default 0
        The number of bytes to skip.

    Returns
    -------
    ndarray
        An array of shape (count,).

    Raises
    ------
    ValueError
        If the buffer is too short, or its size is not a multiple of the element size.

    See Also
    --------
    asarray, from_dlpack

    Examples
    --------
    >>> cp.frombuffer(b"abc", dtype=cp.uint8)
    array([97, 98, 99], dtype=uint8)
    """
    import numpy as np

    return _core.from_numpy(np.frombuffer(buffer, dtypes.numpy_dtype(dtypes.name_of(dtype)), count, offset))


def fromiter(iter: Any, dtype: Any, count: int = -1) -> ndarray:
    """Returns a 1-d array from an iterable.

    Parameters
    ----------
    iter : iterable
        An iterable of scalars.
    dtype : dtype
        The dtype of the elements.
    count : int, default -1
        The number of elements to read; -1 reads all.

    Returns
    -------
    ndarray
        An array of shape (count,).

    Raises
    ------
    ValueError
        If the iterable has fewer than `count` elements.

    See Also
    --------
    array

    Examples
    --------
    >>> cp.fromiter((i * i for i in range(4)), dtype=int)
    array([0, 1, 4, 9])
    """
    import numpy as np

    return _core.from_numpy(np.fromiter(iter, dtypes.numpy_dtype(dtypes.name_of(dtype)), count))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str = "") -> ndarray:
    """Returns a 1-d array from numbers in a text.

    Parameters
    ----------
    string : str
        The text.
    dtype : dtype, optional
        The dtype of the elements, float64 by default.
    count : int, default -1
        The number of elements to read; -1 reads all.
    sep : str, default ""
        The separator. Whitespace matches any amount of whitespace.

    Returns
    -------
    ndarray
        An array of shape (count,).

    Raises
    ------
    ValueError
        If `sep` is empty; `frombuffer` reads bytes.

    See Also
    --------
    frombuffer, fromfile, fromiter

    Examples
    --------
    >>> cp.fromstring("1, 2, 4", sep=",")
    array([1., 2., 4.])
    """
    import numpy as np

    return _core.from_numpy(np.fromstring(string, dtypes.numpy_dtype(dtypes.name_of(dtype)), count, sep=sep))


__all__ = ["frombuffer", "fromiter", "fromstring"]
