"""`numpy.fft`'s transforms along several axes: all at once, or one after the other if an axis is repeated."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from cuprous._common.arguments import ArrayLike, array, ndarray, normalize_axis
from cuprous.fft import _transforms
from cuprous.fft._one_axis import fft, ifft, irfft, rfft, written

#: A sequence of points along axes: -1 for all of them, None for the transform's own default.
Points = Sequence[Any]


def _axes_and_points(
    a: ndarray, s: Points | None, axes: Sequence[int] | None, half: bool = False
) -> tuple[list[Any], list[int]]:
    """Returns the number of points of each axis by NumPy's rules, and the axes. `half` means that the last axis holds
    half a spectrum."""
    if axes is None:
        axes = range(-(a.ndim if s is None else len(s)), 0)
        if s is not None:
            warnings.warn(
                "`axes` should not be `None` if `s` is not `None` (Deprecated in NumPy 2.0)",
                DeprecationWarning,
                stacklevel=4,
            )
    axes = list(axes)
    if s is None:
        points: list[Any] = [a.shape[i] for i in axes]
        if half:
            points[-1] = 2 * (points[-1] - 1)
        return points, axes
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    if None in s:
        warnings.warn(
            "Passing an array containing `None` values to `s` is deprecated in NumPy 2.0 and will raise an error in a "
            "future version of NumPy.",
            DeprecationWarning,
            stacklevel=4,
        )
    return [a.shape[i] if n == -1 else n for n, i in zip(s, axes, strict=True)], axes


def _one_by_one(
    transform: Callable[..., ndarray], a: ndarray, points: Sequence[Any], axes: Sequence[int], norm: str | None
) -> ndarray:
    for n, axis in zip(points, axes, strict=True):
        a = transform(a, n, axis, norm)
    return a


def _all_at_once(
    kernel: _transforms.Kernel, forward: bool, a: ndarray, points: list[Any], axes: list[int], norm: str | None
) -> ndarray | None:
    """Transforms along several axes at once. Returns None if there are fewer than two, or one is repeated."""
    positions = [normalize_axis(axis, a.ndim) for axis in axes]
    if len(positions) < 2 or len(set(positions)) < len(positions):
        return None
    return kernel(a, points, positions, forward, norm)


def fftn(
    a: ArrayLike, s: Points | None = None, axes: Sequence[int] | None = None, norm: str | None = None,
    out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Applies `fft` along several axes.

    Parameters
    ----------
    a : array_like
        Real or complex points.
    s : int or sequence of ints, optional
        The number of points along each of the axes (-1: all of them).
    axes : sequence of ints, optional
        The axes, by default all. A repeated axis is transformed repeatedly.
    norm : str, optional
        As for `fft`.
    out : ndarray, optional
        The array to write the result to.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    ValueError
        Unless `s` and `axes` have the same length.
    IndexError
        If there is no such axis.

    See Also
    --------
    fft, ifftn, rfftn, fft2, fftshift

    Examples
    --------
    >>> cp.fft.fftn([[1.0, 2.0], [3.0, 4.0]]).round(6)
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    a = array(a)
    points, axes = _axes_and_points(a, s, axes)
    result = _all_at_once(_transforms.complex_to_complex, True, a, points, axes, norm)
    return written(out, _one_by_one(fft, a, points[::-1], axes[::-1], norm) if result is None else result)


def ifftn(
    a: ArrayLike, s: Points | None = None, axes: Sequence[int] | None = None, norm: str | None = None,
    out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Computes the inverse of `fftn`.

    Parameters
    ----------
    a : array_like
        Real or complex points.
    s : int or sequence of ints, optional
        The number of points along each of the axes (-1: all of them): the array is truncated or padded with zeros.
    axes : sequence of ints, optional
        The axes, by default all. A repeated axis is transformed repeatedly.
    norm : str, optional
        As for `fft`.
    out : ndarray, optional
        The array to write the result to.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    ValueError
        Unless `s` and `axes` have the same length.

    See Also
    --------
    fft, fftn, ifft, ifft2, ifftshift

    Examples
    --------
    >>> cp.fft.ifftn([[4.0, 0.0], [0.0, 0.0]]).round(6)
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    a = array(a)
    points, axes = _axes_and_points(a, s, axes)
    result = _all_at_once(_transforms.complex_to_complex, False, a, points, axes, norm)
    return written(out, _one_by_one(ifft, a, points[::-1], axes[::-1], norm) if result is None else result)


def rfftn(
    a: ArrayLike, s: Points | None = None, axes: Sequence[int] | None = None, norm: str | None = None,
    out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Applies `rfft` along the last of the axes, then `fft` along the others.

    Parameters
    ----------
    a : array_like
        Real points.
    s : int or sequence of ints, optional
        The number of points along each of the axes (-1: all of them): the array is truncated or padded with zeros.
    axes : sequence of ints, optional
        The axes, by default all. A repeated axis is transformed repeatedly.
    norm : str, optional
        As for `fft`.
    out : ndarray, optional
        The array to write the result to.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    TypeError
        For complex points.

    See Also
    --------
    irfftn, fft, rfft, fftn, rfft2

    Examples
    --------
    >>> cp.fft.rfftn([[1.0, 2.0], [3.0, 4.0]]).round(6)
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    a = array(a)
    points, axes = _axes_and_points(a, s, axes)
    result = _all_at_once(_transforms.real_to_half, True, a, points, axes, norm)
    if result is None:
        result = _one_by_one(fft, rfft(a, points[-1], axes[-1], norm), points[-2::-1], axes[-2::-1], norm)
    return written(out, result)


def irfftn(
    a: ArrayLike, s: Points | None = None, axes: Sequence[int] | None = None, norm: str | None = None,
    out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Computes the inverse of `rfftn`: `ifft` along all axes but the last, then `irfft`.

    Parameters
    ----------
    a : array_like
        Real or complex values.
    s : int or sequence of ints, optional
        The number of points along each of the axes (-1: all of them): the array is truncated or padded with zeros.
    axes : sequence of ints, optional
        The axes, by default all. A repeated axis is transformed repeatedly.
    norm : str, optional
        As for `fft`.
    out : ndarray, optional
        The array to write the result to.

    Returns
    -------
    ndarray
        A real array.

    Raises
    ------
    ValueError
        Unless `s` and `axes` have the same length.

    See Also
    --------
    rfftn, fft, irfft, irfft2

    Examples
    --------
    >>> cp.fft.irfftn([[4.0, 0.0], [0.0, 0.0]]).round(6)
    array([[1., 1.],
           [1., 1.]])
    """
    a = array(a)
    points, axes = _axes_and_points(a, s, axes, half=True)
    result = _all_at_once(_transforms.half_to_real, False, a, points, axes, norm)
    if result is None:
        result = irfft(_one_by_one(ifft, a, points[:-1], axes[:-1], norm), points[-1], axes[-1], norm)
    return written(out, result)


def fft2(
    a: ArrayLike, s: Points | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None,
    out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Applies `fftn` along two axes, the last two by default.

    Parameters
    ----------
    a : array_like
        Real or complex points.
    s : int or sequence of ints, optional
        The number of points along each of the axes (-1: all of them): the array is truncated or padded with zeros.
    axes : sequence of ints, default (-2, -1)
        The axes, by default the last two.
    norm : str, optional
        As for `fft`.
    out : ndarray, optional
        The array to write the result to.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    ValueError
        Unless `s` and `axes` have the same length.

    See Also
    --------
    fft, ifft2, fftn, fftshift

    Examples
    --------
    >>> cp.fft.fft2([[1.0, 2.0], [3.0, 4.0]]).round(6)
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    return fftn(a, s, axes, norm, out)


def ifft2(
    a: ArrayLike, s: Points | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None,
    out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Applies `ifftn` along two axes, the last two by default.

    Parameters
    ----------
    a : array_like
        Real or complex points.
    s : int or sequence of ints, optional
        The number of points along each of the axes (-1: all of them): the array is truncated or padded with zeros.
    axes : sequence of ints, default (-2, -1)
        The axes, by default the last two.
    norm : str, optional
        As for `fft`.
    out : ndarray, optional
        The array to write the result to.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    ValueError
        Unless `s` and `axes` have the same length.

    See Also
    --------
    fft, fft2, ifftn, ifft

    Examples
    --------
    >>> cp.fft.ifft2([[4.0, 0.0], [0.0, 0.0]]).round(6)
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]])
    """
    return ifftn(a, s, axes, norm, out)


def rfft2(
    a: ArrayLike, s: Points | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None,
    out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Applies `rfftn` along two axes, the last two by default.

    Parameters
    ----------
    a : array_like
        Real points.
    s : int or sequence of ints, optional
        The number of points along each of the axes (-1: all of them): the array is truncated or padded with zeros.
    axes : sequence of ints, default (-2, -1)
        The axes, by default the last two.
    norm : str, optional
        As for `fft`.
    out : ndarray, optional
        The array to write the result to.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    TypeError
        For complex points.

    See Also
    --------
    rfftn

    Examples
    --------
    >>> cp.fft.rfft2([[1.0, 2.0], [3.0, 4.0]]).round(6)
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    return rfftn(a, s, axes, norm, out)


def irfft2(
    a: ArrayLike, s: Points | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None,
    out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Applies `irfftn` along two axes, the last two by default.

    Parameters
    ----------
    a : array_like
        Real or complex values.
    s : int or sequence of ints, optional
        The number of points along each of the axes (-1: all of them): the array is truncated or padded with zeros.
    axes : sequence of ints, default (-2, -1)
        The axes, by default the last two.
    norm : str, optional
        As for `fft`.
    out : ndarray, optional
        The array to write the result to.

    Returns
    -------
    ndarray
        A real array.

    Raises
    ------
    ValueError
        Unless `s` and `axes` have the same length.

    See Also
    --------
    rfft2, rfft, irfft, irfftn

    Examples
    --------
    >>> cp.fft.irfft2([[4.0, 0.0], [0.0, 0.0]]).round(6)
    array([[1., 1.],
           [1., 1.]])
    """
    return irfftn(a, s, axes, norm, out)


__all__ = ["fft2", "fftn", "ifft2", "ifftn", "irfft2", "irfftn", "rfft2", "rfftn"]
