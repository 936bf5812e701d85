"""Signals: convolution, filters and windows, with `scipy.signal`'s names. Convolutions are direct sums."""

from __future__ import annotations

from typing import Any

from cuprous.scipy._absent import absent
from cuprous.scipy.signal import windows
from cuprous.scipy.signal._convolution import choose_conv_method, convolve, convolve2d, correlate, correlate2d
from cuprous.scipy.signal._filters import detrend, lfilter, medfilt, medfilt2d, savgol_coeffs, savgol_filter

#: The nearest alternative to functions of SciPy's that there are none of here.
ALTERNATIVES = {
    "fftconvolve": "use convolve, which sums directly",
    "find_peaks": "use ndimage.maximum_filter1d, or scipy.signal's on array.get()",
    "oaconvolve": "use convolve, which sums directly",
    "spectrogram": "not yet; use scipy.signal's on array.get()",
    "welch": "not yet; use scipy.signal's on array.get()",
}


def __getattr__(name: str) -> Any:
    return absent(__name__, name, ALTERNATIVES)


__all__ = [
    "choose_conv_method", "convolve", "convolve2d", "correlate", "correlate2d", "detrend", "lfilter", "medfilt",
    "medfilt2d", "savgol_coeffs", "savgol_filter", "windows",
]  # fmt: skip
