"""The older interface of Fourier transforms against SciPy: derivatives of periodic sequences, cosines, frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous.scipy import fftpack
from tests.support import assert_errors

from .compared import beside

theirs = pytest.importorskip("scipy.fftpack")

RNG = np.random.default_rng(23)
same = beside(theirs, fftpack)
PERIODIC: list[tuple[str, tuple[Any, ...]]] = [
    *(("diff", (order,)) for order in (0, 1, 2, 3, 4, -1, -2, -3)), ("diff", (1, 3.0)), ("diff", (-3, 0.5)),
    ("tilbert", (0.7,)), ("tilbert", (0.7, 3.0)), ("itilbert", (0.7, 2)), ("hilbert", ()), ("ihilbert", ()),
    ("cs_diff", (0.3, 0.7)), ("sc_diff", (0.3, 0.7, 5.0)), ("ss_diff", (0.3, 0.7)), ("cc_diff", (0.3, 0.7, 2.0)),
    ("shift", (0.7,)), ("shift", (-0.2, 3.0)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 65])
def test_periodic_sequences(n: int, dtype: str) -> None:
    x = RNG.standard_normal(n) * 5
    x = (x + 1j * RNG.standard_normal(n) if dtype.startswith("c") else x).astype(dtype)
    for name, arguments in PERIODIC:
        same(name, x, *arguments, rtol=1e-9, atol=1e-9)


def test_what_they_refuse() -> None:
    matrix = np.ones((2, 3))
    assert_errors(
        (lambda: fftpack.diff(matrix), ValueError, "expected 1, got 2"),
        (lambda: fftpack.hilbert(matrix), ValueError, "expected 1, got 2"),
        (lambda: fftpack.shift(3.0, 1.0), ValueError, "expected 1, got 0"),
        (lambda: fftpack.tilbert([], 1.0), ZeroDivisionError),
        (lambda: fftpack.diff([1.0, 2.0], 1.5), TypeError),  # type: ignore[arg-type]
        (lambda: fftpack.dct([1.0], 5), ValueError, "invalid DCT type"),
        (lambda: fftpack.idstn([1.0], 0), ValueError, "invalid DST type"),
        (lambda: fftpack.dctn(matrix, shape=(2,)), ValueError, "same length"),
        (lambda: fftpack.rfftfreq(-1), ValueError, "nonnegative"),
        (lambda: fftpack.rfftfreq(2.0), TypeError),  # type: ignore[arg-type]
        (lambda: fftpack.next_fast_len(-1), ValueError),
    )


@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
@pytest.mark.parametrize("type", [1, 2, 3, 4])
def test_cosines_and_sines(name: str, type: int) -> None:
    x, cube = RNG.standard_normal((3, 8)), RNG.standard_normal((4, 5, 6))
    choices: tuple[dict[str, Any], ...] = ({}, {"norm": "ortho"}, {"n": 5}, {"n": 9, "axis": 0})
    for options in choices:
        same(name, x, type, **options, rtol=1e-10, atol=1e-10)
    same(name, x.astype("float32"), type, rtol=1e-4, atol=1e-4)
    same(name, (x * 9).astype(int), type, rtol=1e-10, atol=1e-10)
    same(name, x + 1j * x[::-1], type, rtol=1e-10, atol=1e-10)
    choices = ({}, {"norm": "ortho"}, {"shape": (3, 4, 5)}, {"shape": (3, 4), "axes": (0, 2)}, {"axes": 1},
               {"shape": 4, "axes": -1})  # fmt: skip
    for options in choices:
        same(f"{name}n", cube, type, **options, rtol=1e-9, atol=1e-9)
    forward, inverse = getattr(fftpack, name), getattr(fftpack, name[1:] if name.startswith("i") else f"i{name}")
    np.testing.assert_allclose(inverse(forward(cp.asarray(x), type, norm="ortho"), type, norm="ortho").get(), x)


def test_lengths_and_frequencies() -> None:
    assert [fftpack.next_fast_len(n) for n in range(1, 300)] == [theirs.next_fast_len(n) for n in range(1, 300)]
    for n in (0, 1, 4, 5, 9):
        same("rfftfreq", n)
        same("rfftfreq", n, 0.3)
    same("fftfreq", 6, 0.5)
    same("fftshift", RNG.standard_normal((4, 5)))
    same("ifftshift", RNG.standard_normal((4, 5)))
