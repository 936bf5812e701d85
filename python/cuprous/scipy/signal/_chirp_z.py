"""The z-transform along spirals, by Bluestein's algorithm: a convolution with a chirp, by three Fourier transforms."""

from __future__ import annotations

import cmath
import numbers
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common.arguments import array
from cuprous._common.operands import on_array_device
from cuprous._functions.manipulation import moveaxis
from cuprous.fft import fft, ifft
from cuprous.scipy.fft import next_fast_len
from cuprous.scipy.signal._parameters import documented

ndarray = _core.ndarray


def _points(count: Any, what: str, letter: str) -> int:
    if not isinstance(count, numbers.Integral) or isinstance(count, bool) or count < 1:
        raise ValueError(
            f"Invalid number of CZT {what} points ({count}) specified. {letter} must be positive and integer type."
        )
    return int(count)


class CZT:
    """The chirp z-transform of signals of one length, with its chirps computed once.

    Parameters
    ----------
    n : int
        The length of the signals.
    m : int, optional
        The number of points; n by default.
    w : complex, optional
        The ratio between neighboring points; by default the points lie evenly on the unit circle.
    a : complex, optional
        The first point.

    Raises
    ------
    ValueError
        For lengths that are not positive integers.

    See Also
    --------
    czt, ZoomFFT

    Examples
    --------
    >>> x = cp.arange(4.0)
    >>> transform = cp.scipy.signal.CZT(4)
    >>> bool(cp.allclose(transform(x), cp.fft.fft(x)))
    True
    """

    def __init__(self, n: int, m: int | None = None, w: complex | None = None, a: complex = 1 + 0j) -> None:
        self.n = _points(n, "data", "n")
        self.m = self.n if m is None else _points(m, "output", "m")
        self.w, self.a = cmath.exp(-2j * cmath.pi / self.m) if w is None else w, a
        k = cp.arange(max(self.m, self.n), dtype="int64")
        if w is None:
            # Squares modulo the period, so that long signals lose no digits.
            chirp = cp.exp((k * k % (2 * self.m)) * (-1j * cmath.pi / self.m))
        else:
            chirp = cp.asarray(w) ** (k * k / 2.0)
        self._prepare(chirp, cp.asarray(a) ** -(k[: self.n] + 0.0))

    def _prepare(self, chirp: ndarray, start: ndarray) -> None:
        n, m = self.n, self.m
        self._before = start * chirp[:n]
        self._after = chirp[:m]
        self._extent = next_fast_len(n + m - 1)
        self._filter = fft(1 / cp.concatenate((chirp[1:n][::-1], chirp[:m])), self._extent)

    def __call__(self, x: Any, *, axis: int = -1) -> ndarray:
        """Returns the transform along an axis.

        Parameters
        ----------
        x : array_like
            The signals.
        axis : int, default -1
            The axis.

        Returns
        -------
        ndarray
            A complex array with `m` elements along the axis.

        Raises
        ------
        ValueError
            If the axis has another length than `n`.
        """
        x = array(x)
        if x.shape[axis] != self.n:
            raise ValueError(f"CZT defined for length {self.n}, not {x.shape[axis]}")
        lines = moveaxis(x, axis, -1)
        product = ifft(self._filter * fft(lines * self._before, self._extent))
        return moveaxis(product[..., self.n - 1 : self.n + self.m - 1] * self._after, -1, axis)

    def points(self) -> ndarray:
        """Returns the points of the transform.

        Returns
        -------
        ndarray
            A complex array of `m` elements.

        Examples
        --------
        >>> cp.scipy.signal.CZT(3, m=2).points().round(6) + 0
        array([ 1.+0.j, -1.+0.j])
        """
        return czt_points(self.m, self.w, self.a)


class ZoomFFT(CZT):
    """The discrete Fourier transform within a range of frequencies, of signals of one length.

    Parameters
    ----------
    n : int
        The length of the signals.
    fn : array_like
        The range of frequencies, or its end if it starts at 0.
    m : int, optional
        The number of frequencies; n by default.
    fs : float, default 2
        The sampling frequency.
    endpoint : bool, default False
        Whether the end belongs to the range.

    Raises
    ------
    ValueError
        For lengths that are not positive integers, and ranges of other than one or two numbers.

    See Also
    --------
    zoom_fft

    Examples
    --------
    >>> x = cp.arange(4.0)
    >>> transform = cp.scipy.signal.ZoomFFT(4, [0, 2])
    >>> bool(cp.allclose(transform(x), cp.fft.fft(x)))
    True
    """

    def __init__(self, n: int, fn: Any, m: int | None = None, *, fs: float = 2, endpoint: bool = False) -> None:
        self.n = _points(n, "data", "n")
        self.m = self.n if m is None else _points(m, "output", "m")
        ends = cp.asarray(fn).reshape(-1).tolist()
        if len(ends) not in (1, 2):
            raise ValueError("fn must be a scalar or 2-length sequence")
        self.f1, self.f2 = (0.0, *ends)[-2:]
        self.fs = fs
        scale = (self.f2 - self.f1) / fs
        if endpoint:
            scale *= self.m / (self.m - 1)
        self.w, self.a = cmath.exp(-2j * cmath.pi / self.m * scale), cmath.exp(2j * cmath.pi * self.f1 / fs)
        k = cp.arange(max(self.m, self.n), dtype="float64")
        self._prepare(
            cp.exp(k * k * (-1j * cmath.pi * scale / self.m)),
            cp.exp(k[: self.n] * (-2j * cmath.pi * self.f1 / fs)),
        )


def czt_points(m: int, w: complex | None = None, a: complex = 1 + 0j) -> ndarray:
    """Returns the points at which `czt` computes the z-transform.

    Parameters
    ----------
    m : int
        The number of points.
    w : complex, optional
        The ratio between neighboring points; by default the points lie evenly on the unit circle.
    a : complex, optional
        The first point.

    Returns
    -------
    ndarray
        A complex array of `m` elements.

    Raises
    ------
    ValueError
        For numbers of points that are not positive integers.

    See Also
    --------
    CZT, czt

    Examples
    --------
    >>> cp.scipy.signal.czt_points(4).round(6) + 0
    array([ 1.+0.j,  0.+1.j, -1.+0.j,  0.-1.j])
    """
    m = _points(m, "output", "m")
    k = cp.arange(m)
    if w is None:
        return a * cp.exp(k * (2j * cmath.pi / m))
    return a * cp.asarray(w) ** -(k + 0.0)


@on_array_device
def czt(x: Any, m: int | None = None, w: complex | None = None, a: complex = 1 + 0j, *, axis: int = -1) -> ndarray:
    """Returns the z-transform at the points `a * w**-k`.

    Parameters
    ----------
    x : array_like
        The signals.
    m : int, optional
        The number of points; by default the signals' length.
    w : complex, optional
        The ratio between neighboring points; by default the points lie evenly on the unit circle.
    a : complex, optional
        The first point.
    axis : int, default -1
        The axis.

    Returns
    -------
    ndarray
        A complex array with `m` elements along the axis.

    Raises
    ------
    ValueError
        For numbers of points that are not positive integers, and empty signals.

    See Also
    --------
    CZT, zoom_fft

    Examples
    --------
    >>> cp.scipy.signal.czt(cp.asarray([1.0, 0.0, 0.0]), 2).round(6)
    array([1.+0.j, 1.+0.j])
    """
    x = array(x)
    return CZT(x.shape[axis], m, w, a)(x, axis=axis)


@on_array_device
@documented
def zoom_fft(
    x: Any, fn: Any, m: int | None = None, *, fs: float = 2, endpoint: bool = False, axis: int = -1
) -> ndarray:
    """Returns the discrete Fourier transform within a range of frequencies.

    Parameters
    ----------
    x : array_like
        The signals.
    fn : array_like
        The range of frequencies, or its end if it starts at 0.
    m : int, optional
        The number of frequencies; by default the signals' length.
    endpoint : bool, default False
        Whether the end belongs to the range.

    Returns
    -------
    ndarray
        A complex array with `m` elements along the axis.

    Raises
    ------
    ValueError
        For numbers of points that are not positive integers, and ranges of other than one or two numbers.

    See Also
    --------
    ZoomFFT

    Examples
    --------
    >>> cp.scipy.signal.zoom_fft(cp.asarray([1.0, 0.0, 0.0]), [0.5, 1.0], 2).round(6)
    array([1.+0.j, 1.+0.j])
    """
    x = array(x)
    return ZoomFFT(x.shape[axis], fn, m, fs=fs, endpoint=endpoint)(x, axis=axis)


__all__ = ["CZT", "ZoomFFT", "czt", "czt_points", "zoom_fft"]
