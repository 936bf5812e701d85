"""Tests keys with an index array for each axis, which are resolved natively if they are few, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.conftest import DEVICE

#: Views of a 3 x 4 matrix, and index arrays for each axis.
POINTS: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...]]] = {
    "a matrix": (lambda a: a, ([0, 2, 1, 2], [3, -1, 0, 3])),
    "negative rows": (lambda a: a, ([-1, -3], [0, 0])),
    "a transposed matrix": (lambda a: a.T, ([3, 0, -2], [2, 0, 1])),
    "a part, backwards": (lambda a: a[::-1, 1:], ([0, -1, 1], [2, 0, -3])),
    "indices of two axes": (lambda a: a, ([[0, 1], [2, 0]], [[3, 3], [0, 1]])),
    "a vector": (lambda a: a.reshape(-1), ([11, 0, -12, 5, 5],)),
    "a broadcast index": (lambda a: a, ([[0], [2]], [1, 3])),
    "another dtype of indices": (lambda a: a, (np.array([0, 1], np.int32), np.array([1, 1], np.int32))),
}


@pytest.mark.parametrize("dtype", ["float64", "int8", "complex64", "bool"])
@pytest.mark.parametrize("name", POINTS)
def test_points_are_read_and_written_as_by_numpy(name: str, dtype: str) -> None:
    view, lists = POINTS[name]
    host = (np.arange(12).reshape(3, 4) % 7).astype(dtype)
    device = cp.asarray(host.copy())
    key = tuple(np.asarray(index) for index in lists)
    where = tuple(cp.asarray(index) for index in key)
    got, expected = view(device)[where], view(host)[key]
    assert got.dtype.name == expected.dtype.name
    np.testing.assert_array_equal(cp.asnumpy(got), expected)
    values = [1, np.ones((), dtype), np.arange(expected.size).reshape(expected.shape).astype(dtype),
              np.ones(expected.shape[-1:], "float32" if dtype == "float64" else dtype)]  # fmt: skip
    for value in values:
        mine, theirs = cp.asarray(host.copy()), host.copy()
        view(theirs)[key] = value
        view(mine)[where] = cp.asarray(value) if isinstance(value, np.ndarray) and value.ndim else value
        np.testing.assert_array_equal(cp.asnumpy(mine), theirs)
    if dtype not in ("bool",):
        view(host)[key] -= 1
        view(device)[where] -= 1
        np.testing.assert_array_equal(cp.asnumpy(device), host)


@pytest.mark.skipif(DEVICE != "cpu", reason="on a GPU indices out of bounds wrap")
@pytest.mark.parametrize("key", [([0, 3], [0, 0]), ([0, 0], [0, -5]), ([-4, 7], [0, 0])])
def test_points_out_of_bounds_are_errors(key: tuple[list[int], list[int]]) -> None:
    a, host = cp.zeros((3, 4)), np.zeros((3, 4))
    with pytest.raises(IndexError) as expected:
        host[key]
    where = tuple(cp.asarray(index) for index in key)
    with pytest.raises(IndexError, match="is out of bounds for axis") as got:
        a[where]
    if key != ([-4, 7], [0, 0]):  # NumPy names the first one, this library the least
        assert str(got.value) == str(expected.value)
    with pytest.raises(IndexError, match="is out of bounds for axis"):
        a[where] = 1.0
    np.testing.assert_array_equal(cp.asnumpy(a), host)


def test_points_of_an_array_that_is_its_own_index_or_value() -> None:
    host = np.array([3, 0, 2, 1])
    a = cp.asarray(host.copy())
    np.testing.assert_array_equal(cp.asnumpy(a[a]), host[host])
    a[a] = a
    host[host] = host.copy()
    np.testing.assert_array_equal(cp.asnumpy(a), host)
    with pytest.raises(ValueError, match="could not be broadcast"):
        a[cp.asarray([0, 1])] = cp.asarray([1, 2, 3])
