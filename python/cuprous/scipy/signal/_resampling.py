"""Resampling, analytic signals, and the filters for them."""

from __future__ import annotations

import math
import operator
from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray, normalize_axis
from cuprous._common.operands import on_array_device
from cuprous.lib.stride_tricks import sliding_window_view
from cuprous.scipy import fft as _fft
from cuprous.scipy.ndimage import uniform_filter
from cuprous.scipy.ndimage._structures import host
from cuprous.scipy.signal._design import cheby1
from cuprous.scipy.signal._forms import zpk2sos
from cuprous.scipy.signal._parameters import documented
from cuprous.scipy.signal._recursive import filtfilt, lfilter, sosfilt, sosfiltfilt
from cuprous.scipy.signal.windows import get_window

_map = _core.map


def _weights(index: ndarray, n: int, last: int) -> ndarray:
    """Returns 2 for positive frequencies, 1 for zero and (of even lengths) the Nyquist frequency, 0 for negative
    ones."""
    middle = _map("logical_or", index == 0, _map("logical_and", index == n // 2, n % 2 == 0))
    return _map("where", middle, 1.0, _map("where", index <= last, 2.0, 0.0))


@on_array_device
def hilbert(x: Any, N: int | None = None, axis: int = -1) -> ndarray:
    """Returns the analytic signal: the signal plus i times its Hilbert transform, which has no negative frequencies.

    Parameters
    ----------
    x : array_like
        A real array.
    N : int, optional
        The transform's length, reached by zero padding or truncation; the axis' length by default.
    axis : int, default -1
        The axis.

    Returns
    -------
    ndarray
        A complex array.

    Raises
    ------
    ValueError
        For complex signals, and an N that is not positive.

    See Also
    --------
    scipy.signal.detrend

    Examples
    --------
    >>> cp.scipy.signal.hilbert([1.0, 0.0, -1.0, 0.0]).round(6)
    array([ 1.+0.j,  0.+1.j, -1.+0.j,  0.-1.j])
    """
    a = array(x)
    if _dtypes.kind(a.dtype_name) == "c":
        raise ValueError("x must be real.")
    axis = normalize_axis(axis, a.ndim)
    n = a.shape[axis] if N is None else N
    if n <= 0:
        raise ValueError("N must be positive.")
    spectrum = _fft.fft(cp.moveaxis(a, axis, -1), n)
    weights = _weights(cp.arange(n), n, (n - 1) // 2)
    result = _fft.ifft(spectrum * _core.cast(weights, _dtypes.component(spectrum.dtype_name)))
    return cp.moveaxis(result, -1, axis)


@on_array_device
@documented
def resample(x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time") -> Any:
    """Resamples a periodic signal to `num` samples by Fourier transforms.

    Parameters
    ----------
    num : int
        The number of samples in the result.
    t : array_like, optional
        The sample times; if given, the new sample times are returned too.
    window : str, tuple, array_like or callable, optional
        A window for the spectrum: as for `get_window`, a vector, or a function of the frequencies.
    domain : str, default "time"
        "time", or "freq" if `x` is a spectrum.

    Returns
    -------
    ndarray
        An array with `num` samples along the axis; with `t` a pair of it and the sample times.

    Raises
    ------
    ValueError
        For an unknown domain, and a window of another length.

    See Also
    --------
    decimate, resample_poly

    Examples
    --------
    >>> cp.scipy.signal.resample(cp.asarray([1.0, 0.0, -1.0, 0.0]), 8).round(6)
    array([ 1.      ,  0.707107,  0.      , -0.707107, -1.      , -0.707107,
            0.      ,  0.707107])
    """
    if domain not in ("time", "freq"):
        raise ValueError(f"Parameter domain={domain!r} not in ('time', 'freq')!")
    a = array(x)
    axis = normalize_axis(axis, a.ndim)
    rows = cp.moveaxis(a, axis, -1)
    n = rows.shape[-1]
    real = _dtypes.kind(a.dtype_name) != "c" and domain == "time"
    spectrum = rows if domain == "freq" else _fft.fft(rows)
    if window is not None:
        if callable(window):
            values = array(window(_fft.fftfreq(n)))
        elif isinstance(window, ndarray):
            values = window
            if values.shape != (n,):
                raise ValueError(f"window.shape={values.shape} != ({n},), i.e., window length is not equal to number "
                                 "of frequency bins!")  # fmt: skip
        else:
            values = _fft.fftshift(get_window(window, n))  # like SciPy, off by one sample for odd n
        spectrum = spectrum * _core.cast(values, _dtypes.component(spectrum.dtype_name))
    least = min(n, num)
    half = least // 2 + 1  # the number of nonnegative frequencies in both spectra
    low = spectrum[..., :half]
    high = spectrum[..., n - (least - half) :]
    if least % 2 == 0 and n != num:
        middle = least // 2
        # Downsampling adds the coefficient at -middle to the one at +middle; upsampling splits it between them.
        both = spectrum[..., n - middle : n - middle + 1]
        shared = low[..., middle:] + both if num < n else low[..., middle:] * 0.5
        low = cp.concatenate([low[..., :middle], shared], axis=-1)
        if num > n:
            high = cp.concatenate([shared, high], axis=-1)
    gap = num - low.shape[-1] - high.shape[-1]
    zeros = cp.zeros((*rows.shape[:-1], gap), spectrum.dtype_name)
    result = _fft.ifft(cp.concatenate([low, zeros, high], axis=-1)) * (num / n)
    result = cp.moveaxis(cp.real(result) if real else result, -1, axis)
    if t is None:
        return result
    times = array(t)
    return result, cp.arange(num) * (times[1] - times[0]) * (n / num) + times[0]


@on_array_device
@documented
def upfirdn(h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: float = 0
            ) -> ndarray:  # fmt: skip
    """Upsamples by inserting `up` - 1 zeros after each sample, filters, and keeps every `down`-th output. Computed as a
    product of signal windows with the filter's polyphase components, which skips the zeros.

    Parameters
    ----------
    h : array_like
        The filter's coefficients.
    up : int, default 1
        The upsampling factor.
    down : int, default 1
        The downsampling factor.
    mode : str, default "constant"
        Must be "constant".
    cval : float, default 0
        Must be 0.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        For coefficients that are not a vector, and factors below 1.
    NotImplementedError
        For other modes and boundary values.

    See Also
    --------
    scipy.signal.resample_poly

    Examples
    --------
    >>> cp.scipy.signal.upfirdn([1.0, 1.0], [1.0, 2.0, 3.0], up=2)
    array([1., 1., 2., 2., 3., 3.])
    """
    if mode != "constant" or cval != 0:
        raise NotImplementedError(f"[upfirdn] mode={mode!r} with cval={cval!r} is not supported; use 'constant' with 0")
    weights, a = array(h), array(x)
    if weights.ndim != 1 or weights.size == 0:
        raise ValueError("h must be 1-D with non-zero length")
    if up < 1 or down < 1:
        raise ValueError("Both up and down must be >= 1")
    name = _core.promote_types(_dtypes.inexact(a.dtype_name), _dtypes.inexact(weights.dtype_name))
    axis = normalize_axis(axis, a.ndim)
    rows = _core.cast(cp.moveaxis(a, axis, -1), name)
    taps = -(-weights.size // up)
    outer = rows.shape[:-1]
    edge = cp.zeros((*outer, taps - 1), name)
    windows = sliding_window_view(cp.concatenate([edge, rows, edge], axis=-1), taps, -1)
    phases = cp.concatenate([_core.cast(weights, name), cp.zeros(taps * up - weights.size, name)]).reshape([taps, up])
    result = cp.matmul(windows, cp.flip(phases, 0)).reshape([*outer, windows.shape[-2] * up])
    length = -(-((rows.shape[-1] - 1) * up + weights.size) // down)
    return cp.moveaxis(result[..., ::down][..., :length].copy(), -1, axis)


def firwin(
    numtaps: int, cutoff: Any, *, width: float | None = None, window: Any = "hamming", pass_zero: Any = True,
    scale: bool = True, fs: float | None = None,
) -> ndarray:  # fmt: skip
    """Returns the coefficients of an FIR filter with the given passbands, by the window method; computed on the host.

    Parameters
    ----------
    numtaps : int
        The number of coefficients; odd if the Nyquist frequency passes.
    cutoff : array_like
        The edges of the bands, increasing, between 0 and fs / 2.
    width : float, optional
        The transition width, which selects a Kaiser window.
    window : str, tuple or array_like, default "hamming"
        As for `get_window`.
    pass_zero : bool, default True
        Whether frequency 0 passes; or "lowpass", "highpass", "bandpass", "bandstop".
    scale : bool, default True
        Whether the gain at the center of the first passband is 1.
    fs : float, optional
        The sampling frequency (2 by default).

    Returns
    -------
    ndarray
        An array of shape (numtaps,).

    Raises
    ------
    ValueError
        For edges that are out of range or unordered, an even number of coefficients for filters that pass the Nyquist
        frequency, and unknown kinds.

    See Also
    --------
    firwin2, firls, minimum_phase

    Examples
    --------
    >>> cp.scipy.signal.firwin(3, 0.5).round(6)
    array([0.046221, 0.907557, 0.046221])
    """
    import numpy as np

    nyquist = 0.5 * (2.0 if fs is None else float(fs))
    edges = np.atleast_1d(host(cutoff)).astype(float) / nyquist
    if edges.ndim > 1:
        raise ValueError("The cutoff argument must be at most one-dimensional.")
    if edges.size == 0:
        raise ValueError("At least one cutoff frequency must be given.")
    if edges.min() <= 0 or edges.max() >= 1:
        raise ValueError("Invalid cutoff frequency: frequencies must be greater than 0 and less than fs/2.")
    if (np.diff(edges) <= 0).any():
        raise ValueError("Invalid cutoff frequencies: the frequencies must be strictly increasing.")
    if width is not None:
        attenuation = 2.285 * (numtaps - 1) * math.pi * (width / nyquist) + 7.95
        window = ("kaiser", kaiser_beta(attenuation))
    kinds = {"lowpass": (True, 1), "highpass": (False, 1), "bandstop": (True, 2), "bandpass": (False, 2)}
    if isinstance(pass_zero, str):
        if pass_zero not in kinds:
            raise ValueError(f"Parameter pass_zero={pass_zero!r} not in (True, False, {', '.join(map(repr, kinds))})")
        zero, count = kinds[pass_zero]
        if (edges.size == 1) != (count == 1):
            raise ValueError(f'cutoff must have {"one element" if count == 1 else "at least two elements"} if '
                             f'pass_zero=="{pass_zero}", got {edges.shape}')  # fmt: skip
        pass_zero = zero
    last = bool(edges.size & 1) ^ bool(pass_zero)
    if last and numtaps % 2 == 0:
        raise ValueError("A filter with an even number of coefficients must have zero response at the Nyquist "
                         "frequency.")  # fmt: skip
    bands = np.concatenate([[0.0] if pass_zero else [], edges, [1.0] if last else []]).reshape(-1, 2)
    m = np.arange(numtaps) - 0.5 * (numtaps - 1)
    weights = sum(right * np.sinc(right * m) - left * np.sinc(left * m) for left, right in bands)
    weights = weights * host(get_window(window, numtaps, fftbins=False))
    if scale:
        left, right = bands[0]
        middle = 0.0 if left == 0 else 1.0 if right == 1 else 0.5 * (left + right)
        weights = weights / np.sum(weights * np.cos(np.pi * m * middle))
    return _core.from_numpy(weights)


def kaiser_beta(a: float) -> float:
    """Returns the parameter beta of a Kaiser window for an attenuation of `a` decibels (J. F. Kaiser, 1974).

    Parameters
    ----------
    a : float
        The attenuation in decibels.

    Returns
    -------
    float

    See Also
    --------
    scipy.signal.get_window

    Examples
    --------
    >>> round(cp.scipy.signal.kaiser_beta(60.0), 3)
    5.653
    """
    if a > 50:
        return 0.1102 * (a - 8.7)
    return 0.5842 * (a - 21) ** 0.4 + 0.07886 * (a - 21) if a > 21 else 0.0


def kaiser_atten(numtaps: int, width: float) -> float:
    """Returns the attenuation in decibels of a Kaiser-window filter.

    Parameters
    ----------
    numtaps : int
        The number of coefficients.
    width : float
        The transition width relative to the Nyquist frequency.

    Returns
    -------
    float

    See Also
    --------
    kaiserord, kaiser_beta

    Examples
    --------
    >>> round(cp.scipy.signal.kaiser_atten(101, 0.1), 3)
    79.735
    """
    return 2.285 * (numtaps - 1) * math.pi * width + 7.95


@on_array_device
@documented
def resample_poly(x: Any, up: int, down: int, axis: int = 0, window: Any = ("kaiser", 5.0), padtype: str = "constant",
                  cval: Any = None) -> ndarray:  # fmt: skip
    """Resamples by the factor `up` / `down` with a polyphase filter.

    Parameters
    ----------
    up : int
        The upsampling factor.
    down : int
        The downsampling factor.
    window : str, tuple or array_like, default ('kaiser', 5.0)
        The filter's window, or its coefficients as a vector.
    padtype : str, default "constant"
        The extension beyond the ends: "constant", or the statistic that is subtracted before and added back after
        filtering: "mean", "median", "minimum", "maximum".
    cval : scalar, optional
        The constant (0 by default).

    Returns
    -------
    ndarray
        An array with `up / down` times as many samples along the axis.

    Raises
    ------
    ValueError
        For factors that are below 1 or not whole, coefficients that are not a vector, and `cval` without "constant".
    NotImplementedError
        For other paddings.

    See Also
    --------
    decimate, resample

    Examples
    --------
    >>> cp.scipy.signal.resample_poly(cp.ones(6), 1, 2).shape
    (3,)
    """
    if up != int(up) or down != int(down):
        raise ValueError("up and down must be integers")
    if up < 1 or down < 1:
        raise ValueError("up and down must be >= 1")
    if cval is not None and padtype != "constant":
        raise ValueError("cval has no effect when padtype is " + str(padtype))
    reductions: dict[str, Any] = {"mean": cp.mean, "median": cp.median, "minimum": cp.min, "maximum": cp.max}
    if padtype != "constant" and padtype not in reductions:
        raise NotImplementedError(f"[resample_poly] padtype={padtype!r} is not supported; use 'constant', "
                                  f"{', '.join(map(repr, reductions))}")  # fmt: skip
    a = array(x)
    axis = normalize_axis(axis, a.ndim)
    common = math.gcd(int(up), int(down))
    up, down = int(up) // common, int(down) // common
    if up == down == 1:
        return a.copy()
    n = a.shape[axis]
    length = -(-n * up // down)
    if isinstance(window, ndarray):
        if window.ndim > 1:
            raise ValueError("window must be 1-D")
        weights, half = window, (window.size - 1) // 2
    else:
        rate = max(up, down)
        half = 10 * rate
        weights = firwin(2 * half + 1, 1.0 / rate, window=window)
    if a.dtype_name in ("float32", "complex64") and not isinstance(window, ndarray):
        weights = _core.cast(weights, "float32")
    base: Any = reductions[padtype](a, axis=axis, keepdims=True) if padtype in reductions else cval
    # Leading zeros align an output with the first sample; trailing zeros yield the last outputs.
    before = down - half % down
    skipped = (half + before) // down
    after = 0
    while -(-((n - 1) * up + weights.size + before + after) // down) < length + skipped:
        after += 1
    name = weights.dtype_name
    weights = cp.concatenate([cp.zeros(before, name), weights * up, cp.zeros(after, name)])
    shifted = a if base is None else a - base
    result = cp.moveaxis(upfirdn(weights, shifted, up, down, axis), axis, -1)[..., skipped : skipped + length]
    result = cp.moveaxis(result.copy(), -1, axis)
    return result if base is None else result + base


def wiener(im: Any, mysize: Any = None, noise: Any = None) -> ndarray:
    """Applies a Wiener filter: each element moves towards its window's mean, the more so the smaller the window's
    variance. Computes in float64.

    Parameters
    ----------
    im : array_like
        The array.
    mysize : int or sequence of ints, optional
        The windows' extents (3 by default).
    noise : array_like, optional
        The noise power; by default the mean of the windows' variances.

    Returns
    -------
    ndarray
        An array of the shape of `im`, float64.

    Raises
    ------
    NotImplementedError
        For complex arrays.

    See Also
    --------
    scipy.signal.order_filter, scipy.signal.medfilt

    Examples
    --------
    >>> cp.scipy.signal.wiener(cp.asarray([1.0, 2.0, 9.0, 2.0, 1.0])).round(6)
    array([1.      , 3.185965, 5.780952, 3.185965, 1.      ])
    """
    a = array(im)
    if _dtypes.kind(a.dtype_name) == "c":
        raise NotImplementedError("[wiener] complex im= is not supported")
    a = _core.cast(a, "float64")
    sizes = [3] * a.ndim if mysize is None else host(mysize).reshape(-1).tolist()
    sizes = sizes * a.ndim if len(sizes) == 1 else sizes
    mean = uniform_filter(a, sizes, mode="constant")
    variance = uniform_filter(a * a, sizes, mode="constant") - mean * mean
    power = cp.mean(variance) if noise is None else noise
    value = (a - mean) * (1.0 - power / variance) + mean
    return _map("where", variance < power, mean, value)


def _decimated_by(form: Any, a: ndarray, factor: int, axis: int, zero_phase: bool) -> ndarray:
    """Filters by a system with poles, SciPy's own in the form of zeros, poles and gain, and takes each `factor`-th
    element."""
    import numpy as np

    if np.iscomplex(form.poles).any() or np.iscomplex(form.gain):
        transfer = form.to_tf()
        y = (filtfilt if zero_phase else lfilter)(transfer.num, transfer.den, a, axis)
    else:
        sections = zpk2sos(form.zeros, form.poles, form.gain)
        y = (sosfiltfilt if zero_phase else sosfilt)(sections, a, axis)
    return y[(*[slice(None)] * axis, slice(None, None, factor))].copy()


@on_array_device
@documented
def decimate(
    x: Any, q: int, n: int | None = None, ftype: Any = "iir", axis: int = -1, zero_phase: bool = True
) -> ndarray:
    """Keeps every q-th sample, after a lowpass (anti-aliasing) filter.

    Parameters
    ----------
    q : int
        The downsampling factor.
    n : int, optional
        The filter's order: by default 8 for "iir" (Chebyshev type I) and 20 q for "fir".
    ftype : str or dlti, default "iir"
        "iir" or "fir", or a system that filters; then `n` has no effect.
    zero_phase : bool, default True
        Whether to avoid a phase shift.

    Returns
    -------
    ndarray
        An array with every q-th sample along the axis.

    Raises
    ------
    ValueError
        For an unknown `ftype`.
    TypeError
        For a factor that is not an integer.

    See Also
    --------
    resample, resample_poly

    Examples
    --------
    >>> cp.scipy.signal.decimate(cp.ones(64), 4).shape
    (16,)
    """
    factor = operator.index(q)
    a = array(x)
    axis = normalize_axis(axis, a.ndim)
    if ftype == "iir":
        sections = cheby1(8 if n is None else operator.index(n), 0.05, 0.8 / factor, output="sos")
        if a.dtype_name in ("float32", "complex64"):
            sections = _core.cast(sections, "float32")
        y = sosfiltfilt(sections, a, axis) if zero_phase else sosfilt(sections, a, axis)
        return y[(*[slice(None)] * axis, slice(None, None, factor))].copy()
    if ftype == "fir":
        weights = firwin((20 * factor if n is None else operator.index(n)) + 1, 1.0 / factor, window="hamming")
    elif getattr(getattr(ftype, "host_system", None), "dt", None) is not None:
        form: Any = ftype.host_system.to_zpk()
        if form.poles.size:
            return _decimated_by(form, a, factor, axis, zero_phase)
        form = form.to_tf()
        weights = array(form.num / form.den[0])
    else:
        raise ValueError("invalid ftype")
    if a.dtype_name in ("float32", "complex64"):
        weights = _core.cast(weights, "float32")
    if zero_phase:
        return resample_poly(a, 1, factor, axis, weights)
    count = -(-a.shape[axis] // factor)
    return upfirdn(weights, a, 1, factor, axis)[(*[slice(None)] * axis, slice(count))].copy()
