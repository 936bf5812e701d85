"""What functions take and what they refuse, beside NumPy: the class of the error counts, not its words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_same


def _copied(xp: Any, *args: Any, **kwargs: Any) -> Any:
    a = xp.zeros(3)
    xp.copyto(a, *args, **kwargs)
    return a


CALLS: dict[str, Callable[[Any], Any]] = {
    "require an unknown property": lambda xp: xp.require(xp.ones(3), requirements="random"),
    "require by long names": lambda xp: xp.require(xp.ones((2, 3)), requirements=["F_CONTIGUOUS", "W"]),
    "require both orders": lambda xp: xp.require(xp.ones((2, 3)), requirements=["C", "F"]),
    "more elements than int64 counts": lambda xp: xp.ravel_multi_index(([0], [0]), (2**32, 2**32)),
    "more elements than int64 counts, back": lambda xp: xp.unravel_index(1, (2**32 - 1, 2**31 + 1)),
    "grid of a NumPy number's steps": lambda xp: xp.mgrid[0.1 : 0.3 : np.complex64(3j),].shape,
    "grid between columns": lambda xp: xp.mgrid[xp.zeros((10, 1)) : xp.ones((10, 1)) : 10j],
    "row of a NumPy number's steps": lambda xp: xp.r_[0 : 36 : np.complex64(100j)],
    "concatenate into another rank": lambda xp: xp.concatenate([xp.ones(2)] * 2, out=xp.zeros((1, 4))),
    "concatenate into another shape": lambda xp: xp.concatenate([xp.ones(1)], out=xp.zeros(4)),
    "concatenate with out and dtype": lambda xp: xp.concatenate([xp.ones(2)], out=xp.zeros(2), dtype=float),
    "concatenate into an array": lambda xp: xp.concatenate([xp.ones(2), xp.zeros(2)], out=xp.zeros(4)),
    "dot into columns": lambda xp: xp.dot(xp.ones((2, 2)), xp.ones((2, 2)), out=xp.zeros((2, 2), order="F")),
    "bits in no order": lambda xp: xp.unpackbits(xp.zeros(3, "uint8"), bitorder=10),
    "arange of bool": lambda xp: xp.arange(2, dtype=bool),
    "arange of bool, far": lambda xp: xp.arange(10, 11, dtype=bool),
    "arange of bool, two": lambda xp: xp.arange(0, 10, 5, dtype=bool),
    "arange of bool, three": lambda xp: xp.arange(3, dtype=bool),
    "arange to infinity": lambda xp: xp.arange(0, float("inf")),
    "arange to NaN": lambda xp: xp.arange(0, float("nan")),
    "roll by an array": lambda xp: xp.roll(xp.arange(6).reshape(2, 3), xp.asarray([1, 2]), (0, 1)),
    "roll by a NumPy array": lambda xp: xp.roll(xp.arange(6), np.array([1, 2])),
    "copyto where a number": lambda xp: _copied(xp, 2.0, where=4),
    "copyto where not": lambda xp: _copied(xp, 2.0, where=0),
    "copyto where integers": lambda xp: _copied(xp, 2.0, where=xp.asarray([1, 0, 1])),
    "mean into int8": lambda xp: xp.mean(xp.arange(6.0).reshape(2, 3), axis=0, out=xp.zeros(3, "int8")),
    "var into int8": lambda xp: xp.var(xp.arange(6), out=xp.zeros((), "int8")),
    "sum into int8": lambda xp: xp.sum(xp.arange(6.0), out=xp.zeros((), "int8")),
    "shape of a NumPy array": lambda xp: xp.shape(np.ones((2, 3))),
    "ndim of None": lambda xp: xp.ndim(None),
    "size along an axis": lambda xp: xp.size(np.ones((2, 3)), 1),
    "putmask by keywords": lambda xp: xp.putmask(a=xp.ones(3), mask=xp.ones(3, dtype=bool), values=xp.ones(1)),
}


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
        assert_same(found, np.asarray(expected))
    else:
        assert found == expected


_I = {"complex": lambda xp: xp.ones(3) * 1j, "empty": lambda xp: xp.zeros((0, 2), complex)}
LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "astype": lambda xp, x: x.astype("float64"),
    "astype of integers": lambda xp, x: x.astype("uint8", order="C"),
    "the function astype": lambda xp, x: xp.astype(x, xp.dtype("float32")),
    "array": lambda xp, x: xp.array(x, dtype="float64"),
    "out": lambda xp, x: xp.add(x, 1, out=xp.zeros(x.shape), casting="unsafe"),
    "concatenate": lambda xp, x: xp.concatenate([x], out=xp.zeros(x.shape), casting="unsafe"),
    "concatenate as": lambda xp, x: xp.concatenate([x, x], dtype="float32", casting="unsafe"),
    "assignment": lambda xp, x: xp.zeros(x.shape).__setitem__(slice(None), x),
    "fill": lambda xp, x: xp.zeros(3).fill(x.reshape(-1)[:1].reshape(()) if x.size else xp.ones((), complex)),
    "put": lambda xp, x: xp.put(xp.zeros(9), [0], xp.append(x.reshape(-1), 1j)),
    "put_along_axis": lambda xp, x: xp.put_along_axis(xp.zeros(3), xp.arange(3), xp.ones(3) * 1j, 0),
    "flat": lambda xp, x: xp.zeros(3).flat.__setitem__(slice(None), xp.ones(3) * 1j),
    "insert": lambda xp, x: xp.insert(xp.zeros(3), 0, x.reshape(-1)),
    "add.at": lambda xp, x: xp.add.at(xp.zeros(3), [0], xp.ones(1) * 1j),
    "assignment by index": lambda xp, x: xp.zeros(x.shape).__setitem__(xp.arange(len(x)), x),
    "copyto": lambda xp, x: xp.copyto(xp.zeros(x.shape), x, casting="unsafe"),
    "sum": lambda xp, x: xp.sum(x, dtype="float64"),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("operand", _I)
def test_lost_imaginary_parts_are_warned_of(name: str, operand: str) -> None:
    for xp in (np, cp):
        with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part") as found:
            LOSSES[name](xp, _I[operand](xp))
        if xp is cp:
            assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("out", "concatenate", "concatenate as", "assignment", "copyto", "insert"):
            LOSSES[name](cp, _I[operand](cp).real.copy())
        _I[operand](cp).astype(bool)
        _I[operand](cp).astype("complex64")
