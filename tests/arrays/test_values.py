"""Elements and 0-d results, which NumPy returns as scalars, are immutable and hashable."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_same

MODULES = pytest.mark.parametrize("xp", [np, cp], ids=["numpy", "cuprous"])


def swap(xp: Any) -> Any:
    a = xp.arange(4)
    a[0], a[1] = a[1], a[0]
    a[-1], a[2] = a[2], a[-1]
    return a


def swap_in_a_matrix(xp: Any) -> Any:
    a = xp.arange(6.0).reshape(2, 3)
    a[0, 1], a[1, 2] = a[1, 2], a[0, 1]
    a[(0, 0)], a[(1, 0)] = a[(1, 0)], a[(0, 0)]
    return a


def bubble_sort(xp: Any) -> Any:
    a = xp.asarray([5, 1, 4, 2, 3])
    for i in range(5):
        for j in range(4 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a


def a_kept_element(xp: Any) -> Any:
    a = xp.arange(3)
    m = a[2]
    a[2] = 99
    a += 1
    return m


def elements_in_a_list(xp: Any) -> Any:
    a, kept = xp.zeros(2), []
    for _ in range(3):
        a[0] += 1
        kept.append(a[0])
    return kept


def a_running_total(xp: Any) -> Any:
    total, kept = 0, []
    for x in xp.arange(4.0):
        total += x
        kept.append(total)
    return kept


def a_total_kept_and_changed(xp: Any) -> Any:
    total = xp.arange(4).sum()
    kept = [total]
    total += 1
    kept.append(total)
    total *= 2.5
    return [*kept, total]


def an_element_changed_by_name(xp: Any) -> Any:
    a = xp.arange(3)
    m = a[1]
    m += 5
    return [a[0], a[1], m]


def elements_by_iteration(xp: Any) -> Any:
    a = xp.arange(3)
    kept = list(a)
    a[:] = 7
    return kept


def elements_by_flat(xp: Any) -> Any:
    a = xp.arange(4).reshape(2, 2)
    kept = [a.flat[1], next(a.flat)]
    a[:] = 7
    return kept


def a_maximum_so_far(xp: Any) -> Any:
    best, seen = xp.asarray([3.0, 1.0, 4.0])[0], []
    for x in xp.asarray([1.0, 5.0, 2.0]):
        best = max(best, x)
        seen.append(best)
    return seen


def an_element_of_a_view(xp: Any) -> Any:
    a = xp.arange(12).reshape(3, 4)
    m = a[::-1, 1:].T[0, 2]
    a[:] = 0
    return m


def an_element_of_a_0d_array(xp: Any) -> Any:
    a = xp.zeros(())
    m = a[()]
    a += 1
    return [m, a]


def a_view_of_an_element(xp: Any) -> Any:
    """Indexes with an ellipsis, for which NumPy returns a view."""
    a = xp.arange(4)
    m = a[2, ...]
    m += 10
    a[..., 0][...] = 5
    return [a, m]


def a_0d_array(xp: Any) -> Any:
    """A 0-d array that was created as an array can be written in place."""
    made = [xp.zeros(()), xp.asarray(1.5), xp.full((), 2), xp.ones(1).reshape(()), xp.arange(3).sum().copy()]
    for a in made[:4]:
        name = a
        name += 1
        a[...] += 1
    return made


CASES: list[Callable[[Any], Any]] = [
    swap, swap_in_a_matrix, bubble_sort, a_kept_element, elements_in_a_list, a_running_total, a_total_kept_and_changed,
    an_element_changed_by_name, elements_by_iteration, elements_by_flat, a_maximum_so_far, an_element_of_a_view,
    an_element_of_a_0d_array, a_view_of_an_element, a_0d_array,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.usefixtures("mode")
def test_as_numpy(case: Callable[[Any], Any]) -> None:
    for _ in range(3):  # planned, recognized, replayed
        ours, theirs = case(cp), case(np)
        if not isinstance(theirs, list):
            ours, theirs = [ours], [theirs]
        for mine, other in zip(ours, theirs, strict=True):
            assert_same(cp.asarray(mine), np.asarray(other))


def test_an_element_is_not_fetched() -> None:
    a = cp.arange(5.0)
    before = cp._core.stats()["steps"]
    m = a[1] * 2 + a[4]
    assert cp._core.stats()["steps"] == before
    assert float(m) == 6.0


def test_changing_index_reuses_the_program() -> None:
    a, total = cp.arange(64.0), cp.zeros(())
    for i in range(8):
        total += a[i] * 2
        cp._core.flush()
    before = cp._core.stats()["planned"]
    for i in range(8, 64):
        total += a[i] * 2
        cp._core.flush()
    assert cp._core.stats()["planned"] == before
    assert float(total) == 64 * 63


def test_values_are_not_written() -> None:
    a = cp.arange(3)
    for write in (
        lambda: a[0].__setitem__(..., 5), lambda: cp.add(a[1], 1, out=a[1]),
        lambda: a[0].fill(3), lambda: cp.copyto(a[0], 3), lambda: cp.put(a[0], 0, 3),
        lambda: cp.asarray([1j])[0].real.fill(3), lambda: setattr(cp.asarray([1j])[0], "imag", 3),
        lambda: cp.cupyx.scatter_add(a[0], (), 3), lambda: a[0].flat.__setitem__(0, 3),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="value cannot be written"):
            write()
    assert_same(a, np.arange(3))


@MODULES
def test_arrays_made_of_an_element_are_copies(xp: Any) -> None:
    a = xp.asarray([1.5, 2.5])
    for view in (
        lambda x: x[...], lambda x: x.reshape(()), lambda x: x.reshape(1), lambda x: x[None], lambda x: x.ravel(),
        lambda x: xp.expand_dims(x, 0), lambda x: xp.atleast_1d(x), lambda x: xp.reshape(x, (1, 1)),
    ):  # fmt: skip
        element = a[1]
        key = hash(element)
        made = view(element)
        if isinstance(made, np.float64):  # NumPy's scalars reshaped to ()
            continue
        made[...] = 7
        assert (float(element), made.sum(), hash(element)) == (2.5, 7, key)
    for write in (lambda: xp.add.at(a[0], (), 1), lambda: xp.negative.at(a[0], ())):
        with pytest.raises(TypeError, match="first operand must be array"):
            write()
    assert a.tolist() == [1.5, 2.5]


def test_tensors_keep_their_views() -> None:
    from cuprous import torch

    t = torch.arange(3)
    m = t[0]
    m += 7
    assert t.tolist() == [7, 1, 2]


@MODULES
def test_keys(xp: Any) -> None:
    a = xp.asarray([3, 1, 3])
    assert {a[0]: "x"}[3] == "x"
    assert set(a) == {3, 1}
    assert len({*xp.asarray([0.5, 0.5, 2.0])}) == 2
    assert hash(a.sum()) == hash(7)
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


@MODULES
def test_rounding(xp: Any) -> None:
    a = xp.asarray([2.675, -1.5, 7.25])
    assert round(a.mean(), 2) == 2.81
    assert type(round(a[2])) is int
    assert [round(a[0]), round(a[1]), round(a[2], 1)] == [3, -2, 7.2]
    assert [math.trunc(a[0]), math.floor(a[1]), math.ceil(a[1])] == [2, -2, -1]
    assert round(xp.asarray([17])[0], -1) == 20
    assert a[2].as_integer_ratio() == (29, 4)
    assert statistics.fmean(a) == pytest.approx(8.425 / 3)
    assert json.dumps({"loss": a[1]}, default=float) == '{"loss": -1.5}'
    assert "x" * xp.asarray([3])[0] == "xxx"


def test_bytes() -> None:
    a = cp.arange(3, dtype="int16")
    assert bytes(a) == np.arange(3, dtype="int16").tobytes()
    b = cp.arange(6).reshape(2, 3)
    assert b.tobytes("f") == b.get().tobytes("F")


def test_an_array_made_of_a_value_can_be_written() -> None:
    total = cp.ones(3).sum()
    array = cp.asarray(total)
    array[...] += 1
    assert (float(array), float(total)) == (4.0, 3.0)


def test_where_gives_an_array_as_in_numpy() -> None:
    chosen = cp.where(cp.ones(3).sum() > 0, 1.0, 2.0)
    chosen[...] = 5
    assert float(chosen) == 5.0
