"""Filter design and the z-transform along spirals against SciPy."""

from __future__ import annotations

import sys
from typing import Any
from unittest import mock

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import signal

scipy_signal = pytest.importorskip("scipy.signal")

B, A = np.array([0.2, 0.3, 0.1]), np.array([1.0, -0.5, 0.2])
Z, P = np.array([-1.0, 0.5]), np.array([0.3 + 0.2j, 0.3 - 0.2j])
SOS = np.array([[0.2, 0.3, 0.1, 1.0, -0.5, 0.2], [1.0, 0.2, 0.0, 1.0, 0.1, 0.0]])
MATRICES = (np.array([[-0.5, 0.1], [0.2, -0.3]]), np.array([[1.0], [0.5]]), np.array([[1.0, 2.0]]), np.array([[0.1]]))
BAND = np.array([0.2, 0.5])

#: Functions of SciPy with arguments, of which arrays are the device's here.
CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("iirfilter", (3, BAND), {"rs": 40, "ftype": "cheby2", "output": "sos"}),
    ("iirfilter", (2, 3.0), {"btype": "low", "analog": True, "ftype": "bessel"}),
    ("iirfilter", (2, 30.0), {"btype": "high", "fs": 100.0, "output": "zpk"}),
    ("butter", (3, 2.0, "low", True), {}),
    ("cheby1", (3, 1.0, 2.0, "high", True), {"output": "zpk"}),
    ("cheby2", (3, 40.0, np.array([1.0, 2.0]), "band", True), {}),
    ("ellip", (3, 1.0, 40.0, BAND, "bandstop"), {"output": "sos"}),
    ("bessel", (3, 0.3), {"norm": "delay"}),
    ("iirdesign", (0.2, 0.4, 1, 40), {"ftype": "cheby1", "output": "sos"}),
    *((name, (0.2, 0.4, 1, 40), {"fs": 3.0}) for name in ("buttord", "cheb1ord", "cheb2ord", "ellipord")),
    ("iirnotch", (60.0, 30.0), {"fs": 1000.0}),
    ("iirpeak", (60.0, 30.0), {"fs": 1000.0}),
    ("iircomb", (50.0, 10.0, "peak"), {"fs": 1000.0, "pass_zero": True}),
    ("gammatone", (440.0, "fir"), {"numtaps": 9, "fs": 16000.0}),
    ("buttap", (3,), {}), ("cheb1ap", (3, 1.0), {}), ("cheb2ap", (3, 40.0), {}), ("ellipap", (3, 1.0, 40.0), {}),
    ("besselap", (3,), {"norm": "mag"}),
    ("tf2zpk", (B, A), {}), ("zpk2tf", (Z, P, 2.0), {}), ("tf2sos", (B, A), {"pairing": "minimal", "analog": True}),
    ("sos2tf", (SOS,), {}), ("zpk2sos", (Z, P, 2.0), {"pairing": "keep_odd"}), ("sos2zpk", (SOS,), {}),
    ("tf2ss", (B, A), {}), ("ss2tf", MATRICES, {"input": 0}), ("zpk2ss", (Z, P, 2.0), {}), ("ss2zpk", MATRICES, {}),
    ("abcd_normalize", MATRICES[:3], {}),
    *((name, (B, A, 2.0), {}) for name in ("lp2lp", "lp2hp", "lp2bp")), ("lp2bs", (B, A), {"bw": 0.5}),
    *((name, (Z, P, 2.0), {"wo": 3.0}) for name in ("lp2lp_zpk", "lp2hp_zpk", "lp2bp_zpk", "lp2bs_zpk")),
    ("bilinear", (B, A), {"fs": 2.0}), ("bilinear_zpk", (Z, P, 2.0, 3.0), {}), ("normalize", (B, 2 * A), {}),
    ("cont2discrete", ((B, A), 0.5), {"method": "gbt", "alpha": 0.3}), ("cont2discrete", (MATRICES, 0.5), {}),
    ("freqs", (B, A), {"worN": BAND}), ("freqs_zpk", (Z, P, 2.0), {"worN": 7}), ("findfreqs", (B, A, 5), {}),
    ("freqz", (B, A), {"worN": 9, "whole": True, "fs": 10.0}), ("freqz", (B,), {"worN": 5, "include_nyquist": True}),
    ("freqz_zpk", (Z, P, 2.0), {"worN": BAND}), ("sosfreqz", (SOS,), {"worN": 6}),
    ("group_delay", ((B, A),), {"w": 8, "fs": 4.0}),
    ("firls", (7, (0, 0.3, 0.5, 1), (1, 1, 0, 0)), {"weight": (1, 2)}),
    ("firwin2", (8, (0.0, 0.5, 1.0), (1.0, 0.5, 0.0)), {"window": "hann", "nfreqs": 65}),
    ("kaiserord", (60.0, 0.1), {}), ("minimum_phase", (np.array([1.0, 2.0, 3.0, 2.0, 1.0]),), {"half": False}),
    ("residue", (B, A), {}), ("residuez", (B, A), {}), ("invres", (B[:2], P, []), {}), ("invresz", (B[:2], P, []), {}),
    ("unique_roots", (np.array([1.0, 1.0001, 2.0]),), {"rtype": "max"}), ("max_len_seq", (4,), {"length": 9}),
]  # fmt: skip


def moved(value: Any, to: Any) -> Any:
    if isinstance(value, (np.ndarray, cp.ndarray)):
        return to(value)
    return type(value)(moved(item, to) for item in value) if type(value) in (tuple, list) else value


@pytest.mark.parametrize(("name", "args", "keywords"), CASES, ids=[name for name, _, _ in CASES])
def test_design(name: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    found = getattr(signal, name)(*moved(args, cp.asarray), **{k: moved(v, cp.asarray) for k, v in keywords.items()})
    wanted = getattr(scipy_signal, name)(*args, **keywords)
    found, wanted = (x if isinstance(x, tuple) else (x,) for x in (found, wanted))
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert isinstance(ours, cp.ndarray) == isinstance(theirs, np.ndarray)
        if isinstance(ours, cp.ndarray):
            assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(moved(ours, cp.asnumpy), theirs, rtol=1e-9, atol=1e-12)


def test_sections_by_either_name() -> None:
    if hasattr(scipy_signal, "freqz_sos"):  # new in SciPy 1.15
        for ours, theirs in zip(signal.freqz_sos(cp.asarray(SOS), 6), signal.sosfreqz(cp.asarray(SOS), 6), strict=True):
            np.testing.assert_array_equal(ours.get(), theirs.get())


def test_poles_are_placed() -> None:
    a, b = MATRICES[0], np.eye(2)
    found = signal.place_poles(cp.asarray(a), cp.asarray(b), cp.asarray([-1.0, -2.0]))
    assert isinstance(found.gain_matrix, cp.ndarray)
    values = np.linalg.eigvals(a - b @ found.gain_matrix.get())
    np.testing.assert_allclose(np.sort(values), [-2.0, -1.0], rtol=1e-9)


def test_design_without_scipy() -> None:
    with mock.patch.dict(sys.modules, {"scipy.signal": None}), pytest.raises(ImportError, match="pip install scipy"):
        signal.ellip(2, 1, 40, 0.3)


@pytest.mark.parametrize("w", [None, 0.99 - 0.1j])
@pytest.mark.parametrize(("shape", "axis"), [((13,), -1), ((4, 7), 0), ((3, 5, 2), 1)])
def test_chirp_z(shape: tuple[int, ...], axis: int, w: complex | None) -> None:
    rng = np.random.default_rng(1)
    for x in (rng.random(shape), rng.random(shape) + 1j * rng.random(shape), rng.integers(0, 9, shape)):
        for m in (None, 1, 17):
            ours = signal.czt(cp.asarray(x), m, w, 1.1 + 0.1j, axis=axis)
            np.testing.assert_allclose(
                ours.get(), scipy_signal.czt(x, m, w, 1.1 + 0.1j, axis=axis), rtol=1e-9, atol=1e-10
            )
        for fn, keywords in ((0.7, {}), ([0.2, 1.5], {"endpoint": True}), ((0.2, 1.5), {"fs": 5.0, "m": 9})):
            options: dict[str, Any] = {**keywords, "axis": axis}
            ours = signal.zoom_fft(cp.asarray(x), fn, **options)
            np.testing.assert_allclose(ours.get(), scipy_signal.zoom_fft(x, fn, **options), rtol=1e-9, atol=1e-10)


def test_chirp_z_of_long_signals() -> None:
    x = np.random.default_rng(2).random(100_003)  # a prime number
    np.testing.assert_allclose(signal.czt(cp.asarray(x)).get(), np.fft.fft(x), rtol=1e-8, atol=1e-7)


def test_points_of_chirp_z() -> None:
    for m, w, a in ((5, None, 1), (4, 0.9 + 0.1j, 2j)):
        np.testing.assert_allclose(signal.czt_points(m, w, a).get(), scipy_signal.czt_points(m, w, a), rtol=1e-12)
        np.testing.assert_allclose(signal.CZT(3, m, w, a).points().get(), scipy_signal.CZT(3, m, w, a).points(), 1e-12)
    ours, theirs = signal.ZoomFFT(6, [0.5, 1], 4), scipy_signal.ZoomFFT(6, [0.5, 1], 4)
    np.testing.assert_allclose(ours.points().get(), theirs.points(), rtol=1e-12)


def test_chirp_z_refuses() -> None:
    for call, message in (
        (lambda: signal.czt(cp.ones(0)), "data points"), (lambda: signal.czt(cp.ones(3), 0), "output points"),
        (lambda: signal.czt(cp.ones(3), True), "output points"), (lambda: signal.CZT(3)(cp.ones(4)), "length 3, not 4"),
        (lambda: signal.zoom_fft(cp.ones(3), [1, 2, 3]), "2-length"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            call()
