"""Tests extents, strides and offsets at the limits of 64 bits: NumPy's errors are raised, and nothing overflows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cuprous as cp
import cuprous.torch as torch
from cuprous.torch import safetensors
from tests.fuzz.extents import Capsule
from tests.support import assert_errors
from tests.torch.test_serialization import archive, ints, tensor

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
def test_random_extents() -> None:
    """Longer: `python -m tests.fuzz.extents`."""
    line = [sys.executable, "-m", "tests.fuzz.extents", "--cases", "1500", "--seed", "1000000"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, "\n" + done.stdout + done.stderr


@pytest.mark.parametrize("shape", [
    (2**32, 2**32), (0, 2**63 - 1), (2**63 - 1,), (2**62, 2), (2**31,) * 3, (-1,), (-(2**63),), (3, -1), (1,) * 65,
])  # fmt: skip
def test_shapes_that_no_array_has(shape: tuple[int, ...]) -> None:
    for m in (np, cp):
        for make in (m.zeros, m.empty, m.ones):
            with pytest.raises(ValueError):
                make(shape)
        with pytest.raises(ValueError):
            m.broadcast_to(m.ones(1), shape)
    for make in (torch.zeros, torch.empty, torch.rand):
        with pytest.raises((RuntimeError, ValueError)):
            make(shape)
    with pytest.raises((RuntimeError, ValueError)):
        torch.ones(1).as_strided(shape, (0,) * len(shape))


MANY: dict[str, Any] = {
    "sum": lambda m, a: m.sum(a), "max of some": lambda m, a: m.max(a, axis=(0, 39)),
    "argmax": lambda m, a: m.argmax(a), "argmax of one": lambda m, a: m.argmax(a, axis=2, keepdims=True),
    "argmin of the last": lambda m, a: m.argmin(a, axis=-1), "mean": lambda m, a: m.mean(a, axis=5, keepdims=True),
    "var": lambda m, a: m.var(a), "any": lambda m, a: m.any(a > 2, axis=(1, 3)),
    "prod of none": lambda m, a: m.prod(a, axis=()),
    "median": lambda m, a: m.median(a), "cumsum": lambda m, a: m.cumsum(a, axis=39), "sort": lambda m, a: m.sort(a),
    "add": lambda m, a: a + a.T, "index": lambda m, a: a[(0,) * 39], "new axes": lambda m, a: a[(None,) * 24],
    "concatenate": lambda m, a: m.concatenate([a, a], axis=39), "where": lambda m, a: m.where(a > 2, a, -a),
    "indices": lambda m, a: a[tuple(m.zeros(2, int) for _ in range(40))], "list": lambda m, a: a.tolist(),
    "take": lambda m, a: m.take(a, m.asarray([1, 0]), axis=38), "unique": lambda m, a: m.unique(a),
    "nonzero": lambda m, a: m.nonzero(a)[39], "matmul": lambda m, a: m.matmul(a, m.ones((3, 2), int)),
    "too many axes": lambda m, a: a[(None,) * 25], "too many by index": lambda m, a: a[[0]][(None,) * 25],
    "too many indices": lambda m, a: a[(0,) * 65], "too many arrays": lambda m, a: a[([0],) * 65],
    "too many together": lambda m, a: a[(m.zeros((1,) * 30, int), *(slice(None),) * 39)],
    "expand_dims": lambda m, a: m.expand_dims(a, tuple(range(30))), "reshape": lambda m, a: a.reshape((1,) * 65),
    "stack": lambda m, a: m.stack([a] * 2), "broadcast": lambda m, a: m.broadcast_arrays(*[a] * 70)[69],
    "choose": lambda m, a: m.choose(a % 2, [a, -a]), "einsum": lambda m, a: m.einsum("...->...", a),
}  # fmt: skip


@pytest.mark.parametrize("name", MANY)
def test_many_axes(name: str) -> None:
    host = np.arange(6).reshape((1,) * 38 + (2, 3))
    try:
        want = MANY[name](np, host)
    except (ValueError, IndexError) as error:
        with pytest.raises(type(error)):
            MANY[name](cp, cp.asarray(host))
        return
    except RuntimeError:  # some of NumPy's functions take 32 axes
        assert cp.asnumpy(MANY[name](cp, cp.asarray(host))).size >= 2
        return
    got = MANY[name](cp, cp.asarray(host))
    assert np.shape(got) == np.shape(want)
    np.testing.assert_allclose(cp.asnumpy(got), want)


def test_results_too_big_to_exist() -> None:
    wide = cp.broadcast_to(cp.ones((1, 1)), (2**31, 1))
    assert_errors(
        (lambda: wide + cp.broadcast_to(cp.ones((1, 1)), (1, 2**31)), ValueError, "too big"),
        (lambda: cp.broadcast_to(cp.ones(1, bool), (2**60,)).astype("complex128"), ValueError, "too big"),
        (lambda: torch.cartesian_prod(*[torch.ones(1).expand(2**16)] * 4), (RuntimeError, ValueError), ""),
        (lambda: torch.ones(1, 1).expand(2**32, 1) + torch.ones(1, 1).expand(1, 2**32), RuntimeError, "too big"),
        (lambda: torch.arange(3) ** -1, RuntimeError, "negative integer powers"),
    )
    assert cp.broadcast_to(cp.ones(1), (2**30, 2**20))[5, 7] == 1


def test_views_stay_in_their_memory() -> None:
    strided = cp.lib.stride_tricks.as_strided
    for shape, strides in (((2**32, 2**32), (8, 8)), ((3,), (2**62,)), ((2,), (-8,)), ((5,), (8,)), ((-1,), (8,)),
                           ((2, 2), (2**63 - 8, 8)), ((0, 2**63 - 1), (8, 8))):  # fmt: skip
        with pytest.raises(ValueError):
            strided(cp.zeros(4), shape, strides)
    for shape, strides, offset in (((2**54, 1024), (0, 1), 0), ((2,), (4,), 0), ((1,), (1,), 2**62), ((1,), (1,), 4),
                                   ((2,), (2**63 - 1,), 0)):  # fmt: skip
        with pytest.raises(RuntimeError):
            torch.zeros(4).as_strided(shape, strides, offset)
    assert cp.zeros(4)[:: 2**63 - 1].tolist() == [0]


def test_negative_repetitions() -> None:
    pending = cp.arange(5.0) * 2
    for shape in ((1,), (2, 1), (3, 1, 1)):
        for m in (np, cp):
            with pytest.raises(ValueError):
                m.tile(m.ones(shape), -1)
    assert pending.tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("capsule", [
    (-1, (2,), None), (65, (1,) * 65, None), (1, (-3,), None), (2, (2**32, 2**32), None), (1, (3,), (2**62,)),
    (2, (0, 2**63 - 1), None), (1, None, None),
])  # fmt: skip
def test_capsules_with_false_metadata(capsule: Any) -> None:
    with pytest.raises((ValueError, BufferError)):
        cp.from_dlpack(Capsule(*capsule))
    with pytest.raises((ValueError, BufferError, RuntimeError)):
        torch.from_dlpack(Capsule(*capsule))


def test_capsules_without_memory() -> None:
    for offset, null in ((0, True), (2**64 - 8, False), (4, False)):
        with pytest.raises((ValueError, BufferError)):
            cp.from_dlpack(Capsule(1, (4,), None, offset, null))
    assert cp.from_dlpack(Capsule(2, (2, 3), None)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert cp.from_dlpack(Capsule(1, (0,), None, null=True)).tolist() == []


# --- bools

FUNCTIONS = {
    "a == True": lambda m, a: a == True, "a & True": lambda m, a: a & m.ones(4, "bool"),  # noqa: E712
    "a ^ True": lambda m, a: a ^ m.ones(4, "bool"), "sum": lambda m, a: m.sum(a), "~": lambda m, a: ~a,
    "index": lambda m, a: m.arange(4)[a], "nonzero": lambda m, a: m.nonzero(a)[0], "unique": lambda m, a: m.unique(a),
    "argmax": lambda m, a: m.argmax(a), "sort": lambda m, a: m.sort(a), "max": lambda m, a: m.max(a),
    "count": lambda m, a: m.count_nonzero(a), "a < 1": lambda m, a: a < 1, "int": lambda m, a: a.astype("int64"),
    "cumsum": lambda m, a: m.cumsum(a), "packbits": lambda m, a: m.packbits(a), "a * 1.5": lambda m, a: a * 1.5,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_nonzero_byte_is_true(name: str) -> None:
    """Bools from NumPy and of capsules may be any byte."""
    bad = np.frombuffer(bytearray(b"\x07\xff\x00\x02"), np.bool_)
    want = np.asarray(FUNCTIONS[name](np, bad != 0))
    shared = (cp.from_dlpack(bad), cp.from_dlpack(bad[::-1])[::-1], torch.from_dlpack(bad), torch.from_numpy(bad))
    for mine in (cp.asarray(bad), cp.array(bad[::-1])[::-1], *shared[:2], *(cp.asarray(t) for t in shared[2:])):
        got = FUNCTIONS[name](cp, cp.asarray(mine, device=cp.get_device()))  # what is shared lies on the CPU
        assert got.tolist() == want.tolist() and got.dtype == want.dtype


def test_bools_of_files() -> None:
    """As NumPy, whatever is not 0 is true."""
    data = tensor("BoolStorage", "0", 4, 0, ints(4), ints(1))
    loaded = torch.load(archive(data, {"0": b"\x07\xff\x00\x02"}))
    header = json.dumps({"x": {"dtype": "BOOL", "shape": [4], "data_offsets": [0, 4]}}).encode()
    other = safetensors.load(len(header).to_bytes(8, "little") + header + b"\x07\xff\x00\x02")["x"]
    for t in (loaded, other):
        assert (t == True).tolist() == [True, True, False, True]  # noqa: E712
        assert torch.nonzero(t).flatten().tolist() == [0, 1, 3] and int(t.sum()) == 3


def test_tensors_of_files() -> None:
    """A size whose product leaves 64 bits, with strides that keep it inside its storage."""
    data = tensor("FloatStorage", "0", 1024, 0, ints(7, 7), ints(0, 1))
    data = data.replace(ints(7, 7), b"(\x8a\x08" + (2**54).to_bytes(8, "little") + b"M\x00\x04t")
    with pytest.raises(RuntimeError):
        torch.load(archive(data, {"0": bytes(4096)}))


def test_bytes_seen_as_bools() -> None:
    a = cp.asarray(np.array([0, 1, 1], np.uint8))
    assert a.view(bool).tolist() == [False, True, True]
    a[0] = 2
    with pytest.raises(ValueError, match="a byte is 2"):
        a.view(bool)
