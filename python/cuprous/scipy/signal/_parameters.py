"""What parameters mean that several functions have; docstrings describe only others."""

from __future__ import annotations

from cuprous._common import naming

documented = naming.documented({
    "a": "the denominator's coefficients.",
    "x": "the array.",
    "axis": "the axis.",
    "fs": "the sampling frequency.",
    "N": "the order.",
    "analog": "whether the filter is an analog one.",
    "rp": "the ripple of the passband, in decibels.",
    "rs": "the least attenuation of the stopband, in decibels.",
    "b": "the numerator's coefficients.",
    "z": "the zeros.",
    "p": "the poles.",
    "k": "the gain.",
    "system": "an `lti` system, or a tuple of (num, den), (zeros, poles, gain) or (A, B, C, D).",
    "tol": "the distance of roots that count as one.",
    "rtype": 'the value of a multiple root: "avg", "min" or "max".',
    "wp": "the edges of the passband.",
    "ws": "the edges of the stopband.",
    "gpass": "the greatest loss in the passband, in decibels.",
    "gstop": "the least attenuation in the stopband, in decibels.",
    "wo": "the new critical or center frequency.",
    "window": "the window of the segments: as for `get_window`, or a vector.",
    "worN": "the number of frequencies, or the frequencies.",
    "whole": "whether the frequencies go around the whole circle.",
    "M": "the number of points.",
    "sym": "whether the window is symmetric, for filters, rather than periodic, for spectra.",
    "nfft": "the transforms' length, reached by zero padding; `nperseg` by default.",
})  # fmt: skip
