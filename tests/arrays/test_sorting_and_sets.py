"""Sorting, searching, sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import REAL_DTYPES, assert_same, check, compare, sample


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


def test_lexsort() -> None:
    keys = [sample("int32", (12,), seed=k, low=0, high=3) for k in range(3)]
    compare(lambda: np.lexsort(keys), lambda: cp.lexsort([cp.asarray(k) for k in keys]))
    table = np.stack(keys)
    compare(lambda: np.lexsort(table), lambda: cp.lexsort(cp.asarray(table)))


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side: str) -> None:
    for dtype in ["int32", "float64"]:
        a = np.sort(sample(dtype, (9,)))
        v = sample(dtype, (3, 4), seed=5)
        compare(
            lambda a=a, v=v: np.searchsorted(a, v, side),
            lambda a=a, v=v: cp.searchsorted(cp.asarray(a), cp.asarray(v), side),
        )
        compare(lambda a=a: np.searchsorted(a, 2.5, side), lambda a=a: cp.searchsorted(cp.asarray(a), 2.5, side))
    a = sample("int32", (9,))
    order = np.argsort(a, kind="stable")
    compare(
        lambda: np.searchsorted(a, [1, 2], side, order),
        lambda: cp.asarray(a).searchsorted(cp.asarray([1, 2]), side, cp.asarray(order)),
    )
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
        compare(
            lambda a=a, b=b: getattr(np, name)(a, b), lambda a=a, b=b: getattr(cp, name)(cp.asarray(a), cp.asarray(b))
        )
        compare(
            lambda a=a, b=b: getattr(np, name)(a, b[:0]),
            lambda a=a, b=b: getattr(cp, name)(cp.asarray(a), cp.asarray(b[:0])),
        )
    a, b = np.array([1, 2, 3]), np.array([2, 3, 4])
    if name != "union1d":
        compare(
            lambda: getattr(np, name)(a, b, assume_unique=True),
            lambda: getattr(cp, name)(cp.asarray(a), cp.asarray(b), assume_unique=True),
        )


def test_sets_options() -> None:
    a, b = np.array([1, 1, 5, 3, 2]), np.array([3, 1, 9, 1])
    both: Any = lambda xp: xp.intersect1d(xp.asarray(a), xp.asarray(b), return_indices=True)  # noqa: E731
    compare(lambda: both(np), lambda: both(cp))
    compare(lambda: np.isin(a, b, invert=True), lambda: cp.isin(cp.asarray(a), cp.asarray(b), invert=True))
