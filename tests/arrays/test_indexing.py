"""Tests reading and writing by index: tables of keys, then random keys, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cuprous as cp
from tests.support import alike, assert_same, check, compare, layouts, sample

I = np.array([2, 0, -1])  # noqa: E741
MASK_ROWS = np.array([True, False, True])
KEYS: list[Any] = [
    0, -1, slice(None), slice(1, None, 2), Ellipsis, None, (), (slice(None), 1), (Ellipsis, 0), (None, 1, None),
    (slice(None, None, -1), slice(3, 0, -2)), [0, 2], [[0], [1]], I, I[:, None], (I, 1), (1, I), (I, I),
    (I[:, None], I), (slice(None), I), (I, slice(None), I), (0, slice(None), I), (I, None, I), (Ellipsis, I),
    (slice(1, None), I, 2), MASK_ROWS, (MASK_ROWS, 1), (MASK_ROWS, slice(None), 2),
    (slice(None), np.array([True, False, True, True])), True, False, (True, I), np.zeros((3, 4), bool),
    np.ones((3, 4), bool), np.int64(1), np.array(1), [], (I, [0, 1, 2], [3, 2, 1]), [True, False, True],
    (I, Ellipsis, I), (slice(None), I, Ellipsis, I), (slice(None), 0, Ellipsis, I), np.array([], int),
    (np.array([1, 1, 1]), slice(0, 2)), np.uint8([1, 2]), (slice(None), slice(None), [[0, 1], [2, 3]]),
]  # fmt: skip
BAD = [
    5, -4, (0, 0, 0, 0), [3], [-4], (I, 7), (I, np.array([9])), 1.5, "x", np.array([1.5]), (Ellipsis, Ellipsis),
    np.ones(4, bool), ([0, 1], [0, 1, 2]),
]  # fmt: skip


def _moved(key: Any) -> Any:
    """Returns a key with its index arrays on the device."""
    if isinstance(key, tuple):
        return tuple(map(_moved, key))
    return cp.asarray(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("key", KEYS, ids=lambda k: repr(k).replace("\n", " ")[:50])
def test_getitem(key: Any) -> None:
    a = sample("int32", (3, 4, 4)) + np.arange(48, dtype="int32").reshape(3, 4, 4)
    d = cp.asarray(a)
    assert_same(d[key], a[key])
    assert_same(d[_moved(key)], a[key])
    wide = np.repeat(a, 2, axis=1)[::-1]
    assert_same(cp.asarray(np.repeat(a, 2, axis=1))[::-1, ::2][key], wide[:, ::2][key])
    assert_same(cp.asarray(a.T.copy()).T[_moved(key)], a[key])


@pytest.mark.parametrize("key", KEYS, ids=lambda k: repr(k).replace("\n", " ")[:50])
def test_setitem(key: Any) -> None:
    a = np.arange(48.0).reshape(3, 4, 4)
    values: list[Any] = [-1, 2.5, np.float32(7), np.full((), -3.0)]
    if a[key].size:
        values += [-np.arange(a[key].size, dtype=float).reshape(a[key].shape), a[key][..., :1] * 10]
    for value in values:
        for move in (lambda k: k, _moved):
            host, device = a.copy(), cp.asarray(a)
            host[key] = value
            device[move(key)] = cp.asarray(value) if isinstance(value, np.ndarray) else value
            assert_same(device, host)
    host, device = a.copy(), cp.asarray(a)
    view_h, view_d = host[::-1, ::2], device[::-1, ::2]
    compare(lambda: view_h.__setitem__(key, 9), lambda: view_d.__setitem__(key, 9))
    assert_same(device, host)


@pytest.mark.parametrize("key", BAD, ids=repr)
def test_bad_keys(key: Any) -> None:
    a = np.arange(48).reshape(3, 4, 4)
    for move in (lambda k: k, _moved):
        d = cp.asarray(a)
        if move is _moved and d.device_name != "cpu" and isinstance(key, tuple):
            continue  # out-of-range indices wrap on a GPU
        with pytest.raises(IndexError):
            d[move(key)].get()
        with pytest.raises(IndexError):
            d[move(key)] = 1


def test_messages() -> None:
    a = cp.arange(12).reshape(3, 4)
    with pytest.raises(IndexError, match=r"too many indices for array: array is 2-dimensional, but 3 were indexed"):
        a[[0], 0, 0]
    with pytest.raises(IndexError, match=r"index 7 is out of bounds for axis 1 with size 4"):
        a[:, [7]]
    with pytest.raises(
        IndexError, match=r"boolean index did not match indexed array along axis 0; size of axis is 3 but"
    ):
        a[cp.ones(5, bool)]
    with pytest.raises(IndexError, match="shape mismatch: indexing arrays could not be broadcast together with shapes"):
        a[[0, 1], [0, 1, 2]]
    with pytest.raises(ValueError, match="shape mismatch: value array of shape"):
        a[[0, 1]] = cp.ones(3)
    with pytest.raises(ValueError, match="cannot assign 2 input values to the 12 output values where the mask is true"):
        a[a >= 0] = cp.ones(2, int)


def test_values_from_the_host() -> None:
    a = cp.zeros((2, 3))
    a[0] = [1, 2, 3]
    a[1, 1:] = np.array([5.0, 6.0])
    a[[0, 1], 0] = [8, 9]
    assert_same(a, np.array([[8.0, 2, 3], [9, 5, 6]]))


def test_duplicates() -> None:
    a, d = np.zeros(4), cp.zeros(4)
    for x in (a, d):
        x[[1, 1, 2]] = [1, 2, 3] if x is a else cp.asarray([1, 2, 3])
        x[[0, 0]] += 1
    assert_same(d, a)
    cp.add.at(d, [0, 0], 1)
    np.add.at(a, [0, 0], 1)
    assert_same(d, a)
    d.scatter_add([3, 3], cp.asarray([1.0, 2.0]))
    assert float(d[3]) == 3


def test_overlap() -> None:
    a = np.arange(10)
    d = cp.asarray(a)
    for x in (a, d):
        x[1:] = x[:-1]
        x[[0, 1, 2]] = x[[2, 1, 0]]
        x[x > 4] = x[x > 4][::-1]
    assert_same(d, a)


def test_mask_of_values() -> None:
    for host, device in layouts(sample("float64", (4, 5))):
        mask_h, mask_d = host > 0, device > 0
        assert_same(device[mask_d], host[mask_h])
        h, d = host.copy(), device.copy()
        h[mask_h] = np.arange(mask_h.sum())
        d[mask_d] = cp.arange(int(mask_d.sum()))
        assert_same(d, h)
        d[mask_d] *= -1
        h[mask_h] *= -1
        assert_same(d, h)


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 2), (0,), (2, 0)])
def test_nonzero_and_its_like(shape: tuple[int, ...]) -> None:
    a = sample("int32", shape)
    for name in ("nonzero", "flatnonzero", "argwhere", "count_nonzero"):
        check(lambda xp, x, name=name: getattr(xp, name)(x), a)
    check(lambda xp, x: xp.where(x > 1), a)


def test_nonzero_0d() -> None:
    with pytest.raises(ValueError):
        cp.nonzero(cp.asarray(3))
    assert cp.argwhere(cp.asarray(3)).shape == (1, 0)


def test_take_and_put() -> None:
    a = sample("float64", (3, 4, 2))
    for axis in (None, 0, 1, -1):
        for index in ([0, 1], [[1, -1], [0, 0]], 1, np.array([1])):
            for mode in ("raise", "wrap", "clip"):
                check(lambda xp, x, i=index, ax=axis, m=mode: xp.take(x, xp.asarray(i), ax, mode=m), a)
        check(lambda xp, x, ax=axis: xp.take(x, [5, -7], ax, mode="wrap"), a)
        check(lambda xp, x, ax=axis: xp.take(x, [5, -7], ax, mode="clip"), a)
        check(lambda xp, x, ax=axis: xp.take(x, [100], ax), a)
    for mode in ("raise", "wrap", "clip"):
        h, d = a.copy(), cp.asarray(a)
        np.put(h, [0, -3, 5], [1, 2], mode=mode)
        cp.put(d, [0, -3, 5], cp.asarray([1, 2]), mode=mode)
        assert_same(d, h)
    h, d = a.copy(), cp.asarray(a)
    np.put(h.T, [0, 3], -1.0)
    cp.put(d.T, [0, 3], -1.0)
    assert_same(d, h)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3), (2, 3, 0), (0, 2, 0)])
def test_take_from_empty_arrays(shape: tuple[int, ...]) -> None:
    a = np.ones(shape)
    for axis, n in enumerate(shape):
        for index in ([], [0], [9], [-9, 0]):
            for mode in ("raise", "clip", "wrap") if n else ("raise", "clip"):  # NumPy would wrap forever
                check(lambda xp, x, i=index, ax=axis, m=mode: xp.take(x, i, ax, mode=m), a)
                if index and mode != "raise":
                    check(lambda xp, x, i=index, ax=axis, m=mode: xp.take(x, xp.asarray(i), ax, mode=m), a)


def test_along_axis() -> None:
    a = sample("float64", (3, 4))
    for axis in (0, 1, -1):
        check(lambda xp, x, ax=axis: xp.take_along_axis(x, xp.argsort(x, axis=ax, kind="stable"), ax), a)
        h, d = a.copy(), cp.asarray(a)
        np.put_along_axis(h, np.argmax(h, axis=axis, keepdims=True), -99, axis)
        cp.put_along_axis(d, cp.argmax(d, axis=axis, keepdims=True), -99, axis)
        assert_same(d, h)
    check(lambda xp, x: xp.take_along_axis(x, xp.asarray([1, 0]), None), a)


def test_masks_by_function() -> None:
    a = sample("float64", (3, 4))
    m = a > 0
    for name, args in [("place", ([1.0, 2.0],)), ("putmask", ([1.0, 2.0],)), ("putmask", (9.0,)), ("place", ([9.0],))]:
        h, d = a.copy(), cp.asarray(a)
        getattr(np, name)(h, m, *args)
        getattr(cp, name)(d, cp.asarray(m), *args)
        assert_same(d, h)
    check(lambda xp, x: xp.extract(x > 0, x), a)
    check(lambda xp, x: xp.compress([True, False, True], x, axis=0), a)
    check(lambda xp, x: xp.compress([True, False, True], x), a)
    check(lambda xp, x: xp.compress([True, False, True, False, False, False], x, axis=0), a)
    check(lambda xp, x: xp.compress([False] * 30 + [True], x[:0], axis=1), a)
    # An error on every device, unlike for index arrays that are already on the device.
    with pytest.raises(IndexError, match="index 21 is out of bounds for axis 0 with size 12"):
        cp.compress(cp.asarray(np.arange(30) > 20), cp.asarray(a))


def test_choose_select_piecewise() -> None:
    index = np.array([[0, 1], [2, 1]])
    options = [np.arange(4).reshape(2, 2) * k for k in (1, 10, 100)]
    alike(lambda xp: xp.choose(xp.asarray(index), [xp.asarray(o) for o in options]))
    alike(lambda xp: xp.choose(xp.asarray(index - 1), [xp.asarray(o) for o in options]))
    for mode in ("wrap", "clip"):
        alike(lambda xp, m=mode: xp.choose(xp.asarray(index - 1), [xp.asarray(o) for o in options], mode=m))
    x = np.arange(-3.0, 4.0)
    check(lambda xp, x: xp.select([x < -1, x > 1], [x * 2, x * 3], default=7.0), x)
    check(lambda xp, x: xp.piecewise(x, [x < 0, x >= 2], [-1.0, lambda v: v * v, 5.0]), x)
    check(lambda xp, x: xp.piecewise(x, [x < 0], [lambda v: -v, lambda v: v]), x)


def test_index_builders() -> None:
    for call in [
        lambda xp: xp.ix_([0, 2], [1, 3, 5]), lambda xp: xp.ix_([True, False, True], [1]),
        lambda xp: xp.diag_indices(3, 3), lambda xp: xp.tril_indices(3, -1, 4), lambda xp: xp.triu_indices(4, 1),
        lambda xp: xp.indices((2, 3)), lambda xp: xp.indices((2, 3), sparse=True), lambda xp: xp.mgrid[0:3, 1:2:3j],
        lambda xp: xp.ogrid[0:3, 0:2], lambda xp: xp.mgrid[0:5:2], lambda xp: xp.r_[1:4, 0, xp.asarray([5, 6])],
        lambda xp: xp.c_[xp.arange(3), xp.arange(3)], lambda xp: xp.r_["0,2", xp.arange(3), xp.arange(3)],
        lambda xp: xp.r_[0:1:5j], lambda xp: xp.r_["-1", xp.ones((2, 2)), xp.zeros((2, 1))],
        lambda xp: xp.unravel_index(xp.asarray([3, 7, 11]), (3, 4)),
        lambda xp: xp.unravel_index(xp.asarray([[3], [7]]), (3, 4), order="F"), lambda xp: xp.unravel_index(5, (2, 3)),
        lambda xp: xp.unravel_index(xp.asarray([99]), (3, 4)),
        lambda xp: xp.ravel_multi_index((xp.asarray([0, 2]), xp.asarray([1, 3])), (3, 4)),
        lambda xp: xp.ravel_multi_index(
            (xp.asarray([0, 5]), xp.asarray([1, 9])), (3, 4), mode=("wrap", "clip"), order="F"
        ),
        lambda xp: xp.ravel_multi_index((xp.asarray([5]), xp.asarray([1])), (3, 4)),
        lambda xp: xp.mask_indices(3, xp.triu), lambda xp: xp.r_[xp.ones(2, "float32"), 1.5],
        lambda xp: xp.r_[xp.ones(2, "int8"), 3, 2.5], lambda xp: xp.diag_indices(-1), lambda xp: list(xp.ndindex(2, 2)),
    ]:  # fmt: skip
        alike(call)


def test_diagonals() -> None:
    a = sample("int32", (3, 4, 4))
    for k in (-4, -1, 0, 2, 5):
        check(lambda xp, x, k=k: xp.diagonal(x, k, 1, 2), a)
        check(lambda xp, x, k=k: xp.diag(x, k), a[0])
        check(lambda xp, x, k=k: xp.diag(x, k), a[0, 0])
        check(lambda xp, x, k=k: xp.tril(x, k), a)
        check(lambda xp, x, k=k: xp.triu(x, k), a)
        check(lambda xp, x, k=k: xp.trace(x, k, 0, 2), a)
    for shape in [(3, 3), (5, 3), (3, 5), (3, 3, 3)]:
        for wrap in (False, True):
            for value in (7, [1, 2]):
                h, d = sample("int32", shape), cp.asarray(sample("int32", shape))
                np.fill_diagonal(h, value, wrap)
                cp.fill_diagonal(d, value, wrap)
                assert_same(d, h)


# --- random keys


@st.composite
def keyed(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], tuple[Any, ...]]:
    """Draws an array and a key: slices, integers, new axes, index arrays that broadcast, masks."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    a = np.arange(int(np.prod(shape))).reshape(shape)
    inner = draw(st.sampled_from([(), (1,), (2,), (2, 1), (1, 3), (2, 3)]))
    items: list[Any] = []
    axis = 0
    while axis < len(shape):
        n = shape[axis]
        kind = draw(st.sampled_from(["slice", "int", "array", "mask", "new", "stop"]))
        if kind == "new":
            items.append(None)
            continue
        if kind == "stop":
            break
        if kind == "slice":
            items.append(draw(st.slices(n)))
        elif kind == "int":
            items.append(draw(st.integers(-n, n - 1)))
        elif kind == "mask":
            items.append(np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool))
        else:
            size = int(np.prod(inner))
            flat = draw(st.lists(st.integers(-n, n - 1), min_size=size, max_size=size))
            items.append(np.array(flat, int).reshape(inner))
        axis += 1
    if draw(st.booleans()):  # an ellipsis that stands for no axis still separates index arrays
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
        # the items after the ellipsis now index the last axes: keep the key only if NumPy accepts it
    return a, tuple(items)


@settings(max_examples=300)
@given(keyed(), st.booleans())
def test_random_keys(case: tuple[np.ndarray[Any, Any], tuple[Any, ...]], reverse: bool) -> None:
    a, key = case
    device = cp.asarray(a)
    if reverse:
        a, device = a[::-1], device[::-1]
    try:
        expected = a[key]
    except IndexError:
        with pytest.raises(IndexError):
            cp.asarray(a)[key].get()
        return
    try:
        got = device[key]
    except IndexError:  # NumPy does not check the indices of an empty result
        assert expected.size == 0
        return
    assert_same(got, expected)
    assert_same(device[_moved(key)], expected)
    host, target = a.copy(), device.copy()
    host[key] = np.arange(expected.size).reshape(expected.shape)
    target[_moved(key)] = cp.arange(expected.size).reshape(expected.shape)
    assert_same(target, host)


@pytest.mark.parametrize("first", ["bool", "uint8", "int16", "uint16", "float16", "float32"])
def test_select_promotes_as_numpy(first: str) -> None:
    """Three dtypes are not promoted pairwise: uint16, int16 and float32 give float32."""
    dtypes = ["bool", "int8", "uint8", "int16", "uint16", "int32", "float16", "float32", "complex64"]
    for second in dtypes:
        for third in dtypes:

            def call(xp: Any, second: str = second, third: str = third) -> Any:
                choices = [xp.ones(2, dtype=first), xp.ones(2, dtype=second)]
                return xp.select([xp.asarray([True, False])] * 2, choices, np.ones((), third)[()])

            assert call(cp).dtype == call(np).dtype, (first, second, third)


def test_apply_over_axes_refuses_functions_that_drop_axes() -> None:
    for xp in (np, cp):
        with pytest.raises(ValueError, match="not returning an array of the correct shape"):
            xp.apply_over_axes(lambda a, axis: a.sum(), xp.ones((2, 3, 4)), 0)
