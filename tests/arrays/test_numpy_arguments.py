"""Compares accepted and rejected arguments with NumPy: short names, orders, flat iterators, `out=`, warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_same

A = np.array([[3, 1, 2], [0, 5, 4]])


def on(xp: Any) -> Any:
    return xp.asarray(A)


CALLS: dict[str, Callable[[Any], Any]] = {
    **{f"sort {k}": lambda xp, k=k: xp.sort(on(xp), kind=k) for k in ("quick", "heap", "merge", "q", "STABLE")},
    **{f"argsort {k}": lambda xp, k=k: on(xp).argsort(kind=k) for k in ("quick", "heap", "mergesort", "s")},
    **{f"sort {k!r}": lambda xp, k=k: xp.sort(on(xp), kind=k) for k in ("bogus", "")},
    **{f"reshape {o}": lambda xp, o=o: on(xp).reshape(3, 2, order=o) for o in "cfak"},
    **{f"copy {o}": lambda xp, o=o: on(xp).T.copy(o) for o in "cfak"},
    **{f"ravel {o}": lambda xp, o=o: xp.ravel(on(xp).T, o) for o in "cfak"},
    **{f"ones {o}": lambda xp, o=o: xp.ones((2, 3), order=o) for o in "cf"},
    **{f"zeros {o}": lambda xp, o=o: xp.zeros((2, 3), order=o) for o in "cf"},
    "tobytes f": lambda xp: xp.asarray(list(on(xp).tobytes("f"))),
    "ravel_multi_index of no indices": lambda xp: xp.ravel_multi_index((xp.zeros(0, int),) * 3, (2**62, 4, 0)),
    "ravel_multi_index of 65 axes": lambda xp: xp.ravel_multi_index((xp.asarray(0),) * 65, (1,) * 65),
    "unravel_index to 65 axes": lambda xp: xp.unravel_index(xp.asarray(0), (1,) * 65),
    "tobytes None": lambda xp: xp.asarray(list(on(xp).T.tobytes(None))),
    "tobytes A": lambda xp: xp.asarray(list(on(xp).T.tobytes("A"))),
    "an index of too many dimensions": lambda xp: xp.ravel_multi_index(([], []), (2**63, 0), order="F"),
    "an index into nothing": lambda xp: xp.ravel_multi_index(([0], [0]), (3, 0), mode="wrap"),
    "reshape to True": lambda xp: on(xp).reshape((True, -1)),
    "65 index arrays": lambda xp: xp.ones(3)[(xp.asarray([0]),) * 65],
    "arange of bool": lambda xp: xp.arange(2, dtype=bool),
    "arange of bool, far": lambda xp: xp.arange(10, 11, dtype=bool),
    "arange of bool, two": lambda xp: xp.arange(0, 10, 5, dtype=bool),
    "arange of bool, three": lambda xp: xp.arange(3, dtype=bool),
    "arange to infinity": lambda xp: xp.arange(0, float("inf")),
    "arange to NaN": lambda xp: xp.arange(0, float("nan")),
    "roll by an array": lambda xp: xp.roll(on(xp), xp.asarray([1, 2]), (0, 1)),
    "roll by an array along one axis": lambda xp: xp.roll(on(xp), xp.asarray([1, 2]), axis=1),
    "histogram of no numbers": lambda xp: xp.histogram(xp.ones(0, "float32"))[1],
    "roll by a text": lambda xp: xp.roll(on(xp), "1", axis=1),
    "roll by no number": lambda xp: xp.roll(on(xp), "a", axis=1),
    "roll by a fraction": lambda xp: xp.roll(on(xp), 1.9),
    "roll by a NumPy array": lambda xp: xp.roll(on(xp), np.array([1, 2])),
    "mean into int8": lambda xp: xp.mean(xp.arange(6.0).reshape(2, 3), axis=0, out=xp.zeros(3, "int8")),
    "var into int8": lambda xp: xp.var(xp.arange(6), out=xp.zeros((), "int8")),
    "sum into int8": lambda xp: xp.sum(xp.arange(6.0), out=xp.zeros((), "int8")),
    "shape of a NumPy array": lambda xp: xp.shape(A),
    "ndim": lambda xp: [xp.ndim(x) for x in (None, A, 3, [[1]])],
    "size along an axis": lambda xp: xp.size(A, 1),
    "strides of nothing": lambda xp: (xp.empty((2, 0, 2)).strides, xp.empty((2, 0, 2)).T.strides),
    "strides of a part that is empty": lambda xp: on(xp)[:, 3:].strides,
    "ravel K of broadcast": lambda xp: xp.broadcast_to(xp.arange(3), (2, 3)).ravel("K"),
    "flatten K of broadcast": lambda xp: xp.broadcast_to(xp.arange(3), (2, 3)).flatten("K"),
    "flatten K of a broadcast transpose": lambda xp: xp.broadcast_to(on(xp).T[:, None], (3, 4, 2)).flatten("K"),
    "flatten K of broadcast columns": lambda xp: xp.broadcast_to(xp.arange(3)[:, None, None], (3, 2, 2)).flatten("K"),
    "flatten K of axes moved": lambda xp: xp.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)[::-1].flatten("K"),
    "putmask by keywords": lambda xp: xp.putmask(a=xp.ones(3), mask=xp.ones(3, dtype=bool), values=xp.ones(1)),
    "require an unknown property": lambda xp: xp.require(xp.ones(3), requirements="random"),
    "require by long names": lambda xp: xp.require(xp.ones((2, 3)), requirements=["F_CONTIGUOUS", "W"]),
    "require own memory of a view": lambda xp: xp.require(xp.ones((2, 3)).T, None, "O").flags["OWNDATA"],
    "require both orders": lambda xp: xp.require(xp.ones((2, 3)), requirements=["C", "F"]),
    "more elements than int64 counts": lambda xp: xp.ravel_multi_index(([0], [0]), (2**32, 2**32)),
    "more elements than int64 counts, back": lambda xp: xp.unravel_index(1, (2**32 - 1, 2**31 + 1)),
    "grid of a NumPy number's steps": lambda xp: xp.mgrid[0.1 : 0.3 : np.complex64(3j),].shape,
    "two grids between columns": lambda xp: xp.mgrid[
        xp.zeros((10, 1)) : xp.ones((10, 1)) : 10j, xp.zeros((10, 1)) : xp.ones((10, 1)) : 10j
    ],
    "open grids between columns": lambda xp: xp.ogrid[xp.zeros((4, 1)) : xp.ones((4, 1)) : 4j, 0:3][0],
    "a thousand points": lambda xp: xp.mgrid[0.1:0.7:1000j,],
    "grid between columns": lambda xp: xp.mgrid[xp.zeros((10, 1)) : xp.ones((10, 1)) : 10j],
    "row of a NumPy number's steps": lambda xp: xp.r_[0 : 36 : np.complex64(100j)],
    "concatenate into another rank": lambda xp: xp.concatenate([xp.ones(2)] * 2, out=xp.zeros((1, 4))),
    "concatenate into another shape": lambda xp: xp.concatenate([xp.ones(1)], out=xp.zeros(4)),
    "concatenate with out and dtype": lambda xp: xp.concatenate([xp.ones(2)], out=xp.zeros(2), dtype=float),
    "concatenate into an array": lambda xp: xp.concatenate([xp.ones(2), xp.zeros(2)], out=xp.zeros(4)),
    "dot into columns": lambda xp: xp.dot(xp.ones((2, 2)), xp.ones((2, 2)), out=xp.zeros((2, 2), order="F")),
    "dot into another dtype": lambda xp: xp.dot(xp.ones((2, 2)), xp.ones((2, 2)), out=xp.ones((2, 2), "f4")),
    "bits in no order": lambda xp: xp.unpackbits(xp.zeros(3, "uint8"), bitorder=10),
    "einsum into integers": lambda xp: xp.einsum("ij->i", xp.ones((2, 3)), casting="unsafe", out=xp.zeros(2, "i4")),
    "einsum of a number": lambda xp: xp.einsum("->", 2, dtype="f4"),
    "einsum of a diagonal": lambda xp: xp.einsum("ii->i", xp.ones((2, 2)), dtype="c8"),
    "einsum of a sum": lambda xp: xp.einsum("i->", xp.arange(3), dtype="f4"),
    "einsum into less": lambda xp: xp.einsum("ij->i", xp.ones((2, 3)), out=xp.zeros(2, "f4")),
    "einsum, greedy to a limit": lambda xp: xp.einsum("ij,jk", on(xp), on(xp).T, optimize=("greedy", 0)),
    "kaiser of a 0-d array": lambda xp: xp.kaiser(10, xp.asarray(3.0)) > 0.5,
    "bytes": lambda xp: list(bytes(on(xp).astype("int8"))),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_as_numpy(name: str) -> None:
    try:
        expected = CALLS[name](np)
    except Exception as error:
        with pytest.raises(type(error)):
            CALLS[name](cp)
        return
    found = CALLS[name](cp)
    if isinstance(expected, np.ndarray | np.generic):
        assert isinstance(found, cp.ndarray)
        assert_same(found, np.asarray(expected))
    else:
        assert found == expected


@pytest.mark.parametrize("where", [4, 0, [1, 0, 2], np.array([True, False, True]), True, np.array([1, 0, 1])])
def test_copyto_where(where: Any) -> None:
    def copied(xp: Any) -> Any:
        a = xp.zeros(3)
        xp.copyto(a, 1, where=where)
        return a

    try:
        expected = copied(np)
    except TypeError:
        with pytest.raises(TypeError, match="safe"):
            copied(cp)
    else:
        assert_same(copied(cp), expected)


FLAT = [
    None, True, False, np.True_, (1,), (0, 1), (slice(None),), [0, 2], [[0, 1], [1, 2]], np.array([[0, 1]]), ..., (),
    1, -1, 9, -7, "x", [], np.int8(2), slice(1, 4), slice(None, None, -2), (None,), (...,), [9], np.ones((2, 3), bool),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("key", FLAT, ids=str)
def test_flat(key: Any) -> None:
    def get(xp: Any) -> Any:
        return on(xp).T.flat[key]

    def put(xp: Any) -> Any:
        a = on(xp).T
        a.flat[key] = 7
        return a

    for call in (get, put):
        try:
            expected = call(np)
        except IndexError:
            with pytest.raises(IndexError):
                call(cp)
        else:
            assert_same(call(cp), np.asarray(expected))


_I = {"complex": lambda xp: xp.asarray([1j, 2]), "empty": lambda xp: xp.zeros((0, 2), complex)}
LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "astype": lambda xp, z: z.astype("float32"), "astype of integers": lambda xp, z: z.astype("uint8", order="C"),
    "the function astype": lambda xp, z: xp.astype(z, xp.dtype("float32")), "array": lambda xp, z: xp.array(z, float),
    "assignment": lambda xp, z: xp.zeros(z.shape).__setitem__(slice(None), z),
    "assignment by index": lambda xp, z: xp.zeros(z.shape).__setitem__(xp.arange(len(z)), z),
    "out": lambda xp, z: xp.add(z, 1, out=xp.zeros(z.shape), casting="unsafe"),
    "concatenate": lambda xp, z: xp.concatenate([z, z], dtype=float, casting="unsafe"),
    "concatenate as": lambda xp, z: xp.concatenate([z, z], dtype="float32", casting="unsafe"),
    "fill": lambda xp, z: xp.zeros(3).fill(xp.ones((), z.dtype)),
    "put": lambda xp, z: xp.put(xp.zeros(9), [0], xp.append(z.reshape(-1), xp.ones(1, z.dtype))),
    "put_along_axis": lambda xp, z: xp.put_along_axis(xp.zeros(3), xp.arange(3), xp.ones(3, z.dtype), 0),
    "flat": lambda xp, z: xp.zeros(3).flat.__setitem__(slice(None), xp.ones(3, z.dtype)),
    "insert": lambda xp, z: xp.insert(xp.zeros(3), 0, z.reshape(-1)),
    "add.at": lambda xp, z: xp.add.at(xp.zeros(3), [0], xp.ones(1, z.dtype)),
    "concatenate into": lambda xp, z: xp.concatenate([z], out=xp.zeros(z.shape), casting="unsafe"),
    "copyto": lambda xp, z: xp.copyto(xp.zeros(z.shape), z, casting="unsafe"),
    "sum": lambda xp, z: xp.sum(z, dtype="float64"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("operand", _I)
def test_discarded_imaginary_part_warns(name: str, operand: str) -> None:
    for xp in (np, cp):
        z = _I[operand](xp)
        with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part") as found:
            LOSSES[name](xp, z)
        if xp is cp:
            assert found[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            LOSSES[name](xp, z.real)
            z.astype(bool)
            z.astype("complex64")
