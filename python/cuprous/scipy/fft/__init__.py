"""Fourier, cosine and sine transforms with `scipy.fft`'s names, for device arrays.

Transforms run on the CPU so far; on a GPU they raise NotImplementedError.
"""

from __future__ import annotations

from typing import Any

from cuprous.fft import fftfreq, fftshift, ifftshift, rfftfreq
from cuprous.fft._plans import get_fft_plan
from cuprous.scipy.fft import _cosines, _spectra
from cuprous.scipy.fft._backend import __ua_convert__, __ua_domain__, __ua_function__  # noqa: F401
from cuprous.scipy.fft._hankel import fht, fhtoffset, ifht
from cuprous.scipy.fft._workers import get_workers, next_fast_len, prev_fast_len, set_workers

FUNCTIONS = {**_spectra.FUNCTIONS, **_cosines.FUNCTIONS}
globals().update(FUNCTIONS)

__all__ = [
    "fftfreq", "fftshift", "fht", "fhtoffset", "get_fft_plan", "get_workers", "ifftshift", "ifht", "next_fast_len",
    "prev_fast_len", "rfftfreq", "set_workers", *FUNCTIONS,
]  # fmt: skip


def __getattr__(name: str) -> Any:  # tells type checkers what the names of the table are
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
