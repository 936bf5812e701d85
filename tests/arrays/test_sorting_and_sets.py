"""Tests sorting, searching and set functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous._functions import sets
from tests.support import REAL_DTYPES, alike, assert_same, check, sample


@pytest.mark.parametrize("dtype", REAL_DTYPES)
def test_sort(dtype: str) -> None:
    for shape in [(20,), (0,), (1,), (4, 5), (2, 3, 4), (2, 0)]:
        a = sample(dtype, shape)
        for axis in (-1, 0, None):
            check(lambda xp, x, ax=axis: xp.sort(x, axis=ax), a)
            check(lambda xp, x, ax=axis: xp.argsort(x, axis=ax, kind="stable"), a)


def test_sort_options() -> None:
    a = sample("float64", (6, 5))
    a[2, 3] = a[0, 0] = np.nan
    check(lambda xp, x: xp.sort(x, axis=0, kind="mergesort"), a)
    check(lambda xp, x: xp.sort(x, kind="bogus"), a)
    check(lambda xp, x: xp.sort(x, axis=5), a)
    check(lambda xp, x: xp.sort(x, stable=True), a)
    h, d = a.copy(), cp.asarray(a)
    h.sort(0)
    d.sort(0)
    assert_same(d, h)
    part = cp.partition(cp.asarray(a[:, 1]), 3)
    assert float(part[3]) == np.sort(a[:, 1])[3]
    assert cp.argpartition(cp.asarray(a), 2, axis=1).shape == a.shape
    check(lambda xp, x: xp.partition(x, 99), a)
    check(lambda xp, x: xp.sort_complex(x), sample("int32", (5,)))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint16", "float64", "complex64"])
def test_rows_of_every_length(dtype: str) -> None:
    """Depending on their length, rows are sorted by a network, by a block or by passes over memory."""
    rng = np.random.default_rng(5)
    for shape in [(40, 7), (9, 200), (5, 900), (2, 5000), (2, 20_000)]:
        a = rng.integers(-90, 90, shape).astype(dtype)
        if a.dtype.kind in "fc":
            a[0, ::5], a[-1, ::7] = np.nan, -0.0
        x = cp.asarray(a)
        got = cp.asnumpy(cp.sort(x))
        np.testing.assert_array_equal(got, np.sort(a, kind="stable"))
        if a.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(got[-1]), np.signbit(np.sort(a[-1], kind="stable")))
        np.testing.assert_array_equal(cp.asnumpy(cp.argsort(x)), np.argsort(a, kind="stable"))


def test_radix_sort_skips_equal_digits() -> None:
    for low, high in [(5, 6), (0, 200), (-3, 70_000), (1 << 40, (1 << 40) + 9)]:
        a = np.random.default_rng(1).integers(low, high, 30_000)
        np.testing.assert_array_equal(cp.asnumpy(cp.sort(cp.asarray(a))), np.sort(a))
        np.testing.assert_array_equal(cp.asnumpy(cp.argsort(cp.asarray(a))), np.argsort(a, kind="stable"))


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
def test_partition(dtype: str) -> None:
    a = np.random.default_rng(2).integers(-60, 60, (3, 5000)).astype(dtype)
    if dtype != "int8":
        a[1, 3] = a[2, 9] = np.nan
    x = cp.asarray(a)
    for kth in (0, 2500, -1, [3, 4000]):
        ordered = np.sort(a, axis=-1)
        for part in (cp.asnumpy(cp.partition(x, kth)), np.take_along_axis(a, cp.asnumpy(cp.argpartition(x, kth)), -1)):
            np.testing.assert_array_equal(np.sort(part, axis=-1), ordered)
            for k in kth if isinstance(kth, list) else [kth % 5000]:
                np.testing.assert_array_equal(part[:, k], ordered[:, k])
                np.testing.assert_array_equal(np.sort(part[:, :k], axis=-1), ordered[:, :k])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "float64"])
def test_topk(dtype: str) -> None:
    rng = np.random.default_rng(3)
    for shape, k in [((300,), 7), ((4, 900), 11), ((100_000,), 50), ((2, 40_000), 3000), ((6, 5), 5), ((3, 4), 0)]:
        a = rng.integers(0, 90, shape).astype(dtype)
        if a.dtype.kind == "f":
            a *= rng.choice([-1, 1], shape).astype(dtype)
            a[..., 1] = np.nan
        for largest in (True, False):
            values, order = cp.topk(cp.asarray(a), k, largest=largest)
            rising = np.argsort(a, axis=-1, kind="stable")
            if largest:
                rising = (a.shape[-1] - 1 - np.argsort(a[..., ::-1], axis=-1, kind="stable"))[..., ::-1]
            np.testing.assert_array_equal(cp.asnumpy(order), rising[..., :k])
            np.testing.assert_array_equal(cp.asnumpy(values), np.take_along_axis(a, rising[..., :k], -1))
    values, order = cp.topk(cp.asarray(np.arange(12.0).reshape(4, 3)), 2, axis=0)
    assert values.tolist() == [[9, 10, 11], [6, 7, 8]]
    with pytest.raises(ValueError, match="topk"):
        cp.topk(values, 9)
    with pytest.raises(TypeError, match="topk"):
        cp.topk(cp.asarray([1j, 2]), 1)


def test_quantiles_of_long_rows() -> None:
    """Elements are selected by rank if sorting would cost more."""
    a = np.random.default_rng(4).standard_normal((2, 70_001))
    for b in (a, a.astype("float32"), (a * 50).astype("int32")):
        x = cp.asarray(b)
        np.testing.assert_array_equal(cp.asnumpy(cp.median(x, -1)), np.median(b, -1))
        np.testing.assert_array_equal(cp.asnumpy(cp.percentile(x, [5, 50.5], axis=1, method="lower")),
                                      np.percentile(b, [5, 50.5], axis=1, method="lower"))  # fmt: skip
        np.testing.assert_allclose(cp.asnumpy(cp.quantile(x, 0.3)), np.quantile(b, 0.3), rtol=1e-6)
    a[1, 7] = np.nan
    np.testing.assert_array_equal(cp.asnumpy(cp.median(cp.asarray(a), -1)), np.median(a, -1))


@pytest.mark.parametrize("n", [1, 17, 4096, 4097, 70_001])
def test_boolean_mask_selection(n: int) -> None:
    rng = np.random.default_rng(n)
    for share in (0, 0.02, 0.6, 1):
        mask = rng.random(n) < share
        for a in (np.arange(n, dtype="int16"), rng.standard_normal(n), np.arange(2 * n)[::-2] * (1 + 1j)):
            assert_same(cp.asarray(a)[cp.asarray(mask)], a[mask])
        assert_same(cp.flatnonzero(cp.asarray(mask)), np.flatnonzero(mask))
        assert_same(cp.flatnonzero(cp.asarray(np.repeat(mask, 3))[::3]), np.flatnonzero(mask))


def test_search_in_long_tables() -> None:
    rng = np.random.default_rng(6)
    for dtype in ("float32", "int64"):
        table, v = (
            np.sort(rng.integers(-9000, 9000, 50_000)).astype(dtype),
            rng.integers(-9100, 9100, 3000).astype(dtype),
        )
        for side in ("left", "right"):
            got = cp.searchsorted(cp.asarray(table), cp.asarray(v), side)
            np.testing.assert_array_equal(cp.asnumpy(got), np.searchsorted(table, v, side))


def test_lexsort() -> None:
    keys = [sample("int32", (12,), seed=k, low=0, high=3) for k in range(3)]
    alike(lambda xp: xp.lexsort([xp.asarray(k) for k in keys]))
    table = np.stack(keys)
    alike(lambda xp: xp.lexsort(xp.asarray(table)))


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side: str) -> None:
    for dtype in ["int32", "float64"]:
        a = np.sort(sample(dtype, (9,)))
        v = sample(dtype, (3, 4), seed=5)
        alike(lambda xp, a=a, v=v: xp.searchsorted(xp.asarray(a), xp.asarray(v), side))
        alike(lambda xp, a=a: xp.searchsorted(xp.asarray(a), 2.5, side))
    a = sample("int32", (9,))
    order = np.argsort(a, kind="stable")
    alike(lambda xp: xp.asarray(a).searchsorted(xp.asarray([1, 2]), side, xp.asarray(order)))
    for right in (True, False):
        for bins in ([-3, 0, 2.5, 4], [4, 2, 0, -3], [1]):
            check(lambda xp, x, b=bins, r=right: xp.digitize(x, xp.asarray(b), r), sample("float64", (10,)))
    check(lambda xp, x: xp.digitize(x, xp.asarray([1, 3, 2])), sample("float64", (10,)))


@pytest.mark.parametrize("dtype", REAL_DTYPES)
def test_unique(dtype: str) -> None:
    for shape in [(20,), (0,), (1,), (4, 5)]:
        a = sample(dtype, shape)
        check(lambda xp, x: xp.unique(x), a)
        check(lambda xp, x: xp.unique(x, True, True, True), a)


def test_unique_more() -> None:
    a = np.array([3.0, np.nan, 1.0, np.nan, 3.0])
    check(lambda xp, x: xp.unique(x), a)
    check(lambda xp, x: xp.unique(x, equal_nan=False), a)
    table = sample("int32", (8, 2), low=0, high=2)
    for axis in (0, 1):
        check(lambda xp, x, ax=axis: xp.unique(x, axis=ax), table)
        check(lambda xp, x, ax=axis: xp.unique(x, True, False, True, axis=ax), table)
    for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
        got, want = getattr(cp, name)(cp.asarray(table)), getattr(np, name)(table)
        if name == "unique_values":
            assert_same(got, np.sort(want))
        else:
            assert got._fields == want._fields
            assert_same(tuple(got), tuple(want))


@pytest.mark.parametrize("name", ["isin", "intersect1d", "union1d", "setdiff1d", "setxor1d"])
def test_sets(name: str) -> None:
    for dtype in ["int32", "float64", "bool"]:
        a, b = sample(dtype, (3, 4)), sample(dtype, (5,), seed=2)
        alike(lambda xp, a=a, b=b: getattr(xp, name)(xp.asarray(a), xp.asarray(b)))
        alike(lambda xp, a=a, b=b: getattr(xp, name)(xp.asarray(a), xp.asarray(b[:0])))
    a, b = np.array([1, 2, 3]), np.array([2, 3, 4])
    if name != "union1d":
        alike(lambda xp: getattr(xp, name)(xp.asarray(a), xp.asarray(b), assume_unique=True))


def test_sets_options() -> None:
    a, b = np.array([1, 1, 5, 3, 2]), np.array([3, 1, 9, 1])
    both: Any = lambda xp: xp.intersect1d(xp.asarray(a), xp.asarray(b), return_indices=True)  # noqa: E731
    alike(both)
    alike(lambda xp: xp.isin(xp.asarray(a), xp.asarray(b), invert=True))


def test_estimated_number_of_unique_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "_SEARCH_LIMIT", 200)
    monkeypatch.setattr(sets, "_SAMPLE", 100)
    rng = np.random.default_rng(11)
    many, few = rng.permutation(5000), rng.integers(0, 50, 5000)
    assert sets._has_many_distinct(cp.asarray(many)) and not sets._has_many_distinct(cp.asarray(few))
    assert sets._has_many_distinct(cp.asarray(many)[::-2]) and not sets._has_many_distinct(cp.asarray(many)[:400])


@pytest.mark.parametrize("n", [5000, 0, 1])
def test_unique_inverse_of_distinct_values(n: int) -> None:
    some = np.random.default_rng(12).permutation(n)
    for a in (some.astype("int32"), some.astype("float32") / 7, np.arange(n) // 2):
        for ours, numpys in zip(cp.unique(cp.asarray(a), return_inverse=True), np.unique(a, return_inverse=True),
                                strict=True):  # fmt: skip
            assert ours.dtype == numpys.dtype
            np.testing.assert_array_equal(ours.get(), numpys)


@pytest.mark.parametrize("dtype", ["int16", "float32", "bool"])
@pytest.mark.parametrize("few", [1 << 22, 2])
def test_unique_inverse_by_search(few: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the GPU algorithm of `unique` on either device."""
    monkeypatch.setattr(sets, "_SEARCH_LIMIT", few)
    a = np.array([3, 1, 3, 0, np.nan, 2, np.nan, 1]) if dtype == "float32" else np.array([3, 1, 3, 0, 2, 1])
    a = a.astype(dtype)
    values, inverse, counts = sets._with_inverse(cp.asarray(a), a.shape, True, True)  # type: ignore[misc]
    for ours, numpys in zip((values, inverse, counts), np.unique(a, False, True, True), strict=True):
        assert ours.dtype == numpys.dtype
        np.testing.assert_array_equal(ours.get(), numpys)
    if dtype == "float32":
        assert sets._with_inverse(cp.asarray(a), a.shape, True, False) is None
