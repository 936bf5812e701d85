"""Names, arguments and texts of errors that NumPy's own tests ask for, with NumPy as the oracle."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_same


def _raised(expression: str, module: Any) -> tuple[str, str]:
    """Returns the class and the text of the error that an expression raises."""
    with pytest.raises(Exception) as caught:
        eval(expression, {"np": module, "numpy": np})
    return type(caught.value).__name__, str(caught.value)


@pytest.mark.parametrize("expression", [
    "np.add(np.ones(3), 1, sig='i')", "np.add(np.ones(3), 1, sig=('i4',))", "np.add(np.ones(3), 1, sig='iii->i')",
    "np.add(1, 2, sig='ii->i', signature='ii->i')", "np.add(1, 2, sig='ii->i', dtype=int)", "np.add(1, 2, sig=3)",
    "np.add(np.ones(3), 1, sig='dd->f')", "np.equal(np.ones(3), 1, sig='dd->d')",
    "np.add(1, 2, signature=('f8', 'f8'))", "np.hypot(1)", "np.hypot()", "np.add(1, 2, ...)",
    "np.broadcast([[1, 2, 3]], [[4], [5]], [6, 7])", "np.broadcast([1, 2], [1, 2, 3])", "np.broadcast(1, x=1)",
    "np.convolve([], [])", "np.convolve([], [1])", "np.convolve([1], [])", "np.correlate([], [1])",
    "np.pad([1], 1.5)", "np.pad([1], -1)", "np.fft.fft(np.ones(3), out='')",
    "np.fft.fft(np.ones(3), out=np.zeros(4, complex))", "np.unique(np.ones(3), axis=0.0)",
    "np.unravel_index([], (2, 3))", "np.ravel_multi_index(([], []), (2, 3))", "np.nanargmax(np.zeros((0, 3)))",
    "np.nanargmin(np.zeros((0, 3)), axis=0)", "np.lib.stride_tricks.sliding_window_view(np.ones(3), -1)",
    "np.gradient(np.ones((3, 3)), np.ones((3, 3)), 1)", "np.ones(3).getfield('u1', -1)",
    "np.ones(3).getfield('f8', 1)", "np.array([1], ndmax=0)", "np.array([[1]], ndmax=1)", "np.array([1], ndmax=-1)",
    "np.array(1, ndmax=1, ndmin=2)", "np.ndarray(3, buffer=b'abc', dtype='i8')",
    "np.ndarray(3, buffer=b'abc' * 10, dtype='u1', strides=(20,))",
    "np.ndarray(3, buffer=b'abc' * 10, dtype='u1', strides=(1, 1))", "np.sort([1], kind='quicksort', stable=True)",
    "np.arange(3).flat[[True, False, True]]", "np.vectorize(lambda x: x, signature='()->()')(1, 2)",
    "np.vectorize(lambda x: x, signature='(n->()')", "np.vectorize(lambda x, y: x, signature='(n),(n)->()')(1, [2])",
    "np.vectorize(lambda x, y: x, signature='(n),(n)->(n)')([1], [2, 3])",
    "np.vectorize(lambda x: x, signature='()->(),()')(1)", "np.vectorize(lambda x: x[1:], signature='(n)->(n)')([1])",
    "np.vectorize(lambda x: x, excluded=[1])([])",
])  # fmt: skip
def test_errors_have_numpys_text(expression: str) -> None:
    theirs = _raised(expression, np)
    assert _raised(expression, cp) == (theirs[0].replace("UFuncTypeError", "TypeError"), theirs[1])


@pytest.mark.parametrize("expression", [
    "np.array([1 + 2j, 3 + 4j]).getfield('f8', 8)", "np.arange(8, dtype='u2')[::2].getfield('i1', 1)",
    "np.ones((2, 3), 'i4').T.getfield('u2', 2)", "np.array(7, 'i8').getfield('i4', 0)",
    "np.array(object=[[1, 2]], ndmax=2)", "np.array([0, 1, 2]).choose([1, 2, 3], [4, 5, 6], 9)",
    "np.array([1, 0]).choose([[1, 2], [3, 4]])", "np.choose([0, 1], [1.5, 2.5], out=np.zeros(2, 'i4'))",
    "np.ndarray((2, 2), buffer=np.arange(6), offset=8, dtype=int)",
    "np.ndarray(4, buffer=np.arange(10), dtype=int, offset=32, strides=(-8,))",
    "np.ndarray((2, 2), 'i2', buffer=bytes(range(8)), order='F')",
    "np.add(np.arange(3) * 0.5, 0.5, sig='ii->i', casting='unsafe')",
    "np.add(np.arange(3) * 0.5, 0.5, signature=('i4', 'i4', 'i4'), casting='unsafe')",
    "np.add([3], [4], sig=(None, None, None))", "np.add(3, [4], signature=(None, None, 'f4'))",
    "np.sin(np.ones(2), sig='f->f', casting='same_kind')", "np.equal(np.ones(2), 1, sig='ff->?', casting='same_kind')",
    "np.divmod(np.arange(4.0), 3, sig='ff->ff', casting='same_kind')", "np.true_divide(3, [2], sig='dd->d')",
    "np.add([1], 2, out=...)", "np.add.reduce([1, 2], out=...)",
    "np.vectorize(lambda a: a.mean(), signature='(n)->()')([[1, 3], [2, 4]])",
    "np.vectorize(math.gcd)([4, 6], [6, 9])", "np.vectorize(math.cos)(np.asarray([0.0, 1.0]))",
    "np.vectorize(functools.partial(operator.add, 3))([1, 2])", "np.vectorize([1, 2, 1].count)([1, 2])",
    "np.vectorize(lambda a: a - a.mean(), signature='(n)->(n)')([[1, 3], [2, 4]])",
    "np.vectorize(lambda x: (x, x + 1), signature='()->(),()')([1, 2, 3])",
    "np.vectorize(np.outer, signature='(a),(b)->(a,b)')([[1, 0], [2, 0]], [1, 2, 3])",
    "np.vectorize(lambda x: x[:-1], signature='(n)->(m)')([[1, 2, 3], [2, 3, 4]])",
    "np.vectorize(lambda x: x, signature='(n)->(n)', otypes=['f4'])([1, 2, 3])",
    "np.vectorize(lambda x: x, signature='(n)->(n)', otypes=['f4'])(np.ones((0, 2)))",
    "np.vectorize(lambda a, b=1: a + b, signature='()->()', excluded={'b'})([1, 2], b=0)",
    "np.vectorize(lambda x, p: sum(p) * x, excluded=['p', 1])([0, 1], [1, 2, 3])",
    "np.vectorize(lambda x, p: sum(p) * x, excluded=['p', 1])(x=[0, 1], p=[1, 2, 3])",
    "np.matmul.signature", "np.vecdot.nin", "np.matvec.nargs", "np.vecmat.identity", "np.add.signature",
])  # fmt: skip
def test_values_are_numpys(expression: str) -> None:
    known = {"functools": functools, "math": math, "operator": operator}
    ours, theirs = (eval(expression, {"np": module, **known}) for module in (cp, np))
    if isinstance(theirs, tuple):
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b)
    elif isinstance(theirs, (np.ndarray, np.generic)):
        assert_same(ours, np.asarray(theirs))
    else:
        assert ours == theirs


def _twice(x, y=1.0, z=0.0):  # type: ignore[no-untyped-def]
    return 2 * x + y * z


def test_vectorized_functions_take_keywords() -> None:
    ours, theirs = cp.vectorize(_twice), np.vectorize(_twice)
    for args, named in (((10.4,), {"z": 100}), ((10.4,), {"y": -1}), ((10.4,), {}), ((), {"z": [1, 2], "x": 10.4})):
        assert_same(ours(*args, **named), np.asarray(theirs(*args, **named)))


def test_a_field_is_a_view() -> None:
    ours, theirs = cp.zeros(3, complex), np.zeros(3, complex)
    for a in (ours, theirs):
        a.setfield([1, 2, 3], "f8", 8)
        a.getfield("f8")[1] = 5
    assert_same(ours, theirs)


def test_an_array_in_a_buffer_shares_an_arrays_memory_and_copies_other() -> None:
    whole = cp.zeros(4)
    cp.ndarray(2, buffer=whole, offset=16)[:] = 7
    assert whole.tolist() == [0, 0, 7, 7]
    memory = bytearray(8)
    cp.ndarray(8, "u1", buffer=memory)[:] = 1
    assert memory == bytearray(8)
    assert cp.ndarray(0, buffer=b"").shape == (0,)
    with pytest.raises(ValueError, match="multiples of the item size"):
        cp.ndarray(1, buffer=whole, offset=4)


def test_positions_of_flat_iterators() -> None:
    ours, theirs = cp.arange(6).reshape(2, 1, 3).flat, np.arange(6).reshape(2, 1, 3).flat
    for _ in range(6):
        assert (ours.index, ours.coords) == (theirs.index, theirs.coords)
        assert int(next(ours)) == int(next(theirs))
    assert ours.index == theirs.index == ours.base.size
    with pytest.raises(AttributeError):
        ours.index = 0
    assert isinstance(ours, cp.flatiter)
    assert np.asarray(ours).tolist() == [0, 1, 2, 3, 4, 5]


def test_iterators_of_broadcast_arrays() -> None:
    x, y = cp.ones((2, 1)), cp.ones(3)
    found = cp.broadcast(x, y)
    assert all(a.base is b for a, b in zip(found.iters, (x, y), strict=True))


@pytest.mark.parametrize(("name", "dtypes", "options"), [
    ("add", ("i4", "f4", None), {}), ("equal", ("i4", "i8", None), {}), ("add", ("f4", int, None), {}),
    ("add", ("i4", "i4", None), {"signature": (None, None, np.dtype("f4"))}), ("divmod", ("i4", "f4", None, None), {}),
    ("add", (None, "i2", None), {"reduction": True}),
])  # fmt: skip
def test_dtypes_of_a_call(name: str, dtypes: tuple[Any, ...], options: dict[str, Any]) -> None:
    given = tuple(np.dtype(t) if isinstance(t, str) else t for t in dtypes)
    assert getattr(cp, name).resolve_dtypes(given, **options) == getattr(np, name).resolve_dtypes(given, **options)
    with pytest.raises(TypeError):
        cp.add.resolve_dtypes((np.dtype("i4"), np.dtype("f4"), None), casting="no")


def test_the_name_of_a_vectorized_function() -> None:
    def larger(x: Any, y: Any) -> Any:
        return max(x, y)

    assert cp.vectorize(larger).__name__ == "larger"
