"""`cuprous.scipy.signal`'s waveforms against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import signal

theirs = pytest.importorskip("scipy.signal")

T = np.linspace(-3.0, 12.0, 61)
CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("sawtooth", (T,), {}), ("sawtooth", (T, 0.3), {}), ("sawtooth", (T, 0), {}), ("sawtooth", (T, 1.5), {}),
    ("sawtooth", (T, np.linspace(-0.1, 1.1, 61)), {}),
    ("square", (T,), {}), ("square", (T, 0.2), {}), ("square", (T, np.linspace(-0.1, 1.1, 61)), {}),
    ("gausspulse", (T / 1000,), {}), ("gausspulse", (T,), {"fc": 2, "bw": 0.3, "bwr": -3, "retenv": True}),
    ("gausspulse", (T,), {"fc": 0.5, "retquad": True, "retenv": True}),
    *(("chirp", (T, 1.0, 10.0, 3.0, method), {"phi": 30})
      for method in ("linear", "quadratic", "logarithmic", "hyperbolic")),
    ("chirp", (T, 2, 10, 2, "log"), {}), ("chirp", (T, 2, 10, 2, "hyp"), {}),
    ("chirp", (T, 1.0, 10.0, 3.0, "quad"), {"vertex_zero": False}),
    ("chirp", (np.arange(5), 1.0, 10.0, 3.0), {"complex": True}),
    ("sweep_poly", (T, np.array([0.05, -0.5, 1.0])), {"phi": 45}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "keywords"), CASES, ids=[name for name, _, _ in CASES])
def test_waveforms(name: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    moved = (cp.asarray(x) if isinstance(x, np.ndarray) else x for x in args)
    found, wanted = getattr(signal, name)(*moved, **keywords), getattr(theirs, name)(*args, **keywords)
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for ours, expected in pairs:
        assert ours.dtype == expected.dtype
        np.testing.assert_allclose(ours.get(), expected, rtol=1e-9, atol=1e-10)


def test_cutoff_of_pulses() -> None:
    assert signal.gausspulse("cutoff", fc=10, tpr=-40) == pytest.approx(theirs.gausspulse("cutoff", fc=10, tpr=-40))


def test_unit_impulses() -> None:
    for args in ((5,), (5, 2), ((3, 4), "mid"), ((3, 4), (1, 2)), ((3, 4), 2, np.int32), (4, -1)):
        ours, expected = signal.unit_impulse(*args), theirs.unit_impulse(*args)
        assert ours.dtype == expected.dtype
        np.testing.assert_array_equal(ours.get(), expected)
    with pytest.raises(IndexError):
        signal.unit_impulse(3, 5)


def test_waveforms_refuse() -> None:
    for start, method, message in ((0, "log", "same sign"), (0, "hyp", "nonzero"), (1, "cubic", "method must be")):
        with pytest.raises(ValueError, match=message):
            signal.chirp(cp.asarray(T), start, 1, 3, method)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"fc": -1}, "Center"), ({"bw": 0}, "bandwidth"), ({"bwr": 0}, "Reference level"),
    ]  # fmt: skip
    for bad, message in refused:
        with pytest.raises(ValueError, match=message):
            signal.gausspulse(cp.asarray(T), **bad)
    with pytest.raises(ValueError, match="cutoff"):
        signal.gausspulse("end")
    with pytest.raises(ValueError, match="time cutoff"):
        signal.gausspulse("cutoff", tpr=0)
