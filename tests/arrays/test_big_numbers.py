"""Tests complex powers at infinities, and Python integers that exceed int64 or float."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_same

SPECIALS = [complex(x, y) for x in (0.0, -1.0, 2.5, np.inf, -np.inf, np.nan) for y in (0.0, 3.0, np.inf, np.nan)]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 1.0, 3.0, 4, -2])
def test_small_powers_of_complex_specials(dtype: str, exponent: float) -> None:
    """Multiplies as NumPy does, without a factor of 1, which would turn infinite parts into NaN."""
    a = np.array(SPECIALS, dtype)
    with np.errstate(all="ignore"):
        for call in (lambda xp, x: x**exponent, lambda xp, x: xp.power(x, xp.full(x.shape, exponent, dtype))):
            np.testing.assert_array_equal(call(cp, cp.asarray(a)).get(), call(np, a))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64", "bool"])
@pytest.mark.parametrize("exponent", [0, 1, -1, 2, 0.5, 1.0, -1.0, 2.0, 0.0, True])
def test_powers_with_numpys_special_cases(dtype: str, exponent: float) -> None:
    a = np.array([0.0, -0.0, 1, 4, np.inf, -np.inf, np.nan]) if dtype not in ("int64", "bool") else np.arange(4)
    a = a.astype(dtype)
    with np.errstate(all="ignore"):
        try:
            want = a**exponent
        except ValueError:
            with pytest.raises(ValueError):
                cp.asarray(a) ** exponent
            return
        assert_same(cp.asarray(a) ** exponent, want, rtol=1e-14)
        if dtype.startswith("float"):
            numbers = ~np.isnan(want)
            signs = np.signbit((cp.asarray(a) ** exponent).get())
            np.testing.assert_array_equal(signs[numbers], np.signbit(want)[numbers])
            b, c = cp.asarray(a), a.copy()
            b **= exponent
            c **= exponent
            assert_same(b, c, rtol=1e-14)


def test_powers_with_negative_exponents_do_not_overflow_between() -> None:
    a = np.array([1e200 + 0j, 1e-200j, 3e150 - 4e150j, 1 + 1j, 1e200 + 1e200j])
    for exponent in (-1, -2):
        n = np.full(a.shape, exponent, complex)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(cp.power(cp.asarray(a), cp.asarray(n)).get(), np.power(a, n), rtol=1e-14)


@pytest.mark.parametrize("name", ["absolute", "floor", "ceil", "trunc", "sign", "square", "negative", "positive",
                                  "invert", "sqrt", "rint", "fabs", "isfinite"])  # fmt: skip
def test_python_integers_beyond_int64(name: str) -> None:
    """Alone they are uint64 if they fit; NumPy makes larger ones objects, which devices do not support."""
    ours, theirs = getattr(cp, name), getattr(np, name)
    for x in (2**63, 2**64 - 1, 2**62):
        expected = theirs(x)
        result = ours(x)
        assert (result.dtype, result.item()) == (expected.dtype, expected.item()), x
    for x in (2**64, -(2**63) - 1, 10**40, 10**400, -(10**400)):
        if name != "isfinite":
            with pytest.raises((OverflowError, TypeError)):
                ours(x)


@pytest.mark.parametrize("name", ["less", "greater_equal", "equal", "not_equal"])
def test_comparisons_of_python_integers(name: str) -> None:
    numbers = [0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64, 2**64 + 1, -(2**70), 10**30]
    for x in numbers:
        for y in numbers:
            assert bool(getattr(cp, name)(x, y)) == getattr(np, name)(x, y), (x, y)
    for x in numbers:
        assert bool(getattr(cp, name)(x, 10**40)) == getattr(np, name)(x, 10**40)
    with pytest.raises(OverflowError):
        getattr(cp, name)(10**40, 10**41)


def test_sums_of_python_integers() -> None:
    for x, y in ((2**63, 1), (2**63, -1), (2**64, 1)):
        for xp in (np, cp):
            with pytest.raises(OverflowError):
                xp.add(x, y)


def test_integers_beyond_every_float() -> None:
    huge = 10**400
    for a in (np.arange(3), np.ones(2, "uint64")):
        for op in (operator.lt, operator.ge, operator.eq, operator.ne):
            for x in (huge, -huge):
                np.testing.assert_array_equal(op(cp.asarray(a), x).get(), op(a, x))
    for xp in (np, cp):
        with pytest.raises(OverflowError):
            xp.ones(2, bool) < huge  # noqa: B015
    a = cp.ones(2)
    for call in (lambda: a + huge, lambda: cp.arange(3) + huge, lambda: a.__setitem__(0, huge),
                 lambda: cp.full(2, huge), lambda: cp.full(2, huge, "float32"), lambda: cp.asarray(huge)):  # fmt: skip
        with pytest.raises(OverflowError):
            call()


def test_numpys_complex_numbers_in_real_arrays() -> None:
    for write in (
        lambda a: a.__setitem__(0, np.complex128(1j)), lambda a: a.__setitem__(slice(None), np.complex64(2)),
        lambda a: a.fill(np.complex128(1j)),
    ):  # fmt: skip
        for xp in (np, cp):
            with pytest.warns(np.exceptions.ComplexWarning):
                write(xp.zeros(2))
