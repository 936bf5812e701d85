"""Power spectra from overlapping segments, averaged (P. D. Welch, IEEE Transactions on Audio and Electroacoustics 15
(1967)) or over time. Segments are views, not copies."""

from __future__ import annotations

import math
import warnings
from functools import reduce
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, broadcast_shapes, ndarray, normalize_axis
from cuprous._common.operands import on_array_device
from cuprous.lib.stride_tricks import sliding_window_view
from cuprous.scipy import fft as _fft
from cuprous.scipy.signal._filters import detrend as _detrend
from cuprous.scipy.signal._parameters import documented
from cuprous.scipy.signal.windows import get_window

_map = _core.map


def _window(window: Any, nperseg: int | None, n: int) -> tuple[ndarray, int]:
    """Returns the window's values and their number.

    Raises
    ------
    ValueError
        For windows that are unknown, not vectors, or of another length than `nperseg`.
    """
    if isinstance(window, (str, tuple)):
        count = 256 if nperseg is None else int(nperseg)
        if count < 1:
            raise ValueError("nperseg must be a positive integer")
        if count > n:
            warnings.warn(f"nperseg={count} is greater than signal length max(len(x), len(y)) = {n}, using "
                          f"nperseg = {n}", stacklevel=4)  # fmt: skip
            count = n
        return get_window(window, count), count
    values = array(window)
    if values.ndim != 1:
        raise ValueError("window must be 1-D")
    if n < values.size:
        raise ValueError("window is longer than input signal")
    if nperseg is not None and int(nperseg) != values.size:
        raise ValueError("value specified for nperseg is different from length of window")
    return values, values.size


def _overlap(noverlap: int | None, nperseg: int) -> int:
    count = nperseg // 2 if noverlap is None else int(noverlap)
    if count >= nperseg:
        raise ValueError("noverlap must be less than nperseg.")
    return count


def _points(nfft: int | None, nperseg: int) -> int:
    count = nperseg if nfft is None else int(nfft)
    if count < nperseg:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    return count


def _complex(*arrays: ndarray) -> str:
    """Returns the spectrum's dtype: complex64 for float32 and smaller, otherwise complex128."""
    return reduce(_core.promote_types, (a.dtype_name for a in arrays), "complex64")


def _transforms(x: ndarray, window: ndarray, step: int, nfft: int, detrend: Any, onesided: bool) -> ndarray:
    """Returns the transforms of the detrended, windowed segments of the last axis: shape (…, segments, frequencies)."""
    x = x if _dtypes.kind(x.dtype_name) in "fc" else _core.cast(x, _dtypes.component(_complex(x)))
    segments = sliding_window_view(x, window.size, -1)[..., ::step, :]
    if callable(detrend):
        segments = array(detrend(segments))
    elif detrend:
        segments = _detrend(segments, axis=-1, type=detrend)
    part = _dtypes.component(segments.dtype_name) if _dtypes.kind(window.dtype_name) != "c" else segments.dtype_name
    segments = segments * _core.cast(window, part)
    return _fft.rfft(segments, nfft) if onesided else _fft.fft(segments, nfft)


def _frequencies(nfft: int, fs: float, onesided: bool) -> ndarray:
    return _fft.rfftfreq(nfft, 1.0 / fs) if onesided else _fft.fftfreq(nfft, 1.0 / fs)


def _doubled(power: ndarray, nfft: int) -> ndarray:
    """Adds the powers of negative frequencies to the positive ones: doubles all but the first and, for an even number
    of points, the last."""
    index = cp.arange(power.shape[-1])
    once = index == 0
    if nfft % 2 == 0:
        once = _map("logical_or", once, index == nfft // 2)
    return _map("where", once, power, power * 2.0)


def _scale(window: ndarray, fs: float, scaling: str) -> Any:
    if scaling == "density":
        return 1.0 / (fs * cp.sum(_map("absolute", window) ** 2))
    if scaling == "spectrum":
        return 1.0 / cp.sum(window) ** 2
    raise ValueError(f"Unknown scaling: {scaling!r}")


def _powers(
    x: ndarray, y: ndarray | None, fs: float, window: ndarray, noverlap: int, nfft: int, detrend: Any, onesided: bool,
    scaling: str,
) -> ndarray:  # fmt: skip
    """Computes conj(X) Y for each segment of the last axis; y = None stands for `x` and gives real results."""
    name = _complex(x) if y is None else _complex(x, y)
    step = window.size - noverlap
    scale = _core.cast(_scale(window, fs, scaling), _dtypes.component(name))
    mine = _transforms(x, window, step, nfft, detrend, onesided)
    if y is None:
        real, imag = _map("real", mine), _map("imag", mine)
        power = (real * real + imag * imag) * scale
    else:
        power = _map("conjugate", mine) * _transforms(y, window, step, nfft, detrend, onesided) * scale
    return _doubled(power, nfft) if onesided else power


def _averaged(power: ndarray, average: str) -> ndarray:
    """Averages over the segments."""
    if average not in ("mean", "median"):
        raise ValueError(f"average must be 'median' or 'mean', got {average}")
    if average == "mean":
        return cp.mean(power, axis=-2)
    # The expected median of the powers of white noise, relative to their mean.
    bias = 1.0 + math.fsum(1.0 / (k + 1) - 1.0 / k for k in range(2, power.shape[-2], 2))
    if _dtypes.kind(power.dtype_name) == "c":
        parts = (cp.median(_map(part, power), axis=-2) / bias for part in ("real", "imag"))
        return _map("make_complex", *parts)
    return cp.median(power, axis=-2) / bias


def _spectrum(
    x: ndarray, y: ndarray | None, fs: float, window: Any, nperseg: int | None, noverlap: int | None, nfft: int | None,
    detrend: Any, return_onesided: bool, scaling: str, axis: int, average: str,
) -> tuple[ndarray, ndarray]:  # fmt: skip
    # The two operands may differ in their number of axes, so each has its own axis, as has the result.
    rows = cp.moveaxis(x, axis, -1)
    others = None if y is None else cp.moveaxis(y, axis, -1)
    n = rows.shape[-1]
    if others is not None:
        try:
            outer = broadcast_shapes(rows.shape[:-1], others.shape[:-1])
        except ValueError as error:
            raise ValueError("x and y cannot be broadcast together.") from error
        n = max(n, others.shape[-1])
        if rows.size == 0 or others.size == 0:
            empty = cp.moveaxis(cp.empty((*outer, min(rows.shape[-1], others.shape[-1]))), -1, axis)
            return empty, empty.copy()
        rows, others = (_filled(v, n) for v in (rows, others))
    elif rows.size == 0:
        return cp.empty(x.shape), cp.empty(x.shape)
    values, count = _window(window, nperseg, n)
    points = _points(nfft, count)
    overlap = _overlap(noverlap, count)
    real = all(_dtypes.kind(v.dtype_name) != "c" for v in (x, *([] if y is None else [y])))
    onesided = bool(return_onesided) and real
    power = _powers(rows, others, fs, values, overlap, points, detrend, onesided, scaling)
    return _frequencies(points, fs, onesided), cp.moveaxis(_averaged(power, average), -1, axis)


def _filled(a: ndarray, n: int) -> ndarray:
    """Pads the last axis with zeros to n elements."""
    if a.shape[-1] == n:
        return a
    return cp.concatenate([a, cp.zeros((*a.shape[:-1], n - a.shape[-1]), a.dtype_name)], axis=-1)


@on_array_device
@documented
def csd(
    x: Any, y: Any, fs: float = 1.0, window: Any = "hann_periodic", nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True,
    scaling: str = "density", axis: int = -1, average: str = "mean",
) -> tuple[ndarray, ndarray]:  # fmt: skip
    """Returns the cross spectral density of two signals, by Welch's method.

    Parameters
    ----------
    x : array_like
        The first signal.
    y : array_like
        The second signal, which broadcasts with `x` along other axes; the shorter one is padded with zeros.
    nperseg : int, optional
        The segments' length; by default 256, or that of the window vector.
    noverlap : int, optional
        The number of elements that neighboring segments share; half a segment by default.
    detrend : str, callable or bool, default "constant"
        "constant", "linear", False, or a function of the segments (…, segments, elements).
    return_onesided : bool, default True
        Whether negative frequencies of real signals are added to the positive ones.
    scaling : {"density", "spectrum"}, default "density"
        "density" (per frequency) or "spectrum".
    average : str, default "mean"
        "mean" or "median" over the segments.

    Returns
    -------
    pair of ndarrays
        Frequencies, and the density at each, along `axis`.

    Raises
    ------
    ValueError
        For inconsistent windows, overlaps and lengths, and unknown names.

    See Also
    --------
    periodogram, welch, coherence

    Examples
    --------
    >>> x = cp.sin(cp.arange(64.0))
    >>> f, p = cp.scipy.signal.csd(x, x, nperseg=16)
    >>> f.shape, p.shape
    ((9,), (9,))
    """
    return _spectrum(array(x), None if y is x else array(y), fs, window, nperseg, noverlap, nfft, detrend,
                     return_onesided, scaling, axis, average)  # fmt: skip


@on_array_device
@documented
def welch(
    x: Any, fs: float = 1.0, window: Any = "hann_periodic", nperseg: int | None = None, noverlap: int | None = None,
    nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density",
    axis: int = -1, average: str = "mean",
) -> tuple[ndarray, ndarray]:  # fmt: skip
    """Returns the power spectral density, averaged over segments.

    Parameters
    ----------
    x : array_like
        The signal.
    nperseg : int, optional
        The segments' length; by default 256, or that of the window vector.
    noverlap : int, optional
        The number of elements that neighboring segments share; half a segment by default.
    detrend : str, callable or bool, default "constant"
        "constant", "linear", False, or a function of the segments.
    return_onesided : bool, default True
        Whether negative frequencies of real signals are added to the positive ones.
    scaling : {"density", "spectrum"}, default "density"
        "density" (per frequency) or "spectrum".
    average : str, default "mean"
        "mean" or "median" over the segments.

    Returns
    -------
    pair of ndarrays
        A pair of the frequencies, and the density at each along `axis`.

    Raises
    ------
    ValueError
        For inconsistent windows, overlaps and lengths, and unknown names.

    See Also
    --------
    csd, periodogram

    Examples
    --------
    >>> f, p = cp.scipy.signal.welch(cp.sin(cp.arange(64.0)), nperseg=16)
    >>> f[cp.argmax(p)]
    array(0.1875)
    """
    return _spectrum(array(x), None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
                     average)  # fmt: skip


@on_array_device
@documented
def periodogram(
    x: Any, fs: float = 1.0, window: Any = "boxcar", nfft: int | None = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1,
) -> tuple[ndarray, ndarray]:  # fmt: skip
    """Returns the power spectral density of the whole signal as one segment.

    Parameters
    ----------
    x : array_like
        The signal.
    detrend : str, callable or bool, default "constant"
        "constant", "linear", False, or a function of the segments.
    return_onesided : bool, default True
        Whether negative frequencies of real signals are added to the positive ones.
    scaling : {"density", "spectrum"}, default "density"
        "density" (per frequency) or "spectrum".

    Returns
    -------
    pair of ndarrays
        A pair of the frequencies, and the density at each along `axis`.

    Raises
    ------
    ValueError
        For a window that is not as long as the axis.

    See Also
    --------
    welch

    Examples
    --------
    >>> f, p = cp.scipy.signal.periodogram([1.0, -1.0, 1.0, -1.0])
    >>> p.round(6)
    array([0., 0., 4.])
    """
    a = array(x)
    axis = normalize_axis(axis, a.ndim)
    if a.size == 0:
        return cp.empty(a.shape), cp.empty(a.shape)
    if nfft is not None and nfft < a.shape[axis]:
        a, nfft = a[(*[slice(None)] * axis, slice(nfft))], None
    window = "boxcar" if window is None else window
    n = a.shape[axis]
    if isinstance(window, ndarray) and window.size != n:
        raise ValueError("the size of the window must be the same size of the input on the specified axis")
    return welch(a, fs, window, n, 0, nfft, detrend, return_onesided, scaling, axis)


@on_array_device
@documented
def coherence(
    x: Any, y: Any, fs: float = 1.0, window: Any = "hann_periodic", nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant", axis: int = -1,
) -> tuple[ndarray, ndarray]:  # fmt: skip
    """Returns the coherence |Pxy|² / (Pxx Pyy) by frequency: how linearly two signals are related.

    Parameters
    ----------
    x : array_like
        The signal.
    y : array_like
        The second signal, which broadcasts with `x` along other axes.
    nperseg : int, optional
        The segments' length; by default 256, or that of the window vector.
    noverlap : int, optional
        The number of elements that neighboring segments share; half a segment by default.
    detrend : str, callable or bool, default "constant"
        "constant", "linear", False, or a function of the segments.

    Returns
    -------
    pair of ndarrays
        A pair of the frequencies, and the coherence at each along `axis`.

    Raises
    ------
    ValueError
        For inconsistent windows, overlaps and lengths, and unknown names.

    See Also
    --------
    periodogram, welch, csd

    Examples
    --------
    >>> x = cp.sin(cp.arange(64.0))
    >>> f, c = cp.scipy.signal.coherence(x, 2 * x, nperseg=16)
    >>> bool((c > 0.9).all())
    True
    """
    options = (fs, window, nperseg, noverlap, nfft, detrend)
    frequencies, xx = welch(x, *options, axis=axis)
    _, yy = welch(y, *options, axis=axis)
    _, xy = csd(x, y, *options, axis=axis)
    return frequencies, _map("absolute", xy) ** 2 / xx / yy


def _times(n: int, nperseg: int, noverlap: int, fs: float, extended: bool) -> ndarray:
    """Returns the times of the segments' centers."""
    count = (n - nperseg) // (nperseg - noverlap) + 1
    start = 0.0 if extended else nperseg / 2.0
    return (_core.cast(cp.arange(count), "float64") * float(nperseg - noverlap) + start) / float(fs)


@on_array_device
@documented
def spectrogram(
    x: Any, fs: float = 1.0, window: Any = ("tukey_periodic", 0.25), nperseg: int | None = None,
    noverlap: int | None = None, nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True,
    scaling: str = "density", axis: int = -1, mode: str = "psd",
) -> tuple[ndarray, ndarray, ndarray]:  # fmt: skip
    """Returns the spectra of successive segments.

    Parameters
    ----------
    nperseg : int, optional
        The segments' length; by default 256, or that of the window vector.
    noverlap : int, optional
        As for `csd`; an eighth of a segment by default.
    detrend : str, callable or bool, default "constant"
        "constant", "linear", False, or a function of the segments.
    return_onesided : bool, default True
        Whether negative frequencies of real signals are added to the positive ones.
    scaling : {"density", "spectrum"}, default "density"
        "density" (per frequency) or "spectrum".
    mode : {"psd", "complex", "magnitude", "angle", "phase"}, default "psd"
        "psd" (powers), "complex" (transforms), "magnitude", "angle" or "phase" (unwrapped angles).

    Returns
    -------
    tuple of ndarrays
        Frequencies, the times of the segments' centers, and the spectra, with frequencies along `axis` and times last.

    Raises
    ------
    ValueError
        As for `csd`, and for an unknown mode.

    See Also
    --------
    periodogram, welch, csd

    Examples
    --------
    >>> f, t, s = cp.scipy.signal.spectrogram(cp.sin(cp.arange(64.0)), nperseg=16)
    >>> s.shape
    (9, 4)
    """
    modes = ("psd", "complex", "magnitude", "angle", "phase")
    if mode not in modes:
        raise ValueError(f"unknown value for mode {mode}, must be one of {list(modes)}")
    a = array(x)
    axis = normalize_axis(axis, a.ndim)
    if a.size == 0:
        return cp.empty(a.shape), cp.empty(a.shape), cp.empty(a.shape)
    rows = cp.moveaxis(a, axis, -1)
    n = rows.shape[-1]
    values, count = _window(window, nperseg, n)
    overlap = _overlap(count // 8 if noverlap is None else noverlap, count)
    points = _points(nfft, count)
    onesided = bool(return_onesided) and _dtypes.kind(a.dtype_name) != "c"
    if mode == "psd":
        result = _powers(rows, None, fs, values, overlap, points, detrend, onesided, scaling)
    else:
        result = _transforms(rows, values, count - overlap, points, detrend, onesided)
        result = result * _core.cast(_map("sqrt", _scale(values, fs, scaling)), _dtypes.component(result.dtype_name))
    if mode == "magnitude":
        result = _map("absolute", result)
    elif mode in ("angle", "phase"):
        result = cp.angle(result)
        result = cp.unwrap(result, axis=-1) if mode == "phase" else result
    return _frequencies(points, fs, onesided), _times(n, count, overlap, fs, False), cp.moveaxis(result, -1, axis)
