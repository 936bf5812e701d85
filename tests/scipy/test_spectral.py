"""`cuprous.scipy.signal`'s Fourier convolution, spectra and resampling against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import signal
from cuprous.scipy.signal import windows
from tests.support import assert_errors

from .compared import close

theirs = pytest.importorskip("scipy.signal")
pytestmark = pytest.mark.filterwarnings("ignore:nperseg", "ignore:Input data is complex")

RNG = np.random.default_rng(6)
SEGMENTS: list[dict[str, Any]] = [
    {}, {"nperseg": 64}, {"nperseg": 63, "detrend": False, "window": ("tukey", 0.3)},
    {"nperseg": 64, "noverlap": 20, "nfft": 100, "detrend": "linear", "scaling": "spectrum", "fs": 10.0},
    {"nperseg": 50, "return_onesided": False}, {"nperseg": 65, "nfft": 81},
]  # fmt: skip
PRODUCTS: list[tuple[Any, Any, Any]] = [
    ((9,), (4,), None), ((4,), (9,), None), ((1000,), (5,), None), ((5,), (1000,), None), ((6, 7), (3, 2), None),
    ((6, 3), (2, 5), None), ((300, 4), (5, 3), None), ((3, 400), (1, 5), [1]), ((1, 5), (300, 5), 0),
    ((300, 3), (3, 300), None),
]  # fmt: skip
PARAMETERS: dict[str, Any] = {
    "chebwin": (60,), "general_cosine": ([0.5, 0.3],), "general_gaussian": (1.5, 3.0), "general_hamming": (0.6,),
    "kaiser": (5.0,), "gaussian": (3.0,), "kaiser_bessel_derived": (3.0,),
    "dpss": (2.5,),
}  # fmt: skip


def draw(shape: Any, dtype: str) -> Any:
    """Normal numbers."""
    values = RNG.normal(size=shape) * 5
    return (values + 1j * RNG.normal(size=shape) if dtype == "c16" else values).astype(dtype)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
@pytest.mark.parametrize("name", ["fftconvolve", "oaconvolve"])
def test_convolution(name: str, dtype: str) -> None:
    ours, its = getattr(signal, name), getattr(theirs, name)
    for n, k, axes in PRODUCTS:
        a, v = draw(n, dtype), draw(k, "f4" if dtype == "f4" else "f8")
        for mode in ("full", "same", "valid"):
            try:
                expected = its(a, v, mode, axes)
            except ValueError:
                with pytest.raises(ValueError, match="valid"):
                    ours(cp.asarray(a), cp.asarray(v), mode, axes)
                continue
            close(ours(cp.asarray(a), cp.asarray(v), mode, axes), expected, 1e-5 if dtype == "f4" else 1e-11)
    assert ours(cp.zeros(0), cp.ones(3)).shape == (0,)


def test_convolve_chooses() -> None:
    for dtype in ("f8", "i4"):
        a, v = draw(700, dtype), draw(600, dtype)
        for name in ("convolve", "correlate"):
            for mode in ("full", "same", "valid"):
                args = (cp.asarray(a), cp.asarray(v), mode)
                close(getattr(signal, name)(*args, method="fft"), getattr(theirs, name)(a, v, mode, "fft"), 1e-11)
                close(getattr(signal, name)(*args), getattr(theirs, name)(a, v, mode, "direct"), 1e-11)
    long = cp.zeros(20000)
    assert signal.choose_conv_method(long, long) == ("fft" if long.device_name == "cpu" else "direct")
    assert signal.choose_conv_method(long, long[:9]) == "direct"
    assert signal.choose_conv_method(cp.astype(long, "int64"), cp.astype(long, "int64")) == "direct"


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i4"])
@pytest.mark.parametrize("options", SEGMENTS, ids=str)
def test_spectra(options: dict[str, Any], dtype: str) -> None:
    tolerance = 3e-5 if dtype == "f4" else 1e-9
    for shape, axis in (((2, 300), -1), ((300, 2), 0)):
        x = draw(shape, dtype)
        y = (draw(shape, dtype) + 0.5 * x).astype("f8" if dtype == "i4" else dtype)
        a, b = cp.asarray(x), cp.asarray(y)
        close(signal.welch(a, axis=axis, **options), theirs.welch(x, axis=axis, **options), tolerance)
        close(signal.csd(a, b, axis=axis, **options), theirs.csd(x, y, axis=axis, **options), tolerance)
        close(signal.spectrogram(a, axis=axis, **options), theirs.spectrogram(x, axis=axis, **options), tolerance)
        rest = {k: v for k, v in options.items() if k not in ("nperseg", "noverlap")}
        close(signal.periodogram(a, axis=axis, **rest), theirs.periodogram(x, axis=axis, **rest), tolerance)
        rest = {k: v for k, v in options.items() if k not in ("return_onesided", "scaling")}
        close(signal.coherence(a, b, axis=axis, **rest), theirs.coherence(x, y, axis=axis, **rest), tolerance * 100)


def test_averages_and_modes() -> None:
    x = draw(500, "f8")
    a = cp.asarray(x)
    for n in (32, 33, 500):
        close(signal.welch(a, nperseg=n, average="median"), theirs.welch(x, nperseg=n, average="median"))
    close(signal.csd(a, a[:99], average="median", nperseg=64), theirs.csd(x, x[:99], average="median", nperseg=64))
    for mode in ("complex", "magnitude", "angle", "phase"):
        close(signal.spectrogram(a, nperseg=64, mode=mode), theirs.spectrogram(x, nperseg=64, mode=mode), 1e-8)
    w = windows.hann(40)
    close(signal.welch(a, window=w), theirs.welch(x, window=w.get()))
    close(signal.welch(a, detrend=lambda s: s * 2.0), theirs.welch(x, detrend=lambda s: s * 2.0))


@pytest.mark.parametrize("boundary", ["zeros", "even", "odd", "constant", None])
def test_transforms(boundary: Any) -> None:
    x = draw((2, 300), "f8")
    for padded in (True, False):
        for options in ({}, {"nperseg": 64, "noverlap": 20, "scaling": "psd"}, {"nperseg": 65}):
            options |= {"boundary": boundary, "padded": padded}
            close(signal.stft(cp.asarray(x), **options), theirs.stft(x, **options))


@pytest.mark.parametrize("options", [{"nperseg": 64}, {"nperseg": 65}, {"nperseg": 60, "noverlap": 45},
                                     {"nperseg": 64, "nfft": 80, "window": "hamming"}], ids=str)  # fmt: skip
def test_round_trip(options: dict[str, Any]) -> None:
    for dtype in ("f8", "c16"):
        x = draw((300, 2), dtype)
        z = theirs.stft(x, axis=0, **options)[2]
        rest = options | {"freq_axis": 0, "input_onesided": dtype == "f8"}
        ours = signal.istft(cp.asarray(z), **rest)
        close(ours, theirs.istft(z, **rest))
        np.testing.assert_allclose(ours[1].get().T[:300] if ours[1].shape[0] == 2 else ours[1].get()[:300], x,
                                   atol=1e-9)  # fmt: skip


def test_windows_by_name() -> None:
    for name in (*(n for n in windows.__all__ if n != "get_window"), "rect", "tri", "hann_symmetric"):
        wanted = (name, *PARAMETERS[name]) if name in PARAMETERS else name
        for n in (1, 2, 8, 51):
            for periodic in (True, False):
                try:
                    expected = theirs.get_window(wanted, n, periodic)
                except (ValueError, ZeroDivisionError):
                    continue
                np.testing.assert_allclose(signal.get_window(wanted, n, periodic).get(), expected, atol=1e-12)
    close(signal.get_window(4.0, 9), theirs.get_window(4.0, 9), 1e-13)


def test_slepian_windows() -> None:
    for n in (1, 16, 33):
        for norm in (None, 2, "approximate", "subsample"):
            for sym in (True, False):
                args = (n, 2.5, min(n, 4), sym, norm, True)
                close(windows.dpss(*args), theirs.windows.dpss(*args), 1e-9)
    for call, text in ((lambda: windows.dpss(8, 5.0), "NW"), (lambda: windows.dpss(8, 2.0, 9), "Kmax"),
                       (lambda: windows.dpss(8, 2.0, norm=3), "norm")):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            call()


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
def test_resampling(dtype: str) -> None:
    tolerance = 3e-5 if dtype == "f4" else 1e-10
    for shape, axis in (((71,), -1), ((40, 2), 0), ((1,), 0)):
        x = draw(shape, dtype)
        a = cp.asarray(x)
        for count in (1, 10, 33, 40, 71, 80, 141):
            for window in (None, "hann"):
                args = (None, axis, window)
                close(signal.resample(a, count, *args), theirs.resample(x, count, *args), tolerance)
        for up, down in ((2, 1), (1, 2), (3, 2), (4, 6), (5, 7)):
            h = np.arange(1.0, 8.0)
            close(signal.upfirdn(cp.asarray(h), a, up, down, axis), theirs.upfirdn(h, x, up, down, axis), tolerance)
            close(signal.resample_poly(a, up, down, axis), theirs.resample_poly(x, up, down, axis), tolerance)
            if dtype == "f8":
                args = (up, down, axis, ("kaiser", 5.0), "median")
                close(signal.resample_poly(a, *args), theirs.resample_poly(x, *args), tolerance)
        if dtype != "c16":
            for n in (None, 50, 121):
                close(signal.hilbert(a, n, axis), theirs.hilbert(x, n, axis), tolerance)


@pytest.mark.parametrize("kind", ["low", "high", "bandpass", "bandstop"])
@pytest.mark.parametrize(("name", "args"), [("butter", ()), ("cheby1", (1.0,)), ("cheby2", (30.0,))])
def test_recursive_design(name: str, args: Any, kind: str) -> None:
    x = draw(300, "f8")
    edges = [0.2, 0.5] if kind.startswith("band") else 0.3
    for n in (1, 2, 5, 8):
        ours, its = getattr(signal, name), getattr(theirs, name)
        close(ours(n, *args, edges, kind), its(n, *args, edges, kind), 1e-8)
        sections = its(n, *args, edges, kind, output="sos")
        mine = ours(n, *args, edges, kind, output="sos").get()
        np.testing.assert_allclose(theirs.sosfilt(mine, x), theirs.sosfilt(sections, x), atol=1e-8)
        assert all(len(v.get()) >= n for v in ours(n, *args, edges, kind, output="zpk")[1:2])
    close(ours(3, *args, np.multiply(edges, 50), kind, fs=100), its(3, *args, np.multiply(edges, 50), kind, fs=100))


def test_decimation() -> None:
    for shape, axis in (((200,), -1), ((90, 2), 0)):
        for dtype in ("f8", "c16"):
            x = draw(shape, dtype)
            for options in ({}, {"ftype": "fir"}, {"zero_phase": False}, {"ftype": "fir", "zero_phase": False, "n": 9}):
                ours = signal.decimate(cp.asarray(x), 3, axis=axis, **options)
                close(ours, theirs.decimate(x, 3, axis=axis, **options), 1e-8)


def test_design_and_denoising() -> None:
    for taps, cutoff in ((11, 0.3), (10, 0.3), (11, [0.2, 0.5]), (21, [0.1, 0.3, 0.7])):
        for options in ({}, {"scale": False}, {"window": ("kaiser", 4.0)}, {"width": 0.1}, {"pass_zero": False}):
            if taps % 2 or options.get("pass_zero", True):
                close(signal.firwin(taps, cutoff, **options), theirs.firwin(taps, cutoff, **options))
    x = draw((20, 30), "f8")
    close(signal.wiener(cp.asarray(x)), theirs.wiener(x))
    close(signal.wiener(cp.asarray(x), (5, 3), 0.3), theirs.wiener(x, (5, 3), 0.3))


def test_errors() -> None:
    x = cp.ones(300)
    assert_errors(
        (lambda: signal.welch(x, nperseg=64, noverlap=64), ValueError, "noverlap"),
        (lambda: signal.welch(x, nperseg=64, nfft=63), ValueError, "nfft"),
        (lambda: signal.welch(x, nperseg=0), ValueError, "nperseg"),
        (lambda: signal.welch(x, window="round"), ValueError, "Unknown window"),
        (lambda: signal.welch(x, window="kaiser"), ValueError, "parameters"),
        (lambda: signal.welch(x, window=cp.ones((2, 2))), ValueError, "1-D"),
        (lambda: signal.welch(x, scaling="psd"), ValueError, "scaling"),
        (lambda: signal.welch(x, average="mode"), ValueError, "average"),
        (lambda: signal.welch(x, axis=1), np.exceptions.AxisError, "axis 1"),
        (lambda: signal.csd(cp.ones((2, 99)), cp.ones((3, 99))), ValueError, "broadcast"),
        (lambda: signal.spectrogram(x, mode="power"), ValueError, "mode"),
        (lambda: signal.stft(x, boundary="wrap"), ValueError, "boundary"),
        (lambda: signal.istft(x), ValueError, "2d"),
        (lambda: signal.istft(cp.ones((3, 3)), time_axis=0, freq_axis=0), ValueError, "differing"),
        (lambda: signal.fftconvolve(x, x[None]), ValueError, "dimensionality"),
        (lambda: signal.fftconvolve(x, x, "whole"), ValueError, "mode"),
        (lambda: signal.fftconvolve(x, x, axes=[0, 0]), ValueError, "unique"),
        (lambda: signal.fftconvolve(x, x, axes=2), ValueError, "axes"),
        (lambda: signal.hilbert(x * 1j), ValueError, "real"),
        (lambda: signal.resample(x, 5, domain="space"), ValueError, "domain"),
        (lambda: signal.resample(x, 5, window=cp.ones(3)), ValueError, "window"),
        (lambda: signal.resample_poly(x, 0, 1), ValueError, "up and down"),
        (lambda: signal.upfirdn(cp.ones((2, 2)), x), ValueError, "1-D"),
        (lambda: signal.upfirdn(x, x, mode="wrap"), NotImplementedError, "mode"),
        (lambda: signal.firwin(10, 0.5, pass_zero=False), ValueError, "even number"),
        (lambda: signal.firwin(11, 1.5), ValueError, "cutoff"),
        (lambda: signal.butter(3, 1.5), ValueError, "critical frequencies"),
        (lambda: signal.butter(-1, 0.5), ValueError, "nonnegative"),
        (lambda: signal.butter(3, [0.2, 0.3]), ValueError, "single critical frequency"),
        (lambda: signal.butter(3, 0.2, "wide"), ValueError, "bandtype"),
        (lambda: signal.butter(3, 0.2, output="tf"), ValueError, "output form"),
        (lambda: signal.decimate(x, 3, ftype="none"), ValueError, "ftype"),
    )
    assert [v.shape for v in signal.welch(cp.zeros(0))] == [(0,), (0,)]


@pytest.mark.parametrize("design", ["butter", "cheby1", "cheby2"])
@pytest.mark.parametrize("kind", ["low", "high", "bandpass", "bandstop"])
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_zeros_and_poles(design: str, kind: str, n: int) -> None:
    """Zeros that are real by construction are real numbers; an order of 0 is a filter for each kind."""
    args = (n, *({"butter": [], "cheby1": [1], "cheby2": [20]}[design]), [0.2, 0.5] if "band" in kind else 0.3, kind)
    ours, expected = (getattr(m, design)(*args, output="zpk") for m in (signal, theirs))
    for mine, other in zip(ours[:2], expected[:2], strict=True):
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
        order = lambda v: np.sort_complex(np.round(v, 7))  # noqa: E731
        np.testing.assert_allclose(order(mine.get()), order(other), atol=1e-6)
    np.testing.assert_allclose(ours[2], expected[2])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int8"])
@pytest.mark.parametrize("zero_phase", [True, False])
@pytest.mark.parametrize("ftype", ["iir", "fir"])
def test_decimate_dtypes(dtype: str, ftype: str, zero_phase: bool) -> None:
    x, how = (RNG.normal(size=400) * 9).astype(dtype), {"ftype": ftype, "zero_phase": zero_phase}
    close(signal.decimate(cp.asarray(x), 4, **how), theirs.decimate(x, 4, **how), 1e-4, 1e-4)


@pytest.mark.parametrize("shapes", [((5, 8), (8,), -1), ((8,), (5, 8), -1), ((3, 8, 5), (8, 5), -2),
                                    ((5, 0), (8,), -1), ((8, 5), (3, 8, 5), -2)])  # fmt: skip
def test_cross_spectra_of_other_ranks(shapes: tuple[Any, Any, int]) -> None:
    """The axis counts in each operand by itself."""
    x, y = RNG.normal(size=shapes[0]), RNG.normal(size=shapes[1])
    expected = theirs.csd(x, y, nperseg=4, axis=shapes[2])
    found = signal.csd(cp.asarray(x), cp.asarray(y), nperseg=4, axis=shapes[2])
    for mine, other in zip(found, expected, strict=True):
        assert mine.shape == other.shape
        np.testing.assert_allclose(mine.get(), other)


@pytest.mark.parametrize("options", [
    {}, {"normalize": True}, {"normalize": "amplitude"}, {"floating_mean": True},
    {"floating_mean": True, "normalize": True},
    {"weights": "w"}, {"weights": "w", "floating_mean": True, "normalize": "amplitude"},
])  # fmt: skip
def test_samples_at_uneven_times(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    t = np.sort(rng.uniform(0, 30, 60))
    y, freqs, w = np.sin(2 * t) + rng.normal(size=60) + 1, np.linspace(0.1, 6, 40), rng.uniform(size=60)
    chosen = {key: w if value is w or value == "w" else value for key, value in options.items()}
    ours = signal.lombscargle(cp.asarray(t), y, freqs, **chosen)
    np.testing.assert_allclose(ours.get(), theirs.lombscargle(t, y, freqs, **chosen), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("arguments", [
    ([1.0], [1.0, 2.0], [1.0]), ([1.0], [1.0], [[1.0]]), ([], [], [1.0]), ([1.0], [1.0], []),
])  # fmt: skip
def test_wrong_samples_at_uneven_times(arguments: tuple[Any, ...]) -> None:
    for module in (signal, theirs):
        with pytest.raises(ValueError, match="must be"):
            module.lombscargle(*arguments)
        with pytest.raises(ValueError, match="weights must have only non-negative"):
            module.lombscargle([1.0], [1.0], [1.0], weights=[-1.0])
        with pytest.raises(ValueError, match="Normalize must be"):
            module.lombscargle([1.0], [1.0], [1.0], normalize="x")
