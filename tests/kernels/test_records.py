"""Tests records: reading and writing fields, nested records, array fields, whole records, slices of arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cuprous import _core, cuda
from cuprous.cuda import errors, float32, types
from tests.conftest import DEVICE

INNER = np.dtype([("n", np.int16), ("w", np.float32, (2,))], align=True)
RECORD = np.dtype([("a", np.float64), ("b", np.int32), ("c", np.complex64), ("in", INNER)], align=True)


@pytest.fixture(autouse=True, params=["here", "elsewhere"])
def _device(request: pytest.FixtureRequest) -> Iterator[None]:
    """Sets the device under test, then a second CPU to which host arrays are copied as to a GPU."""
    if request.param == "elsewhere":
        if DEVICE != "cpu":
            pytest.skip("a GPU is elsewhere itself")
        before = _core.get_device()
        _core.set_device(_core.stand_in_device())
        yield
        _core.set_device(before)
    else:
        yield


def run(function: Any, *args: Any) -> None:
    """Runs a kernel and generates its CUDA C++."""
    kernel = cuda.jit(function)
    kernel[1, 1](*args)
    assert "__global__" in kernel.cuda_source()


def test_fields_are_read_and_written() -> None:
    def fields(r, out):
        for i in range(r.size):
            out[i] = r[i].a + r[i]["b"]
            r[i].b = i
            r[i]["c"] = complex(i, 1)
            r[i].a += 1

    r = np.zeros(3, RECORD)
    r["a"], r["b"] = [1, 2, 3], [10, 20, 30]
    out = np.zeros(3)
    run(fields, r, out)
    assert out.tolist() == [11, 22, 33]
    assert r["a"].tolist() == [2, 3, 4] and r["b"].tolist() == [0, 1, 2] and r["c"].tolist() == [1j, 1 + 1j, 2 + 1j]


def test_nested_records_and_arrays_in_records() -> None:
    def nested(r, out):
        inner = inside(r[1])
        out[0] = inner.n + inner.w[1]
        inner.w[0] = 9
        r["in"]["n"][2] = 5

    @cuda.jit(device=True)
    def inside(record):
        return record["in"]

    r = np.zeros(3, RECORD)
    r["in"]["n"], r["in"]["w"] = 4, 0.5
    out = np.zeros(1)
    run(nested, r, out)
    assert out[0] == 4.5 and r["in"]["w"][1].tolist() == [9, 0.5] and r["in"]["n"].tolist() == [4, 4, 5]


def test_records_are_copied_and_are_arguments() -> None:
    def copies(r, one, out):
        r[0] = r[1]
        r[2] = one
        out[0] = one.a
        one.b = 77

    r = np.zeros(3, RECORD)
    r["a"] = [1, 2, 3]
    one = np.zeros(1, RECORD)[0]
    one["a"] = 8
    out = np.zeros(1)
    run(copies, r, one, out)
    assert r["a"].tolist() == [2, 2, 8] and out[0] == 8 and one["b"] == 77


def test_shared_and_local_arrays_of_records() -> None:
    def swap(a, out):
        mine = cuda.local.array(2, INNER)
        mine[0].n, mine[1].n = a[0], a[1]
        mine[0].w[:] = 2.5
        out[0] = mine[1].n - mine[0].n + mine[0].w[1]

    out = np.zeros(1)
    run(swap, np.array([3, 5], np.int16), out)
    assert out[0] == 4.5


def test_signatures_with_record_types() -> None:
    record = types.Record(INNER)
    kernel = cuda.jit((record[:], float32[:]))(lambda r, out: None)
    assert len(kernel.signatures) == 1


def test_missing_and_misaligned_fields_raise() -> None:
    def wrong(r):
        r[0].x = 1

    with pytest.raises(errors.TypingError, match='the record has no field "x"'):
        run(wrong, np.zeros(1, INNER))

    def loose(r):
        r[0].y = 1

    with pytest.raises(errors.TypingError, match="type float64 is not aligned"):
        run(loose, np.zeros(1, [("x", np.int8), ("y", np.float64)]))


def test_slice_assignment_fills() -> None:
    def fill(a, b):
        a[1:3] = 7
        a[4:] = b[:2]
        b[...] = 0

    a, b = np.zeros(6), np.array([1.0, 2.0, 3.0])
    run(fill, a, b)
    assert a.tolist() == [0, 7, 7, 0, 1, 2] and b.tolist() == [0, 0, 0]


PARTICLE = np.dtype([("x", np.float32), ("v", np.float64, (2,)), ("n", np.int32), ("name", "U3")], align=True)


def test_records_on_a_device() -> None:
    """Text fields are copied with the others."""
    host = np.zeros(5, PARTICLE)
    host["x"], host["name"] = np.arange(5), "abc"
    on_device = cuda.to_device(host)
    assert (on_device.shape, on_device.strides, on_device.nbytes) == ((5,), host.strides, host.nbytes)

    @cuda.jit
    def step(p, out):
        i = cuda.grid(1)
        if i < p.size:
            p[i].n = i
            p[i].v[1] = p[i].x * 2
            out[p.size - 1 - i] = p[i]

    out = cuda.device_array_like(on_device)
    step[1, 32](on_device, out)
    host["n"], host["v"][:, 1] = np.arange(5), 2 * host["x"]
    np.testing.assert_array_equal(on_device.copy_to_host(), host)
    np.testing.assert_array_equal(out.copy_to_host(), host[::-1])
    step[1, 32](on_device[1:3], out)  # views share the memory
    assert on_device.copy_to_host()["n"].tolist() == [0, 0, 1, 3, 4]
    assert on_device[3]["n"] == 3
    on_device[3]["v"][0] = 7.5
    assert (on_device[3]["v"][0], len(on_device[1:])) == (7.5, 4)
    np.testing.assert_array_equal(on_device[3]["v"], [7.5, 6])
    again = np.zeros_like(host)
    assert on_device.copy_to_host(again) is again
    on_device.copy_to_device(out)
    np.testing.assert_array_equal(on_device.copy_to_host(), out.copy_to_host())
    with pytest.raises(ValueError, match="shapes"):
        on_device.copy_to_device(host[:2])
    np.testing.assert_array_equal(np.asarray(on_device), out.copy_to_host())
    with pytest.raises(ValueError, match="copy=False"):
        on_device.__array__(copy=False)
    with pytest.raises(TypeError, match="cannot be an argument"):
        step[1, 1](on_device[0]["v"], out)


def test_recarrays_on_a_device() -> None:
    host = np.recarray(4, dtype=[("i", np.int32), ("j", np.float32, (3, 2))])
    host.i, host.j = np.arange(4), np.arange(24, dtype=np.float32).reshape(4, 3, 2)

    @cuda.jit
    def copied(a, b):
        i = cuda.grid(1)
        b[i] = a[i]

    result = cuda.device_array_like(host)
    copied[1, 4](host, result)
    np.testing.assert_array_equal(result.copy_to_host(), host)
