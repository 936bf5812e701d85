"""Tests where, clip, round, complex parts, comparisons of whole arrays, and dtype kinds."""

from __future__ import annotations

import numpy as np
import pytest

import cuprous as cp
import cuprous.scipy.sparse
from tests.support import DTYPES, SOME_DTYPES, alike, assert_errors, assert_same, check, sample


def test_where() -> None:
    for dtype in DTYPES:
        check(
            lambda xp, x: xp.where(x > 1, x, 3),
            sample(dtype, (3, 4)) if "complex" not in dtype else sample(dtype, (3, 4)).real,
        )
    a = sample("int32", (3, 4))
    check(lambda xp, x: xp.where(x > 0, x, xp.asarray(2.5)), a)
    check(lambda xp, x: xp.where(x > 0, 1, 2), a)
    check(lambda xp, x: xp.where(x, x * 2, x[:1]), a)
    with pytest.raises(ValueError):
        cp.where(cp.ones(3), 1)


@pytest.mark.parametrize("bounds", [(0, 2), (None, 2), (-1, None), (None, None), (2, -1), (0.5, 2.5)])
def test_clip(bounds: tuple[object, object]) -> None:
    for dtype in ["int32", "uint8", "float32", "float64"]:
        a = sample(dtype, (3, 4))
        if dtype == "uint8" and bounds[0] == -1:
            continue
        check(lambda xp, x: xp.clip(x, *bounds), a)
        check(lambda xp, x: x.clip(*bounds), a)
    check(lambda xp, x: xp.clip(x, min=0), sample("float64", (4,)))
    check(lambda xp, x: xp.clip(x, xp.zeros_like(x), xp.ones_like(x)), sample("float64", (3, 4)))


@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
def test_round(decimals: int) -> None:
    for dtype in ["int32", "float64", "float32", "complex128"]:
        a = sample(dtype, (20,), low=-99, high=99)
        check(lambda xp, x: xp.round(x, decimals), a if a.dtype.kind == "i" else a * a.dtype.type(1.37), rtol=1e-6)
    check(lambda xp, x: x.round(), sample("float64", (5,)) + 0.5)
    check(lambda xp, x: xp.fix(x), sample("float64", (9,)))
    check(lambda xp, x: xp.around(x, 1), sample("float64", (9,)))


def test_infinities_and_nan() -> None:
    a = np.array([1.0, np.inf, -np.inf, np.nan, 0.0])
    for dtype in ("float64", "float32", "float16"):
        for name in ("isposinf", "isneginf", "nan_to_num"):
            check(lambda xp, x, n=name: getattr(xp, n)(x), a.astype(dtype))
    check(lambda xp, x: xp.nan_to_num(x, nan=7.0, posinf=8.0, neginf=-9.0), a)
    check(lambda xp, x: xp.nan_to_num(x), a + 1j * a[::-1])
    check(lambda xp, x: xp.isposinf(x), np.arange(3))
    check(lambda xp, x: xp.isposinf(x), np.ones(3, complex))
    d = cp.asarray(a)
    cp.nan_to_num(d, copy=False)
    assert_same(d, np.nan_to_num(a))


def test_complex_parts() -> None:
    for dtype in SOME_DTYPES:
        a = sample(dtype, (3, 4))
        check(lambda xp, x: [xp.real(x), xp.imag(x), x.real, x.imag], a)
        check(lambda xp, x: xp.conj(x), a)
        check(lambda xp, x: x.conj(), a)
        if dtype != "bool":
            check(lambda xp, x: xp.angle(x), a)
            check(lambda xp, x: xp.angle(x, deg=True), a)
        check(lambda xp, x: [xp.iscomplex(x), xp.isreal(x)], a)
        assert cp.iscomplexobj(cp.asarray(a)) == np.iscomplexobj(a)
    check(lambda xp, x: xp.angle(x), np.array([0, -0.0 + 0j, 1j, -1, complex(-1, -0.0)]))
    h, d = sample("complex64", (4,)), cp.asarray(sample("complex64", (4,)))
    for x in (h, d):
        x.real = 3
        x.imag[1:] = 7
        x.real[0] += 1
    assert_same(d, h)
    with pytest.raises(TypeError):
        cp.ones(3).imag = 2
    check(lambda xp, x: xp.real_if_close(x), np.array([1 + 1e-18j, 2]))


def test_close_and_equal() -> None:
    a = sample("float64", (3, 4))
    b = a + 1e-9
    b[0, 0] = np.nan
    c = b.copy()
    for equal_nan in (False, True):
        for name in ("isclose", "allclose"):
            alike(lambda xp, n=name, e=equal_nan: getattr(xp, n)(xp.asarray(b), xp.asarray(c), equal_nan=e))
        alike(lambda xp, e=equal_nan: xp.array_equal(xp.asarray(b), xp.asarray(c), e))
    assert bool(cp.allclose(cp.asarray(a), cp.asarray(a + 1e-9)))
    assert not bool(cp.array_equal(cp.ones(3), cp.ones(4)))
    assert bool(cp.array_equiv(cp.ones((2, 3)), cp.ones(3)))
    assert not bool(cp.array_equiv(cp.ones((2, 3)), cp.ones(4)))
    alike(lambda xp: xp.isclose(np.inf, xp.asarray([np.inf, -np.inf, 1])))
    alike(lambda xp: xp.isclose(xp.asarray([1, 2]), xp.asarray([1, 3])))
    for dtype in ("float32", "float16", "int8", "uint8", "bool", "float64", "complex64"):
        for shape in ((), (2,)):
            for other in (0.1, 1, True, np.float64(0.1), np.int16(1), 0.1 + 0j, np.float32(0.1)):
                for tolerances in ({}, {"rtol": 0}, {"rtol": 0, "atol": 0}, {"atol": np.float32(1e-9), "rtol": 0.0}):
                    theirs = np.full(shape, other if isinstance(other, complex) else float(other)).astype(dtype)
                    for swapped in (False, True):
                        pair = [(x, other)[:: -1 if swapped else 1] for x in (theirs, cp.asarray(theirs))]
                        want, got = (m.isclose(*p, **tolerances) for m, p in zip((np, cp), pair, strict=True))
                        assert got.tolist() == want.tolist(), (dtype, shape, other, tolerances, swapped)


def test_dtype_kind_predicates() -> None:
    assert cp.isscalar(3.0)
    assert cp.isscalar(np.float32(1))
    assert not cp.isscalar(cp.asarray(1))
    assert cp.isfortran(cp.ones((2, 3)).T)
    assert cp.result_type(cp.ones(2, "float32"), 1.0) == np.float32
    assert cp.common_type(cp.ones(2, "float32"), cp.ones(2, int)) is np.float64
    assert cp.can_cast("int8", "int16")
    assert cp.promote_types("int8", "uint8") == np.int16
    assert cp.get_array_module(cp.ones(2), 3) is cp
    assert cp.get_array_module(np.ones(2)) is np
    assert cp.get_array_module(cuprous.scipy.sparse.csr_matrix((5, 3))) is cp


def test_named_functions() -> None:
    check(lambda xp, x: xp.sinc(x), sample("float64", (9,)), atol=1e-15)
    check(lambda xp, x: xp.sinc(x), sample("complex128", (9,)) / 8, rtol=1e-12, atol=1e-15)
    check(lambda xp, x: xp.i0(x), sample("float64", (9,)), rtol=1e-7)
    check(lambda xp, x: xp.polyval(xp.asarray([1.0, -2.0, 0.5]), x), sample("float64", (3, 4)))
    check(lambda xp, x: xp.polyval(xp.asarray([1, -2, 3]), x), sample("int32", (5,)))


@pytest.mark.parametrize("name", ["hanning", "hamming", "blackman", "bartlett"])
def test_windows(name: str) -> None:
    for n in (0, 1, 2, 7, 12):
        alike(lambda xp, n=n: getattr(xp, name)(n), atol=1e-15)
        alike(lambda xp, n=n: xp.kaiser(n, 8.6), rtol=1e-6)


@pytest.mark.parametrize("order", ["big", "little"])
def test_bits(order: str) -> None:
    a = sample("bool", (3, 11))
    for axis in (None, 0, 1):
        check(lambda xp, x, ax=axis: xp.packbits(x, ax, order), a)
        packed = np.packbits(a, axis)
        for count in (None, 5, -3, 40):
            alike(lambda xp, ax=axis, c=count, p=packed: xp.unpackbits(xp.asarray(p), ax, c, order))
    check(lambda xp, x: xp.packbits(x), sample("int32", (9,)))
    check(lambda xp, x: xp.packbits(x), sample("float32", (9,)))


def test_functions_are_not_hidden_by_generated_names() -> None:
    """Generated code has index variables `i0`, `i1`, …, which must not hide the Bessel functions of those names."""
    a = sample("float64", (3, 4, 5), 1)
    np.testing.assert_allclose(cp.i0(cp.asarray(a).transpose(2, 0, 1)[::2]).get(), np.i0(a.transpose(2, 0, 1)[::2]))


def test_negative_scalars_are_bases_but_no_exponents_of_integers() -> None:
    n = np.arange(4)
    assert_same((-2) ** cp.asarray(n), (-2) ** n)
    assert_same(cp.power(-1, cp.asarray(3)), np.power(-1, np.asarray(3)))
    assert_errors(
        (lambda: cp.asarray(n) ** -2, ValueError, "negative integer powers"),
        (lambda: cp.power(cp.asarray(n), -2), ValueError, "negative integer powers"),
        (lambda: cp.asarray(n) ** np.int64(-2), ValueError, "negative integer powers"),
    )


def test_bool_is_squared_as_numpy_does() -> None:
    b = np.array([True, False])
    for power in (2, 3, True, 2.0):
        assert_same(cp.asarray(b) ** power, b**power)
    assert_same(cp.power(cp.asarray(b), 2), np.power(b, 2))
