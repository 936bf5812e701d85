"""What parameters mean that several functions have; docstrings describe only others."""

from __future__ import annotations

from cuprous._common import naming

documented = naming.documented({
    "a : array_like": "The denominator's coefficients.",
    "x : array_like": "The array.",
    "axis : int": "The axis.",
    "fs : float": "The sampling frequency.",
    "N : int": "The order.",
    "analog : bool": "Whether the filter is an analog one.",
    "rp : float": "The ripple of the passband, in decibels.",
    "rs : float": "The least attenuation of the stopband, in decibels.",
    "b : array_like": "The numerator's coefficients.",
    "z : array_like": "The zeros.",
    "p : array_like": "The poles.",
    "k : float": "The gain.",
    "system : lti or tuple of array_like":
        "An `lti` system, or a tuple of (num, den), (zeros, poles, gain) or (A, B, C, D).",
    "tol : float": "The distance of roots that count as one.",
    "rtype : str": 'The value of a multiple root: "avg", "min" or "max".',
    "wp : float or array_like": "The edges of the passband.",
    "ws : float or array_like": "The edges of the stopband.",
    "gpass : float": "The greatest loss in the passband, in decibels.",
    "gstop : float": "The least attenuation in the stopband, in decibels.",
    "wo : float": "The new critical or center frequency.",
    "window : str, tuple or array_like": "The window of the segments: as for `get_window`, or a vector.",
    "worN : int or array_like": "The number of frequencies, or the frequencies.",
    "whole : bool": "Whether the frequencies go around the whole circle.",
    "M : int": "The number of points.",
    "sym : bool": "Whether the window is symmetric, for filters, rather than periodic, for spectra.",
    "nfft : int": "The transforms' length, reached by zero padding; `nperseg` by default.",
})  # fmt: skip
