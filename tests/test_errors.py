"""Bad input raises NumPy's exception classes at the call, with the cause first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cuprous as cp

Case = tuple[str, Callable[[Any], Any], type[Exception] | tuple[type[Exception], ...], str]

# (name, call with the module xp, error class, words of the message)
CASES: list[Case] = [
    ("broadcast", lambda xp: xp.ones(3) + xp.ones(4), ValueError, r"\(3,\).*\(4,\)"),
    ("broadcast in place", lambda xp: xp.ones(3).__iadd__(xp.ones((2, 3))), ValueError, r"\(2, ?3\)|broadcast"),
    ("broadcast assign", lambda xp: xp.ones(3).__setitem__(slice(None), xp.ones(2)), ValueError, r"\(2,\)"),
    ("cast in place", lambda xp: xp.ones(3, dtype=xp.int32).__iadd__(0.5), TypeError, "int32"),
    ("reshape", lambda xp: xp.ones(6).reshape(4, 2), ValueError, "6"),
    ("reshape two unknowns", lambda xp: xp.ones(6).reshape(-1, -1), ValueError, "unknown|-1|one"),
    ("axis", lambda xp: xp.ones((2, 3)).sum(axis=2), np.exceptions.AxisError, "2"),
    ("axis twice", lambda xp: xp.ones((2, 3)).sum(axis=(0, 0)), ValueError, "duplicate|repeated|axis"),
    ("transpose", lambda xp: xp.ones((2, 3)).transpose(0, 0), ValueError, "axes|axis|repeated"),
    ("index range", lambda xp: xp.ones(3)[3], IndexError, "3"),
    ("index range negative", lambda xp: xp.ones((3, 2))[-4], IndexError, "-4"),
    ("index count", lambda xp: xp.ones(3)[0, 0], IndexError, "indices|dimension"),
    ("index type", lambda xp: xp.ones(3)[1.5], IndexError, "ind|slice"),
    ("index two ellipses", lambda xp: xp.ones(3)[..., ...], IndexError, "ellipsis"),
    ("slice step", lambda xp: xp.ones(3)[::0], ValueError, "zero"),
    ("mask shape", lambda xp: xp.ones(3)[xp.ones(4, dtype=bool)], IndexError, "4|bool"),
    ("matmul", lambda xp: xp.ones((2, 3)) @ xp.ones((2, 3)), ValueError, "3.*2|shape|mismatch"),
    ("matmul scalar", lambda xp: xp.ones((2, 3)) @ 2, (ValueError, TypeError), ""),
    ("concatenate", lambda xp: xp.concatenate([xp.ones((2, 3)), xp.ones((2, 4))]), ValueError, "3|4|dimension"),
    ("concatenate nothing", lambda xp: xp.concatenate([]), ValueError, "need|at least|empty"),
    ("stack", lambda xp: xp.stack([xp.ones(3), xp.ones(4)]), ValueError, "shape"),
    ("broadcast_to", lambda xp: xp.broadcast_to(xp.ones(3), (2, 4)), ValueError, "broadcast"),
    ("squeeze", lambda xp: xp.squeeze(xp.ones((2, 1)), axis=0), ValueError, "squeeze|size|one"),
    ("max of nothing", lambda xp: xp.ones(0).max(), ValueError, "zero-size|empty"),
    ("argmax of nothing", lambda xp: xp.ones(0).argmax(), ValueError, "empty"),
    ("truth of many", lambda xp: bool(xp.ones(3)), ValueError, "ambiguous|more than one"),
    ("float of many", lambda xp: float(xp.ones(3)), TypeError, "0-dim|size|scalar|length"),
    ("item of many", lambda xp: xp.ones(3).item(), ValueError, "size 1|scalar|one"),
    ("index of float", lambda xp: range(3)[xp.asarray(1.5)], TypeError, "integer"),
    ("length of 0-d", lambda xp: len(xp.asarray(1.0)), TypeError, "unsized|0-d"),
    ("iterate 0-d", lambda xp: list(xp.asarray(1.0)), TypeError, "0-d"),
    ("negative shape", lambda xp: xp.zeros((-1, 2)), ValueError, "negative"),
    ("arange step", lambda xp: xp.arange(0, 1, 0), (ZeroDivisionError, ValueError), ""),
    ("linspace count", lambda xp: xp.linspace(0, 1, -1), ValueError, "-1|non-negative"),
    ("bad dtype", lambda xp: xp.zeros(3, dtype="no-such"), TypeError, "no-such"),
    ("object dtype", lambda xp: cp.asarray(np.array([{}, None])), TypeError, "object|dtype"),
    ("invert float", lambda xp: ~xp.ones(3), TypeError, "invert|float64"),
    ("bits of float", lambda xp: xp.ones(3) & 1, TypeError, "bitwise_and|float64|and"),
    ("negate bool", lambda xp: -xp.ones(3, dtype=bool), TypeError, "bool|negative"),
    ("subtract bool", lambda xp: xp.ones(3, dtype=bool) - xp.ones(3, dtype=bool), TypeError, "bool|subtract"),
    ("integer range", lambda xp: xp.ones(3, dtype=xp.uint8) + 256, OverflowError, "256"),
    ("integer negative", lambda xp: xp.ones(3, dtype=xp.uint8) + -1, OverflowError, "-1"),
    ("negative power", lambda xp: xp.arange(3) ** -1, ValueError, "negative"),
    ("out shape", lambda xp: xp.add(xp.ones(3), 1, out=xp.ones(2)), ValueError, "2|shape|broadcast"),
    ("out dtype", lambda xp: xp.add(xp.ones(3), 0.5, out=xp.ones(3, dtype=xp.int32)), TypeError, "int32"),
    ("a string", lambda xp: xp.ones(3) + "1", TypeError, ""),
    ("repeat", lambda xp: xp.repeat(xp.ones(3), -1), ValueError, "negative|-1|count"),
    ("take axis", lambda xp: xp.take(xp.ones((2, 3)), xp.asarray([0]), axis=5), np.exceptions.AxisError, "5"),
    ("sort axis", lambda xp: xp.sort(xp.ones(3), axis=1), np.exceptions.AxisError, "1"),
]


@pytest.mark.parametrize(("what", "call", "kind", "words"), CASES, ids=[case[0] for case in CASES])
def test_bad_input(what: str, call: Callable[[Any], Any], kind: Any, words: str) -> None:
    with pytest.raises(kind, match=f"(?is){words}") as raised:
        call(cp)
    text = str(raised.value)
    assert text.strip(), f"{what}: the message is empty"
    assert len(text.splitlines()[0]) < 250
    assert "panic" not in text.lower()
    assert "unwrap" not in text


@pytest.mark.parametrize(("what", "call", "kind", "words"), CASES, ids=[case[0] for case in CASES])
def test_numpy_refuses_it_too(what: str, call: Callable[[Any], Any], kind: Any, words: str) -> None:
    with pytest.raises(kind):
        if what == "object dtype":
            pytest.skip("NumPy has objects")
        call(np)


def test_numpy_arrays_that_are_refused() -> None:
    for mixed in (lambda: cp.ones(3) + np.ones(3), lambda: np.asarray(cp.ones(3))):
        with cp.set_transfers("refuse"), pytest.raises(TypeError, match=r"cp\.asarray|\.get\(\)"):
            mixed()


def test_unknown_device() -> None:
    with pytest.raises((RuntimeError, ValueError), match="tpu"):
        cp._core.set_device("tpu")
    assert cp._core.get_device()


def test_missing_gpu() -> None:
    if cp._core.device_count():
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match=r"(?i)cuda|gpu|driver|nvidia"):
        cp._core.set_device("cuda")
    assert float((cp.ones(3) * 2).sum()) == 6


def test_work_goes_on_after_each_error() -> None:
    x = cp.arange(5.0)
    for _, call, kind, _ in CASES:
        with pytest.raises(kind):
            call(cp)
    np.testing.assert_array_equal(cp.asnumpy(x * 2), np.arange(5.0) * 2)


def test_allocation_larger_than_memory() -> None:
    with pytest.raises(MemoryError):
        cp.asnumpy(cp.ones((1 << 44,), dtype=cp.float64) + 1)
    assert float(cp.ones(3).sum()) == 3
