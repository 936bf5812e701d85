"""Arguments that NumPy takes or refuses in ways of its own: short names, flat iterators, orders, `out=`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_same

A = np.array([[3, 1, 2], [0, 5, 4]])


def on(xp: Any) -> Any:
    return xp.asarray(A)


TAKEN: dict[str, Callable[[Any], Any]] = {
    **{f"sort {k}": lambda xp, k=k: xp.sort(on(xp), kind=k) for k in ("quick", "heap", "merge", "q", "STABLE")},
    **{f"argsort {k}": lambda xp, k=k: on(xp).argsort(kind=k) for k in ("quick", "heap", "mergesort", "s")},
    **{f"reshape {o}": lambda xp, o=o: on(xp).reshape(3, 2, order=o) for o in "cfa"},
    **{f"copy {o}": lambda xp, o=o: on(xp).T.copy(o) for o in "cfak"},
    **{f"ravel {o}": lambda xp, o=o: xp.ravel(on(xp).T, o) for o in "cfak"},
    **{f"ones {o}": lambda xp, o=o: xp.ones((2, 3), order=o) for o in "cf"},
    **{f"zeros {o}": lambda xp, o=o: xp.zeros((2, 3), order=o) for o in "cf"},
    "tobytes f": lambda xp: xp.asarray(list(on(xp).tobytes("f"))),
    "ravel_multi_index of no indices": lambda xp: xp.ravel_multi_index((xp.zeros(0, int),) * 3, (2**62, 4, 0)),
    "tobytes None": lambda xp: xp.asarray(list(on(xp).T.tobytes(None))),
    "tobytes A": lambda xp: xp.asarray(list(on(xp).T.tobytes("A"))),
    "arange bool": lambda xp: xp.arange(10, 11, dtype=bool),
    "arange two bools": lambda xp: xp.arange(0, 2, dtype=bool),
    "roll": lambda xp: xp.roll(on(xp), np.array([1, 2]), (0, 1)),
    "roll flat": lambda xp: xp.roll(on(xp), np.array([1, 2])),
    "roll by ours": lambda xp: xp.roll(on(xp), xp.asarray([1, 2]), axis=1),
    "mean into int8": lambda xp: xp.mean(xp.arange(6.0), out=xp.zeros((), "int8")),
    "shape of numpy": lambda xp: xp.asarray([*xp.shape(A), xp.ndim(None), xp.ndim(A), xp.ndim(3), xp.ndim([[1]])]),
    "strides of nothing": lambda xp: xp.asarray([*xp.empty((2, 0, 2)).strides, *xp.empty((2, 0, 2)).T.strides]),
    "strides of a part that is empty": lambda xp: xp.asarray(on(xp)[:, 3:].strides),
    "ravel K of broadcast": lambda xp: xp.broadcast_to(xp.arange(3), (2, 3)).ravel("K"),
    "flatten K of broadcast": lambda xp: xp.broadcast_to(xp.arange(3), (2, 3)).flatten("K"),
    "flatten K of a broadcast transpose": lambda xp: xp.broadcast_to(on(xp).T[:, None], (3, 4, 2)).flatten("K"),
    "flatten K of broadcast columns": lambda xp: xp.broadcast_to(xp.arange(3)[:, None, None], (3, 2, 2)).flatten("K"),
    "flatten K of axes moved": lambda xp: xp.arange(24).reshape(2, 3, 4).transpose(2, 0, 1)[::-1].flatten("K"),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name: str) -> None:
    assert_same(TAKEN[name](cp), np.asarray(TAKEN[name](np)))


@pytest.mark.parametrize("where", [4, 0, [1, 0, 2], np.array([True, False, True]), True])
def test_copyto_where(where: Any) -> None:
    ours, theirs = cp.zeros(3), np.zeros(3)
    cp.copyto(ours, 1, where=where)
    np.copyto(theirs, 1, where=where)
    assert_same(ours, theirs)
    with pytest.raises(TypeError, match="safe"):
        cp.copyto(ours, 1, where=np.arange(3))


REFUSED: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "require": (KeyError, lambda xp: xp.require(on(xp), None, "random")),
    "ravel_multi_index": (ValueError, lambda xp: xp.ravel_multi_index((1, 1), (2**40, 2**40))),
    "ravel_multi_index F": (ValueError, lambda xp: xp.ravel_multi_index(([], []), (2**63, 0), order="F")),
    "ravel_multi_index of nothing": (ValueError, lambda xp: xp.ravel_multi_index(([0], [0]), (3, 0), mode="wrap")),
    "unravel_index": (ValueError, lambda xp: xp.unravel_index(1, (2**40, 2**40))),
    "concatenate out": (ValueError, lambda xp: xp.concatenate([xp.ones(2), xp.ones(2)], out=xp.ones((1, 4)))),
    "concatenate out shape": (ValueError, lambda xp: xp.concatenate([xp.ones(2), xp.ones(2)], out=xp.ones(5))),
    "concatenate out, dtype": (TypeError, lambda xp: xp.concatenate([xp.ones(2)], out=xp.ones(2), dtype=float)),
    "reshape": (TypeError, lambda xp: on(xp).reshape((True, -1))),
    "dot out": (ValueError, lambda xp: xp.dot(xp.ones((2, 2)), xp.ones((2, 2)), out=xp.ones((2, 2), order="F"))),
    "dot out dtype": (ValueError, lambda xp: xp.dot(xp.ones((2, 2)), xp.ones((2, 2)), out=xp.ones((2, 2), "f4"))),
    "index arrays": (IndexError, lambda xp: xp.ones(3)[(xp.asarray([0]),) * 65]),
    "sort": (ValueError, lambda xp: xp.sort(on(xp), kind="bogus")),
    "sort empty": (ValueError, lambda xp: xp.sort(on(xp), kind="")),
    "reshape order": (ValueError, lambda xp: on(xp).reshape(6, order="k")),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    error, call = REFUSED[name]
    for xp in (np, cp):
        with pytest.raises(error):
            call(xp)


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
