"""Tests assignment: values must fit the dtype as in NumPy; Python integers of any size; other objects."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import alike, assert_same

#: Statements that write a value in place.
WRITES: dict[str, Any] = {
    "item": lambda xp, a, v: a.__setitem__(0, v),
    "slice": lambda xp, a, v: a.__setitem__(slice(1, None), v),
    "ellipsis": lambda xp, a, v: a.__setitem__(..., v),
    "indices": lambda xp, a, v: a.__setitem__([0, 2], v),
    "mask": lambda xp, a, v: a.__setitem__(xp.asarray([True, False, True]), v),
    "list": lambda xp, a, v: a.__setitem__(slice(0, 2), [v, 1]),
    "fill": lambda xp, a, v: a.fill(v),
    "flat": lambda xp, a, v: setattr(a, "flat", v),
    "put": lambda xp, a, v: xp.put(a, [0, 1], v),
    "put_along_axis": lambda xp, a, v: xp.put_along_axis(a, xp.asarray([0]), v, 0),
    "copyto": lambda xp, a, v: xp.copyto(a, v),
}
VALUES: list[Any] = [
    0, 1, -1, 127, 128, -128, -129, 255, 256, 2**31, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**200, -(2**200), 10**400,
    True, 1.0, 2.9, -1.5, 300.0, 1e10, 1e30, float("nan"), float("inf"), 1j, 1 + 0j,
]  # fmt: skip


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64", "complex64"]
)
@pytest.mark.parametrize("way", WRITES)
def test_written_numbers_fit(way: str, dtype: str) -> None:
    for value in VALUES:
        if dtype == "bool" and (value == 10**400 or (way == "copyto" and value not in (0, 1))):
            continue

        def write(xp: Any, value: Any = value) -> Any:
            a = xp.asarray(np.array([1, 0, 1]).astype(dtype))
            WRITES[way](xp, a, value)
            return a

        alike(write, message=f"{way} {value!r} {dtype}")


def test_failed_assignment_writes_nothing() -> None:
    a = cp.asarray([1, 2, 3], dtype="uint8")
    for write in WRITES.values():
        with pytest.raises(OverflowError, match="300 out of bounds for uint8"):
            write(cp, a, 300)
    assert a.tolist() == [1, 2, 3]


def test_numpys_integers_wrap_as_arrays_do() -> None:
    a, b = np.zeros(3, "uint8"), cp.zeros(3, "uint8")
    a[0] = np.int64(-1)
    b[0] = np.int64(-1)
    assert_same(b, a)


@pytest.mark.parametrize("number", [2**70, 2**200, -(2**200), 10**400])
@pytest.mark.parametrize("dtype", ["bool", "int64", "float32", "float64", "complex128"])
def test_python_integers_beyond_128_bits(dtype: str, number: int) -> None:
    calls: dict[str, Any] = {
        "add": lambda xp, a: a + number, "radd": lambda xp, a: number + a,
        "ufunc": lambda xp, a: xp.multiply(a, number), "divide": lambda xp, a: a / number,
        "where": lambda xp, a: xp.where(a > 0, number, 1.5),
        "maximum": lambda xp, a: xp.maximum(a, number), "full": lambda xp, a: xp.full(2, number, dtype=dtype),
        "in place": lambda xp, a: a.__iadd__(number),
    }  # fmt: skip
    if dtype == "bool":
        del calls["full"]
    elif dtype != "complex128" and number != 10**400:
        calls |= {"less": lambda xp, a: a < number, "equal": lambda xp, a: a == number}
    for name, call in calls.items():
        host = np.array([0, 1, 2]).astype(dtype)
        expected: Any = None
        try:
            with np.errstate(all="ignore"):
                expected = call(np, host.copy())
        except OverflowError:
            expected = OverflowError
        except TypeError:  # NumPy makes an object array for bool
            expected = OverflowError
        if expected is OverflowError or getattr(expected, "dtype", np.dtype(bool)).kind == "O":
            with pytest.raises(OverflowError):
                call(cp, cp.asarray(host))
        else:
            got = call(cp, cp.asarray(host))
            assert_same(got, expected, message=name)


def test_clip_with_out_of_range_integers() -> None:
    a = np.array([3, 1, 200], "uint8")
    for low, high in [(-5, 300), (-5, 2), (2, 300), (None, 300), (-1, None), (0, 255)]:
        assert_same(cp.clip(cp.asarray(a), low, high), np.clip(a, low, high))
        assert_same(cp.asarray(a).clip(low, high), a.clip(low, high))
    for low, high in [(256, 300), (None, -5)]:
        with pytest.raises(OverflowError):
            cp.clip(cp.asarray(a), low, high)


@pytest.mark.parametrize("nothing", [None, "a", "", b"a"])
def test_nothing_equals_a_non_number(nothing: Any) -> None:
    a = cp.asarray([[1.0, 0.0], [2.0, 3.0]])
    for result, value in ((a == nothing, False), (a != nothing, True), (nothing == a, False), (nothing != a, True)):
        assert_same(result, np.full((2, 2), value))
    assert (nothing in a) is False
    with pytest.raises(TypeError):
        a < nothing  # noqa: B015


def test_objects_with_their_own_comparison() -> None:
    class Equal:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    assert_same(cp.ones(3) == Equal(), np.ones(3) == Equal())
    assert_same(cp.ones(3) == object(), np.ones(3) == object())


def test_copyto_casts_scalars_by_their_kind() -> None:
    for value, casting in [(2.5, "same_kind"), (2.5, "unsafe"), (1j, "same_kind"), (True, "safe"), (3, "same_kind")]:

        def call(xp: Any, value: Any = value, casting: str = casting) -> Any:
            a = xp.zeros(2, dtype="int32")
            xp.copyto(a, value, casting=casting, where=xp.asarray([True, False]))
            return a

        if (value, casting) != (1j, "unsafe"):
            alike(call)


def test_copies_and_pickles_keep_the_order_of_axes() -> None:
    a = np.arange(6.0).reshape(2, 3)
    cube = np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2)
    for host in (a, a.T, a[::-1], cube, cube.T, a[:, :1], np.array(3.0)):
        device = cp.asarray(host)
        for change in (copy.copy, copy.deepcopy):
            assert_same(change(device), host)
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert_same(pickle.loads(pickle.dumps(device, protocol)), host)
    columns = cp.asarray(a).T
    assert copy.deepcopy(columns).strides == copy.copy(columns).strides == (8, 24)
    assert copy.deepcopy(cp.asarray(np.arange(24).reshape(2, 3, 4)).transpose(1, 0, 2)).strides == (32, 96, 8)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(columns, protocol)).strides == (8, 24)


CREATION: dict[str, Any] = {
    "arange stop": lambda xp: xp.arange(stop=3),
    "arange start stop": lambda xp: xp.arange(start=1, stop=3),
    "arange nothing": lambda xp: xp.arange(),
    "arange unsigned": lambda xp: xp.arange(-1, 3, dtype="uint8"),
    "arange too far": lambda xp: xp.arange(300, 302, dtype="uint8"),
    "arange wraps": lambda xp: xp.arange(254, 258, dtype="uint8"),
    "logspace base": lambda xp: xp.logspace(0, 3, 4, base=xp.asarray([2, 3])),
    "logspace base last": lambda xp: xp.logspace(0, 3, 4, base=xp.asarray([2, 3]), axis=-1),
    "logspace all": lambda xp: xp.logspace(xp.asarray([0, 1]), xp.asarray([[2], [3]]), 3, base=xp.asarray([2.0, 3.0])),
    "shape of an array": lambda xp: xp.ones(xp.asarray([2, 3])),
    "shape of a 0-d array": lambda xp: xp.zeros(xp.asarray(2)),
    "pad by nothing": lambda xp: xp.pad(xp.asarray([1, 2, 3]), 2, "minimum", stat_length=0),
    "pad by nothing after": lambda xp: xp.pad(xp.asarray([1, 2, 3]), 2, "maximum", stat_length=(1, 0)),
    "pad by the mean of nothing": lambda xp: xp.pad(xp.asarray([1.0, 2]), 1, "mean", stat_length=0),
    "insert": lambda xp: xp.insert(xp.asarray([1, 2], dtype="uint8"), 1, 300),
}  # fmt: skip


@pytest.mark.parametrize("name", CREATION)
def test_arguments_of_functions(name: str) -> None:
    alike(lambda xp: CREATION[name](xp))
