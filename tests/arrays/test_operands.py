"""Tests operators between arrays and lists, tuples, NumPy arrays and other objects, compared with NumPy."""

from __future__ import annotations

import operator
from typing import Any
from unittest import mock

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_same


def name_of(value: Any) -> str:
    """Returns a name that is the same in every process, without an address."""
    return str(value).split(" at 0x")[0]


OTHERS: dict[str, Any] = {
    "a list": [0, 1, 5], "a tuple": (0.0, 1.5, 2.0), "bools": [True, False, True], "nested": [[0], [2]],
    "complex": [1j, 1, 2], "numpy": np.array([0, 7, 2], "i4"), "numpy 0-d": np.array(1.5),
    "numpy view": np.arange(6)[::2],
    "numpy scalar": np.float32(1), "one element": [1], "a memoryview": memoryview(np.arange(3)),
}  # fmt: skip
OPERATORS = {
    name: getattr(operator, name)
    for name in ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", ["int64", "float32"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_operators(name: str, other: str, dtype: str) -> None:
    a, x, op = np.arange(3, dtype=dtype), OTHERS[other], OPERATORS[name]
    if name == "pow" and dtype == "int64" and other in ("a memoryview", "numpy view", "numpy", "a list", "nested"):
        a = a + 1  # powers of zero are fine, but x ** a of integers must not be negative either
    for left, right in ((0, 1), (1, 0)) if not isinstance(x, memoryview) else ((0, 1),):
        pair, ours = (a, x), (cp.asarray(a), x)
        try:
            expected = op(pair[left], pair[right])
        except TypeError:
            with pytest.raises(TypeError):
                op(ours[left], ours[right])
            continue
        result = op(ours[left], ours[right])
        assert isinstance(result, cp.ndarray)
        assert_same(result, np.asarray(expected), rtol=1e-6)


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "iand", "ior"])
def test_in_place(name: str) -> None:
    for x in ([1, 2, 3], (3, 2, 1), np.arange(3)):
        ours, theirs = cp.arange(3), np.arange(3)
        same = ours
        ours = getattr(operator, name)(ours, x)
        assert ours is same
        assert_same(ours, getattr(operator, name)(theirs, x))
        host = np.arange(3)
        kept = host
        host = getattr(operator, name)(host, cp.asarray(x))
        assert host is kept  # NumPy's array is written in place
        np.testing.assert_array_equal(host, theirs)
    with pytest.raises(TypeError, match="same_kind"):
        operator.iadd(cp.arange(3), [0.5, 1, 2])
    with pytest.raises(ValueError, match="broadcast"):
        operator.iadd(cp.arange(3), [1, 2])


def test_masks_from_equality() -> None:
    a, x = cp.asarray([1, 2, 3]), cp.arange(6.0).reshape(2, 3)
    assert_same(cp.where(a == [1, 9, 3], 1, 0), np.array([1, 0, 1]))
    assert x[x == [0, 4, 2]].tolist() == [0, 2, 4]
    y = cp.zeros(3)
    y[a == [1, 9, 3]] = 7
    assert y.tolist() == [7, 0, 7]
    assert 2 in a
    assert [1, 2, 3] in a
    with pytest.raises(ValueError, match="ambiguous"):
        bool(a == [1, 2, 3])


class Unlike:
    """Defines only `!=`."""

    def __ne__(self, other: Any) -> Any:
        return (other == 0) | (other == 2)


@pytest.mark.parametrize(
    "other",
    [None, "x", b"x", object(), {}, {1}, ["a", "b", "c"], [0, None, 2], ("x", 1, 2.0), mock.ANY, 1 << 200, float, ...,
     Unlike()],
    ids=name_of,
)  # fmt: skip
@pytest.mark.parametrize("shape", [(3,), (2, 3), (0, 3)])
def test_equality_with_anything(other: Any, shape: tuple[int, ...]) -> None:
    a = np.arange(np.prod(shape)).reshape(shape)
    assert_same(cp.asarray(a) == other, a == other)
    assert_same(cp.asarray(a) != other, a != other)


@pytest.mark.parametrize("other", [[1, 2], [[0], [1, 2]], np.ones(2), (1, 2, 3, 4)], ids=str)
def test_equality_of_other_shapes(other: Any) -> None:
    for op in (operator.eq, operator.ne):
        for a in (np.arange(3), cp.arange(3)):
            with pytest.raises(ValueError, match=r"broadcast|inhomogeneous"):
                op(a, other)


@pytest.mark.parametrize("other", [None, "x", object(), ["a", "b", "c"]], ids=name_of)
def test_ordering_and_arithmetic_with_non_numbers(other: Any) -> None:
    for op in (operator.lt, operator.add, operator.mul):
        for a in (np.arange(3.0), cp.arange(3.0)):
            with pytest.raises(TypeError):
                op(a, other)


def test_functions() -> None:
    a, x = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 4.0])
    d = cp.asarray(a)
    for call in (
        lambda xp, v: xp.add(v, [1, 2, 3]), lambda xp, v: xp.maximum([1, 2, 3], v), lambda xp, v: xp.hypot(v, x),
        lambda xp, v: xp.sin([0.0, 1.0]), lambda xp, v: xp.add(v, (1, 2, 3), dtype="float32"),
        lambda xp, v: xp.add.outer(v, [1, 2]), lambda xp, v: xp.matmul(v, x), lambda xp, v: v @ [1, 2, 3],
        lambda xp, v: [1, 2] @ v, lambda xp, v: x @ v.T, lambda xp, v: xp.dot(v, x), lambda xp, v: xp.sum(a),
        lambda xp, v: xp.concatenate([v, a]), lambda xp, v: xp.stack([x, v[0], [7, 8, 9]]),
        lambda xp, v: xp.where(a > 2, v, x), lambda xp, v: xp.clip(v, x, [3, 3, 3]), lambda xp, v: xp.cumsum(a, 1),
        lambda xp, v: np.add(x, v), lambda xp, v: np.concatenate([a, v]), lambda xp, v: xp.vstack(a),
        lambda xp, v: xp.isin(v, x), lambda xp, v: xp.linalg.norm(a), lambda xp, v: xp.einsum("ij,j", v, x),
    ):  # fmt: skip
        result = call(cp, d)
        assert isinstance(result, cp.ndarray)
        assert_same(result, np.asarray(call(np, a)), rtol=1e-12)
    with pytest.raises(TypeError, match="masked"):
        cp.add(d, np.ma.array(a))


def test_operands_go_to_the_array_they_stand_beside() -> None:
    a = cp.ones(3).to_device(cp._core.stand_in_device())
    assert operator.add(a, [1, 2, 3]).device_name == (np.ones(3) * a).device_name == cp.add(a, (1, 2, 3)).device_name
    assert (a + np.arange(3)).device_name == a.device_name


@pytest.mark.parametrize("attribute", [{"__array_ufunc__": None}, {"__array_priority__": 1000, "__array__": None}])
def test_classes_that_compute_themselves(attribute: dict[str, Any]) -> None:
    Other = type("Other", (), {
        **attribute, "__radd__": lambda self, o: "radd", "__rmatmul__": lambda self, o: "rmatmul",
        "__eq__": lambda self, o: "eq", "__hash__": None, "__gt__": lambda self, o: "gt",
    })  # fmt: skip
    a = cp.ones(3)
    assert (a + Other(), a @ Other(), a == Other(), a < Other()) == ("radd", "rmatmul", "eq", "gt")
