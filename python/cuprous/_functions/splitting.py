"""Splitting arrays along an axis."""

from __future__ import annotations

import operator
from typing import Any

from cuprous._common.arguments import ArrayLike, along, array, ndarray, normalize_axis
from cuprous._common.convert import asnumpy


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[ndarray, ...]:
    """Returns views of the slices along an axis.

    Parameters
    ----------
    x : array_like
        An array with at least one axis.
    axis : int, default 0
        The axis, by default the first.

    Returns
    -------
    tuple of ndarrays
        A tuple of views without the axis.

    Raises
    ------
    ValueError
        For a 0-d array.

    See Also
    --------
    stack, concatenate, block, split

    Examples
    --------
    >>> cp.unstack(cp.asarray([[1, 2], [3, 4]]), axis=1)
    (array([1, 3]), array([2, 4]))
    """
    x = array(x)
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    front = (slice(None),) * normalize_axis(axis, x.ndim)
    return tuple(x[(*front, i)] for i in range(x.shape[axis]))


def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Returns views of consecutive parts along an axis: a number of parts of nearly equal length, or split positions.

    Parameters
    ----------
    ary : array_like
        An array or array-like.
    indices_or_sections : int or array_like
        A number of parts, or the positions at which to split.
    axis : int, default 0
        The axis to split.

    Returns
    -------
    list of ndarrays
        A list of views.

    Raises
    ------
    ValueError
        For fewer than one part.

    See Also
    --------
    split

    Examples
    --------
    >>> cp.array_split(cp.arange(5), 2)
    [array([0, 1, 2]), array([3, 4])]
    """
    ary = array(ary)
    if ary.ndim == 0:
        raise IndexError("tuple index out of range")
    axis = normalize_axis(axis, ary.ndim)
    n = ary.shape[axis]
    if hasattr(indices_or_sections, "__index__") and not getattr(indices_or_sections, "ndim", 0):
        sections = operator.index(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(n, sections)
        cuts = [each * i + min(i, extra) for i in range(1, sections)]
    else:
        given = indices_or_sections
        cuts = [operator.index(i) for i in (asnumpy(given) if isinstance(given, ndarray) else given)]
    return [ary[along(axis, start, stop)] for start, stop in zip([0, *cuts], [*cuts, n], strict=True)]


def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[ndarray]:
    """Returns views of consecutive parts along an axis. A number of parts must divide the length of the axis.

    Parameters
    ----------
    ary : array_like
        An array or array-like.
    indices_or_sections : int or array_like
        A number of parts, or the positions at which to split.
    axis : int, default 0
        The axis to split.

    Returns
    -------
    list of ndarrays
        A list of views.

    Raises
    ------
    ValueError
        If the number of parts does not divide the length.
    ZeroDivisionError
        If the number of parts is zero.

    See Also
    --------
    array_split, hsplit, vsplit, dsplit, concatenate, stack

    Examples
    --------
    >>> cp.split(cp.arange(4), 2)
    [array([0, 1]), array([2, 3])]
    >>> cp.split(cp.arange(5), [1, 3])
    [array([0]), array([1, 2]), array([3, 4])]
    """
    ary = array(ary)
    sections = indices_or_sections if isinstance(indices_or_sections, int) else 1
    if sections == 0 and ary.ndim:
        raise ZeroDivisionError("integer modulo by zero")
    if ary.ndim and ary.shape[normalize_axis(axis, ary.ndim)] % sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[ndarray]:
    """Splits an array with at least two axes along the first.

    Parameters
    ----------
    ary : array_like
        An array with at least two axes.
    indices_or_sections : int or array_like
        A number of parts, or the positions at which to split.

    Returns
    -------
    list of ndarrays
        A list of views.

    Raises
    ------
    ValueError
        For fewer than two axes.

    See Also
    --------
    split

    Examples
    --------
    >>> cp.vsplit(cp.asarray([[1, 2], [3, 4]]), 2)
    [array([[1, 2]]), array([[3, 4]])]
    """
    ary = array(ary)
    if ary.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[ndarray]:
    """Splits along the second axis, or a vector along its only axis.

    Parameters
    ----------
    ary : array_like
        An array with at least one axis.
    indices_or_sections : int or array_like
        A number of parts, or the positions at which to split.

    Returns
    -------
    list of ndarrays
        A list of views.

    Raises
    ------
    ValueError
        For a 0-d array.

    See Also
    --------
    split

    Examples
    --------
    >>> cp.hsplit(cp.asarray([[1, 2], [3, 4]]), 2)
    [array([[1],
           [3]]), array([[2],
           [4]])]
    """
    ary = array(ary)
    if ary.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[ndarray]:
    """Splits along the third axis.

    Parameters
    ----------
    ary : array_like
        An array with at least three axes.
    indices_or_sections : int or array_like
        A number of parts, or the positions at which to split.

    Returns
    -------
    list of ndarrays
        A list of views.

    Raises
    ------
    ValueError
        For fewer than three axes.

    See Also
    --------
    split

    Examples
    --------
    >>> [part.shape for part in cp.dsplit(cp.ones((2, 2, 4)), 2)]
    [(2, 2, 2), (2, 2, 2)]
    """
    ary = array(ary)
    if ary.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


__all__ = ["array_split", "dsplit", "hsplit", "split", "unstack", "vsplit"]
