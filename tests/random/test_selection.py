"""Tests choice, permutation, permuted and shuffle: possible results, their frequencies, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from cuprous import asnumpy as host
from cuprous.random import default_rng
from tests.support import assert_errors

stats = pytest.importorskip("scipy.stats")


def test_permutation_of_a_number() -> None:
    p = default_rng(1).permutation(1000)
    assert p.dtype == np.int64
    np.testing.assert_array_equal(np.sort(host(p)), np.arange(1000))
    assert not np.array_equal(host(p), np.arange(1000))
    assert default_rng(1).permutation(0).shape == (0,)


def test_all_orders_are_equally_likely() -> None:
    rng = default_rng(2)
    orders = host(rng.permuted(cp.broadcast_to(cp.arange(4), (6000, 4)), axis=1))
    codes = orders @ np.array([64, 16, 4, 1])
    _, counts = np.unique(codes, return_counts=True)
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_permutation_and_shuffle_move_whole_slices(axis: int) -> None:
    a = np.arange(60).reshape(5, 12)
    for moved in (default_rng(3).permutation(cp.asarray(a), axis=axis), shuffled(a, axis)):
        rows = host(moved) if axis == 0 else host(moved).T
        expected = a if axis == 0 else a.T
        assert rows.shape == expected.shape
        assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, expected.tolist()))
        assert not np.array_equal(rows, expected)


def shuffled(a: np.ndarray, axis: int) -> Any:
    x = cp.asarray(a)
    assert default_rng(3).shuffle(x, axis=axis) is None
    return x


def test_shuffle_writes_through_views() -> None:
    base = cp.arange(20)
    default_rng(4).shuffle(base[::2])
    after = host(base)
    np.testing.assert_array_equal(after[1::2], np.arange(1, 20, 2))
    np.testing.assert_array_equal(np.sort(after[::2]), np.arange(0, 20, 2))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_permuted(axis: Any) -> None:
    a = np.arange(200).reshape(20, 10)
    out = cp.zeros((20, 10), dtype=int)
    result = default_rng(5).permuted(cp.asarray(a)[:, ::-1], axis=axis, out=out)
    assert result is out
    sorted_back = np.sort(host(out), axis=axis) if axis is not None else np.sort(host(out), axis=None).reshape(20, 10)
    np.testing.assert_array_equal(sorted_back, np.sort(a[:, ::-1], axis=axis).reshape(20, 10))
    if axis == 0:
        assert len({tuple(c) for c in (host(out) // 10).T.tolist()}) == 10  # each column has its own order


def test_choice_with_replacement() -> None:
    rng = default_rng(6)
    assert rng.choice(5).shape == ()
    assert stats.chisquare(np.bincount(host(rng.choice(7, 7000)), minlength=7)).pvalue > 1e-3
    p = [0.1, 0.0, 0.6, 0.3]
    counts = np.bincount(host(rng.choice(4, (100, 100), p=p)).reshape(-1), minlength=4)
    assert counts[1] == 0
    np.testing.assert_allclose(counts / 1e4, p, atol=0.02)


def test_choice_of_slices() -> None:
    a = np.arange(24).reshape(2, 3, 4)
    rng = default_rng(7)
    assert rng.choice(cp.asarray(a), (5, 6), axis=1).shape == (2, 5, 6, 4)
    picked = host(rng.choice(cp.asarray(a), 50, axis=-1))
    assert picked.shape == (2, 3, 50)
    assert {tuple(picked[0, :, i] - a[0, :, 0]) for i in range(50)} == {(k, k, k) for k in range(4)}
    assert set(host(rng.choice([10.5, 20.5], 30)).tolist()) == {10.5, 20.5}


def test_choice_without_replacement() -> None:
    rng = default_rng(8)
    values = host(rng.choice(100, (5, 4), replace=False))
    assert len(set(values.reshape(-1).tolist())) == 20
    first = [int(rng.choice(3, 1, replace=False, p=[0.7, 0.2, 0.1])[0]) for _ in range(500)]
    np.testing.assert_allclose(np.bincount(first, minlength=3) / 500, [0.7, 0.2, 0.1], atol=0.07)
    pair = host(rng.choice(3, 2, replace=False, p=[0.5, 0.0, 0.5], shuffle=False))
    assert set(pair.tolist()) == {0, 2}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"a": 0, "size": 1}, "positive integer"),
        ({"a": -1}, "positive integer"),
        ({"a": [], "size": 1}, "empty"),
        ({"a": 3, "size": 4, "replace": False}, "larger sample"),
        ({"a": 3, "p": [0.5, 0.5]}, "same size"),
        ({"a": 2, "p": [0.5, 0.6]}, "sum to 1"),
        ({"a": 2, "p": [-0.5, 1.5]}, "non-negative"),
        ({"a": 2, "p": [[0.5, 0.5]]}, "1-dimensional"),
        ({"a": 3, "size": 3, "replace": False, "p": [0.5, 0.5, 0.0]}, "Fewer non-zero"),
    ],
)
def test_choice_refuses(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        default_rng(1).choice(**arguments)


def test_other_mistakes() -> None:
    rng = default_rng(1)
    assert rng.choice(0, 0).shape == (0,)
    assert_errors(
        (lambda: rng.shuffle([1, 2, 3]), TypeError, "ndarray"),
        (lambda: rng.shuffle(cp.array(1)), TypeError, "ndim is 0"),
        (lambda: rng.permutation(cp.ones(3), axis=1), np.exceptions.AxisError, "axis 1"),
        (lambda: rng.permuted(cp.ones(3), out=cp.ones(4)), ValueError, "same shape"),
        (lambda: rng.permuted(cp.ones(3), out=cp.ones(3, dtype=int)), TypeError, "dtype"),
        (lambda: rng.choice(2.5), ValueError, "sequence or an integer"),
    )


@pytest.mark.parametrize(("n", "count"), [(1 << 31, 500), (1 << 40, 10), (1 << 22, 1 << 18), (5_000_001, 1)])
def test_small_samples_of_large_populations(n: int, count: int) -> None:
    """Memory is proportional to the sample: permuting 2**40 numbers would need 16 TB."""
    rng = cp.random.default_rng(3)
    drawn = host(rng.choice(n, count, replace=False))
    assert drawn.shape == (count,) and np.unique(drawn).size == count and drawn.min() >= 0 and drawn.max() < n
    assert (drawn == host(cp.random.default_rng(3).choice(n, count, replace=False))).all()


def test_small_samples_are_uniform() -> None:
    rng = cp.random.default_rng(5)
    drawn = np.concatenate([host(rng.choice(1 << 22, 1 << 18, replace=False)) for _ in range(4)])
    assert stats.chisquare(np.histogram(drawn, 64, (0, 1 << 22))[0]).pvalue > 1e-3
    pairs = np.array([host(rng.choice(1 << 22, 2, replace=False)) for _ in range(1000)])
    assert stats.binomtest(int((pairs[:, 0] < pairs[:, 1]).sum()), 1000).pvalue > 1e-3
