"""`cuprous.scipy.signal`'s recursive filters against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import signal
from tests.support import assert_errors

from .compared import close

theirs = pytest.importorskip("scipy.signal")

RNG = np.random.default_rng(5)
FILTERS: dict[str, tuple[Any, Any]] = {
    "one pole": ([1.0], [1.0, -0.9]), "butter": theirs.butter(4, 0.2), "narrow": theirs.butter(2, 0.01),
    "ripple": theirs.cheby1(6, 0.5, 0.3), "finite": ([0.5, 0.2, 0.1], [1.0]), "scaled": ([0.5, 0.2], [2.0, 0]),
    "poles": ([1], [1, -0.5, 0.2, 0.1, 0.05]), "complex": ([1 + 2j, 0.3], [1, 0.5j]), "sum": ([1.0], [1.0, -1.0]),
    "long numerator": ([1.0, 2, 3, 4], [1, -0.3]), "unstable": ([1.0], [1.0, -2.5, 1.2]),
}  # fmt: skip
#: One block of 64 and its neighbours, several blocks, blocks of blocks.
SHAPES = [((1,), 0), ((63,), 0), ((65,), -1), ((9000,), 0), ((3, 130), 1), ((130, 3), 0), ((2, 70, 3), 1)]


@pytest.mark.parametrize("name", FILTERS)
def test_filters_and_their_states(name: str) -> None:
    b, a = FILTERS[name]
    order = max(len(a), len(b)) - 1
    for shape, axis in SHAPES:
        if name == "unstable" and max(shape) > 200:
            continue
        x = RNG.normal(size=shape)
        close(signal.lfilter(b, a, cp.asarray(x), axis), theirs.lfilter(b, a, x, axis))
        before = list(shape)
        before[axis] = order
        z = RNG.normal(size=before)
        ours = signal.lfilter(b, a, cp.asarray(x), axis, cp.asarray(z))
        for mine, its in zip(ours, theirs.lfilter(b, a, x, axis, z), strict=True):
            close(mine, its)


def test_in_pieces() -> None:
    """The state behind one piece is that before the next."""
    b, a = theirs.butter(5, 0.1)
    x = RNG.normal(size=500)
    state, pieces = signal.lfilter_zi(b, a) * x[0], []
    for piece in np.split(x, [1, 100, 164, 300]):
        y, state = signal.lfilter(b, a, cp.asarray(piece), zi=state)
        pieces.append(y)
    close(cp.concatenate(pieces), theirs.lfilter(b, a, x, zi=theirs.lfilter_zi(b, a) * x[0])[0])


def test_narrow_filters_of_high_order() -> None:
    """The companion matrix' powers would lose all digits here; sections of order two are the measure."""
    x = RNG.normal(size=5000)
    expected = theirs.sosfilt(theirs.butter(8, 0.05, output="sos"), x)
    direct = theirs.lfilter(*theirs.butter(8, 0.05), x)
    ours = signal.lfilter(*theirs.butter(8, 0.05), cp.asarray(x)).get()
    assert np.abs(ours - expected).max() < 2 * np.abs(direct - expected).max() + 1e-12


def test_dtypes_and_views() -> None:
    b, a = (v.astype("f4") for v in theirs.butter(3, 0.2))
    x = RNG.normal(size=(4, 300)).astype("f4")
    close(signal.lfilter(b, a, cp.asarray(x)), theirs.lfilter(b, a, x), 1e-5)
    close(signal.lfilter([1.0], [1, -0.5], cp.arange(99)), theirs.lfilter([1.0], [1, -0.5], np.arange(99)))
    y = RNG.normal(size=(300, 4))
    close(signal.lfilter([1.0], [1, -0.5], cp.asarray(y).T[:, ::-2]), theirs.lfilter([1.0], [1, -0.5], y.T[:, ::-2]))
    assert signal.lfilter([1.0], [1, -0.5], cp.zeros((0,))).shape == (0,)


def test_nan_spoils_what_comes_after() -> None:
    x = RNG.normal(size=200)
    x[70] = np.nan
    close(signal.lfilter([1.0], [1, -0.5], cp.asarray(x)), theirs.lfilter([1.0], [1, -0.5], x))


def test_sections() -> None:
    sos = theirs.butter(7, 0.05, output="sos")
    x = RNG.normal(size=(3, 400))
    close(signal.sosfilt(sos, cp.asarray(x)), theirs.sosfilt(sos, x))
    close(signal.sosfilt(sos, cp.asarray(x.T), 0), theirs.sosfilt(sos, x.T, 0))
    z = RNG.normal(size=(4, 3, 2))
    for mine, its in zip(signal.sosfilt(sos, cp.asarray(x), zi=cp.asarray(z)), theirs.sosfilt(sos, x, zi=z),
                         strict=True):  # fmt: skip
        close(mine, its)
    close(signal.sosfilt_zi(sos), theirs.sosfilt_zi(sos), 1e-7)


@pytest.mark.parametrize("padtype", ["odd", "even", "constant", None])
def test_round_trip(padtype: Any) -> None:
    x = RNG.normal(size=(3, 200))
    b, a = theirs.butter(3, 0.1)
    sos = theirs.butter(4, 0.1, output="sos")
    for ours, its, coefficients in ((signal.filtfilt, theirs.filtfilt, (b, a)),
                                    (signal.sosfiltfilt, theirs.sosfiltfilt, (sos,))):  # fmt: skip
        for axis, values in ((1, x), (0, x.T)):
            close(ours(*coefficients, cp.asarray(values), axis, padtype), its(*coefficients, values, axis, padtype))
        close(ours(*coefficients, cp.asarray(x), padlen=7), its(*coefficients, x, padlen=7))


def test_initial_states() -> None:
    for name in ("one pole", "butter", "ripple", "poles", "long numerator", "scaled", "complex"):
        b, a = FILTERS[name]
        close(signal.lfilter_zi(b, a), theirs.lfilter_zi(b, a), 1e-8)
    args = ([0.5, 0.2, 0.1], [2.0, 0.3], [1.0], [0.5, 0.25])
    close(signal.lfiltic(*args), theirs.lfiltic(*args))


def test_errors() -> None:
    x = cp.ones((4, 30))
    assert_errors(
        (lambda: signal.lfilter([], [1.0], x), ValueError, "empty"),
        (lambda: signal.lfilter([1.0], [0.0, 1.0], x), ValueError, "zero"),
        (lambda: signal.lfilter([1.0], [1.0, 0.5], x, zi=cp.ones(1)), ValueError, "Unexpected shape for zi"),
        (lambda: signal.lfilter([1.0], [1.0, 0.5], x, axis=2), np.exceptions.AxisError, "axis 2"),
        (lambda: signal.lfilter([[1.0]], [1.0, 0.5], x), ValueError, "small depth"),
        (lambda: signal.sosfilt(np.ones((2, 5)), x), ValueError, "shape"),
        (lambda: signal.sosfilt(np.full((2, 6), 2.0), x), ValueError, "all ones"),
        (lambda: signal.sosfilt(np.ones((2, 6)), x, zi=cp.ones((2, 2))), ValueError, "Invalid zi shape"),
        (lambda: signal.filtfilt([1.0], [1.0, 0.5], x, padtype="mirror"), ValueError, "padtype"),
        (lambda: signal.filtfilt([1.0], [1.0, 0.5], x, padlen=30), ValueError, "padlen"),
        (lambda: signal.filtfilt([1.0], [1.0, 0.5], x, method="best"), ValueError, "'pad' or 'gust'"),
        (lambda: signal.lfilter_zi([[1.0]], [1.0]), ValueError, "1-D"),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int32"])
def test_dtypes_of_states(dtype: str) -> None:
    """States have the dtype of what they are computed from, and filters by them that of the signal."""
    b, a = (np.asarray(v).astype("float32" if dtype == "complex64" else dtype) for v in ([1, 2], [1, 0, 3]))
    sos = np.array([[1, 2, 1, 1, 0, 0.5]], b.dtype)
    x = RNG.normal(size=50).astype(dtype)
    for name, args in {
        "lfilter_zi": (b, a), "lfiltic": (b, a, x[:2]), "sosfilt_zi": (sos,), "sosfiltfilt": (sos, x),
        "filtfilt": (b, [1.0], x),
    }.items():  # fmt: skip
        if name == "filtfilt":
            args = (b, np.ones(1, b.dtype), x)
        close(getattr(signal, name)(*map(cp.asarray, args)), getattr(theirs, name)(*args), 1e-5)
    close(signal.lfiltic(*map(cp.asarray, (b, a, x[:2], x[:1]))), theirs.lfiltic(b, a, x[:2], x[:1]), 1e-5)
    close(signal.lfiltic(*map(cp.asarray, (b, a, x[:2], x[:0]))), theirs.lfiltic(b, a, x[:2], x[:0]), 1e-5)


@pytest.mark.parametrize("order", [1, 2, 5])
def test_states_of_gustafsson(order: int) -> None:
    b, a = theirs.ellip(order, 3, 40, 0.3)
    rng = np.random.default_rng(order)
    for x in (rng.normal(size=(3, 40)), rng.normal(size=60) + 1j * rng.normal(size=60)):
        for irlen in (None, 15, 60):
            expected = theirs.filtfilt(b, a, x, method="gust", irlen=irlen)
            result = signal.filtfilt(b, a, cp.asarray(x), method="gust", irlen=irlen)
            np.testing.assert_allclose(cp.asnumpy(result), expected, 1e-6, 1e-9)
    columns = rng.normal(size=(40, 2))
    np.testing.assert_allclose(
        cp.asnumpy(signal.filtfilt(b, a, cp.asarray(columns), axis=0, method="gust")),
        theirs.filtfilt(b, a, columns, axis=0, method="gust"), 1e-6, 1e-9,
    )  # fmt: skip
    np.testing.assert_allclose(
        cp.asnumpy(signal.filtfilt([2.0], [4.0], cp.asarray(columns), method="gust")), columns / 4
    )


def test_states_of_gustafsson_for_complex_coefficients() -> None:
    """SciPy discards imaginary parts of the responses here, so that the definition is the reference."""
    rng = np.random.default_rng(0)
    b, a, x = (0.3 * (rng.normal(size=n) + 1j * rng.normal(size=n)) for n in (3, 3, 11))
    a[0] = 1
    responses = np.array([theirs.lfilter(b, a, np.zeros(11), zi=state)[0] for state in np.eye(2, dtype=complex)])
    again = theirs.lfilter(b, a, responses[:, ::-1])
    forward = theirs.lfilter(b, a, theirs.lfilter(b, a, x)[::-1])[::-1]
    backward = theirs.lfilter(b, a, theirs.lfilter(b, a, x[::-1])[::-1])
    matrix = np.concatenate([again[:, ::-1] - responses, responses[:, ::-1] - again]).T
    states = np.linalg.lstsq(matrix, backward - forward, rcond=None)[0]
    expected = forward + states[:2] @ again[:, ::-1] + states[2:] @ responses[:, ::-1]
    result = signal.filtfilt(b, a, cp.asarray(x), method="gust")
    np.testing.assert_allclose(cp.asnumpy(result), expected, 1e-10)
    scaled = signal.filtfilt([2j], [1 + 1j], cp.asarray(x), method="gust")
    np.testing.assert_allclose(cp.asnumpy(scaled), x * (2j / (1 + 1j)) ** 2, 1e-12)


@pytest.mark.parametrize(("taps", "feedback"), [(3, 3), (2, 4), (4, 2)])
def test_states_of_cupys_layout(taps: int, feedback: int) -> None:
    """The inputs and outputs before the signal, so that pieces filtered one after another are the whole."""
    rng = np.random.default_rng(5)
    b, a = rng.random(taps), np.concatenate([[2.0], 0.3 * rng.random(feedback - 1)])
    x = rng.random((3, 30, 2))
    whole = theirs.lfilter(b, a, x, axis=1)
    zi = cp.zeros((3, taps + feedback - 2, 2))
    found = []
    for piece in np.split(x, [1, 3, 17], axis=1):  # also shorter than the histories
        y, zi = signal.lfilter(b, a, cp.asarray(piece), 1, zi)
        found.append(y.get())
    np.testing.assert_allclose(np.concatenate(found, axis=1), whole, rtol=1e-10)
    histories = np.concatenate([x[:, 31 - taps :], whole[:, 31 - feedback :]], axis=1)
    np.testing.assert_allclose(zi.get(), histories, rtol=1e-10)


def test_states_of_sections_in_cupys_layout() -> None:
    rng = np.random.default_rng(6)
    sos = np.concatenate([rng.random((3, 3)), np.ones((3, 1)), 0.3 * rng.random((3, 2))], axis=1)
    x = rng.random((2, 21))
    zi, found = cp.zeros((3, 2, 4)), []
    for piece in np.split(x, [5, 6], axis=1):
        y, zi = signal.sosfilt(sos, cp.asarray(piece), 1, zi)
        found.append(y.get())
    np.testing.assert_allclose(np.concatenate(found, axis=1), theirs.sosfilt(sos, x, axis=1), rtol=1e-10)
    np.testing.assert_allclose(zi.get()[0, :, :2], x[:, -2:])
    with pytest.raises(ValueError, match="Invalid zi shape"):
        signal.sosfilt(sos, cp.asarray(x), 1, cp.zeros((3, 2, 3)))
