"""Tests array creation: filled, from ranges, from other objects."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import DTYPES, alike, assert_same, np_dtype, sample

CALLS: list[Any] = [
    lambda xp: xp.zeros(3), lambda xp: xp.zeros((2, 3), "int8"), lambda xp: xp.ones((2, 0)), lambda xp: xp.ones(()),
    lambda xp: xp.full((2, 3), 7), lambda xp: xp.full(2, 2.5, "float32"), lambda xp: xp.full((2, 2), True),
    lambda xp: xp.full((2, 3), xp.asarray([1, 2, 3])), lambda xp: xp.full(3, 1j), lambda xp: xp.full(2, np.float32(3)),
    lambda xp: xp.full(2, 300, "int8"), lambda xp: xp.zeros((2, 3), order="F"), lambda xp: xp.zeros(-1),
    lambda xp: xp.zeros_like(xp.ones((2, 3), "int16")), lambda xp: xp.ones_like(xp.zeros(3), dtype=int, shape=(2, 2)),
    lambda xp: xp.full_like(xp.ones((2, 3)), 5), lambda xp: xp.arange(5), lambda xp: xp.arange(2, 9, 3),
    lambda xp: xp.arange(5, 0, -2), lambda xp: xp.arange(0, 1, 0.1), lambda xp: xp.arange(3.0),
    lambda xp: xp.arange(5, dtype="float32"), lambda xp: xp.arange(0), lambda xp: xp.arange(5, 1),
    lambda xp: xp.arange(1, 2, 0.3, dtype="float32"), lambda xp: xp.arange(7, dtype="uint8"),
    lambda xp: xp.arange(0.5, 5, dtype=int), lambda xp: xp.arange(np.int32(4)), lambda xp: xp.arange(np.float32(4)),
    lambda xp: xp.linspace(0, 1), lambda xp: xp.linspace(2, 3, 5, endpoint=False),
    lambda xp: xp.linspace(0, 10, 4, dtype=int), lambda xp: xp.linspace(0, 1, 1), lambda xp: xp.linspace(0, 1, 0),
    lambda xp: xp.linspace(1, 1, 3), lambda xp: xp.linspace(xp.asarray([0.0, 1.0]), 5, 4),
    lambda xp: xp.linspace(xp.asarray([0.0, 1.0]), 5, 4, axis=1), lambda xp: xp.linspace(0, 1, 5, retstep=True),
    lambda xp: xp.linspace(0, 1j, 3), lambda xp: xp.linspace(0, 1, -1), lambda xp: xp.logspace(0, 3, 4),
    lambda xp: xp.logspace(0, 3, 4, base=2.0), lambda xp: xp.geomspace(1, 1000, 4), lambda xp: xp.geomspace(-1, -8, 4),
    lambda xp: xp.geomspace(0, 8, 4), lambda xp: xp.eye(3), lambda xp: xp.eye(2, 4, 1),
    lambda xp: xp.eye(4, 2, -1, "int32"), lambda xp: xp.eye(3, k=5), lambda xp: xp.identity(3), lambda xp: xp.tri(3),
    lambda xp: xp.tri(3, 5, -1), lambda xp: xp.diagflat([[1, 2], [3, 4]], 1),
    lambda xp: xp.vander(xp.asarray([1, 2, 3]), 3), lambda xp: xp.vander(xp.asarray([1.0, 2.0]), 4, increasing=True),
    lambda xp: xp.meshgrid(xp.arange(3), xp.arange(2)),
    lambda xp: xp.meshgrid(xp.arange(3), xp.arange(2), indexing="ij"),
    lambda xp: xp.meshgrid(xp.arange(3), xp.arange(2), sparse=True),
    lambda xp: xp.fromfunction(lambda i, j: i + j, (2, 3)), lambda xp: xp.frombuffer(b"abcd", "uint8"),
    lambda xp: xp.fromiter(range(4), "int32"), lambda xp: xp.fromstring("1 2 3", sep=" "),
    lambda xp: xp.array([1, 2, 3]), lambda xp: xp.array([[1.0], [2.0]]), lambda xp: xp.array(5),
    lambda xp: xp.array([]), lambda xp: xp.array([1, 2.5]), lambda xp: xp.array([True, False]),
    lambda xp: xp.array([1, 2j]), lambda xp: xp.array([1, 2], "float16"), lambda xp: xp.array([1, 2], ndmin=3),
    lambda xp: xp.array([xp.arange(2), xp.arange(2)]), lambda xp: xp.array([[xp.asarray(1), 2], [3, 4]]),
    lambda xp: xp.array([xp.arange(2), [1.5, 2]]), lambda xp: xp.array([[1, 2], [3]]), lambda xp: xp.array(2**63),
    lambda xp: xp.array([[]]), lambda xp: xp.asarray(np.float32(1)), lambda xp: xp.array(300, "int8"),
    lambda xp: xp.ascontiguousarray(xp.ones((2, 3)).T), lambda xp: xp.asfortranarray(xp.ones((2, 3))),
    lambda xp: xp.require([[1, 2], [3, 4]], "float32", "F"), lambda xp: xp.asarray_chkfinite([1.0, np.inf]),
    lambda xp: xp.asarray((1, 2)), lambda xp: xp.asarray(range(3)), lambda xp: xp.asarray(b"abc"),
    lambda xp: xp.asarray("abc"),
]  # fmt: skip


@pytest.mark.parametrize("index", range(len(CALLS)))
def test_calls(index: int) -> None:
    call = CALLS[index]
    if index >= len(CALLS) - 2:  # devices do not support text
        with pytest.raises(TypeError):
            call(cp)
        return
    alike(call, message=inspect.getsource(call)[:80], atol=1e-15)


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_round_trip(dtype: str) -> None:
    for shape in [(), (3,), (2, 3), (0,), (2, 0)]:
        a = sample(dtype, shape)
        for host in (a, a.T, np.asfortranarray(a), a[..., ::-1] if a.ndim else a):
            d = cp.asarray(host)
            assert d.dtype == np_dtype(dtype)
            assert d.shape == host.shape
            np.testing.assert_array_equal(d.get(), host)
            assert d.tobytes() == host.tobytes()
            assert d.tolist() == host.tolist()
            assert cp.asnumpy(d).dtype == host.dtype


def test_f_order_survives() -> None:
    a = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    d = cp.array(a)
    assert d.flags.f_contiguous
    assert cp.array(a, order="C").flags.c_contiguous
    assert cp.zeros_like(d).flags.f_contiguous
    assert d.get(order="A").flags.f_contiguous
    assert d.get().flags.c_contiguous
    assert d.astype("int32").flags.f_contiguous


def test_sharing_and_copying() -> None:
    a = cp.arange(4)
    assert cp.asarray(a) is a
    assert cp.asarray(a, dtype="int64").shares_storage(a)
    assert not cp.array(a).shares_storage(a)
    assert cp.array(a, copy=None).shares_storage(a)
    with pytest.raises(ValueError):
        cp.asarray(a, dtype="float32", copy=False)
    with pytest.raises(ValueError):
        cp.asarray([1, 2], copy=False)


@pytest.mark.parametrize("spec", [
    float, int, bool, complex, "f4", "<f4", "float32", np.float32, np.dtype("int16"), "d", "?", "bool", np.uint8,
    "bfloat16",
])  # fmt: skip
def test_dtype_specifiers(spec: Any) -> None:
    expected = np_dtype("bfloat16") if spec == "bfloat16" else np.dtype(spec)
    assert cp.zeros(2, spec).dtype == expected


@pytest.mark.parametrize("spec", [object, "U3", "M8[s]", ">f4", "V3", "nonsense"])
def test_dtypes_refused(spec: Any) -> None:
    with pytest.raises(TypeError):
        cp.zeros(2, spec)


def test_bfloat16_arithmetic() -> None:
    a = sample("bfloat16", (4, 5))
    d = cp.asarray(a)
    assert cp.bfloat16 is np_dtype("bfloat16").type
    assert_same(d + d, a + a)
    assert_same(cp.sum(d, dtype="float32"), np.asarray(a.astype("float32").sum()))
    assert (d * cp.ones((4, 5), "float32")).dtype == np.float32
    assert (d * 2.0).dtype == a.dtype


def test_device_argument() -> None:
    device = cp.get_device()
    assert_same(cp.zeros(3, device=device), np.zeros(3))
    with pytest.raises((RuntimeError, ValueError)):
        cp.zeros(3, device="tpu")


@pytest.mark.parametrize("order", ["C", "F", "A", "K", None, "f", "c"])
def test_orders(order: str | None) -> None:
    base = np.arange(24.0).reshape(2, 3, 4)
    for call in (lambda x: x, lambda x: x.T, lambda x: x.transpose(1, 0, 2), lambda x: x[:, ::-1]):
        host, device = call(base), call(cp.asarray(base))
        for ours, theirs in [
            (cp.zeros_like(device, order=order or "K"), np.zeros_like(host, order=order or "K")),
            (cp.copy(device, order=order or "K"), np.copy(host, order=order or "K")),
            (device.astype("float32", order=order or "K"), host.astype("float32", order=order or "K")),
            (cp.array(device, order=order), np.array(host, order=order)),
            (
                cp.empty_like(device, order=order or "K", shape=(3, 2)),
                np.empty_like(host, order=order or "K", shape=(3, 2)),
            ),
        ]:
            assert ours.strides == theirs.strides
    if order not in ("A", "K"):
        assert cp.zeros((2, 3), order=order).strides == np.zeros((2, 3), order=order).strides


def test_the_type_makes_arrays() -> None:
    a = cp.ndarray((2, 3), "int16", order="F")
    assert (a.shape, a.dtype, a.flags.f_contiguous) == ((2, 3), np.int16, True)
    with pytest.raises(NotImplementedError):
        cp.ndarray((2,), strides=(8,))


def test_fill_and_empty() -> None:
    a = cp.empty((2, 3), "int32")
    a.fill(7)
    assert_same(a, np.full((2, 3), 7, "int32"))
    assert cp.empty_like(a).shape == (2, 3)
