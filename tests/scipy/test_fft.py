"""`cuprous.scipy.fft` beside `scipy.fft`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.fft as theirs
from hypothesis import given, settings
from hypothesis import strategies as st

import cuprous as cp
import cuprous.scipy.fft as ours
from tests.arrays.test_fft import near, noise
from tests.support import DTYPES, assert_same, sample

LINES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
PLANES = [f"{name}{end}" for name in LINES for end in ("2", "n")]
COSINES = ["dct", "idct", "dst", "idst"]
NORMS = [None, "backward", "ortho", "forward"]
REAL_INPUT = ("rfft", "ihfft")


def both(name: str, x: np.ndarray[Any, Any], *args: Any, **kwargs: Any) -> None:
    device = cp.asarray(x)  # SciPy may spoil its input
    expected = getattr(theirs, name)(x, *args, **kwargs)
    near(getattr(ours, name)(device, *args, **kwargs), expected, f"{name} {x.dtype} {x.shape} {args} {kwargs}")


def fails_alike(name: str, x: Any, *args: Any, **kwargs: Any) -> None:
    with pytest.raises(Exception) as expected:
        getattr(theirs, name)(x, *args, **kwargs)
    with pytest.raises(Exception) as got:
        getattr(ours, name)(cp.asarray(x), *args, **kwargs)
    assert isinstance(got.value, type(expected.value)), (got.value, expected.value)


def test_every_name_of_scipys_is_there_but_for_backends() -> None:
    backends = {"set_backend", "skip_backend", "set_global_backend", "register_backend"}
    assert set(theirs.__all__) - set(ours.__all__) == backends
    assert cp.scipy.fft is ours
    assert ours.dctn.__name__ == "dctn"
    assert "DST-1" in (ours.idst.__doc__ or "")


@pytest.mark.parametrize("name", LINES)
def test_lines(name: str) -> None:
    for dtype in DTYPES:
        if dtype.startswith("complex") and name in REAL_INPUT:
            fails_alike(name, sample(dtype, (4,)))
            continue
        for n, norm in itertools.product([None, 1, 3, 8], NORMS):
            both(name, sample(dtype, (3, 5)), n, norm=norm)
            both(name, sample(dtype, (3, 5)), n, 0, norm)


@pytest.mark.parametrize("name", PLANES)
def test_planes(name: str) -> None:
    real = name[:-1] in REAL_INPUT
    for shape in [(4, 6), (2, 3, 5)]:
        x = noise(shape, "float64" if real else "complex128")
        for norm in NORMS:
            both(name, x, norm=norm)
            both(name, x.astype("float32" if real else "complex64"), norm=norm)
        for s, axes in [((3, 4), (0, 1)), ((6, -1), (-1, 0)), (None, (1, 0)), (None, (1,)), (5, 0), ((8, 2), None)]:
            both(name, x, s, axes)
    for s, axes in [((2,), (0, 1)), (None, (0, 0)), (None, (0, 7)), ((0, 2), (0, 1)), ((1, 2, 3), None), (None, "ab")]:
        fails_alike(name, np.ones((2, 3)), s, axes)
    if name[:-1] in ("fft", "ifft"):
        x = np.arange(6).reshape(2, 3)
        assert_same(getattr(ours, name)(cp.asarray(x), axes=()), x)
    else:
        fails_alike(name, np.ones((2, 3)), axes=())
    if real:
        fails_alike(name, np.ones((2, 3), "complex64"))


def test_hints_are_checked_and_change_nothing() -> None:
    x = noise((8,), "complex128")
    for hints in [{"overwrite_x": True}, {"workers": 2}, {"workers": -1}, {"workers": None}, {"plan": None}]:
        both("fft", x.copy(), **hints)
    for name in ("fft", "rfftn", "dct", "dstn"):
        fails_alike(name, np.ones((4, 4)), workers=0)
        fails_alike(name, np.ones((4, 4)), workers=-1000)
    fails_alike("fft", x, plan=object())
    fails_alike("irfftn", np.ones((4, 4)), plan=object())
    assert ours.get_workers() == 1
    with ours.set_workers(3):
        assert ours.get_workers() == 3
        ours.fft(cp.asarray(x))
    assert ours.get_workers() == 1
    with pytest.raises(ValueError, match="zero"), ours.set_workers(0):
        pass


@pytest.mark.parametrize("name", COSINES)
def test_cosines_of_every_size_and_type(name: str) -> None:
    for n, type_ in itertools.product([1, 2, 3, 4, 5, 8, 9, 15, 16, 31, 64, 97, 100, 255], [1, 2, 3, 4]):
        for dtype in ["float32", "float64", "complex128"]:
            x = noise((n,), dtype)
            if n == 1 and type_ == 1 and "dct" in name:
                fails_alike(name, x, type_)
                continue
            for norm in NORMS:
                both(name, x, type_, norm=norm)


@pytest.mark.parametrize("name", COSINES)
def test_cosines_points_axes_and_orthogonality(name: str) -> None:
    for shape in [(5,), (4, 6), (2, 3, 4)]:
        x = noise(shape, "float64")
        for axis, n, type_ in itertools.product(range(-len(shape), len(shape)), [None, 2, 3, 9], [1, 2, 3, 4]):
            both(name, x, type_, n, axis)
            for orthogonalize in (True, False):
                both(name, x, type_, n, axis, "ortho", orthogonalize=orthogonalize)
                both(name, x, type_, n, axis, orthogonalize=orthogonalize)
    for dtype in DTYPES:
        both(name, sample(dtype, (3, 4)))
    for view in (x[..., ::-1], x[::-1, ::2], x.T):
        both(name, view, 2)
        both(name, view, 3)


@pytest.mark.parametrize("name", [f"{name}n" for name in COSINES])
def test_cosines_along_several_axes(name: str) -> None:
    for shape in [(4, 6), (2, 3, 5)]:
        x = noise(shape, "float64")
        for type_, norm in itertools.product([1, 2, 3, 4], NORMS):
            both(name, x, type_, norm=norm)
        for s, axes in [((3, 4), (0, 1)), ((6, -1), (-1, 0)), (None, (1, 0)), (None, (1,)), (5, 0), ((8, 2), None)]:
            both(name, x, 2, s, axes, orthogonalize=True)
    x = np.arange(6).reshape(2, 3)
    assert ours.dctn(cp.asarray(x), axes=()).tolist() == x.tolist()
    for bad in [{"type": 5}, {"type": 0}, {"norm": "x"}, {"axes": (0, 0)}, {"s": (0, 1)}]:
        fails_alike(name, np.ones((2, 3)), **bad)


def test_cosines_bad_arguments() -> None:
    for bad in [{"type": 5}, {"norm": "x"}, {"n": 0}, {"axis": 2}]:
        fails_alike("dct", np.ones((2, 3)), **bad)
        fails_alike("idst", np.ones((2, 3)), **bad)
    fails_alike("dct", np.ones(()))
    fails_alike("dst", np.ones(0))


@settings(max_examples=60)
@given(st.sampled_from(["dct", "dst"]), st.integers(1, 4), st.integers(2, 60), st.sampled_from(NORMS))
def test_inverses(name: str, type_: int, n: int, norm: str | None) -> None:
    x = cp.asarray(noise((3, n), "float64"))
    there = getattr(ours, name)(x, type_, norm=norm)
    back = getattr(ours, f"i{name}")(there, type_, norm=norm)
    assert float(abs(back - x).max()) < 1e-12
    planes = getattr(ours, f"i{name}n")(getattr(ours, f"{name}n")(x, type_, norm=norm), type_, norm=norm)
    assert float(abs(planes - x).max()) < 1e-12


def test_fast_sizes() -> None:
    for real in (False, True):
        for n in [*range(1, 600), 1009, 4099, 99_999, 1_000_003]:
            assert ours.next_fast_len(n, real) == theirs.next_fast_len(n, real), n
            assert ours.prev_fast_len(n, real) == theirs.prev_fast_len(n, real), n
    assert ours.next_fast_len(0) == theirs.next_fast_len(0)
    for bad, error in ((-1, ValueError), (2.5, TypeError)):
        with pytest.raises(error):
            ours.next_fast_len(bad)
        with pytest.raises(error):
            ours.prev_fast_len(bad)
