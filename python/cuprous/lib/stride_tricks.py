"""Views by strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuprous import _core
from cuprous._common.arguments import ArrayLike, array, as_shape, ndarray, normalize_axes
from cuprous._functions.manipulation import broadcast_arrays, broadcast_shapes, broadcast_to


def as_strided(x: ArrayLike, shape: Any = None, strides: Sequence[int] | None = None) -> ndarray:
    """Returns a view of an array's memory with any shape and strides (in bytes).

    Parameters
    ----------
    x : array_like
        An array or array-like.
    shape : int or tuple of ints, optional
        The shape of the view; by default that of `x`.
    strides : sequence of ints, optional
        Bytes from one element to the next along each axis; by default those of `x`.

    Returns
    -------
    ndarray
        A view.

    Raises
    ------
    ValueError
        If an element would be outside the memory, or a stride is not a multiple of the item size.

    See Also
    --------
    lib.stride_tricks.sliding_window_view

    Examples
    --------
    >>> cp.lib.stride_tricks.as_strided(cp.arange(5), (3, 3), (8, 8))
    array([[0, 1, 2],
           [1, 2, 3],
           [2, 3, 4]])
    """
    x = array(x)
    dims = x.shape if shape is None else as_shape(shape)
    steps = x.strides if strides is None else tuple(strides)
    if len(dims) != len(steps):
        raise ValueError(f"[as_strided] shape {dims} and strides {steps} have different lengths")
    if any(s % x.itemsize for s in steps):
        raise ValueError(f"[as_strided] strides {steps} are not multiples of the item size {x.itemsize}")
    return _core.as_strided(x, dims, [s // x.itemsize for s in steps], 0)


def sliding_window_view(
    x: ArrayLike, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> ndarray:
    """Returns a view of all windows of a shape, along new last axes.

    Parameters
    ----------
    x : array_like
        An array or array-like.
    window_shape : int or tuple of ints
        The extent of the window, or an extent for each axis.
    axis : int or tuple of ints, optional
        The axis or axes of the window; None (the default) takes all.
    subok : bool, default False
        Has no effect, because arrays have no subclasses.
    writeable : bool, default False
        Has no effect; the view can always be written, as in CuPy.

    Returns
    -------
    ndarray
        A view with the shape of the window after the other axes.

    Raises
    ------
    ValueError
        If a window is larger than the array or has another number of axes.

    See Also
    --------
    cuprous.lib.stride_tricks.as_strided, broadcast_to

    Examples
    --------
    >>> cp.lib.stride_tricks.sliding_window_view(cp.arange(5), 3)
    array([[0, 1, 2],
           [1, 2, 3],
           [2, 3, 4]])
    """
    x = array(x)
    try:
        windows = as_shape(window_shape)
    except ValueError:
        raise ValueError("`window_shape` cannot contain negative values") from None
    if axis is None:
        axes = tuple(range(x.ndim))
        if len(windows) != len(axes):
            raise ValueError(
                f"Since axis is None, must provide window_shape for all dimensions of `x`; got {len(windows)} "
                f"window_shape elements and `x.ndim` is {x.ndim}."
            )
    else:
        axes = normalize_axes(axis, x.ndim) if isinstance(axis, int) else tuple(i % x.ndim for i in axis)
        if len(windows) != len(axes):
            raise ValueError(
                f"Must provide matching length window_shape and axis; got {len(windows)} window_shape elements and "
                f"{len(axes)} axes elements."
            )
    shape = list(x.shape)
    for i, n in zip(axes, windows, strict=True):
        shape[i] -= n - 1
        if shape[i] < 1:
            raise ValueError("window shape cannot be larger than input array shape")
    strides = x.element_strides
    return _core.as_strided(x, (*shape, *windows), (*strides, *(strides[i] for i in axes)), 0)


__all__ = ["as_strided", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "sliding_window_view"]
