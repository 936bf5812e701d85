"""Counts and positions of nonzero elements. A result whose shape depends on the data copies its length to the host."""

from __future__ import annotations

from cuprous import _core
from cuprous._common.arguments import ArrayLike, Axes, array, ndarray
from cuprous._common.casting import astype
from cuprous._common.masks import flatnonzero, split_index
from cuprous._common.operands import on_array_device
from cuprous._functions.reductions import sum as sum_


@on_array_device
def nonzero(a: ArrayLike) -> tuple[ndarray, ...]:
    """Returns the indices of the nonzero elements, one array (int64) per axis.

    Parameters
    ----------
    a : array_like
        An array or array-like.

    Returns
    -------
    tuple of ndarrays
        A tuple with an array for each axis. Their length is the number of nonzero elements, which is copied to the
        host.

    Raises
    ------
    ValueError
        For 0-d arrays.

    See Also
    --------
    flatnonzero, count_nonzero

    Examples
    --------
    >>> cp.nonzero([[0, 1], [2, 0]])
    (array([0, 1]), array([1, 0]))
    """
    a = array(a)
    if a.ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead. "
            "If the context of this error is of the form `arr[nonzero(cond)]`, just use `arr[cond]`."
        )
    if 0 in a.shape:
        return tuple(_core.empty((0,), "int64") for _ in a.shape)
    return split_index(flatnonzero(a), a.shape)


@on_array_device
def argwhere(a: ArrayLike) -> ndarray:
    """Returns the indices of the nonzero elements, one row per element.

    Parameters
    ----------
    a : array_like
        An array or array-like.

    Returns
    -------
    ndarray
        An array of indices (int64) of shape (N, ndim).

    See Also
    --------
    where, nonzero

    Examples
    --------
    >>> cp.argwhere([[0, 1], [2, 0]])
    array([[0, 1],
           [1, 0]])
    """
    a = array(a)
    if a.ndim == 0:
        return _core.empty((int(bool(a)), 0), "int64")
    parts = nonzero(a)
    rows = _core.empty((a.ndim, parts[0].size), "int64")
    for i, part in enumerate(parts):
        rows[i] = part
    return rows.T


def count_nonzero(a: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> ndarray:
    """Returns the number of nonzero elements over axes.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    axis : int or tuple of ints, optional
        The axis or axes; None (the default) counts all elements.
    keepdims : bool, default False
        Keeps reduced axes in the result, with length one.

    Returns
    -------
    ndarray
        An array (int64) without the reduced axes.

    See Also
    --------
    nonzero

    Examples
    --------
    >>> cp.count_nonzero([[0, 1], [2, 3]])
    array(3)
    >>> cp.count_nonzero([[0, 1], [2, 3]], axis=1)
    array([1, 2])
    """
    return sum_(astype(array(a), "bool"), axis, keepdims=keepdims)


__all__ = ["argwhere", "count_nonzero", "nonzero"]
