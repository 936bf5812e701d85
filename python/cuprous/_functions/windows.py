"""Window functions, and bits packed into bytes."""

from __future__ import annotations

import math
from typing import Any

from cuprous import _core
from cuprous._common.arguments import ArrayLike, Axis, array, ndarray, with_axis
from cuprous._common.casting import astype
from cuprous._common.layout import fortran_or_c, with_order
from cuprous._common.operands import is_scalar, on_array_device
from cuprous._functions import creation
from cuprous._functions.manipulation import moveaxis
from cuprous._functions.reductions import sum as sum_


def _points(M: Any) -> float:
    """Returns the number of points as a Python float, because NumPy's integers would wrap around."""
    if isinstance(M, ndarray):
        if M.ndim:
            raise ValueError("[windows] the number of points must be a number, not an array of several")
        M = M.item()
    if isinstance(M, complex) or not is_scalar(M):
        raise TypeError(f"[windows] the number of points must be a real number, not {type(M).__name__}")
    return float(M)


def _phase(M: float, end: float) -> ndarray:
    """Returns 1 - M, 3 - M, …, one value for each whole number from 0 below `end`; M - 1 is the last if M is whole."""
    if not end < 2**63:
        raise ValueError("Maximum allowed size exceeded")
    return _core.cast(_core.iota((max(0, math.ceil(end)),), (2,), 0), "float64") + (1 - M)


def _cosines(M: Any, *weights: float) -> ndarray:
    """Returns a sum of cosines that is symmetric about the middle."""
    M = _points(M)
    if M <= 1:
        return creation.ones(int(M == 1))
    phase = _phase(M, M - 0.5)
    result: Any = weights[0]
    for k, weight in enumerate(weights[1:], 1):
        result = result + weight * _core.map("cos", phase * (k * math.pi / (M - 1)))
    return result


def hanning(M: Any) -> ndarray:
    """Returns Hann's window of M points: a raised cosine that reaches zero.

    Parameters
    ----------
    M : int
        The number of points. Fewer than one give an empty array.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    bartlett, blackman, hamming, kaiser

    Examples
    --------
    >>> cp.hanning(5)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    return _cosines(M, 0.5, 0.5)


def hamming(M: Any) -> ndarray:
    """Returns Hamming's window of M points: a raised cosine on a pedestal.

    Parameters
    ----------
    M : int
        The number of points. Fewer than one give an empty array.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    bartlett, blackman, hanning, kaiser

    Examples
    --------
    >>> cp.hamming(5)
    array([0.08, 0.54, 1.  , 0.54, 0.08])
    """
    return _cosines(M, 0.54, 0.46)


def blackman(M: Any) -> ndarray:
    """Returns Blackman's window of M points: three terms of cosines.

    Parameters
    ----------
    M : int
        The number of points. Fewer than one give an empty array.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    bartlett, hamming, hanning, kaiser

    Examples
    --------
    >>> cp.blackman(5).round(6)
    array([-0.  ,  0.34,  1.  ,  0.34, -0.  ])
    """
    return _cosines(M, 0.42, 0.5, 0.08)


def bartlett(M: Any) -> ndarray:
    """Returns Bartlett's window of M points: a triangle that reaches zero.

    Parameters
    ----------
    M : int
        The number of points. Fewer than one give an empty array.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    blackman, hamming, hanning, kaiser

    Examples
    --------
    >>> cp.bartlett(5)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    M = _points(M)
    if M <= 1:
        return creation.ones(int(M == 1))
    return 1 - _core.map("absolute", _phase(M, M - 0.5)) / (M - 1)


def kaiser(M: Any, beta: Any) -> ndarray:
    """Returns Kaiser's window of M points, by the Bessel function I0.

    Parameters
    ----------
    M : int
        The number of points. Fewer than one give an empty array.
    beta : float
        The parameter of the shape; 0 is a rectangle.

    Returns
    -------
    ndarray
        An array of shape (M,).

    See Also
    --------
    bartlett, blackman, hamming, hanning

    Examples
    --------
    >>> cp.kaiser(3, 0.0)
    array([1., 1., 1.])
    """
    M, beta = _points(M), _points(beta)
    if M == 1:
        return creation.ones(1)
    ratio = _phase(M, M) / (M - 1)
    return _core.map("i0", beta * _core.map("sqrt", 1 - ratio * ratio)) / _core.map(
        "i0", _core.full((), beta, "float64")
    )


def _bit_weights(bitorder: str) -> list[int]:
    if not isinstance(bitorder, str):
        raise TypeError(f"'order' must be 'little' or 'big', not {type(bitorder).__name__}")
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    return [1 << i for i in (range(7, -1, -1) if bitorder == "big" else range(8))]


@on_array_device
def packbits(a: ArrayLike, /, axis: Axis = None, bitorder: str = "big") -> ndarray:
    """Packs booleans into bytes (uint8) along an axis. The last byte is filled up with zeros.

    Parameters
    ----------
    a : array_like
        An array of bool or integers; nonzero elements are ones.
    axis : int, optional
        The axis; None (the default) takes the flattened array.
    bitorder : str, default "big"
        "big" puts the first element in the highest bit, "little" in the lowest.

    Returns
    -------
    ndarray
        An array of bytes (uint8).

    Raises
    ------
    TypeError
        Unless the input is bool or of integers.
    ValueError
        For another `bitorder`.

    See Also
    --------
    unpackbits

    Examples
    --------
    >>> cp.packbits(cp.asarray([1, 0, 1, 0, 0, 0, 0, 0]))
    array([160], dtype=uint8)
    """
    weights = _core.cast(array(_bit_weights(bitorder)), "uint8")
    a = array(a)
    if a.dtype_name[:3] not in ("boo", "int", "uin"):
        raise TypeError("Expected an input array of integer or boolean data type")
    a, axis = with_axis(a, axis)
    moved = moveaxis(astype(a, "bool"), axis, -1)
    n = moved.shape[-1]
    bits = _core.full((*moved.shape[:-1], -(-n // 8) * 8), 0, "uint8")
    _core.update(bits[..., :n], moved)
    packed = sum_(bits.reshape((*moved.shape[:-1], -(-n // 8), 8)) * weights, -1, "uint8")
    return with_order(moveaxis(packed, -1, axis), fortran_or_c(a))


@on_array_device
def unpackbits(a: ArrayLike, /, axis: Axis = None, count: int | None = None, bitorder: str = "big") -> ndarray:
    """Returns the bits of bytes as zeros and ones along an axis.

    Parameters
    ----------
    a : array_like
        An array of bytes (uint8).
    axis : int, optional
        The axis; None (the default) takes the flattened array.
    count : int, optional
        The number of bits along the axis, which are cut off or filled up with zeros; a negative one cuts off so many at
        the end.
    bitorder : str, default "big"
        "big" puts the highest bit first, "little" the lowest.

    Returns
    -------
    ndarray
        An array (uint8), eight times as long along the axis.

    Raises
    ------
    TypeError
        Unless the input is uint8.
    ValueError
        For another `bitorder`, or a count below minus the length.

    See Also
    --------
    packbits

    Examples
    --------
    >>> cp.unpackbits(cp.asarray([160], dtype=cp.uint8))
    array([1, 0, 1, 0, 0, 0, 0, 0], dtype=uint8)
    """
    weights = _core.cast(array(_bit_weights(bitorder)), "uint8")
    a = array(a)
    if a.dtype_name != "uint8":
        raise TypeError("Expected an input array of unsigned byte data type")
    a, axis = with_axis(a, axis, scalars=False)
    moved = moveaxis(a, axis, -1)
    set_ = _core.cast((moved.reshape((*moved.shape, 1)) & weights) != 0, "uint8")
    total = moved.shape[-1] * 8
    bits = set_.reshape((*moved.shape[:-1], total))
    if count is not None:
        length = count if count >= 0 else total + count
        if length < 0:
            raise ValueError("-count larger than number of elements")
        if length <= total:
            bits = bits[..., :length]
        else:
            padded = _core.full((*moved.shape[:-1], length), 0, "uint8")
            _core.update(padded[..., :total], bits)
            bits = padded
    return with_order(moveaxis(bits, -1, axis), fortran_or_c(a))


__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser", "packbits", "unpackbits"]
