"""`cuprous.scipy.signal` against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import signal
from tests.support import assert_errors

from . import compared

scipy_signal = pytest.importorskip("scipy.signal")

RNG = np.random.default_rng(2)
LINES = RNG.normal(size=(5, 40))
SIZES = [((9,), (4,)), ((4,), (9,)), ((9,), (1,)), ((7,), (7,)), ((6, 7), (3, 2)), ((3, 2), (6, 7)), ((6, 3), (2, 5)),
         ((8, 9), (4, 4)), ((4, 5, 6), (2, 3, 2))]  # fmt: skip
DTYPES = [("f8", "f8"), ("i8", "i4"), ("c16", "f8"), ("f8", "c16"), ("c16", "c16"), ("f4", "f4")]
WINDOWS: list[tuple[Any, ...]] = [
    ("bartlett",), ("blackman",), ("blackmanharris",), ("bohman",), ("boxcar",), ("cosine",),
    ("exponential", None, 3.0), ("flattop",), ("gaussian", 3.0), ("general_gaussian", 1.5, 3.0),
    ("general_hamming", 0.6), ("hamming",), ("hann",), ("kaiser", 5.0), ("nuttall",), ("parzen",), ("triang",),
    ("tukey",), ("tukey", 0.2), ("tukey", 1.0), ("general_cosine", [0.5, 0.3, 0.2]),
    ("general_cosine", []),
]  # fmt: skip


def close(ours: Any, theirs: Any, tolerance: float = 1e-11) -> None:
    compared.close(ours, theirs, tolerance, tolerance)


def draw(shape: tuple[int, ...], dtype: str) -> Any:
    """Normal numbers."""
    values = RNG.normal(size=shape) * 9
    return (values + 1j * RNG.normal(size=shape) if dtype == "c16" else values).astype(dtype)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("dtypes", DTYPES)
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_convolution(name: str, dtypes: tuple[str, str], sizes: Any) -> None:
    a, v = draw(sizes[0], dtypes[0]), draw(sizes[1], dtypes[1])
    ours, tolerance = getattr(signal, name), 1e-4 if "f4" in dtypes else 1e-11
    for mode in ("full", "same", "valid"):
        try:
            theirs = getattr(scipy_signal, name)(a, v, mode, method="direct")
        except ValueError:
            with pytest.raises(ValueError, match="valid"):
                ours(cp.asarray(a), cp.asarray(v), mode)
            continue
        close(ours(cp.asarray(a), cp.asarray(v), mode), theirs, tolerance)


@pytest.mark.parametrize(
    "sizes",
    [((5000,), (10,)), ((5000,), (301,)), ((5000,), (700,)), ((40, 50), (5, 7)), ((70, 300), (5, 40)),
     ((64, 64), (1, 25)), ((64, 64), (25, 1)), ((5, 300, 20), (1, 61, 1)), ((5, 400, 20), (1, 350, 1)),
     ((12, 20, 25), (3, 4, 5)), ((6, 30, 40), (1, 6, 4)), ((12, 20, 25), (3, 1, 5)), ((6, 5, 4, 3), (2, 2, 2, 2))],
)  # fmt: skip
def test_every_kind_of_window(sizes: Any) -> None:
    """Windows of one axis, short and long, and of several axes have loops and kernels of their own."""
    for dtype, tolerance in {"f4": 1e-3, "f8": 1e-10, "i4": 0.0, "i8": 0.0}.items():
        a, v = (RNG.integers(-9, 9, size=shape).astype(dtype) for shape in sizes)
        for mode in ("full", "same", "valid"):
            theirs = scipy_signal.convolve(a, v, mode, method="direct")
            close(signal.convolve(cp.asarray(a), cp.asarray(v), mode, method="direct"), theirs, tolerance)
            if a.ndim == 1:
                close(cp.convolve(cp.asarray(a), cp.asarray(v), mode), theirs, tolerance)


@pytest.mark.parametrize("sizes", [s for s in SIZES if len(s[0]) == 2])
@pytest.mark.parametrize("dtypes", DTYPES)
@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
def test_planes(name: str, dtypes: tuple[str, str], sizes: Any) -> None:
    a, v = draw(sizes[0], dtypes[0]), draw(sizes[1], dtypes[1])
    ours, tolerance = getattr(signal, name), 1e-4 if "f4" in dtypes else 1e-11
    for boundary in ("fill", "wrap", "symm"):
        for mode in ("same", "full"):
            close(ours(cp.asarray(a), cp.asarray(v), mode, boundary),
                  getattr(scipy_signal, name)(a, v, mode, boundary), tolerance)  # fmt: skip
    if dtypes == ("f8", "f8"):
        close(ours(cp.asarray(a), cp.asarray(v), "same", "fill", 1.5),
              getattr(scipy_signal, name)(a, v, "same", "fill", 1.5))  # fmt: skip
    close(ours(cp.asarray(a), cp.asarray(v)), getattr(scipy_signal, name)(a, v), tolerance)
    if all(n >= k for n, k in zip(*sizes, strict=True)):
        close(ours(cp.asarray(a), cp.asarray(v), "valid"), getattr(scipy_signal, name)(a, v, "valid"), tolerance)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows(window: tuple[Any, ...]) -> None:
    name, *args = window
    for m in (0, 1, 2, 3, 10, 11, 51):
        for sym in (True, False):
            theirs = getattr(scipy_signal.windows, name)(m, *args, sym=sym)
            close(getattr(signal.windows, name)(m, *args, sym=sym), theirs, 1e-13)


def test_filters() -> None:
    lines = cp.asarray(LINES)
    for axis in (0, 1):
        for kind in ("linear", "constant"):
            close(signal.detrend(lines, axis=axis, type=kind), scipy_signal.detrend(LINES, axis=axis, type=kind))
    close(signal.detrend(lines, bp=[10, 25]), scipy_signal.detrend(LINES, bp=[10, 25]))
    close(signal.medfilt(lines, [3, 5]), scipy_signal.medfilt(LINES, [3, 5]))
    close(signal.medfilt2d(lines, 3), scipy_signal.medfilt2d(LINES, 3))
    for size in (1, 2, 3, 4, 7, 8):
        b = RNG.normal(size=size)
        for axis in (0, 1):
            close(signal.lfilter(b, 2.0, lines, axis=axis), scipy_signal.lfilter(b, 2.0, LINES, axis=axis))
        close(signal.lfilter(b, [2.0], cp.arange(9)), scipy_signal.lfilter(b, [2.0], np.arange(9)))


@pytest.mark.parametrize("mode", ["mirror", "constant", "nearest", "interp", "wrap"])
def test_savgol(mode: str) -> None:
    for *orders, axis in ((7, 3, 0, 1), (7, 3, 1, 1), (7, 3, 2, 1), (5, 2, 0, 0), (6, 2, 0, 1), (5, 1, 2, 1)):
        args = (*orders, 0.5, axis, mode)
        close(signal.savgol_filter(cp.asarray(LINES), *args), scipy_signal.savgol_filter(LINES, *args), 1e-9)
    close(signal.savgol_coeffs(7, 3, use="dot"), scipy_signal.savgol_coeffs(7, 3, use="dot"))


def test_errors() -> None:
    a = cp.ones((4, 5))
    assert_errors(
        (lambda: signal.convolve(a, a[0]), ValueError, "dimensionality"),
        (lambda: signal.convolve(a, a, "whole"), ValueError, "mode"),
        (lambda: signal.convolve(a, a, method="sum"), ValueError, "method"),
        (lambda: signal.convolve2d(a[0], a[0]), ValueError, "2-D"),
        (lambda: signal.convolve2d(a, a, boundary="odd"), ValueError, "boundary"),
        (lambda: signal.choose_conv_method(a, a, measure=True), NotImplementedError, "measure"),
        (lambda: signal.medfilt(a, 4), ValueError, "odd"),
        (lambda: signal.savgol_filter(a, 3, 3), ValueError, "polyorder"),
        (lambda: signal.savgol_filter(a, 7, 2), ValueError, "window_length"),
        (lambda: signal.detrend(a, type="odd"), ValueError, "type"),
        (lambda: signal.windows.hann(-1), ValueError, "non-negative"),
    )
    assert signal.choose_conv_method(a, a) == "direct"
    assert signal.convolve(cp.zeros(0), cp.ones(3)).shape == (0,)
