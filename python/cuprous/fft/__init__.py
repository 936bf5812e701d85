"""Discrete Fourier transforms: `numpy.fft` for device arrays.

float16, bfloat16, float32 and complex64 are transformed in single precision, everything else in double precision.
On a GPU cuFFT computes them.
"""

from cuprous.fft import config as config
from cuprous.fft._frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from cuprous.fft._one_axis import fft, hfft, ifft, ihfft, irfft, rfft
from cuprous.fft._several_axes import fft2, fftn, ifft2, ifftn, irfft2, irfftn, rfft2, rfftn

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
