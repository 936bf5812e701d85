"""Tests methods and attributes of arrays that are not also functions."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import DTYPES, SOME_DTYPES, alike, assert_errors, assert_same, check, compare, sample


def test_astype() -> None:
    for source in DTYPES:
        a = np.abs(sample(source, (3, 4))) if not source.startswith(("bool", "complex")) else sample(source, (3, 4))
        for target in DTYPES:
            if "complex" in source and "complex" not in target:
                continue
            check(lambda xp, x, t=target: x.astype(t), a)
    a = cp.arange(3)
    assert a.astype("int64", copy=False) is a
    assert a.astype("int64") is not a
    with pytest.raises(TypeError):
        cp.ones(3).astype(int, casting="safe")
    assert cp.ones((2, 3)).astype("f4", order="F").flags.f_contiguous


@pytest.mark.parametrize("target", ["int32", "float32", "uint8", "int16", "float64", "complex64", "complex128"])
def test_view(target: str) -> None:
    for source in ("float64", "int32", "uint8"):
        a = sample(source, (3, 8))
        alike(lambda xp, a=a: xp.asarray(a).view(target), rtol=0)
        alike(lambda xp, a=a: xp.asarray(a)[:, ::2].view(target), rtol=0)
    d = cp.zeros(4, "float32")
    d.view("int32")[1] = 0x3F800000
    assert_same(d, np.array([0, 1, 0, 0], "float32"))


def test_byteswap() -> None:
    for dtype in ("int32", "float64", "complex64", "uint8"):
        a = sample(dtype, (5,))
        np.testing.assert_array_equal(cp.asarray(a).byteswap().get().view("u1"), a.byteswap().view("u1"))
    d = cp.asarray(np.array([1, 2], "int16"))
    assert d.byteswap(inplace=True) is d
    assert d.tolist() == [256, 512]


def test_flat() -> None:
    a = sample("int32", (3, 4))
    for call in (lambda x: x, lambda x: x.T):
        h, d = call(a.copy()), call(cp.asarray(a))
        assert [int(x) for x in d.flat] == list(h.flat)
        assert len(d.flat) == 12
        assert_same(d.flat[2:5], h.flat[2:5])
        for x in (h, d):
            x.flat[3] = 99
            x.flat[6:8] = [-1, -2] if x is h else cp.asarray([-1, -2])
        assert_same(d, h)
        h.flat = 5
        d.flat = 5
        assert_same(d, h)


def test_scalars() -> None:
    assert cp.asarray(2.5).item() == 2.5
    assert cp.asarray([[1, 2], [3, 4]]).item(2) == 3
    assert cp.asarray([[1, 2], [3, 4]]).item(1, 1) == 4
    assert float(cp.asarray(3)) == 3.0
    assert int(cp.asarray(3.7)) == 3
    assert complex(cp.asarray(1j)) == 1j
    assert bool(cp.asarray([True]))
    assert operator.index(cp.asarray(4)) == 4
    assert list(range(5))[cp.asarray(2)] == 2
    for call in (lambda: bool(cp.ones(2)), lambda: cp.ones(2).item()):
        with pytest.raises(ValueError):
            call()
    assert_errors(
        (lambda: operator.index(cp.ones(())), TypeError, ""),
        (lambda: len(cp.asarray(1)), TypeError, ""),
        (lambda: iter(cp.asarray(1)), TypeError, ""),
    )
    assert f"{cp.asarray(3.14159):.2f}" == "3.14"
    with pytest.raises(TypeError):
        hash(cp.ones(2))


def test_iteration_and_membership() -> None:
    a = cp.arange(6).reshape(3, 2)
    rows = list(a)
    assert len(rows) == 3
    assert_same(rows[1], np.array([2, 3]))
    assert 5 in a
    assert 9 not in a
    first, *_ = a
    first[:] = -1
    assert a[0, 0] == -1
    assert [x.shape for x in cp.ones(2)] == [(), ()]


IN_PLACE = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor"]


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_operators(name: str) -> None:
    for dtype in SOME_DTYPES:
        for value in (2, 1.5, np.float32(2)):
            a = np.abs(sample(dtype, (3, 4))).astype(dtype)

            def run(x: Any, value: Any = value) -> Any:
                getattr(operator, name)(x[:, ::2], value)
                return x

            compare(lambda a=a: run(a.copy()), lambda a=a: run(cp.asarray(a)), rtol=1e-6)
    with pytest.raises(TypeError, match="same_kind"):
        operator.iadd(cp.arange(3), 1.5)


@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "eq", "ne", "gt", "ge"]
)
def test_operators(name: str) -> None:
    f = getattr(operator, name)
    a = np.abs(sample("float64", (3, 4))) + 1
    for other in (2, 2.5, np.float32(3), np.int64(2), True):
        alike(lambda xp, o=other: f(xp.asarray(a), o), rtol=1e-12)
        alike(lambda xp, o=other: f(o, xp.asarray(a)), rtol=1e-12)


def test_copy_and_pickle() -> None:
    for dtype in (*DTYPES, "bfloat16"):
        for make in (lambda x: x, lambda x: x.T, lambda x: x[::2]):
            d = make(cp.asarray(sample(dtype, (4, 3))))
            pickled = (pickle.loads(pickle.dumps(d)), pickle.loads(d.dumps()))
            for twin in (copy.copy(d), copy.deepcopy(d), d.copy(), *pickled):
                assert twin.dtype == d.dtype
                np.testing.assert_array_equal(twin.get(), d.get())
                assert not twin.shares_storage(d)


def test_pickle_protocols() -> None:
    for dtype in ("float64", "bool", "complex64", "bfloat16"):
        for shape in ((2, 3), (), (0, 3)):
            a = cp.asarray(sample(dtype, shape)).T
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                twin = pickle.loads(pickle.dumps(a, protocol))
                assert twin.dtype == a.dtype
                np.testing.assert_array_equal(twin.get(), a.get())


def test_pickle_out_of_band() -> None:
    a = cp.arange(1000.0).reshape(10, 100)
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(a, protocol=5, buffer_callback=buffers.append)
    assert len(data) < 200
    assert [len(buffer.raw()) for buffer in buffers] == [a.nbytes]
    np.testing.assert_array_equal(pickle.loads(data, buffers=buffers).get(), a.get())


def test_dump(tmp_path: Any) -> None:
    path = tmp_path / "a.pkl"
    cp.arange(3).dump(path)
    assert pickle.loads(path.read_bytes()).tolist() == [0, 1, 2]
    cp.arange(3, dtype="uint8").tofile(tmp_path / "raw")
    assert (tmp_path / "raw").read_bytes() == b"\x00\x01\x02"
    assert_same(cp.fromfile(tmp_path / "raw", "uint8"), np.arange(3, dtype="uint8"))


def test_get_and_set() -> None:
    a = cp.arange(6.0).reshape(2, 3)
    out = np.empty((2, 3))
    assert a.get(out=out) is out
    np.testing.assert_array_equal(out, a.get())
    with pytest.raises(ValueError):
        a.get(out=np.empty((3, 3)))
    with pytest.raises(TypeError):
        a.get(out=[1])
    a.set(np.ones((2, 3)))
    assert_same(a, np.ones((2, 3)))
    with pytest.raises(ValueError):
        a.set(np.ones(3))
    with pytest.raises(TypeError):
        a.set([1])
    np.testing.assert_array_equal(cp.asnumpy(a, out=np.empty((2, 3))), np.ones((2, 3)))
    np.testing.assert_array_equal(cp.asnumpy([1, 2]), [1, 2])
    assert a.data.ptr == a[0].data.ptr
    assert a[1].data.ptr - a.data.ptr == 24


def test_divmod() -> None:
    a = np.array([7, -7, 3])
    alike(lambda xp: divmod(xp.asarray(a), 3))
    alike(lambda xp: divmod(100, xp.asarray(a)))


METHODS: dict[str, Any] = {
    "all": lambda x: x.all(1), "any": lambda x: x.any(0), "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: x.cumprod(), "dot": lambda x: x.dot(x.T), "diagonal": lambda x: x.diagonal(1),
    "trace": lambda x: x.trace(), "take": lambda x: x.take([0, 1], 1), "repeat": lambda x: x.repeat(2, 0),
    "nonzero": lambda x: x.nonzero(), "argsort": lambda x: x.argsort(kind="stable"),
    "compress": lambda x: x.compress([True, False], 0), "swapaxes": lambda x: x.swapaxes(0, 1),
    "squeeze": lambda x: x[:1].squeeze(), "ravel": lambda x: x.ravel("F"),
    "searchsorted": lambda x: x[0].searchsorted(2.0), "T": lambda x: x.T, "tolist": lambda x: x.tolist(),
    "tobytes F": lambda x: np.frombuffer(x.tobytes("F"), "u1"), "min": lambda x: x.min(0),
    "std": lambda x: x.std(axis=1),
}  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    check(lambda xp, x: METHODS[name](x), sample("float64", (3, 4)))


def test_put_and_choose_and_sort_in_place() -> None:
    d, h = cp.asarray(sample("int32", (3, 4))), sample("int32", (3, 4))
    for x in (d, h):
        x.put([0, 5], 9)
        x.sort(axis=0)
    assert_same(d, h)
    assert_same(cp.asarray([0, 1]).choose([cp.asarray([1, 2]), cp.asarray([3, 4])]), np.array([1, 4]))


def test_cpu_arrays_have_no_gpu_interface() -> None:
    a = cp.ones(3)
    if a.device_name == "cpu":
        assert not hasattr(a, "__cuda_array_interface__")
        assert a.device == "cpu"


def test_out_and_casting_of_clip_and_conjugate() -> None:
    a, whole = cp.asarray([-1.5, 0.5, 2.5]), cp.zeros(3, "int32")
    for clip in (a.clip, lambda *args, **kwargs: cp.clip(a, *args, **kwargs)):
        with pytest.raises(TypeError, match="same_kind"):
            clip(0, 2, out=whole)
        assert clip(0, 2, out=whole, casting="unsafe") is whole
        assert whole.tolist() == [0, 0, 2]
    for source in (a, cp.asarray([1 + 2j])):
        out = cp.zeros_like(source)
        assert source.conjugate(out=out) is out
        assert_same(out, source.get().conjugate())
