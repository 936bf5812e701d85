"""`cuprous.scipy.signal`'s peaks against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import signal
from tests.support import assert_errors

from .compared import moved

theirs = pytest.importorskip("scipy.signal")

RNG = np.random.default_rng(4)
NOISE = RNG.normal(size=97)
#: Steps, with plateaus and equal peaks; a walk; noise.
SIGNALS = {"steps": np.round(NOISE * 2), "walk": np.cumsum(RNG.integers(-1, 2, 97)), "noise": NOISE}
CONDITIONS: list[dict[str, Any]] = [
    {}, {"height": 0}, {"height": (0, 1)}, {"height": (None, 1)}, {"threshold": 0.5}, {"threshold": (0.2, 1.5)},
    {"prominence": 0.5}, {"prominence": (None, 2)}, {"width": 1.5}, {"width": (0, 4), "rel_height": 0.8},
    {"wlen": 7, "prominence": 0}, {"plateau_size": 2}, {"plateau_size": (1, 3)},
    {"height": 0, "threshold": 0.1, "prominence": 0.3, "width": 0},
]  # fmt: skip


def agree(x: Any, **conditions: Any) -> None:
    """Same places, keys, dtypes and values."""
    expected, properties = theirs.find_peaks(x, **conditions)
    found, ours = signal.find_peaks(cp.asarray(x), **{k: moved(v) for k, v in conditions.items()})
    np.testing.assert_array_equal(found.get(), expected)
    assert set(ours) == set(properties)
    for key, value in properties.items():
        assert ours[key].dtype == value.dtype
        np.testing.assert_allclose(ours[key].get(), value, rtol=1e-13)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("conditions", CONDITIONS, ids=str)
def test_conditions(name: str, conditions: dict[str, Any]) -> None:
    agree(SIGNALS[name], **conditions)


@pytest.mark.parametrize("distance", [1, 2, 3.5, 10, 1000])
def test_distance_keeps_the_highest(distance: float) -> None:
    agree(NOISE, distance=distance)
    agree(np.cos(np.arange(60.0)) * np.arange(60), distance=distance)  # each peak is higher than the one before


def test_bounds_for_each_element() -> None:
    agree(NOISE, height=np.linspace(-1, 1, 97))
    agree(NOISE, prominence=(np.full(97, 0.3), None))


def test_special_signals() -> None:
    for x in ([], [1.0], [1.0, 2.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [np.nan, 1, 0, 2, np.nan, 3, 1, 5, 2],
              [0, 2, 0, 1, 0], [1, 1, 1, 1], [0.0, np.inf, 0.0, 1.0, 0.5]):  # fmt: skip
        agree(np.asarray(x, float))
    agree(np.array([0, 3, 1, 3, 0], "i4"), height=1)
    agree(NOISE[::-2])
    agree(NOISE.astype("f4"), prominence=0.2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("wlen", [None, 2, 5, 8.5])
def test_prominences_and_widths_of_any_places(wlen: Any) -> None:
    places = np.arange(97)
    for x in SIGNALS.values():
        a, p = cp.asarray(x), cp.asarray(places)
        for ours, expected in (
            (signal.peak_prominences(a, p, wlen), theirs.peak_prominences(x, places, wlen)),
            (signal.peak_widths(a, p, 0.7, wlen=wlen), theirs.peak_widths(x, places, 0.7, wlen=wlen)),
        ):
            for mine, its in zip(ours, expected, strict=True):
                assert mine.dtype == its.dtype
                np.testing.assert_allclose(mine.get(), its, rtol=1e-13, atol=1e-13)
    empty = signal.peak_widths(a, [])
    assert [v.shape for v in empty] == [(0,)] * 4


@pytest.mark.parametrize("mode", ["clip", "wrap"])
@pytest.mark.parametrize("order", [1, 3])
def test_relative_extrema(mode: str, order: int) -> None:
    x = np.round(RNG.normal(size=(12, 9)), 1)
    for axis in (0, 1, -1):
        for name in ("argrelmax", "argrelmin"):
            ours = getattr(signal, name)(cp.asarray(x), axis, order, mode)
            for mine, its in zip(ours, getattr(theirs, name)(x, axis, order, mode), strict=True):
                np.testing.assert_array_equal(mine.get(), its)
    ours = signal.argrelextrema(cp.asarray(x), cp.greater_equal, 0, order, mode)
    for mine, its in zip(ours, theirs.argrelextrema(x, np.greater_equal, 0, order, mode), strict=True):
        np.testing.assert_array_equal(mine.get(), its)


def test_errors() -> None:
    a = cp.asarray(NOISE)
    assert_errors(
        (lambda: signal.find_peaks(a.reshape(97, 1)), ValueError, "1-D"),
        (lambda: signal.find_peaks(a, distance=0.5), ValueError, "distance"),
        (lambda: signal.find_peaks(a, height=cp.ones(5)), ValueError, "lower interval border"),
        (lambda: signal.find_peaks(a, prominence=0, wlen=1), ValueError, "wlen"),
        (lambda: signal.find_peaks(a * 1j), TypeError, "complex"),
        (lambda: signal.peak_prominences(a, [97]), ValueError, "valid index"),
        (lambda: signal.peak_prominences(a, [1.5]), TypeError, "peaks"),
        (lambda: signal.peak_widths(a, [3], -1.0), ValueError, "rel_height"),
        (lambda: signal.argrelmax(a, order=0), ValueError, "Order"),
        (lambda: signal.argrelmax(a, axis=1), np.exceptions.AxisError, "axis 1"),
        (lambda: signal.argrelmax(a, mode="raise"), NotImplementedError, "mode"),
    )
