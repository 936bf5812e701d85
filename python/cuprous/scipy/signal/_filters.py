"""Filters along an axis: median filters, Savitzky-Golay filters and detrending."""

from __future__ import annotations

import itertools
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray, normalize_axis
from cuprous._common.operands import on_array_device
from cuprous.scipy.ndimage import convolve1d, median_filter, rank_filter
from cuprous.scipy.ndimage._structures import host


def extended(rows: ndarray, edge: int, kind: str) -> ndarray:
    """Extends the last axis by `edge` elements at both ends: "even" or "odd" about the ends, "constant" or "zeros"."""
    first, last = rows[..., :1], rows[..., -1:]
    if kind in ("constant", "zeros"):
        ends = (first, last) if kind == "constant" else (cp.zeros_like(first),) * 2
        before, after = (_core.broadcast_to(v, (*rows.shape[:-1], edge)) for v in ends)
    else:
        n = rows.shape[-1]
        before, after = cp.flip(rows[..., 1 : edge + 1], -1), cp.flip(rows[..., n - 1 - edge : n - 1], -1)
        if kind == "odd":
            before, after = 2 * first - before, 2 * last - after
    return cp.concatenate([before, rows, after], axis=-1)


def medfilt(volume: Any, kernel_size: Any = None) -> ndarray:
    """Computes medians over windows of odd extents (3 by default), with zeros beyond the edges.

    Parameters
    ----------
    volume : array_like
        The array.
    kernel_size : int or sequence of ints, optional
        The extents of the windows, one for all axes or one for each.

    Returns
    -------
    ndarray
        An array of the shape of `volume`.

    Raises
    ------
    ValueError
        For even extents, and for bool, float16 and complex arrays.

    See Also
    --------
    cuprous.scipy.ndimage.median_filter, cuprous.scipy.signal.medfilt2d

    Examples
    --------
    >>> cp.scipy.signal.medfilt(cp.asarray([1.0, 9.0, 2.0, 3.0]))
    array([1., 2., 3., 2.])
    """
    a = cp.atleast_1d(array(volume))
    if a.dtype_name in ("bool", "float16", "bfloat16") or _dtypes.kind(a.dtype_name) == "c":
        raise ValueError(f"dtype={a.dtype_name} is not supported by medfilt")
    sizes = [3] * a.ndim if kernel_size is None else host(kernel_size).reshape(-1).tolist()
    sizes = sizes * a.ndim if len(sizes) == 1 else sizes
    if any(n % 2 != 1 for n in sizes):
        raise ValueError("Each element of kernel_size should be odd.")
    return median_filter(a, size=sizes, mode="constant", cval=0.0)


def medfilt2d(input: Any, kernel_size: Any = 3) -> ndarray:
    """Applies `medfilt` to a matrix.

    Parameters
    ----------
    input : array_like
        The matrix.
    kernel_size : int or sequence of ints, default 3
        The extents of the windows, one for both axes or one for each.

    Returns
    -------
    ndarray
        A matrix of the same shape.

    Raises
    ------
    ValueError
        For input that is not 2-d, and windows of even extents.

    See Also
    --------
    cuprous.scipy.ndimage.median_filter

    Examples
    --------
    >>> cp.scipy.signal.medfilt2d(cp.asarray([[1.0, 2.0, 3.0], [4.0, 9.0, 6.0], [7.0, 8.0, 9.0]]))
    array([[0., 2., 0.],
           [2., 6., 3.],
           [0., 6., 0.]])
    """
    a = array(input)
    if a.ndim != 2:
        raise ValueError("input must be 2-D")
    return medfilt(a, kernel_size)


def order_filter(a: Any, domain: Any, rank: int) -> ndarray:
    """Returns the element of a rank in each window, with zeros beyond the edges.

    Parameters
    ----------
    a : array_like
        The array.
    domain : array_like
        The elements that belong to a window, of odd extents; read on the host.
    rank : int
        The rank, from 0.

    Returns
    -------
    ndarray
        An array of the shape of `a`.

    Raises
    ------
    ValueError
        For windows of even extents, and bool, float16 and complex arrays.
    RuntimeError
        If the window has no such rank.

    See Also
    --------
    scipy.signal.medfilt, scipy.signal.wiener

    Examples
    --------
    >>> cp.scipy.signal.order_filter(cp.asarray([1.0, 9.0, 2.0, 3.0]), [1, 1, 1], 0)
    array([0., 1., 2., 0.])
    """
    window = host(domain)
    if any(n % 2 != 1 for n in window.shape):
        raise ValueError("Each dimension of domain argument should have an odd number of elements.")
    x = array(a)
    if x.dtype_name in ("bool", "float16", "bfloat16") or _dtypes.kind(x.dtype_name) == "c":
        raise ValueError(f"dtype={x.dtype_name} is not supported by order_filter")
    return rank_filter(x, rank, footprint=window, mode="constant", cval=0.0)


@on_array_device
def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False) -> ndarray:
    """Subtracts the mean ("constant") or the least-squares line ("linear") of each piece.

    Parameters
    ----------
    data : array_like
        The array.
    axis : int, default -1
        The axis.
    type : {"linear", "l", "constant", "c"}, default "linear"
        "linear" ("l") or "constant" ("c").
    bp : int or sequence of ints, default 0
        The indices at which new pieces begin, for "linear".
    overwrite_data : bool, default False
        Ignored; `data` is never changed.

    Returns
    -------
    ndarray
        An array of the shape of `data`.

    Raises
    ------
    ValueError
        For an unknown type, and breakpoints beyond the end.

    See Also
    --------
    scipy.signal.hilbert

    Examples
    --------
    >>> cp.scipy.signal.detrend([1.0, 2.0, 4.0], type="constant").round(6)
    array([-1.333333, -0.333333,  1.666667])
    """
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    a = array(data)
    a = a if a.dtype_name in ("float32", "float64", "complex64", "complex128") else _core.cast(a, "float64")
    axis = normalize_axis(axis, a.ndim)
    if type in ("constant", "c"):
        return a - cp.mean(a, axis=axis, keepdims=True)
    n = a.shape[axis]
    breaks = sorted({0, *(int(b) for b in host(bp).reshape(-1)), n})
    if breaks[-1] > n:
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    lines = cp.moveaxis(a, axis, -1)
    pieces = []
    for start, stop in itertools.pairwise(breaks):
        piece = lines[..., start:stop]
        t = _core.cast(_core.iota([stop - start], [2], 1 - (stop - start)), _dtypes.component(a.dtype_name))
        piece = piece - cp.mean(piece, axis=-1, keepdims=True)
        length = float(sum((2 * i + 1 - (stop - start)) ** 2 for i in range(stop - start)))
        pieces.append(piece - cp.sum(piece * t, axis=-1, keepdims=True) * (t / length) if length else piece)
    return cp.moveaxis(cp.concatenate(pieces, axis=-1), -1, axis)


def _coefficients(length: int, order: int, deriv: int, delta: float, pos: float) -> Any:
    """Returns the weights, on the host, of the `deriv`-th derivative at `pos` of the polynomial fitted to a window."""
    import math

    import numpy as np

    if order >= length:
        raise ValueError("polyorder must be less than window_length.")
    if deriv > order:
        return np.zeros(length)
    powers = np.vander(np.arange(length) - pos, order + 1, increasing=True).T
    wanted = np.zeros(order + 1)
    wanted[deriv] = math.factorial(deriv) / delta**deriv
    return np.linalg.lstsq(powers, wanted, rcond=None)[0]


def savgol_coeffs(
    window_length: int, polyorder: int, deriv: int = 0, delta: float = 1.0, pos: Any = None, use: str = "conv"
) -> ndarray:
    """Returns the weights of `savgol_filter`, computed on the host.

    Parameters
    ----------
    window_length : int
        The window's extent.
    polyorder : int
        The polynomial's order.
    deriv : int, default 0
        The derivative's order.
    delta : float, default 1.0
        The distance between elements.
    pos : int, optional
        The position in the window that is evaluated; by default the center.
    use : str, default "conv"
        "conv" for convolutions, "dot" for products.

    Returns
    -------
    ndarray
        An array of shape (window_length,).

    Raises
    ------
    ValueError
        For an order that is not less than the length, a position outside of the window, and `use` other than "conv" and
        "dot".

    See Also
    --------
    savgol_filter

    Examples
    --------
    >>> cp.scipy.signal.savgol_coeffs(5, 2).round(6)
    array([-0.085714,  0.342857,  0.485714,  0.342857, -0.085714])
    """
    half, odd = divmod(window_length, 2)
    if pos is None:
        pos = half if odd else half - 0.5
    if not 0 <= pos < window_length:
        raise ValueError("pos must be nonnegative and less than window_length.")
    if use not in ("conv", "dot"):
        raise ValueError("`use` must be 'conv' or 'dot'")
    weights = _coefficients(window_length, polyorder, deriv, delta, pos)
    return _core.from_numpy(weights[::-1].copy() if use == "conv" else weights)


@on_array_device
def savgol_filter(
    x: Any, window_length: int, polyorder: int, deriv: int = 0, delta: float = 1.0, axis: int = -1,
    mode: str = "interp", cval: float = 0.0,
) -> ndarray:  # fmt: skip
    """Fits a polynomial to the window around each element and evaluates it, or a derivative, at the center (A. Savitzky
    and M. Golay, Analytical Chemistry 36 (1964)).

    Parameters
    ----------
    x : array_like
        The array; dtypes other than float32 and float64 are converted to float64.
    window_length : int
        The window's extent.
    polyorder : int
        The polynomial's order.
    deriv : int, default 0
        The derivative's order.
    delta : float, default 1.0
        The distance between elements.
    axis : int, default -1
        The axis.
    mode : str, default "interp"
        "mirror", "constant", "nearest", "wrap", or "interp", which evaluates the outermost windows' polynomials.
    cval : float, default 0.0
        The value beyond the edges for "constant".

    Returns
    -------
    ndarray
        An array of the shape of `x`.

    Raises
    ------
    ValueError
        For another mode, an order that is not less than the length, and windows longer than the axis for "interp".

    See Also
    --------
    savgol_coeffs

    Examples
    --------
    >>> cp.scipy.signal.savgol_filter(cp.asarray([0.0, 1.0, 4.0, 9.0, 16.0]), 5, 2).round(6)
    array([ 0.,  1.,  4.,  9., 16.])
    """
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    a = array(x)
    a = a if a.dtype_name in ("float32", "float64") else _core.cast(a, "float64")
    weights = savgol_coeffs(window_length, polyorder, deriv, delta)
    if mode != "interp":
        return convolve1d(a, weights, axis, mode=mode, cval=cval)
    axis = normalize_axis(axis, a.ndim)
    n, half = a.shape[axis], window_length // 2
    if window_length > n:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    result = cp.moveaxis(convolve1d(a, weights, axis, mode="constant"), axis, -1)
    lines = cp.moveaxis(a, axis, -1)

    def ends(window: ndarray, positions: range) -> ndarray:
        rows = [_coefficients(window_length, polyorder, deriv, delta, float(p)) for p in positions]
        return cp.matmul(window, cp.asarray(rows, dtype=a.dtype_name).T)

    if half:
        first = ends(lines[..., :window_length], range(half))
        last = ends(lines[..., n - window_length :], range(window_length - half, window_length))
        result = cp.concatenate([first, result[..., half : n - half], last], axis=-1)
    return cp.moveaxis(result, -1, axis)
