"""Short-time Fourier transforms, and their inverse by overlap-add."""

from __future__ import annotations

from typing import Any

import cuprous as cp
from cuprous import _core
from cuprous._common import dtypes as _dtypes
from cuprous._common.arguments import array, ndarray, normalize_axis
from cuprous._common.operands import on_array_device
from cuprous.scipy import fft as _fft
from cuprous.scipy.signal._filters import extended
from cuprous.scipy.signal._spectral import (
    _filled,
    _frequencies,
    _overlap,
    _points,
    _scale,
    _times,
    _transforms,
    _window,
)
from cuprous.scipy.signal.windows import get_window


def _scaling(scaling: str) -> str:
    if scaling not in ("psd", "spectrum"):
        raise ValueError(f"Parameter scaling={scaling!r} not in ['spectrum', 'psd']!")
    return "density" if scaling == "psd" else scaling


def _continued(rows: ndarray, half: int, boundary: str) -> ndarray:
    """Extends the signal by half a segment at both ends."""
    if half == 0:
        return rows
    n = rows.shape[-1]
    if boundary in ("even", "odd") and n <= half:
        raise ValueError(f"The extension length n ({half}) is too big. It must not exceed x.shape[axis]-1, which "
                         f"is {n - 1}.")  # fmt: skip
    return extended(rows, half, boundary)


@on_array_device
def stft(
    x: Any, fs: float = 1.0, window: Any = "hann_periodic", nperseg: int | None = 256, noverlap: int | None = None,
    nfft: int | None = None, detrend: Any = False, return_onesided: bool = True, boundary: str | None = "zeros",
    padded: bool = True, axis: int = -1, scaling: str = "spectrum",
) -> tuple[ndarray, ndarray, ndarray]:  # fmt: skip
    """Returns the short-time Fourier transform, from which `istft` restores the signal.

    Parameters
    ----------
    x : array_like
        The array.
    fs : float, default 1.0
        As for `csd`.
    window : str, tuple or array_like, default "hann_periodic"
        As for `csd`.
    nperseg : int or None, default 256
        As for `csd`.
    noverlap, nfft : int, optional
        As for `csd`.
    detrend : bool, default False
        As for `csd`.
    return_onesided : bool, default True
        As for `csd`.
    axis : int, default -1
        As for `csd`.
    boundary : str or None, default "zeros"
        The extension by half a segment at both ends: "zeros", "even", "odd", "constant", or None for no extension.
    padded : bool, default True
        Whether to pad the last segment with zeros.
    scaling : {"spectrum", "psd"}, default "spectrum"
        "spectrum" or "psd".

    Returns
    -------
    tuple of ndarrays
        Frequencies, segment times, and the transforms, with frequencies along `axis` and times along the last axis.

    Raises
    ------
    ValueError
        As for `csd`, and for an unknown boundary.

    See Also
    --------
    istft, welch, spectrogram, csd

    Examples
    --------
    >>> f, t, z = cp.scipy.signal.stft(cp.sin(cp.arange(64.0)), nperseg=16)
    >>> z.shape
    (9, 9)
    """
    scaling = _scaling(scaling)
    if boundary not in ("even", "odd", "constant", "zeros", None):
        raise ValueError(f"Unknown boundary option '{boundary}', must be one of: ['even', 'odd', 'constant', 'zeros', "
                         "None]")  # fmt: skip
    a = array(x)
    axis = normalize_axis(axis, a.ndim)
    if a.size == 0:
        return cp.empty(a.shape), cp.empty(a.shape), cp.empty(a.shape)
    rows = cp.moveaxis(a, axis, -1)
    values, count = _window(window, nperseg, rows.shape[-1])
    overlap, points = _overlap(noverlap, count), _points(nfft, count)
    step = count - overlap
    if boundary is not None:
        rows = _continued(rows, count // 2, boundary)
    if padded:
        rows = _filled(rows, rows.shape[-1] + (-(rows.shape[-1] - count) % step) % count)
    onesided = bool(return_onesided) and _dtypes.kind(a.dtype_name) != "c"
    result = _transforms(rows, values, step, points, detrend, onesided)
    result = result * _core.cast(_core.map("sqrt", _scale(values, fs, scaling)), _dtypes.component(result.dtype_name))
    times = _times(rows.shape[-1], count, overlap, fs, boundary is not None)
    return _frequencies(points, fs, onesided), times, cp.moveaxis(result, -1, axis)


def _overlapping_sum(segments: ndarray, step: int) -> ndarray:
    """Adds segments (…, count, length) that start `step` elements apart."""
    *outer, count, length = segments.shape
    steps = -(-length // step)
    blocks = _filled(segments, steps * step).reshape([*outer, count, steps, step])
    total: Any = None
    for k in range(steps):
        pieces = [cp.zeros((*outer, k, step), segments.dtype_name), blocks[..., k, :],
                  cp.zeros((*outer, steps - 1 - k, step), segments.dtype_name)]  # fmt: skip
        row = cp.concatenate(pieces, axis=-2)
        total = row if total is None else total + row
    return total.reshape([*outer, (count + steps - 1) * step])[..., : length + (count - 1) * step]


@on_array_device
def istft(
    Zxx: Any, fs: float = 1.0, window: Any = "hann_periodic", nperseg: int | None = None, noverlap: int | None = None,
    nfft: int | None = None, input_onesided: bool = True, boundary: bool = True, time_axis: int = -1,
    freq_axis: int = -2, scaling: str = "spectrum",
) -> tuple[ndarray, ndarray]:  # fmt: skip
    """Returns the signal whose `stft` is, or in the least-squares sense is nearest to, `Zxx`.

    Parameters
    ----------
    Zxx : array_like
        The segments' transforms.
    fs : float, default 1.0
        As for `stft`.
    window : str, tuple or array_like, default "hann_periodic"
        As for `stft`.
    nperseg, noverlap, nfft : int, optional
        As for `stft`.
    scaling : str, default "spectrum"
        As for `stft`.
    input_onesided : bool, default True
        Whether negative frequencies are omitted.
    boundary : bool, default True
        Whether `stft` extended the signal; if so, the extension is removed.
    time_axis : int, default -1
        The axis of the segments.
    freq_axis : int, default -2
        The axis of the frequencies.

    Returns
    -------
    pair of ndarrays
        Times and the signal. Where the squared windows add up to zero, the signal is not restored. Unlike SciPy this
        gives no warning, which would have to wait for the device.

    Raises
    ------
    ValueError
        For arrays with fewer than two axes, equal axes, and inconsistent arguments.

    See Also
    --------
    stft

    Examples
    --------
    >>> x = cp.sin(cp.arange(64.0))
    >>> f, t, z = cp.scipy.signal.stft(x, nperseg=16)
    >>> t, restored = cp.scipy.signal.istft(z)
    >>> bool(cp.allclose(restored, x))
    True
    """
    z = array(Zxx)
    if z.ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    if freq_axis == time_axis:
        raise ValueError("Must specify differing time and frequency axes!")
    freq, time = normalize_axis(freq_axis, z.ndim), normalize_axis(time_axis, z.ndim)
    default = 2 * (z.shape[freq] - 1) if input_onesided else z.shape[freq]
    count = default if nperseg is None else int(nperseg)
    if count < 1:
        raise ValueError("nperseg must be a positive integer")
    unfilled = count if input_onesided and count == default + 1 else default
    points = unfilled if nfft is None else _points(nfft, count)
    step = count - _overlap(noverlap, count)
    if isinstance(window, (str, tuple)):
        values = get_window(window, count)
    else:
        values = array(window)
        if values.ndim != 1:
            raise ValueError("window must be 1-D")
        if values.size != count:
            raise ValueError(f"window must have length of {count}")
    rows = cp.moveaxis(z, (time, freq), (-2, -1))
    pieces = (_fft.irfft(rows, points) if input_onesided else _fft.ifft(rows, points))[..., :count]
    values = _core.cast(values, pieces.dtype_name)
    scale = _core.cast(1.0 / _core.map("sqrt", _scale(values, fs, _scaling(scaling))), pieces.dtype_name)
    x = _overlapping_sum(pieces * values * scale, step)
    norm = _overlapping_sum(_core.broadcast_to(values * values, (rows.shape[-2], count)), step)
    if boundary:
        half = count // 2
        x, norm = (v[..., half : v.shape[-1] - half] if half else v[..., :0] for v in (x, norm))
    large = _core.map("absolute", norm) > 1e-10
    x = x / _core.map("where", large, norm, 1.0)
    if x.ndim > 1:
        x = cp.moveaxis(x, -1, time - (freq < time))
    return _core.cast(cp.arange(x.shape[0]), "float64") / float(fs), x
