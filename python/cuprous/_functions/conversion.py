"""Arrays from other objects, copies, and arrays of another dtype or layout."""

from __future__ import annotations

from typing import Any

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, ndarray
from cuprous._common.arguments import array as as_array
from cuprous._common.casting import warn_of_lost_parts
from cuprous._common.convert import convert
from cuprous._common.layout import with_order as _with_order
from cuprous._functions.creation import on_device


def asarray(
    a: Any, dtype: Any = None, order: str | None = None, *, blocking: bool = True, copy: bool | None = None,
    device: Any = None,
) -> ndarray:  # fmt: skip
    """Returns a device array of an array-like: lists, NumPy arrays, buffers, DLPack, other libraries' GPU arrays.

    An array that is already on the device is shared, not copied, unless `copy` is True. Elements `a[i]` and 0-d results
    are immutable, like NumPy's scalars, and are copied.

    Parameters
    ----------
    a : array_like
        The array-like.
    dtype : dtype, optional
        The dtype of the result; by default that of `a`, as NumPy infers it.
    order : str, optional
        The memory order, "C", "F", "A" or "K" (the default).
    blocking : bool, default True
        Has no effect, because a transfer always ends before the call returns.
    copy : bool, optional
        True always copies, None copies if needed, False never copies.
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns
    -------
    ndarray
        An array of the shape of `a`.

    Raises
    ------
    ValueError
        If a copy is needed and `copy` is False, or if nested lists have rows of different lengths.
    TypeError
        For objects that do not convert to a numeric array.

    See Also
    --------
    asanyarray, ascontiguousarray, asfortranarray, asarray_chkfinite, fromiter, fromfunction

    Examples
    --------
    >>> cp.asarray([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    >>> a = cp.asarray(np.array([1.5, 2.5]))
    >>> cp.asarray(a) is a
    True
    """
    if type(a) is ndarray and dtype is None and order is None and device is None and (copy is None or copy is False):
        return array(a) if a.is_value and copy is None else a
    return on_device(convert(a, dtype, order or "K", copy), device)


def asanyarray(
    a: Any, dtype: Any = None, order: str | None = None, *, blocking: bool = True, copy: bool | None = None,
    device: Any = None,
) -> ndarray:  # fmt: skip
    """Does the same as `asarray`: arrays have no subclasses.

    Parameters
    ----------
    a : array_like
        The array-like.
    dtype : dtype, optional
        The dtype of the result; by default that of `a`.
    order : str, optional
        The memory order, "C", "F", "A" or "K" (the default).
    blocking : bool, default True
        Has no effect, because a transfer always ends before the call returns.
    copy : bool, optional
        True always copies, None copies if needed, False never copies.
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns
    -------
    ndarray
        An array of the shape of `a`.

    See Also
    --------
    asarray, ascontiguousarray, asfortranarray, asarray_chkfinite, fromiter, fromfunction

    Examples
    --------
    >>> cp.asanyarray([1, 2, 3])
    array([1, 2, 3])
    """
    return asarray(a, dtype, order, blocking=blocking, copy=copy, device=device)


def asfarray(a: Any, dtype: Any = float) -> ndarray:
    """Returns an array of a floating dtype.

    Parameters
    ----------
    a : array_like
        The array-like.
    dtype : dtype, optional
        The dtype of the result; float64 is taken instead of one that is not floating.

    Returns
    -------
    ndarray
        An array of a floating or complex dtype.

    See Also
    --------
    asarray, asarray_chkfinite, ascontiguousarray

    Examples
    --------
    >>> cp.asfarray([1, 2])
    array([1., 2.])
    """
    name = dtypes.name_of(dtype)
    return convert(a, name if dtypes.kind(name) in "fc" else "float64")


def array(
    object: Any, dtype: Any = None, copy: bool | None = True, order: str = "K", subok: bool = False, ndmin: int = 0,
    *, blocking: bool = True, device: Any = None, ndmax: int = 64,
) -> ndarray:  # fmt: skip
    """Returns a new array from an array-like.

    Parameters
    ----------
    object : array_like
        Lists, scalars, arrays of any library, or another array-like.
    dtype : dtype, optional
        The dtype of the result; by default that of `object`, as NumPy infers it.
    copy : bool or None, default True
        True (the default) always copies, None copies if needed, False never copies.
    order : str, default "K"
        The memory order, "C", "F", "A" or "K" (as `object`).
    subok : bool, default False
        Has no effect, because arrays have no subclasses.
    ndmin : int, default 0
        The least number of axes; axes of length one are added in front.
    blocking : bool, default True
        Has no effect, because a transfer always ends before the call returns.
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.
    ndmax : int, default 64
        The largest number of axes that nested lists may have.

    Returns
    -------
    ndarray
        An array with the elements of `object`.

    Raises
    ------
    ValueError
        If a copy is needed and `copy` is False, if nested lists have rows of different lengths, or more than `ndmax`
        axes.
    TypeError
        For objects that do not convert to a numeric array.

    See Also
    --------
    empty_like, ones_like, zeros_like, full_like, empty, ones

    Examples
    --------
    >>> cp.array([1, 2, 3])
    array([1, 2, 3])
    >>> cp.array([1, 2], dtype=cp.float32)
    array([1., 2.], dtype=float32)
    >>> cp.array([1, 2], ndmin=2)
    array([[1, 2]])
    """
    if not 0 <= ndmax <= 64:
        raise ValueError("ndmax must be in the range [0, NPY_MAXDIMS (64)] ")
    if ndmin > ndmax:
        raise ValueError(f"ndmin must be <= ndmax ({ndmax})")
    result = convert(object, dtype, order or "K", copy)
    if result.ndim > ndmax and isinstance(object, (list, tuple)):
        raise ValueError(
            "setting an array element with a sequence. The requested array would exceed the maximum number of "
            f"dimension of {ndmax}."
        )
    if result.ndim < ndmin:
        result = result.reshape((1,) * (ndmin - result.ndim) + result.shape)
    return on_device(result, device)


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    """Returns a C-contiguous array of at least one dimension.

    Parameters
    ----------
    a : array_like
        The array-like.
    dtype : dtype, optional
        The dtype of the result; by default that of `a`.

    Returns
    -------
    ndarray
        An array in C order; `a` itself if it is one.

    See Also
    --------
    asfortranarray, require, ndarray.flags

    Examples
    --------
    >>> cp.ascontiguousarray(cp.ones((2, 3)).T).flags.c_contiguous
    True
    """
    result = convert(a, dtype, "C")
    return result if result.ndim else result.reshape((1,))


def asfortranarray(a: Any, dtype: Any = None) -> ndarray:
    """Returns a Fortran-contiguous array of at least one dimension.

    Parameters
    ----------
    a : array_like
        The array-like.
    dtype : dtype, optional
        The dtype of the result; by default that of `a`.

    Returns
    -------
    ndarray
        An array in Fortran order; `a` itself if it is one.

    See Also
    --------
    ascontiguousarray, asanyarray, require, ndarray.flags

    Examples
    --------
    >>> cp.asfortranarray([[1, 2], [3, 4]]).strides
    (8, 16)
    """
    result = convert(a, dtype, "F")
    return result if result.ndim else result.reshape((1,))


def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> ndarray:
    """Converts to an array as `asarray`, and checks that all values are finite. The check waits for the values.

    Parameters
    ----------
    a : array_like
        The array-like.
    dtype : dtype, optional
        The dtype of the result; by default that of `a`.
    order : str, optional
        The memory order, "C", "F", "A" or "K" (the default).

    Returns
    -------
    ndarray
        An array of the shape of `a`.

    Raises
    ------
    ValueError
        If a value is infinite or NaN.

    See Also
    --------
    asarray, asanyarray, ascontiguousarray, asfortranarray, fromiter, fromfunction

    Examples
    --------
    >>> cp.asarray_chkfinite([1.0, cp.inf])
    Traceback (most recent call last):
        ...
    ValueError: array must not contain infs or NaNs
    """
    result = asarray(a, dtype, order)
    if dtypes.kind(result.dtype_name) in "fc" and not bool(_core.map("isfinite", result).all()):
        raise ValueError("array must not contain infs or NaNs")
    return result


def astype(x: ArrayLike, dtype: Any, /, *, copy: bool = True, device: Any = None) -> ndarray:
    """Returns the elements cast to a dtype.

    Parameters
    ----------
    x : array_like
        An array or array-like.
    dtype : dtype
        The new dtype.
    copy : bool, default True
        False returns the array itself if the dtype does not change.
    device : str or Device, optional
        The device of the result, such as "cpu" or "cuda"; by default the current device.

    Returns
    -------
    ndarray
        An array of the shape of `x`.

    See Also
    --------
    ndarray.astype

    Examples
    --------
    >>> cp.astype(cp.asarray([1.7, -1.7]), int)
    array([ 1, -1])
    """
    x, name = as_array(x), dtypes.name_of(dtype)
    warn_of_lost_parts(x.dtype_name, name)
    return on_device(_core.cast(x, name) if copy or x.dtype_name != name else x, device)


#: The requirements of `require`, by their names. Arrays always meet those of alignment, writability and class.
_REQUIREMENTS = {
    "C": "C", "C_CONTIGUOUS": "C", "CONTIGUOUS": "C", "F": "F", "F_CONTIGUOUS": "F", "FORTRAN": "F", "A": "A",
    "ALIGNED": "A", "W": "W", "WRITEABLE": "W", "O": "O", "OWNDATA": "O", "E": "E", "ENSUREARRAY": "E",
}  # fmt: skip


def require(a: Any, dtype: Any = None, requirements: Any = None) -> ndarray:
    """Returns an array that is contiguous in the required order ("C" or "F"), and owns its memory if "O" is required.

    Parameters
    ----------
    a : array_like
        The array-like.
    dtype : dtype, optional
        The dtype of the result; by default that of `a`.
    requirements : list, optional
        A list of names as in NumPy: "C", "F", "O" or their longer forms; "A", "W" and "E" are always met.

    Returns
    -------
    ndarray
        An array that meets the requirements.

    Raises
    ------
    ValueError
        If both orders are required.
    KeyError
        For a requirement that NumPy does not have.

    See Also
    --------
    asarray, asanyarray, ascontiguousarray, asfortranarray, ndarray.flags

    Examples
    --------
    >>> cp.require([[1, 2], [3, 4]], requirements=["F"]).flags.f_contiguous
    True
    """
    flags = {_REQUIREMENTS[str(r).upper()] for r in requirements or ()}
    if flags >= {"C", "F"}:
        raise ValueError('Cannot specify both "C" and "F" order')
    result = convert(a, dtype, "F" if "F" in flags else "C" if "C" in flags else "K")
    return result.copy("K") if "O" in flags and result.base is not None else result


def copy(a: ArrayLike, order: str = "K", subok: bool = False) -> ndarray:
    """Returns a copy of an array.

    Parameters
    ----------
    a : array_like
        An array or array-like.
    order : str, default "K"
        The memory order of the result: "C" (row-major), "F" (column-major), "A" or "K" (that of the operand).
    subok : bool, default False
        Has no effect, because arrays have no subclasses.

    Returns
    -------
    ndarray
        An array in memory of its own.

    See Also
    --------
    ndarray.copy

    Examples
    --------
    >>> a = cp.arange(3)
    >>> b = cp.copy(a)
    >>> b[0] = 9
    >>> a
    array([0, 1, 2])
    """
    return _with_order(as_array(a), order, fresh=True)


__all__ = [
    "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfarray", "asfortranarray",
    "astype", "copy", "require",
]  # fmt: skip
