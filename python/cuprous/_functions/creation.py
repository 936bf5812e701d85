"""Creation of arrays that are empty or filled, also like others."""

from __future__ import annotations

import operator
from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, Shape, as_shape, ndarray
from cuprous._common.arguments import array as as_array
from cuprous._common.convert import check_range, convert
from cuprous._common.device import device_word
from cuprous._common.layout import axis_order, empty_in_order, inverse, order_letter
from cuprous._common.operands import is_scalar, on_array_device


def _filled(shape: Shape, value: Any, dtype: Any, order: str, device: Any) -> ndarray:
    dims, name = as_shape(shape), dtypes.name_of(dtype)
    if order == "C" or order_letter(order, "CF", "C") == "C":
        return on_device(_core.full(dims, value, name), device)
    return on_device(_core.without_base(_core.full(dims[::-1], value, name).T), device)


def empty(shape: Shape, dtype: Any = float, order: str = "C", *, device: Any = None) -> ndarray:
    """Returns a new array with arbitrary contents.

    Parameters
    ----------
    shape : int or tuple of ints
        The shape of the result, an integer or a sequence of integers.
    dtype : dtype, optional
        The dtype of the result, float64 by default.
    order : str, default "C"
        The memory order, "C" (row-major) or "F" (column-major).
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns
    -------
    ndarray
        An uninitialized array of this shape and dtype.

    See Also
    --------
    empty_like, ones, zeros, full

    Examples
    --------
    >>> cp.empty((2, 3)).shape
    (2, 3)
    """
    order = order_letter(order, "CF", "C")
    dims = as_shape(shape)
    if device is not None:
        return on_device(empty(shape, dtype, order), device)
    return empty_in_order(dims, dtypes.name_of(dtype), None if order == "C" else range(len(dims) - 1, -1, -1))


def zeros(shape: Shape, dtype: Any = float, order: str = "C", *, device: Any = None) -> ndarray:
    """Returns a new array of zeros.

    Parameters
    ----------
    shape : int or tuple of ints
        The shape of the result, an integer or a sequence of integers.
    dtype : dtype, optional
        The dtype of the result, float64 by default.
    order : str, default "C"
        The memory order, "C" (row-major) or "F" (column-major).
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns
    -------
    ndarray
        An array of this shape and dtype.

    See Also
    --------
    zeros_like, empty, ones, full

    Examples
    --------
    >>> cp.zeros(3)
    array([0., 0., 0.])
    >>> cp.zeros((2, 2), dtype=int)
    array([[0, 0],
           [0, 0]])
    """
    return _filled(shape, 0, dtype, order, device)


def ones(shape: Shape, dtype: Any = float, order: str = "C", *, device: Any = None) -> ndarray:
    """Returns a new array of ones.

    Parameters
    ----------
    shape : int or tuple of ints
        The shape of the result, an integer or a sequence of integers.
    dtype : dtype, optional
        The dtype of the result, float64 by default.
    order : str, default "C"
        The memory order, "C" (row-major) or "F" (column-major).
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns
    -------
    ndarray
        An array of this shape and dtype.

    See Also
    --------
    ones_like, empty, zeros, full

    Examples
    --------
    >>> cp.ones((2, 2), cp.float32)
    array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    return _filled(shape, 1, dtype, order, device)


def full(shape: Shape, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> ndarray:
    """Returns a new array filled with a value.

    Parameters
    ----------
    shape : int or tuple of ints
        The shape of the result, an integer or a sequence of integers.
    fill_value : array_like
        A scalar, or an array-like that broadcasts to the shape.
    dtype : dtype, optional
        The dtype of the result; by default that of the value.
    order : str, default "C"
        The memory order, "C" (row-major) or "F" (column-major).
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns
    -------
    ndarray
        An array of this shape and dtype.

    Raises
    ------
    OverflowError
        If an integer is out of bounds for the dtype.
    ValueError
        If the value does not broadcast to the shape.

    See Also
    --------
    full_like, empty, ones, zeros

    Examples
    --------
    >>> cp.full((2, 2), 7)
    array([[7, 7],
           [7, 7]])
    >>> cp.full((2, 3), [1, 2, 3])
    array([[1, 2, 3],
           [1, 2, 3]])
    """
    if is_scalar(fill_value):
        if dtype is None:
            dtype = convert(fill_value).dtype_name
        if not hasattr(fill_value, "dtype"):
            if type(fill_value) is int:
                check_range(fill_value, dtypes.name_of(dtype))
            return _filled(shape, fill_value, dtype, order, device)
    source = convert(fill_value)
    result = empty(shape, source.dtype_name if dtype is None else dtype, order)
    _core.update(result, source)
    return on_device(result, device)


@on_array_device
def _like(a: ArrayLike, value: Any, dtype: Any, order: str, subok: Any, shape: Shape | None, device: Any) -> ndarray:
    a = as_array(a)
    if subok is not None:
        operator.index(subok)  # checked as in NumPy; arrays have no subclasses
    dims = a.shape if shape is None else as_shape(shape)
    order = order_letter(order)
    name = a.dtype_name if dtype is None else dtypes.name_of(dtype)
    axes: tuple[int, ...] | None = None
    if order == "F" or (order == "A" and a.is_f_contiguous and not a.is_c_contiguous):
        axes = tuple(range(len(dims) - 1, -1, -1))
    elif order == "K" and len(dims) == a.ndim:
        axes = axis_order(a, order)
    memory_shape = dims if axes is None else tuple(dims[i] for i in axes)
    result = _core.empty(memory_shape, name) if value is None else full(memory_shape, value, name)
    return on_device(result if axes is None else _core.without_base(result.transpose(inverse(axes))), device)


def empty_like(
    prototype: ArrayLike, dtype: Any = None, order: str = "K", subok: Any = None, shape: Shape | None = None,
    *, device: Any = None,
) -> ndarray:  # fmt: skip
    """Returns a new array with another's shape and dtype and arbitrary contents.

    Parameters
    ----------
    prototype : array_like
        An array or array-like.
    dtype : dtype, optional
        The dtype of the result; by default that of the prototype.
    order : str, default "K"
        The memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
    subok : bool, optional
        Has no effect, because arrays have no subclasses.
    shape : int or tuple of ints, optional
        The shape of the result; by default that of the prototype.
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns
    -------
    ndarray
        An uninitialized array.

    See Also
    --------
    ones_like, zeros_like, full_like, empty

    Examples
    --------
    >>> cp.empty_like([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    return _like(prototype, None, dtype, order, subok, shape, device)


def zeros_like(
    a: ArrayLike, dtype: Any = None, order: str = "K", subok: Any = None, shape: Shape | None = None,
    *, device: Any = None,
) -> ndarray:  # fmt: skip
    """Returns a new array of zeros with another's shape and dtype.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    dtype : dtype, optional
        The dtype of the result; by default that of `a`.
    order : str, default "K"
        The memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
    subok : bool, optional
        Has no effect, because arrays have no subclasses.
    shape : int or tuple of ints, optional
        The shape of the result; by default that of `a`.
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns
    -------
    ndarray
        An array of zeros.

    See Also
    --------
    empty_like, ones_like, full_like, zeros

    Examples
    --------
    >>> cp.zeros_like([[1, 2], [3, 4]])
    array([[0, 0],
           [0, 0]])
    """
    return _like(a, 0, dtype, order, subok, shape, device)


def ones_like(
    a: ArrayLike, dtype: Any = None, order: str = "K", subok: Any = None, shape: Shape | None = None,
    *, device: Any = None,
) -> ndarray:  # fmt: skip
    """Returns a new array of ones with another's shape and dtype.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    dtype : dtype, optional
        The dtype of the result; by default that of `a`.
    order : str, default "K"
        The memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
    subok : bool, optional
        Has no effect, because arrays have no subclasses.
    shape : int or tuple of ints, optional
        The shape of the result; by default that of `a`.
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns
    -------
    ndarray
        An array of ones.

    See Also
    --------
    empty_like, zeros_like, full_like, ones

    Examples
    --------
    >>> cp.ones_like(cp.arange(3))
    array([1, 1, 1])
    """
    return _like(a, 1, dtype, order, subok, shape, device)


def full_like(
    a: ArrayLike, fill_value: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Shape | None = None,
    *, device: Any = None,
) -> ndarray:  # fmt: skip
    """Returns a new array with another's shape and dtype, filled with a value.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    fill_value : array_like
        A scalar, or an array-like that broadcasts to the shape.
    dtype : dtype, optional
        The dtype of the result; by default that of `a`.
    order : str, default "K"
        The memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
    subok : bool, optional
        Has no effect, because arrays have no subclasses.
    shape : int or tuple of ints, optional
        The shape of the result; by default that of `a`.
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns
    -------
    ndarray
        An array filled with the value.

    Raises
    ------
    ValueError
        If the value does not broadcast to the shape.

    See Also
    --------
    empty_like, ones_like, zeros_like, full

    Examples
    --------
    >>> cp.full_like([1.5, 2.5], 9)
    array([9., 9.])
    """
    return _like(a, fill_value, dtype, order, subok, shape, device)


def on_device(a: ndarray, device: Any) -> ndarray:
    """Returns the array on the device of an argument `device`."""
    return a if device is None else _core.to_device(a, device_word(device))


__all__ = ["empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like"]
