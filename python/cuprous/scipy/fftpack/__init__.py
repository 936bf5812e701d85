"""The older interface of Fourier transforms, `scipy.fftpack`, for device arrays; `cuprous.scipy.fft` is the newer."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from cuprous import _core
from cuprous._common.arguments import ArrayLike, array, ndarray, normalize_axis
from cuprous._common.operands import on_array_device
from cuprous._functions.joining import concatenate
from cuprous._functions.manipulation import moveaxis
from cuprous.fft._plans import Plan, get_fft_plan, given
from cuprous.fft._transforms import count, fitted, half_to_real, is_complex, real_to_half
from cuprous.scipy.fft import _spectra, fftfreq, fftshift, ifftshift
from cuprous.scipy.fft import next_fast_len as _next_fast_len
from cuprous.scipy.fftpack import _cosines
from cuprous.scipy.fftpack._periodic import (
    cc_diff,
    cs_diff,
    diff,
    hilbert,
    ihilbert,
    itilbert,
    sc_diff,
    shift,
    ss_diff,
    tilbert,
)

Shape = int | Sequence[int] | None
Axes = int | Sequence[int] | None


def fft(
    x: ArrayLike, n: int | None = None, axis: int = -1, overwrite_x: bool = False, plan: Plan | None = None
) -> ndarray:
    """Returns the discrete Fourier transform along an axis.

    Parameters
    ----------
    x : array_like
        Real or complex points.
    n : int, optional
        The number of points: the array is truncated or padded with zeros.
    axis : int, default -1
        The axis.
    overwrite_x : bool, default False
        Has no effect.
    plan : Plan, optional
        What `get_fft_plan` returned; the transform must be its own.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    ValueError
        For fewer than one point, or a `plan` of another transform.

    See Also
    --------
    ifft, rfft

    Examples
    --------
    >>> cp.scipy.fftpack.fft([1.0, 2.0, 3.0, 4.0]).round(6)
    array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return _spectra.FUNCTIONS["fft"](x, n, axis, plan=plan)


def ifft(
    x: ArrayLike, n: int | None = None, axis: int = -1, overwrite_x: bool = False, plan: Plan | None = None
) -> ndarray:
    """Computes the inverse of `fft`.

    Parameters
    ----------
    x : array_like
        Real or complex values.
    n : int, optional
        The number of points: the array is truncated or padded with zeros.
    axis : int, default -1
        The axis.
    overwrite_x : bool, default False
        Has no effect.
    plan : Plan, optional
        What `get_fft_plan` returned; the transform must be its own.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    ValueError
        For fewer than one point, or a `plan` of another transform.

    See Also
    --------
    fft

    Examples
    --------
    >>> cp.scipy.fftpack.ifft([4.0, 0.0]).round(6)
    array([2.+0.j, 2.+0.j])
    """
    return _spectra.FUNCTIONS["ifft"](x, n, axis, plan=plan)


def fft2(
    x: ArrayLike, shape: Shape = None, axes: Axes = (-2, -1), overwrite_x: bool = False, plan: Plan | None = None
) -> ndarray:
    """Returns the discrete Fourier transform along two axes.

    Parameters
    ----------
    x : array_like
        Real or complex points.
    shape : int or tuple of ints, optional
        The number of points along each axis: the array is truncated or padded with zeros.
    axes : int or tuple of ints, default (-2, -1)
        The axes.
    overwrite_x : bool, default False
        Has no effect.
    plan : Plan, optional
        What `get_fft_plan` returned; the transform must be its own.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    ValueError
        For fewer than one point, axes that do not exist, or a `plan` of another transform.

    See Also
    --------
    fftn

    Examples
    --------
    >>> cp.scipy.fftpack.fft2([[1.0, 2.0], [3.0, 4.0]]).real
    array([[10., -2.],
           [-4.,  0.]])
    """
    return _spectra.FUNCTIONS["fft2"](x, shape, axes, plan=plan)


def ifft2(
    x: ArrayLike, shape: Shape = None, axes: Axes = (-2, -1), overwrite_x: bool = False, plan: Plan | None = None
) -> ndarray:
    """Computes the inverse of `fft2`.

    Parameters
    ----------
    x : array_like
        Real or complex values.
    shape : int or tuple of ints, optional
        The number of points along each axis: the array is truncated or padded with zeros.
    axes : int or tuple of ints, default (-2, -1)
        The axes.
    overwrite_x : bool, default False
        Has no effect.
    plan : Plan, optional
        What `get_fft_plan` returned; the transform must be its own.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    ValueError
        For fewer than one point, axes that do not exist, or a `plan` of another transform.

    See Also
    --------
    fft2, ifft

    Examples
    --------
    >>> cp.scipy.fftpack.ifft2([[4.0, 0.0], [0.0, 0.0]]).real
    array([[1., 1.],
           [1., 1.]])
    """
    return _spectra.FUNCTIONS["ifft2"](x, shape, axes, plan=plan)


def fftn(
    x: ArrayLike, shape: Shape = None, axes: Axes = None, overwrite_x: bool = False, plan: Plan | None = None
) -> ndarray:
    """Returns the discrete Fourier transform along several axes, by default all.

    Parameters
    ----------
    x : array_like
        Real or complex points.
    shape : int or tuple of ints, optional
        The number of points along each axis: the array is truncated or padded with zeros.
    axes : int or tuple of ints, optional
        The axes.
    overwrite_x : bool, default False
        Has no effect.
    plan : Plan, optional
        What `get_fft_plan` returned; the transform must be its own.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    ValueError
        For fewer than one point, axes that do not exist, or a `plan` of another transform.

    See Also
    --------
    ifftn

    Examples
    --------
    >>> cp.scipy.fftpack.fftn([[1.0, 2.0], [3.0, 4.0]]).real
    array([[10., -2.],
           [-4.,  0.]])
    """
    return _spectra.FUNCTIONS["fftn"](x, shape, axes, plan=plan)


def ifftn(
    x: ArrayLike, shape: Shape = None, axes: Axes = None, overwrite_x: bool = False, plan: Plan | None = None
) -> ndarray:
    """Computes the inverse of `fftn`.

    Parameters
    ----------
    x : array_like
        Real or complex values.
    shape : int or tuple of ints, optional
        The number of points along each axis: the array is truncated or padded with zeros.
    axes : int or tuple of ints, optional
        The axes.
    overwrite_x : bool, default False
        Has no effect.
    plan : Plan, optional
        What `get_fft_plan` returned; the transform must be its own.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    ValueError
        For fewer than one point, axes that do not exist, or a `plan` of another transform.

    See Also
    --------
    fftn

    Examples
    --------
    >>> cp.scipy.fftpack.ifftn([[4.0, 0.0], [0.0, 0.0]]).real
    array([[1., 1.],
           [1., 1.]])
    """
    return _spectra.FUNCTIONS["ifftn"](x, shape, axes, plan=plan)


@on_array_device
def rfft(
    x: ArrayLike, n: int | None = None, axis: int = -1, overwrite_x: bool = False, plan: Plan | None = None
) -> ndarray:
    """Returns the first half of the discrete Fourier transform of real points, as real numbers: y[0], then the real and
    the imaginary part of y[1], and so on.

    Parameters
    ----------
    x : array_like
        Real points.
    n : int, optional
        The number of points: the array is truncated or padded with zeros.
    axis : int, default -1
        The axis.
    overwrite_x : bool, default False
        Has no effect.
    plan : Plan, optional
        What `get_fft_plan` returned with `value_type="R2C"`; the transform must be its own.

    Returns
    -------
    ndarray
        A real array with n elements along the axis.

    Raises
    ------
    TypeError
        For complex points.
    ValueError
        For fewer than one point, or a `plan` of another transform.

    See Also
    --------
    fft, irfft, cuprous.fft.rfft

    Examples
    --------
    >>> cp.scipy.fftpack.rfft([1.0, 2.0, 3.0, 4.0]).round(6)
    array([10., -2.,  2., -2.])
    """
    a = array(x)
    if is_complex(a):
        raise TypeError("1st argument must be real sequence")
    axis = normalize_axis(axis, a.ndim)
    size = count(n, a.shape[axis])
    with given(plan):
        half = moveaxis(real_to_half(a, (size,), (axis,), True, None), axis, -1)
    packed = _core.empty((*half.shape[:-1], size), half.real.dtype_name)
    _core.update(packed[..., :1], half.real[..., :1])
    _core.update(packed[..., 1::2], half.real[..., 1:])
    _core.update(packed[..., 2::2], half.imag[..., 1 : (size - 1) // 2 + 1])
    return moveaxis(packed, -1, axis)


@on_array_device
def irfft(x: ArrayLike, n: int | None = None, axis: int = -1, overwrite_x: bool = False) -> ndarray:
    """Computes the inverse of `rfft`.

    Parameters
    ----------
    x : array_like
        Real values in the order of `rfft`.
    n : int, optional
        The number of points: the array is truncated or padded with zeros.
    axis : int, default -1
        The axis.
    overwrite_x : bool, default False
        Has no effect.

    Returns
    -------
    ndarray
        A real array.

    Raises
    ------
    TypeError
        For complex values.
    ValueError
        For fewer than one point.

    See Also
    --------
    rfft, ifft, cuprous.fft.irfft

    Examples
    --------
    >>> cp.scipy.fftpack.irfft([10.0, -2.0, 2.0, -2.0]).round(6)
    array([1., 2., 3., 4.])
    """
    a = array(x)
    if is_complex(a):
        raise TypeError("1st argument must be real sequence")
    axis = normalize_axis(axis, a.ndim)
    size = count(n, a.shape[axis])
    packed = moveaxis(fitted(a, size, axis), axis, -1)
    packed = packed if packed.dtype_name in ("float32", "float64") else packed * 1.0
    real = concatenate([packed[..., :1], packed[..., 1::2]], -1)
    imaginary = _core.full(real.shape, 0, real.dtype_name)
    _core.update(imaginary[..., 1 : (size - 1) // 2 + 1], packed[..., 2::2])
    half = real + imaginary * 1j
    return moveaxis(half_to_real(half, (size,), (half.ndim - 1,), False, None), -1, axis)


def next_fast_len(target: int) -> int:
    """Returns the least length of a fast transform of real points that is not below a length.

    Parameters
    ----------
    target : int
        The length.

    Returns
    -------
    int
        A product of twos, threes and fives.

    Raises
    ------
    ValueError
        For lengths below one.

    See Also
    --------
    scipy.fft.next_fast_len

    Examples
    --------
    >>> cp.scipy.fftpack.next_fast_len(97)
    100
    """
    return _next_fast_len(target, True)


def rfftfreq(n: int, d: float = 1.0) -> ndarray:
    """Returns the frequencies of the elements of `rfft`: zero, and the others twice, for real and imaginary parts.

    Parameters
    ----------
    n : int
        The number of points.
    d : float, default 1.0
        The distance of the points.

    Returns
    -------
    ndarray
        A vector of n numbers.

    Raises
    ------
    ValueError
        For negative numbers of points.
    TypeError
        If `n` is not an integer.

    See Also
    --------
    rfft, fftfreq

    Examples
    --------
    >>> cp.scipy.fftpack.rfftfreq(5, 0.5)
    array([0. , 0.4, 0.4, 0.8, 0.8])
    """
    n = operator.index(n)
    if n < 0:
        raise ValueError(f"n = {n} is not valid. n must be a nonnegative integer.")
    return (_core.iota((n,), (1,), 1) // 2) / float(n * d) if n else _core.full((0,), 0, "float64")


dct, idct, dst, idst = (_cosines.FUNCTIONS[name] for name in ("dct", "idct", "dst", "idst"))
dctn, idctn, dstn, idstn = (_cosines.FUNCTIONS[name] for name in ("dctn", "idctn", "dstn", "idstn"))

__all__ = [
    "cc_diff", "cs_diff", "dct", "dctn", "diff", "dst", "dstn", "fft", "fft2", "fftfreq", "fftn", "fftshift",
    "get_fft_plan", "hilbert", "idct", "idctn", "idst", "idstn", "ifft", "ifft2", "ifftn", "ifftshift", "ihilbert",
    "irfft", "itilbert", "next_fast_len", "rfft", "rfftfreq", "sc_diff", "shift", "ss_diff", "tilbert",
]  # fmt: skip
