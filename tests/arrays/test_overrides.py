"""Classes with NumPy's override protocols are called, in NumPy's order."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

import cuprous as cp


class Wrapped(np.lib.mixins.NDArrayOperatorsMixin):
    """An array with a history; it accepts only its own classes and numbers."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [x.value if isinstance(x, Wrapped) else x for x in inputs]
        out = kwargs.get("out")
        if out:
            kwargs["out"] = tuple(x.value if isinstance(x, Wrapped) else x for x in out)
        result = getattr(ufunc, method)(*plain, **kwargs)
        return tuple(map(type(self), result)) if isinstance(result, tuple) else type(self)(result)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func not in (np.concatenate, np.stack):
            return NotImplemented
        plain = [x.value if isinstance(x, Wrapped) else x for x in args[0]]
        return type(self)(func(plain, *args[1:], **kwargs))


class Derived(Wrapped):
    """A subclass that also accepts operands of its base class."""


class Refuses:
    __array_ufunc__ = None
    __array_function__ = None

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.ones(3)


class Unwilling:
    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> Any:
        return NotImplemented

    def __array_function__(self, *args: Any, **kwargs: Any) -> Any:
        return NotImplemented


CALLS = {
    "add": lambda xp, a, other: xp.add(a, other), "reflected": lambda xp, a, other: xp.subtract(other, a),
    "keywords": lambda xp, a, other: xp.add(a, other, dtype="float32"),
    "where": lambda xp, a, other: xp.multiply(a, 2, out=Wrapped(a.copy()), where=a > 1),
    "two": lambda xp, a, other: xp.divmod(a, other)[1], "outer": lambda xp, a, other: xp.add.outer(a, other),
    "matmul": lambda xp, a, other: xp.matmul(a, other), "unary": lambda xp, a, other: xp.sin(other),
    "concatenate": lambda xp, a, other: xp.concatenate([a, other]),
    "stack": lambda xp, a, other: xp.stack((a, other), axis=1),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("functions", [np, cp], ids=["numpy", "cuprous"])
@pytest.mark.parametrize("kind", [Wrapped, Derived])
def test_overrides_are_called(name: str, functions: Any, kind: type[Wrapped]) -> None:
    """Calls NumPy's functions and ours with one of our arrays and an object of another class."""
    host = np.arange(3.0)
    expected = CALLS[name](np, host, kind(host + 1))
    result = CALLS[name](functions, cp.asarray(host), kind(cp.asarray(host + 1)))
    assert type(result) is type(expected)
    assert isinstance(result.value, cp.ndarray)
    np.testing.assert_allclose(result.value.get(), expected.value)


def test_subclass_overrides_come_first() -> None:
    a = cp.arange(3.0)
    assert type(cp.add(Wrapped(a), Derived(a))) is Derived
    assert type(cp.concatenate([Wrapped(a), a, Derived(a)])) is Derived


@pytest.mark.parametrize("other", [Refuses(), Unwilling()], ids=["none", "not implemented"])
def test_operands_that_refuse_raise(other: Any) -> None:
    for a, xp in ((np.ones(3), np), (cp.ones(3), np), (cp.ones(3), cp)):
        for call in (lambda a, xp: xp.add(a, other), lambda a, xp: xp.add(other, 1), lambda a, xp: xp.sin(other)):
            with pytest.raises(TypeError):
                call(a, xp)
        if isinstance(other, Unwilling) or xp is cp:
            with pytest.raises(TypeError):
                xp.concatenate([a, other])


def test_numpy_and_gpu_arrays_are_operands() -> None:
    class Sub(np.ndarray):
        pass

    a = cp.arange(3.0)
    for other in (np.float64(2), np.ones(3), np.ones(3).view(Sub), [1, 2, 3], np.int8(1)):
        assert isinstance(cp.add(a, other), cp.ndarray)


def test_functions_that_write_to_a_numpy_array() -> None:
    a = cp.asarray([7.0, 8.0, 9.0])
    for write in (
        lambda x: np.copyto(x, a), lambda x: np.copyto(dst=x, src=a), lambda x: np.copyto(src=a, dst=x),
        lambda x: np.put(x, [0, 1, 2], a), lambda x: np.put(a=x, ind=[0, 1, 2], v=a),
        lambda x: np.putmask(x, mask=[True] * 3, values=a), lambda x: np.place(x, [True] * 3, a),
        lambda x: np.add(a, 0, out=x), lambda x: np.cumsum(np.asarray([7, 1, 1]) * (a == a), out=x),
    ):  # fmt: skip
        x = np.zeros(3)
        write(x)
        assert x.tolist() == [7, 8, 9]


def test_numpy_fallback_does_not_recurse() -> None:
    """NumPy's function receives only NumPy arrays, at every position."""
    Pair = collections.namedtuple("Pair", "first second")
    text = np.array(["a", "b"])
    for function in (np.stack, np.concatenate, np.vstack):
        for arguments in ([text, text], Pair(text, cp.ones(2)), (cp.ones(2), text)):
            for out in (None, cp.ones((2, 2))):
                keywords = {} if out is None or function is np.vstack else {"out": out}
                try:
                    result = function(arguments, **keywords)
                except (TypeError, ValueError):
                    continue
                assert isinstance(result, np.ndarray)
