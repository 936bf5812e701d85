"""Parts of complex numbers: real, imaginary, angle."""

from __future__ import annotations

import math

from cuprous import _core
from cuprous._common import dtypes
from cuprous._common.arguments import ArrayLike, array, ndarray


def _part(a: ndarray, index: int) -> ndarray:
    """Returns a view of the real (0) or imaginary (1) parts of a complex array."""
    strides = [2 * s for s in a.element_strides]
    return _core.as_strided(a, a.shape, strides, index, dtypes.component(a.dtype_name))


def real(val: ArrayLike) -> ndarray:
    """Returns the real part: a view of complex arrays, the array itself otherwise.

    Parameters
    ----------
    val : array_like
        An array or array-like.

    Returns
    -------
    ndarray
        An array of the shape of `val`.

    See Also
    --------
    real_if_close, imag, angle

    Examples
    --------
    >>> cp.real([1 + 2j, 3])
    array([1., 3.])
    """
    a = array(val)
    return _part(a, 0) if dtypes.kind(a.dtype_name) == "c" else a


def imag(val: ArrayLike) -> ndarray:
    """Returns the imaginary part: a view of complex arrays, zeros otherwise.

    Parameters
    ----------
    val : array_like
        An array or array-like.

    Returns
    -------
    ndarray
        An array of the shape of `val`.

    See Also
    --------
    real, angle, real_if_close

    Examples
    --------
    >>> cp.imag([1 + 2j, 3])
    array([2., 0.])
    """
    a = array(val)
    return _part(a, 1) if dtypes.kind(a.dtype_name) == "c" else _core.full(a.shape, 0, a.dtype_name, like=a)


def angle(z: ArrayLike, deg: bool = False) -> ndarray:
    """Returns the angle of complex numbers, in radians or degrees.

    Parameters
    ----------
    z : array_like
        An array or array-like.
    deg : bool, default False
        Whether to return degrees.

    Returns
    -------
    ndarray
        An array of the shape of `z`, of a floating dtype.

    See Also
    --------
    arctan2, absolute

    Examples
    --------
    >>> cp.angle([1 + 1j, -1], deg=True)
    array([ 45., 180.])
    """
    z = array(z)
    result = _core.map("angle", z) if dtypes.kind(z.dtype_name) == "c" else _core.map("arctan2", 0, _no_truth(z))
    return result * (180 / math.pi) if deg else result


def _no_truth(z: ndarray) -> ndarray:
    return _core.cast(z, "int64") if z.dtype_name == "bool" else z


__all__ = ["angle", "imag", "real"]
