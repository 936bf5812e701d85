"""Signals: convolution, filters, spectra, peaks and windows, with `scipy.signal`'s names."""

from __future__ import annotations

from typing import Any

from cuprous.scipy._absent import absent
from cuprous.scipy.signal import windows
from cuprous.scipy.signal._chirp_z import CZT, ZoomFFT, czt, czt_points, zoom_fft
from cuprous.scipy.signal._convolution import choose_conv_method, convolve, convolve2d, correlate, correlate2d
from cuprous.scipy.signal._design import butter, cheby1, cheby2
from cuprous.scipy.signal._filters import detrend, medfilt, medfilt2d, savgol_coeffs, savgol_filter
from cuprous.scipy.signal._fourier import fftconvolve, oaconvolve
from cuprous.scipy.signal._peaks import argrelextrema, argrelmax, argrelmin, find_peaks, peak_prominences, peak_widths
from cuprous.scipy.signal._recursive import filtfilt, lfilter, lfilter_zi, lfiltic, sosfilt, sosfilt_zi, sosfiltfilt
from cuprous.scipy.signal._resampling import (
    decimate,
    firwin,
    hilbert,
    kaiser_atten,
    kaiser_beta,
    resample,
    resample_poly,
    upfirdn,
    wiener,
)
from cuprous.scipy.signal._short_time import istft, stft
from cuprous.scipy.signal._spectral import coherence, csd, periodogram, spectrogram, welch
from cuprous.scipy.signal.windows import get_window

_ELSEWHERE = "use scipy.signal's on array.get()"
#: SciPy names that are not supported, each with the nearest alternative.
ALTERNATIVES = {
    "ShortTimeFFT": "use stft and istft",
    "cwt": "use fftconvolve with wavelets",
    "bessel": "use scipy.signal's; lfilter takes its coefficients",
    "dlsim": "use lfilter or sosfilt",
    "ellip": "use scipy.signal's; lfilter takes its coefficients",
    "find_peaks_cwt": "use find_peaks",
    "lombscargle": _ELSEWHERE,
    "order_filter": "use ndimage.rank_filter",
    "sepfir2d": "use ndimage.correlate1d along both axes",
}


def __getattr__(name: str) -> Any:
    return absent(__name__, name, ALTERNATIVES)


__all__ = [
    "CZT", "ZoomFFT", "argrelextrema", "argrelmax", "argrelmin", "butter", "cheby1", "cheby2", "choose_conv_method",
    "coherence", "convolve", "convolve2d", "correlate", "correlate2d", "csd", "czt", "czt_points", "decimate",
    "detrend", "fftconvolve", "filtfilt", "find_peaks", "firwin", "get_window", "hilbert", "istft", "kaiser_atten",
    "kaiser_beta", "lfilter", "lfilter_zi", "lfiltic", "medfilt", "medfilt2d", "oaconvolve", "peak_prominences",
    "peak_widths", "periodogram", "resample", "resample_poly", "savgol_coeffs", "savgol_filter", "sosfilt",
    "sosfilt_zi", "sosfiltfilt", "spectrogram", "stft", "upfirdn", "welch", "wiener", "windows", "zoom_fft",
]  # fmt: skip
