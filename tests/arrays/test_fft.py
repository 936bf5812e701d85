"""Compares `cuprous.fft` with `numpy.fft`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cuprous as cp
from tests.support import DTYPES, alike, assert_same, check, sample

SIZES = [1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 30, 31, 64, 97, 100, 101, 210, 256, 541, 1000, 1009, 1024]
LINES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
PLANES = ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"]
NORMS = [None, "backward", "ortho", "forward"]
REAL_INPUT = ("rfft", "ihfft", "rfftn", "rfft2")


def noise(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng([seed, *shape])
    values = rng.standard_normal(shape)
    return np.asarray(
        (values + 1j * rng.standard_normal(shape)).astype(dtype) if "c" in dtype else values.astype(dtype)
    )


def near(ours: Any, theirs: Any, message: str = "") -> None:
    """Asserts equality up to the rounding of a transform, relative to the largest element."""
    theirs = np.asarray(theirs)
    scale = float(np.abs(theirs).max(initial=0.0)) if theirs.dtype.kind in "fc" else 0.0
    epsilon = {"float16": 2e-3, "float32": 3e-6, "complex64": 3e-6}.get(theirs.dtype.name, 1e-14)
    assert_same(ours, theirs, rtol=0, atol=max(scale * epsilon, 1e-300), message=message)


def dtypes_for(name: str) -> list[str]:
    return ["float32", "float64"] if name in REAL_INPUT else ["float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", LINES)
def test_every_size(name: str) -> None:
    for n in SIZES:
        for dtype in dtypes_for(name):
            if n == 1 and name in ("irfft", "hfft"):
                continue  # The default is no points, which is an error tested below.
            x = noise((n,), dtype)
            near(getattr(cp.fft, name)(cp.asarray(x)), getattr(np.fft, name)(x), f"{name} {n} {dtype}")


@pytest.mark.parametrize("name", LINES)
def test_points_axes_and_norms(name: str) -> None:
    for shape in [(6,), (4, 9), (3, 5, 4)]:
        for axis, n, norm in itertools.product(range(-len(shape), len(shape)), [None, 1, 2, 3, 6, 7, 16], NORMS):
            for dtype in dtypes_for(name)[1::2]:
                x = noise(shape, dtype)
                theirs = getattr(np.fft, name)(x, n, axis, norm)
                near(getattr(cp.fft, name)(cp.asarray(x), n, axis, norm), theirs, f"{name} {shape} {axis} {n} {norm}")


@pytest.mark.parametrize("name", LINES)
def test_dtypes_and_layouts(name: str) -> None:
    for dtype in DTYPES:
        for shape in [(4,), (3, 5), (2, 3, 4)]:
            x = sample(dtype, shape)
            rtol = 2e-2 if dtype == "float16" else 1e-5
            check(lambda xp, a: getattr(xp.fft, name)(a), x, rtol=rtol, atol=1e-5)
            check(lambda xp, a: getattr(xp.fft, name)(a, axis=0), x, rtol=rtol, atol=1e-5)


def test_bfloat16_counts_as_single() -> None:
    x = cp.ones(4, dtype="bfloat16")
    assert cp.fft.fft(x).dtype == "complex64"
    assert cp.fft.irfft(x).dtype_name == "bfloat16"


@pytest.mark.parametrize("name", PLANES)
def test_planes(name: str) -> None:
    for shape in [(4, 6), (5, 3), (2, 3, 4), (3, 2, 1, 5)]:
        for dtype in dtypes_for(name):
            x = noise(shape, dtype)
            for norm in NORMS:
                compare_near(lambda xp, a, norm=norm: getattr(xp.fft, name)(a, norm=norm), x)
            for axes in [(0, 1), (1, 0), (-1,), (-2, -1), (0, 0), (-1, 0)]:
                for s in [None, (3,) * len(axes), (8, -1)[: len(axes)]]:
                    compare_near(lambda xp, a, s=s, axes=axes: getattr(xp.fft, name)(a, s, axes), x)


def compare_near(call: Any, x: np.ndarray[Any, Any]) -> None:
    near(call(cp, cp.asarray(x)), call(np, x))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fft_points_without_axes() -> None:
    x = noise((2, 3, 4), "complex128")
    for s in [(3,), (2, 5), (None, 4), (4, -1)]:
        near(cp.fft.fftn(cp.asarray(x), s), np.fft.fftn(x, s))
        near(cp.fft.irfftn(cp.asarray(x), s), np.fft.irfftn(x, s))
    with pytest.warns(DeprecationWarning, match="axes"):
        cp.fft.fftn(cp.asarray(x), (3,))
    with pytest.warns(DeprecationWarning, match="None"):
        cp.fft.rfftn(cp.ones((2, 2)), (None, 2), (0, 1))


@pytest.mark.parametrize("name", [*LINES, *PLANES])
def test_out(name: str) -> None:
    x = noise((4, 6), dtypes_for(name)[-1])
    call = getattr(cp.fft, name)
    expected = call(cp.asarray(x))
    out = cp.zeros(expected.shape, expected.dtype)
    assert call(cp.asarray(x), out=out) is out
    np.testing.assert_array_equal(out.get(), expected.get())
    with pytest.raises(ValueError, match="shape"):
        call(cp.asarray(x), out=cp.zeros((4, 1), expected.dtype))
    with pytest.raises(TypeError):
        call(cp.asarray(x), out=cp.zeros(expected.shape, "int64"))


def test_transform_in_place_of_a_view() -> None:
    x = noise((8, 8), "complex128")
    a = cp.asarray(x.copy())
    cp.fft.fft(a[::-1], axis=0, out=a)
    near(a, np.fft.fft(x[::-1], axis=0))


@settings(max_examples=150)
@given(
    st.sampled_from(LINES),
    st.lists(st.integers(1, 7), min_size=1, max_size=4),
    st.integers(0, 3),
    st.one_of(st.none(), st.integers(1, 40)),
    st.sampled_from(NORMS),
    st.permutations(range(4)),
    st.lists(st.sampled_from([1, -1, 2, -2]), min_size=4, max_size=4),
)
def test_any_view(
    name: str, shape: list[int], axis: int, n: int | None, norm: str | None, order: list[int], steps: list[int]
) -> None:
    x = noise(tuple(shape), "float64" if name in REAL_INPUT else "complex128")
    axis %= x.ndim
    axes = [i for i in order if i < x.ndim]
    index = tuple(slice(None, None, s) for s in steps[: x.ndim])

    def view(a: Any) -> Any:
        return a.transpose(axes)[index]

    if n is None and view(x).shape[axis] == 1 and name in ("irfft", "hfft"):
        n = 1
    near(getattr(cp.fft, name)(view(cp.asarray(x)), n, axis, norm), getattr(np.fft, name)(view(x), n, axis, norm))


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape", [(1 << 18,), (3, 1 << 16), (1 << 16, 3), (1_500_000, 2), (700, 900), (10, 300, 40), (100003,)]
)
def test_large_ones_on_all_threads(shape: tuple[int, ...]) -> None:
    x = noise(shape, "complex128")
    for axis in range(len(shape)):
        near(cp.fft.fft(cp.asarray(x), axis=axis), np.fft.fft(x, axis=axis))
        near(cp.fft.rfft(cp.asarray(x.real), axis=axis), np.fft.rfft(x.real, axis=axis))
        near(cp.fft.irfft(cp.asarray(x), axis=axis), np.fft.irfft(x, axis=axis))
    single = x.astype("complex64")
    near(cp.fft.ifftn(cp.asarray(single)), np.fft.ifftn(single))


@pytest.mark.parametrize("shape", [(4096, 5), (2, 1024, 9), (3, 16, 33), (64, 32, 20), (2, 512, 4, 2)], ids=str)
def test_powers_of_two_along_columns(shape: tuple[int, ...]) -> None:
    """A GPU has dedicated kernels for these; tiles of lines are full or partial."""
    for dtype in ("complex64", "complex128"):
        x = noise(shape, dtype)
        a, real = cp.asarray(x), x.real.copy()
        for axis in range(x.ndim - 1):
            near(cp.fft.fft(a, axis=axis), np.fft.fft(x, axis=axis))
            near(cp.fft.ifft(a, axis=axis, norm="ortho"), np.fft.ifft(x, axis=axis, norm="ortho"))
        near(cp.fft.fftn(a), np.fft.fftn(x))
        near(cp.fft.ifftn(a), np.fft.ifftn(x))
        near(cp.fft.rfftn(cp.asarray(real)), np.fft.rfftn(real))
        near(cp.fft.fft2(cp.asarray(real), axes=(0, 1)), np.fft.fft2(real, axes=(0, 1)))
        near(cp.fft.rfftn(cp.asarray(real), axes=(0, 1)), np.fft.rfftn(real, axes=(0, 1)))


def test_fft_of_views_keeps_its_input() -> None:
    """Transforms views with offsets along inner axes; the input must not change."""
    for dtype in ("float32", "complex128"):
        x = noise((6, 33, 7), dtype)
        a = cp.asarray(x)
        for part in [np.s_[1, 1:, 3], np.s_[1:], np.s_[:, 1:, 1:], np.s_[5, 2]]:
            for name in ("fft", "irfft", "fftn", "irfftn", *(("rfft", "rfftn") if dtype == "float32" else ())):
                near(getattr(cp.fft, name)(a[part]), getattr(np.fft, name)(x[part]), f"{name} {dtype} {part}")
        for name in ("fft", "ifft", "irfft"):
            near(getattr(cp.fft, name)(a, axis=1), getattr(np.fft, name)(x, axis=1), f"{name} {dtype}")
        for axes in [(0, 1), (1, 2), (0, 2), (1,)]:
            near(cp.fft.fftn(a, axes=axes), np.fft.fftn(x, axes=axes), f"{dtype} {axes}")
            compare_near(lambda xp, a, axes=axes: xp.fft.irfftn(a, axes=axes, norm="ortho"), x)
        np.testing.assert_array_equal(a.get(), x)


def test_inverses() -> None:
    x = cp.asarray(noise((6, 10), "float64"))
    for norm in NORMS:
        assert float(abs(cp.fft.ifftn(cp.fft.fftn(x, norm=norm), norm=norm) - x).max()) < 1e-14
        assert float(abs(cp.fft.irfft2(cp.fft.rfft2(x, norm=norm), norm=norm) - x).max()) < 1e-14
        assert float(abs(cp.fft.hfft(cp.fft.ihfft(x, norm=norm), norm=norm) - x).max()) < 1e-14


def test_fft_inside_a_program() -> None:
    """Operations before and after a transform join its program; a repeated step is replayed."""
    x = noise((64,), "float64")
    window = np.hanning(64)
    for _ in range(4):
        spectrum = cp.fft.rfft(cp.asarray(x) * cp.asarray(window))
        near((abs(spectrum) ** 2).sum(), (np.abs(np.fft.rfft(x * window)) ** 2).sum())


@pytest.mark.parametrize("name", LINES)
def test_empty_batches(name: str) -> None:
    for shape in [(0, 4), (4, 0), (2, 0, 4), (0,)]:
        x = np.zeros(shape)
        for axis, n in itertools.product(range(-1, len(shape)), [None, 3]):
            if n and shape[axis] == 0 and name in ("irfft", "hfft"):
                # NumPy's result is uninitialized memory.
                assert not getattr(cp.fft, name)(cp.asarray(x), n, axis).get().any()
                continue
            alike(lambda xp, x=x, a=axis, n=n: getattr(xp.fft, name)(xp.asarray(x), n, a))


WRONG = {
    "no points": lambda xp, x: xp.fft.fft(x, 0),
    "fewer": lambda xp, x: xp.fft.rfft(x, -2),
    "no points by default": lambda xp, x: xp.fft.irfft(x[:, :1]),
    "half a point": lambda xp, x: xp.fft.fft(x, 2.5),
    "axis": lambda xp, x: xp.fft.fft(x, axis=2),
    "axis before": lambda xp, x: xp.fft.irfft(x, 4, axis=-3),
    "0-d": lambda xp, x: xp.fft.fft(x[0, 0]),
    "norm": lambda xp, x: xp.fft.fft(x, norm="unitary"),
    "norm of the wrong type": lambda xp, x: xp.fft.ihfft(x, norm=2),
    "complex to half": lambda xp, x: xp.fft.rfft(x * 1j),
    "complex to half of the inverse": lambda xp, x: xp.fft.ihfft(x * 1j),
    "complex planes": lambda xp, x: xp.fft.rfftn(x * 1j),
    "points and axes": lambda xp, x: xp.fft.fftn(x, (2, 2), (0,)),
    "planes of a line": lambda xp, x: xp.fft.fft2(x[0]),
    "an axis that is not there": lambda xp, x: xp.fft.fftn(x, axes=(0, 4)),
    "no axes": lambda xp, x: xp.fft.rfftn(x, axes=()),
    "no axes back": lambda xp, x: xp.fft.irfftn(x, axes=()),
    "an axis alone": lambda xp, x: xp.fft.fftn(x, axes=0),
    "frequencies of a fraction": lambda xp, x: xp.fft.fftfreq(2.5),
    "no frequencies": lambda xp, x: xp.fft.fftfreq(0),
    "no step": lambda xp, x: xp.fft.rfftfreq(4, 0),
    "fewer frequencies": lambda xp, x: xp.fft.fftfreq(-3),
    "shift of an axis that is not there": lambda xp, x: xp.fft.fftshift(x, 2),
}


@pytest.mark.parametrize("what", WRONG)
def test_errors(what: str) -> None:
    x = np.ones((3, 4))
    with pytest.raises(Exception) as theirs:
        WRONG[what](np, x)
    with pytest.raises(Exception) as ours:
        WRONG[what](cp, cp.asarray(x))
    classes = (ValueError, TypeError, IndexError, ZeroDivisionError)
    assert any(isinstance(ours.value, c) and isinstance(theirs.value, c) for c in classes), (ours.value, theirs.value)


def test_no_axes_is_no_transform() -> None:
    x = np.arange(4).reshape(2, 2)
    assert_same(cp.fft.fftn(cp.asarray(x), axes=()), np.fft.fftn(x, axes=()))
    assert_same(cp.fft.fftn(cp.asarray(3.0)), np.asarray(np.fft.fftn(np.float64(3))))


def test_infinities_and_nan() -> None:
    for bad in (np.inf, -np.inf, np.nan):
        x = np.ones(8)
        x[3] = bad
        with np.errstate(all="ignore"):
            assert not np.isfinite(cp.fft.fft(cp.asarray(x)).get()).any()
            assert not np.isfinite(cp.fft.rfft(cp.asarray(x)).get()).any()


def test_frequencies_and_shifts() -> None:
    for n in [1, 2, 3, 4, 5, 8, 9]:
        for d in (1.0, 0.25, 3):
            assert_same(cp.fft.fftfreq(n, d), np.fft.fftfreq(n, d))
            assert_same(cp.fft.rfftfreq(n, d), np.fft.rfftfreq(n, d))
    assert_same(cp.fft.rfftfreq(-3), np.fft.rfftfreq(-3))
    assert cp.fft.fftfreq(4, dtype="float32").dtype == "float32"
    assert cp.fft.rfftfreq(4, device="cpu").device == "cpu"
    with pytest.raises(ValueError, match="floating"):
        cp.fft.fftfreq(4, dtype="int64")
    for shape in [(1,), (5,), (6,), (4, 5), (2, 3, 4), (0,)]:
        x = sample("float64", shape)
        for axes in [None, 0, -1, (0,), [-1], tuple(range(len(shape)))]:
            check(lambda xp, a, axes=axes: xp.fft.fftshift(a, axes), x)
            check(lambda xp, a, axes=axes: xp.fft.ifftshift(a, axes), x)
            assert_same(cp.fft.ifftshift(cp.fft.fftshift(cp.asarray(x), axes), axes), x)


def test_numpy_dispatches() -> None:
    x = noise((8,), "float64")
    assert isinstance(np.fft.fft(cp.asarray(x)), cp.ndarray)
    near(np.fft.irfftn(cp.asarray(x)), np.fft.irfftn(x))
