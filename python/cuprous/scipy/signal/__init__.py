"""Signals: convolution, filters, spectra, peaks and windows, with `scipy.signal`'s names."""

from __future__ import annotations

from typing import Any

from cuprous.scipy._absent import absent
from cuprous.scipy.signal import windows
from cuprous.scipy.signal._chirp_z import CZT, ZoomFFT, czt, czt_points, zoom_fft
from cuprous.scipy.signal._convolution import (
    choose_conv_method,
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    correlation_lags,
)
from cuprous.scipy.signal._design import butter, cheby1, cheby2
from cuprous.scipy.signal._filters import detrend, medfilt, medfilt2d, order_filter, savgol_coeffs, savgol_filter
from cuprous.scipy.signal._forms import (
    abcd_normalize,
    bilinear,
    bilinear_zpk,
    cont2discrete,
    normalize,
    sos2tf,
    sos2zpk,
    ss2tf,
    ss2zpk,
    tf2sos,
    tf2ss,
    tf2zpk,
    zpk2sos,
    zpk2ss,
    zpk2tf,
)
from cuprous.scipy.signal._fourier import fftconvolve, oaconvolve
from cuprous.scipy.signal._fractions import invres, invresz, max_len_seq, place_poles, residue, residuez, unique_roots
from cuprous.scipy.signal._iir import (
    bessel,
    buttord,
    cheb1ord,
    cheb2ord,
    ellip,
    ellipord,
    gammatone,
    iircomb,
    iirdesign,
    iirfilter,
    iirnotch,
    iirpeak,
)
from cuprous.scipy.signal._orthants import (
    check_COLA,
    check_NOLA,
    deconvolve,
    gauss_spline,
    hilbert2,
    sepfir2d,
    vectorstrength,
)
from cuprous.scipy.signal._peaks import argrelextrema, argrelmax, argrelmin, find_peaks, peak_prominences, peak_widths
from cuprous.scipy.signal._prototypes import (
    besselap,
    buttap,
    cheb1ap,
    cheb2ap,
    ellipap,
    lp2bp,
    lp2bp_zpk,
    lp2bs,
    lp2bs_zpk,
    lp2hp,
    lp2hp_zpk,
    lp2lp,
    lp2lp_zpk,
)
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
from cuprous.scipy.signal._responses import (
    findfreqs,
    firls,
    firwin2,
    freqs,
    freqs_zpk,
    freqz,
    freqz_sos,
    freqz_zpk,
    group_delay,
    kaiserord,
    minimum_phase,
    sosfreqz,
)
from cuprous.scipy.signal._short_time import istft, stft
from cuprous.scipy.signal._spectral import coherence, csd, periodogram, spectrogram, welch
from cuprous.scipy.signal._systems import (
    StateSpace,
    TransferFunction,
    ZerosPolesGain,
    bode,
    dbode,
    dfreqresp,
    dimpulse,
    dlsim,
    dlti,
    dstep,
    freqresp,
    impulse,
    lsim,
    lti,
    step,
)
from cuprous.scipy.signal._waveforms import chirp, gausspulse, sawtooth, square, sweep_poly, unit_impulse
from cuprous.scipy.signal.windows import get_window

_ELSEWHERE = "use scipy.signal's on array.get()"
#: SciPy names that are not supported, each with the nearest alternative.
ALTERNATIVES = {
    "ShortTimeFFT": "use stft and istft",
    "cwt": "use fftconvolve with wavelets",
    "find_peaks_cwt": "use find_peaks",
    "lombscargle": _ELSEWHERE,
}


def __getattr__(name: str) -> Any:
    return absent(__name__, name, ALTERNATIVES)


__all__ = [
    "CZT", "StateSpace", "TransferFunction", "ZerosPolesGain", "ZoomFFT", "abcd_normalize", "argrelextrema",
    "argrelmax", "argrelmin", "bessel", "besselap", "bilinear", "bilinear_zpk", "bode", "buttap", "butter",
    "buttord", "cheb1ap", "cheb1ord", "cheb2ap", "cheb2ord", "cheby1", "cheby2", "check_COLA", "check_NOLA",
    "chirp", "choose_conv_method", "coherence", "cont2discrete", "convolve", "convolve2d", "correlate",
    "correlate2d", "correlation_lags", "csd", "czt", "czt_points", "dbode", "decimate", "deconvolve", "detrend",
    "dfreqresp", "dimpulse", "dlsim", "dlti", "dstep", "ellip", "ellipap", "ellipord", "fftconvolve", "filtfilt",
    "find_peaks", "findfreqs", "firls", "firwin", "firwin2", "freqresp", "freqs", "freqs_zpk", "freqz", "freqz_sos",
    "freqz_zpk", "gammatone", "gauss_spline", "gausspulse", "get_window", "group_delay", "hilbert", "hilbert2",
    "iircomb", "iirdesign", "iirfilter", "iirnotch", "iirpeak", "impulse", "invres", "invresz", "istft",
    "kaiser_atten", "kaiser_beta", "kaiserord", "lfilter", "lfilter_zi", "lfiltic", "lp2bp", "lp2bp_zpk", "lp2bs",
    "lp2bs_zpk", "lp2hp", "lp2hp_zpk", "lp2lp", "lp2lp_zpk", "lsim", "lti", "max_len_seq", "medfilt", "medfilt2d",
    "minimum_phase", "normalize", "oaconvolve", "order_filter", "peak_prominences", "peak_widths", "periodogram",
    "place_poles", "resample", "resample_poly", "residue", "residuez", "savgol_coeffs", "savgol_filter", "sawtooth",
    "sepfir2d", "sos2tf", "sos2zpk", "sosfilt", "sosfilt_zi", "sosfiltfilt", "sosfreqz", "spectrogram", "square",
    "ss2tf", "ss2zpk", "step", "stft", "sweep_poly", "tf2sos", "tf2ss", "tf2zpk", "unique_roots", "unit_impulse",
    "upfirdn", "vectorstrength", "welch", "wiener", "windows", "zoom_fft", "zpk2sos", "zpk2ss", "zpk2tf",
]  # fmt: skip
