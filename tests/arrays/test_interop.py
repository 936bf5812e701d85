"""NumPy's protocols, DLPack, import without NumPy. Reading by libraries: test_host_access.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cuprous as cp
from tests.support import assert_same, sample

on_cpu = pytest.mark.skipif("cp.get_device() != 'cpu'", reason="NumPy shares memory with the CPU only")

FUNCTIONS: dict[str, Any] = {
    "sum": lambda a: np.sum(a), "mean": lambda a: np.mean(a, axis=0), "concatenate": lambda a: np.concatenate([a, a]),
    "where": lambda a: np.where(a > 0, a, 0), "exp": lambda a: np.exp(a), "add": lambda a: np.add(a, 1),
    "dot": lambda a: np.dot(a, a.T), "linalg.norm": lambda a: np.linalg.norm(a),
    "zeros_like": lambda a: np.zeros_like(a), "stack": lambda a: np.stack([a, a]),
    "maximum.reduce": lambda a: np.maximum.reduce(a), "multiply.outer": lambda a: np.multiply.outer(a, a),
    "clip": lambda a: np.clip(a, 0, 1), "matmul": lambda a: np.matmul(a, a.T),
    "einsum": lambda a: np.einsum("ij->j", a), "median": lambda a: np.median(a),
    "broadcast_to": lambda a: np.broadcast_to(a, (2, 3, 4)), "scalar left": lambda a: np.float64(2) * a,
    "round": lambda a: np.round(a),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_functions_stay_on_the_device(name: str) -> None:
    a = sample("float64", (3, 4))
    result = FUNCTIONS[name](cp.asarray(a))
    assert isinstance(result, cp.ndarray)
    assert_same(result, np.asarray(FUNCTIONS[name](a)))


def test_unsupported_numpy_function() -> None:
    with pytest.raises(NotImplementedError, match=r"busday_count.*dates"):
        np.busday_count(cp.ones(3), cp.ones(3))


@on_cpu
def test_dlpack_with_numpy() -> None:
    a = cp.arange(6).reshape(2, 3)
    host = np.from_dlpack(a)
    a[0, 0] = 99
    assert host[0, 0] == 99
    np.testing.assert_array_equal(np.from_dlpack(a.T), a.T.get())
    source = np.arange(4.0)
    d = cp.from_dlpack(source)
    source[1] = -5
    assert float(d[1]) == -5
    d[2] = 42
    assert source[2] == 42
    with pytest.raises(TypeError):
        cp.from_dlpack([1, 2])
    assert a.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        a.__dlpack__(dl_device=(2, 0))
    copied = np.from_dlpack(a, copy=True)
    a[1, 1] = -1
    assert copied[1, 1] == 4


@on_cpu
def test_dlpack_with_torch() -> None:
    torch = pytest.importorskip("torch")
    t = torch.arange(4.0)
    d = cp.from_dlpack(t)
    d += 1
    assert t.tolist() == [1, 2, 3, 4]
    assert torch.from_dlpack(cp.ones((2, 2)).T).shape == (2, 2)


def test_buffers_and_array_objects() -> None:
    import array

    assert_same(cp.asarray(array.array("d", [1.0, 2.0])), np.array([1.0, 2.0]))
    assert_same(cp.asarray(memoryview(b"ab")), np.array([97, 98], np.uint8))

    class HasArray:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.arange(3)

    assert_same(cp.asarray(HasArray()), np.arange(3))


def test_cuda_interface_of_others_is_read() -> None:
    class Masked:
        __cuda_array_interface__ = {"shape": (1,), "typestr": "<f4", "data": (0, False), "version": 3, "mask": object()}  # noqa: RUF012

    with pytest.raises(NotImplementedError, match="mask"):
        cp.asarray(Masked())


def test_names_of_numpy() -> None:
    assert cp.float32 is np.float32
    assert cp.dtype is np.dtype
    assert cp.pi == np.pi
    assert cp.newaxis is None
    assert cp.AxisError is np.exceptions.AxisError
    with pytest.raises(AttributeError):
        cp.no_such_name  # noqa: B018
    assert "float32" in dir(cp)


def test_cupy_api() -> None:
    @cp.fuse
    def f(x: Any) -> Any:
        return x + 1

    @cp.fuse(kernel_name="g")
    def g(x: Any) -> Any:
        return f(x) * 2

    assert_same(g(cp.ones(2)), np.full(2, 4.0))
    pool = cp.get_default_memory_pool()
    for name in ("used_bytes", "free_bytes", "total_bytes", "n_free_blocks", "get_limit"):
        assert isinstance(getattr(pool, name)(), int)
    pool.free_all_blocks()
    cp.get_default_pinned_memory_pool().free_all_blocks()
    with pytest.raises(ValueError):
        pool.set_limit(size=1, fraction=0.5)


def test_show_config(capsys: pytest.CaptureFixture[str]) -> None:
    cp.show_config()
    assert "Cuprous version" in capsys.readouterr().out


def test_ufuncs_of_scipy() -> None:
    special = pytest.importorskip("scipy.special._ufuncs", reason="SciPy is not installed")
    x = np.linspace(-2, 2, 9)
    assert_same(special.expit(cp.asarray(x)), special.expit(x), rtol=1e-13)
    np.testing.assert_array_equal(special.ber(cp.asarray(x)), special.ber(x))  # which is not ours: on the host


def test_special_functions_by_the_namespace() -> None:
    from cuprous.scipy import special

    assert cp.special is special  # where SciPy looks for them
