"""Bad arguments of every function raise what NumPy raises for the same call."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import materialized, outcome

#: Parameter -> values that no function accepts (a callable creates one for the module).
BAD: dict[str, list[Any]] = {
    "axis": [5, -5, 1.5, "x"], "dtype": ["no-such"], "order": ["Z", 3], "mode": ["bogus"], "casting": ["bogus"],
    "kind": ["bogus"], "method": ["bogus"], "side": ["bogus"], "bitorder": ["bogus"], "indexing": ["bogus"],
    "trim": ["x"], "out": [lambda xp: xp.ones((7, 7))], "where": [lambda xp: xp.ones(3)], "edge_order": [3],
    "axis1": [5], "axis2": [5], "axisa": [5], "source": [5], "destination": [5], "repeats": [-1], "kth": [7, "x", 1.5],
    "q": [-1, 200], "shape": [(-1,), "x", 1.5], "num": [-1, 1.5], "minlength": [-1, "x"], "bins": [0, -1, 1.5],
    "range": [(1, 0)], "weights": [lambda xp: xp.ones(7)], "pad_width": [-1, (1, 2, 3), "x"],
    "indices_or_sections": [-1, 4],
}  # fmt: skip

_MATRIX = lambda xp: xp.asarray(np.arange(6.0).reshape(2, 3))  # noqa: E731
_VECTOR = lambda xp: xp.asarray(np.array([1.0, 2, 0]))  # noqa: E731
_INTEGERS = lambda xp: xp.asarray(np.array([0, 1, 0]))  # noqa: E731
_PAIR = lambda xp: [_MATRIX(xp), _MATRIX(xp)]  # noqa: E731

#: Functions whose required arguments are not a single matrix -> those arguments.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(["concatenate", "concat", "stack", "vstack", "hstack", "dstack"], (_PAIR,)),
    **dict.fromkeys(["column_stack", "lexsort"], (_PAIR,)),
    **dict.fromkeys(["zeros", "ones", "empty", "indices"], ((2, 3),)),
    **dict.fromkeys(["split", "array_split"], (_MATRIX, 1)),
    **dict.fromkeys(["percentile", "nanpercentile"], (_MATRIX, 50)),
    **dict.fromkeys(["quantile", "nanquantile"], (_MATRIX, 0.5)),
    **dict.fromkeys(["partition", "argpartition"], (_MATRIX, 1)),
    **dict.fromkeys(["linspace", "logspace", "geomspace"], (1, 2)),
    **dict.fromkeys(["eye", "identity", "tri", "arange"], (3,)),
    **dict.fromkeys(["dot", "matmul", "vecdot", "inner", "cross"], (_MATRIX, lambda xp: _MATRIX(xp)[0])),
    **dict.fromkeys(["searchsorted", "convolve", "correlate", "digitize", "isin"], (_VECTOR, _VECTOR)),
    **dict.fromkeys(["bincount", "unravel_index"], (_INTEGERS,)),
    **dict.fromkeys(["take_along_axis"], (_MATRIX, lambda xp: xp.asarray(np.zeros((1, 3), int)))),
    "put_along_axis": (_MATRIX, lambda xp: xp.asarray(np.zeros((1, 3), int)), 1.0, 0), "full": ((2, 3), 1),
    "full_like": (_MATRIX, 1), "take": (_MATRIX, _INTEGERS), "put": (_MATRIX, _INTEGERS, 1.0),
    "choose": (_INTEGERS, _PAIR), "compress": (lambda xp: xp.asarray(np.array([True, False])), _MATRIX),
    "append": (_MATRIX, _MATRIX), "insert": (_MATRIX, 0, 1.0), "delete": (_MATRIX, 0), "repeat": (_MATRIX, 2),
    "roll": (_MATRIX, 1), "rollaxis": (_MATRIX, 0), "moveaxis": (_MATRIX, 0, 1), "swapaxes": (_MATRIX, 0, 1),
    "expand_dims": (_MATRIX, 0), "reshape": (_MATRIX, (3, 2)), "broadcast_to": (_MATRIX, (2, 3)),
    "copyto": (_MATRIX, _MATRIX), "outer": (_VECTOR, _VECTOR), "trapezoid": (_MATRIX,), "gradient": (_MATRIX,),
    "pad": (_MATRIX, 1), "packbits": (lambda xp: xp.asarray(np.eye(3, dtype=np.uint8)),),
    "unpackbits": (lambda xp: xp.asarray(np.eye(3, dtype=np.uint8)),), "histogram": (_VECTOR,),
    "histogram_bin_edges": (_VECTOR,), "trim_zeros": (_VECTOR,), "unique": (_MATRIX,), "meshgrid": (_VECTOR, _VECTOR),
    "astype": (_MATRIX, "float32"), "ravel_multi_index": (lambda xp: [_INTEGERS(xp)], (4,)), "argmax": (_MATRIX,),
    "trace": (_MATRIX,), "diagonal": (_MATRIX,),
}  # fmt: skip
#: Functions that work on the host: files, text, callbacks, other libraries.
NOT_COMPARED = {
    "fromfile", "loadtxt", "genfromtxt", "load", "fromstring", "frombuffer", "fromiter", "fromfunction", "asnumpy",
    "from_dlpack", "ndindex", "ndenumerate", "apply_along_axis", "apply_over_axes", "piecewise", "asfarray", "in1d",
    "row_stack", "histogram2d", "histogramdd", "einsum", "cov", "corrcoef", "array2string", "average", "interp",
}  # fmt: skip
#: Cases in which NumPy accepts meaningless values or raises an unintended error.
ODD = {("unpackbits", "bitorder", "bogus")}


def _made(value: Any, xp: Any) -> Any:
    return value(xp) if callable(value) else value


def _cases() -> Iterator[tuple[str, str, Any]]:
    for name in cp.__all__:
        function, theirs = getattr(cp, name), getattr(np, name, None)
        if theirs is None or name in NOT_COMPARED or isinstance(function, (type, cp.ufunc)) or not callable(function):
            continue
        try:
            parameters = inspect.signature(function).parameters
            known = inspect.signature(theirs).parameters
        except (TypeError, ValueError):
            continue
        for parameter in BAD.keys() & parameters.keys() & known.keys():
            for value in BAD[parameter]:
                if (name, parameter, _name(value)) not in ODD:
                    yield name, parameter, value


def _name(value: Any) -> str:
    return "array" if callable(value) else str(value)


CASES = sorted(_cases(), key=lambda case: (*case[:2], _name(case[2])))


def _call(name: str, parameter: str, value: Any, xp: Any) -> Any:
    arguments = [_made(a, xp) for a in ARGUMENTS.get(name, (_MATRIX,))]
    place = list(inspect.signature(getattr(cp, name)).parameters).index(parameter)
    if place < len(arguments):
        arguments[place] = _made(value, xp)
        return getattr(xp, name)(*arguments)
    return getattr(xp, name)(*arguments, **{parameter: _made(value, xp)})


def related(ours: Exception, theirs: Exception) -> bool:
    """Returns true if one class derives from the other: NumPy has private classes such as UFuncTypeError."""
    return isinstance(ours, type(theirs)) or isinstance(theirs, type(ours))


def _compare(ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, actual = outcome(theirs), outcome(lambda: materialized(ours()))
    if isinstance(actual, NotImplementedError):
        return
    if isinstance(expected, Exception):
        assert isinstance(actual, Exception), f"NumPy raises {expected!r}, ours gives {actual!r}"
        assert related(actual, expected), f"NumPy raises {expected!r}, ours {actual!r}"
    else:
        assert not isinstance(actual, Exception), f"NumPy allows it, ours raises {actual!r}"


@pytest.mark.parametrize(("name", "parameter", "value"), CASES, ids=[f"{n}-{p}-{_name(v)}" for n, p, v in CASES])
def test_bad_values_of_parameters(name: str, parameter: str, value: Any) -> None:
    _compare(lambda: _call(name, parameter, value, cp), lambda: _call(name, parameter, value, np))


Call = Callable[[Any, Any, Any], Any]

#: Calls with a matrix `m` (2, 3) and a vector `v` (3).
CALLS: dict[str, Call] = {
    "var in integers": lambda xp, m, v: xp.var(m, dtype="int32"),
    "std in integers": lambda xp, m, v: xp.std(m, axis=1, dtype="int64"),
    "nanvar in integers": lambda xp, m, v: xp.nanvar(m, dtype="int32"),
    "nanmean into integers": lambda xp, m, v: xp.nanmean(m, out=xp.zeros((), int)),
    "cov in integers": lambda xp, m, v: xp.cov(m, dtype="int32"),
    "gradient of bool": lambda xp, m, v: xp.gradient(v > 0),
    "quantile of bool": lambda xp, m, v: xp.quantile(v > 0, 0.5),
    "nanquantile of nothing": lambda xp, m, v: xp.nanquantile(v[:0], 0.5),
    "quantile of nothing": lambda xp, m, v: xp.quantile(v[:0], 0.5),
    "i0 of complex": lambda xp, m, v: xp.i0(v * 1j),
    "lexsort of shapes": lambda xp, m, v: xp.lexsort((v, v[:2])),
    "digitize by complex": lambda xp, m, v: xp.digitize(v, v * 1j),
    "take by float": lambda xp, m, v: xp.take(m, v),
    "take by bool": lambda xp, m, v: xp.take(m, v > 0),
    "put by float": lambda xp, m, v: xp.put(m, v, 1),
    "put_along_axis flat": lambda xp, m, v: xp.put_along_axis(m, xp.zeros((1, 1), int), 1, None),
    "take_along_axis flat": lambda xp, m, v: xp.take_along_axis(m, xp.zeros((1, 1), int), None),
    "choose by float": lambda xp, m, v: xp.choose(v, [v, v]),
    "choose by bool": lambda xp, m, v: xp.choose(v > 1, [v, v]),
    "choose of nothing": lambda xp, m, v: xp.choose(xp.zeros(3, int), []),
    "place float in integers": lambda xp, m, v: xp.place(xp.zeros(3, int), xp.ones(3, bool), v),
    "place out of range": lambda xp, m, v: xp.place(xp.zeros(3, "uint8"), xp.ones(3, bool), [300]),
    "putmask out of range": lambda xp, m, v: xp.putmask(xp.zeros(3, "uint8"), xp.ones(3, bool), -1),
    "putmask a float": lambda xp, m, v: xp.putmask(xp.zeros(3, "uint8"), xp.ones(3, bool), 1.5),
    "putmask a complex": lambda xp, m, v: xp.putmask(xp.zeros(3, "uint8"), xp.ones(3, bool), 1j),
    "putmask float in integers": lambda xp, m, v: xp.putmask(xp.zeros(3, int), xp.ones(3, bool), v),
    "expand_dims by None": lambda xp, m, v: xp.expand_dims(v, None),
    "moveaxis by None": lambda xp, m, v: xp.moveaxis(m, None, 0),
    "linspace by None": lambda xp, m, v: xp.linspace(0, 1, axis=None),
    "matmul without casts": lambda xp, m, v: xp.matmul(m, v.astype(int), casting="no"),
    "vecdot of integers": lambda xp, m, v: xp.vecdot(m, v.astype(int), casting="no"),
    "matvec of vectors": lambda xp, m, v: xp.matvec(v, v),
    "vecmat by a vector": lambda xp, m, v: xp.vecmat(v, v),
    "vecdot along a tuple": lambda xp, m, v: xp.vecdot(m, m, axis=(0,)),
    "dot into a wrong dtype": lambda xp, m, v: xp.dot(m, v, out=xp.zeros(2, "float32")),
    "tensordot of shapes": lambda xp, m, v: xp.tensordot(m, v),
    "tensordot of few axes": lambda xp, m, v: xp.tensordot(v, m, 2),
    "split in none": lambda xp, m, v: xp.split(v, 0),
    "array_split in none": lambda xp, m, v: xp.array_split(v, 0),
    "median into a matrix": lambda xp, m, v: xp.median(m, axis=0, out=xp.zeros((2, 3))),
    "nanmax into a matrix": lambda xp, m, v: xp.nanmax(m, axis=0, out=xp.zeros((2, 3))),
    "round into another shape": lambda xp, m, v: xp.round(v[0:1], out=xp.zeros(3)),
    "partition of nothing": lambda xp, m, v: xp.partition(v[:0], 7),
    "delete by float": lambda xp, m, v: xp.delete(v, [0.5]),
    "insert by mask": lambda xp, m, v: xp.insert(v, np.array([True, False, True]), [7, 8]),
    "ravel_multi_index of few": lambda xp, m, v: xp.ravel_multi_index([xp.zeros(2, int)], (3, 4)),
    "unravel_index of bool": lambda xp, m, v: xp.unravel_index(v > 0, (2, 3)),
    "weights of another shape": lambda xp, m, v: xp.histogram_bin_edges(v, weights=xp.ones(7)),
    "clip method": lambda xp, m, v: v.clip(0, max=1),
    "clip method, one bound": lambda xp, m, v: v.clip(min=1),
    "tri of no rows": lambda xp, m, v: xp.tri(-1),
    "einsum by a wrong word": lambda xp, m, v: xp.einsum("ij,jk,kl", m, m.T, m, optimize="bogus"),
    "where of two": lambda xp, m, v: xp.where(v > 0, v),
    "trim by another letter": lambda xp, m, v: xp.trim_zeros(v, "x"),
    "compress by a mask too long": lambda xp, m, v: xp.compress([False, False, True], m, axis=0),
    "copyto by float": lambda xp, m, v: xp.copyto(v, 1.0, where=v),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    call = CALLS[name]
    _compare(lambda: call(cp, _MATRIX(cp), _VECTOR(cp)), lambda: call(np, _MATRIX(np), _VECTOR(np)))


def test_moments_in_integers_are_numpys() -> None:
    a = np.array([[0.5, 3.9, 7.2], [1.1, 2.0, 9.7]])
    for name, axis in (("mean", None), ("mean", 0), ("var", None), ("var", 0), ("var", 1), ("std", None)):
        expected = getattr(np, name)(a, axis=axis, dtype="int32")
        actual = getattr(cp, name)(cp.asarray(a), axis=axis, dtype="int32")
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual.get(), expected)
