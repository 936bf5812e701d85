"""Tests reading of arrays by NumPy, buffers and libraries: no copy on the CPU, a counted copy on other devices."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_same, sample

on_cpu = pytest.mark.skipif("cp.get_device() != 'cpu'", reason="memory is shown on the CPU only")
DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
          "float64", "complex64", "complex128"]  # fmt: skip


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Creates arrays on a second CPU that Python treats as a GPU."""
    before, name = cp.get_device(), cp._core.stand_in_device()
    monkeypatch.setattr(cp.ndarray, "device_name", property(lambda self: name))
    cp._core.set_device(name)
    yield name
    cp._core.set_device(before)


def views(dtype: str) -> list[Any]:
    a = sample(dtype, (3, 4))
    return [a, a.T, a[::-1, 1:], a[1, ::2], a[:, None], np.broadcast_to(a[0], (2, 4)), a[:0], a[2, 1:2].reshape(())]


def ours(dtype: str) -> list[Any]:
    a = cp.asarray(sample(dtype, (3, 4)))
    return [a, a.T, a[::-1, 1:], a[1, ::2], a[:, None], cp.broadcast_to(a[0], (2, 4)), a[:0], a[2, 1:2].reshape(())]


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_reads(dtype: str) -> None:
    for mine, other in zip(ours(dtype), views(dtype), strict=True):
        for read in (np.asarray, np.array, lambda x: x.__array__(), lambda x: np.array(x, dtype="complex128")):
            host = read(mine)
            assert type(host) is np.ndarray
            assert_same(cp.asarray(host), read(other))
        if mine.ndim and mine.shape[0]:
            assert [np.asarray(row).tolist() for row in mine] == other.tolist()


@on_cpu
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_cpu_shows_its_memory(dtype: str) -> None:
    a = cp.asarray(sample(dtype, (3, 4)))
    host = np.asarray(a)
    assert host.dtype == dtype
    assert not host.flags.owndata
    assert np.shares_memory(host, np.asarray(a.T))
    a[0, 0] = 0
    host[1, 1] = 1
    assert host[0, 0] == 0
    assert a[1, 1] == 1
    for mine, other in zip(ours(dtype), views(dtype), strict=True):
        view = memoryview(mine)
        assert (view.shape, view.strides if mine.size else (), view.itemsize, view.readonly) == (
            other.shape, other.strides if mine.size else (), other.itemsize, False)  # fmt: skip
        assert view.tobytes() == other.tobytes()
        if dtype not in ("complex64", "complex128"):
            assert view.format == memoryview(other).format


@on_cpu
def test_recorded_work_reads_old_values() -> None:
    for share in (np.asarray, np.from_dlpack, memoryview):
        a = cp.arange(3.0)
        double, total = a * 2, a.sum()
        a += 1
        after = a * 10
        shown: Any = share(a)
        shown[0] = 100.0
        assert double.tolist() == [0, 2, 4]
        assert float(total) == 3
        assert after.tolist() == [10, 20, 30]
        assert a.tolist() == [100, 2, 3]
        a *= 2
        assert list(shown) == [200, 4, 6]


@on_cpu
def test_memory_is_shared_while_exported() -> None:
    """A single read of an array, such as a plot, does not make later work on it synchronous."""
    a = cp.arange(1000.0)
    host = np.asarray(a)
    part = host[10:20]
    del host
    assert a.is_external
    del part
    gc.collect()
    assert not a.is_external
    view = memoryview(a)
    assert a.is_external
    view.release()
    assert not a.is_external
    kept = np.asarray(a + 1)  # exports memory that has no other owner
    gc.collect()
    assert kept.sum() == 500_500
    before = cp._core.stats()["steps"]
    a += 1
    a *= 2
    assert cp._core.stats()["steps"] == before


@on_cpu
def test_requests_for_an_order() -> None:
    a = cp.arange(6).reshape(2, 3)
    assert bytes(a) == a.get().tobytes()
    with pytest.raises(BufferError, match="contiguous"):
        __import__("io").BytesIO().write(a.T)
    target = cp.zeros(4, "uint8")
    __import__("io").BytesIO(b"\1\2\3\4").readinto(target)
    assert target.tolist() == [1, 2, 3, 4]


@on_cpu
def test_the_stride_of_one_element_may_be_anything() -> None:
    assert memoryview(cp.arange(4.0)[:: 2**62]).tolist() == [0.0]
    assert np.asarray(cp.arange(4.0)[1 :: 2**62]).tolist() == [1.0]


def test_the_protocol_itself() -> None:
    a = cp.arange(3)
    assert a.__array__("float32").dtype == np.float32
    assert a.__array__(copy=True).flags.owndata
    with pytest.raises(ValueError, match="copy"):
        np.array(a, "float32", copy=False)
    bf = cp.asarray([1.5, 2.5]).astype("bfloat16")
    assert np.asarray(bf).dtype == bf.dtype
    assert np.asarray(bf).astype(float).tolist() == [1.5, 2.5]


def test_numpy_runs_unsupported_functions() -> None:
    a = cp.asarray([3.0, 1.0, 2.0])
    assert np.array_repr(a).startswith("array(")
    np.testing.assert_allclose(a, [3, 1, 2])
    np.testing.assert_array_equal(a.sum(), 6)
    out = np.zeros(3)
    np.add(a, 1, out=out)
    assert out.tolist() == [4, 2, 3]
    host = np.zeros((2, 3))
    host[0] = a
    host[1, cp.asarray([0, 2])] = 7
    assert host.tolist() == [[3, 1, 2], [7, 0, 7]]
    np.copyto(host[1], a)
    np.add.at(host[0], [0, 0], a[:2])
    assert host.tolist() == [[7, 1, 2], [3, 1, 2]]
    assert np.array([a[0], 2.0]).tolist() == [3, 2]
    assert np.sum(a, out=np.zeros(())) == 6


def test_reading_a_device_array_copies(elsewhere: str) -> None:
    a = cp.arange(6.0).reshape(2, 3)
    for host in (np.asarray(a), a.__array__(), np.asarray(a.T).T):
        assert host.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert not host.flags.writeable
    changed = np.array(a)
    changed[:] = 7
    assert float(a.sum()) == 15
    with pytest.raises(ValueError, match="copy"):
        a.__array__(copy=False)
    with pytest.raises(TypeError, match="bytes-like"):
        memoryview(a)
    assert bytes(a) == np.asarray(a).tobytes()
    assert (np.ones(3) + a).device_name == elsewhere
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    picture = image.fromarray((cp.ones((4, 5, 3)) * 9).astype("uint8"))
    assert picture.getpixel((1, 1)) == (9, 9, 9)


def test_device_copies_are_counted(elsewhere: str) -> None:
    small, large = cp.ones(10), cp.ones(200_000)
    before = cp.get_transfers()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            np.asarray(small)
            np.asarray(large)  # this line
            large + np.ones(200_000)
    after = cp.get_transfers()
    assert after["copies"] == before["copies"] + 9
    assert after["bytes"] == before["bytes"] + 3 * (80 + 2 * 1_600_000)
    assert [w.category for w in caught] == [cp.TransferWarning] * 2
    assert "1600000 bytes is implicitly copied to the host" in str(caught[0].message)
    assert "1600000 bytes is implicitly copied to the device" in str(caught[1].message)
    line = next(n for n, text in enumerate(open(__file__), 1) if "# this line" in text)  # noqa: SIM115
    assert f"{__file__}:{line}" in str(caught[0].message)
    assert f"implicitly copied to the host: 3 x, 4800000 bytes in all, at {__file__}:{line}\n" in cp.explain()
    with warnings.catch_warnings(), cp.set_transfers("allow"):
        warnings.simplefilter("error")
        np.asarray(cp.ones(300_000))


def test_cpu_reads_are_not_counted() -> None:
    if cp.get_device() != "cpu":
        pytest.skip("arrays are on a GPU")
    before = cp.get_transfers()["copies"]
    np.asarray(cp.ones(10)) + cp.ones(10)
    assert cp.get_transfers()["copies"] == before


@pytest.mark.parametrize("away", [False, True])
def test_refusing(away: bool, request: pytest.FixtureRequest) -> None:
    if away:
        request.getfixturevalue("elsewhere")
    a = cp.ones(3)
    with cp.set_transfers("refuse"):
        for read in (lambda: np.asarray(a), lambda: np.array(a), lambda: a.__array__()):
            with pytest.raises(cp.ImplicitConversionError, match=r"not allowed. Please use `.get\(\)`"):
                read()
        for compute in (
            lambda: a + np.ones(3), lambda: np.ones(3) + a, lambda: a == [1, 1, 1], lambda: cp.add(a, [1, 2, 3]),
            lambda: cp.sum(np.ones(3)), lambda: a @ np.ones(3), lambda: np.add(a, 1, out=np.ones(3)),
        ):  # fmt: skip
            with pytest.raises(TypeError):
                compute()
        with pytest.raises((TypeError, BufferError)):
            memoryview(a)
        assert not hasattr(a, "__array_interface__")
        assert a.get().tolist() == cp.asnumpy(a).tolist() == cp.asarray(np.ones(3)).tolist() == [1, 1, 1]
    assert issubclass(cp.ImplicitConversionError, TypeError)
    assert cp.get_transfers()["mode"] == "warn"
    with pytest.raises(ValueError, match="'refuse'"):
        cp.set_transfers("never")


def test_numba_arrays_are_copied() -> None:
    from cuprous import cuda

    d = cuda.to_device(np.arange(3.0))
    host = np.asarray(d)
    d[0] = 7
    assert host.tolist() == [0, 1, 2]
    assert host.flags.writeable
