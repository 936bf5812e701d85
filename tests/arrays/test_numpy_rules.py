"""Tests single calls that NumPy accepts or rejects: ranges, copies, elements, positions, modes, bins and `out=`."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_same

ONE, THIRD = np.float32(0.1), np.float32(0.33)
PATHS: list[Any] = [["einsum_path", (0, 1, 2)], ["einsum_path", (1,), (0, 1, 2)], ("greedy", 100), None, "optimal"]


def _ints(xp: Any, *shape: int) -> Any:
    return xp.arange(np.prod(shape)).reshape(shape)


def _einsum_out(xp: Any, dtype: str, **how: Any) -> Any:
    out = xp.zeros((), dtype)
    assert xp.einsum("i,i->", xp.ones(7, "f4"), xp.ones(7, "f4"), out=out, **how) is out
    return out


def _einsum(xp: Any, path: Any) -> Any:
    return xp.einsum("ij,jk,k->i", _ints(xp, 2, 3), _ints(xp, 3, 4), _ints(xp, 4), optimize=path)


TAKEN: dict[str, Callable[[Any], Any]] = {
    **{f"einsum by {p}": lambda xp, p=p: _einsum(xp, p) for p in PATHS},
    "einsum of two by another word": lambda xp: xp.einsum("i,i", xp.ones(3), xp.ones(3), optimize="none"),
    "einsum, unsafe out": lambda xp: _einsum_out(xp, "i8", casting="unsafe"),
    "einsum, wider out": lambda xp: _einsum_out(xp, "f8"),
    "einsum, optimized, any out": lambda xp: _einsum_out(xp, "i8", optimize="optimal"),
    "einsum in the dtype of out": lambda xp: xp.einsum("i->", xp.full(4, 100, "i1"), out=xp.zeros((), "i8")),
    "arange of float32": lambda xp: xp.arange(ONE, THIRD, ONE),
    "arange by words": lambda xp: xp.arange(start=3, stop=9),
    "arange by stop": lambda xp: xp.arange(stop=3),
    "mgrid of float32": lambda xp: xp.mgrid[ONE:THIRD:ONE],
    "mgrid of float32 and ints": lambda xp: xp.mgrid[0 : np.float32(3),],
    "mgrid of int8": lambda xp: xp.mgrid[0 : np.int8(3), 0:2],
    "mgrid of points": lambda xp: xp.mgrid[0 : np.float32(3) : 3j, 0:2],
    "array if needed": lambda xp: xp.array(xp.arange(3), copy=np._CopyMode.IF_NEEDED),
    "array always": lambda xp: xp.array(xp.arange(3), copy=np._CopyMode.ALWAYS),
    "array by a number": lambda xp: xp.array([1], copy=2),
    "copy in no order": lambda xp: _ints(xp, 2, 3).T.copy(None),
    "transpose by an array": lambda xp: _ints(xp, 2, 3, 4).transpose(xp.asarray([1, 2, 0])),
    "reshape by an array": lambda xp: _ints(xp, 2, 3).reshape(xp.asarray([3, 2])),
    "partition by an array": lambda xp: xp.partition(xp.arange(9)[::-1], xp.arange(9)),
    "partition by a range": lambda xp: xp.partition(xp.arange(9)[::-1], range(9)),
    "ldexp, far": lambda xp: xp.ldexp(xp.asarray([2.0, 3, 5]), xp.asarray([-(2**40), 2**40, 2])),
    "ldexp of float32, far": lambda xp: xp.ldexp(xp.asarray([2, 3], "f4"), xp.asarray([-(2**33), 2**32 + 1])),
    "ldexp of scalars": lambda xp: xp.ldexp(2.0, 2**63 - 1),
    "convolve 0": lambda xp: xp.convolve(xp.ones(3), xp.ones(2), 0),
    "convolve 1": lambda xp: xp.convolve(xp.ones(3), xp.ones(2), 1),
    "correlate 2": lambda xp: xp.correlate(xp.ones(3), xp.ones(2), 2),
    "quantile of bools": lambda xp: xp.quantile(xp.asarray([False, True, True]), xp.asarray([False, True])),
    "quantile of a bool": lambda xp: xp.quantile(True, False),
    "quantile of int32": lambda xp: xp.quantile(xp.arange(3, dtype="i4"), True),
    "ravel_multi_index of nothing": lambda xp: xp.ravel_multi_index((), ()),
    "ravel_multi_index, empty": lambda xp: xp.ravel_multi_index(xp.zeros((3, 0), int), (2, 1, 0)),
    "flat by a flat": lambda xp: _ints(xp, 2, 2).flat[xp.asarray([0, 3]).flat],
    "where of ints": lambda xp: xp.add(xp.arange(3), 1, out=xp.zeros(3), where=[0, 1, 2]),
    "where of a number": lambda xp: xp.add(xp.arange(3), 1, out=xp.zeros(3), where=0),
    "sum where ints": lambda xp: xp.sum(xp.arange(3), where=[0, 1, 2]),
    "pickled ufuncs": lambda xp: [pickle.loads(pickle.dumps(f)) is f for f in (xp.sin, xp.absolute, xp.divmod)],
    "matmul, broadcast out": lambda xp: xp.matmul(xp.ones((2, 3)), xp.ones((3, 3)), out=xp.ones((5, 2, 3))),
    "narrow histogram": lambda xp: xp.histogram(xp.asarray([1, 1 + 2e-16] * 3), bins=1)[0],
    "histogram of float16": lambda xp: xp.histogram(xp.asarray([1, 3], "f2"), bins=4)[0],
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_accepted_arguments(name: str) -> None:
    assert_same(TAKEN[name](cp), np.asarray(TAKEN[name](np)))


def _set(xp: Any, shape: tuple[int, ...], key: Any, value: Any) -> None:
    xp.zeros(shape)[key] = value


def _matmul_in_place(xp: Any, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    left = xp.ones(a)
    left @= xp.ones(b)


def _del(x: Any, key: Any) -> None:
    del x[key]


def _close(xp: Any) -> Any:
    return xp.asarray([1, 1 + 2e-16] * 10)


REFUSED: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "einsum, label": (ValueError, lambda xp: xp.einsum(xp.ones((2, 3)), [0, 52])),
    "einsum, negative label": (ValueError, lambda xp: xp.einsum(xp.ones((2, 3)), [-1, 5])),
    "einsum, broken label": (TypeError, lambda xp: xp.einsum(xp.ones((2, 3)), [0, 1.5])),
    "einsum, casting": (ValueError, lambda xp: xp.einsum("", 0, casting="blah")),
    "einsum, dtype": (TypeError, lambda xp: xp.einsum("", 0, dtype="bad_data_type")),
    "einsum, order": (ValueError, lambda xp: xp.einsum("", 0, order="W")),
    "einsum, out of ints": (TypeError, lambda xp: _einsum_out(xp, "i8")),
    "einsum, narrow out": (TypeError, lambda xp: _einsum_out(xp, "f2", optimize=False)),
    "einsum, one operand": (TypeError, lambda xp: xp.einsum("i->", xp.ones(2), out=xp.zeros((), int), optimize=True)),
    "einsum, short path": (RuntimeError, lambda xp: _einsum(xp, ["einsum_path", (1,), (0, 1)])),
    "einsum, long path": (IndexError, lambda xp: _einsum(xp, ["einsum_path", (0, 5)])),
    "einsum, no path": (TypeError, lambda xp: _einsum(xp, [(0, 1), (0, 1)])),
    "arange by start": (TypeError, lambda xp: xp.arange(start=4)),
    "arange by start twice": (TypeError, lambda xp: xp.arange(3, start=1)),
    "arange of a list": (TypeError, lambda xp: xp.arange([1], 3)),
    "arange of no array": (ValueError, lambda xp: xp.arange([None, []], 1, 2)),
    "arange of text": (TypeError, lambda xp: xp.arange("a")),
    "array, text": (ValueError, lambda xp: xp.array([1], copy="always")),
    "array, never of a list": (ValueError, lambda xp: xp.array([1], copy=0)),
    "array, never of a number": (ValueError, lambda xp: xp.array(3, copy=np._CopyMode.NEVER)),
    "array, never": (ValueError, lambda xp: xp.array(_ints(xp, 2, 2).T, copy=np._CopyMode.NEVER, order="C")),
    "list as an element": (ValueError, lambda xp: _set(xp, (1,), 0, [1])),
    "tuple as an element": (ValueError, lambda xp: _set(xp, (2, 2), (0, 1), (1,))),
    "list in a 0-d array": (ValueError, lambda xp: _set(xp, (), ..., [1])),
    "list deeper than the row": (ValueError, lambda xp: _set(xp, (2, 2), 0, [[1, 2]])),
    "new axes": (IndexError, lambda xp: xp.ones(2)[(None,) * 64]),
    "matmul in place": (ValueError, lambda xp: _matmul_in_place(xp, (2, 3), (3, 1))),
    "matmul of a vector in place": (ValueError, lambda xp: _matmul_in_place(xp, (3,), (3, 1))),
    "matmul, wide out": (ValueError, lambda xp: xp.matmul(xp.ones((2, 3)), xp.ones((3, 1)), out=xp.ones((2, 3)))),
    "matvec, wide out": (ValueError, lambda xp: xp.matvec(xp.ones((1, 3)), xp.ones(3), out=xp.ones(4))),
    "matmul, wide out, axes": (
        ValueError,
        lambda xp: xp.matmul(xp.ones((2, 3)), xp.ones((3, 1)), out=xp.ones((4, 2)), axes=[(0, 1), (0, 1), (1, 0)]),
    ),
    "partition of all in place": (TypeError, lambda xp: _ints(xp, 2, 5).partition(3, axis=None)),
    "sort of all in place": (TypeError, lambda xp: _ints(xp, 2, 5).sort(axis=None)),
    "partition, bool": (ValueError, lambda xp: xp.partition(xp.arange(3), True)),
    "partition, float": (TypeError, lambda xp: xp.partition(xp.arange(3), 1.0)),
    "partition, nothing": (TypeError, lambda xp: xp.partition(xp.arange(3), [])),
    "partition, nested": (ValueError, lambda xp: xp.partition(xp.arange(3), [[1]])),
    "flat, deleted": (TypeError, lambda xp: _del(xp.ones(3).flat, 1)),
    "flags, deleted": (AttributeError, lambda xp: delattr(xp.ones(2).flags, "c_contiguous")),
    "flags, set": (AttributeError, lambda xp: setattr(xp.ones(2).flags, "owndata", False)),
    "convolve, word": (ValueError, lambda xp: xp.convolve(xp.ones(3), xp.ones(2), "f")),
    "convolve, number": (ValueError, lambda xp: xp.convolve(xp.ones(3), xp.ones(2), 3)),
    "convolve, None": (TypeError, lambda xp: xp.convolve(xp.ones(3), xp.ones(2), None)),
    "correlate, None": (TypeError, lambda xp: xp.correlate(xp.ones(3), xp.ones(2), None)),
    "can_cast to None": (TypeError, lambda xp: xp.can_cast("i4", None)),
    "can_cast of None": (TypeError, lambda xp: xp.can_cast(None, "i4")),
    "promote_types": (TypeError, lambda xp: xp.promote_types(None, "i4")),
    "float32 and a number, equiv": (TypeError, lambda xp: xp.add(xp.ones(2, "f4"), 3.0, casting="equiv")),
    "numbers, equiv": (TypeError, lambda xp: xp.add(3, 4, dtype="f8", casting="equiv")),
    "frexp, one out": (TypeError, lambda xp: xp.frexp(xp.ones(3), out=xp.ones(3))),
    "divmod, one out": (TypeError, lambda xp: xp.divmod(xp.ones(3), 2, out=xp.ones(3))),
    "ldexp by uint64": (TypeError, lambda xp: xp.ldexp(2.0, xp.asarray([3], "u8"))),
    "pad widths": (ValueError, lambda xp: xp.pad(_ints(xp, 6, 5), (((3,), (4,)), ((0,), (1,))), "constant")),
    "delete at floats": (IndexError, lambda xp: xp.delete([0, 1], xp.asarray([], float))),
    "insert at floats": (IndexError, lambda xp: xp.insert([0, 1], xp.asarray([], float), [])),
    "too many bins": (ValueError, lambda xp: xp.histogram(_close(xp), bins=10)),
    "too many bins by name": (ValueError, lambda xp: xp.histogram_bin_edges(_close(xp), bins="auto")),
    "too many bins of float16": (ValueError, lambda xp: xp.histogram(xp.asarray([1, 1.01], "f2"), bins=100)),
    "bins of two axes": (ValueError, lambda xp: xp.histogram(xp.arange(4), bins=[[1, 2]])),
    "part of a bin": (ValueError, lambda xp: xp.histogramdd(_ints(xp, 2, 4), bins=[1, 0.99, 1, 1])),
    "cross of scalars": (ValueError, lambda xp: xp.cross(0, [1, 2])),
    "unravel_index of a list in 0-d": (ValueError, lambda xp: xp.unravel_index([0], ())),
    "unravel_index out of 0-d": (ValueError, lambda xp: xp.unravel_index(1, ())),
    **{
        f"ravel_multi_index, {m}": (
            ValueError,
            lambda xp, m=m: xp.ravel_multi_index(xp.zeros((3, 1), int), (2, 1, 0), mode=m),
        )
        for m in ("wrap", "clip", "raise")
    },
    "fromstring of bytes": (ValueError, lambda xp: xp.fromstring(b"1234", dtype="i4")),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_rejected_arguments(name: str) -> None:
    error, call = REFUSED[name]
    for xp in (np, cp):
        with pytest.raises(error):
            call(xp)


@pytest.mark.parametrize("key", [(..., [1, 2], slice(None)), ([0, 1], ..., 0), 0], ids=str)
def test_shape_errors(key: Any) -> None:
    shapes = []
    for xp in (np, cp):
        with pytest.raises(ValueError, match=r"could not (be )?broadcast") as error:
            _set(xp, (3, 4, 5, 6, 7), key, xp.zeros((100, 100)))
        shapes.append(str(error.value).rpartition("shape ")[2])
    assert shapes[0] == shapes[1]


def test_concatenate_of_too_many() -> None:
    class Many(list[Any]):
        def __len__(self) -> int:
            return 2**31

    with pytest.raises(ValueError, match="only supports up to 2147483647 arrays but got 2147483648"):
        cp.concatenate(Many())


def test_list_arguments_and_results() -> None:
    given = [1, 2, 3]
    assert cp.diff(given, n=0) is given
    assert cp.trim_zeros([0, 1, 2, 0]) == [1, 2]
    assert cp.trim_zeros((0, 0)) == ()
    assert_same(cp.trim_zeros([[0, 0], [0, 1]]), np.array([[1]]))
    assert cp.unravel_index(0, ()) == ()


def test_copies_of_ravel_own_their_memory() -> None:
    for xp in (np, cp):
        a = _ints(xp, 2, 3)
        assert [b.ravel(o).flags.owndata for b in (a, a[::-1], a[:, :2], a.T) for o in "CK"] == [
            False, False, True, True, True, True, True, False,
        ]  # fmt: skip


def test_which_arrays_are_pickled_out_of_band() -> None:
    for xp in (np, cp):
        a = _ints(xp, 2, 3, 4)
        for i, part in enumerate((a, a.T, a.transpose(1, 0, 2), a[:, :, :2], a[:, ::-1])):
            buffers: list[Any] = []
            data = pickle.dumps(part, protocol=5, buffer_callback=buffers.append)
            assert len(buffers) == (i < 3)
            back = pickle.loads(data, buffers=buffers)
            assert_same(cp.asarray(back), cp.asnumpy(part))
            assert i > 2 or back.strides == part.strides


def test_three_dtypes_are_promoted_as_numpy() -> None:
    names = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32"]
    names += ["float64", "complex64", "complex128"]
    ones = {name: (np.ones(1, name), cp.ones(1, dtype=name)) for name in names}
    for three in itertools.product(names, repeat=3):
        host, own = zip(*(ones[name] for name in three), strict=True)
        expected = np.result_type(*three)
        assert cp.result_type(*three) == expected, three
        assert cp.concatenate(own).dtype == np.concatenate(host).dtype == expected, three


def test_the_class_of_arrays_takes_parameters_in_annotations() -> None:
    """As `numpy.ndarray`."""
    assert cp.ndarray[Any, int].__origin__ is cp.ndarray and cp.ndarray[Any, int].__args__ == (Any, int)
