"""Tests reductions: values, dtypes, axes, keepdims, where, initial, out."""

from __future__ import annotations

import numpy as np
import pytest

import cuprous as cp
from tests.support import DTYPES, REAL_DTYPES, SHAPES, alike, assert_same, check, sample

FOLDS = ["sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "ptp", "count_nonzero"]
RUNNING = ["cumsum", "cumprod"]
LOOSE = {"rtol": 5e-3, "atol": 1e-2}


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_all_axes(name: str, shape: tuple[int, ...]) -> None:
    for dtype in DTYPES:
        a = sample(dtype, shape)
        if name == "ptp" and dtype == "bool":
            continue
        loose = LOOSE if dtype in ("float16",) else {"rtol": 1e-5, "atol": 1e-5}
        check(lambda xp, x: np.asarray(getattr(xp, name)(x)) if xp is np else getattr(xp, name)(x), a, **loose)


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("axis", [0, -1, (0, 2), (1, 0, 2), (), 3, (0, 0)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_some_axes(name: str, axis: object, keepdims: bool) -> None:
    for dtype in ["int32", "float64", "bool"]:
        a = sample(dtype, (2, 3, 4))
        if name == "ptp" and dtype == "bool":
            continue
        check(lambda xp, x: getattr(xp, name)(x, axis=axis, keepdims=keepdims), a, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions(name: str) -> None:
    for dtype in REAL_DTYPES:
        for shape in SHAPES:
            for axis in (None, 0, -1):
                check(lambda xp, x, axis=axis: getattr(xp, name)(x, axis=axis), sample(dtype, shape))
    a = np.array([1.0, np.nan, 3.0, np.nan])
    check(lambda xp, x: getattr(xp, name)(x), a)
    check(lambda xp, x: getattr(xp, name)(x, axis=1, keepdims=True), sample("int32", (3, 4)))


@pytest.mark.parametrize("name", RUNNING)
def test_cumulative_functions(name: str) -> None:
    for dtype in DTYPES:
        for shape in [(), (5,), (0,), (3, 4)]:
            for axis in (None, 0, -1):
                check(
                    lambda xp, x, axis=axis: getattr(xp, name)(x, axis=axis), sample(dtype, shape), rtol=1e-2, atol=1e-2
                )
    check(lambda xp, x: getattr(xp, name)(x, dtype="float32"), sample("int32", (6,)))


def test_cumulative() -> None:
    a = sample("int64", (3, 4))
    for name in ("cumulative_sum", "cumulative_prod"):
        check(lambda xp, x, name=name: getattr(xp, name)(x, axis=1, include_initial=True), a)
        check(lambda xp, x, name=name: getattr(xp, name)(x, axis=0), a)
        check(lambda xp, x, name=name: getattr(xp, name)(x), a)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_initial_and_where(name: str) -> None:
    a = sample("float64", (4, 5))
    mask = a > 0

    def call(xp: object, x: object) -> object:
        m = mask if xp is np else cp.asarray(mask)
        return getattr(xp, name)(x, axis=1, initial=2.0, where=m)

    assert_same(call(cp, cp.asarray(a)), call(np, a))


@pytest.mark.parametrize("name", ["mean", "var", "std", "any", "all"])
def test_where(name: str) -> None:
    a = sample("float64", (4, 5))
    mask = np.ones((4, 5), bool)
    mask[:, 1] = False
    mask[2, 2:] = False
    assert_same(
        getattr(cp, name)(cp.asarray(a), axis=1, where=cp.asarray(mask)), getattr(np, name)(a, axis=1, where=mask)
    )


def test_out_and_dtype() -> None:
    a = sample("float32", (3, 4))
    out = cp.empty(4)
    assert cp.sum(cp.asarray(a), axis=0, out=out) is out
    assert_same(out, np.sum(a, axis=0, out=np.empty(4)), rtol=1e-5)
    with pytest.raises(ValueError):
        cp.sum(cp.asarray(a), axis=0, out=cp.empty(3))
    for dtype in ["int8", "int64", "float32", "bool", "complex128"]:
        for name in ("sum", "prod", "cumsum", "cumprod"):
            b = sample("int32", (5,))
            shape = (5,) if name.startswith("cum") else ()
            alike(lambda xp, n=name, t=dtype, s=shape, b=b: getattr(xp, n)(xp.asarray(b), out=xp.zeros(s, t)))
    assert cp.sum(cp.ones(3) * 1.5, out=cp.zeros((), int)) == 4, "as NumPy, whatever the dtype"
    for dtype in ["float64", "int32", "complex64"]:
        assert_same(cp.sum(cp.asarray(a), dtype=dtype), np.asarray(np.sum(a, dtype=dtype)))
        assert_same(cp.mean(cp.asarray(a), dtype=dtype), np.asarray(np.mean(a, dtype=dtype)))


def test_moments_options() -> None:
    a = sample("float64", (4, 5))
    for name in ("var", "std"):
        check(lambda xp, x, name=name: getattr(xp, name)(x, axis=0, ddof=1), a)
        check(lambda xp, x, name=name: getattr(xp, name)(x, correction=1), a)
        check(lambda xp, x, name=name: getattr(xp, name)(x, axis=1, mean=xp.mean(x, axis=1, keepdims=True)), a)
    big = np.full(1000, 6e4, np.float16)
    check(lambda xp, x: xp.mean(x), big)
    shifted = sample("float64", (1000,)) + 1e8
    check(lambda xp, x: xp.var(x), shifted, rtol=1e-9)


def test_average() -> None:
    a, w = sample("float64", (3, 4)), np.arange(1.0, 5.0)
    check(lambda xp, x: xp.average(x), a)
    check(lambda xp, x: xp.average(x, axis=0), a)
    check(lambda xp, x: xp.average(x, axis=-1, weights=xp.asarray(np.arange(1.0, x.shape[-1] + 1)), returned=True), a)
    with pytest.raises(ZeroDivisionError):
        cp.average(cp.asarray(a), axis=1, weights=cp.asarray(w * 0))


NAN_FOLDS = ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanmedian"]


@pytest.mark.parametrize("name", NAN_FOLDS)
def test_nan_reductions(name: str) -> None:
    a = sample("float64", (4, 5))
    a[1, 2] = a[0, 0] = a[3, 3] = np.nan
    for axis in (None, 0, 1, (0, 1)):
        check(lambda xp, x, axis=axis: getattr(xp, name)(x, axis=axis), a)
        check(lambda xp, x, axis=axis: getattr(xp, name)(x, axis=axis, keepdims=True), a)
    a[2] = np.nan
    check(lambda xp, x: getattr(xp, name)(x, axis=1), a)
    check(lambda xp, x: getattr(xp, name)(x, axis=0), sample("int32", (4, 5)))
    check(lambda xp, x: getattr(xp, name)(x, axis=0), a.astype("float32"), rtol=1e-5)


def test_nan_positions_and_sums() -> None:
    a = sample("float64", (4, 5))
    a[1, 2] = a[0, 0] = np.nan
    for name in ("nanargmax", "nanargmin", "nancumsum", "nancumprod"):
        check(lambda xp, x, name=name: getattr(xp, name)(x, axis=1), a)
        check(lambda xp, x, name=name: getattr(xp, name)(x), a)
    a[2] = np.nan
    for name in ("nanargmax", "nanargmin"):
        check(lambda xp, x, name=name: getattr(xp, name)(x, axis=1), a)


def test_methods_and_results_are_arrays() -> None:
    a = cp.arange(6).reshape(2, 3)
    for name in ["sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "argmax", "argmin", "ptp"]:
        result = getattr(a, name)()
        assert isinstance(result, cp.ndarray)
        assert result.shape == ()
        assert_same(getattr(a, name)(axis=1), getattr(np, name)(np.arange(6).reshape(2, 3), axis=1))


def test_empty_errors() -> None:
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError):
            getattr(cp, name)(cp.empty((0,)))
    with pytest.raises(np.exceptions.AxisError):
        cp.sum(cp.ones(3), axis=1)


def test_objects_that_give_an_array() -> None:
    class Holder:
        def __cupy_get_ndarray__(self):
            return cp.arange(4.0)

    assert cp.asarray(Holder()).tolist() == [0, 1, 2, 3]


def test_sums_of_complex_numbers_as_reals_warn() -> None:
    a = cp.ones(8, complex)
    with pytest.warns(np.exceptions.ComplexWarning, match="imaginary part") as found:
        assert float(a.sum(dtype=float)) == 8
    assert found[0].filename == __file__


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_dtype_of_positions(name: str) -> None:
    a = cp.asarray([[3.0, 1.0], [0.0, 5.0]])
    whole, rows = getattr(cp, name)(a, dtype="i4"), getattr(a, name)(axis=1, dtype=np.int8)
    assert (whole.dtype, rows.dtype) == (np.int32, np.int8)
    assert rows.tolist() == getattr(np, name)(a.get(), axis=1).tolist()
